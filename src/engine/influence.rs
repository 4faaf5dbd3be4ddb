//! Influence of beamlets: the columns of inverse planning.

use super::dispatch::{HasReceipt, answer, no_form};
use super::jobs::cccs::DoseError;
pub use super::jobs::influence::{BeamletDoses, InfluenceRequest};
use super::{Compute, JobControl, cpu, cuda};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for BeamletDoses {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// The doses of the beamlets of a beam at sampled voxels.
///
/// # Errors
/// [`DoseError`]: no photon beam, a beam without a map or one that turns, a grid that is uneven or lies outside the patient, or the job
/// was cancelled.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<BeamletDoses, DoseError> {
    answer(
        device,
        |card| cuda::influence::beamlet_doses(request, card, control),
        no_form("the influence of beamlets"),
        || cpu::influence::beamlet_doses(request, control),
    )
}
