//! Digitally reconstructed radiographs.

use super::cache::Cache;
use super::dispatch::{HasReceipt, answer, no_form};
use super::jobs::drr::Rays;
use super::jobs::drr::content::Content;
pub use super::jobs::drr::{Drr, DrrError, DrrRequest, Integrator, Pixels, Region, Spread};
use super::jobs::drr_gradient::Level;
use super::{Compute, JobControl, cpu, cuda};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for (Vec<f32>, Receipt) {
    fn receipt(&mut self) -> &mut Receipt {
        &mut self.1
    }
}

/// Evicts the images that DRRs leave in the cache: the X-rays are gone, and pairs of voxels take twice the memory of their CT.
pub fn forget_images(cache: &Cache) {
    cpu::drr::forget_pairs(cache);
    cache.forget::<Content>();
    cache.forget::<Level>();
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
