//! Radiological depth against Siddon's sorted planes in f64 (`engine::path::reference`) in de Greef's geometries at full size: the job
//! must agree within 0.01 mm. Oblique grids, sources inside, edges and corners, and other targets are cases of the selftest.

use crate::common::cancelling::cancelled_at;
use beamsight::engine::path::cpu::{radiological_depth, radiological_depth_at};
use beamsight::engine::path::degreef::{CASES, GEOMETRIES};
use beamsight::engine::path::reference::siddon;
use beamsight::engine::{Cancelled, JobControl, Random};
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

const TOLERANCE_MM: f64 = 0.01;

/// Every `stride`-th voxel of a grid along x, y and z, from a start below the stride.
fn sparse(grid: &Grid, start: [usize; 3], stride: [usize; 3]) -> Arc<Grid> {
    let count = |a: usize| (grid.size()[a] - start[a]).div_ceil(stride[a]);
    let planes: Vec<f64> = grid
        .planes_mm()
        .iter()
        .skip(start[2])
        .step_by(stride[2])
        .copied()
        .collect();
    let [dx, dy] = grid.spacing_xy_mm();
    let first =
        grid.patient_from_local(DVec3::new(start[0] as f64 * dx, start[1] as f64 * dy, 0.0));
    let spacing = [dx * stride[0] as f64, dy * stride[1] as f64];
    let [row, column, _] = grid.axes();
    Arc::new(Grid::new(first, row, column, spacing, [count(0), count(1)], &planes).unwrap())
}

/// Largest error over a selection of voxels, mm.
fn worst(density: &Volume<f32>, source: DVec3, targets: &Arc<Grid>) -> f64 {
    let depth = radiological_depth_at(density, source, targets, &JobControl::new()).unwrap();
    let [nx, ny, nz] = targets.size();
    let mut worst = 0.0_f64;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let want = siddon(density, source, targets.centre_mm(i, j, k));
                let off = f64::from(depth.at(i, j, k)) - want;
                assert!(
                    off.abs() < TOLERANCE_MM,
                    "voxel {i} {j} {k}: {off:+} mm from {want}"
                );
                worst = worst.max(off.abs());
            }
        }
    }
    worst
}

/// Geometries A to D at full size, every case of Table III, on some thousand voxels spread over each.
#[test]
fn the_papers_geometries_and_cases() {
    for geometry in GEOMETRIES {
        for case in CASES {
            let density = geometry.density(case.resampling);
            let source = case.source_mm(density.grid().middle_mm());
            let [nx, ny, _] = density.grid().size();
            let targets = sparse(density.grid(), [nx % 7, ny % 5, 1], [nx / 13, ny / 11, 7]);
            let worst = worst(&density, source, &targets);
            println!("{}-{}: within {worst:.6} mm", geometry.name, case.name);
        }
    }
}

/// By hand: the diagonal of each cube on the line from corner to corner.
#[test]
fn along_a_diagonal_through_corners() {
    let density =
        speckle(Grid::axis_aligned(DVec3::splat(-7.5), DVec3::ONE, [16, 16, 16]).unwrap());
    let depth = radiological_depth(&density, DVec3::splat(-20.5), &JobControl::new()).unwrap();
    let by_hand: f32 = (0..5).map(|n| density.at(n, n, n)).sum::<f32>() + 0.5 * density.at(5, 5, 5);
    assert!((f64::from(depth.at(5, 5, 5)) - f64::from(by_hand) * 3.0_f64.sqrt()).abs() < 1e-5);
}

/// Density 0, 1 or 2 at random, voxel by voxel.
fn speckle(grid: Grid) -> Volume<f32> {
    let mut random = Random::new(3);
    let data = (0..grid.len())
        .map(|_| (random.unit() * 3.0).floor() as f32)
        .collect();
    Volume::new(Arc::new(grid), data)
}

/// Bit-identical for any number of threads.
#[test]
fn threads_make_no_difference() {
    let density = GEOMETRIES[3].density(4);
    let source = DVec3::new(100.0, -800.0, 30.0);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| radiological_depth(&density, source, &JobControl::new()))
            .unwrap()
    };
    assert_eq!(on(1).data(), on(3).data());
}

/// A cancelled job traces no further row.
#[test]
fn a_cancelled_trace_ends_with_the_row_in_hand() {
    let density = GEOMETRIES[2].density(1);
    let source = CASES[4].source_mm(density.grid().middle_mm());
    for share in [0.0, 0.3, 0.9] {
        let (answer, rows_after) = cancelled_at(share, |control| {
            radiological_depth(&density, source, control)
        });
        assert_eq!(
            (answer.err(), rows_after),
            (Some(Cancelled), 0),
            "at {share}"
        );
    }
}
