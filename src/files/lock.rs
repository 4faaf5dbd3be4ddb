//! A lock between programs: the system gives it back when its holder ends, however that ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// A held lock on a file, which stays.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes a lock, alone or `shared` with others that share it; `None` where another program has it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn try_take(path: &Path, shared: bool) -> io::Result<Option<Self>> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        match if shared {
            file.try_lock_shared()
        } else {
            file.try_lock()
        } {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
