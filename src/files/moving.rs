//! Moves of files that other programs may have open: a viewer, a spreadsheet, a virus scanner.

use platform::is_held_elsewhere;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Waits between attempts at a move, ms: a virus scanner has a new file open for tenths of a second.
const WAITS_MS: [u64; 7] = [10, 20, 50, 100, 200, 500, 1000];

/// Moves a file or folder, as `fs::rename`. Where another program has it open and the system refuses, the move is tried again for two
/// seconds.
///
/// # Errors
/// Errors of the file system; one of another program's hold says so.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let moved = retried(|| fs::rename(from, to), is_held_elsewhere, thread::sleep);
    moved.map_err(|error| match is_held_elsewhere(&error) {
        true => in_words(&error, to),
        false => error,
    })
}

fn retried(
    mut attempt: impl FnMut() -> io::Result<()>,
    is_passing: impl Fn(&io::Error) -> bool,
    mut wait: impl FnMut(Duration),
) -> io::Result<()> {
    for wait_ms in WAITS_MS {
        match attempt() {
            Err(error) if is_passing(&error) => wait(Duration::from_millis(wait_ms)),
            outcome => return outcome,
        }
    }
    attempt()
}

fn in_words(error: &io::Error, to: &Path) -> io::Error {
    let words = format!(
        "{} is open in another program (a viewer, a spreadsheet, a virus scanner), or may not be replaced: close it there and try \
         again ({error})",
        to.display()
    );
    io::Error::new(error.kind(), words)
}

/// Gives back the lock on a temporary file or folder before its move or removal, which Windows refuses for folders with an open file.
/// Elsewhere the lock lasts until that is done.
pub fn forgo_before_move(lock: &mut Option<File>) {
    if cfg!(windows) {
        *lock = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> io::Error {
        io::Error::from_raw_os_error(32)
    }

    fn full() -> io::Error {
        io::Error::from(io::ErrorKind::StorageFull)
    }

    /// Attempts of a move that succeeds at the nth, whether it did, and the time waited.
    fn tried(succeeds_at: usize, error: fn() -> io::Error) -> (usize, bool, Duration) {
        let (mut attempts, mut waited) = (0, Duration::ZERO);
        let outcome = retried(
            || {
                attempts += 1;
                if attempts == succeeds_at {
                    Ok(())
                } else {
                    Err(error())
                }
            },
            |error| error.raw_os_error() == Some(32),
            |pause| waited += pause,
        );
        (attempts, outcome.is_ok(), waited)
    }

    #[test]
    fn a_file_that_another_program_lets_go_is_moved_and_no_other_error_is_waited_for() {
        assert_eq!(tried(1, held), (1, true, Duration::ZERO));
        assert_eq!(tried(3, held), (3, true, Duration::from_millis(30)));
        assert_eq!(tried(9, held), (8, false, Duration::from_millis(1880)));
        assert_eq!(tried(2, full), (1, false, Duration::ZERO));
        let words = in_words(&held(), Path::new("dose.mha")).to_string();
        assert!(
            words.starts_with("dose.mha is open in another program"),
            "{words}"
        );
    }

    /// A viewer that shares neither writing nor removal, and closes the file after a while.
    #[cfg(windows)]
    #[test]
    fn a_file_on_view_elsewhere_is_replaced_once_it_is_closed() {
        use std::os::windows::fs::OpenOptionsExt as _;
        let folder = std::env::temp_dir().join(format!("beamsight-moving-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.join(name));
        fs::write(&new, "new").unwrap();
        fs::write(&old, "old").unwrap();
        let viewer = File::options().read(true).share_mode(1).open(&old).unwrap();
        let closes = thread::spawn(move || {
            thread::sleep(Duration::from_millis(150));
            drop(viewer);
        });
        rename(&new, &old).unwrap();
        closes.join().unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
        fs::write(&new, "newer").unwrap();
        let _viewer = File::options().read(true).share_mode(1).open(&old).unwrap();
        let refusal = rename(&new, &old).unwrap_err().to_string();
        assert!(
            refusal.contains("old is open in another program"),
            "{refusal}"
        );
        drop(_viewer);
        fs::remove_dir_all(folder).unwrap();
    }
}
