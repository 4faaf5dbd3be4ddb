//! Digitally reconstructed radiographs: request and answer.
//!
//! A pixel is the line integral of the attenuation along the ray from the source to the pixel's centre, no further:
//! matter behind the source or beyond the image does not count (Tornai 2012, section II.B).

use super::pixels::{Pixels, Region};
use crate::Cancelled;
use case::{Pose, Receipt};
use geometry::{Projection, Volume};
use glam::DVec3;
use std::sync::Arc;
use thiserror::Error;

/// How attenuation is summed along a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// Length times attenuation over the voxels passed, boxes of one value: the reference.
    Exact,
    /// Attenuation between voxel centres trilinear (constant in the outer half of the outermost voxels), the ray's way
    /// through the box of voxels cut into equal steps of `step_mm` at most and sampled in the middle of each: what is
    /// left over of the last step is shared by all, so that a ray and its reverse have the same integral, and the error
    /// falls with the square of the step. `None` is half the smallest side of a voxel.
    Trilinear { step_mm: Option<f64> },
    /// As trilinear, on a card through its texture filter: texels of 16 bits, weights of 8. For pictures and searches; on
    /// the CPU it is [`Integrator::Trilinear`].
    Texture { step_mm: Option<f64> },
}

impl Integrator {
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Trilinear { .. } => "trilinear",
            Self::Texture { .. } => "texture",
        }
    }
}

/// Asks for the line integrals of `attenuation` from the projection's source to its pixels, for one or many poses of
/// the patient.
#[derive(Clone, Debug)]
pub struct DrrRequest {
    /// Linear attenuation, 1/mm; values that are not finite count as 0.
    pub attenuation: Arc<Volume<f32>>,
    pub projection: Projection,
    /// Poses of the patient; one image each.
    pub poses: Vec<Pose>,
    /// Centre of the poses' rotation, patient LPS, mm: the isocentre as a rule.
    pub pose_centre_mm: DVec3,
    pub integrator: Integrator,
    pub pixels: Pixels,
}

/// The answer to a [`DrrRequest`].
#[derive(Clone, Debug)]
pub struct Drr {
    /// Line integrals (no unit), image after image; in each the requested pixels, in the order of `indices`.
    pub integrals: Vec<f32>,
    /// Numbers of the pixels: `row * columns + column`.
    pub indices: Arc<Vec<u32>>,
    pub receipt: Arc<Receipt>,
}

/// Why there is no image.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DrrError {
    #[error("no pose is asked for; give one (all zeros for the patient as planned)")]
    NoPose,
    #[error("the pose {0} is not six finite numbers")]
    Pose(String),
    #[error("the step is {0} mm; it must be a number above 0")]
    Step(f64),
    #[error(
        "the step is {step_mm} mm; steps of less than {least_mm:.2e} mm are not counted in this volume"
    )]
    StepTooSmall { step_mm: f64, least_mm: f64 },
    #[error(
        "the region begins at column {}, row {} and has {} x {} pixels, the image has {columns} x {rows}; choose one that \
         lies in it and is not empty",
        .region.column, .region.row, .region.columns, .region.rows
    )]
    Region {
        region: Region,
        columns: usize,
        rows: usize,
    },
    #[error("no pixel is asked for; give at least one")]
    NoPixels,
    #[error("{asked} pixels are asked for, and the region has {there}")]
    TooManyPixels { asked: usize, there: usize },
    #[error("pixel {0} is asked for, and the image has {1}")]
    NoSuchPixel(u32, usize),
    #[error(
        "{images} images of {pixels} pixels are more than memory is given; ask for fewer at a time"
    )]
    TooLarge { images: usize, pixels: usize },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
