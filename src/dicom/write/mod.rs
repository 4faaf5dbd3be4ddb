//! Case -> DICOM, one file per IOD: all attributes that other systems require, in Implicit VR Little Endian
//! (an explicit contour of over 65,534 bytes cannot be held), each file complete or absent.

mod anonymise;
mod ct;
mod data_set;
mod dates;
mod imaging;
mod registration;
mod rounding;
mod rtdose;
mod rtimage;
mod rtplan;
mod rtplan_source;
mod rtstruct;
mod set;
mod source;

pub use anonymise::Anonymise;
pub use ct::write_ct;
pub use data_set::now as utc_now;
pub use dates::date_time;
pub use imaging::Imaging;
pub use registration::{Registration, write_registration};
pub use rounding::{plan_as_written, structures_as_written};
pub use rtdose::{DoseBits, DoseFile, DoseOf, why_no_plan_dose, write_dose, write_dose_file};
pub use rtimage::write_radiograph;
pub(super) use rtplan::BEAM_DOSE_SPECIFICATION_POINT;
pub use rtplan::{plan_faults, write_plan};
pub use rtstruct::write_structures;
pub use set::{ExportOptions, ExportPart, Exported, ExportedFile, PlanDoses, check_export, export};
pub use source::StudyFacts;

use crate::DicomError;
use case::{Case, PatientInfo, derived_uid, new_uid};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an object could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("cannot write {}: {source}; choose a folder you may write to", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot write {}: {reason}", path.display())]
    Encode { path: PathBuf, reason: String },
    #[error("cannot write {}: {what}", path.display())]
    Content { path: PathBuf, what: String },
    #[error(transparent)]
    Source(DicomError),
    #[error("{} is no longer the file that was opened: open the case again, then export it", path.display())]
    Changed { path: PathBuf },
    #[error("{0}")]
    Refused(String),
    #[error("stopped")]
    Cancelled,
}

impl WriteError {
    /// Values that an object of the file at `path` may not hold.
    fn content(path: &Path, what: impl Into<String>) -> Self {
        Self::Content {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

/// References of a new object to its patient, study, frame and plan.
#[derive(Clone, Debug, Default)]
pub struct Belonging {
    pub patient: PatientInfo,
    pub study: StudyFacts,
    /// Frame of reference; empty where unknown.
    pub frame_of_reference_uid: String,
    /// The structure set a plan was made on.
    pub structure_set_uid: Option<String>,
    /// The plan of a dose.
    pub plan_uid: Option<String>,
    /// The plan from which a plan was derived.
    pub source_plan_uid: Option<String>,
    /// Number of the plan's fraction group where it is not 1.
    pub fraction_group: Option<u32>,
    /// The label of a plan, where the label made of its name is another plan's.
    pub plan_label: Option<String>,
}

impl Belonging {
    /// References of objects made for a case: study and frame of its CT, its structure set and first plan.
    pub fn new(case: &Case) -> Self {
        let ct = case.ct.as_ref();
        let frame = ct.map_or_else(
            || case.structures.frame_of_reference_uid.clone(),
            |ct| ct.frame_of_reference_uid.clone(),
        );
        Self {
            patient: patient_of(case),
            study: StudyFacts {
                uid: ct
                    .map(|ct| ct.study_uid.clone())
                    .filter(|uid| !uid.is_empty())
                    .unwrap_or_else(new_uid),
                ..StudyFacts::default()
            },
            frame_of_reference_uid: if frame.is_empty() { new_uid() } else { frame },
            structure_set_uid: case.structures.uid.clone(),
            plan_uid: case.plans.first().and_then(|p| p.uid.clone()),
            source_plan_uid: None,
            fraction_group: None,
            plan_label: None,
        }
    }
}

/// The patient of a case. Objects of an image that is no DICOM series, and that states none, bear the image's name: systems
/// refuse an empty name, or put all such objects into one patient.
fn patient_of(case: &Case) -> PatientInfo {
    let patient = case.patient.clone();
    let Some(ct) = case
        .ct
        .as_ref()
        .filter(|ct| ct.files.is_empty() && ct.plane_uids.is_empty())
    else {
        return patient;
    };
    if !patient.name.trim().is_empty() {
        return patient;
    }
    let id = match patient.id.trim() {
        "" => {
            let uid = derived_uid(&format!("{} patient", case.source));
            format!("BEAMSIGHT-{}", &uid[uid.len().saturating_sub(10)..])
        }
        id => id.to_owned(),
    };
    let stem = data_set::shortened(ct.description.trim(), 40).replace(['^', '='], " ");
    let name = if stem.is_empty() { id.clone() } else { stem };
    PatientInfo {
        name,
        id,
        ..patient
    }
}

#[cfg(test)]
mod tests;
