//! Computed doses beside a session, saved or not, that they belong to. Each is named by digests of all that it was computed from, and
//! is taken only by those and as whole as it was written.

mod record;
#[cfg(test)]
mod tests;

use super::replace_file;
use case::Dose;
use input::{KEPT_DOSES_BYTES, content_digest_of};
use rayon::prelude::*;
use record::{MAGIC, Records, record_of};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ending of the folder beside unsaved work.
pub(super) const FOLDER: &str = "doses";
/// Ending of each dose in it.
const FILE: &str = "dose";
/// Added to the name of a session: its doses are `NAME.json.doses`.
const ADDED: &str = ".doses";

/// A beam of a case: the index of its plan, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeamPlace {
    pub plan: usize,
    pub beam: u32,
}

/// Digests of all that a dose was computed from, which say the same in every run of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputDigests {
    /// The program itself: another build may compute otherwise.
    pub program: String,
    pub images: String,
    /// Body, densities and HU table.
    pub patient: String,
    pub machine: String,
    pub settings: String,
    pub beam: String,
}

impl InputDigests {
    fn all(&self) -> [&str; 6] {
        let Self {
            program,
            images,
            patient,
            machine,
            settings,
            beam,
        } = self;
        [program, images, patient, machine, settings, beam]
    }

    /// A name that stands for all of them.
    fn key(&self) -> String {
        content_digest_of(&mut self.all().join("\n").as_bytes()).unwrap_or_default()
    }

    /// Words for what another dose of the beam is of; `None` for the same.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        const WORDS: [&str; 6] = [
            "of another build of Beamsight",
            "of other images",
            "of another body, other densities or another HU table",
            "of another machine file",
            "of other settings of the computation",
            "of an earlier plan",
        ];
        let differs =
            std::iter::zip(self.all(), other.all()).position(|(mine, other)| mine != other);
        differs.map(|n| WORDS[n])
    }
}

/// A dose to be kept. Without values it is taken from an earlier file that has it.
#[derive(Clone, Debug)]
pub struct DoseToKeep {
    pub of: BeamPlace,
    pub inputs: InputDigests,
    pub dose: Option<Arc<Dose>>,
}

/// A dose that a file names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedDose {
    pub of: BeamPlace,
    pub inputs: InputDigests,
    /// Whether it is as it was written.
    pub is_whole: bool,
}

/// Doses beside a session, and whether all could be looked at.
#[derive(Debug)]
pub struct Survey {
    pub doses: Vec<NamedDose>,
    /// A file ends before its last dose, or has another content.
    pub is_damaged: bool,
}

/// The doses of a session or of unsaved work.
#[derive(Clone, Debug)]
pub enum KeptDoses {
    /// Folder beside unsaved work, with a file for each dose: they come one after the other.
    Folder(PathBuf),
    /// File beside a session, with all of its doses: it is replaced as a whole.
    File(PathBuf),
}

impl KeptDoses {
    /// Doses beside unsaved work.
    pub fn of_unsaved(work: &Path) -> Self {
        Self::Folder(work.with_extension(FOLDER))
    }

    /// Doses beside a saved session.
    pub fn of_session(session: &Path) -> Self {
        let mut name = session.as_os_str().to_owned();
        name.push(ADDED);
        Self::File(name.into())
    }

    /// The folder or the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::File(path) => path,
        }
    }

    /// The dose computed from these inputs; `None` where there is none, or it is damaged.
    pub fn read(&self, inputs: &InputDigests) -> Option<Dose> {
        let path = match self {
            Self::Folder(folder) => &dose_file(folder, inputs),
            Self::File(path) => path,
        };
        let mut records = Records::open(path).ok()?;
        while let Some(record) = records.next().ok()? {
            if record.header.inputs != *inputs {
                records.skip(&record).ok()?;
            } else if let Some(dose) = records.dose(record).ok()? {
                return Some(dose);
            }
        }
        None
    }

    /// Looks at every dose.
    pub fn survey(&self) -> Survey {
        let files = match self {
            Self::File(path) => vec![path.clone()],
            Self::Folder(folder) => fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect(),
        };
        let mut survey = Survey {
            doses: Vec::new(),
            is_damaged: false,
        };
        for path in files {
            let earlier_count = survey.doses.len();
            match named_doses(&path, &mut survey.doses) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => survey.is_damaged = true,
                _ => {}
            }
            if let Self::Folder(folder) = self {
                // A dose under another's name is not found.
                survey.doses[earlier_count..].iter_mut().for_each(|dose| {
                    dose.is_whole &= dose_file(folder, &dose.inputs) == path;
                });
            }
        }
        survey
    }
}

fn dose_file(folder: &Path, inputs: &InputDigests) -> PathBuf {
    folder.join(inputs.key()).with_extension(FILE)
}

fn named_doses(path: &Path, into: &mut Vec<NamedDose>) -> io::Result<()> {
    let mut records = Records::open(path)?;
    while let Some(record) = records.next()? {
        let is_whole = records.is_whole(&record)?;
        into.push(NamedDose {
            of: record.header.of,
            inputs: record.header.inputs,
            is_whole,
        });
    }
    Ok(())
}

