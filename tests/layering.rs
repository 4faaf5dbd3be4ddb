//! Enforces the layers of the house: reads the chart in ARCHITECTURE.md and the source, and fails where a
//! room, or a part of one, uses another above it or beside it.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates (whole names, or prefixes that end in `_`) and the only folders that may name them.
const CRATES: [(&[&str], &[&str]); 6] = [
    (&["egui", "egui_", "eframe", "epaint", "winit", "rfd", "zbus"], &["app"]),
    // A part of `engine` bears its name.
    (&["wgpu"], &["app", "engine"]),
    (&["cudarc"], &["engine/cuda"]),
    (&["dicom_"], &["dicom", "network"]),
    (&["dicom_ul"], &["network"]),
    (&["clap"], &["cli"]),
];

const MOST_LINES: usize = 600;

/// Every Rust file under `src`: its relative path and its text.
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

/// The text without its comments (and without the rest of a string after `//`, which no path contains).
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The identifier at the start of a text.
fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The continuations of a path: itself, or each of a group.
fn branches(rest: &str) -> Vec<&str> {
    let Some(group) = rest.strip_prefix('{') else { return vec![rest] };
    let (mut branches, mut depth, mut start) = (Vec::new(), 1, true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => start = true,
            c if depth == 1 && start && !c.is_whitespace() => {
                branches.push(&group[i..]);
                start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    branches
}

/// The paths after `root` (`crate::` or a climb to it): one, or those of a group.
fn paths<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let begins = |at: &usize| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    };
    let found = code.match_indices(root).map(|(at, _)| at).filter(begins);
    found.flat_map(|at| branches(&code[at + root.len()..])).collect()
}

fn heads<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    paths(code, root).into_iter().map(identifier).collect()
}

/// The `super::` climb from a file to the folder `folders` levels under `src` (a `mod.rs` is one less deep).
fn climb(file: &str, folders: usize) -> String {
    "super::".repeat(file.matches('/').count() + usize::from(!file.ends_with("mod.rs")) - folders)
}

/// Rooms that a file of the given path names.
fn rooms_used<'a>(file: &str, code: &'a str) -> Vec<&'a str> {
    let mut rooms = heads(code, "crate::");
    rooms.extend(heads(code, &climb(file, 0)));
    rooms
}

/// Parts of its own room that a file names; an item that the room re-exports counts as the part that defines
/// it.
fn parts_used<'a>(file: &str, code: &'a str, room: &str, exports: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let below = format!("{room}::");
    let of_crate = paths(code, "crate::").into_iter().filter_map(|path| path.strip_prefix(&below));
    let mut parts: Vec<&str> = of_crate.flat_map(branches).map(identifier).collect();
    if file.matches('/').count() > 1 || !file.ends_with("mod.rs") {
        parts.extend(heads(code, &climb(file, 1)));
    }
    let part_of =
        |name: &'a str| exports.iter().find(|(item, _)| *item == name).map_or(name, |(_, part)| part);
    parts.into_iter().map(part_of).collect()
}

/// Items that the code of a `mod.rs` re-exports, and the parts that define them.
fn exports(code: &str) -> Vec<(&str, &str)> {
    let lines = code.split("pub use ").skip(1).filter_map(|line| line.split_once("::"));
    lines.flat_map(|(part, items)| branches(items).into_iter().map(move |i| (identifier(i), part))).collect()
}

/// The chart's rooms (`of` is `room`) or the parts of one (`part of `NAME``), each with its floor.
fn chart(of: &str) -> Vec<(String, u32)> {
    let text = include_str!("../ARCHITECTURE.md");
    let table = text.split(&format!("| floor | {of} |")).nth(1).unwrap_or_else(|| panic!("no table of {of}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let named = cells.flat_map(|row| {
        let floor: u32 = row[1].parse().unwrap_or_else(|_| panic!("a floor is a number: {row:?}"));
        row[2]
            .split(',')
            .map(move |name| (name.trim().trim_matches('`').to_owned(), floor))
            .collect::<Vec<_>>()
    });
    named.collect()
}

fn floor(chart: &[(String, u32)], name: &str) -> Option<u32> {
    chart.iter().find(|(known, _)| known == name).map(|(_, floor)| *floor)
}

