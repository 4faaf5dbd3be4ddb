//! The transport against a direct superposition of the tabulated kernels.
//!
//! The reference is independent of the engine's exponentials, lattices, strips and channels: from positions
//! spread over a source voxel it traces rays into each cone of the tabulated kernels (mixed by the voxel's
//! own spectrum), steps them voxel by voxel, and deposits `C(r2) - C(r1)` of the table, all in f64. In a
//! phantom layered across a parallel beam, all voxels of a layer spread their energy alike: one spread a
//! layer, from enough rays for negligible noise.

use super::phantom::{block, dose, machine, request};
use beamsight::engine::dose::Quality;
use beamsight::physics::kernel::{CONES, KernelClass, KernelTable, SHELLS};
use beamsight::physics::{Machine, Patient};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

const SPACING_MM: f64 = 5.0;
const ACROSS: usize = 18;
const DOWN: usize = 20;
const FIELD_MM: f64 = 42.0;
/// Rays of a layer, distributed over the cones by their energy.
const RAYS: f64 = 200_000.0;
/// Reach of a spread to each side, voxels.
const REACH: i32 = ACROSS as i32 - 1;
const WIDE: usize = 2 * ACROSS - 1;

/// The point source, far enough away for parallel rays.
fn parallel() -> Arc<Machine> {
    let mut machine = (*machine("point-6mv")).clone();
    machine.sad_mm = 1e7;
    Arc::new(machine)
}

fn phantom(density: impl Fn(DVec3) -> f32) -> Arc<Patient> {
    let half = 0.5 * ACROSS as f64 * SPACING_MM;
    block(
        DVec3::new(-half, 0.0, -half),
        DVec3::splat(SPACING_MM),
        [ACROSS, DOWN, ACROSS],
        density,
    )
}

/// TERMA (MeV/g for one photon per cm2) at the middle of a layer, by bin of the spectrum: energy and TERMA.
fn terma(density: &[f64; DOWN], layer: usize) -> Vec<(f64, f64)> {
    let above: f64 = density[..layer].iter().sum();
    let depth = (above + 0.5 * density[layer]) * SPACING_MM / 10.0;
    let released = |(energy, photons): (f64, f64)| {
        let mu = KernelTable::water().mu_over_rho_cm2_g(energy);
        (energy, photons * energy * mu * (-mu * depth).exp())
    };
    let spectrum = &parallel().spectrum;
    let sum: f64 = spectrum.photon_weights.iter().sum();
    spectrum
        .bins()
        .map(|(energy, photons)| released((energy, photons / sum)))
        .collect()
}

/// Share of a voxel's width inside the field.
fn covered(i: usize) -> f64 {
    let low = (i as f64 - 0.5 * ACROSS as f64) * SPACING_MM;
    let edge = 0.5 * FIELD_MM;
    (((low + SPACING_MM).min(edge) - low.max(-edge)) / SPACING_MM).max(0.0)
}

/// Cumulative energy of a cone at a radius, linear within the shells, extrapolated at the last rate.
fn within(cumulative: &[f64; SHELLS], radii: &[f64], r: f64) -> f64 {
    let s = radii.partition_point(|x| *x < r).min(SHELLS - 1);
    let (r0, c0) = if s == 0 {
        (0.0, 0.0)
    } else {
        (radii[s - 1], cumulative[s - 1])
    };
    c0 + (cumulative[s] - c0) * (r - r0) / (radii[s] - r0)
}

/// Energy (MeV/g times g/cm3) that one voxel of a layer deposits in the voxels round it: `[down][z][x]`, the
/// source voxel in the middle of x and z.
fn spread(density: &[f64; DOWN], layer: usize) -> Vec<f64> {
    let table = KernelTable::water();
    let mut kernels = vec![[0.0; SHELLS]; CONES];
    for (energy, released) in terma(density, layer) {
        for table in KernelClass::ALL.map(|c| table.cumulative(c, energy)) {
            for (cone, kernel) in kernels.iter_mut().enumerate() {
                kernel
                    .iter_mut()
                    .zip(&table)
                    .for_each(|(k, row)| *k += released * row[cone]);
            }
        }
    }
    let all: f64 = kernels.iter().map(|k| k[SHELLS - 1]).sum();
    let mut left = vec![0.0; DOWN * WIDE * WIDE];
    let mut ray_number = 0_i32;
    for (cone, kernel) in kernels.iter().enumerate() {
        let [near, far] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
        let total = kernel[SHELLS - 1];
        let rays = (RAYS * total / all).ceil() as usize + 100;
        for _ in 0..rays {
            // Uniform over the voxel and the cone (the additive recurrence of five dimensions).
            ray_number += 1;
            let part = |power: i32| {
                (0.5 + 1.134_724_138_401_519_5_f64.powi(-power) * f64::from(ray_number)).fract()
            };
            let cos = near + (far - near) * part(1);
            let sin = (1.0 - cos * cos).sqrt();
            let (s, c) = (std::f64::consts::TAU * part(2)).sin_cos();
            let direction = DVec3::new(sin * c, cos, sin * s);
            let start = DVec3::new(part(3), part(4), part(5)) + DVec3::new(0.0, layer as f64, 0.0);
            step(kernel, density, start, direction, |[i, j, k], energy| {
                left[(j * WIDE + k) * WIDE + i] += density[layer] * energy / rays as f64;
            });
        }
    }
    left
}

