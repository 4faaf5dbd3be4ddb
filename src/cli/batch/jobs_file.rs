//! The file of jobs, and what is wrong with it, by line, before anything runs.

use super::super::outputs::Outputs;
use super::super::{Cli, Failure, Verb, check, dose, gamma, register, signed};
use super::order::put_in_order;
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use input::{JOBS_BYTES, read_text};
use platform::{NAMES_DIFFER_BY_CASE, name_fault};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Component, Path};
use toml::Spanned;

/// A job of the file.
#[derive(Debug)]
pub struct Job {
    /// Its folder.
    pub name: String,
    /// As on the command line; the first is the verb.
    pub words: Vec<String>,
    /// Parts that its histories are split into.
    pub parts: Option<u64>,
    /// Jobs of the file whose files it reads, by number.
    pub reads: Vec<usize>,
    /// Jobs that wait for each other's files have the number of the first of them.
    pub group: usize,
    /// The jobs it reads from have lower ones.
    pub level: usize,
}

impl Job {
    pub fn verb(&self) -> &str {
        &self.words[0]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    run: Vec<String>,
    parts: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    job: Vec<Spanned<Entry>>,
}

/// Options that name files to write, which lie in the job's folder.
pub const OUTPUTS: [&str; 3] = ["--out", "--sigma", "--report"];
/// Options that are the batch's own.
const OF_THE_BATCH: [&str; 6] = [
    "--device",
    "--json",
    "--overwrite",
    "--part",
    "--tally",
    "--merge",
];
const MOST_PARTS: u64 = 1000;
const LONGEST_NAME: usize = 100;
/// Faults that are told at a time.
const TOLD: usize = 20;

/// The jobs of a file.
///
/// # Errors
/// [`Failure::Words`] with all that is wrong, by line.
pub fn read(path: &Path, out: &Path) -> Result<Vec<Job>, Failure> {
    jobs_of(path, out).map_err(|why| Failure::Words(format!("{}: {why}", path.display())))
}

fn jobs_of(path: &Path, out: &Path) -> Result<Vec<Job>, String> {
    let text = read_text(path, JOBS_BYTES).map_err(|e| e.to_string())?;
    let entries = match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => of_toml(&text).map_err(|e| with_remedy(&e.to_string(), &text))?,
        Some("jsonl") => of_lines(&text)?,
        _ => return Err("a file of jobs is .toml or .jsonl".to_owned()),
    };
    if entries.is_empty() {
        return Err(
            "it has no job; a job is [[job]] with name and run (beamsight help batch)".to_owned(),
        );
    }
    let mut command = signed(Cli::command());
    let mut names: HashMap<String, usize> = HashMap::new();
    let (mut parsed, mut faults) = (Vec::new(), Vec::new());
    for (line, entry) in entries {
        let first_line = names.insert(entry.name.to_lowercase(), line);
        let checked = match first_line {
            Some(first) => Err(format!(
                "the name '{}' is that of line {first}: both would write one folder",
                entry.name
            )),
            None => checked(entry, out, &mut command),
        };
        match checked {
            Ok((job, files)) => parsed.push(Parsed { line, job, files }),
            Err(why) => faults.push((line, why)),
        }
    }
    faults.extend(put_in_order(&mut parsed, out));
    if faults.is_empty() {
        return Ok(parsed.into_iter().map(|parsed| parsed.job).collect());
    }
    faults.sort_by_key(|(line, _)| *line);
    let more = faults.len().saturating_sub(TOLD);
    faults.truncate(TOLD);
    let mut told: Vec<String> = faults
        .into_iter()
        .map(|(line, why)| format!("line {line}: {why}"))
        .collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    Err(format!("nothing was run:\n  {}", told.join("\n  ")))
}

/// A job, its line, and what it reads and writes.
#[derive(Debug)]
pub struct Parsed {
    pub line: usize,
    pub job: Job,
    pub files: Outputs,
}

fn of_toml(text: &str) -> Result<Vec<(usize, Entry)>, toml::de::Error> {
    let table: Table = toml::from_str(text)?;
    // Entries stand in order: lines are counted on from the last.
    let (mut line, mut counted) = (1, 0);
    let numbered = table.job.into_iter().map(|entry| {
        let start = entry.span().start.clamp(counted, text.len());
        line += text.as_bytes()[counted..start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        counted = start;
        (line, entry.into_inner())
    });
    Ok(numbered.collect())
}

/// The error, with the way out where a path with backslashes may be its cause: in double quotes a backslash begins a letter's code.
fn with_remedy(error: &str, text: &str) -> String {
    let has_path = text
        .lines()
        .any(|line| line.contains('\\') && line.contains('"'));
    match has_path && error.contains("escape") {
        true => format!(
            "{error}write paths with backslashes in single quotes, 'C:\\ct\\7', or with slashes\n"
        ),
        false => error.to_owned(),
    }
}

fn of_lines(text: &str) -> Result<Vec<(usize, Entry)>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let entries = lines.map(|(n, line)| {
        let entry = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", n + 1))?;
        Ok((n + 1, entry))
    });
    entries.collect()
}

