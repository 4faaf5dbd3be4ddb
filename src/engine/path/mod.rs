//! Radiological depth.

pub(crate) mod bench;
pub mod cpu;
pub(crate) mod cuda;
pub mod degreef;
pub mod reference;
pub(crate) mod request;
pub(crate) mod selftest;
pub(crate) mod wgpu;

use crate::dispatch::{HasReceipt, answer};
use crate::{Cancelled, Compute, JobControl};
use case::Receipt;
pub use request::{DepthMap, PathRequest};
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
pub fn trace(
    request: &PathRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<DepthMap, Cancelled> {
    answer(
        device,
        |card| cuda::trace(request, card, control),
        |card| wgpu::trace(request, card, control),
        || cpu::trace(request, control),
    )
}
