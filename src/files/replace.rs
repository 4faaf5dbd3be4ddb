//! Atomic writes: files appear complete or not at all, all files of one call together, and temporary ones are
//! removed when the program is stopped.

use super::leftovers::{
    LOCK, OLD_ENDING, REPLACED, is_held, remove_leftovers_once, temporary_name,
};
use super::moving::{forgo_before_move, rename};
use super::private::private_builder;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Existing temporary files and folders. The lock is held while one is made, moved or removed, so that a
/// signal finds either all files of a call in their places or none.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

thread_local! {
    /// Files written on this thread within [`together`], not yet in their places.
    static WRITTEN: RefCell<Option<Vec<Written>>> = const { RefCell::new(None) };
}

/// A complete file and its final path.
struct Written {
    temporary: Temporary,
    path: PathBuf,
}

/// A file or folder of a random name; it is removed on drop, when a signal stops the program, and where the program is killed by
/// the next one that writes beside it.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// Locked while this process has it.
    lock: Option<File>,
}

impl Temporary {
    /// A folder within another, accessible to the user only.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn folder_in(folder: &Path) -> io::Result<Self> {
        Self::make(folder, None, |path| {
            private_builder().create(path)?;
            match File::create_new(path.join(LOCK)) {
                // Another program has taken the folder for a leftover.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
                    ) =>
                {
                    Ok(None)
                }
                lock => lock.map(Some),
            }
        })
    }

    /// A file beside another.
    fn file_beside(path: &Path) -> io::Result<Self> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        Self::make(folder.unwrap_or(Path::new(".")), Some(name), |path| {
            File::create_new(path).map(Some)
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to a free path, or over a file, which it replaces.
    ///
    /// # Errors
    /// Errors of the file system; the temporary file is then removed.
    pub fn rename(mut self, to: &Path) -> io::Result<()> {
        let _lock = lock();
        forgo_before_move(&mut self.lock);
        remove(&self.path.join(LOCK));
        rename(&self.path, to)
    }

    /// Moves a folder within this one to a path beside it. A folder there is removed if `may_go` agrees, which sees it at a path
    /// where nobody adds to it any more.
    ///
    /// # Errors
    /// Errors of the file system and of `may_go`; what was at the path is then still there.
    pub fn publish(
        self,
        inside: &str,
        to: &Path,
        may_go: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut temporaries = lock();
        let (new, aside) = (self.path.join(inside), self.path.join(REPLACED));
        let old = aside.join(to.file_name().unwrap_or_default());
        let replaces = to.symlink_metadata().is_ok();
        if replaces {
            fs::create_dir(&aside)?;
            rename(to, &old)?;
        }
        let agreed = if replaces { may_go(&old) } else { Ok(()) };
        let moved = agreed.and_then(|()| rename(&new, to));
        if moved.is_err() && replaces && rename(&old, to).is_err() {
            // The earlier folder is then kept where it is, rather than removed with this one.
            temporaries.retain(|path| *path != self.path);
            drop(temporaries);
            std::mem::forget(self);
        }
        moved
    }

    /// Moves the content of a temporary folder into an empty one.
    ///
    /// # Errors
    /// Errors of the file system; the target is then empty again.
    pub fn move_contents(self, to: &Path) -> io::Result<()> {
        let _lock = lock();
        let mut moved = Vec::new();
        let done = fs::read_dir(&self.path)?.try_for_each(|entry| {
            let entry = entry?;
            if entry.file_name() == LOCK {
                return Ok(());
            }
            let place = to.join(entry.file_name());
            rename(&entry.path(), &place)?;
            moved.push(place);
            Ok(())
        });
        if done.is_err() {
            moved.iter().for_each(|path| remove(path));
        }
        done
    }

    /// Makes an entry in a folder under a unique name, with a lock that says that it is in use; tried again where `make` gives
    /// none, or another program has taken it for a leftover.
    fn make(
        folder: &Path,
        name: Option<&OsStr>,
        make: impl Fn(&Path) -> io::Result<Option<File>>,
    ) -> io::Result<Self> {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        remove_leftovers_once(folder);
        let mut temporaries = lock();
        for _ in 0..TRIES {
            let path = folder.join(temporary_name(name, CALLS.fetch_add(1, Ordering::Relaxed)));
            let created = make(&path);
            if let Ok(Some(lock)) = created.as_ref()
                && is_held(lock, &path)
            {
                temporaries.push(path.clone());
                return Ok(Self {
                    path,
                    lock: created?,
                });
            }
            // A name that is there already is of another process of this number, ended or on another machine.
            match created {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    remove(&path);
                    return Err(error);
                }
                _ => {}
            }
        }
        Err(io::Error::other(
            "other programs take every temporary file away",
        ))
    }
}

