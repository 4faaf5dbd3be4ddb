//! Enforces the layers of the house: reads the chart in ARCHITECTURE.md and the source, and fails where a
//! room, or a part of one, uses another above it or beside it.

mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies (whole names, or prefixes that end in `-`) and the only rooms whose `Cargo.toml` may list them.
const HOMES: [(&[&str], &[&str]); 9] = [
    (
        &["egui", "egui-", "egui_", "eframe", "winit", "rfd", "zbus"],
        &["app"],
    ),
    (&["wgpu"], &["app", "engine"]),
    (&["cudarc"], &["engine"]),
    (&["dicom-"], &["dicom", "network"]),
    (&["dicom-ul"], &["network"]),
    (&["clap"], &["cli"]),
    (&["pdf-writer", "epaint_default_fonts"], &["report"]),
    (&["pyo3", "numpy"], &["python"]),
    (&["windows-sys"], &["platform"]),
];

/// Crates that one part of a room alone may name: the crate, the room and the part.
const PARTS_THAT_NAME: [(&str, &str, &str); 2] =
    [("cudarc", "engine", "cuda"), ("wgpu", "engine", "wgpu")];

/// Files and folders in a job's folder of `engine` that are a part of their own name, the same in every job.
const ROLES: [&str; 6] = ["cpu", "cuda", "wgpu", "reference", "selftest", "bench"];

const MOST_LINES: usize = 770;

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
    let name = |p: &Path| {
        p.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/")
    };
    files
        .iter()
        .map(|p| (name(p), fs::read_to_string(p).unwrap()))
        .collect()
}

fn sources() -> Vec<(String, String)> {
    rust_files("src")
}

/// Each room: its name, and what its `Cargo.toml` depends on.
fn rooms() -> Vec<(String, Vec<String>)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(src)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut rooms: Vec<_> = folders
        .filter_map(|folder| {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            let listed = manifest
                .lines()
                .filter_map(|line| line.strip_suffix(".workspace = true"));
            let about_itself = ["version", "edition", "rust-version", "license"];
            let dependencies = listed
                .filter(|name| !about_itself.contains(name))
                .map(str::to_owned);
            Some((
                folder.file_name()?.to_str()?.to_owned(),
                dependencies.collect(),
            ))
        })
        .collect();
    rooms.sort();
    rooms
}

/// The text without its comments (and without the rest of a string after `//`, which no path contains).
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The identifier at the start of a text.
fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default()
}

/// The continuations of a path: itself, or each of a group.
fn branches(rest: &str) -> Vec<&str> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![rest];
    };
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
    found
        .flat_map(|at| branches(&code[at + root.len()..]))
        .collect()
}

fn heads<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    paths(code, root).into_iter().map(identifier).collect()
}

/// The `super::` climb from a file to the folder `folders` levels under `src` (a `mod.rs` is one less deep).
fn climb(file: &str, folders: usize) -> String {
    "super::".repeat(file.matches('/').count() + usize::from(!file.ends_with("mod.rs")) - folders)
}

/// A folder of `engine` for one job: its modules, and the code of its `mod.rs`, which the rest of the house calls.
struct Job<'a> {
    name: &'a str,
    modules: Vec<&'a str>,
    entry: &'a str,
}

/// The jobs of a room: the folders in which a file or a folder has a role. No folder of another room is one.
fn jobs<'a>(room: &str, files: &'a [(String, String)]) -> Vec<Job<'a>> {
    let within = files
        .iter()
        .filter_map(|(file, code)| Some((file.strip_prefix("engine/")?, code.as_str())));
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for (file, code) in within.filter(|_| room == "engine") {
        let Some((name, rest)) = file.split_once('/') else {
            continue;
        };
        if jobs.last().is_none_or(|job| job.name != name) {
            jobs.push(Job {
                name,
                modules: Vec::new(),
                entry: "",
            });
        }
        let job = jobs.last_mut().expect("one was pushed");
        match rest {
            "mod.rs" => job.entry = code,
            "tests.rs" => {}
            _ => job.modules.push(room_of(rest)),
        }
    }
    jobs.retain(|job| job.modules.iter().any(|module| ROLES.contains(module)));
    jobs
}

