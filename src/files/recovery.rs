//! Recovery of unsaved work: each window keeps its own session file with a lock, which the system
//! releases with the process. A file whose lock is free is unsaved work of an ended process.

use super::kept_doses::{self, DoseToKeep, KeptDoses};
use super::moving::forgo_before_move;
use super::session::{self, Session, SessionError};
use super::state_folder::private_folder;
use input::KEPT_DOSES_BYTES;
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
    /// Held until the keeper ends or is dropped.
    lock: Mutex<Option<File>>,
    /// Whether the window has been closed in good order; nothing is written afterwards.
    ended: Mutex<bool>,
    /// Files taken over: each has its own number.
    claimed: AtomicU32,
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
    /// Errors of the file system.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        static WINDOWS: AtomicU32 = AtomicU32::new(0);
        private_folder(folder)?;
        loop {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
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
                    let (folder, ended) = (folder.to_owned(), Mutex::new(false));
                    return Ok(Self {
                        folder,
                        id,
                        lock: Mutex::new(Some(lock)),
                        ended,
                        claimed: AtomicU32::new(0),
                    });
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
        if *ended {
            Ok(())
        } else {
            session::write(&self.path(), session)
        }
    }

    /// Keeps doses of the work beside it: those that have values and are not there yet are written, first come, as long as all
    /// together fit into [`KEPT_DOSES_BYTES`]; doses of other inputs go. Without kept work there are none.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn keep_doses(&self, wanted: &[DoseToKeep]) -> io::Result<()> {
        let kept = KeptDoses::of_unsaved(&self.path());
        kept.keep_only(wanted);
        let mut bytes = 0;
        for wanted in wanted {
            let Some(dose) = &wanted.dose else { continue };
            bytes += 4 * dose.gy.data().len() as u64;
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            if *ended || bytes > KEPT_DOSES_BYTES || !self.path().is_file() {
                break;
            }
            kept.write(wanted)?;
        }
        Ok(())
    }

    /// The doses beside work that was taken over, which become the doses of this window's work.
    pub fn adopt_doses(&self, work: &Path) -> KeptDoses {
        KeptDoses::of_unsaved(work).move_beside(&self.path());
        KeptDoses::of_unsaved(&self.path())
    }

    /// Removes the work and its doses: nothing is unsaved.
    pub fn clear(&self) {
        let _ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove();
    }

    fn remove(&self) {
        // A missing file is fine; one that cannot be removed is only offered once too often.
        let _ = Recoverable::remove(&self.path());
    }

    /// The window closes in good order: its work is saved, or discarded by the user. Its lock is closed before it is removed: some
    /// drives of Windows, as those in networks, list a removed file until nobody has it open.
    pub fn end(&self) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended = true;
        self.remove();
        forgo_before_move(&mut self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = fs::remove_file(self.folder.join(format!("{}.{LOCK}", self.id)));
    }

    /// Takes over the work of ended windows, newest first. Each file goes to one window only.
    pub fn claim_recoverable(&self) -> Vec<Recoverable> {
        let names = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name());
        let mut left = Vec::new();
        for name in names.filter_map(|name| name.into_string().ok()) {
            // The temporary file of an unfinished write: `.ID.json.PID-N.tmp`.
            let unfinished = name.starts_with('.') && name.ends_with(".tmp");
            let Some((id, suffix)) = name.trim_start_matches('.').split_once('.') else {
                continue;
            };
            if id == self.id {
                continue;
            }
            // Locked until the file is moved or removed.
            let lock = File::open(self.folder.join(format!("{id}.{LOCK}")));
            if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_err()) {
                continue;
            }
            let path = self.folder.join(&name);
            if unfinished || suffix == LOCK {
                let _ = fs::remove_file(path);
            } else if suffix.ends_with(kept_doses::FOLDER) && !path.with_extension(FILE).exists() {
                KeptDoses::of_unsaved(&path).remove();
            } else if suffix.ends_with(FILE) {
                let number = self.claimed.fetch_add(1, Ordering::Relaxed);
                let claimed = self.folder.join(format!("{}.{number}.{FILE}", self.id));
                // Two windows may reach this point: the first to move the file gets it.
                if fs::rename(&path, &claimed).is_ok() {
                    KeptDoses::of_unsaved(&path).move_beside(&claimed);
                    left.push(Recoverable::new(claimed));
                }
            }
        }
        left.sort_by_key(|l| std::cmp::Reverse(l.written));
        left
    }
}

impl Recoverable {
    fn new(path: PathBuf) -> Self {
        let written = fs::metadata(&path).and_then(|m| m.modified()).ok();
        let case = session::read(&path)
            .map(|session| session.case)
            .map_err(|e| e.to_string());
        Self {
            path,
            written,
            case,
        }
    }

    /// Discards it, with its doses.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn remove(path: &Path) -> io::Result<()> {
        KeptDoses::of_unsaved(path).remove();
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::{self, no_forks};
    use case::{Case, StructureSet};
    use std::process::{Command, Stdio};

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-recovery-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn work(case: &str) -> Session {
        Session::new(
            &Case::default(),
            case,
            &StructureSet::default(),
            serde_json::Value::Null,
        )
    }

