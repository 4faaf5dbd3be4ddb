//! Monte Carlo convolution/superposition beside Zhou 2010: its seven-beam phantom and two lung-like cases, batches of 672 000
//! histories, and how far two runs with numbers of their own lie apart (its eq. 6 to 8, Table 4).
//!
//! Sizes: the phantom's 100 x 100 x 100 follows Table 2 in our copy of the paper; the lung cases' are not legible there and
//! chosen by its Figure 4, which shows slice 98 of the first and slice 125 of 240 of the second.

use crate::bench::{Options, timed};
use crate::dose::DoseError;
use crate::histories::{HistoriesDose, Next, RunLength, Until};
use crate::mccs::{MccsRequest, Variant, refine_over};
use crate::{Compute, DeviceError, JobControl, phantom};
use case::{Beam, Jaws};
use geometry::GridError;
use glam::DVec3;
use physics::{Machine, Material, Patient};
use std::sync::Arc;

/// Histories of the paper's batch.
pub const PAPER_BATCH: u64 = 672_000;
/// Batches of the runs of its Table 4: 53.76 million histories.
pub const PAPER_BATCHES: u64 = 80;

/// A case of the paper.
struct PaperCase {
    name: &'static str,
    size: [usize; 3],
    spacing_mm: f64,
    lungs: bool,
    /// Times of the paper for 53.76 million histories, s: its card, its quad-core.
    paper_s: [f64; 2],
}

const CASES: [PaperCase; 3] = [
    PaperCase {
        name: "phantom",
        size: [100, 100, 100],
        spacing_mm: 3.0,
        lungs: false,
        paper_s: [PAPER_BATCHES as f64 * 0.792, PAPER_BATCHES as f64 * 8.91],
    },
    PaperCase {
        name: "lung1",
        size: [192, 196, 100],
        spacing_mm: 2.5,
        lungs: true,
        paper_s: [81.0, 810.0],
    },
    PaperCase {
        name: "lung2",
        size: [240, 240, 120],
        spacing_mm: 2.0,
        lungs: true,
        paper_s: [174.0, 1635.0],
    },
];

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    pub case: &'static str,
    pub variant: Variant,
    pub voxels: usize,
    pub histories: u64,
    /// Time of the whole call with the dose on the host, and of the histories alone (on a single card by its own
    /// events), ms.
    pub call_ms: f64,
    pub ms: f64,
    pub uncertainty_percent: Option<f64>,
    /// Between two runs with numbers of their own, above 20 % of the maximum: greatest difference of a voxel (eq. 6), greatest difference
    /// over the maximum (eq. 7), mean difference of a voxel (eq. 8), and of the mean doses; percent.
    pub apart: Option<Apart>,
    /// Times of the paper for 53.76 million, s: its card, its quad-core.
    pub paper_s: [f64; 2],
}

/// How far two doses lie apart, percent.
#[derive(Clone, Copy, Debug)]
pub struct Apart {
    pub voxel: f64,
    pub relative: f64,
    pub average: f64,
    pub mean_dose: f64,
}

impl Line {
    /// Time of one of the paper's batches, ms.
    pub fn batch_ms(&self) -> f64 {
        self.call_ms * PAPER_BATCH as f64 / self.histories as f64
    }
}

/// Runs the requested cases. `linear` runs the phantom at 1e6 to 1e9 histories (on a CPU: 1e5 to 1e7).
pub fn lines(
    devices: &[Compute],
    options: &Options,
    control: &JobControl,
    report: &dyn Fn(&Line),
) -> Result<Vec<Line>, DeviceError> {
    let failed = |why: String| DeviceError::case("mccs", why);
    devices
        .iter()
        .try_for_each(|device| device.with_form("Monte Carlo").map(drop))?;
    let on_cpu = matches!(devices, [Compute::Cpu]);
    let batches = if on_cpu { 4 } else { PAPER_BATCHES };
    let mut lines = Vec::new();
    for PaperCase {
        name,
        size,
        spacing_mm,
        lungs,
        paper_s,
    } in CASES
    {
        let wanted = options.wants(name);
        let linear = name == "phantom" && options.wants("linear");
        if !(wanted || linear) {
            continue;
        }
        let patient = patient(size, spacing_mm, lungs).map_err(|e| failed(e.to_string()))?;
        let beams = beams().map_err(|e| failed(e.to_string()))?;
        let mut one = |case, variant, histories, two_runs: bool| -> Result<(), DeviceError> {
            let request =
                MccsRequest::of_histories(&patient, beams.clone(), histories, PAPER_BATCH);
            let request = MccsRequest { variant, ..request };
            let line = time(case, &request, devices, control, two_runs, paper_s)
                .map_err(|e| failed(e.to_string()))?;
            report(&line);
            lines.push(line);
            Ok(())
        };
        if wanted {
            for variant in [Variant::Own, Variant::Paper] {
                one(name, variant, batches * PAPER_BATCH, true)?;
            }
        }
        if linear {
            let exponents = if on_cpu { 5..=6 } else { 6..=9 };
            for exponent in exponents {
                one("linear", Variant::Own, 10_u64.pow(exponent), false)?;
            }
        }
    }
    Ok(lines)
}

