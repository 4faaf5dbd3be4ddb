//! Radiological depth: phantoms whose depths are known in closed form, and random ones against the CPU; on the CPU
//! against Siddon's sorted planes in f64.

use crate::path::cuda::PathMethod;
use crate::path::degreef::{CASES, GEOMETRIES};
use crate::path::reference::siddon;
use crate::path::{cpu, cuda, wgpu};
use crate::selftest::{Row, differences};
use crate::{Compute, DeviceError, JobControl, Random};
use geometry::walk::clipped;
use geometry::{Grid, Volume};
use glam::{DMat3, DVec3, EulerRot};
use rayon::prelude::*;
use std::sync::Arc;

/// The paper stores depths to 0.1 mm (de Greef 2009, section IV); here a tenth of that.
const TOLERANCE_MM: f64 = 0.01;

/// A closed form: the depth of a target, all in the density's own frame (mm from the centre of its first voxel): the
/// source, the target.
type Closed = fn(&Grid, DVec3, DVec3) -> f64;

struct PathCase {
    name: String,
    density: Volume<f32>,
    source_mm: DVec3,
    targets: Arc<Grid>,
    closed: Option<Closed>,
    /// Too many voxels for the reference in f64.
    large: bool,
}

impl PathCase {
    /// Depths on the density's own grid.
    fn new(
        name: impl Into<String>,
        density: Volume<f32>,
        source_mm: DVec3,
        closed: Option<Closed>,
    ) -> Self {
        let targets = density.grid().clone();
        Self {
            name: name.into(),
            density,
            source_mm,
            targets,
            closed,
            large: false,
        }
    }
}

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = small_rows(device, control)?;
    if device.is_card() {
        for (geometry, case) in GEOMETRIES
            .iter()
            .flat_map(|g| CASES.iter().map(move |c| (g, c)))
        {
            control.check()?;
            let density = geometry.density(case.resampling);
            let source_mm = case.source_mm(density.grid().middle_mm());
            let name = format!("de Greef {}-{}", geometry.name, case.name);
            let case = PathCase {
                large: true,
                ..PathCase::new(name, density, source_mm, None)
            };
            rows.extend(try_case(&case, device, control)?);
        }
    }
    Ok(rows)
}

/// The cases that take little time on any device.
pub(crate) fn small_rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for case in closed_forms()
        .into_iter()
        .chain(random_grids())
        .chain(edges_and_corners())
    {
        control.check()?;
        rows.extend(try_case(&case, device, control)?);
    }
    Ok(rows)
}

/// A case in every way there is on the device, against everything there is to compare with.
fn try_case(
    case: &PathCase,
    device: &Compute,
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    let on_cpu =
        || cpu::radiological_depth_at(&case.density, case.source_mm, &case.targets, control);
    let mut answers = Vec::new();
    let mut wanted = Vec::new();
    match device {
        Compute::Cpu => {
            answers.push((PathMethod::Columns.word(), on_cpu()?, on_cpu()?));
            if !case.large {
                wanted.push((
                    "Siddon in f64",
                    each_target(case, |from, to| siddon(&case.density, from, to)),
                ));
            }
        }
        Compute::Cuda(card) => {
            let on_card = |way| {
                cuda::radiological_depth_at(
                    card,
                    &case.density,
                    case.source_mm,
                    &case.targets,
                    way,
                    control,
                )
                .map(|(depth, _)| depth)
            };
            for way in [PathMethod::Voxels, PathMethod::Columns] {
                answers.push((way.word(), on_card(way)?, on_card(way)?));
            }
            wanted.push((
                "cpu",
                on_cpu()?.data().iter().map(|&d| f64::from(d)).collect(),
            ));
        }
        Compute::Wgpu(card) => {
            let PathCase {
                density,
                source_mm,
                targets,
                ..
            } = case;
            let on_card =
                || wgpu::radiological_depth_at(card, density, *source_mm, targets, control);
            answers.push((PathMethod::Voxels.word(), on_card()?.0, on_card()?.0));
            wanted.push((
                "cpu",
                on_cpu()?.data().iter().map(|&d| f64::from(d)).collect(),
            ));
        }
    }
    if let Some(closed) = case.closed {
        let grid = case.density.grid();
        let local = |p| grid.local_from_patient(p);
        wanted.push((
            "closed form",
            each_target(case, |from, to| closed(grid, local(from), local(to))),
        ));
    }
    let mut rows = Vec::new();
    for (way, depth, again) in &answers {
        for (against, want) in &wanted {
            let (worst, mean) = differences(depth.data(), want);
            let bits = |v: &Volume<f32>| v.data().iter().map(|d| d.to_bits()).collect::<Vec<_>>();
            rows.push(Row {
                job: "path",
                case: case.name.clone(),
                device: device.to_string(),
                way,
                against,
                worst,
                mean,
                tolerance: TOLERANCE_MM,
                unit: "mm",
                repeats: bits(depth) == bits(again),
            });
        }
    }
    Ok(rows)
}