fn room_of(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[test]
fn no_room_uses_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let files = sources();
    let chart = chart("room");
    for (file, text) in files.iter().filter(|(file, _)| file != "lib.rs" && file != "main.rs") {
        let own = room_of(file);
        let own_floor =
            floor(&chart, own).unwrap_or_else(|| panic!("src/{file} stands in no room of the chart"));
        for used in rooms_used(file, &code(text)) {
            if used != own && floor(&chart, used).is_some_and(|floor| floor >= own_floor) {
                wrong.push(format!("src/{file} (floor {own_floor}) uses `{used}`"));
            }
        }
    }
    assert!(files.len() > 20, "the source was found");
    for (room, _) in chart {
        assert!(files.iter().any(|(file, _)| room_of(file) == room), "the chart's `{room}` is not there");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rooms with floors of their own: each has a table in the chart.
const STOREYED: [&str; 2] = ["engine", "app"];

#[test]
fn no_part_of_a_room_uses_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let files = sources();
    for room in STOREYED {
        let chart = chart(&format!("part of `{room}`"));
        let within = format!("{room}/");
        let head =
            files.iter().find(|(file, _)| *file == format!("{room}/mod.rs")).expect("a room has a mod.rs");
        let head = code(&head.1);
        let exports = exports(&head);
        for (file, text) in files.iter().filter(|(file, _)| *file != format!("{room}/mod.rs")) {
            let Some(own) = file.strip_prefix(&within).map(room_of) else { continue };
            let own_floor =
                floor(&chart, own).unwrap_or_else(|| panic!("src/{file} stands on no floor of {room}"));
            let code = code(text);
            for used in parts_used(file, &code, room, &exports) {
                if used != own && floor(&chart, used).is_some_and(|floor| floor >= own_floor) {
                    wrong.push(format!("src/{file} (floor {own_floor} of {room}) uses `{used}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let code = code(&text);
        let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').collect();
        for (names, homes) in CRATES {
            let named = |word: &str| {
                let (first, path) = word.split_once("::").unwrap_or((word, ""));
                // Only a path names a crate, not a variable or a file.
                !path.is_empty()
                    && names.iter().any(|n| first == *n || (n.ends_with('_') && first.starts_with(n)))
            };
            if !homes.iter().any(|home| file.starts_with(&format!("{home}/"))) {
                wrong.extend(words.iter().filter(|w| named(w)).map(|w| format!("src/{file}: {w}")));
            }
        }
        // Tests may print figures.
        let own = if file.ends_with("tests.rs") { "" } else { &code };
        let own = own.split("#[cfg(test)]").next().unwrap_or_default();
        let speaks = ["println!", "eprintln!", "print!", "eprint!"].iter().any(|p| !heads(own, p).is_empty());
        if speaks && room_of(&file) != "cli" && file != "main.rs" {
            wrong.push(format!("src/{file} prints; only the command line does"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Unit tests of `x.rs` are its `mod tests`: at its end, or in `x/tests.rs`.
#[test]
fn unit_tests_have_one_name() {
    let mut wrong = Vec::new();
    for (file, text) in sources().iter().filter(|(file, _)| file != "lib.rs") {
        let code = code(text);
        let modules =
            code.split("#[cfg(test)]").skip(1).filter_map(|after| after.trim_start().strip_prefix("mod "));
        wrong.extend(
            modules.map(identifier).filter(|n| *n != "tests").map(|n| format!("src/{file}: mod {n}")),
        );
        if code.contains("#[path") {
            wrong.push(format!("src/{file} takes a module from elsewhere"));
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
                use super::super::engine::JobControl; mycrate::dicom::x();";
    assert_eq!(rooms_used("case/beam.rs", &code(text)), ["case", "app", "geometry", "worker", "engine"]);
    assert_eq!(rooms_used("geometry/mod.rs", "use super::app;"), ["app"]);
    assert!(rooms_used("engine/cpu/path.rs", "use super::super::path;").is_empty());
}

#[test]
fn the_reader_of_parts_sees_all_forms() {
    let exports =
        exports("mod job_control;\npub use cuda::CudaError;\npub use job_control::{Cancelled, JobControl};");
    assert_eq!(exports, [("CudaError", "cuda"), ("Cancelled", "job_control"), ("JobControl", "job_control")]);
    let text = "use crate::{case::Beam, engine::{cpu::path, JobControl}};\nuse crate::engine::jobs::{cccs, drr};\n\
                use super::super::cuda; use super::near;";
    let code = code(text);
    assert_eq!(
        parts_used("engine/cpu/path.rs", &code, "engine", &exports),
        ["cpu", "job_control", "jobs", "cuda"]
    );
    assert_eq!(parts_used("engine/path.rs", "use super::jobs::path;", "engine", &exports), ["jobs"]);
}

#[test]
fn the_chart_is_read() {
    let engine = chart("part of `engine`");
    assert_eq!(floor(&engine, "cpu"), floor(&engine, "cuda"));
    assert!(
        floor(&engine, "jobs") < floor(&engine, "cuda") && floor(&engine, "cuda") < floor(&engine, "cccs")
    );
}
