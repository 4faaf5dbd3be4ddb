//! Reports and counts skipped tests, which otherwise pass like any other.
#![allow(dead_code, reason = "each test binary misses its own")]

use std::io::Write as _;

/// A requirement of a test that this machine lacks. `.ci/run` allows a missing card, and missing data where
/// there are none at all.
#[derive(Clone, Copy, Debug)]
pub enum Missing {
    Card,
    Data,
    Program,
    Graphics,
}

/// Reports the test on standard error, past libtest, which captures `eprintln!` of passing tests; and in the
/// file of `BEAMSIGHT_SKIPPED`.
pub fn skip(missing: Missing, why: &str) {
    let thread = std::thread::current();
    let kind = format!("{missing:?}").to_lowercase();
    let line = format!(
        "{kind}\t{}\t{}\n",
        thread.name().unwrap_or("a test"),
        why.replace(['\t', '\n'], " ")
    );
    // In a single write: other tests report at the same time.
    let _ = std::io::stderr().write_all(format!("SKIPPED\t{line}").as_bytes());
    if let Some(path) = std::env::var_os("BEAMSIGHT_SKIPPED") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("BEAMSIGHT_SKIPPED names a file");
    }
}

/// As [`skip`], for tests that cannot draw.
pub fn skip_drawing() {
    skip(
        Missing::Graphics,
        "no graphics driver (apt-get install libvulkan1 mesa-vulkan-drivers)",
    );
}
