//! Checks written objects against the standard with another program.

use crate::skip::{Missing, skip};
use std::path::Path;
use std::process::Command;

/// Fails where `dciodvfy` finds an error.
pub fn assert_conforms(path: &Path) {
    let Ok(output) = Command::new("dciodvfy").arg("-new").arg(path).output() else {
        skip(
            Missing::Program,
            "dciodvfy is not installed (apt-get install dicom3tools): an object is not checked",
        );
        return;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let faults: Vec<&str> = text.lines().filter(|l| l.starts_with("Error")).collect();
    assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
}
