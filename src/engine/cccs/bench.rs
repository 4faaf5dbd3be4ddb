//! Collapsed cone: a clinical grid, and the geometries of Xiao et al. 2012 (Table 1) as blocks of water.

use crate::bench::{Options, Row, card_error, median, timed};
use crate::cccs::{cpu, cuda, wgpu};
use crate::dose::{BeamDose, DoseRequest, DoseTo, Quality};
use crate::failure::Failure;
use crate::{Compute, DeviceError, JobControl, phantom};
use case::{Beam, Jaws};
use geometry::GridError;
use glam::DVec3;
use physics::{Machine, MachineError, Material};
use std::sync::Arc;

/// Phases that a card times by its own events.
pub const ON_CARD: [&str; 4] = ["trace", "terma", "transport", "crop"];

/// Table 1: name, voxels, their sides in mm, and the sides of the square field in mm.
pub const XIAO: [(&str, [usize; 3], [f64; 3], f64); 7] = [
    ("xiao-water", [200, 200, 200], [1.0, 1.0, 1.0], 50.0),
    ("xiao-breast-a", [512, 512, 168], [0.5, 0.5, 3.0], 62.5),
    ("xiao-breast-b", [512, 512, 63], [1.0, 1.0, 1.0], 110.0),
    ("xiao-lung-a", [512, 512, 112], [1.0, 1.0, 3.0], 125.0),
    ("xiao-lung-b", [512, 512, 111], [1.2, 1.2, 3.0], 132.0),
    ("xiao-head-a", [512, 512, 144], [1.2, 1.2, 3.0], 150.0),
    ("xiao-head-b", [384, 384, 58], [0.6, 0.6, 3.0], 54.0),
];
/// Time of a voxel and direction, ns, of the clinical cases with 3D-DDA-nc (the caption of Figure 2).
pub const PAPER_NS: [f64; 2] = [3.36, 4.23];

/// A beam on a block of water.
pub fn water(
    size: [usize; 3],
    spacing_mm: [f64; 3],
    side_mm: f64,
    quality: Quality,
) -> Result<DoseRequest, DeviceError> {
    let failed = |what: String| DeviceError::case("cccs", what);
    let patient = phantom::patient(DVec3::from(spacing_mm), size, |_| (1.0, Material::Water))
        .map_err(|e: GridError| failed(e.to_string()))?;
    Ok(DoseRequest {
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        patient,
        machine: Machine::resolve("generic-6mv")
            .map_err(|e: MachineError| failed(e.to_string()))?,
        beam: Beam::fixed(
            "bench",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(side_mm, side_mm),
            100.0,
        ),
        quality,
        dose_to: DoseTo::Medium,
    })
}

pub(crate) fn rows(
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    let clinical = [200, 120, 120];
    for (side, name) in [(100.0, "clinical-10"), (200.0, "clinical-20")] {
        for quality in [Quality::Fast, Quality::Standard, Quality::Full] {
            let name = format!("{name}-{}", quality.directions());
            if options.wants(&name) {
                let request = water(clinical, [2.5; 3], side, quality)?;
                rows.push(time(name, &request, None, device, options, control)?);
            }
        }
    }
    for (name, size, spacing_mm, side_mm) in XIAO {
        if options.wants(name) {
            let request = water(size, spacing_mm, side_mm, Quality::Full)?;
            let work = (request.grid.len() * Quality::Full.directions()) as f64;
            let paper = 0.5 * (PAPER_NS[0] + PAPER_NS[1]) * work * 1e-6;
            rows.push(time(
                name.to_owned(),
                &request,
                Some((paper, "Tesla C2050, 3D-DDA-nc")),
                device,
                options,
                control,
            )?);
        }
    }
    Ok(rows)
}

fn time(
    case: String,
    request: &DoseRequest,
    paper: Option<(f64, &'static str)>,
    device: &Compute,
    options: &Options,
    control: &JobControl,
) -> Result<Row, DeviceError> {
    let (mut times, mut calls) = (Vec::new(), Vec::new());
    for n in 0..=options.runs {
        let (dose, call_ms) = timed(|| match device {
            Compute::Cpu => cpu::beam_dose(request, control).map_err(Failure::Job),
            Compute::Cuda(card) => cuda::beam_dose(request, card, control)
                .map_err(|failure| failure.map_card(DeviceError::Cuda)),
            Compute::Wgpu(card) => wgpu::beam_dose(request, card, control)
                .map_err(|failure| failure.map_card(DeviceError::Wgpu)),
        });
        let dose = dose.map_err(|e| card_error("cccs", e))?;
        tracing::info!("{case}: {:?}", dose.receipt.phases_ms);
        // The first run loads the kernels, uploads the patient and calibrates the machine.
        if n > 0 {
            times.push(computed_ms(&dose, device));
            calls.push(call_ms);
        }
    }
    let (voxels, directions) = (request.grid.len(), request.quality.directions());
    Ok(Row {
        case,
        way: request.quality.word(),
        voxels,
        directions,
        ms: median(times),
        // Density, four channels, and the deposit.
        least_bytes: voxels * directions * 6 * size_of::<f32>(),
        call_ms: median(calls),
        paper,
    })
}

/// Time of the computation: of a card's kernels by its own events, of all on the CPU.
fn computed_ms(dose: &BeamDose, device: &Compute) -> f64 {
    dose.receipt
        .phases_ms
        .iter()
        .filter(|(phase, _)| matches!(device, Compute::Cpu) || ON_CARD.contains(&phase.as_str()))
        .map(|(_, ms)| ms)
        .sum()
}