impl<'a> Job<'a> {
    /// The part of a module of the job: its role, else `jobs`, what all devices share.
    fn part_of_module(module: &'a str) -> &'a str {
        if ROLES.contains(&module) {
            module
        } else {
            "jobs"
        }
    }

    /// The part of what a path names in the job's folder: of a module, of an item that the entry re-exports, else the entry.
    fn part_of(&self, name: &'a str) -> Option<&'a str> {
        let exports = exports(self.entry);
        let module = exports
            .iter()
            .find(|(item, _)| *item == name)
            .map_or(name, |(_, module)| module);
        if self.modules.contains(&module) {
            return Some(Self::part_of_module(module));
        }
        let kinds = [
            "fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ",
        ];
        kinds
            .iter()
            .any(|kind| heads(self.entry, kind).contains(&name))
            .then_some(self.name)
    }
}

/// The part of a room that a file belongs to: its file or folder in the room, in a job's folder its role.
fn part_of_file<'a>(file: &'a str, jobs: &[Job<'a>]) -> &'a str {
    let (_, within) = file.split_once('/').unwrap_or_default();
    match within.split_once('/') {
        Some((name, module)) if jobs.iter().any(|job| job.name == name) => match module {
            "mod.rs" | "tests.rs" => name,
            module => Job::part_of_module(room_of(module)),
        },
        _ => room_of(within),
    }
}

/// Parts of its own room that a file names; an item that the room or a job re-exports counts as the part that defines it.
fn parts_used<'a>(
    file: &str,
    code: &'a str,
    exports: &[(&'a str, &'a str)],
    jobs: &[Job<'a>],
) -> Vec<&'a str> {
    let mut parts = Vec::new();
    for path in [paths(code, "crate::"), paths(code, &climb(file, 1))].concat() {
        let name = identifier(path);
        let name = exports
            .iter()
            .find(|(item, _)| *item == name)
            .map_or(name, |(_, part)| part);
        let after = path[identifier(path).len()..].strip_prefix("::");
        match (jobs.iter().find(|job| job.name == name), after) {
            (Some(job), Some(after)) => {
                let named = branches(after).into_iter().map(identifier);
                parts.extend(named.map(|name| job.part_of(name).unwrap_or(job.name)));
            }
            _ => parts.push(name),
        }
    }
    let own = file
        .split('/')
        .nth(1)
        .and_then(|folder| jobs.iter().find(|job| job.name == folder));
    if let Some(job) = own {
        let from_entry = |module: &&&str| !paths(code, &format!("{module}::")).is_empty();
        match climb(file, 2).as_str() {
            "" => parts.extend(
                job.modules
                    .iter()
                    .filter(from_entry)
                    .map(|module| Job::part_of_module(module)),
            ),
            climb => parts.extend(
                heads(code, climb)
                    .into_iter()
                    .filter_map(|name| job.part_of(name)),
            ),
        }
    }
    parts
}

/// Items that the code of a `lib.rs` or a job's `mod.rs` re-exports, and the modules that define them.
fn exports(code: &str) -> Vec<(&str, &str)> {
    let uses = code.split("use ").zip(code.split("use ").skip(1));
    let lines =
        uses.filter(|(before, _)| before.ends_with("pub ") || before.ends_with("pub(crate) "));
    let lines = lines.filter_map(|(_, line)| line.split_once("::"));
    lines
        .flat_map(|(part, items)| {
            branches(items)
                .into_iter()
                .map(move |i| (identifier(i), part))
        })
        .collect()
}

/// The chart's rooms (`of` is `room`) or the parts of one (`part of `NAME``), each with its floor.
fn chart(of: &str) -> Vec<(String, u32)> {
    let text = include_str!("../../ARCHITECTURE.md");
    let table = text
        .split(&format!("| floor | {of} |"))
        .nth(1)
        .unwrap_or_else(|| panic!("no table of {of}"));
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let named = cells.flat_map(|row| {
        let floor: u32 = row[1]
            .parse()
            .unwrap_or_else(|_| panic!("a floor is a number: {row:?}"));
        row[2]
            .split(',')
            .map(move |name| (name.trim().trim_matches('`').to_owned(), floor))
            .collect::<Vec<_>>()
    });
    named.collect()
}

fn floor(chart: &[(String, u32)], name: &str) -> Option<u32> {
    chart
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, floor)| *floor)
}

