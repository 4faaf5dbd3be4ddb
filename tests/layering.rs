//! Holds the floors of the house: reads the source and fails where a room uses one above it.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms and the floor each stands on; a room uses only floors below its own. `open` is the one file that puts
/// readers together; `lib` and `main` see everything.
const FLOORS: [(&str, u32); 14] = [
    ("input", 0),
    ("geometry", 1),
    ("case", 2),
    ("files", 3),
    ("physics", 3),
    ("dicom", 4),
    ("open", 5),
    ("engine", 5),
    ("worker", 6),
    ("analysis", 7),
    ("registration", 7),
    ("results", 8),
    ("app", 9),
    ("cli", 10),
];

/// Crates (whole names, or beginnings that end in `_`) and the only folder that may name them.
const CRATES: [(&[&str], &str); 4] = [
    (&["egui", "egui_", "eframe", "epaint", "wgpu", "winit", "rfd", "zbus"], "app"),
    (&["cudarc"], "engine/cuda"),
    (&["dicom_"], "dicom"),
    (&["clap"], "cli"),
];

const MOST_LINES: usize = 600;

/// Every Rust file under `src`, as its path from there and its text.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![src.clone()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let name = |p: &Path| p.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
    files.iter().map(|p| (name(p), fs::read_to_string(p).unwrap())).collect()
}

/// The text without its comments (and without what follows `//` in a string, which no path does).
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The identifier at the beginning of a text.
fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// What stands first in a path after `root` (`crate::` or a climb to the crate): one name, or those of a group.
fn heads<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let mut heads = Vec::new();
    for (at, _) in code.match_indices(root) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + root.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            heads.push(identifier(rest));
            continue;
        };
        let mut depth = 1;
        let mut start = true;
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = true,
                c if depth == 1 && start && !c.is_whitespace() => {
                    heads.push(identifier(&group[i..]));
                    start = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    heads
}

/// Rooms that a file of the given path names.
fn rooms_used<'a>(file: &str, code: &'a str) -> Vec<&'a str> {
    let mut rooms = heads(code, "crate::");
    // `super` as often as the file is deep is the crate, too (a `mod.rs` is one less deep).
    let depth = file.matches('/').count() + usize::from(!file.ends_with("mod.rs"));
    rooms.extend(heads(code, &"super::".repeat(depth)));
    rooms
}

fn floor(room: &str) -> Option<u32> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

fn room_of(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[test]
fn no_room_uses_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let files = sources();
    for (file, text) in files.iter().filter(|(file, _)| file != "lib.rs" && file != "main.rs") {
        let own = room_of(file);
        let own_floor = floor(own).unwrap_or_else(|| panic!("src/{file} stands in no room that has a floor"));
        for used in rooms_used(file, &code(text)) {
            if used != own && floor(used).is_some_and(|floor| floor >= own_floor) {
                wrong.push(format!("src/{file} (floor {own_floor}) uses `{used}`"));
            }
        }
    }
    assert!(files.len() > 20, "the source was found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let code = code(&text);
        let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').collect();
        for (names, home) in CRATES {
            let named = |word: &str| {
                let (first, path) = word.split_once("::").unwrap_or((word, ""));
                // A crate is named in a path, not as a variable or a file.
                !path.is_empty()
                    && names.iter().any(|n| first == *n || (n.ends_with('_') && first.starts_with(n)))
            };
            if !file.starts_with(&format!("{home}/")) {
                wrong.extend(words.iter().filter(|w| named(w)).map(|w| format!("src/{file}: {w}")));
            }
        }
        // Tests may say what they skip.
        let own = if file.ends_with("tests.rs") { "" } else { &code };
        let own = own.split("#[cfg(test)]").next().unwrap_or_default();
        let speaks = ["println!", "eprintln!", "print!", "eprint!"].iter().any(|p| !heads(own, p).is_empty());
        if speaks && room_of(&file) != "cli" && file != "main.rs" {
            wrong.push(format!("src/{file} prints; only the command line does"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_can_be_held_in_mind() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines >= MOST_LINES)
        .map(|(file, lines)| format!("src/{file} has {lines} lines"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_reader_of_use_lines_sees_all_forms() {
    let text = "use crate::{case::{Beam, Plan}, app::View, geometry};\nlet x = crate::worker::Job; // crate::cli\n\
                use super::super::engine::Watch; mycrate::dicom::x();";
    assert_eq!(rooms_used("case/beam.rs", &code(text)), ["case", "app", "geometry", "worker", "engine"]);
    assert_eq!(rooms_used("geometry/mod.rs", "use super::app;"), ["app"]);
    assert!(rooms_used("engine/cpu/path.rs", "use super::super::path;").is_empty());
}
