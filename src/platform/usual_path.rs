//! Paths without links, and as a user writes them.

use std::io;
use std::path::{Path, PathBuf};

/// The path of an existing file or folder without links, as `fs::canonicalize`. Drives in memory and some of networks do not tell
/// Windows theirs, nor does Wine one of more than 260 letters: there it is the whole path as it was written.
///
/// # Errors
/// Errors of the file system.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|error| {
        if cfg!(windows) && path.symlink_metadata().is_ok() {
            std::path::absolute(path)
        } else {
            Err(error)
        }
    })
}

/// A path that [`real_path`] gave, as users write it: on Windows it begins with `\\?\`, which few programs take. Paths that only
/// the prefix reaches keep it. For messages and answers; what is compared keeps its form.
pub fn usual_path(real: &Path) -> PathBuf {
    let usual = real.to_str().and_then(usual_form);
    usual
        .filter(|_| cfg!(windows))
        .unwrap_or_else(|| real.to_owned())
}

/// Longest path that programs take without the prefix (`MAX_PATH`, less a name of the 8.3 form in a folder).
const LONGEST: usize = 247;

/// `C:\folder` of `\\?\C:\folder`, and `\\server\share` of `\\?\UNC\server\share`.
fn usual_form(real: &str) -> Option<PathBuf> {
    let path = real.strip_prefix(r"\\?\")?;
    let usual = match path.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if path.as_bytes().get(1) == Some(&b':') => path.to_owned(),
        None => return None,
    };
    // Names that end with a dot, and names of devices, are only reached by the prefix.
    let is_plain = usual
        .split('\\')
        .all(|name| super::names::windows_fault_of_part(name).is_none());
    (usual.encode_utf16().count() <= LONGEST && is_plain).then(|| PathBuf::from(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_are_as_users_write_them() {
        for (real, usual) in [
            (r"\\?\C:\ct\Müller 7", Some(r"C:\ct\Müller 7")),
            (r"\\?\UNC\nas\physics\ct", Some(r"\\nas\physics\ct")),
            (r"\\?\Volume{b75e2c83-0000}\ct", None),
            (r"\\?\C:\ct\con", None),
            (r"\\?\C:\ct\dot.\a", None),
            (r"C:\ct", None),
        ] {
            assert_eq!(usual_form(real), usual.map(PathBuf::from), "{real}");
        }
        let long = format!(r"\\?\C:\{}", "long name ".repeat(30));
        assert_eq!(usual_form(long.trim_end()), None);
        let folder = std::env::temp_dir().canonicalize().unwrap();
        assert!(usual_path(&folder).is_dir());
        assert_eq!(real_path(&std::env::temp_dir()).unwrap(), folder);
        assert!(real_path(&folder.join("no such file")).is_err());
    }
}