/// A value for every target, from source and target in patient LPS, mm.
fn each_target(case: &PathCase, value: impl Fn(DVec3, DVec3) -> f64 + Sync) -> Vec<f64> {
    (0..case.targets.len())
        .into_par_iter()
        .map(|n| value(case.source_mm, case.targets.centre_of_mm(n)))
        .collect()
}

/// The length of a segment inside a box, by clipping.
fn chord_mm(low: DVec3, high: DVec3, from: DVec3, to: DVec3) -> f64 {
    clipped(low, high, from, to - from)
        .map_or(0.0, |[enter, leave]| (leave - enter) * (to - from).length())
}

/// The box of voxels `low <= voxel < high` of a grid, in its own frame.
fn box_mm(grid: &Grid, low: [usize; 3], high: [usize; 3]) -> (DVec3, DVec3) {
    let edges = [0, 1, 2].map(|axis| grid.edges_mm(axis));
    let corner = |n: [usize; 3]| DVec3::new(edges[0][n[0]], edges[1][n[1]], edges[2][n[2]]);
    (corner(low), corner(high))
}

/// Voxel of the one dense bead.
const BEAD: [usize; 3] = [21, 13, 4];
const BEAD_DENSITY: f32 = 7.8;

fn closed_forms() -> Vec<PathCase> {
    let water: Closed = |grid, from, to| {
        let (low, high) = box_mm(grid, [0; 3], grid.size());
        chord_mm(low, high, from, to)
    };
    // Plane k has density 0.25 k.
    let slabs: Closed = |grid, from, to| {
        let [nx, ny, nz] = grid.size();
        (0..nz)
            .map(|k| {
                let (low, high) = box_mm(grid, [0, 0, k], [nx, ny, k + 1]);
                0.25 * k as f64 * chord_mm(low, high, from, to)
            })
            .sum()
    };
    let bead: Closed = |grid, from, to| {
        let (low, high) = box_mm(grid, BEAD, BEAD.map(|n| n + 1));
        f64::from(BEAD_DENSITY) * chord_mm(low, high, from, to)
    };
    let with_bead = || {
        filled(oblique(), |i, j, k| {
            if [i, j, k] == BEAD { BEAD_DENSITY } else { 0.0 }
        })
    };
    let mut cases = Vec::new();
    for (name, offset) in OFFSETS {
        let grid = even([64, 60, 52], DVec3::new(3.0, 3.5, 4.0));
        let source = |v: &Volume<f32>| v.grid().middle_mm() + DVec3::from(offset);
        let cube = filled(grid, |_, _, _| 1.0);
        cases.push(PathCase::new(
            format!("water, {name}"),
            cube,
            DVec3::from(offset),
            Some(water),
        ));
        let planes = filled(oblique(), |_, _, k| 0.25 * k as f32);
        let source_mm = source(&planes);
        cases.push(PathCase::new(
            format!("uneven slabs, {name}"),
            planes,
            source_mm,
            Some(slabs),
        ));
        let one = with_bead();
        let source_mm = source(&one);
        cases.push(PathCase::new(
            format!("one steel voxel, {name}"),
            one,
            source_mm,
            Some(bead),
        ));
    }
    let nothing: Closed = |_, _, _| 0.0;
    let air = filled(oblique(), |_, _, _| 0.0);
    cases.push(PathCase::new(
        "air",
        air,
        DVec3::new(0.0, -900.0, 0.0),
        Some(nothing),
    ));
    cases
}

/// Sources, mm from the middle of the grid: along each axis, between, near and far.
const OFFSETS: [(&str, [f64; 3]); 6] = [
    ("from -y", [0.0, -1000.0, 0.0]),
    ("from x", [1000.0, 0.0, 3.0]),
    ("from 45 degrees", [-707.0, 707.0, 40.0]),
    ("from z", [-3.0, 1.0, 1000.0]),
    ("non-coplanar", [400.0, -700.0, 500.0]),
    ("from 3 m", [80.0, 3000.0, -60.0]),
];

