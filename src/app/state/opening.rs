//! Cases being opened, and where the one on show came from.

use super::record::Record;
use crate::analysis::BodyChoice;
use crate::case::{Case, StructureSet};
use crate::dicom::Choice;
use crate::open::CaseWord;
use std::path::PathBuf;
use std::sync::Arc;

/// A case to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub word: CaseWord,
    pub choice: Choice,
    /// A plan file, put before the case's own plans.
    pub plan: Option<PathBuf>,
    /// The word is unsaved work that a window left here.
    pub recovers: Option<PathBuf>,
}

impl Opening {
    pub fn of(word: CaseWord) -> Self {
        Self { word, choice: Choice::default(), plan: None, recovers: None }
    }
}

/// A case with where it came from.
#[derive(Debug)]
pub struct Opened {
    pub case: Case,
    /// The CASE itself, of a session that which it is of.
    pub word: CaseWord,
    pub series: Vec<SeriesLine>,
    /// As the files have them.
    pub structures: Arc<StructureSet>,
    /// What counts of the CT, where somebody said it.
    pub body: Option<BodyChoice>,
    /// How a session was looked at.
    pub record: Option<Record>,
    /// The session file that was opened.
    pub session: Option<PathBuf>,
    /// It is unsaved work that a window left here.
    pub recovers: Option<PathBuf>,
}

/// Where a case came from, and what its files held.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The CASE itself, of a session that which it is of.
    pub word: CaseWord,
    /// The session file last opened or saved.
    pub session: Option<PathBuf>,
    /// Counts the cases shown.
    pub number: u64,
    /// Image series of the folder.
    pub series: Vec<SeriesLine>,
    pub structures: Arc<StructureSet>,
}

impl Origin {
    /// What the case is called: the last part of its path.
    pub fn name(&self) -> String {
        match &self.session {
            Some(path) => CaseWord::Session(path.clone()).short(),
            None => self.word.short(),
        }
    }
}

/// An image series as the tree lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLine {
    /// Index in the catalogue of the folder.
    pub index: usize,
    pub uid: String,
    pub name: String,
    pub detail: String,
    /// A CT that is not the one on show can be opened; other modalities are only listed.
    pub is_ct: bool,
}
