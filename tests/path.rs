//! Radiological depth against an independent reference in f64: Siddon's sorted planes (Med. Phys. 12:252, 1985; de Greef
//! et al. 2009, section II.B). The job must agree within 0.01 mm.

#[path = "common/cancelling.rs"]
mod cancelling;

use beamsight::engine::bench::degreef::{CASES, GEOMETRIES, Random};
use beamsight::engine::cpu::path::{radiological_depth, radiological_depth_at};
use beamsight::engine::{Cancelled, JobControl};
use beamsight::geometry::{Grid, Volume};
use cancelling::cancelled_at;
use glam::{DMat3, DVec3, EulerRot};
use std::sync::Arc;

const TOLERANCE_MM: f64 = 0.01;

/// Equations (1) to (21): every plane's alpha, merged, and the voxel found afresh from the middle of each piece (by
/// search in z, the paper's "CPU hunt").
fn siddon(density: &Volume<f32>, from: DVec3, to: DVec3) -> f64 {
    let grid = density.grid();
    let (p1, p2) = (grid.local_from_patient(from), grid.local_from_patient(to));
    let [nx, ny, nz] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let c = grid.planes_mm();
    let mut z_plane = vec![c[0] - (c[1] - c[0]) / 2.0];
    z_plane.extend((1..nz).map(|k| (c[k - 1] + c[k]) / 2.0));
    z_plane.push(c[nz - 1] + (c[nz - 1] - c[nz - 2]) / 2.0);
    let mut alpha = vec![0.0, 1.0];
    let mut add = |plane: f64, a: f64, b: f64| {
        if a != b {
            alpha.push((plane - a) / (b - a));
        }
    };
    (0..=nx).for_each(|i| add((i as f64 - 0.5) * dx, p1.x, p2.x));
    (0..=ny).for_each(|j| add((j as f64 - 0.5) * dy, p1.y, p2.y));
    z_plane.iter().for_each(|&z| add(z, p1.z, p2.z));
    alpha.retain(|a| (0.0..=1.0).contains(a));
    alpha.sort_by(f64::total_cmp);
    let pieces = alpha.windows(2).map(|a| {
        let middle = p1 + (p2 - p1) * (0.5 * (a[0] + a[1]));
        let (i, j) = ((middle.x / dx + 0.5).floor(), (middle.y / dy + 0.5).floor());
        let k = z_plane.iter().take_while(|&&z| z <= middle.z).count();
        let within = i >= 0.0 && j >= 0.0 && i < nx as f64 && j < ny as f64 && (1..=nz).contains(&k);
        if within { f64::from(density.at(i as usize, j as usize, k - 1)) * (a[1] - a[0]) } else { 0.0 }
    });
    pieces.sum::<f64>() * (p2 - p1).length()
}

/// Every `stride`-th voxel of a grid along x, y and z, from a start below the stride.
fn sparse(grid: &Grid, start: [usize; 3], stride: [usize; 3]) -> Arc<Grid> {
    let count = |a: usize| (grid.size()[a] - start[a]).div_ceil(stride[a]);
    let planes: Vec<f64> = grid.planes_mm().iter().skip(start[2]).step_by(stride[2]).copied().collect();
    let [dx, dy] = grid.spacing_xy_mm();
    let first = grid.patient_from_local(DVec3::new(start[0] as f64 * dx, start[1] as f64 * dy, 0.0));
    let spacing = [dx * stride[0] as f64, dy * stride[1] as f64];
    let [row, column, _] = grid.axes();
    Arc::new(Grid::new(first, row, column, spacing, [count(0), count(1)], &planes).unwrap())
}

/// Largest disagreement over a selection of voxels, mm.
fn worst(density: &Volume<f32>, source: DVec3, targets: &Arc<Grid>) -> f64 {
    let depth = radiological_depth_at(density, source, targets, &JobControl::new()).unwrap();
    let [nx, ny, nz] = targets.size();
    let mut worst = 0.0_f64;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let want = siddon(density, source, targets.centre_mm(i, j, k));
                let off = f64::from(depth.at(i, j, k)) - want;
                assert!(off.abs() < TOLERANCE_MM, "voxel {i} {j} {k}: {off:+} mm from {want}");
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

/// Density 0, 1 or 2 at random, voxel by voxel: the hardest for where a piece begins.
fn speckle(grid: Grid, seed: u64) -> Volume<f32> {
    let mut random = Random(seed);
    let data = (0..grid.len()).map(|_| (random.unit() * 3.0).floor() as f32).collect();
    Volume::new(Arc::new(grid), data)
}

/// 40 x 30 x 8 voxels, uneven planes, turned about all three axes.
fn oblique() -> Grid {
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.3, -0.5, 1.1);
    let planes = [0.0, 3.0, 6.0, 8.0, 8.75, 14.0, 24.0, 25.0];
    Grid::new(DVec3::new(50.0, -30.0, 20.0), turn.x_axis, turn.y_axis, [0.9, 1.3], [40, 30], &planes).unwrap()
}

