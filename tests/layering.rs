//! Enforces the layers of the house: reads the chart in ARCHITECTURE.md and the source, and fails where a
//! room, or a part of one, uses another above it or beside it.

use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies (whole names, or prefixes that end in `-`) and the only rooms whose `Cargo.toml` may list them.
const HOMES: [(&[&str], &[&str]); 7] = [
    (&["egui", "egui-", "egui_", "eframe", "winit", "rfd", "zbus"], &["app"]),
    (&["wgpu"], &["app", "engine"]),
    (&["cudarc"], &["engine"]),
    (&["dicom-"], &["dicom", "network"]),
    (&["dicom-ul"], &["network"]),
    (&["clap"], &["cli"]),
    (&["pdf-writer", "epaint_default_fonts"], &["report"]),
];

/// Crates of which one room has parts that may name them, and those parts; a part of `engine` bears the name `wgpu`.
const PARTS_THAT_NAME: [(&str, &str, &str); 1] = [("cudarc", "engine", "engine/cuda/")];

const MOST_LINES: usize = 600;

/// Every Rust file under a folder of the repository: its path in the folder and its text.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut folders = vec![root.clone()];
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
    let name = |p: &Path| p.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
    files.iter().map(|p| (name(p), fs::read_to_string(p).unwrap())).collect()
}

fn sources() -> Vec<(String, String)> {
    rust_files("src")
}

/// Each room: its name, and what its `Cargo.toml` depends on.
fn rooms() -> Vec<(String, Vec<String>)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(src).unwrap().map(|entry| entry.unwrap().path());
    let mut rooms: Vec<_> = folders
        .filter_map(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            let listed = manifest.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
            let about_itself = ["version", "edition", "rust-version", "license"];
            let dependencies = listed.filter(|name| !about_itself.contains(name)).map(str::to_owned);
            Some((folder.file_name()?.to_str()?.to_owned(), dependencies.collect()))
        })
        .collect();
    rooms.sort();
    rooms
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

/// Parts of its own room that a file names; an item that the room re-exports counts as the part that defines
/// it.
fn parts_used<'a>(file: &str, code: &'a str, exports: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let mut parts = heads(code, "crate::");
    parts.extend(heads(code, &climb(file, 1)));
    let part_of =
        |name: &'a str| exports.iter().find(|(item, _)| *item == name).map_or(name, |(_, part)| part);
    parts.into_iter().map(part_of).collect()
}

/// Items that the code of a `lib.rs` re-exports, and the parts that define them.
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

/// Folder of a room in which each folder is a feature, whose files bear the names of the parts they belong to.
const FEATURES: &str = "feature";

/// The part of a room to which a file (named from the room's folder) belongs. The files that list a feature's parts, or
/// the features, belong to none.
fn part_of(file: &str) -> Option<&str> {
    let mut names = file.split('/').map(|name| name.trim_end_matches(".rs"));
    match names.next()? {
        FEATURES => names.nth(1).filter(|part| *part != "mod"),
        part => Some(part),
    }
}

/// Parts of features that a file names: `FEATURE::PART`, after whichever path.
fn feature_parts_used<'a>(code: &'a str, features: &[String]) -> Vec<&'a str> {
    let after = |feature: &String| {
        let root = format!("{feature}::");
        let begins =
            |at: &usize| !code[..*at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let found: Vec<usize> = code.match_indices(&root).map(|(at, _)| at).filter(begins).collect();
        found.into_iter().flat_map(move |at| branches(&code[at + root.len()..])).map(identifier)
    };
    features.iter().flat_map(after).collect()
}

