//! Case <-> DICOM, one file per IOD.

mod assemble;
mod catalogue;
mod codestream;
mod contour_places;
mod ct;
mod error;
mod object;
mod phases;
mod pixels;
mod planes;
mod radiograph;
mod rtbeam;
mod rtdose;
mod rtimage;
mod rtplan;
mod rtpoints;
mod rtstruct;
mod source;
mod transfer;
mod walk;
mod write;

pub use assemble::{Choice, load};
pub use catalogue::{Catalogue, Entry, Image, Series, Unreadable, read_patient, scan};
pub use ct::read_ct;
pub use error::DicomError;
pub use object::AttributeError;
pub use radiograph::{read_placement, read_radiograph};
pub use rtdose::read_dose;
pub use rtplan::read_plan;
pub use rtstruct::read_structures;
pub use transfer::{
    Identifier, SYNTAXES, ToSend, Transferable, Unsent, file_head, transferable, transferables,
};
pub use write::{
    Belonging, DoseBits, DoseFile, DoseOf, ExportOptions, ExportPart, Exported, ExportedFile, PlanDoses,
    Registration, StudyFacts, WriteError, check_export, export, is_export_file, now, plan_as_written,
    plan_faults, structures_as_written, why_no_plan_dose, write_ct, write_dose, write_dose_file, write_plan,
    write_radiograph, write_registration, write_structures,
};

pub use crate::geometry::Progress;