fn checked(entry: Entry, out: &Path, command: &mut Command) -> Result<(Job, Outputs), String> {
    let Entry {
        name,
        run: words,
        parts,
    } = entry;
    // The name is a folder's, on any system.
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if name.is_empty() || name.len() > LONGEST_NAME || !is_plain || name.starts_with('-') {
        return Err(format!(
            "the name '{name}' is no folder's: letters, digits, - and _, {LONGEST_NAME} at most"
        ));
    }
    if let Some(fault) = name_fault(&name) {
        return Err(format!("the name '{name}' is no folder's: {fault}"));
    }
    let folder = out.join(&name);
    super::record::check_own(&folder, &folder)?;
    let mut options = words.iter().filter_map(|word| word.split('=').next());
    if let Some(option) = options.find(|option| OF_THE_BATCH.contains(option)) {
        return Err(format!(
            "{option} is the batch's, not a job's; leave it out"
        ));
    }
    let matches = command.try_get_matches_from_mut(
        std::iter::once("beamsight").chain(words.iter().map(String::as_str)),
    );
    let parsed = matches
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| {
            let said = error.to_string();
            said.lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned()
        })?;
    let (outputs, can_split) = match &parsed.verb {
        Some(Verb::Dose(args)) => (dose::outputs(args), args.has_histories()),
        Some(Verb::Gamma(args)) => (gamma::outputs(args), false),
        Some(Verb::Check(args)) => (check::outputs(args), false),
        Some(Verb::Register(args)) => (register::outputs(args), false),
        _ => {
            let verb = words.first().map_or("", String::as_str);
            return Err(format!(
                "'{verb}' is no verb of a batch: they are dose, gamma, check, register"
            ));
        }
    };
    let mut files: Vec<&str> = Vec::new();
    for word in with_files(&words) {
        let Word::File { name: file, .. } = word else {
            continue;
        };
        let mut parts = Path::new(file).components();
        if !matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        ) {
            return Err(format!(
                "'{file}' lies outside the job's folder: give a file name alone"
            ));
        }
        if let Some(fault) = name_fault(file) {
            return Err(format!("'{file}' is no name for a file: {fault}"));
        }
        if files
            .iter()
            .chain(&RESERVED)
            .any(|taken| is_one_name(taken, file))
        {
            return Err(format!(
                "two files are named '{file}'; answer.json, log.txt and job.json are the batch's"
            ));
        }
        files.push(file);
    }
    match parts {
        Some(_) if !can_split => {
            Err("parts are of a dose by --engine mccs or mc with --histories".to_owned())
        }
        Some(n) if !(2..=MOST_PARTS).contains(&n) => {
            Err(format!("parts are from 2 to {MOST_PARTS}, not {n}"))
        }
        _ => Ok((
            Job {
                name,
                words,
                parts,
                reads: Vec::new(),
                group: 0,
                level: 0,
            },
            outputs,
        )),
    }
}

/// Whether two names of a folder lead to one file on this system.
fn is_one_name(a: &str, b: &str) -> bool {
    a == b || (!NAMES_DIFFER_BY_CASE && a.to_lowercase() == b.to_lowercase())
}

/// Files of every job's folder.
pub const RESERVED: [&str; 3] = ["answer.json", "log.txt", super::record::RECORD];

/// A word of a job, or an option with the file that it writes.
#[derive(Debug, PartialEq)]
pub enum Word<'a> {
    Plain(&'a str),
    File { option: &'a str, name: &'a str },
}

/// The words, with options that name files taken together with these.
pub fn with_files(words: &[String]) -> Vec<Word<'_>> {
    let mut words = words.iter().map(String::as_str);
    let mut parsed = Vec::new();
    while let Some(word) = words.next() {
        let (option, name) = word
            .split_once('=')
            .map_or((word, None), |(option, name)| (option, Some(name)));
        match OUTPUTS.contains(&option) {
            true => parsed.extend(
                name.or_else(|| words.next())
                    .map(|name| Word::File { option, name }),
            ),
            false => parsed.push(Word::Plain(word)),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file() {
        let text = "# jobs\n[[job]]\nname = 'a'\nrun = ['dose']\n\n[[job]]\nname = 'b'\nrun = []\n";
        let entries = of_toml(text).unwrap();
        let lines: Vec<usize> = entries.iter().map(|(line, _)| *line).collect();
        assert!(lines[0] == 2 && lines[1] == 6, "{lines:?}");
        let lines =
            of_lines("\n{\"name\": \"a\", \"run\": [\"dose\"]}\n\n{\"name\": 1}\n").map(|_| ());
        assert!(lines.unwrap_err().starts_with("line 4: "));
    }

    #[test]
    fn a_path_of_windows_in_double_quotes_has_its_remedy() {
        let text = "[[job]]\nname = 'a'\nrun = [\"dose\", \"C:\\ct\\7\"]\n";
        let error = of_toml(text).err().expect("a refusal").to_string();
        assert!(
            with_remedy(&error, text).contains("single quotes"),
            "{error}"
        );
        let quoted = text.replace('"', "'");
        assert_eq!(of_toml(&quoted).unwrap()[0].1.run, ["dose", "C:\\ct\\7"]);
        assert_eq!(is_one_name("Dose.mha", "dose.mha"), !NAMES_DIFFER_BY_CASE);
    }

    #[test]
    fn outputs_are_found_in_both_forms() {
        let words = [
            "dose",
            "demo:water",
            "--out",
            "a.mha",
            "--sigma=b.mha",
            "--grid",
            "5",
        ]
        .map(str::to_owned);
        let [out, sigma] = [("--out", "a.mha"), ("--sigma", "b.mha")]
            .map(|(option, name)| Word::File { option, name });
        let [dose, water, grid, five] = ["dose", "demo:water", "--grid", "5"].map(Word::Plain);
        let expected = [dose, water, out, sigma, grid, five];
        assert_eq!(with_files(&words), expected);
    }
}
