//! The command line: the same jobs without a window, one verb a file.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with the given words (the first is the program's name).
pub fn run(_words: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