fn room_of(file: &str) -> &str {
    file.split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// Folder of a room in which each folder is a feature, whose files bear the names of the parts they belong to.
const FEATURES: &str = "feature";

/// The part to which a file of a feature (named from the room's folder) belongs; none for one that lists a feature's
/// parts, or the features. `None` for a file of no feature.
fn part_in_features(file: &str) -> Option<Option<&str>> {
    let mut names = file.split('/').map(|name| name.trim_end_matches(".rs"));
    (names.next()? == FEATURES).then(|| names.nth(1).filter(|part| *part != "mod"))
}

/// The features of a room.
fn features(within: &str, files: &[(String, String)]) -> Vec<String> {
    let folder = format!("{within}{FEATURES}/");
    let names = files
        .iter()
        .filter_map(|(file, _)| file.strip_prefix(&folder))
        .map(room_of);
    let mut features: Vec<String> = names.map(str::to_owned).collect();
    features.dedup();
    features
}

/// Parts of features that a file names: `FEATURE::PART`, after whichever path.
fn feature_parts_used<'a>(code: &'a str, features: &[String]) -> Vec<&'a str> {
    let after = |feature: &String| {
        let root = format!("{feature}::");
        let begins = |at: &usize| {
            !code[..*at]
                .chars()
                .next_back()
                .is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        let found: Vec<usize> = code
            .match_indices(&root)
            .map(|(at, _)| at)
            .filter(begins)
            .collect();
        found
            .into_iter()
            .flat_map(move |at| branches(&code[at + root.len()..]))
            .map(identifier)
    };
    features.iter().flat_map(after).collect()
}

