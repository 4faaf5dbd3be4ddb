//! Recovery of unsaved work: each window keeps a session file of its own with a lock, which the system
//! releases with the process. A file whose lock is free is unsaved work of an ended process.

use super::session::{self, Session, SessionError};
use super::state_folder::private_folder;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// One window's recovery file. Dropped without [`Self::end`], the file stays, as after a kill.
#[derive(Debug)]
pub struct Keeper {
    folder: PathBuf,
    /// Prefix of the names of this window's files.
    id: String,
    /// Held until the keeper is dropped.
    _lock: File,
    /// Whether the window has been closed in good order; nothing is written afterwards.
    ended: Mutex<bool>,
}

/// Unsaved work of an ended window, taken over by this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Recoverable {
    /// A session file.
    pub path: PathBuf,
    /// When it was last written.
    pub written: Option<SystemTime>,
    /// The CASE of the work, or why the file cannot be read.
    pub case: Result<String, String>,
}

const FILE: &str = "json";
const LOCK: &str = "lock";

impl Keeper {
    /// Starts a window's recovery in a folder, which is created and closed to other users.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        static WINDOWS: AtomicU32 = AtomicU32::new(0);
        private_folder(folder)?;
        loop {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let window = WINDOWS.fetch_add(1, Ordering::Relaxed);
            // Identifiers are never reused: a free lock means that its window has ended.
            let id = format!("{}-{}-{window}", since.as_nanos(), std::process::id());
            let path = folder.join(format!("{id}.{LOCK}"));
            let lock = File::create_new(&path)?;
            match lock.try_lock() {
                // Another window may have removed the lock file before it was locked.
                Ok(()) if !path.exists() => {}
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => {
                    return Ok(Self { folder: folder.to_owned(), id, _lock: lock, ended: Mutex::new(false) });
                }
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.{FILE}", self.id))
    }

    /// Writes the current work; until that is complete the file holds the earlier one. Writes nothing after
    /// [`Self::end`].
    ///
    /// # Errors
    /// [`SessionError::Write`].
    pub fn write(&self, session: &Session) -> Result<(), SessionError> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *ended { Ok(()) } else { session::write(&self.path(), session) }
    }

    /// Removes the file: nothing is unsaved.
    pub fn clear(&self) {
        // A missing file is fine; one that cannot be removed is only offered once too often.
        let _ = fs::remove_file(self.path());
    }

    /// The window closes in good order: its work is saved, or discarded by the user.
    pub fn end(&self) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended = true;
        self.clear();
        let _ = fs::remove_file(self.folder.join(format!("{}.{LOCK}", self.id)));
    }

    /// Takes over the work of ended windows, newest first. Each file goes to one window only.
    pub fn claim_recoverable(&self) -> Vec<Recoverable> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut left = Vec::new();
        for name in names.filter_map(|name| name.into_string().ok()) {
            // The temporary file of an unfinished write: `.ID.json.PID-N.tmp`.
            let unfinished = name.starts_with('.') && name.ends_with(".tmp");
            let Some((id, rest)) = name.trim_start_matches('.').split_once('.') else { continue };
            if id == self.id {
                continue;
            }
            // Locked until the file is moved or removed.
            let lock = File::open(self.folder.join(format!("{id}.{LOCK}")));
            if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_err()) {
                continue;
            }
            let path = self.folder.join(&name);
            if unfinished || rest == LOCK {
                let _ = fs::remove_file(path);
            } else if rest.ends_with(FILE) {
                let own = self.folder.join(format!("{}.{}.{FILE}", self.id, left.len()));
                // Two windows may reach this point: the first to move the file gets it.
                if fs::rename(&path, &own).is_ok() {
                    left.push(Recoverable::of(own));
                }
            }
        }
        left.sort_by_key(|l| std::cmp::Reverse(l.written));
        left
    }
}

impl Recoverable {
    fn of(path: PathBuf) -> Self {
        let written = fs::metadata(&path).and_then(|m| m.modified()).ok();
        let case = session::read(&path).map(|session| session.case).map_err(|e| e.to_string());
        Self { path, written, case }
    }

