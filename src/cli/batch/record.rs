//! What a process leaves of its job: the record by which it is known as done, or why it failed.

use super::job::Outcome;
use super::unit::{TALLY, Unit};
use super::workers::Work;
use crate::engine::Digest;
use crate::files::{cache_folder, replace_file};
use crate::input::{JOBS_BYTES, read_text, stamp};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The record's file in a job's folder.
pub const RECORD: &str = "job.json";

/// A job that is done, or has failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    digest: String,
    pub exit: u8,
    /// Why it failed, or what its answer says where that is not all well.
    pub note: String,
    pub seconds: f64,
    pub device: String,
    words: Vec<String>,
    program: String,
    /// All that was read, and how it stood then.
    inputs: BTreeMap<PathBuf, String>,
    /// Files of the folder and their bytes.
    files: BTreeMap<String, u64>,
}

/// The program, by version and content: another build may answer otherwise.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    pub digest: String,
}

impl Program {
    /// # Errors
    /// Those of the file system.
    pub fn this() -> anyhow::Result<Self> {
        let path = std::env::current_exe().context("the program does not find itself")?;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut digest = Digest::default();
        digest.add_bytes(&bytes);
        Ok(Self { path, digest: format!("{} {digest}", env!("CARGO_PKG_VERSION")) })
    }
}

impl Record {
    pub fn new(unit: &Unit<'_>, work: &Work<'_>, outcome: Outcome, (device, seconds): (&str, f64)) -> Self {
        let Outcome { exit, note, inputs, .. } = outcome;
        // Parts are removed once they are merged, and what a cache holds is made again.
        let cache = cache_folder();
        let lasting = |path: &PathBuf| {
            let is_part = path.starts_with(work.out) && path.ends_with(TALLY);
            let is_cached = cache.as_ref().is_some_and(|cache| path.starts_with(cache));
            !is_part && !is_cached && stamp(path).is_some()
        };
        Self {
            digest: unit.digest(work.program),
            exit,
            note,
            seconds,
            device: device.to_owned(),
            words: unit.job.words.clone(),
            program: work.program.digest.clone(),
            inputs: inputs.into_iter().filter(|(path, _)| lasting(path)).collect(),
            files: BTreeMap::new(),
        }
    }

    /// Writes it into a job's folder, beside its files.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn close(mut self, folder: &Path) -> anyhow::Result<Self> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            self.files.insert(entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len());
        }
        self.write(&folder.join(RECORD))?;
        Ok(self)
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        replace_file(path, |file| writeln!(file, "{text}"))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes it where a failed job's stands.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn fail(&self, unit: &Unit<'_>, out: &Path) -> anyhow::Result<()> {
        self.write(&failed(unit, out))
    }
}

/// Where the record of a failed job stands.
pub fn failed(unit: &Unit<'_>, out: &Path) -> PathBuf {
    out.join(format!("{}.failed.json", unit.name()))
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_str(&read_text(path, JOBS_BYTES).ok()?).ok()
}

/// The record of a unit that is done: of the same words and program, with inputs and files as they were then.
pub fn done(work: &Work<'_>, unit: &Unit<'_>) -> Option<Record> {
    let folder = unit.folder(work.out);
    let record = read(&folder.join(RECORD)).filter(|record| record.digest == unit.digest(work.program))?;
    let as_then = |(path, then): (&PathBuf, &String)| stamp(path).as_ref() == Some(then);
    let is_there =
        |(name, bytes): (&String, &u64)| folder.join(name).metadata().is_ok_and(|m| m.len() == *bytes);
    let holds = record.inputs.iter().all(as_then) && record.files.iter().all(is_there);
    holds.then_some(record)
}

/// The record of a unit, or of one of its parts, that has failed by the same words and program.
pub fn failure(work: &Work<'_>, unit: &Unit<'_>) -> Option<Record> {
    let parts = unit.job.pieces(unit.n);
    std::iter::once(*unit).chain(parts).find_map(|unit| {
        read(&failed(&unit, work.out)).filter(|record| record.digest == unit.digest(work.program))
    })
}