#[test]
fn every_voxel_of_an_oblique_grid_with_uneven_planes() {
    let density = speckle(oblique(), 1);
    let middle = density.grid().middle_mm();
    for offset in [[0.0, -1000.0, 0.0], [700.0, -700.0, 100.0], [-3.0, 1.0, 1000.0], [40.0, 3.0, -9.0]] {
        worst(&density, middle + DVec3::from(offset), &density.grid().clone());
    }
}

/// Sources inside the grid: anywhere, at a voxel's centre, on its face, edge and corner.
#[test]
fn sources_inside_the_grid() {
    let density = speckle(oblique(), 2);
    let grid = density.grid();
    for voxel in
        [[11.3, 7.7, 2.2], [20.0, 10.0, 3.0], [20.5, 10.0, 3.0], [20.5, 10.5, 3.0], [20.5, 10.5, 3.5]]
    {
        worst(&density, grid.patient_from_voxel(DVec3::from(voxel)), &grid.clone());
    }
}

/// Rays along the axes, and along diagonals exactly through edges and corners: coordinates that floating point holds
/// exactly, so that crossings do coincide.
#[test]
fn along_axes_and_through_edges_and_corners() {
    let grid = Grid::axis_aligned(DVec3::splat(-7.5), DVec3::ONE, [16, 16, 16]).unwrap();
    let density = speckle(grid, 3);
    for source in [
        [-100.5, 0.5, 0.5],
        [0.5, 100.5, -3.5],
        [0.5, 0.5, -100.5],
        [-20.5, -20.5, -20.5],
        [20.5, -20.5, 0.5],
        [-20.0, -20.0, -20.0],
        [-1024.0, 0.0, 0.0],
        [7.5, 7.5, 7.5],
    ] {
        worst(&density, DVec3::from(source), &density.grid().clone());
    }
    // By hand: the diagonal of each cube on the way from corner to corner.
    let depth = radiological_depth(&density, DVec3::splat(-20.5), &JobControl::new()).unwrap();
    let by_hand: f32 = (0..5).map(|n| density.at(n, n, n)).sum::<f32>() + 0.5 * density.at(5, 5, 5);
    assert!((f64::from(depth.at(5, 5, 5)) - f64::from(by_hand) * 3.0_f64.sqrt()).abs() < 1e-5);
}

/// Targets of another grid, some of them outside the density's and in front of it.
#[test]
fn targets_of_another_grid() {
    let density = speckle(oblique(), 4);
    let targets =
        Grid::axis_aligned(DVec3::new(20.0, -60.0, -10.0), DVec3::splat(4.3), [18, 17, 16]).unwrap();
    worst(&density, DVec3::new(30.0, -900.0, 200.0), &Arc::new(targets));
}

#[test]
fn nothing_but_air_and_one_voxel() {
    let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [12, 12, 12]).unwrap();
    let air = Volume::new(Arc::new(grid.clone()), vec![0.0; grid.len()]);
    let depth = radiological_depth(&air, DVec3::new(5.0, -99.0, 5.0), &JobControl::new()).unwrap();
    assert!(depth.data().iter().all(|&d| d == 0.0));
    let mut one = vec![0.0; grid.len()];
    one[grid.index(5, 6, 7)] = 1.0;
    let one = Volume::new(Arc::new(grid), one);
    worst(&one, DVec3::new(5.2, -99.0, 5.1), &one.grid().clone());
}

/// The same bits whatever the number of threads.
#[test]
fn threads_make_no_difference() {
    let density = speckle(oblique(), 5);
    let source = DVec3::new(100.0, -800.0, 30.0);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| radiological_depth(&density, source, &JobControl::new())).unwrap()
    };
    assert_eq!(on(1).data(), on(3).data());
}

/// A cancelled job traces no further row.
#[test]
fn a_cancelled_trace_ends_with_the_row_in_hand() {
    let density = GEOMETRIES[2].density(1);
    let source = CASES[4].source_mm(density.grid().middle_mm());
    for share in [0.0, 0.3, 0.9] {
        let (answer, rows_after) =
            cancelled_at(share, |control| radiological_depth(&density, source, control));
        assert_eq!((answer.err(), rows_after), (Some(Cancelled), 0), "at {share}");
    }
}
