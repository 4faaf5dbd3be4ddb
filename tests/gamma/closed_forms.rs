//! Pairs whose gamma is known on paper. Errors allowed: 1e-3 of gamma.

use crate::phantom::{dose, even, everywhere, on_cpu};
use beamsight::engine::gamma::Criterion;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

const ALLOWED: f64 = 1e-3;

fn box_grid() -> Arc<Grid> {
    even(DVec3::splat(-20.0), DVec3::new(2.0, 2.5, 3.0), [21, 17, 15])
}

/// Worst difference from what is wanted over voxels at least `margin_mm` from the faces of the grid.
fn worst(gamma: &Volume<f32>, margin_mm: f64, want: impl Fn(DVec3) -> f64) -> f64 {
    let grid = gamma.grid();
    let [nx, ny, nz] = grid.size();
    let high = grid.local_centre_mm(nx - 1, ny - 1, nz - 1);
    let mut worst = 0.0_f64;
    let mut seen = 0;
    for (n, value) in gamma.data().iter().enumerate() {
        let (i, j, k) = (n % nx, n / nx % ny, n / (nx * ny));
        let local = grid.local_centre_mm(i, j, k);
        if local.min_element() >= margin_mm && (high - local).min_element() >= margin_mm {
            worst = worst.max((f64::from(*value) - want(grid.centre_mm(i, j, k))).abs());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} voxels");
    worst
}

#[test]
fn a_dose_is_nothing_from_itself() {
    let a = dose(&box_grid(), |p| 2.0 + (0.1 * p.x).sin() * (0.2 * p.y).cos());
    let result = on_cpu(&everywhere(&a, &a, &[Criterion::global(3.0, 3.0)]));
    assert!(result.maps[0].gamma.data().iter().all(|g| *g == 0.0));
    assert_eq!(result.maps[0].counts.passing, a.data().len());
}

/// A uniform dose raised by a fraction of itself: gamma is that fraction over the criterion, everywhere.
#[test]
fn a_uniform_offset() {
    let a = dose(&box_grid(), |_| 2.0);
    for percent in [0.3, 2.0, 3.0, 7.5] {
        let b = dose(&box_grid(), |_| 2.0 * (1.0 + 0.01 * percent));
        let result = on_cpu(&everywhere(&a, &b, &[Criterion::global(3.0, 3.0)]));
        let off = worst(&result.maps[0].gamma, 0.0, |_| percent / 3.0);
        assert!(off < 1e-5, "{percent} %: {off}");
        let passes = if percent <= 3.0 { a.data().len() } else { 0 };
        assert_eq!(result.maps[0].counts.passing, passes, "{percent} %");
    }
}

/// Two planes in dose-distance space a height `d` apart of slope `g` (each in units of the criterion):
/// `d / sqrt(1 + g^2)`, whatever the direction of the slope.
#[test]
fn a_linear_gradient_shifted() {
    for slope in [DVec3::X, DVec3::new(0.6, -0.8, 0.0), DVec3::new(0.5, 0.7, -0.4)] {
        let slope = 0.02 * slope.normalize();
        let shift = DVec3::new(1.3, 0.4, -0.7);
        let a = dose(&box_grid(), |p| 2.0 + slope.dot(p));
        let b = dose(&box_grid(), |p| 2.0 + slope.dot(p - shift));
        let most = a.data().iter().copied().fold(0.0, f32::max);
        for (percent, dta_mm) in [(3.0, 3.0), (2.0, 2.0), (1.0, 5.0)] {
            let unit_gy = 0.01 * percent * f64::from(most);
            let g = slope.length() * dta_mm / unit_gy;
            let want = slope.dot(shift).abs() / unit_gy / (1.0 + g * g).sqrt();
            let result = on_cpu(&everywhere(&a, &b, &[Criterion::global(percent, dta_mm)]));
            let off = worst(&result.maps[0].gamma, 2.0 * dta_mm, |_| want);
            assert!(off < ALLOWED, "{percent} %/{dta_mm} mm along {slope}: {off} of {want}");
        }
    }
}
