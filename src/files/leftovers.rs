//! Temporary files and folders that a killed program has left: known by their names, and as nobody's by their locks, which the
//! system gives back with the process.

use super::moving::{forgo_before_move, rename};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// In the name of whatever the program leaves among a user's files for itself.
const MARK: &str = "beamsight";
const ENDING: &str = ".tmp";
/// Ending of the second name of a file that is about to be replaced.
pub(super) const OLD_ENDING: &str = "old.tmp";
/// The locked file in a temporary folder.
pub(super) const LOCK: &str = ".beamsight.lock";
/// The folder in a temporary one that holds what was replaced, under its name.
pub(super) const REPLACED: &str = "replaced";

/// The name of a temporary file beside `name`, or of a temporary folder.
pub(super) fn temporary_name(name: Option<&OsStr>, call: u32) -> String {
    let prefix = name.map_or_else(String::new, |name| format!(".{}", name.to_string_lossy()));
    format!("{prefix}.{MARK}.{}-{call}{ENDING}", std::process::id())
}

/// Whether an entry is the program's own, not the user's: a temporary one, or a list of files.
pub fn is_own_entry(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(&format!(".{MARK}.")) || replaced_by(&name).is_some()
}

/// The file that a temporary one becomes, of its name: empty for a folder; `None` for any other name.
fn replaced_by(name: &str) -> Option<&str> {
    let stem = name.strip_prefix('.')?.strip_suffix(ENDING)?;
    let (head, number) = stem.strip_suffix(".old").unwrap_or(stem).rsplit_once('.')?;
    let (process, call) = number.split_once('-')?;
    let target_name = head.strip_suffix(MARK)?;
    (is_number(process)
        && is_number(call)
        && (target_name.is_empty() || target_name.ends_with('.')))
    .then(|| target_name.trim_end_matches('.'))
}

fn is_number(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a temporary that was just made is this process's: locked and still there, not yet taken for a leftover. Where the file
/// system has no locks nobody takes it for one.
pub(super) fn is_held(lock: &File, path: &Path) -> bool {
    match lock.try_lock() {
        Ok(()) => path.symlink_metadata().is_ok(),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
    }
}

/// Opens and locks a file whose process has ended.
fn take(path: &Path) -> Option<File> {
    let file = File::options().write(true).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Removes leftovers beside what is about to be written, once a run for each folder.
pub(super) fn remove_leftovers_once(folder: &Path) {
    /// More folders than a run writes to.
    const REMEMBERED: usize = 1000;
    static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let is_first = {
        let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let swept = swept.get_or_insert_default();
        if swept.len() >= REMEMBERED {
            swept.clear();
        }
        swept.insert(folder.to_owned())
    };
    if is_first {
        remove_leftovers(folder);
    }
}

/// Removes the temporary files and folders of ended processes in a folder. What a process was about to replace when it ended goes
/// back to its place.
pub fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((name, target_name)) = name
            .to_str()
            .and_then(|name| Some((name, replaced_by(name)?)))
        else {
            continue;
        };
        // Errors are ignored: what cannot be removed has no further remedy.
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_folder(&entry.path(), folder),
            Ok(kind) if kind.is_file() => {
                remove_file(&entry.path(), name, &folder.join(target_name))
            }
            _ => Ok(()),
        };
    }
}

fn remove_folder(path: &Path, parent: &Path) -> io::Result<()> {
    let lock = path.join(LOCK);
    // Whoever makes a folder makes its lock anew, and takes another folder where this is there already.
    drop(File::create_new(&lock));
    let mut held = take(&lock);
    if held.is_none() {
        return Ok(());
    }
    for entry in fs::read_dir(path.join(REPLACED)).into_iter().flatten() {
        let entry = entry?;
        let place = parent.join(entry.file_name());
        if place.symlink_metadata().is_err() {
            rename(&entry.path(), &place)?;
        }
    }
    forgo_before_move(&mut held);
    fs::remove_dir_all(path)
}

