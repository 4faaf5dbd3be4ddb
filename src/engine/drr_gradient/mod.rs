//! DRRs and their gradient by pose: for the pose search, and whole for other searches.

pub mod cpu;
pub mod cuda;
mod exact;
pub(crate) mod information;
pub(crate) mod level;
pub(crate) mod rank;
pub(crate) mod selftest;
pub(crate) mod sums;

pub use information::Information;
pub use level::{AXES, Compared, DrrWithGradient, Level, numbers, pose_of};
pub use rank::Rank;
pub use sums::{CorrelationAtPose, Features, Sums};

use crate::dispatch::{HasReceipt, answer, no_form};
use crate::{Cancelled, Compute, Digest, JobControl};
use case::{Pose, Receipt};
use cuda::LevelOnCard;
use geometry::Projection;
use glam::DVec3;
use std::sync::Arc;
use std::time::Instant;

/// A radiograph with its gradient, and which device made it.
#[derive(Clone, Debug)]
pub struct GradientAnswer {
    pub drr: DrrWithGradient,
    pub receipt: Arc<Receipt>,
}

impl HasReceipt for GradientAnswer {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// How rays go through the attenuation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RaySampling {
    /// From face to face: exact derivatives of the image, to rounding. On the CPU.
    #[default]
    Exact,
    /// In steps, as in the pose search: derivatives of smooth sums of pixels are right to 1 %, of single pixels they are not. Half the
    /// smallest side of the level's voxels where no step is given.
    Steps { step_mm: Option<f64> },
}

/// All pixels of a radiograph of the patient in `pose` about `centre_mm` (patient LPS, mm), row by row, with their derivatives by
/// the numbers of the pose. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`Cancelled`].
pub fn drr_with_gradient(
    level: &Arc<Level>,
    projection: &Projection,
    sampling: RaySampling,
    pose: &Pose,
    centre_mm: DVec3,
    device: &Compute,
    control: &JobControl,
) -> Result<GradientAnswer, Cancelled> {
    let start = Instant::now();
    let pixels: Vec<u32> = (0..projection.pixels() as u32).collect();
    let (shot, motion) = (
        level.shot(projection, pose, centre_mm),
        level.motion(projection, pose, centre_mm),
    );
    let mut digest = Digest::default();
    digest.add_values(level.values());
    digest.add_bytes(
        format!(
            "{shot:?} {motion:?} {:?} {} {sampling:?}",
            level.size(),
            pixels.len()
        )
        .as_bytes(),
    );
    let gradient_answer = |drr: DrrWithGradient, device: String| GradientAnswer {
        receipt: Arc::new(Receipt {
            job: "drr_gradient".to_owned(),
            digest: digest.to_string(),
            device,
            phases_ms: vec![("all".to_owned(), start.elapsed().as_secs_f64() * 1000.0)],
            work: pixels.len() as u64,
            ..Receipt::default()
        }),
        drr,
    };
    let RaySampling::Steps { step_mm } = sampling else {
        let drr = exact::with_gradient(level, &shot, &motion, &pixels, control)?;
        return Ok(gradient_answer(drr, Compute::Cpu.to_string()));
    };
    let step_mm = step_mm.unwrap_or(0.5 * level.side_mm());
    answer(
        device,
        |card| {
            let views = [(*projection, pixels.as_slice())];
            let scene = LevelOnCard::prepare(card, level, &views, centre_mm, step_mm, None)?;
            Ok::<_, crate::CudaError>(gradient_answer(
                scene.with_gradient(card, pose, control)?,
                card.card().to_string(),
            ))
        },
        no_form("a radiograph's gradient"),
        || {
            let drr = cpu::with_gradient(level, &shot, &motion, &pixels, step_mm, control)?;
            Ok(gradient_answer(drr, Compute::Cpu.to_string()))
        },
    )
}

#[cfg(test)]
mod tests;
