//! The trail of a run: every file and folder that it has read, and how each stood then. By it a batch knows whether an answer
//! still holds.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Stamps of the paths read, each at its first reading; none before [`keep_trail`].
static TRAIL: Mutex<Option<BTreeMap<PathBuf, String>>> = Mutex::new(None);

/// Keeps a trail from now on.
pub fn keep_trail() {
    *TRAIL.lock().unwrap_or_else(PoisonError::into_inner) = Some(BTreeMap::new());
}

/// Stamps of the paths read since [`keep_trail`], by absolute path.
pub fn trail() -> BTreeMap<PathBuf, String> {
    TRAIL
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
        .unwrap_or_default()
}

/// Adds a folder whose entries were listed.
pub fn read_folder(path: &Path) {
    if let Ok(metadata) = path.metadata() {
        add(path, &metadata);
    }
}

/// Adds a path that was opened.
pub(super) fn add(path: &Path, metadata: &Metadata) {
    let mut trail = TRAIL.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(trail), Ok(path)) = (&mut *trail, std::path::absolute(path)) {
        trail.entry(path).or_insert_with(|| stamp_of(metadata));
    }
}

/// How a file or folder stands now; `None` where it is not there. Whoever writes to it changes its stamp: length and times of
/// the last change, of which the system sets one by itself.
pub fn stamp(path: &Path) -> Option<String> {
    path.metadata().ok().map(|metadata| stamp_of(&metadata))
}

fn stamp_of(metadata: &Metadata) -> String {
    // The length of a folder says nothing.
    let length = if metadata.is_dir() { 0 } else { metadata.len() };
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_nanos();
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt as _;
        i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = 0;
    format!("{length} {modified} {changed}")
}
