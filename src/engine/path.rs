//! Radiological depth.

use super::dispatch::{HasReceipt, answer};
pub use super::jobs::path::{DepthMap, PathRequest};
use super::{Cancelled, Compute, JobControl, cpu, cuda, wgpu};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for DepthMap {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`Cancelled`] when the job was cancelled.
pub fn trace(request: &PathRequest, device: &Compute, control: &JobControl) -> Result<DepthMap, Cancelled> {
    answer(
        device,
        |card| cuda::path::trace(request, card, control),
        |card| wgpu::path::trace(request, card, control),
        || cpu::path::trace(request, control),
    )
}