fn remove_file(path: &Path, name: &str, becomes: &Path) -> io::Result<()> {
    let Some(stem) = name.strip_suffix(OLD_ENDING) else {
        return take(path).map_or(Ok(()), |_held| fs::remove_file(path));
    };
    // The lock of a replacement goes with its file into the place of the old one.
    let replacement = path.with_file_name(format!("{stem}tmp"));
    match becomes.symlink_metadata() {
        _ if is_in_use(&replacement) || is_in_use(becomes) => Ok(()),
        Ok(_) => fs::remove_file(path),
        Err(_) => rename(path, becomes),
    }
}

fn is_in_use(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && take(path).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::no_forks;
    use crate::replace::tests::names;
    use crate::{Temporary, replace_file};
    use std::io::Write as _;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-leftovers-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn only_names_of_this_program_are_its_own() {
        let names = [
            (".beamsight.12-0.tmp", Some("")),
            (".dose.mha.beamsight.12-0.tmp", Some("dose.mha")),
            (".dose.mha.beamsight.12-0.old.tmp", Some("dose.mha")),
            (".dose.mha.12-0.tmp", None),
            ("dose.mha.beamsight.12-0.tmp", None),
            (".notbeamsight.12-0.tmp", None),
            (".dose.beamsight.12.tmp", None),
            (".dose.beamsight.12-x.tmp", None),
            (".dose.beamsight.12-0.txt", None),
        ];
        for (name, target) in names {
            assert_eq!(replaced_by(name), target, "{name}");
        }
        assert_eq!(
            replaced_by(&temporary_name(Some("a".as_ref()), 3)),
            Some("a")
        );
        assert_eq!(replaced_by(&temporary_name(None, 3)), Some(""));
        assert!(
            is_own_entry(".beamsight.lock".as_ref()) && !is_own_entry(".beamsightful".as_ref())
        );
    }

    /// Files without a lock belong to an ended process; what this one writes is left alone, whoever looks.
    #[test]
    fn what_is_nobodys_goes_and_what_is_written_stays() {
        let _no_forks = no_forks();
        let folder = folder("sweep");
        for name in [
            ".a.beamsight.1-0.tmp",
            ".beamsight.1-1.tmp/new/x",
            ".beamsight.1-2.tmp/.beamsight.lock",
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "left").unwrap();
        }
        for name in ["mine.tmp", ".mine.7-0.tmp", "a"] {
            fs::write(folder.join(name), "mine").unwrap();
        }
        let folder_in_use = Temporary::folder_in(&folder).unwrap();
        assert_eq!(names(&folder).len(), 4, "{:?}", names(&folder));
        fs::write(folder_in_use.path().join("half"), "written").unwrap();
        replace_file::<io::Error>(&folder.join("b"), |out| {
            out.write_all(b"half")?;
            out.flush()?;
            remove_leftovers(&folder);
            out.write_all(b" and half")
        })
        .unwrap();
        assert!(folder_in_use.path().join("half").is_file());
        drop(folder_in_use);
        assert_eq!(names(&folder), [".mine.7-0.tmp", "a", "b", "mine.tmp"]);
        assert_eq!(fs::read(folder.join("b")).unwrap(), b"half and half");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Killed between two renames, the earlier file or folder is the only one there is.
    #[test]
    fn what_was_about_to_be_replaced_goes_back() {
        let _no_forks = no_forks();
        let folder = folder("restore");
        // The first of each has its place taken already, the second not.
        put("done/CT", "new", &folder);
        put(".beamsight.1-0.tmp/replaced/done/CT", "old", &folder);
        put(".beamsight.1-1.tmp/replaced/cut/CT", "old", &folder);
        put(".beamsight.1-1.tmp/new/CT", "new", &folder);
        put("a", "new", &folder);
        put(".a.beamsight.1-2.old.tmp", "old", &folder);
        put(".b.beamsight.1-3.old.tmp", "old", &folder);
        put(".b.beamsight.1-3.tmp", "new", &folder);
        remove_leftovers(&folder);
        assert_eq!(names(&folder), ["a", "b", "cut", "done"]);
        assert_eq!(
            ["a", "b", "cut/CT", "done/CT"]
                .map(|name: &str| fs::read_to_string(folder.join(name)).unwrap()),
            ["new", "old", "old", "new"]
        );
        fs::remove_dir_all(folder).unwrap();
    }

    fn put(name: &str, text: &str, folder: &Path) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
