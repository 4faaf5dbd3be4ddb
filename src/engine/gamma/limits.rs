//! Criterion, threshold and planes of a request as the kernels of every card read them.

use super::{Checked, Criterion, GammaRequest, ROUNDING};
use bytemuck::{Pod, Zeroable};
use geometry::Grid;

/// `struct Criterion` of `kernels/gamma_search.cuh` and `struct Limits` of `kernels/engine_gamma_point.wgsl`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Limits {
    /// 1 / DTA.
    pub per_mm: f32,
    per_gy: f32,
    /// Squared gamma to stop at.
    pub most: f32,
    rounding: f32,
    most_per_gy: f32,
    per_side: [f32; 2],
    local: i32,
}

impl Limits {
    pub fn new(
        request: &GammaRequest,
        checked: Checked,
        criterion: &Criterion,
        spacing_mm: [f64; 2],
    ) -> Self {
        Self {
            per_mm: (1.0 / criterion.dta_mm) as f32,
            per_gy: match criterion.local {
                // Of a reference dose of 1 Gy.
                true => (100.0 / criterion.dose_percent) as f32,
                false => (1.0 / criterion.dose_gy(checked.normalisation_gy, 0.0)) as f32,
            },
            most: request
                .max_gamma
                .map_or(f32::INFINITY, |max_gamma| max_gamma * max_gamma),
            rounding: ROUNDING,
            most_per_gy: (1.0 / criterion.least_gy(checked.normalisation_gy)) as f32,
            per_side: spacing_mm.map(|step| (criterion.dta_mm / step) as f32),
            local: i32::from(criterion.local),
        }
    }
}

/// The least 32-bit number that is not below the threshold: a dose reaches both or neither.
pub fn threshold(gy: f64) -> f32 {
    let near = gy as f32;
    if f64::from(near) < gy {
        near.next_up()
    } else {
        near
    }
}

/// Mean number of planes for each mm, with which the search for a height begins.
pub fn planes_per_mm(grid: &Grid) -> f64 {
    let planes = grid.planes_mm();
    let last = planes[planes.len() - 1];
    if last > 0.0 {
        (planes.len() - 1) as f64 / last
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_doses_reach_a_threshold_in_32_bits() {
        for gy in [0.0, 0.1, 0.7, 6.0, 7.1] {
            let t = threshold(gy);
            assert!(
                f64::from(t) >= gy && (gy == 0.0 || f64::from(t.next_down()) < gy),
                "{gy}"
            );
        }
    }
}