/// Traces one ray through the layers, from `start` in voxels.
fn step(
    kernel: &[f64; SHELLS],
    density: &[f64; DOWN],
    start: DVec3,
    direction: DVec3,
    mut leave: impl FnMut([usize; 3], f64),
) {
    let radii = KernelTable::water().outer_radii_cm();
    let mut cell = [start.x, start.y, start.z].map(|c| c.floor() as i32);
    let (start, direction) = (start.to_array(), direction.to_array());
    let (mut at, mut r, mut inside) = (0.0, 0.0, 0.0);
    while (0..DOWN as i32).contains(&cell[1]) && cell[0].abs() <= REACH && cell[2].abs() <= REACH {
        let wall = |a: usize| {
            let side = f64::from(cell[a]) + if direction[a] > 0.0 { 1.0 } else { 0.0 };
            if direction[a] == 0.0 {
                f64::INFINITY
            } else {
                (side - start[a]) / direction[a]
            }
        };
        let walls = [0, 1, 2].map(wall);
        let axis = (0..3)
            .min_by(|a, b| walls[*a].total_cmp(&walls[*b]))
            .unwrap_or(0);
        r += (walls[axis] - at) * SPACING_MM / 10.0 * density[cell[1] as usize];
        let next = within(kernel, radii, r);
        leave(
            [cell[0] + REACH, cell[1], cell[2] + REACH].map(|c| c as usize),
            next - inside,
        );
        (at, inside) = (walls[axis], next);
        cell[axis] += if direction[axis] > 0.0 { 1 } else { -1 };
    }
}

/// Dose (Gy) by direct superposition.
fn direct(patient: &Patient) -> Vec<f64> {
    let volume = &patient.mass_density_g_cm3;
    let density: [f64; DOWN] = std::array::from_fn(|j| f64::from(volume.at(0, j, 0)));
    let spreads: Vec<Vec<f64>> = (0..DOWN)
        .into_par_iter()
        .map(|layer| spread(&density, layer))
        .collect();
    let fluence: Vec<f64> = (0..ACROSS).map(covered).collect();
    let mut energy = vec![0.0; volume.grid().len()];
    for spread in &spreads {
        for (index, energy) in energy.iter_mut().enumerate() {
            let [i, j, k] = [
                index % ACROSS,
                index / ACROSS % DOWN,
                index / (ACROSS * DOWN),
            ];
            for (n, fz) in fluence.iter().enumerate().filter(|(_, f)| **f > 0.0) {
                for (m, fx) in fluence.iter().enumerate().filter(|(_, f)| **f > 0.0) {
                    // The eight images of a spread are equal but for the rays' noise.
                    let [a, b] = [i.abs_diff(m), k.abs_diff(n)].map(|d| d as i32);
                    let images = [
                        (a, b),
                        (-a, b),
                        (a, -b),
                        (-a, -b),
                        (b, a),
                        (-b, a),
                        (b, -a),
                        (-b, -a),
                    ];
                    let at = |(x, z): (i32, i32)| {
                        spread[(j * WIDE + (z + REACH) as usize) * WIDE + (x + REACH) as usize]
                    };
                    *energy += fx * fz * images.into_iter().map(at).sum::<f64>() / 8.0;
                }
            }
        }
    }
    energy
        .iter()
        .zip(volume.data())
        .map(|(e, rho)| e / f64::from(*rho) * 1.602_176_634e-10)
        .collect()
}

/// Water, a slab of lung density, water: differences over the maximum, everywhere beyond 2 mm from the surface.
#[test]
fn lung_slab_by_direct_superposition() {
    let patient = phantom(|p| {
        if (30.0..60.0).contains(&p.y) {
            0.26
        } else {
            1.0
        }
    });
    let engine = dose(&request(&patient, &parallel(), FIELD_MM, Quality::Full));
    let reference = direct(&patient);
    let most = reference.iter().copied().fold(0.0, f64::max);
    let miss: Vec<f64> = engine
        .gy
        .data()
        .iter()
        .zip(&reference)
        .map(|(e, r)| (f64::from(*e) - r) / most)
        .collect();
    let rms = (miss.iter().map(|m| m * m).sum::<f64>() / miss.len() as f64).sqrt();
    let worst = miss.iter().fold(0.0_f64, |w, m| w.max(m.abs()));
    let mean = miss.iter().sum::<f64>() / miss.len() as f64;
    println!(
        "of the maximum: mean {:+.3} %, rms {:.3} %, worst {:.2} %",
        100.0 * mean,
        100.0 * rms,
        100.0 * worst
    );
    assert!(rms < 0.001 && worst < 0.005 && mean.abs() < 1e-4);
    // Along the axis: means over the four voxels round it.
    for j in 0..DOWN {
        let of = |i: usize, k: usize| miss[(k * DOWN + j) * ACROSS + i];
        let (a, b) = (ACROSS / 2 - 1, ACROSS / 2);
        let axis = 0.25 * (of(a, a) + of(a, b) + of(b, a) + of(b, b));
        println!(
            "{:5.1} mm: {:+.2} %",
            (j as f64 + 0.5) * SPACING_MM,
            100.0 * axis
        );
        assert!(axis.abs() < 0.005);
    }
    // The effect of heterogeneity: less dose in the lung than in water there, rebuild behind it.
    let water = dose(&request(
        &phantom(|_| 1.0),
        &parallel(),
        FIELD_MM,
        Quality::Full,
    ));
    let on = |d: &beamsight::engine::dose::BeamDose, j: usize| {
        f64::from(d.gy.at(ACROSS / 2, j, ACROSS / 2))
    };
    assert!(on(&engine, 8) < on(&water, 8), "inside the lung");
    let share = |j: usize| on(&engine, j) / on(&water, j);
    assert!(share(13) > share(11) && share(16) > 1.0, "behind the lung");
}