    #[test]
    fn what_a_window_leaves_is_offered_to_one_other_and_only_once_it_is_gone() {
        let _no_forks = no_forks();
        let folder = folder("offered");
        let first = Keeper::begin(&folder).unwrap();
        first.write(&work("demo:slab")).unwrap();
        let second = Keeper::begin(&folder).unwrap();
        assert_eq!(second.claim_recoverable(), [], "its window still runs");
        drop(first);
        let taken = second.claim_recoverable();
        assert_eq!(
            taken.iter().map(|l| l.case.clone()).collect::<Vec<_>>(),
            [Ok("demo:slab".to_owned())]
        );
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
        assert_eq!(
            last.claim_recoverable(),
            [],
            "a window that ended leaves nothing"
        );
        last.end();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nor locks");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Windows look more than once: a killed one of many GB holds its lock for seconds.
    #[test]
    fn a_second_look_leaves_what_the_first_has_found_and_doses_go_with_their_work() {
        let _no_forks = no_forks();
        let folder = folder("again");
        let [first, second] = [(); 2].map(|()| Keeper::begin(&folder).unwrap());
        let third = Keeper::begin(&folder).unwrap();
        for (keeper, case) in [(&first, "demo:slab"), (&second, "demo:water")] {
            keeper.write(&work(case)).unwrap();
            fs::create_dir(doses_beside(&keeper.path())).unwrap();
            fs::write(doses_beside(&keeper.path()).join("x.dose"), case).unwrap();
        }
        let mut recovered = Vec::new();
        for keeper in [first, second] {
            drop(keeper);
            recovered.extend(third.claim_recoverable());
        }
        for left in &recovered {
            let case = left.case.clone().unwrap();
            assert_eq!(session::read(&left.path).unwrap().case, case);
            assert_eq!(
                fs::read_to_string(doses_beside(&left.path).join("x.dose")).unwrap(),
                case
            );
        }
        // Discarded, taken over, cleared: the doses go the same way, and without work there are none.
        Recoverable::remove(&recovered[0].path).unwrap();
        assert!(!doses_beside(&recovered[0].path).exists());
        third.write(&work("demo:water")).unwrap();
        third.adopt_doses(&recovered[1].path);
        Recoverable::remove(&recovered[1].path).unwrap();
        assert!(doses_beside(&third.path()).join("x.dose").is_file());
        third.clear();
        fs::create_dir(doses_beside(&third.path())).unwrap();
        drop(third);
        let last = Keeper::begin(&folder).unwrap();
        assert_eq!(last.claim_recoverable(), []);
        last.end();
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            0,
            "no dose of a patient stays behind"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    fn doses_beside(path: &Path) -> PathBuf {
        path.with_extension(kept_doses::FOLDER)
    }

    #[test]
    fn a_write_cut_short_leaves_what_was_there_and_damage_is_said() {
        let _no_forks = no_forks();
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
        let (readable, damaged): (Vec<_>, Vec<_>) = taken.iter().partition(|l| l.case.is_ok());
        assert_eq!(readable[0].case, Ok("demo:slab".to_owned()));
        assert!(
            damaged[0]
                .case
                .as_ref()
                .unwrap_err()
                .contains("is not a session"),
            "{damaged:?}"
        );
        next.end();
        fs::remove_dir_all(folder).unwrap();
    }

    /// A process killed at any moment of a write leaves a complete file: tried twenty times.
    #[test]
    fn a_kill_in_the_middle_of_a_write_leaves_a_whole_file() {
        const VARIABLE: &str = "BEAMSIGHT_TEST_WRITES_TO";
        if let Some(folder) = std::env::var_os(VARIABLE) {
            let keeper = Keeper::begin(Path::new(&folder)).unwrap();
            for n in 0.. {
                keeper
                    .write(&work(&format!("{n:07}").repeat(100_000)))
                    .unwrap();
            }
        }
        let name = "recovery::tests::a_kill_in_the_middle_of_a_write_leaves_a_whole_file";
        let folder = folder("killed");
        let mut read = 0;
        for round in 0..20 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["--exact", name, "--nocapture"])
                .env(VARIABLE, &folder);
            command.stderr(Stdio::null()).stdout(Stdio::null());
            let mut child = children::spawn(&mut command).unwrap();
            while {
                let files = fs::read_dir(&folder).into_iter().flatten().flatten();
                files
                    .filter(|e| e.path().extension().is_some_and(|e| e == FILE))
                    .count()
            } == 0
            {
                assert!(
                    child.try_wait().unwrap().is_none(),
                    "it writes until it is killed"
                );
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            std::thread::sleep(std::time::Duration::from_micros(1700 * round));
            child.kill().unwrap();
            child.wait().unwrap();
            let _no_forks = no_forks();
            let next = Keeper::begin(&folder).unwrap();
            for left in next.claim_recoverable() {
                let case = left.case.unwrap();
                assert!(
                    case.len() == 700_000 && case == case[..7].repeat(100_000),
                    "of one write"
                );
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
