//! Names of files that a system takes for something else.

use std::io;

/// Whether two names that differ by case alone are two files.
pub const NAMES_DIFFER_BY_CASE: bool = !cfg!(any(windows, target_os = "macos"));

/// Why a name is none for a file on this system.
pub fn name_fault(name: &str) -> Option<&'static str> {
    if cfg!(windows) {
        windows_fault(name)
    } else {
        None
    }
}

/// The same of a part of a path, which may be a drive.
pub(super) fn windows_fault_of_part(part: &str) -> Option<&'static str> {
    windows_fault(part.strip_suffix(':').unwrap_or(part))
}

/// Names of devices, which Windows opens in every folder and with every ending (Microsoft, "Naming Files, Paths, and Namespaces").
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Why Windows keeps nothing under a name, or keeps it under another.
fn windows_fault(name: &str) -> Option<&'static str> {
    if name.contains(|c: char| c < ' ' || "<>\"|?*".contains(c)) {
        return Some("Windows allows none of < > \" | ? * in a name");
    }
    // `a:b` is a second content of the file `a`, which no folder lists.
    if name.contains(':') {
        return Some("Windows takes what follows a colon for a hidden part of another file");
    }
    if name.ends_with(['.', ' ']) {
        return Some("Windows leaves out a dot or a space at the end of a name");
    }
    is_device(name).then_some("Windows takes this name for a device")
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    if DEVICES
        .iter()
        .any(|device| stem.eq_ignore_ascii_case(device))
    {
        return true;
    }
    let mut letters = stem.chars();
    let (Some(kind), Some(number), None) = (stem.get(..3), letters.nth(3), letters.next()) else {
        return false;
    };
    let is_port = kind.eq_ignore_ascii_case("COM") || kind.eq_ignore_ascii_case("LPT");
    is_port && matches!(number, '1'..='9' | '¹' | '²' | '³')
}

/// Whether a file could not be moved because another program has it open: a viewer, a virus scanner. Other systems move such files.
pub fn is_held_elsewhere(error: &io::Error) -> bool {
    cfg!(windows) && error.raw_os_error().is_some_and(is_sharing_error)
}

/// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`, `ERROR_USER_MAPPED_FILE` (winerror.h).
fn is_sharing_error(code: i32) -> bool {
    matches!(code, 5 | 32 | 33 | 1224)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_keeps_nothing_under_names_of_devices_and_parts_of_files() {
        for name in [
            "CON",
            "con",
            "nul.txt",
            "Aux.mha.json",
            "COM1",
            "lpt9.csv",
            "com²",
            "CONOUT$",
            "a:b",
            "dose.",
            "dose ",
            "a?b",
            "a\tb",
            "a|b",
            "NUL .txt",
        ] {
            assert!(windows_fault(name).is_some(), "{name}");
        }
        for name in [
            "CONE.mha",
            "com.csv",
            "COM0",
            "com10",
            "console",
            "dose.mha",
            ".hidden",
            "a b.csv",
            "Müller-雪.json",
            "lpt",
            "COMé",
        ] {
            assert_eq!(windows_fault(name), None, "{name}");
        }
    }

    #[test]
    fn only_errors_of_sharing_are_waited_for() {
        assert_eq!(
            [5, 32, 33, 1224, 2, 3, 112].map(is_sharing_error),
            [true, true, true, true, false, false, false]
        );
        let held = is_held_elsewhere(&io::Error::from_raw_os_error(32));
        assert_eq!(held, cfg!(windows));
    }
}
