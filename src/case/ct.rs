//! A CT series.

use crate::geometry::{PatientPosition, Volume};
use serde::Serialize;
use std::sync::Arc;

/// A CT series as one volume of Hounsfield units, its planes where the files put them.
#[derive(Clone, Debug)]
pub struct Ct {
    /// Hounsfield units; padding is already replaced by air (-1000 or the series' own lowest value).
    pub hu: Arc<Volume<f32>>,
    pub position: PatientPosition,
    pub series_uid: String,
    pub study_uid: String,
    /// Empty where the files have none (then nothing may be overlaid on trust).
    pub frame_of_reference_uid: String,
    pub description: String,
    /// SOP instance UID of each plane, in plane order; empty where the CT did not come from DICOM.
    pub plane_uids: Vec<String>,
    /// What is unusual about this series.
    pub remarks: Vec<Remark>,
}

impl Ct {
    /// Without names and remarks.
    pub fn unnamed(hu: Arc<Volume<f32>>, position: PatientPosition) -> Self {
        Self {
            hu,
            position,
            series_uid: String::new(),
            study_uid: String::new(),
            frame_of_reference_uid: String::new(),
            description: String::new(),
            plane_uids: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

/// What to say of HU that 16 bits do not hold, where they do not: values of another unit, most likely.
pub fn beyond_16_bits(lowest_hu: f32, highest_hu: f32) -> Option<String> {
    let beyond = lowest_hu < f32::from(i16::MIN) || highest_hu > f32::from(i16::MAX);
    beyond.then(|| {
        format!("HU from {lowest_hu} to {highest_hu} are more than 16 bits hold: are they in another unit?")
    })
}

/// One thing worth knowing about how a series or file deviates from the usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub severity: Severity,
    /// One sentence: what, and what was done about it.
    pub message: String,
    /// The files concerned, by name.
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, harmless.
    Note,
    /// Look at it before trusting what is computed on it.
    Warning,
}

impl Remark {
    /// Something worth knowing, harmless. `files` are file names.
    pub fn note(message: impl Into<String>, files: Vec<String>) -> Self {
        Self { severity: Severity::Note, message: message.into(), files }
    }

    /// Something to look at before trusting what is computed on it. `files` are file names.
    pub fn warning(message: impl Into<String>, files: Vec<String>) -> Self {
        Self { severity: Severity::Warning, message: message.into(), files }
    }

    /// The remark in a sentence's words, with the file it is about.
    pub fn with_files(&self) -> String {
        match self.files.as_slice() {
            [] => self.message.clone(),
            [file] => format!("{} ({file})", self.message),
            [file, rest @ ..] => format!("{} ({file} and {} more)", self.message, rest.len()),
        }
    }
}
