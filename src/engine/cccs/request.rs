//! Collapsed-cone convolution/superposition: request and answer.

use crate::Cancelled;
use crate::mccs::PartError;
use case::{Beam, DoseStatus, Receipt};
use geometry::{Grid, GridError, Volume};
use glam::DVec3;
use physics::{FluenceError, Machine, Patient};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// How many directions the kernels are collapsed onto.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// 40 directions, for a quick answer while something moves.
    Preview,
    /// 48 directions.
    Fast,
    /// 128 directions.
    Standard,
    /// 384 directions, as Xiao 2012 uses.
    #[default]
    Full,
}

impl Quality {
    /// The qualities that a planner may choose.
    pub const NAMED: [Self; 3] = [Self::Fast, Self::Standard, Self::Full];

    pub fn directions(self) -> usize {
        match self {
            Self::Preview => 40,
            Self::Fast => 48,
            Self::Standard => 128,
            Self::Full => 384,
        }
    }

    /// Steps of an arc at most, degrees: each is delivered from its middle. Edges of small fields show steps of 4 degrees
    /// (`assets/PHYSICS.md`, Assumed); an arc that has a control point each 2 degrees gets a step for each.
    pub fn arc_step_deg(self) -> f64 {
        match self {
            Self::Preview | Self::Fast | Self::Standard => 4.0,
            Self::Full => 2.5,
        }
    }

    /// Status of a dose of this quality.
    pub fn status(self) -> DoseStatus {
        match self {
            Self::Preview => DoseStatus::Preview,
            Self::Fast | Self::Standard => DoseStatus::Coarse,
            Self::Full => DoseStatus::Final,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Fast => "fast",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// The mass by which a voxel's energy is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoseTo {
    /// The voxel's own mass: dose to the medium that is there.
    #[default]
    Medium,
    /// The mass of the water that would attenuate the beam as the voxel does: dose to water.
    Water,
}

impl DoseTo {
    pub fn word(self) -> &'static str {
        match self {
            Self::Medium => "medium",
            Self::Water => "water",
        }
    }
}

/// Asks for the dose of one beam.
#[derive(Clone, Debug)]
pub struct DoseRequest {
    pub patient: Arc<Patient>,
    pub machine: Arc<Machine>,
    pub beam: Beam,
    /// Grid of the dose: evenly spaced, any orientation.
    pub grid: Arc<Grid>,
    pub quality: Quality,
    pub dose_to: DoseTo,
}

/// The answer to a [`DoseRequest`].
#[derive(Clone, Debug)]
pub struct BeamDose {
    /// Gy for the beam's monitor units (one fraction), on the grid of the request. Gy cm2 per photon fluence times
    /// the monitor units where the machine has no calibration in MU.
    pub gy: Arc<Volume<f32>>,
    pub status: DoseStatus,
    pub receipt: Arc<Receipt>,
}

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
    #[error(transparent)]
    Parts(#[from] PartError),
}

/// An evenly spaced dose grid along the axes of `image` over the box between two corners (patient LPS, mm): cubes of
/// `spacing_mm`, rounded outwards to whole voxels.
///
/// # Errors
/// [`GridError`] where the spacing is not a positive number.
pub fn dose_grid(image: &Grid, corners_mm: [DVec3; 2], spacing_mm: f64) -> Result<Grid, GridError> {
    if !(spacing_mm.is_finite() && spacing_mm > 0.0) {
        return Err(GridError::Spacing(spacing_mm));
    }
    let [a, b] = corners_mm.map(|c| image.local_from_patient(c));
    let (low, high) = (a.min(b), a.max(b));
    // A box of a whole number of voxels (but for rounding errors) keeps it.
    let size = ((high - low) / spacing_mm - 1e-6).ceil().max(DVec3::ONE);
    if !(size.is_finite() && size.max_element() < 1e5) {
        return Err(GridError::Spacing(spacing_mm));
    }
    let middle = 0.5 * (low + high);
    let first = middle - 0.5 * (size - DVec3::ONE) * spacing_mm;
    let [x, y, _] = image.axes();
    let planes: Vec<f64> = (0..size.z as usize).map(|k| k as f64 * spacing_mm).collect();
    let origin = image.patient_from_local(first);
    Grid::new(origin, x, y, [spacing_mm; 2], [size.x as usize, size.y as usize], &planes)
}

/// Corners (patient LPS, mm) of the smallest box along the image's axes that holds everything denser than
/// `threshold_g_cm3`; the whole image where nothing is.
pub fn matter_box(density_g_cm3: &Volume<f32>, threshold_g_cm3: f32) -> [DVec3; 2] {
    let grid = density_g_cm3.grid();
    let part = density_g_cm3.box_of(|v| v > threshold_g_cm3).unwrap_or_else(|| grid.size().map(|n| 0..n));
    let edges = [0, 1, 2].map(|axis| grid.edges_mm(axis));
    let low = DVec3::from([0, 1, 2].map(|axis| edges[axis][part[axis].start]));
    let high = DVec3::from([0, 1, 2].map(|axis| edges[axis][part[axis].end]));
    [grid.patient_from_local(low), grid.patient_from_local(high)]
}
