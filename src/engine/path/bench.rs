//! Radiological depth: the geometries and cases of de Greef et al. 2009, and its arc (Tables II, III, V to VIII).

use super::degreef::{CASES, GEOMETRIES, Geometry, TestCase};
use crate::bench::{Options, Row, median, timed};
use crate::cuda::Device;
use crate::path::cuda::{PathBuffers, PathMethod, radiological_depth_at};
use crate::path::{cpu, wgpu};
use crate::{Compute, DeviceError, JobControl};
use geometry::Volume;
use glam::DVec3;

/// Seconds on a GeForce GTX 280 (system II), with the copy to the host: Tables V to VII. `None` where there is no figure.
const PAPER_S: [[Option<f64>; 5]; 4] = [
    [Some(0.85), Some(0.15), Some(0.02), Some(0.02), None],
    [Some(0.47), Some(0.06), Some(0.01), Some(0.01), None],
    [Some(1.82), Some(0.41), Some(0.06), Some(0.08), Some(1.75)],
    [None; 5],
];
/// Table VIII: geometry, resampling, first gantry angle in degrees, and seconds of 21 whole dose calculations, of which
/// paths are more than half.
const ARCS: [(char, usize, f64, f64); 4] = [
    ('C', 1, 0.0, 64.0),
    ('C', 2, 0.0, 18.0),
    ('D', 1, 45.0, 51.0),
    ('D', 2, 45.0, 11.0),
];
const ARC_ANGLES: usize = 21;

/// A line of the table.
struct PathCase<'a> {
    name: String,
    density: &'a Volume<f32>,
    sources_mm: Vec<DVec3>,
    paper: Option<(f64, &'static str)>,
}

pub(crate) fn rows(
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for (geometry, paper) in GEOMETRIES.iter().zip(PAPER_S) {
        for (case, paper) in CASES.iter().zip(paper) {
            let name = format!("{}-{}", geometry.name, case.name);
            // The vertex field is the head's alone.
            if !options.wants(&name) || case.name == "V" && geometry.name != 'C' {
                continue;
            }
            let density = geometry.density(case.resampling);
            let sources_mm = vec![case.source_mm(density.grid().middle_mm())];
            let paper = paper.map(|seconds| (seconds * 1e3, "GTX 280"));
            let case = PathCase {
                name,
                density: &density,
                sources_mm,
                paper,
            };
            rows.extend(time(&case, device, options, control)?);
        }
    }
    for (letter, resampling, first_deg, seconds) in ARCS {
        let name = format!("arc-{letter}-{resampling}");
        let Some(geometry) = GEOMETRIES.iter().find(|g| g.name == letter) else {
            continue;
        };
        if options.wants(&name) {
            let (density, sources_mm) = arc(geometry, resampling, first_deg);
            let paper = Some((seconds * 1e3, "GTX 280, whole doses"));
            let case = PathCase {
                name,
                density: &density,
                sources_mm,
                paper,
            };
            rows.extend(time(&case, device, options, control)?);
        }
    }
    Ok(rows)
}

/// The gantry turned over 20 degrees in steps of 1.
fn arc(geometry: &Geometry, resampling: usize, first_deg: f64) -> (Volume<f32>, Vec<DVec3>) {
    let density = geometry.density(resampling);
    let middle = density.grid().middle_mm();
    let case = |n: usize| TestCase {
        name: "arc",
        resampling,
        gantry_deg: first_deg + n as f64,
        table_deg: 0.0,
    };
    let sources = (0..ARC_ANGLES).map(|n| case(n).source_mm(middle)).collect();
    (density, sources)
}

