//! Synthetic doses.

use beamsight::engine::gamma::{Criterion, GammaRequest, GammaResult, gamma};
use beamsight::engine::{Compute, JobControl, Random};
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

/// An even grid along the patient axes.
pub fn even(origin_mm: DVec3, spacing_mm: DVec3, size: [usize; 3]) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(origin_mm, spacing_mm, size).unwrap())
}

/// A dose in Gy, from the patient position of each voxel.
pub fn dose(grid: &Arc<Grid>, gy: impl Fn(DVec3) -> f64) -> Arc<Volume<f32>> {
    let [nx, ny, _] = grid.size();
    let at = |n: usize| gy(grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny))) as f32;
    Arc::new(Volume::new(
        Arc::clone(grid),
        (0..grid.len()).map(at).collect(),
    ))
}

/// Every voxel, no threshold.
pub fn everywhere(
    reference: &Arc<Volume<f32>>,
    evaluated: &Arc<Volume<f32>>,
    criteria: &[Criterion],
) -> GammaRequest {
    let request = GammaRequest::new(
        Arc::clone(reference),
        Arc::clone(evaluated),
        criteria.to_vec(),
    );
    GammaRequest {
        threshold_percent: 0.0,
        ..request
    }
}

pub fn on_cpu(request: &GammaRequest) -> GammaResult {
    gamma(request, &Compute::Cpu, &JobControl::new()).unwrap()
}

/// Smooth dose with noise: no closed form, but every kind of nearest point.
pub fn rough(grid: &Arc<Grid>, seed: u64, noise: f64) -> Arc<Volume<f32>> {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..grid.len()).map(|_| random.unit()).collect();
    let [nx, ny, _] = grid.size();
    let middle = grid.middle_mm();
    let at = |n: usize| {
        let p = grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny)) - middle;
        2.0 * (-p.length_squared() / 400.0).exp() + noise * values[n]
    };
    Arc::new(Volume::new(
        Arc::clone(grid),
        (0..grid.len()).map(|n| at(n) as f32).collect(),
    ))
}
