//! Gamma of two doses.

use beamsight::engine::gamma::{Criterion, GammaRequest, gamma};
use beamsight::engine::{Compute, JobControl};
use beamsight::geometry::Volume;
use std::sync::Arc;

/// Voxels (above 10 % of the maximum) that pass 1 %/1 mm, global, percent.
pub fn passing(reference: Arc<Volume<f32>>, evaluated: Arc<Volume<f32>>) -> f64 {
    let request = GammaRequest::new(reference, evaluated, vec![Criterion::global(1.0, 1.0)]);
    let result = gamma(&request, &Compute::Cpu, &JobControl::new()).expect("gamma");
    result.maps[0].counts.pass_rate_percent()
}
