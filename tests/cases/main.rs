//! Runs every folder of `tests/cases` as its `case.toml` says; README.md there has the format.

#[path = "../common/skip.rs"]
mod skip;

use rayon::prelude::*;
use serde::Deserialize;
use skip::{Missing, skip};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    title: String,
    right: String,
    source: String,
    make: Option<String>,
    check: Option<String>,
    /// The address space of each command, GB.
    memory_gb: Option<u32>,
    #[serde(default)]
    run: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    args: Vec<String>,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    #[serde(default)]
    number: Vec<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    after: String,
    is: f64,
    within: f64,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// The folders with a case, by name.
fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries
        .filter(|path| path.join("case.toml").is_file())
        .collect();
    cases.sort();
    cases
}

fn name_of(case: &Path) -> &str {
    case.file_name().and_then(|name| name.to_str()).unwrap()
}

fn read(folder: &Path) -> Result<Case, String> {
    let text = std::fs::read_to_string(folder.join("case.toml")).map_err(|e| e.to_string())?;
    let case: Case = toml::from_str(&text).map_err(|e| e.to_string())?;
    if [&case.title, &case.right, &case.source]
        .iter()
        .any(|words| words.trim().is_empty())
    {
        return Err("title, right and source are wanted".into());
    }
    let checks = |run: &Run| {
        run.exit != 0 || !run.says.is_empty() || !run.never.is_empty() || !run.number.is_empty()
    };
    if case.check.is_none() && !case.run.iter().any(checks) {
        return Err("nothing is checked".into());
    }
    Ok(case)
}

/// Python with numpy and pydicom.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("peers")
        .join("bin/python");
    let python = std::env::var_os("BEAMSIGHT_PEERS").map_or(own, PathBuf::from);
    python.is_file().then_some(python)
}

/// Most seconds that a command of a case may take: far more than any does.
const WAIT_LIMIT: &str = "300";

/// A program that is ended when it hangs, with so much memory.
fn bounded(program: &Path, memory_gb: Option<u32>) -> Command {
    let kib = memory_gb.map_or("unlimited".to_owned(), |gb| {
        (u64::from(gb) * 1_000_000).to_string()
    });
    let mut command = Command::new("timeout");
    let limited = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    command
        .args([WAIT_LIMIT, "sh", "-c", &limited])
        .arg(program)
        .stdin(Stdio::null());
    command
}

/// Output and errors of a command together, and its exit status; `None` for one that a signal ended.
fn output_of(command: &mut Command) -> (Option<i32>, String) {
    let output = command
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    (output.status.code(), text)
}

/// The first number behind the first `after`.
fn number(text: &str, after: &str) -> Option<f64> {
    let rest = &text[text.find(after)? + after.len()..];
    let begin = rest.find(|c: char| c.is_ascii_digit())?;
    let begin = if rest[..begin].ends_with('-') {
        begin - 1
    } else {
        begin
    };
    let digits = &rest[begin..];
    let length = digits
        .find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e'))
        .unwrap_or(digits.len());
    digits[..length]
        .trim_end_matches(['.', '-', '+', 'e'])
        .parse()
        .ok()
}

/// The faults of a run, in words.
fn faults(run: &Run, status: Option<i32>, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if status != Some(run.exit) {
        faults.push(format!("exit {status:?}, not {}", run.exit));
    }
    faults.extend(
        run.says
            .iter()
            .filter(|words| !text.contains(*words))
            .map(|words| format!("does not say '{words}'")),
    );
    if text.contains("panicked") {
        faults.push("panicked".to_owned());
    }
    faults.extend(
        run.never
            .iter()
            .filter(|words| text.contains(*words))
            .map(|words| format!("says '{words}'")),
    );
    for wanted in &run.number {
        match number(text, &wanted.after) {
            Some(found) if (found - wanted.is).abs() <= wanted.within => {}
            found => faults.push(format!(
                "{found:?} behind '{}', not {} within {}",
                wanted.after, wanted.is, wanted.within
            )),
        }
    }
    faults
}

/// The faults of a case with the output that they stand in; empty where all is right.
fn told(folder: &Path, python: &Path) -> Result<(), String> {
    let case = read(folder)?;
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "case-{}-{}",
        name_of(folder),
        std::process::id()
    ));
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made).map_err(|e| e.to_string())?;
    let script = |file: &str| {
        let mut command = bounded(python, case.memory_gb);
        command
            .arg(folder.join(file))
            .arg(&made)
            .env("BEAMSIGHT", env!("CARGO_BIN_EXE_beamsight"));
        command
            .env("PYTHONPATH", self::folder().join("common"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        output_of(&mut command)
    };
    for file in [&case.make, &case.check].into_iter().flatten() {
        let (status, text) = script(file);
        if status != Some(0) {
            return Err(format!(
                "{file}: exit {status:?}\n{text}right: {}",
                case.right
            ));
        }
    }
    for run in &case.run {
        let places = [("{made}", &*made), ("{case}", folder)];
        let place = |word: &String| {
            places.iter().fold(word.clone(), |w, (name, path)| {
                w.replace(name, path.to_str().unwrap())
            })
        };
        let words: Vec<_> = run.args.iter().map(place).collect();
        let mut command = bounded(Path::new(env!("CARGO_BIN_EXE_beamsight")), case.memory_gb);
        let (status, text) = output_of(command.args(&words).env("BEAMSIGHT_STATE", ""));
        let faults = faults(run, status, &text);
        if !faults.is_empty() {
            return Err(format!(
                "{}: {}\n{text}right: {}",
                words.join(" "),
                faults.join("; "),
                case.right
            ));
        }
    }
    std::fs::remove_dir_all(&made).map_err(|e| e.to_string())
}

#[test]
fn every_case_is_right() {
    let cases = cases();
    assert!(!cases.is_empty());
    let Some(python) = python() else {
        return skip(Missing::Program, "no python with pydicom (bash .ci/peers)");
    };
    let wanted = std::env::var("BEAMSIGHT_CASE").unwrap_or_default();
    let chosen: Vec<_> = cases
        .iter()
        .filter(|case| name_of(case).contains(&wanted))
        .collect();
    assert!(
        !chosen.is_empty(),
        "no case of tests/cases has '{wanted}' in its name"
    );
    let wrong: Vec<_> = chosen
        .par_iter()
        .filter_map(|case| Some((name_of(case), told(case, &python).err()?)))
        .collect();
    let mut report = String::new();
    for (name, fault) in &wrong {
        let _ = writeln!(report, "\n== {name}\n{fault}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases are wrong{report}",
        wrong.len(),
        chosen.len()
    );
}

#[test]
fn a_case_that_is_not_as_said_is_told() {
    let run = |number| Run {
        args: vec![],
        exit: 0,
        says: vec!["PTV".into()],
        never: vec!["FINAL".into()],
        number,
    };
    let number = |is| {
        vec![Number {
            after: "D95% ".into(),
            is,
            within: 0.1,
        }]
    };
    assert!(faults(&run(number(-1.5)), Some(0), "PTV D95% -1.52 Gy").is_empty());
    assert_eq!(
        faults(&run(number(-1.7)), Some(0), "PTV D95% -1.52 Gy").len(),
        1
    );
    assert_eq!(
        faults(&run(number(1.0)), Some(101), "FINAL, then panicked").len(),
        5
    );
}
