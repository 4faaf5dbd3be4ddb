//! Records of a process: of a job that is done, or why it failed.

use super::job::Outcome;
use super::unit::{TALLY, Unit};
use super::workers::BatchContext;
use anyhow::Context as _;
use engine::Digest;
use files::{cache_folder, replace_file};
use input::{JOBS_BYTES, content_digest, read_text, stamp};
use serde::de::IgnoredAny;
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
    /// Files of the folder and the digests of their content.
    files: BTreeMap<String, String>,
}

/// The program, by version and content: another build may answer otherwise.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    pub digest: String,
}

impl Program {
    /// # Errors
    /// Errors of the file system.
    pub fn this() -> anyhow::Result<Self> {
        let path = std::env::current_exe().context("the program does not find itself")?;
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut digest = Digest::default();
        digest.add_bytes(&bytes);
        Ok(Self {
            path,
            digest: format!("{} {digest}", env!("CARGO_PKG_VERSION")),
        })
    }
}

impl Record {
    pub fn new(
        unit: &Unit<'_>,
        context: &BatchContext<'_>,
        outcome: Outcome,
        device: &str,
        seconds: f64,
    ) -> Self {
        let Outcome {
            exit, note, inputs, ..
        } = outcome;
        // Parts are removed once they are merged, and what a cache holds is made again.
        let cache = cache_folder();
        let lasting = inputs.into_iter().filter(|(path, _)| {
            let is_part = path.starts_with(context.out) && path.ends_with(TALLY);
            let is_cached = cache.as_ref().is_some_and(|cache| path.starts_with(cache));
            !is_part && !is_cached && stamp(path).is_some()
        });
        Self {
            digest: unit.digest(context.program),
            exit,
            note,
            seconds,
            device: device.to_owned(),
            words: unit.job.words.clone(),
            program: context.program.digest.clone(),
            inputs: lasting.collect(),
            files: BTreeMap::new(),
        }
    }

    /// Writes it into a job's folder, beside its files.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn close(mut self, folder: &Path) -> anyhow::Result<Self> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let digest = content_digest(&entry.path())
                .with_context(|| format!("cannot read {}", entry.path().display()))?;
            self.files
                .insert(entry.file_name().to_string_lossy().into_owned(), digest);
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
    /// Errors of the file system.
    pub fn fail(&self, unit: &Unit<'_>, out: &Path) -> anyhow::Result<()> {
        self.write(&failed(unit, out))
    }
}

/// Path of the record of a failed job.
pub fn failed(unit: &Unit<'_>, out: &Path) -> PathBuf {
    out.join(format!("{}.failed.json", unit.name()))
}

fn read(path: &Path) -> Option<Record> {
    serde_json::from_str(&read_text(path, JOBS_BYTES).ok()?).ok()
}

/// The record of a unit that is done: of the same words and program, with inputs and files as they were then.
pub fn done(context: &BatchContext<'_>, unit: &Unit<'_>) -> Option<Record> {
    let folder = unit.folder(context.out);
    let record = read(&folder.join(RECORD))
        .filter(|record| record.digest == unit.digest(context.program))?;
    let mut files = record.files.iter();
    let stands = record.inputs_stand()
        && files.all(|(name, recorded)| {
            content_digest(&folder.join(name)).is_ok_and(|digest| digest == *recorded)
        });
    stands.then_some(record)
}

/// Whether all that a done unit has read stands as it did then.
pub fn inputs_stand(context: &BatchContext<'_>, unit: &Unit<'_>) -> bool {
    read(&unit.folder(context.out).join(RECORD)).is_some_and(|record| record.inputs_stand())
}

impl Record {
    fn inputs_stand(&self) -> bool {
        self.inputs
            .iter()
            .all(|(path, then)| stamp(path).as_ref() == Some(then))
    }
}

/// The names of a record's files, of any version of the program.
#[derive(Deserialize)]
struct Names {
    words: Vec<String>,
    files: BTreeMap<String, IgnoredAny>,
}

/// Refuses to replace a folder that is there and holds anything but what a batch left; `named` is its path in words.
///
/// # Errors
/// In words, with the first such file.
pub fn check_own(folder: &Path, named: &Path) -> Result<(), String> {
    let named = named.display();
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let names: Option<Names> = read_text(&folder.join(RECORD), JOBS_BYTES)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let Some(Names { files, .. }) = names.filter(|names| !names.words.is_empty()) else {
        return Err(format!(
            "{named} is there and is no job's folder; name another"
        ));
    };
    let entries =
        std::fs::read_dir(folder).map_err(|e| format!("cannot look into {named}: {e}"))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != RECORD && !files.contains_key(&name) {
            return Err(format!(
                "the job's folder {named} holds {name}, which no batch has written: take it away, or name another job"
            ));
        }
    }
    Ok(())
}

/// The record of a unit, or of one of its parts, that has failed by the same words and program.
pub fn failure(context: &BatchContext<'_>, unit: &Unit<'_>) -> Option<Record> {
    let parts = unit.job.pieces(unit.n);
    std::iter::once(*unit).chain(parts).find_map(|unit| {
        read(&failed(&unit, context.out))
            .filter(|record| record.digest == unit.digest(context.program))
    })
}