    /// Discards it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, StructureSet};
    use std::process::Command;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("beamsight-recovery-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn work(case: &str) -> Session {
        Session::new(&Case::default(), case, &StructureSet::default(), serde_json::Value::Null)
    }

    #[test]
    fn what_a_window_leaves_is_offered_to_one_other_and_only_once_it_is_gone() {
        let folder = folder("offered");
        let first = Keeper::begin(&folder).unwrap();
        first.write(&work("demo:slab")).unwrap();
        let second = Keeper::begin(&folder).unwrap();
        assert_eq!(second.claim_recoverable(), [], "its window still runs");
        drop(first);
        let taken = second.claim_recoverable();
        assert_eq!(taken.iter().map(|l| l.case.clone()).collect::<Vec<_>>(), [Ok("demo:slab".to_owned())]);
        let third = Keeper::begin(&folder).unwrap();
        assert_eq!(third.claim_recoverable(), [], "the second window has it");
        // The work is left undecided once more.
        drop(second);
        let taken = third.claim_recoverable();
        assert_eq!(taken.len(), 1);
        Recoverable::remove(&taken[0].path).unwrap();
        third.end();
        third.write(&work("demo:water")).unwrap();
        let last = Keeper::begin(&folder).unwrap();
        assert_eq!(last.claim_recoverable(), [], "a window that ended leaves nothing");
        last.end();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nor locks");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_write_cut_short_leaves_what_was_there_and_damage_is_said() {
        let folder = folder("damaged");
        let window = Keeper::begin(&folder).unwrap();
        window.write(&work("demo:slab")).unwrap();
        let half = folder.join(format!(".{}.json.1-0.tmp", window.id));
        fs::write(&half, "{\"version\": 1, \"cas").unwrap();
        drop(window);
        let broken = Keeper::begin(&folder).unwrap();
        fs::write(broken.path(), "{\"version\": 1, \"cas").unwrap();
        drop(broken);
        let next = Keeper::begin(&folder).unwrap();
        let taken = next.claim_recoverable();
        assert!(!half.exists(), "the rest of the write is swept up");
        let (whole, damaged): (Vec<_>, Vec<_>) = taken.iter().partition(|l| l.case.is_ok());
        assert_eq!(whole[0].case, Ok("demo:slab".to_owned()));
        assert!(damaged[0].case.as_ref().unwrap_err().contains("is not a session"), "{damaged:?}");
        next.end();
        fs::remove_dir_all(folder).unwrap();
    }

    /// A process killed at any moment of a write leaves a complete file: tried twenty times.
    #[cfg(unix)]
    #[test]
    fn a_kill_in_the_middle_of_a_write_leaves_a_whole_file() {
        const VARIABLE: &str = "BEAMSIGHT_TEST_WRITES_TO";
        if let Some(folder) = std::env::var_os(VARIABLE) {
            let keeper = Keeper::begin(Path::new(&folder)).unwrap();
            for n in 0.. {
                keeper.write(&work(&format!("{n:07}").repeat(100_000))).unwrap();
            }
        }
        let name = "files::recovery::tests::a_kill_in_the_middle_of_a_write_leaves_a_whole_file";
        let folder = folder("killed");
        let mut read = 0;
        for round in 0..20 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name, "--nocapture"])
                .env(VARIABLE, &folder)
                .stderr(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let written = || {
                let files = fs::read_dir(&folder).into_iter().flatten().flatten();
                files.filter(|e| e.path().extension().is_some_and(|e| e == FILE)).count()
            };
            while written() == 0 {
                assert!(child.try_wait().unwrap().is_none(), "it writes until it is killed");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            std::thread::sleep(std::time::Duration::from_micros(1700 * round));
            child.kill().unwrap();
            child.wait().unwrap();
            let next = Keeper::begin(&folder).unwrap();
            for left in next.claim_recoverable() {
                let case = left.case.unwrap();
                assert!(case.len() == 700_000 && case == case[..7].repeat(100_000), "of one write");
                Recoverable::remove(&left.path).unwrap();
                read += 1;
            }
            next.end();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
        assert_eq!(read, 20);
        fs::remove_dir_all(folder).unwrap();
    }
}
