//! The fast engine against the plain reference, on small cases, in the same directions.

use super::phantom::{block, machine};
use beamsight::case::{Beam, Jaws};
use beamsight::engine::JobControl;
use beamsight::engine::cccs::cpu::beam_dose;
use beamsight::engine::cccs::reference;
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::physics::{Calibration, Machine};
use glam::DVec3;
use std::sync::Arc;

const SIZE: [usize; 3] = [16, 14, 12];

fn uncalibrated() -> Arc<Machine> {
    Arc::new(Machine {
        calibration: Calibration::PhotonFluence {},
        ..(*machine("generic-6mv")).clone()
    })
}

fn request(density: impl Fn(DVec3) -> f32, quality: Quality, gantry_deg: f64) -> DoseRequest {
    let spacing = DVec3::new(4.0, 5.0, 4.5);
    let half = 0.5 * spacing * DVec3::from(SIZE.map(|n| n as f64));
    let patient = block(-half, spacing, SIZE, density);
    DoseRequest {
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        patient,
        machine: uncalibrated(),
        beam: Beam::fixed(
            "small",
            1,
            gantry_deg,
            DVec3::ZERO,
            Jaws::symmetric(32.0, 28.0),
            100.0,
        ),
        quality,
        dose_to: DoseTo::Medium,
    }
}

/// Worst and root mean square difference of the fast engine, of the maximum, percent.
fn off(request: &DoseRequest, lines: usize) -> [f64; 2] {
    let control = JobControl::new();
    let want = reference::beam_dose(request, lines, &control).expect("a dose");
    let got = beam_dose(request, &control).expect("a dose");
    let most = want.iter().copied().fold(0.0, f64::max);
    let off: Vec<f64> = want
        .iter()
        .zip(got.gy.data())
        .map(|(w, g)| 100.0 * (f64::from(*g) - w).abs() / most)
        .collect();
    let worst = off.iter().copied().fold(0.0, f64::max);
    [
        worst,
        (off.iter().map(|o| o * o).sum::<f64>() / off.len() as f64).sqrt(),
    ]
}

fn lung(p: DVec3) -> f32 {
    if (-15.0..15.0).contains(&p.y) {
        0.26
    } else {
        1.0
    }
}

fn bone_and_air(p: DVec3) -> f32 {
    match p {
        p if p.distance(DVec3::new(8.0, -10.0, 0.0)) < 12.0 => 1.8,
        p if p.distance(DVec3::new(-10.0, 8.0, 4.0)) < 9.0 => 0.0012,
        _ => 1.0,
    }
}

/// With more lines through each voxel the lattice's discretisation error vanishes: the fast engine, which
/// corrects it, is nearer to the limit of many lines.
#[test]
fn the_reference_converges_on_the_fast_engine() {
    let request = request(lung, Quality::Full, 37.0);
    let [one, nine] = [1, 3].map(|lines| off(&request, lines)[1]);
    println!("lung, root mean square: one line to a face {one:.3} %, nine {nine:.3} %");
    assert!(nine < 0.6 * one);
}

#[test]
fn the_fast_engine_is_the_reference() {
    type Density = fn(DVec3) -> f32;
    let media: [(&str, Density); 3] = [
        ("water", |_| 1.0),
        ("lung", lung),
        ("bone and air", bone_and_air),
    ];
    for (name, density) in media {
        for (quality, gantry) in [(Quality::Full, 37.0), (Quality::Standard, 20.0)] {
            let request = request(density, quality, gantry);
            let [worst, rms] = off(&request, 3);
            println!(
                "{name}, {}, gantry {gantry}: worst {worst:.3} %, rms {rms:.4} %",
                quality.word()
            );
            assert!(
                worst < 1.5 && rms < 0.15,
                "{name}, {quality:?}: worst {worst} %, rms {rms} %"
            );
        }
    }
}
