//! Digitally reconstructed radiographs.

use super::dispatch::{Answer, answer, no_form};
use super::jobs::drr::Rays;
pub use super::jobs::drr::{Drr, DrrError, DrrRequest, Integrator, Pixels, Region, Spread};
use super::{Compute, JobControl, cpu, cuda};
use case::Receipt;
use std::sync::Arc;

impl Answer for (Vec<f32>, Receipt) {
    fn receipt(&mut self) -> &mut Receipt {
        &mut self.1
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`DrrError`]; cancelled among them.
pub fn drr(request: &DrrRequest, device: &Compute, control: &JobControl) -> Result<Drr, DrrError> {
    let rays = Rays::new(request, control.cache())?;
    let on_card = |card: &cuda::Device| cuda::drr::integrals(&rays, card, control);
    let (integrals, mut receipt) =
        answer(device, on_card, no_form("a DRR"), || cpu::drr::integrals(&rays, control))?;
    receipt.warnings.extend(rays.warnings());
    Ok(Drr { integrals, indices: rays.indices, receipt: Arc::new(receipt) })
}
