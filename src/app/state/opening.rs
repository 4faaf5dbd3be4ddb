//! Cases to be opened, and the origin of the current one.

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
    /// The word is unsaved work that a window left behind.
    pub recovers: Option<PathBuf>,
}

impl Opening {
    pub fn of(word: CaseWord) -> Self {
        Self { word, choice: Choice::default(), plan: None, recovers: None }
    }
}

/// An opened case with its origin.
#[derive(Debug)]
pub struct Opened {
    pub case: Case,
    /// The CASE word; for a session the word of its case.
    pub word: CaseWord,
    pub series: Vec<SeriesLine>,
    /// The structures of the files, unedited.
    pub structures: Arc<StructureSet>,
    /// The body definition, if one was given.
    pub body: Option<BodyChoice>,
    /// The window's record in a session.
    pub record: Option<Record>,
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
