//! Digitally reconstructed radiographs.

pub mod bench;
pub(crate) mod content;
pub mod cpu;
pub mod cuda;
mod pixels;
pub(crate) mod rays;
mod request;
pub(crate) mod selftest;
mod space;

use crate::cache::Cache;
use crate::cuda::Device;
use crate::dispatch::{HasReceipt, answer, no_form};
use crate::drr_gradient::level::Level;
use crate::{Compute, JobControl};
use case::Receipt;
use content::Content;
pub use pixels::{Pixels, Region, Spread};
use rays::Rays;
pub use request::{Drr, DrrError, DrrRequest, Integrator};
use std::sync::Arc;

impl HasReceipt for (Vec<f32>, Receipt) {
    fn receipt(&mut self) -> &mut Receipt {
        &mut self.1
    }
}

/// Evicts the images that DRRs leave in the cache: the X-rays are gone, and pairs of voxels take twice the memory of their CT.
pub fn forget_images(cache: &Cache) {
    cpu::forget_pairs(cache);
    cache.forget::<Content>();
    cache.forget::<Level>();
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`DrrError`]; cancelled among them.
pub fn drr(request: &DrrRequest, device: &Compute, control: &JobControl) -> Result<Drr, DrrError> {
    let rays = Rays::new(request, control.cache())?;
    let (integrals, mut receipt) = answer(
        device,
        |card: &Device| cuda::integrals(&rays, card, control),
        no_form("a DRR"),
        || cpu::integrals(&rays, control),
    )?;
    receipt.warnings.extend(rays.warnings());
    Ok(Drr {
        integrals,
        indices: rays.indices,
        receipt: Arc::new(receipt),
    })
}