/// Attempts at a temporary file before another program's hold on all of them is an error.
const TRIES: u32 = 100;

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut temporaries = lock();
        forgo_before_move(&mut self.lock);
        remove(&self.path);
        temporaries.retain(|path| *path != self.path);
    }
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporaries. While the lock is held no file is made or moved any more.
fn removed() -> MutexGuard<'static, Vec<PathBuf>> {
    let temporaries = lock();
    temporaries.iter().for_each(|path| remove(path));
    temporaries
}

/// Removes the program's temporary files and ends it.
pub fn end_now(code: i32) -> ! {
    let _all = removed();
    std::process::exit(code)
}

/// Errors are ignored: a temporary file that cannot be removed has no further remedy.
fn remove(path: &Path) {
    let _ = match path.symlink_metadata() {
        Ok(what) if what.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
}

/// Writes a file under a temporary name beside `path` and renames it when complete, so that a failure leaves
/// the earlier file; within [`together`], when all are complete. Missing folders are not made.
///
/// # Errors
/// Errors of `write` or the file system; the temporary file is then removed.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let temporary = Temporary::file_beside(path)?;
    let file = temporary
        .lock
        .as_ref()
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?
        .try_clone()?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    let written = Written {
        temporary,
        path: path.to_owned(),
    };
    WRITTEN.with_borrow_mut(|written_files| match written_files {
        Some(written_paths) => {
            written_paths.push(written);
            Ok(())
        }
        None => Ok(place(&mut [written])?),
    })
}

/// Files that [`replace_file`] writes on this thread during `write` appear when all of them are complete, or
/// not at all.
///
/// # Errors
/// Errors of `write` or the file system; all files are then as before.
pub fn together<T, E: From<io::Error>>(write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    /// Clears the list even after a panic, for the next call.
    struct Begun;
    impl Drop for Begun {
        fn drop(&mut self) {
            WRITTEN.take();
        }
    }
    if WRITTEN.with_borrow(Option::is_some) {
        return write();
    }
    let _begun = Begun;
    WRITTEN.set(Some(Vec::new()));
    let answer = write()?;
    place(&mut WRITTEN.take().unwrap_or_default())?;
    Ok(answer)
}

/// Puts files in their places; where one fails, the earlier ones are removed and the files they replaced
/// restored.
fn place(files: &mut [Written]) -> io::Result<()> {
    let _lock = lock();
    if let [Written { temporary, path }] = files {
        return rename(&temporary.path, path);
    }
    let mut done = Vec::new();
    let placed = files.iter().try_for_each(|file| {
        let old = set_aside(file)?;
        let moved = rename(&file.temporary.path, &file.path);
        done.push((file.path.clone(), old, moved.is_ok()));
        moved
    });
    if placed.is_err() {
        for file in &mut *files {
            forgo_before_move(&mut file.temporary.lock);
        }
    }
    for (path, old, moved) in done.into_iter().rev() {
        match (old, placed.is_err()) {
            // Renaming between two names of one file leaves both. The earlier file is not removed where it cannot go back.
            (Some(old), undo) => {
                if !undo || rename(&old, &path).is_ok() {
                    remove(&old);
                }
            }
            (None, true) if moved => remove(&path),
            (None, _) => {}
        }
    }
    placed
}

