//! Case <-> DICOM, one file per IOD.

mod assemble;
mod catalogue;
mod charset;
mod codestream;
mod contour_places;
mod ct;
mod densities;
mod error;
mod object;
mod phases;
mod pixels;
mod planes;
mod radiograph;
mod registration;
mod rotation;
mod rtbeam;
mod rtdose;
mod rtimage;
mod rtplan;
mod rtpoints;
mod rtstruct;
mod source;
mod stated;
mod transfer;
mod tree;
mod walk;
mod write;

pub use assemble::{Choice, load};
pub use catalogue::{Catalogue, Entry, Image, Series, Unreadable, read_patient, scan};
pub use ct::read_ct;
pub use error::DicomError;
pub use object::AttributeError;
pub use radiograph::{read_placement, read_radiograph};
pub use registration::read_registration;
pub use rtdose::read_dose;
pub use rtplan::read_plan;
pub use rtstruct::read_structures;
pub use source::begins_as_dicom;
pub use stated::{StatedDose, StatedPlan, read_stated_dose, read_stated_plan};
pub use transfer::{
    Identifier, SYNTAXES, ToSend, Transferable, Unsent, file_head, transferable, transferables,
};
pub use tree::{FrameBranch, Leaf, Object, Partner, PatientBranch, StudyBranch, Tree};
pub use write::{
    Anonymise, Belonging, DoseBits, DoseFile, DoseOf, ExportOptions, ExportPart, Exported,
    ExportedFile, Imaging, PlanDoses, Registration, StudyFacts, WriteError, check_export,
    date_time, export, plan_as_written, plan_faults, structures_as_written, utc_now,
    why_no_plan_dose, write_ct, write_dose, write_dose_file, write_plan, write_radiograph,
    write_registration, write_structures,
};

pub use geometry::Progress;

/// Manufacturer of what this program writes; its times are in UTC.
const OWN_MANUFACTURER: &str = "Beamsight";

#[cfg(test)]
#[path = "../../tests/common/conforms.rs"]
mod conforms;
#[cfg(test)]
#[path = "../../tests/common/skip.rs"]
mod skip;
