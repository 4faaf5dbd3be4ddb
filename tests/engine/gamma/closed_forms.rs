//! Pairs of doses whose gamma has a closed form. Allowed errors: 1e-3 of gamma.

use super::phantom::{dose, even, everywhere, on_cpu};
use beamsight::engine::gamma::{Criterion, Dims, GammaRequest};
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

const ALLOWED: f64 = 1e-3;

fn box_grid() -> Arc<Grid> {
    even(DVec3::splat(-20.0), DVec3::new(2.0, 2.5, 3.0), [21, 17, 15])
}

/// Worst difference from the expected value over voxels at least `margin_mm` from the faces of the grid.
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

/// Two planes in dose-distance space a height `d` apart of slope `g` (each in units of the criterion): `d /
/// sqrt(1 + g^2)`, for any direction of the slope.
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

/// A step of height `h` (criteria) on a ramp one voxel wide, moved by `d`: where the reference is already
/// high and the evaluated dose still low, the foot of the perpendicular to the ramp is nearest, at `way * g /
/// sqrt(1 + g^2)` with `way` to the ramp's top and `g` its slope.
#[test]
fn a_step_shifted() {
    let grid = even(DVec3::splat(-20.0), DVec3::new(1.0, 2.0, 2.0), [61, 12, 12]);
    let step = |at: f64| move |p: DVec3| if p.x >= at - 1e-9 { 2.0 } else { 1.0 };
    let (a, b) = (dose(&grid, step(0.0)), dose(&grid, step(4.0)));
    let result = on_cpu(&everywhere(&a, &b, &[Criterion::global(3.0, 3.0)]));
    let height = 1.0 / (0.03 * 2.0);
    let g = height / (1.0 / 3.0);
    let want = |p: DVec3| {
        if (-1e-9..4.0 - 1e-9).contains(&p.x) {
            (4.0 - p.x) / 3.0 * g / (1.0_f64 + g * g).sqrt()
        } else {
            0.0
        }
    };
    let off = worst(&result.maps[0].gamma, 0.0, want);
    assert!(off < ALLOWED, "{off}");
    // With swapped doses the reference is still low: the nearest point is the ramp's foot, one voxel further
    // up.
    let back = on_cpu(&everywhere(&b, &a, &[Criterion::global(3.0, 3.0)]));
    let want = |p: DVec3| {
        if (-1e-9..4.0 - 1e-9).contains(&p.x) { (p.x + 1.0) / 3.0 * g / (1.0 + g * g).sqrt() } else { 0.0 }
    };
    let off = worst(&back.maps[0].gamma, 0.0, want);
    assert!(off < ALLOWED, "swapped: {off}");
}

/// A linear dose scaled by `s`: the plane `s D` seen from a point of dose `D` is `(s - 1) D` away in dose, of slope `s g`.
#[test]
fn a_dose_scaled() {
    let slope = DVec3::new(0.03, 0.01, -0.02);
    let a = dose(&box_grid(), |p| 4.0 + slope.dot(p));
    let b = dose(&box_grid(), |p| 1.02 * (4.0 + slope.dot(p)));
    for local in [false, true] {
        let criterion = Criterion { local, ..Criterion::global(2.0, 3.0) };
        let result = on_cpu(&everywhere(&a, &b, &[criterion]));
        let want = |p: DVec3| {
            let gy = 4.0 + slope.dot(p);
            let unit_gy = criterion.dose_gy(result.normalisation_gy, gy);
            let g = 1.02 * slope.length() * 3.0 / unit_gy;
            0.02 * gy / unit_gy / (1.0 + g * g).sqrt()
        };
        let off = worst(&result.maps[0].gamma, 6.0, want);
        assert!(off < ALLOWED, "local {local}: {off}");
    }
}

/// The evaluated dose peaks on its own plane, between two planes of the reference: resampled onto the
/// reference's planes first it would have lost the peak. The reference is equally high on its own plane
/// half-way.
#[test]
fn a_peak_between_two_planes_of_an_offset_grid() {
    let tent = |p: DVec3| (2.0 - (p.z - 1.0).abs() * 0.5).max(0.0);
    let evaluated = dose(&even(DVec3::new(-20.0, -20.0, -7.0), DVec3::new(2.0, 2.0, 2.0), [21, 21, 9]), tent);
    // A single plane at the height of the peak, and planes that miss it by 1 mm on either side.
    for z in [1.0, 0.0, 2.0] {
        let plane = Arc::new(
            Grid::new(DVec3::new(-10.0, -10.0, z), DVec3::X, DVec3::Y, [2.5, 2.5], [9, 9], &[0.0]).unwrap(),
        );
        let reference = dose(&plane, tent);
        let result = on_cpu(&everywhere(&reference, &evaluated, &[Criterion::global(1.0, 1.0)]));
        let most = result.maps[0].gamma.data().iter().copied().fold(0.0, f32::max);
        assert!(most < 1e-5, "plane {z}: {most}");
    }
    // The reference has 2 Gy, the peak's dose, on planes 1 mm off: the peak is 1 mm away, on the slopes of 0.5 Gy/mm.
    let planes = dose(&even(DVec3::new(-10.0, -10.0, 0.0), DVec3::new(2.5, 2.5, 2.0), [9, 9, 2]), |_| 2.0);
    let result = on_cpu(&everywhere(&planes, &evaluated, &[Criterion::global(3.0, 3.0)]));
    let g = 0.5 * 3.0 / (0.03 * 2.0);
    let want = 1.0 / 3.0 * g / (1.0_f64 + g * g).sqrt();
    let off = worst(&result.maps[0].gamma, 0.0, |_| want);
    assert!(off < ALLOWED, "{off} of {want}");
}

/// In a plane the slope along z does not count; slices of a volume are searched separately.
#[test]
fn in_the_plane_only_the_slope_in_the_plane_counts() {
    let slope = DVec3::new(0.02, 0.0, 0.05);
    let a = dose(&box_grid(), |p| 4.0 + slope.dot(p));
    let b = dose(&box_grid(), |p| 4.05 + slope.dot(p));
    let request = GammaRequest { dims: Dims::Slices, ..everywhere(&a, &b, &[Criterion::global(3.0, 3.0)]) };
    let result = on_cpu(&request);
    let unit_gy = 0.03 * result.normalisation_gy;
    let g = slope.x * 3.0 / unit_gy;
    let off = worst(&result.maps[0].gamma, 4.0, |_| 0.05 / unit_gy / (1.0_f64 + g * g).sqrt());
    assert!(result.flat && off < ALLOWED, "{off}");
    // An evaluated volume whose planes lie between those of the reference is interpolated onto them, exactly for a linear dose.
    let between = even(DVec3::new(-20.0, -20.0, -21.3), DVec3::new(2.0, 2.5, 2.8), [21, 17, 18]);
    let b = dose(&between, |p| 4.05 + slope.dot(p));
    let result = on_cpu(&GammaRequest { evaluated: b, ..request });
    let off = worst(&result.maps[0].gamma, 4.0, |_| 0.05 / unit_gy / (1.0_f64 + g * g).sqrt());
    assert!(off < ALLOWED, "between: {off}");
}
