//! Gamma on the CPU: every point by itself, in parallel.

mod bound;
mod lattice;
mod search;
mod vertex;

use crate::gamma::{GammaError, GammaMap, GammaRequest, GammaResult, Layers, Locate, select};
use crate::{Cancelled, JobControl};
use case::Receipt;
use geometry::Volume;
use lattice::Lattice;
use rayon::prelude::*;
use search::Job;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Points that a thread takes at a time: about a ms of work.
const PART: usize = 1024;

/// Answers a request, with its receipt.
pub fn gamma(request: &GammaRequest, control: &JobControl) -> Result<GammaResult, GammaError> {
    let start = Instant::now();
    let checked = request.check(control.cache())?;
    let layers = Layers::new(request)?;
    let points = select(request, checked)?;
    control.check()?;
    let job = Job {
        request,
        normalisation_gy: checked.normalisation_gy,
        locate: Locate::new(request.reference.grid(), &layers),
        lattice: Lattice::new(&layers),
    };
    let prepared_ms = start.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    let values = search(&job, &points, control)?;
    let searched_ms = start.elapsed().as_secs_f64() * 1e3;
    let receipt = Receipt {
        job: "gamma".to_owned(),
        digest: request.digest(control.cache()),
        device: format!("cpu ({} threads)", rayon::current_num_threads()),
        phases_ms: vec![
            ("prepare".to_owned(), prepared_ms),
            ("search".to_owned(), searched_ms),
        ],
        warnings: Vec::new(),
        work: points.len() as u64,
    };
    GammaResult::new(checked, &layers, maps(request, &points, &values), receipt)
}

/// Gamma of the points, `[point][criterion]`.
fn search(job: &Job<'_>, points: &[u32], control: &JobControl) -> Result<Vec<f32>, Cancelled> {
    let criteria = job.request.criteria.len();
    let mut values = vec![0.0; points.len() * criteria];
    let done = AtomicUsize::new(0);
    values
        .par_chunks_mut(PART * criteria)
        .zip(points.par_chunks(PART))
        .try_for_each(|(out, part)| {
            control.check()?;
            job.part(part, out);
            let done = done.fetch_add(part.len(), Ordering::Relaxed) + part.len();
            control.report(done as f32 / points.len() as f32);
            Ok(())
        })?;
    Ok(values)
}

/// On the reference's grid, a volume for each criterion.
fn maps(request: &GammaRequest, points: &[u32], values: &[f32]) -> Vec<GammaMap> {
    let grid = request.reference.grid();
    let criteria = request.criteria.len();
    request
        .criteria
        .par_iter()
        .enumerate()
        .map(|(n, &criterion)| {
            let mut gamma = vec![f32::NAN; grid.len()];
            for (&point, values) in points.iter().zip(values.chunks_exact(criteria)) {
                gamma[point as usize] = values[n];
            }
            GammaMap::new(criterion, Volume::new(Arc::clone(grid), gamma))
        })
        .collect()
}