fn time(
    case: &'static str,
    request: &MccsRequest,
    devices: &[Compute],
    control: &JobControl,
    two_runs: bool,
    paper_s: [f64; 2],
) -> Result<Line, DoseError> {
    // Loads the kernels and calibrates the machine.
    run(
        &MccsRequest {
            length: RunLength {
                until: Until::Histories(1000),
                ..request.length
            },
            ..request.clone()
        },
        devices,
        control,
    )?;
    let (dose, call_ms) = timed(|| run(request, devices, control));
    let dose = dose?;
    let apart = match two_runs {
        true => Some(apart(
            &dose,
            &run(
                &MccsRequest {
                    seed: request.seed + 1,
                    ..request.clone()
                },
                devices,
                control,
            )?,
        )),
        false => None,
    };
    let on_card = dose
        .receipt
        .phases_ms
        .iter()
        .filter(|(phase, _)| phase.starts_with("card: "));
    let phase = |name: &str| {
        dose.receipt
            .phases_ms
            .iter()
            .find(|p| p.0 == name)
            .map_or(f64::NAN, |p| p.1)
    };
    let ms = match devices {
        [Compute::Cuda(_)] => on_card.map(|(_, ms)| ms).sum(),
        _ => phase("histories"),
    };
    tracing::info!("{case}: {:?}", dose.receipt.phases_ms);
    Ok(Line {
        case,
        variant: request.variant,
        voxels: request.grid.len(),
        histories: dose.histories,
        call_ms,
        ms,
        uncertainty_percent: dose.uncertainty_percent,
        apart,
        paper_s,
    })
}

fn run(
    request: &MccsRequest,
    devices: &[Compute],
    control: &JobControl,
) -> Result<HistoriesDose, DoseError> {
    refine_over(request, devices, control, &mut |_| Next::GoOn)
}

fn apart(a: &HistoriesDose, b: &HistoriesDose) -> Apart {
    let greatest = a.gy.data().iter().copied().fold(0.0, f32::max);
    let (mut voxel, mut furthest, mut sum, mut count) = (0.0_f64, 0.0_f64, 0.0, 0.0);
    let mut doses = [0.0; 2];
    for (x, y) in
        a.gy.data()
            .iter()
            .zip(b.gy.data())
            .filter(|(x, _)| **x > 0.2 * greatest)
    {
        let (x, y) = (f64::from(*x), f64::from(*y));
        let off = (x - y).abs();
        voxel = voxel.max(off / x);
        furthest = furthest.max(off);
        sum += off / x;
        doses[0] += x;
        doses[1] += y;
        count += 1.0;
    }
    let percent = 100.0;
    Apart {
        voxel: percent * voxel,
        relative: percent * furthest / f64::from(greatest),
        average: percent * sum / count,
        mean_dose: percent * (doses[1] / doses[0] - 1.0).abs(),
    }
}

/// Seven directions, each with a different leaf-shaped field of some 8 x 10 cm2.
fn beams() -> Result<Vec<(Beam, Arc<Machine>)>, physics::MachineError> {
    let machine = Machine::resolve("generic-6mv")?;
    let shaped = |n: usize| {
        let jaws = Jaws::symmetric(100.0, 100.0);
        let gantry = 360.0 / 7.0 * n as f64;
        let mut beam = Beam::fixed(
            &format!("beam {}", n + 1),
            n as u32 + 1,
            gantry,
            DVec3::ZERO,
            jaws,
            100.0,
        );
        if let Some(leaves) = &machine.leaves {
            beam.mlc = Some(leaves.to_case());
            beam.control_points[0].leaves_mm = (0..leaves.boundaries_mm.len() - 1)
                .map(|row| {
                    [
                        -35.0 - ((row + n) % 5) as f64 * 3.0,
                        30.0 + ((row + 2 * n) % 7) as f64 * 2.0,
                    ]
                })
                .collect();
        }
        (beam, Arc::clone(&machine))
    };
    Ok((0..7).map(shaped).collect())
}

/// A block of water, or an oval chest with two lungs and a spine in air.
fn patient(size: [usize; 3], spacing_mm: f64, lungs: bool) -> Result<Arc<Patient>, GridError> {
    let spacing = DVec3::splat(spacing_mm);
    let extent = DVec3::from(size.map(|n| n as f64)) * spacing;
    phantom::patient(spacing, size, |p| {
        let oval = |x: f64, y: f64, a: f64, b: f64| {
            ((p.x - x) / a).powi(2) + ((p.y - y) / b).powi(2) < 1.0
        };
        if !lungs {
            (1.0, Material::Water)
        } else if !oval(0.0, 0.0, 0.46 * extent.x, 0.36 * extent.y) {
            (0.0, Material::Air)
        } else if oval(-0.22 * extent.x, 0.0, 0.15 * extent.x, 0.25 * extent.y)
            || oval(0.22 * extent.x, 0.0, 0.15 * extent.x, 0.25 * extent.y)
        {
            (0.26, Material::Lung)
        } else if oval(0.0, 0.26 * extent.y, 18.0, 18.0) {
            (1.4, Material::CorticalBone)
        } else {
            (1.0, Material::Muscle)
        }
    })
}
