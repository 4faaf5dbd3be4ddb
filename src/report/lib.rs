//! Reports, for the window and the command line alike: tables and pages drawn from results that have been gathered. A report
//! needs neither a window nor a graphics device, so its bytes are the same on every machine.

pub mod check;
pub mod comparison;
mod facts;
pub mod machine;
pub mod pdf;
mod pen;
mod picture;
pub mod plan;
pub mod room;

pub use facts::{Curve, DoseFacts, PROGRAM, patient_name, written_now};
pub use picture::{Pictures, Subject};

use files::replace_file;
use std::io::Write as _;
use std::path::Path;

/// Writes the bytes of a report; a reader of the file never sees a part of it.
///
/// # Errors
/// Errors of the file system.
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), String> {
    replace_file(path, |out| out.write_all(bytes)).map_err(|e| {
        format!(
            "cannot write {}: {e}; choose a folder you may write to",
            path.display()
        )
    })
}
