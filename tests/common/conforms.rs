//! Checks written objects against the standard with another program.

use super::skip::{Missing, skip};
use std::path::Path;
use std::process::Command;

/// The errors that `dciodvfy` finds; `None`, reported as a skip, where it is not installed.
pub fn faults(path: &Path) -> Option<Vec<String>> {
    let Ok(output) = Command::new("dciodvfy").arg("-new").arg(path).output() else {
        skip(
            Missing::Program,
            "dciodvfy is not installed (apt-get install dicom3tools): an object is not checked",
        );
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Some(
        text.lines()
            .filter(|l| l.starts_with("Error"))
            .map(str::to_owned)
            .collect(),
    )
}

/// Fails where `dciodvfy` finds an error.
pub fn assert_conforms(path: &Path) {
    let faults = faults(path).unwrap_or_default();
    assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
}
