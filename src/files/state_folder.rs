//! The user's folder for the program's state between runs: unsaved work, recent cases.

use super::cache::OwnFolder;
use super::private::make_private;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Variable with another folder; if empty, no state is kept.
const VARIABLE: &str = "BEAMSIGHT_STATE";

/// The program's own folder within the platform's for state; it need not exist yet. `None` where the platform
/// has none, or `BEAMSIGHT_STATE` is empty. Unlike a cache, it is not emptied by cleaners.
pub fn state_folder() -> Option<PathBuf> {
    folder_of(&|name| std::env::var_os(name))
}

fn folder_of(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let place = OwnFolder {
        variable: VARIABLE,
        windows: "state",
        macos: "Library/Application Support",
        xdg: ["XDG_STATE_HOME", ".local/state"],
    };
    place.folder(variable)
}

/// Makes a folder and its missing parents, accessible to the owner only; an existing one is closed to others.
///
/// # Errors
/// Errors of the file system; a link, or another user's folder.
pub fn private_folder(path: &Path) -> io::Result<()> {
    make_private(path)?;
    if !fs::symlink_metadata(path)?.is_dir() {
        return Err(io::Error::other("it is a link, not a folder"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The system refuses this for another user's folder.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn on_linux_it_is_where_xdg_says_and_closed_to_others() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder_for = |xdg: &'static str| {
            folder_of(&move |name| match name {
                "XDG_STATE_HOME" => Some(xdg.into()),
                "HOME" => Some("/home/p".into()),
                _ => None,
            })
        };
        assert_eq!(
            folder_for("/var/s"),
            Some(PathBuf::from("/var/s/beamsight"))
        );
        assert_eq!(
            folder_for("relative"),
            Some(PathBuf::from("/home/p/.local/state/beamsight"))
        );

        let folder = std::env::temp_dir().join(format!("beamsight-state-{}", std::process::id()));
        private_folder(&folder.join("a/b")).unwrap();
        assert_eq!(
            [mode(&folder.join("a")), mode(&folder.join("a/b"))],
            [0o700; 2]
        );
        fs::set_permissions(folder.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        private_folder(&folder.join("a/b")).unwrap();
        assert_eq!(mode(&folder.join("a/b")), 0o700);
        symlink(folder.join("a"), folder.join("link")).unwrap();
        assert!(private_folder(&folder.join("link")).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }
}
