//! The point source on a water cube against Monte Carlo.

use beamsight::case::{Beam, Jaws};
use beamsight::engine::Watch;
use beamsight::engine::cccs::{DoseRequest, DoseTo, Quality};
use beamsight::engine::cpu::cccs::beam_dose;
use beamsight::geometry::{Grid, PatientPosition, Volume};
use beamsight::physics::{Machine, Material, Patient};
use glam::DVec3;
use std::sync::Arc;

fn csv(path: &str) -> Vec<Vec<f64>> {
    let text =
        std::fs::read_to_string(format!("{}/../shared/data/physics/{path}", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
    text.lines().filter_map(|l| l.split(',').map(|x| x.parse().ok()).collect()).collect()
}

fn env(name: &str, or: f64) -> f64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or)
}

/// A cube of water, its surface at y = 0, the beam coming down +y (gantry 0).
fn cube(h: DVec3) -> Patient {
    let n = [0, 1, 2].map(|a| (300.0 / h[a]).round() as usize);
    let origin = DVec3::new(-150.0, 0.0, -150.0) + 0.5 * h;
    let grid = Arc::new(Grid::axis_aligned(origin, h, n).unwrap());
    Patient {
        mass_density_g_cm3: Arc::new(Volume::new(grid.clone(), vec![1.0; grid.len()])),
        relative_electron_density: Arc::new(Volume::new(grid.clone(), vec![1.0; grid.len()])),
        material: Arc::new(Volume::new(grid.clone(), vec![Material::Water as u8; grid.len()])),
        position: PatientPosition::Hfs,
        hu_table: String::new(),
    }
}

#[test]
fn mc() {
    let quality = match env("NDIR", 48.0) as usize {
        48 => Quality::Fast,
        384 => Quality::Full,
        _ => Quality::Standard,
    };
    let h = env("H", 5.0);
    let hz = env("HZ", 2.5);
    let patient = Arc::new(cube(DVec3::new(h, hz, h)));
    let grid = patient.mass_density_g_cm3.grid().clone();
    let name = std::env::var("MACHINE").unwrap_or("point-6mv".into());
    let machine = Machine::resolve(&name).unwrap();
    let request = DoseRequest {
        grid: grid.clone(),
        patient,
        machine,
        beam: Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws::symmetric(100.0, 100.0), 1.0),
        quality,
        dose_to: DoseTo::Water,
    };
    let dose = beam_dose(&request, &Watch::new()).unwrap();
    let r = &dose.receipt;
    println!(
        "{:?}\nns/voxel/direction {:.2}",
        r.phases_ms,
        r.phases_ms.iter().find(|p| p.0 == "transport").unwrap().1 * 1e6 / r.work as f64
    );
    let [nx, _, _] = grid.size();
    let axis = |j: usize| -> f64 {
        let (mut s, mut m) = (0.0, 0);
        for k in 0..nx {
            for i in 0..nx {
                let c = grid.centre_mm(i, j, k);
                if c.x.abs() < 5.0 && c.z.abs() < 5.0 {
                    s += dose.gy.at(i, j, k) as f64;
                    m += 1;
                }
            }
        }
        s / m as f64
    };
    let mut worst: f64 = 0.0;
    for r in csv("mc_water10/water10_dd.csv").iter().filter(|r| r.len() == 4) {
        let js: Vec<usize> =
            ((r[0] * 10.0 / hz).round() as usize..(r[1] * 10.0 / hz).round() as usize).collect();
        if js.is_empty() {
            continue;
        }
        let v = js.iter().map(|&k| axis(k)).sum::<f64>() / js.len() as f64;
        let ratio = v / r[2];
        if r[0] >= 1.5 && r[1] <= 28.0 {
            worst = worst.max((ratio - 1.0).abs());
        }
        if r[0] < 3.0 || (r[0] * 0.4).fract() < 0.01 {
            println!(
                "{:5.2}-{:5.2} {:.4e} {:.4e} ratio {:.4} (sigma {:.4})",
                r[0],
                r[1],
                v,
                r[2],
                ratio,
                r[3] / r[2]
            );
        }
    }
    println!("worst {worst:.4}");
    assert!(worst < 0.03, "{worst}");
}