#[test]
fn no_room_depends_on_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let chart = chart("room");
    let rooms = rooms();
    for (room, dependencies) in &rooms {
        let own = floor(&chart, room)
            .unwrap_or_else(|| panic!("src/{room} stands in no row of the chart"));
        for used in dependencies
            .iter()
            .filter_map(|name| name.strip_prefix("beamsight-"))
        {
            if floor(&chart, used).is_none_or(|floor| floor >= own) {
                wrong.push(format!(
                    "src/{room}/Cargo.toml (floor {own}) lists `{used}`"
                ));
            }
        }
    }
    for (room, _) in &chart {
        assert!(
            rooms.iter().any(|(known, _)| known == room),
            "the chart's `{room}` is not there"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rooms with floors of their own: each has a table in the chart.
const STOREYED: [&str; 2] = ["engine", "app"];

#[test]
fn no_part_of_a_room_uses_one_above_it_or_beside_it() {
    let mut wrong = Vec::new();
    let files: Vec<(String, String)> = sources()
        .into_iter()
        .map(|(file, text)| (file, code(&text)))
        .collect();
    for room in STOREYED {
        let chart = chart(&format!("part of `{room}`"));
        let within = format!("{room}/");
        let head = files
            .iter()
            .find(|(file, _)| *file == format!("{room}/lib.rs"))
            .expect("a room has a lib.rs");
        let exports = exports(&head.1);
        let jobs = jobs(room, &files);
        let features = features(&within, &files);
        for (file, code) in files
            .iter()
            .filter(|(file, _)| *file != format!("{room}/lib.rs"))
        {
            let Some(in_room) = file.strip_prefix(&within) else {
                continue;
            };
            let Some(own) =
                part_in_features(in_room).unwrap_or_else(|| Some(part_of_file(file, &jobs)))
            else {
                continue;
            };
            let own_floor = floor(&chart, own)
                .unwrap_or_else(|| panic!("src/{file} stands on no floor of {room}"));
            let used = parts_used(file, code, &exports, &jobs)
                .into_iter()
                .chain(feature_parts_used(code, &features));
            for used in used {
                if used != own && floor(&chart, used).is_some_and(|floor| floor >= own_floor) {
                    wrong.push(format!(
                        "src/{file} (floor {own_floor} of {room}) uses `{used}`"
                    ));
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
        for (names, homes) in HOMES
            .iter()
            .filter(|(_, homes)| !homes.contains(&room.as_str()))
        {
            let listed = |dependency: &&String| {
                names.iter().any(|n| {
                    dependency == n || (n.ends_with(['-', '_']) && dependency.starts_with(n))
                })
            };
            let found = dependencies.iter().filter(listed);
            wrong.extend(
                found.map(|name| format!("src/{room}/Cargo.toml lists {name}: only {homes:?} may")),
            );
        }
    }
    let files: Vec<(String, String)> = sources()
        .into_iter()
        .map(|(file, text)| (file, code(&text)))
        .collect();
    for (name, room, part) in PARTS_THAT_NAME {
        let jobs = jobs(room, &files);
        for (file, code) in files.iter().filter(|(file, _)| room_of(file) == room) {
            // A module of the same name hides the crate: one that is declared, or imported from the room.
            let hidden = code.contains(&format!("mod {name};"))
                || parts_used(file, code, &[], &jobs).contains(&name);
            let names = !paths(code, &format!("{name}::")).is_empty();
            if names && !hidden && part_of_file(file, &jobs) != part {
                wrong.push(format!(
                    "src/{file} names {name}: only the part {part} of {room} may"
                ));
            }
        }
    }
    for (file, code) in &files {
        // Tests may print figures.
        let is_test = file.ends_with("tests.rs") || file.contains("/tests/");
        let own = if is_test { "" } else { code };
        let own = own.split("#[cfg(test)]").next().unwrap_or_default();
        let speaks = ["println!", "eprintln!", "print!", "eprint!"]
            .iter()
            .any(|p| !heads(own, p).is_empty());
        if speaks && room_of(file) != "cli" && file != "main.rs" {
            wrong.push(format!("src/{file} prints; only the command line does"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_room_lists_a_dependency_that_it_does_not_name() {
    let files: Vec<(String, String)> = sources()
        .into_iter()
        .map(|(file, text)| (file, code(&text)))
        .collect();
    let mut idle = Vec::new();
    for (room, dependencies) in rooms() {
        for dependency in dependencies {
            let name = dependency
                .strip_prefix("beamsight-")
                .unwrap_or(&dependency)
                .replace('-', "_");
            let path = format!("{name}::");
            let names = |code: &str| {
                !paths(code, &path).is_empty()
                    || code.contains(&format!("::{path}"))
                    || code.contains(&format!("use {name}"))
                    || code.contains(&format!("{name}!"))
            };
            if !files
                .iter()
                .any(|(file, code)| room_of(file) == room && names(code))
            {
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
    for (file, text) in sources()
        .iter()
        .filter(|(file, _)| !file.ends_with("lib.rs"))
    {
        let code = code(text);
        let modules = code
            .split("#[cfg(test)]")
            .skip(1)
            .filter_map(|after| after.trim_start().strip_prefix("mod "));
        wrong.extend(
            modules
                .map(identifier)
                .filter(|n| *n != "tests")
                .map(|n| format!("src/{file}: mod {n}")),
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
const PRONOUNS: [&str; 11] = [
    "What", "Where", "Whom", "Who", "Those", "That", "Of", "These", "This", "It", "They",
];

/// Line numbers of the paragraphs of doc comments that open with a pronoun.
fn pronouns(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let doc = |n: usize| {
        let line = lines.get(n)?;
        line.strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
            .map(str::trim)
    };
    let opens = |n: usize| {
        n == 0 || doc(n - 1).is_none_or(|before| before.is_empty() || before.starts_with('#'))
    };
    let is_wrong =
        |n: usize| doc(n).is_some_and(|line| opens(n) && PRONOUNS.contains(&identifier(line)));
    (0..lines.len())
        .filter(|n| is_wrong(*n))
        .map(|n| n + 1)
        .collect()
}

#[test]
fn doc_comments_name_their_subject() {
    let text = "/// What\n/// It\nfn a() {}\n    /// A beam.\n    ///\n    /// Of\n/// # Errors\n/// Those\n//! That's";
    assert_eq!(pronouns(text), [1, 6, 8]);
    assert_eq!(pronouns("//! Whatever.\n\n  /// Of a beam.\n// What"), [3]);
    let mut all = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for (file, text) in rust_files(folder) {
            all.extend(
                pronouns(&text)
                    .into_iter()
                    .map(|line| format!("{folder}/{file}:{line}")),
            );
        }
    }
    assert!(
        all.is_empty(),
        "a noun of the field opens a sentence:\n{}",
        all.join("\n")
    );
}

#[test]
fn the_reader_of_parts_sees_all_forms() {
    let exports = exports(
        "mod job_control;\npub use cuda::CudaError;\npub use job_control::{Cancelled, JobControl};",
    );
    assert_eq!(
        exports,
        [
            ("CudaError", "cuda"),
            ("Cancelled", "job_control"),
            ("JobControl", "job_control")
        ]
    );
    let text = "use case::Beam;\nuse crate::{cpu::path, JobControl};\nuse crate::jobs::{cccs, drr};\n\
                use super::super::cuda; use super::near; let x = mycrate::dicom::x(); // crate::automatic";
    let code = code(text);
    let parts = |file, code| parts_used(file, code, &exports, &[]);
    assert_eq!(
        parts("engine/cpu/path.rs", &code),
        ["cpu", "job_control", "jobs", "cuda"]
    );
    assert_eq!(parts("engine/path.rs", "use super::jobs::path;"), ["jobs"]);
    let features = ["beam".to_owned(), "goals".to_owned()];
    let text = "use crate::feature::{beam, goals}; use crate::feature::goals::{edits, state::Editor};\n\
                beam::panel::arc::show(); under_beam::jobs::x();";
    assert_eq!(
        feature_parts_used(text, &features),
        ["panel", "edits", "state"]
    );
    let parts = [
        "feature/beam/panel/arc.rs",
        "feature/beam/state.rs",
        "feature/beam/mod.rs",
        "view/bev.rs",
    ];
    assert_eq!(
        parts.map(part_in_features),
        [Some(Some("panel")), Some(Some("state")), Some(None), None]
    );
}

#[test]
fn files_of_a_job_have_the_parts_of_their_roles() {
    let entry = "mod cpu;\npub use medium::Medium;\npub(crate) use cpu::Lines;\npub fn dose() {}";
    let files = [
        ("cccs/cpu/mod.rs", ""),
        ("cccs/cuda.rs", ""),
        ("cccs/medium.rs", ""),
        ("cccs/mod.rs", entry),
        ("cuda/mod.rs", ""),
    ]
    .map(|(file, code)| (format!("engine/{file}"), code.to_owned()));
    let jobs = jobs("engine", &files);
    assert_eq!(
        jobs.iter().map(|job| job.name).collect::<Vec<_>>(),
        ["cccs"]
    );
    let parts = files.iter().map(|(file, _)| part_of_file(file, &jobs));
    assert_eq!(
        parts.collect::<Vec<_>>(),
        ["cpu", "cuda", "jobs", "cccs", "cuda"]
    );
    let used = |file, code| parts_used(file, code, &[], &jobs);
    let groups = "use crate::cccs::{Lines, Medium, cuda::x};\nuse crate::{cccs::medium, cuda};\ncrate::cccs::y()";
    assert_eq!(
        used("engine/gamma.rs", groups),
        ["cpu", "jobs", "cuda", "jobs", "cuda", "cccs"]
    );
    let climbs = "use super::cpu::x;\nuse super::super::cuda;\nuse super::{dose, medium};";
    assert_eq!(
        used("engine/cccs/cuda.rs", climbs),
        ["cuda", "cpu", "cccs", "jobs"]
    );
    assert_eq!(
        used(
            "engine/cccs/mod.rs",
            "mod cuda;\npub use medium::Medium;\ncpu::x()"
        ),
        ["cpu", "jobs"]
    );
    assert_eq!(
        used(
            "engine/cccs/cpu/mod.rs",
            "use super::cuda;\nuse super::Medium;"
        ),
        ["cuda", "jobs"]
    );
}

#[test]
fn the_chart_is_read() {
    let engine = chart("part of `engine`");
    assert_eq!(floor(&engine, "cpu"), floor(&engine, "cuda"));
    assert!(
        floor(&engine, "jobs") < floor(&engine, "cuda")
            && floor(&engine, "cuda") < floor(&engine, "cccs")
    );
}
