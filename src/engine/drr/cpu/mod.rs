//! Line integrals on the CPU.

mod block;
#[cfg(target_arch = "x86_64")]
mod eight;
mod exact;
mod trilinear;

use crate::JobControl;
use crate::cache::Cache;
use crate::drr::rays::{Image, Rays};
use crate::drr::request::DrrError;
use case::Receipt;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Pixels that a thread takes at a time.
const CHUNK: usize = 512;

/// How the rays of an image are followed.
enum Integration<'a> {
    /// Nothing but air.
    None,
    Exact(exact::Walk<'a>),
    Trilinear(Box<trilinear::Trilinear<'a>>),
}

impl<'a> Integration<'a> {
    fn new(rays: &'a Rays, image: &'a Image, cache: &Cache) -> Self {
        match rays.step_mm {
            None => Self::Exact(exact::Walk::new(rays, image)),
            Some(step_mm) => {
                let march = trilinear::Trilinear::new(rays, image, step_mm, cache);
                march.map_or(Self::None, |march| Self::Trilinear(Box::new(march)))
            }
        }
    }
}

/// Evicts the cached images in pairs of voxels.
pub fn forget_pairs(cache: &Cache) {
    cache.forget::<block::Pairs>();
}

/// The line integrals of all rays, image after image, with a receipt.
pub fn integrals(rays: &Rays, control: &JobControl) -> Result<(Vec<f32>, Receipt), DrrError> {
    let start = Instant::now();
    let mut integrals = vec![0.0; rays.count()];
    let done = AtomicUsize::new(0);
    for (image, out) in rays
        .images
        .iter()
        .zip(integrals.chunks_mut(rays.indices.len()))
    {
        let way = Integration::new(rays, image, control.cache());
        rays.indices
            .par_chunks(CHUNK)
            .zip(out.par_chunks_mut(CHUNK))
            .try_for_each(|(pixels, out)| {
                control.check()?;
                match &way {
                    Integration::None => out.fill(0.0),
                    Integration::Exact(walk) => walk.fill(pixels, out),
                    Integration::Trilinear(march) => march.fill(pixels, out),
                }
                let done = done.fetch_add(out.len(), Ordering::Relaxed) + out.len();
                control.report(done as f32 / rays.count() as f32);
                Ok::<_, DrrError>(())
            })?;
    }
    let receipt = Receipt {
        job: "drr".to_owned(),
        digest: rays.digest(control.cache()),
        device: format!("cpu ({} threads)", rayon::current_num_threads()),
        phases_ms: vec![("integrate".to_owned(), start.elapsed().as_secs_f64() * 1e3)],
        warnings: Vec::new(),
        work: rays.count() as u64,
    };
    Ok((integrals, receipt))
}
