//! Runs the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `beamsight` with these arguments, without a display.
pub fn beamsight(words: &[&str]) -> Output {
    command(words).output().expect("the program starts")
}

/// The same, to be started by the caller.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beamsight"));
    command
        .args(words)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    command
}

/// Standard output, which must be exactly one JSON object.
pub fn json_of(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!(
            "{e}\nout: {text}\nerr: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert!(value.is_object());
    value
}

/// An empty folder of the calling test's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("target/ is writable");
    folder
}

/// Runs and expects exit 1 and one message that contains all of the words: the last on standard error, and
/// the same in the JSON object. Lines of progress, or of a graphics driver, may precede it.
pub fn refused(arguments: &[&str], words: &[&str]) {
    let output = beamsight(&[arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    let answer = json_of(&output);
    let message = answer["error"]
        .as_str()
        .unwrap_or_else(|| panic!("{arguments:?}: {answer}"));
    for word in words {
        assert!(
            message.contains(word),
            "{arguments:?}: no '{word}' in: {message}"
        );
    }
    assert!(
        said.ends_with(&format!("error: {message}\n")) && !said.contains("panicked"),
        "{said}"
    );
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