/// Gives a file that is about to be replaced a second name, so that it exists at every moment.
fn set_aside(file: &Written) -> io::Result<Option<PathBuf>> {
    let backup = file.temporary.path.with_extension(OLD_ENDING);
    match file.path.symlink_metadata() {
        Err(_) => Ok(None),
        Ok(what) if what.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            format!("{} is a folder", file.path.display()),
        )),
        // On a file system without hard links the file is absent for a moment.
        Ok(_) => fs::hard_link(&file.path, &backup)
            .or_else(|_| rename(&file.path, &backup))
            .map(|()| Some(backup)),
    }
}

/// Set by the first signal, once [`stop_in_order`] was called.
static STOP: AtomicBool = AtomicBool::new(false);
static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// From now on the first SIGINT or SIGTERM only sets the answer, so that a conversation is ended in order; the next one ends
/// the program as ever.
pub fn stop_in_order() -> &'static AtomicBool {
    IN_ORDER.store(true, Ordering::Relaxed);
    &STOP
}

/// From now on SIGINT and SIGTERM remove the program's temporary files and then end it with the signal's own
/// exit.
///
/// # Errors
/// Errors of the system.
#[cfg(unix)]
pub fn remove_temporaries_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if IN_ORDER.load(Ordering::Relaxed) && !STOP.swap(true, Ordering::Relaxed) {
                    continue;
                }
                let _all = removed();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })
        .map(drop)
}

/// From now on Ctrl-C, the closing of the console and the end of the user's session remove the program's temporary files before the
/// system ends it.
///
/// # Errors
/// Errors of the system.
#[cfg(not(unix))]
pub fn remove_temporaries_on_signals() -> io::Result<()> {
    platform::on_ending(|ending| {
        let is_interruption = ending == platform::Ending::Interrupted;
        if is_interruption
            && IN_ORDER.load(Ordering::Relaxed)
            && !STOP.swap(true, Ordering::Relaxed)
        {
            return true;
        }
        // Held for the rest of the process: nothing is made or moved any more.
        std::mem::forget(removed());
        false
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-replace-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn put(path: &Path, text: &str) -> io::Result<()> {
        replace_file(path, |out| out.write_all(text.as_bytes()))
    }

    /// The names of what a folder holds, sorted.
    pub(crate) fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_one_call_appear_together_or_not_at_all() {
        let folder = folder("together");
        let [a, b, c] = ["a", "b", "c"].map(|name| folder.join(name));
        fs::write(&b, "old").unwrap();
        together(|| {
            put(&a, "1")?;
            assert!(!a.exists(), "nothing is seen before all is written");
            put(&b, "2")
        })
        .unwrap();
        assert_eq!(
            (fs::read(&a).unwrap(), fs::read(&b).unwrap()),
            (b"1".to_vec(), b"2".to_vec())
        );
        assert_eq!(names(&folder), ["a", "b"]);

        // The second file fails while it is written.
        fs::remove_file(&a).unwrap();
        let failed: io::Result<()> = together(|| {
            put(&a, "3")?;
            replace_file(&b, |_| Err(io::Error::other("no more")))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(
            (names(&folder), fs::read(&b).unwrap()),
            (vec!["b".to_owned()], b"2".to_vec())
        );

        // The third file cannot be put in its place: a folder that is not empty is there.
        fs::create_dir_all(c.join("full")).unwrap();
        let failed = together(|| [&a, &b, &c].into_iter().try_for_each(|path| put(path, "4")));
        assert!(failed.is_err());
        assert_eq!(
            (names(&folder), fs::read(&b).unwrap()),
            (vec!["b".into(), "c".into()], b"2".to_vec())
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_temporary_folder_is_the_users_own_and_goes() {
        let folder = folder("temporary");
        let staged = Temporary::folder_in(&folder).unwrap();
        put(&staged.path().join("x"), "x").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                staged.path().metadata().unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
        drop(staged);
        assert_eq!(names(&folder), Vec::<String>::new());
        fs::remove_dir_all(folder).unwrap();
    }
}