/// Density 0, 1 or 2 at random, voxel by voxel: the hardest for where a piece begins.
fn speckle(grid: Grid, seed: u64) -> Volume<f32> {
    let mut random = Random::new(seed);
    filled(grid, |_, _, _| (random.unit() * 3.0).floor() as f32)
}

fn random_grids() -> Vec<PathCase> {
    let mut cases = Vec::new();
    for (name, offset) in OFFSETS {
        let density = speckle(oblique(), 1);
        let source = density.grid().middle_mm() + DVec3::from(offset);
        cases.push(PathCase::new(
            format!("oblique, uneven planes, {name}"),
            density,
            source,
            None,
        ));
        let density = speckle(even([100, 90, 40], DVec3::new(3.0, 3.0, 4.5)), 2);
        cases.push(PathCase::new(
            format!("random voxels, {name}"),
            density,
            DVec3::from(offset),
            None,
        ));
    }
    for voxel in [
        [11.3, 7.7, 2.2],
        [20.0, 10.0, 3.0],
        [20.5, 10.0, 3.0],
        [20.5, 10.5, 3.0],
        [20.5, 10.5, 3.5],
    ] {
        let density = speckle(oblique(), 3);
        let source = density.grid().patient_from_voxel(DVec3::from(voxel));
        cases.push(PathCase::new(
            format!("source inside, at voxel {voxel:?}"),
            density,
            source,
            None,
        ));
    }
    let targets = Grid::axis_aligned(
        DVec3::new(20.0, -60.0, -10.0),
        DVec3::splat(4.3),
        [18, 17, 16],
    );
    for source in [
        DVec3::new(30.0, -900.0, 200.0),
        DVec3::new(-900.0, 20.0, 30.0),
    ] {
        let density = speckle(oblique(), 4);
        let name = format!("targets of another grid, from {source}");
        let targets = Arc::new(targets.clone().expect("a valid grid"));
        cases.push(PathCase {
            targets,
            ..PathCase::new(name, density, source, None)
        });
    }
    let density = filled(oblique(), |i: usize, j: usize, k: usize| {
        match (7 * i + 3 * j + k) % 11 {
            0 => f32::NAN,
            1 => f32::INFINITY,
            n => n as f32 / 5.0,
        }
    });
    cases.push(PathCase::new(
        "what is no number is air",
        density,
        DVec3::new(90.0, -900.0, 20.0),
        None,
    ));
    cases
}

/// Sources (mm) from which rays to the voxels of a cube of 16 mm round the origin, 1 mm each, go along the axes, and along
/// diagonals exactly through edges and corners.
const EDGES_AND_CORNERS_MM: [[f64; 3]; 8] = [
    [-100.5, 0.5, 0.5],
    [0.5, 100.5, -3.5],
    [0.5, 0.5, -100.5],
    [-20.5, -20.5, -20.5],
    [20.5, -20.5, 0.5],
    [-20.0, -20.0, -20.0],
    [-1024.0, 0.0, 0.0],
    [7.5, 7.5, 7.5],
];

fn edges_and_corners() -> Vec<PathCase> {
    EDGES_AND_CORNERS_MM
        .into_iter()
        .map(|source| {
            let density = speckle(even([16; 3], DVec3::ONE), 5);
            PathCase::new(
                format!("edges and corners, from {source:?}"),
                density,
                DVec3::from(source),
                None,
            )
        })
        .collect()
}

/// Around the origin.
fn even(size: [usize; 3], spacing_mm: DVec3) -> Grid {
    let first = -0.5 * spacing_mm * DVec3::from(size.map(|n| n as f64 - 1.0));
    Grid::axis_aligned(first, spacing_mm, size).expect("a valid grid")
}

/// 40 x 30 x 8 voxels, uneven planes, turned about all three axes.
fn oblique() -> Grid {
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.3, -0.5, 1.1);
    let planes = [0.0, 3.0, 6.0, 8.0, 8.75, 14.0, 24.0, 25.0];
    Grid::new(
        DVec3::new(50.0, -30.0, 20.0),
        turn.x_axis,
        turn.y_axis,
        [0.9, 1.3],
        [40, 30],
        &planes,
    )
    .expect("a valid grid")
}

fn filled(grid: Grid, mut value: impl FnMut(usize, usize, usize) -> f32) -> Volume<f32> {
    let [nx, ny, _] = grid.size();
    let data = (0..grid.len())
        .map(|n| value(n % nx, n / nx % ny, n / (nx * ny)))
        .collect();
    Volume::new(Arc::new(grid), data)
}
