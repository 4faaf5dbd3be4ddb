//! Files appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file under a temporary name beside `path` and renames it when it is complete, so that a failure leaves
/// what was there before. Folders on the way are not made.
///
/// # Errors
/// What `write` or the file system says; the temporary file is then gone.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let temporary =
        path.with_file_name(format!(".{}.{}-{call}.tmp", name.to_string_lossy(), std::process::id()));
    let mut out = BufWriter::new(File::create_new(&temporary)?);
    let done = write(&mut out)
        .and_then(|()| Ok(out.flush()?))
        .and_then(|()| Ok(out.get_ref().sync_all()?))
        .and_then(|()| Ok(fs::rename(&temporary, path)?));
    if done.is_err() {
        // Nothing more can be done about a temporary file that will not go.
        let _ = fs::remove_file(&temporary);
    }
    done
}
