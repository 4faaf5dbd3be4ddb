//! Speed of the collapsed-cone engine: `cargo bench --bench cccs`.
//!
//! ns per voxel and direction: the wall time of the transport over the voxels of its grid (all of them, also those that
//! no line with energy passes) times the directions. A GPU of 2012 needed 3.4 to 4.2 (Xiao 2012).

use beamsight::case::{Beam, Jaws};
use beamsight::engine::JobControl;
use beamsight::engine::cccs::cpu::beam_dose;
use beamsight::engine::dose::{BeamDose, DoseRequest, DoseTo, Quality};
use beamsight::geometry::{Grid, PatientPosition, Volume};
use beamsight::physics::{Machine, Material, Patient};
use glam::DVec3;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

const RUNS: usize = 5;

fn main() {
    println!("{} threads", rayon::current_num_threads());
    println!(
        "{:34} {:>14} {:>11} {:>12} {:>11} {:>9}",
        "case", "voxels", "directions", "ns/vox/dir", "transport", "in all"
    );
    let cases = [
        (
            "10x10, point-6mv, 5 mm preview",
            "point-6mv",
            5.0,
            100.0,
            Quality::Preview,
        ),
        (
            "10x10, generic-6mv, 5 mm preview",
            "generic-6mv",
            5.0,
            100.0,
            Quality::Preview,
        ),
        (
            "10x10, generic-6mv, 2.5 mm, 128",
            "generic-6mv",
            2.5,
            100.0,
            Quality::Standard,
        ),
        (
            "10x10, generic-6mv, 2.5 mm, full",
            "generic-6mv",
            2.5,
            100.0,
            Quality::Full,
        ),
        (
            "20x20, generic-6mv, 2.5 mm, 128",
            "generic-6mv",
            2.5,
            200.0,
            Quality::Standard,
        ),
    ];
    for (name, machine, spacing, side, quality) in cases {
        let request = request(machine, spacing, side, quality);
        // The first run also calibrates the machine.
        let mut runs: Vec<(f64, f64, BeamDose)> =
            (0..=RUNS).map(|_| run(&request)).skip(1).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (transport, all, dose) = &runs[RUNS / 2];
        println!(
            "{name:34} {:14} {:11} {:12.2} {transport:8.1} ms {all:6.1} ms",
            dose.receipt.work / quality.directions() as u64,
            quality.directions(),
            transport * 1e6 / dose.receipt.work as f64,
        );
    }
}

/// (ms of transport, ms in all, the dose).
fn run(request: &DoseRequest) -> (f64, f64, BeamDose) {
    let start = Instant::now();
    // Kernels and calibration are cached from run to run.
    static CONTROL: LazyLock<JobControl> = LazyLock::new(JobControl::new);
    let dose = beam_dose(request, &CONTROL).expect("a dose");
    let all = start.elapsed().as_secs_f64() * 1000.0;
    let transport = dose
        .receipt
        .phases_ms
        .iter()
        .filter(|(n, _)| n == "transport")
        .map(|(_, ms)| ms)
        .sum();
    (transport, all, dose)
}

/// A body-sized box of water, 40 x 30 x 30 cm, the isocentre in its middle.
fn request(machine: &str, spacing_mm: f64, side_mm: f64, quality: Quality) -> DoseRequest {
    let extent = DVec3::new(400.0, 300.0, 300.0);
    let size = [0, 1, 2].map(|a| (extent[a] / spacing_mm) as usize);
    let grid = Grid::axis_aligned(
        -0.5 * extent + DVec3::splat(0.5 * spacing_mm),
        DVec3::splat(spacing_mm),
        size,
    );
    let grid = Arc::new(grid.expect("a grid"));
    let density = Arc::new(Volume::new(Arc::clone(&grid), vec![1.0; grid.len()]));
    let material = vec![Material::Water as u8; grid.len()];
    let patient = Patient {
        relative_electron_density: Arc::clone(&density),
        mass_density_g_cm3: density,
        material: Arc::new(Volume::new(Arc::clone(&grid), material)),
        position: PatientPosition::Hfs,
        has_couch: true,
    };
    DoseRequest {
        patient: Arc::new(patient),
        machine: Machine::resolve(machine).expect("a shipped machine"),
        beam: Beam::fixed(
            "beam",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(side_mm, side_mm),
            100.0,
        ),
        grid,
        quality,
        dose_to: DoseTo::Medium,
    }
}
