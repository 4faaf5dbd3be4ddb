//! Collapsed-cone convolution/superposition: the dose of a beam.

use super::dispatch::{HasReceipt, answer};
pub use super::jobs::cccs::{BeamDose, DoseError, DoseRequest, DoseTo, Quality, dose_grid, matter_box};
use super::{Compute, JobControl, cpu, cuda, wgpu};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for BeamDose {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`DoseError`]: a beam that is no photon beam or delivers nothing, a grid that is uneven or lies outside the
/// patient, or the job was cancelled.
pub fn beam_dose(
    request: &DoseRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<BeamDose, DoseError> {
    answer(
        device,
        |card| cuda::cccs::beam_dose(request, card, control),
        |card| wgpu::cccs::beam_dose(request, card, control),
        || cpu::cccs::beam_dose(request, control),
    )
}