fn time(
    case: &PathCase<'_>,
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    let row = |way: &'static str, ms: f64, call_ms: f64| Row {
        case: case.name.clone(),
        way,
        voxels: case.density.data().len(),
        directions: case.sources_mm.len(),
        ms,
        least_bytes: case.density.data().len() * 2 * size_of::<f32>() * case.sources_mm.len(),
        call_ms,
        paper: case.paper,
    };
    match device {
        Compute::Cpu => {
            let ms = on_cpu(case, options, control)?;
            Ok(vec![row(PathMethod::Columns.word(), ms, ms)])
        }
        Compute::Wgpu(card) => {
            let [ms, call_ms] = on_wgpu(case, card, options, control)?;
            Ok(vec![row(PathMethod::Voxels.word(), ms, call_ms)])
        }
        Compute::Cuda(card) => {
            let mut rows = Vec::new();
            for way in [PathMethod::Voxels, PathMethod::Columns] {
                let (done, ms) = on_card(case, card, way, options, control)?;
                if done == way {
                    rows.push(row(
                        way.word(),
                        ms,
                        call(case, card, way, options, control)?,
                    ));
                }
            }
            Ok(rows)
        }
    }
}

fn on_cpu(
    case: &PathCase<'_>,
    options: &Options,
    control: &JobControl,
) -> Result<f64, DeviceError> {
    let mut times = Vec::new();
    for _ in 0..=options.runs {
        let mut total_ms = 0.0;
        for &source_mm in &case.sources_mm {
            let (depth, ms) = timed(|| cpu::radiological_depth(case.density, source_mm, control));
            depth?;
            total_ms += ms;
        }
        times.push(total_ms);
    }
    Ok(median(times.split_off(1)))
}

/// The kernels alone, and the whole calls.
fn on_wgpu(
    case: &PathCase<'_>,
    card: &crate::wgpu::Device,
    options: &Options,
    control: &JobControl,
) -> Result<[f64; 2], DeviceError> {
    let (mut times, mut calls) = (Vec::new(), Vec::new());
    for run in 0..=options.runs {
        let (mut kernels_ms, mut call_ms) = (0.0, 0.0);
        for &source_mm in &case.sources_mm {
            let grid = case.density.grid();
            let (answer, ms) =
                timed(|| wgpu::radiological_depth_at(card, case.density, source_mm, grid, control));
            let (_, phases) = answer?;
            kernels_ms += phases.iter().map(|(_, ms)| ms).sum::<f64>();
            call_ms += ms;
        }
        // The first run builds the kernels and uploads the density.
        if run > 0 {
            times.push(kernels_ms);
            calls.push(call_ms);
        }
    }
    Ok([median(times), median(calls)])
}

/// The kernels alone, everything they read on the card; and the way they went.
fn on_card(
    case: &PathCase<'_>,
    card: &Device,
    way: PathMethod,
    options: &Options,
    control: &JobControl,
) -> Result<(PathMethod, f64), DeviceError> {
    let mut card = card.lock();
    let mut works = Vec::new();
    for &source_mm in &case.sources_mm {
        works.push(PathBuffers::prepare(
            &mut card,
            case.density,
            source_mm,
            case.density.grid(),
            way,
        )?);
    }
    let mut times = Vec::new();
    for run in 0..options.runs + 3 {
        control.check()?;
        let mut clock = card.clock()?;
        for work in &works {
            work.queue(&mut card)?;
        }
        clock.mark(&card, "trace")?;
        let ms = clock.finish(&card)?.iter().map(|(_, ms)| ms).sum();
        // The first ones load the kernels and warm the card up.
        if run >= 3 {
            times.push(ms);
        }
    }
    Ok((works.first().map_or(way, PathBuffers::way), median(times)))
}

/// The whole call: launch, copy to the host, and all between; the density is on the card.
fn call(
    case: &PathCase<'_>,
    card: &Device,
    way: PathMethod,
    options: &Options,
    control: &JobControl,
) -> Result<f64, DeviceError> {
    let mut times = Vec::new();
    for _ in 0..options.runs.min(5) {
        let mut total_ms = 0.0;
        for &source_mm in &case.sources_mm {
            let grid = case.density.grid();
            let (answer, ms) =
                timed(|| radiological_depth_at(card, case.density, source_mm, grid, way, control));
            answer?;
            total_ms += ms;
        }
        times.push(total_ms);
    }
    Ok(median(times))
}
