//! Cases to be opened, and the origin of the current one.

use crate::state::State;
use crate::state::record::Record;
use analysis::{BodyChoice, Side};
use case::{Case, PatientInfo, Plan, StructureSet};
use dicom::{Catalogue, Choice, Tree};
use files::BeamPlace;
use open::{CaseWord, DoseFile};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A case to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub word: CaseWord,
    pub choice: Choice,
    /// A plan file, put before the case's own plans.
    pub plan: Option<PathBuf>,
    /// The word is unsaved work that a window left behind.
    pub recovers: Option<PathBuf>,
}

impl Opening {
    pub fn new(word: CaseWord) -> Self {
        Self {
            word,
            choice: Choice::default(),
            plan: None,
            recovers: None,
        }
    }
}

impl State {
    /// The reading of a case, in words: unsaved work by the case it was made of, not by the file that kept it.
    pub fn opening_in_words(&self, opening: &Opening) -> String {
        let Some(path) = &opening.recovers else {
            let kind = match &opening.word {
                CaseWord::Dicom(path) if path.is_dir() => " (folder)",
                CaseWord::Session(_) => " (session)",
                _ => "",
            };
            return format!("Opening {}{kind}", opening.word.short());
        };
        let recoverable = self.recoverable.iter().find(|left| left.path == *path);
        let word = recoverable.and_then(|left| left.case.as_ref().ok());
        let name = word.map(|word| {
            word.parse()
                .map_or_else(|_| word.clone(), |word: CaseWord| word.short())
        });
        format!(
            "Recovering unsaved work of {}",
            name.as_deref().unwrap_or("a closed window")
        )
    }
}

/// A folder has objects of several patients: the user is asked whose are opened.
#[derive(Debug)]
pub struct PatientQuestion {
    pub opening: Opening,
    pub patients: Vec<PatientToOpen>,
}

/// A patient of a folder.
#[derive(Debug)]
pub struct PatientToOpen {
    pub patient: PatientInfo,
    /// Objects of the patient in the folder: `1 CT series, 2 plans`.
    pub holds: String,
    /// Opens the patient's own objects alone; `None` where there is nothing to be shown by itself.
    pub alone: Option<Choice>,
}

/// A dose of a file that states another patient than the case: the user is asked whether it is shown.
#[derive(Debug)]
pub struct StrangeDose {
    pub file: DoseFile,
    /// The side of the comparison that it is for, if one was named.
    pub side: Option<Side>,
    /// The file, its patient and the case's patient, in a sentence.
    pub why: String,
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatientReply {
    /// The objects of one of them, by place in the question.
    Alone(usize),
    /// Opens objects that belong together: the patients are one.
    Together,
    Cancel,
}

impl PatientQuestion {
    pub fn new(opening: Opening, catalogue: &Catalogue) -> Self {
        let patients = catalogue.patients.iter().enumerate();
        let patients = patients.map(|(n, patient)| PatientToOpen {
            patient: patient.clone(),
            holds: objects_in_words(catalogue, n),
            alone: choice_of_patient(catalogue, n),
        });
        Self {
            opening,
            patients: patients.filter(|p| !p.holds.is_empty()).collect(),
        }
    }

    /// Objects that an answer opens; `None` for nothing.
    pub fn answered(self, reply: PatientReply) -> Option<Opening> {
        let choice = match reply {
            PatientReply::Cancel => return None,
            PatientReply::Together => Choice {
                other_patients: true,
                ..self.opening.choice
            },
            PatientReply::Alone(n) => self.patients.get(n)?.alone?,
        };
        Some(Opening {
            choice,
            ..self.opening
        })
    }
}

/// The objects of a patient in a folder, counted: `1 CT series, 2 plans`; `patient` is an index in the catalogue.
fn objects_in_words(catalogue: &Catalogue, patient: usize) -> String {
    let series = catalogue.series.iter().filter(|s| s.patient == patient);
    let entries = [
        (&catalogue.structure_sets, "structure set"),
        (&catalogue.plans, "plan"),
        (&catalogue.doses, "dose"),
    ];
    let counts = entries.map(|(entries, what)| {
        let count = entries.iter().filter(|entry| entry.patient == patient);
        (count.count(), what)
    });
    let words = std::iter::once((series.count(), "image series"))
        .chain(counts)
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| {
            let plural = if count > 1 && what != "image series" {
                "s"
            } else {
                ""
            };
            format!("{count} {what}{plural}")
        });
    words.collect::<Vec<_>>().join(", ")
}

