//! Dose of a beam or a plan: request, answer, errors, grids and the patient on them, for every engine.

mod clock;
mod error;
mod grid;
pub(crate) mod lattice;
pub(crate) mod medium;
mod quality;
mod request;

pub(crate) use clock::{Clock, add_phase, receipt};
pub use error::DoseError;
pub use grid::{dose_grid, matter_box};
pub use quality::{DoseTo, Quality};
pub use request::{BeamDose, DoseRequest};
pub(crate) use request::{check, digest, frame_of};
