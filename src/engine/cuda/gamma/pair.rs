//! Grids, criterion and threshold of a request as the gamma kernels read them.

use crate::engine::cuda::int;
use crate::engine::jobs::gamma::{Checked, Criterion, GammaRequest, HULL_MM, Layers, Locate, ROUNDING};
use bytemuck::{Pod, Zeroable};

/// `struct Pair` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Pair {
    first: [f64; 3],
    step_i: [f64; 3],
    step_j: [f64; 3],
    normal: [f64; 3],
    pub spacing: [f64; 2],
    per_spacing: [f64; 2],
    per_plane: f64,
    hull: f64,
    reference_size: [i32; 3],
    pub size: [i32; 3],
}

/// `struct Criterion` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Limits {
    per_mm: f32,
    per_gy: f32,
    most: f32,
    rounding: f32,
    most_per_gy: f32,
    per_side: [f32; 2],
    local: i32,
}

pub fn pair(request: &GammaRequest, layers: &Layers) -> Pair {
    let (reference, values) = (request.reference.grid(), layers.values.grid());
    let locate = Locate::new(reference, layers);
    let planes = values.planes_mm();
    let last = planes[planes.len() - 1];
    let spacing = values.spacing_xy_mm();
    Pair {
        first: locate.first_mm.to_array(),
        step_i: locate.steps_mm[0].to_array(),
        step_j: locate.steps_mm[1].to_array(),
        normal: locate.normal.to_array(),
        spacing,
        per_spacing: spacing.map(f64::recip),
        per_plane: if last > 0.0 { (planes.len() - 1) as f64 / last } else { 1.0 },
        hull: HULL_MM,
        reference_size: reference.size().map(int),
        size: values.size().map(int),
    }
}

pub fn limits(
    request: &GammaRequest,
    checked: Checked,
    criterion: &Criterion,
    spacing_mm: [f64; 2],
) -> Limits {
    Limits {
        per_mm: (1.0 / criterion.dta_mm) as f32,
        per_gy: match criterion.local {
            // Of a reference dose of 1 Gy.
            true => (100.0 / criterion.dose_percent) as f32,
            false => (1.0 / criterion.dose_gy(checked.normalisation_gy, 0.0)) as f32,
        },
        most: request.max_gamma.map_or(f32::INFINITY, |most| most * most),
        rounding: ROUNDING,
        most_per_gy: (1.0 / criterion.least_gy(checked.normalisation_gy)) as f32,
        per_side: spacing_mm.map(|step| (criterion.dta_mm / step) as f32),
        local: i32::from(criterion.local),
    }
}

/// The least 32-bit number that is not below the threshold: a dose reaches both or neither.
pub fn threshold(gy: f64) -> f32 {
    let near = gy as f32;
    if f64::from(near) < gy { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_doses_reach_a_threshold_in_32_bits() {
        for gy in [0.0, 0.1, 0.7, 6.0, 7.1] {
            let t = threshold(gy);
            assert!(f64::from(t) >= gy && (gy == 0.0 || f64::from(t.next_down()) < gy), "{gy}");
        }
    }
}