/// The choice that opens the objects of a patient alone: the CT of most planes, else the first structure set, else the first plan.
fn choice_of_patient(catalogue: &Catalogue, patient: usize) -> Option<Choice> {
    let cts = catalogue.series.iter().enumerate();
    let ct = cts
        .filter(|(_, s)| s.patient == patient && s.modality == "CT" && !s.multiframe)
        // Localisers and partial series have fewer planes than the planning CT.
        .max_by_key(|(index, s)| (s.planes, std::cmp::Reverse(*index)));
    let [structure_set, plan] = [&catalogue.structure_sets, &catalogue.plans]
        .map(|entries| entries.iter().position(|entry| entry.patient == patient));
    match (ct, structure_set, plan) {
        (Some((index, _)), ..) => Some(Choice {
            series: Some(index),
            ..Choice::default()
        }),
        (None, Some(_), _) => Some(Choice {
            structure_set,
            ..Choice::default()
        }),
        (None, None, Some(_)) => Some(Choice {
            plan,
            ..Choice::default()
        }),
        (None, None, None) => None,
    }
}

/// An opened case with its origin.
#[derive(Debug)]
pub struct Opened {
    pub case: Case,
    /// The CASE word; for a session the word of its case.
    pub word: CaseWord,
    pub series: Vec<SeriesLine>,
    /// Its folder, where it is one of DICOM, and what was chosen of that.
    pub folder: Option<Folder>,
    /// The structures of the files, unedited.
    pub structures: Arc<StructureSet>,
    /// The body definition, if one was given.
    pub body: Option<BodyChoice>,
    /// The window's record in a session.
    pub record: Option<Record>,
    /// Plans as they were before the fluence maps that they have, by index.
    pub plans_before_maps: BTreeMap<usize, Arc<Plan>>,
    /// Beams whose doses were kept with the session.
    pub doses: Vec<BeamPlace>,
    /// The session file that was opened.
    pub session: Option<PathBuf>,
    /// The unsaved work of a window, if the case was opened from it.
    pub recovers: Option<PathBuf>,
}

/// Origin of a case, and the contents of its files.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The CASE word; for a session the word of its case.
    pub word: CaseWord,
    /// The session file last opened or saved.
    pub session: Option<PathBuf>,
    /// Counts the cases shown.
    pub number: u64,
    /// Image series of the folder.
    pub series: Vec<SeriesLine>,
    pub folder: Option<Folder>,
    pub structures: Arc<StructureSet>,
}

impl Origin {
    /// Display name of the case: the last part of its path.
    pub fn name(&self) -> String {
        match &self.session {
            Some(path) => CaseWord::Session(path.clone()).short(),
            None => self.word.short(),
        }
    }
}

/// The objects of a folder of DICOM files.
#[derive(Clone, Debug)]
pub struct Folder {
    pub catalogue: Arc<Catalogue>,
    /// Reference tree of the folder.
    pub tree: Arc<Tree>,
    /// Objects of it that are open.
    pub choice: Choice,
}

impl Folder {
    pub fn new(catalogue: Catalogue, choice: Choice) -> Self {
        Self {
            tree: Arc::new(catalogue.tree()),
            catalogue: Arc::new(catalogue),
            choice,
        }
    }
}

/// An image series in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLine {
    /// Index in the catalogue of the folder.
    pub index: usize,
    pub uid: String,
    pub name: String,
    pub detail: String,
    /// Another CT can be opened; other modalities are only listed.
    pub is_ct: bool,
}
