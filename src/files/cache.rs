//! The cache folder, for results that can be computed again. `BEAMSIGHT_CACHE` names another; set to nothing it turns the cache off.

use super::replace_file;
use input::read_cached_text;
use serde::{Serialize, de::DeserializeOwned};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Variable with another folder; if empty, nothing is cached.
const VARIABLE: &str = "BEAMSIGHT_CACHE";

/// The program's own folder within the platform's for caches; it need not exist yet. `None` where the
/// platform has none, or `BEAMSIGHT_CACHE` is empty.
pub fn cache_folder() -> Option<PathBuf> {
    folder_of(&|name| std::env::var_os(name))
}

/// A file in that folder, as it was written; as good as none where it does not read or is longer than `most` bytes.
pub fn read_cached<T: DeserializeOwned + Default>(path: &Path, limit: u64) -> T {
    let text = read_cached_text(path, limit).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a file in that folder, which is made where it does not exist.
///
/// # Errors
/// Errors of the file system.
pub fn write_cached(path: &Path, what: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    replace_file(path, |out| {
        serde_json::to_writer_pretty(out, what).map_err(io::Error::from)
    })
}

fn folder_of(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    PLACE.folder(variable)
}

const PLACE: OwnFolder = OwnFolder {
    variable: VARIABLE,
    windows: "",
    macos: "Library/Caches",
    xdg: ["XDG_CACHE_HOME", ".cache"],
};

/// The program's own folder on each platform.
pub(super) struct OwnFolder {
    /// Variable with another folder; empty: no folder.
    pub variable: &'static str,
    /// Within the program's folder of local data.
    pub windows: &'static str,
    /// Within the home folder.
    pub macos: &'static str,
    /// The XDG variable, and its default within the home folder.
    pub xdg: [&'static str; 2],
}

impl OwnFolder {
    pub fn folder(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        if let Some(stated_path) = variable(self.variable) {
            return (!stated_path.is_empty()).then(|| PathBuf::from(stated_path));
        }
        // The XDG rules: a path that is not absolute is to be ignored.
        let named = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        if cfg!(target_os = "windows") {
            let local = named("LOCALAPPDATA")?.join("beamsight");
            return Some(if self.windows.is_empty() {
                local
            } else {
                local.join(self.windows)
            });
        }
        let home = |within: &str| named("HOME").map(|home| home.join(within));
        let platform = match cfg!(target_os = "macos") {
            true => home(self.macos),
            false => named(self.xdg[0]).or_else(|| home(self.xdg[1])),
        };
        platform.map(|folder| folder.join("beamsight"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_word_goes_first() {
        assert_eq!(
            folder_of(&|name| (name == VARIABLE).then(|| OsString::from("/tmp/somewhere"))),
            Some(PathBuf::from("/tmp/somewhere"))
        );
        assert_eq!(
            folder_of(&|name| (name == VARIABLE).then(OsString::new)),
            None
        );
        assert_eq!(folder_of(&|_| None), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn on_linux_it_is_where_xdg_says() {
        let folder_for = |xdg: &'static str| {
            folder_of(&move |name| match name {
                "XDG_CACHE_HOME" => Some(xdg.into()),
                "HOME" => Some("/home/p".into()),
                _ => None,
            })
        };
        assert_eq!(
            folder_for("/var/c"),
            Some(PathBuf::from("/var/c/beamsight"))
        );
        assert_eq!(
            folder_for("relative"),
            Some(PathBuf::from("/home/p/.cache/beamsight"))
        );
    }
}