/// Doses of unsaved work.
impl KeptDoses {
    /// Writes a dose that is not there yet, in a folder of the user's own. One whose grid a file does not give back to the bit is not
    /// kept.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn write(&self, kept: &DoseToKeep) -> io::Result<()> {
        let path = dose_file(self.path(), &kept.inputs);
        let Some(dose) = kept.dose.as_ref().filter(|_| !path.is_file()) else {
            return Ok(());
        };
        let Some(record) = record_of(kept.of, &kept.inputs, dose)? else {
            return Ok(());
        };
        match fs::create_dir(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        replace_file(&path, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&record)
        })
    }

    /// Removes all doses except of these inputs.
    pub(super) fn keep_only(&self, wanted: &[DoseToKeep]) {
        let wanted: Vec<PathBuf> = wanted
            .iter()
            .map(|dose| dose_file(self.path(), &dose.inputs))
            .collect();
        for entry in fs::read_dir(self.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            if !wanted.contains(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Removes all of them.
    pub(super) fn remove(&self) {
        // Where that fails they go with the work that they lie beside.
        let _ = fs::remove_dir_all(self.path());
    }

    /// Moves them beside other unsaved work.
    pub(super) fn move_beside(&self, work: &Path) {
        // Doses that do not move are computed again.
        let _ = fs::rename(self.path(), work.with_extension(FOLDER));
    }
}

/// Writes the doses of a session beside it, as many as [`KEPT_DOSES_BYTES`] take. Those that earlier sessions have beside them are copied
/// as they are, others are packed. Returns the beams whose doses are there then; for none no file is written.
///
/// # Errors
/// Errors of the file system; something else in the place of the file, which stays.
pub(super) fn write_beside(
    session: &Path,
    doses: &[DoseToKeep],
    earlier: &[PathBuf],
) -> io::Result<Vec<BeamPlace>> {
    let file = KeptDoses::of_session(session);
    is_free_or_own(file.path())?;
    let (mut packed, mut left) = (Vec::new(), KEPT_DOSES_BYTES);
    let written = replace_file(file.path(), |out| {
        out.write_all(MAGIC)?;
        for session in earlier {
            copy_earlier(session, doses, &mut packed, &mut left, out)?;
        }
        pack_others(doses, &mut packed, &mut left, out)?;
        if packed.is_empty() {
            Err(NotWritten::Nothing)
        } else {
            Ok(())
        }
    });
    match written {
        Ok(()) => Ok(doses
            .iter()
            .filter(|kept: &&DoseToKeep| packed.contains(&&kept.inputs))
            .map(|kept| kept.of)
            .collect()),
        Err(NotWritten::Nothing) => Ok(Vec::new()),
        Err(NotWritten::Error(error)) => Err(error),
    }
}

enum NotWritten {
    Nothing,
    Error(io::Error),
}

impl From<io::Error> for NotWritten {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

/// Copies records that an earlier session has beside it and that are not there yet. One that cannot be read is passed over.
fn copy_earlier<'a>(
    session: &Path,
    doses: &'a [DoseToKeep],
    written: &mut Vec<&'a InputDigests>,
    left: &mut u64,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let Ok(mut records) = Records::open(KeptDoses::of_session(session).path()) else {
        return Ok(());
    };
    while let Ok(Some(record)) = records.next() {
        let kept = doses
            .iter()
            .find(|kept| kept.inputs == record.header.inputs);
        let kept = kept.filter(|kept| !written.contains(&&kept.inputs));
        let bytes = record.header.unpacked_bytes().filter(|bytes| bytes <= left);
        let (Some(kept), Some(bytes)) = (kept, bytes) else {
            if records.skip(&record).is_err() {
                break;
            }
            continue;
        };
        if let Ok(Some(record_bytes)) = records.bytes(&record) {
            out.write_all(&record_bytes)?;
            *left -= bytes;
            written.push(&kept.inputs);
        }
    }
    Ok(())
}

/// Writes records of doses that are not there yet.
fn pack_others<'a>(
    doses: &'a [DoseToKeep],
    written: &mut Vec<&'a InputDigests>,
    left: &mut u64,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut to_pack: Vec<(&DoseToKeep, &Dose)> = Vec::new();
    for kept in doses {
        let is_there = written.contains(&&kept.inputs)
            || to_pack.iter().any(|(other, _)| other.inputs == kept.inputs);
        let Some(dose) = kept.dose.as_ref().filter(|_| !is_there) else {
            continue;
        };
        let bytes = 4 * dose.gy.data().len() as u64;
        if bytes <= *left {
            *left -= bytes;
            to_pack.push((kept, dose));
        }
    }
    // No more records are in memory than are packed at once.
    for some in to_pack.chunks(rayon::current_num_threads().max(1)) {
        let records: Vec<io::Result<Option<Vec<u8>>>> = some
            .par_iter()
            .map(|(kept, dose): &(&DoseToKeep, &Dose)| record_of(kept.of, &kept.inputs, dose))
            .collect();
        for ((kept, _), record) in some.iter().zip(records) {
            if let Some(record) = record? {
                out.write_all(&record)?;
                written.push(&kept.inputs);
            }
        }
    }
    Ok(())
}

/// Removes the doses beside a session that has none any more.
pub(super) fn remove_beside(session: &Path) {
    let file = KeptDoses::of_session(session);
    if Records::open(file.path()).is_ok() {
        // Doses that stay are of use to a session of the same case alone.
        let _ = fs::remove_file(file.path());
    }
}

/// A file of the user's own is not replaced: nobody has asked about it.
fn is_free_or_own(path: &Path) -> io::Result<()> {
    match Records::open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let words = format!(
                "'{}' is in their place: {error}; move it away",
                path.display()
            );
            Err(io::Error::new(error.kind(), words))
        }
        _ => Ok(()),
    }
}
