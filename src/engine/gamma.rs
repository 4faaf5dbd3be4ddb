//! Gamma index of two doses.

use super::dispatch::{HasReceipt, answer};
pub use super::jobs::gamma::{
    Checked, Counts, Criterion, Dims, GammaError, GammaMap, GammaRequest, GammaResult, Normalisation,
    OUTSIDE, Role, Subset, Surface, UNDEFINED, near_maximum,
};
use super::{Compute, JobControl, cpu, cuda, wgpu};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for GammaResult {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why. The trilinear surface is the
/// CPU's alone.
///
/// # Errors
/// [`GammaError`]: a request or doses that make no sense, doses that do not meet, nothing to analyse; cancelled.
pub fn gamma(
    request: &GammaRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<GammaResult, GammaError> {
    let device = if request.surface == Surface::Trilinear { &Compute::Cpu } else { device };
    answer(
        device,
        |card| cuda::gamma::gamma(request, card, control),
        |card| wgpu::gamma::gamma(request, card, control),
        || cpu::gamma::gamma(request, control),
    )
}