#[test]
fn no_room_depends_on_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let chart = chart("room");
    let rooms = rooms();
    for (room, dependencies) in &rooms {
        let own = floor(&chart, room).unwrap_or_else(|| panic!("src/{room} stands in no row of the chart"));
        for used in dependencies.iter().filter_map(|name| name.strip_prefix("beamsight-")) {
            if floor(&chart, used).is_none_or(|floor| floor >= own) {
                wrong.push(format!("src/{room}/Cargo.toml (floor {own}) lists `{used}`"));
            }
        }
    }
    for (room, _) in &chart {
        assert!(rooms.iter().any(|(known, _)| known == room), "the chart's `{room}` is not there");
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
            files.iter().find(|(file, _)| *file == format!("{room}/lib.rs")).expect("a room has a lib.rs");
        let head = code(&head.1);
        let exports = exports(&head);
        let in_features = format!("{within}{FEATURES}/");
        let mut features: Vec<String> = files
            .iter()
            .filter_map(|(file, _)| file.strip_prefix(&in_features))
            .map(room_of)
            .map(str::to_owned)
            .collect();
        features.dedup();
        for (file, text) in files.iter().filter(|(file, _)| *file != format!("{room}/lib.rs")) {
            let Some(own) = file.strip_prefix(&within).and_then(part_of) else { continue };
            let own_floor =
                floor(&chart, own).unwrap_or_else(|| panic!("src/{file} stands on no floor of {room}"));
            let code = code(text);
            let used =
                parts_used(file, &code, &exports).into_iter().chain(feature_parts_used(&code, &features));
            for used in used {
                if used != own && floor(&chart, used).is_some_and(|floor| floor >= own_floor) {
                    wrong.push(format!("src/{file} (floor {own_floor} of {room}) uses `{used}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dependencies_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (room, dependencies) in rooms() {
        for (names, homes) in HOMES.iter().filter(|(_, homes)| !homes.contains(&room.as_str())) {
            let listed = |dependency: &&String| {
                names
                    .iter()
                    .any(|n| dependency == n || (n.ends_with(['-', '_']) && dependency.starts_with(n)))
            };
            let found = dependencies.iter().filter(listed);
            wrong.extend(found.map(|name| format!("src/{room}/Cargo.toml lists {name}: only {homes:?} may")));
        }
    }
    for (file, text) in sources() {
        let code = code(&text);
        for (name, room, part) in PARTS_THAT_NAME {
            if room_of(&file) == room
                && !file.starts_with(part)
                && !paths(&code, &format!("{name}::")).is_empty()
            {
                wrong.push(format!("src/{file} names {name}: only {part} may"));
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

#[test]
fn no_room_lists_a_dependency_that_it_does_not_name() {
    let files: Vec<(String, String)> =
        sources().into_iter().map(|(file, text)| (file, code(&text))).collect();
    let mut idle = Vec::new();
    for (room, dependencies) in rooms() {
        for dependency in dependencies {
            let name = dependency.strip_prefix("beamsight-").unwrap_or(&dependency).replace('-', "_");
            let path = format!("{name}::");
            let names = |code: &str| {
                !paths(code, &path).is_empty()
                    || code.contains(&format!("::{path}"))
                    || code.contains(&format!("use {name}"))
                    || code.contains(&format!("{name}!"))
            };
            if !files.iter().any(|(file, code)| room_of(file) == room && names(code)) {
                idle.push(format!(
                    "src/{room}/Cargo.toml lists {dependency}, which no file of the room names"
                ));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

/// Unit tests of `x.rs` are its `mod tests`: at its end, or in `x/tests.rs`.
#[test]
fn unit_tests_have_one_name() {
    let mut wrong = Vec::new();
    for (file, text) in sources().iter().filter(|(file, _)| !file.ends_with("lib.rs")) {
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

/// Words that open a doc comment or a paragraph of one without a noun of the field as its subject.
const PRONOUNS: [&str; 11] =
    ["What", "Where", "Whom", "Who", "Those", "That", "Of", "These", "This", "It", "They"];

/// Line numbers of the paragraphs of doc comments that open with a pronoun.
fn pronouns(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let doc = |n: usize| {
        let line = lines.get(n)?;
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
    };
    let opens =
        |n: usize| n == 0 || doc(n - 1).is_none_or(|before| before.is_empty() || before.starts_with('#'));
    let is_wrong = |n: usize| doc(n).is_some_and(|line| opens(n) && PRONOUNS.contains(&identifier(line)));
    (0..lines.len()).filter(|n| is_wrong(*n)).map(|n| n + 1).collect()
}

#[test]
fn doc_comments_name_their_subject() {
    let text = "/// What\n/// It\nfn a() {}\n    /// A beam.\n    ///\n    /// Of\n/// # Errors\n/// Those\n//! That's";
    assert_eq!(pronouns(text), [1, 6, 8]);
    assert_eq!(pronouns("//! Whatever.\n\n  /// Of a beam.\n// What"), [3]);
    let mut all = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for (file, text) in rust_files(folder) {
            all.extend(pronouns(&text).into_iter().map(|line| format!("{folder}/{file}:{line}")));
        }
    }
    assert!(all.is_empty(), "a noun of the field opens a sentence:\n{}", all.join("\n"));
}

#[test]
fn the_reader_of_parts_sees_all_forms() {
    let exports =
        exports("mod job_control;\npub use cuda::CudaError;\npub use job_control::{Cancelled, JobControl};");
    assert_eq!(exports, [("CudaError", "cuda"), ("Cancelled", "job_control"), ("JobControl", "job_control")]);
    let text = "use case::Beam;\nuse crate::{cpu::path, JobControl};\nuse crate::jobs::{cccs, drr};\n\
                use super::super::cuda; use super::near; let x = mycrate::dicom::x(); // crate::automatic";
    let code = code(text);
    assert_eq!(parts_used("engine/cpu/path.rs", &code, &exports), ["cpu", "job_control", "jobs", "cuda"]);
    assert_eq!(parts_used("engine/path.rs", "use super::jobs::path;", &exports), ["jobs"]);
    let features = ["beam".to_owned(), "goals".to_owned()];
    let text = "use crate::feature::{beam, goals}; use crate::feature::goals::{edits, state::Editor};\n\
                beam::panel::arc::show(); under_beam::jobs::x();";
    assert_eq!(feature_parts_used(text, &features), ["panel", "edits", "state"]);
    let parts = [
        "feature/beam/panel/arc.rs",
        "feature/beam/state.rs",
        "feature/beam/mod.rs",
        "view/bev.rs",
        "keys.rs",
    ];
    assert_eq!(parts.map(part_of), [Some("panel"), Some("state"), None, Some("view"), Some("keys")]);
}

#[test]
fn the_chart_is_read() {
    let engine = chart("part of `engine`");
    assert_eq!(floor(&engine, "cpu"), floor(&engine, "cuda"));
    assert!(
        floor(&engine, "jobs") < floor(&engine, "cuda") && floor(&engine, "cuda") < floor(&engine, "cccs")
    );
}
