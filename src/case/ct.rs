//! A CT series.

use geometry::{PatientPosition, Volume};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// A CT series as one volume of Hounsfield units, its planes where the files put them.
#[derive(Clone, Debug)]
pub struct Ct {
    /// Hounsfield units; padding is already replaced by air (-1000 or the series' own lowest value).
    pub hu: Arc<Volume<f32>>,
    pub position: PatientPosition,
    pub series_uid: String,
    pub study_uid: String,
    /// Empty where the files have none (then no overlay may rely on it).
    pub frame_of_reference_uid: String,
    pub description: String,
    /// SOP instance UID of each plane, in plane order; empty where the CT did not come from DICOM.
    pub plane_uids: Vec<String>,
    /// File of each plane, in plane order; empty where there are none that stay.
    pub files: Vec<PathBuf>,
    /// Remarks on what is unusual about this series.
    pub remarks: Vec<Remark>,
}

impl Ct {
    /// A CT without UIDs and remarks.
    pub fn unnamed(hu: Arc<Volume<f32>>, position: PatientPosition) -> Self {
        Self {
            hu,
            position,
            series_uid: String::new(),
            study_uid: String::new(),
            frame_of_reference_uid: String::new(),
            description: String::new(),
            plane_uids: Vec::new(),
            files: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

/// The remark on HU beyond 16 bits, most likely values of another unit; `None` where they fit.
pub fn beyond_16_bits(lowest_hu: f32, highest_hu: f32) -> Option<String> {
    let beyond = lowest_hu < f32::from(i16::MIN) || highest_hu > f32::from(i16::MAX);
    beyond.then(|| {
        format!("HU from {lowest_hu} to {highest_hu} are more than 16 bits hold: are they in another unit?")
    })
}

/// A remark on how a series or file deviates from the usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    pub severity: Severity,
    /// One sentence: the deviation, and what was done about it.
    pub message: String,
    /// The files concerned, by name.
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Harmless information.
    Note,
    /// To be checked before results computed on it are trusted.
    Warning,
}

impl Remark {
    /// A harmless remark. `files` are file names.
    pub fn note(message: impl Into<String>, files: Vec<String>) -> Self {
        Self { severity: Severity::Note, message: message.into(), files }
    }

    /// A remark to check before results computed on it are trusted. `files` are file names.
    pub fn warning(message: impl Into<String>, files: Vec<String>) -> Self {
        Self { severity: Severity::Warning, message: message.into(), files }
    }

    /// The remark as a sentence, with the file concerned.
    pub fn with_files(&self) -> String {
        match self.files.as_slice() {
            [] => self.message.clone(),
            [file] => format!("{} ({file})", self.message),
            [file, rest @ ..] => format!("{} ({file} and {} more)", self.message, rest.len()),
        }
    }
}
