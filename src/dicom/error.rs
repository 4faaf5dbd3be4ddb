//! Errors of DICOM files: the problem, its place, the remedy.

use super::AttributeError;
use geometry::{GridError, ProjectionError};
use input::OverBudget;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why files could not be read as a case.
#[derive(Debug, Error)]
pub enum DicomError {
    #[error("cannot read {}: {source}; check that it exists and that you may read it", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} holds no files{besides}; name a folder with DICOM files (it is searched with its subfolders)", folder.display())]
    EmptyFolder { folder: PathBuf, besides: String },
    #[error(
        "none of the {files} files in {} is DICOM (the first is '{first}'); name a folder with a DICOM export, or try demo:thorax",
        folder.display()
    )]
    NoDicom {
        folder: PathBuf,
        files: usize,
        first: String,
    },
    #[error("{} is not a DICOM file; name a DICOM file or a folder of them", path.display())]
    NotDicom { path: PathBuf },
    #[error("{} is damaged or truncated ({reason}); copy or export it again", path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("{}: {source}; it is not read", path.display())]
    OverBudget { path: PathBuf, source: OverBudget },
    #[error("{} has no {attribute}; export it again with that attribute", path.display())]
    Missing {
        path: PathBuf,
        attribute: &'static str,
    },
    #[error("{}: {source}; export it again", path.display())]
    Attribute {
        path: PathBuf,
        source: AttributeError,
    },
    #[error(
        "{} does not say where it was taken: no {}; give what is missing (--gantry, --isocentre, --sad, --sid, --pixel, or in the \
         window's dialog)",
        path.display(), missing.join(", no ")
    )]
    NoGeometry {
        path: PathBuf,
        missing: Vec<&'static str>,
    },
    #[error("{}: its geometry cannot be: {source}", path.display())]
    Projection {
        path: PathBuf,
        source: ProjectionError,
    },
    #[error("{}: {what}; the file contradicts itself, export it again", path.display())]
    Contradiction { path: PathBuf, what: String },
    #[error("{}: {what}", path.display())]
    Unsupported { path: PathBuf, what: String },
    #[error("{}: the images make no grid: {source}", path.display())]
    Grid { path: PathBuf, source: GridError },
    #[error("{place} mixes {} patients ({}); give each a folder of its own, or open one file or series; `beamsight info` lists what belongs to whom", patients.len(), patients.join(", "))]
    SeveralPatients {
        place: String,
        patients: Vec<String>,
    },
    #[error(
        "{}: this {what} is of the patient {theirs}, and what is shown of {ours}; choose another, or answer for it with \
         --accept-patient-mismatch",
        path.display()
    )]
    OtherPatient {
        path: PathBuf,
        what: &'static str,
        theirs: String,
        ours: String,
    },
    #[error("{place} has nothing to show: {what}; add the CT series, structures, plan or dose")]
    NothingToShow { place: String, what: String },
    #[error("there is no {what} number {index} in {place}; it has {count}")]
    NoSuchChoice {
        place: String,
        what: &'static str,
        index: usize,
        count: usize,
    },
    #[error(
        "{files} CT file(s), the first of them {}, hold no image (no Rows, no PixelData): they were cut short, or written \
         without pixels; copy or export them again",
        path.display()
    )]
    NoImage { path: PathBuf, files: usize },
    #[error("stopped")]
    Cancelled,
}

impl DicomError {
    /// Makes the error of a file that cannot be read, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Makes the error of an attribute of a file, for `map_err`.
    pub(crate) fn attribute(path: &Path) -> impl Fn(AttributeError) -> Self + '_ {
        move |source| Self::Attribute {
            path: path.to_owned(),
            source,
        }
    }

    /// Makes the error of a file's impossible geometry, for `map_err`.
    pub(crate) fn projection(path: &Path) -> impl Fn(ProjectionError) -> Self + '_ {
        move |source| Self::Projection {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn broken(path: &Path, reason: String) -> Self {
        Self::Broken {
            path: path.to_owned(),
            reason,
        }
    }

    pub(crate) fn missing(path: &Path, attribute: &'static str) -> Self {
        Self::Missing {
            path: path.to_owned(),
            attribute,
        }
    }

    pub(crate) fn contradiction(path: &Path, what: impl Into<String>) -> Self {
        Self::Contradiction {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::Unsupported {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}
