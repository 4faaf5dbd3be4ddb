//! Errors of dose engines.

use crate::Cancelled;
use geometry::GridError;
use physics::FluenceError;
use thiserror::Error;

/// Why there is no dose.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DoseError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error(transparent)]
    Fluence(#[from] FluenceError),
    #[error("beam '{beam}' is not computed: {why}")]
    Beam { beam: String, why: String },
    #[error(
        "machine '{machine}' gives no dose at its own reference condition: check [calibration] in its file"
    )]
    Calibration { machine: String },
    #[error("machine '{machine}': {why}; no history was run")]
    Spectrum { machine: String, why: String },
    #[error("the dose grid's planes are uneven: choose an evenly spaced dose grid")]
    UnevenGrid,
    #[error("the dose grid has no voxel inside the patient: move it onto the body")]
    OutsidePatient,
    #[error(
        "the dose grid needs {voxels} voxels with the patient around it, more than {most}: choose a coarser spacing"
    )]
    TooLarge { voxels: usize, most: usize },
    #[error(transparent)]
    Grid(#[from] GridError),
}
