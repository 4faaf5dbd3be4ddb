//! DRRs and their gradient by pose: for the pose search, and whole for other searches.

pub mod cpu;
pub mod cuda;
pub(crate) mod information;
pub(crate) mod level;
pub(crate) mod rank;
pub(crate) mod selftest;
pub(crate) mod sums;

pub use cpu::DrrWithGradient;
pub use information::Information;
pub use level::{AXES, Compared, Level, numbers, pose_of};
pub use rank::Rank;
pub use sums::{CorrelationAtPose, Features, Sums};

use crate::{Cancelled, JobControl};
use case::Pose;
use geometry::Projection;
use glam::DVec3;

/// All pixels of a radiograph of the patient in `pose` about `centre_mm` (patient LPS, mm), row by row, with their derivatives by
/// the numbers of the pose: on the CPU, along rays in steps of half the smallest side of the level's voxels.
///
/// # Errors
/// [`Cancelled`].
pub fn drr_with_gradient(
    level: &Level,
    projection: &Projection,
    pose: &Pose,
    centre_mm: DVec3,
    control: &JobControl,
) -> Result<DrrWithGradient, Cancelled> {
    let (shot, motion) = (level.shot(projection, pose, centre_mm), level.motion(projection, pose, centre_mm));
    let pixels: Vec<u32> = (0..projection.pixels() as u32).collect();
    cpu::with_gradient(level, &shot, &motion, &pixels, 0.5 * level.side_mm(), control)
}

#[cfg(test)]
mod tests;
