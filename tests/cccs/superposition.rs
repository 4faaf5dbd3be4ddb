//! The transport against a direct superposition of the tabulated kernels.
//!
//! The reference knows nothing of the engine's exponentials, lattices, strips or channels: from places spread over every
//! releasing voxel it sends rays into each cone of the tabulated kernels (mixed by the voxel's own spectrum), turned to the
//! voxel's own photon direction, steps them voxel by voxel, and leaves `C(r2) - C(r1)` of the table, all in f64.

use crate::phantom::{block, dose, point_source, request};
use beamsight::engine::cccs::Quality;
use beamsight::physics::Patient;
use beamsight::physics::kernel::{CONES, KernelClass, KernelTable, SHELLS};
use glam::DVec3;
use std::sync::Arc;

const SPACING_MM: f64 = 5.0;
const ACROSS: usize = 18;
const DOWN: usize = 20;
const FIELD_MM: f64 = 40.0;
const SOURCE: DVec3 = DVec3::new(0.0, -1000.0, 0.0);
const ENERGIES: [f64; 2] = [1.25, 4.0];
const PHOTONS: [f64; 2] = [0.7, 0.3];
/// Rays of a voxel, shared out to the cones by their energy.
const RAYS: f64 = 2000.0;

fn phantom(density: impl Fn(DVec3) -> f32) -> Arc<Patient> {
    let half = 0.5 * ACROSS as f64 * SPACING_MM;
    block(DVec3::new(-half, 0.0, -half), DVec3::splat(SPACING_MM), [ACROSS, DOWN, ACROSS], density)
}

/// TERMA by energy of the tables' photons (MeV/g for one photon per cm2 on the axis at the isocentre), uniform per
/// solid angle inside the field: its part of the voxel by the exact overlap of two squares.
fn terma(patient: &Patient, i: usize, j: usize, k: usize) -> [f64; 2] {
    let volume = &patient.mass_density_g_cm3;
    let centre = volume.grid().centre_mm(i, j, k);
    let ray = centre - SOURCE;
    let covered = |x: f64| {
        let (centre, half) = (x * 1000.0 / ray.y, 0.5 * SPACING_MM * 1000.0 / ray.y);
        let edge = 0.5 * FIELD_MM;
        (((centre + half).min(edge) - (centre - half).max(-edge)) / (2.0 * half)).clamp(0.0, 1.0)
    };
    // Densities depend on y alone: the slant path is that of the axis times a factor.
    let above: f64 = (0..j).map(|l| f64::from(volume.at(0, l, 0))).sum();
    let straight = (above + 0.5 * f64::from(volume.at(0, j, 0))) * SPACING_MM / 10.0;
    let depth = straight * ray.length() / ray.y;
    let fluence = covered(ray.x) * covered(ray.z) * 1e6 / ray.length_squared();
    [0, 1].map(|e| {
        let mu = KernelTable::water().mu_over_rho_cm2_g(ENERGIES[e]);
        fluence * PHOTONS[e] * ENERGIES[e] * mu * (-mu * depth).exp()
    })
}

/// Cumulative energy of a cone at a radius, linear within the shells, going on at the last rate beyond.
fn within(cumulative: &[f64; SHELLS], radii: &[f64], r: f64) -> f64 {
    let s = radii.partition_point(|x| *x < r).min(SHELLS - 1);
    let (r0, c0) = if s == 0 { (0.0, 0.0) } else { (radii[s - 1], cumulative[s - 1]) };
    c0 + (cumulative[s] - c0) * (r - r0) / (radii[s] - r0)
}

/// The sum of the eight images of a distribution that is mirrored in x and z and about their diagonal.
fn mirrored(energy: &[f64]) -> Vec<f64> {
    let last = ACROSS - 1;
    let at = |i: usize, j: usize, k: usize| energy[(k * DOWN + j) * ACROSS + i];
    let image = |index: usize| {
        let [i, j, k] = [index % ACROSS, index / ACROSS % DOWN, index / (ACROSS * DOWN)];
        [(i, k), (last - i, k), (i, last - k), (last - i, last - k)]
            .into_iter()
            .map(|(a, b)| at(a, j, b) + at(b, j, a))
            .sum()
    };
    (0..energy.len()).map(image).collect()
}

/// Dose (Gy) by direct superposition.
fn direct(patient: &Patient) -> Vec<f64> {
    let table = KernelTable::water();
    let volume = &patient.mass_density_g_cm3;
    let grid = volume.grid();
    let kernels = ENERGIES.map(|e| {
        let [p, s] = KernelClass::ALL.map(|c| table.cumulative(c, e));
        let cone = |cone: usize| -> [f64; SHELLS] { std::array::from_fn(|r| p[r][cone] + s[r][cone]) };
        (0..CONES).map(cone).collect::<Vec<_>>()
    });
    let mut energy = vec![0.0; grid.len()];
    for index in 0..grid.len() {
        let [i, j, k] = [index % ACROSS, index / ACROSS % DOWN, index / (ACROSS * DOWN)];
        let released = terma(patient, i, j, k);
        // One eighth of the sources; their mirror images follow.
        if released[0] == 0.0 || i < ACROSS / 2 || k < i {
            continue;
        }
        let share = if k == i { 0.5 } else { 1.0 };
        let mass = f64::from(volume.data()[index]);
        // Another part of the sequences for every voxel.
        let mut ray_number = (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & 0xFFFF;
        let photon = (grid.centre_mm(i, j, k) - SOURCE).normalize();
        let side = photon.any_orthonormal_vector();
        let other = photon.cross(side);
        let of =
            |energy: usize| kernels[energy].iter().map(|k| k[SHELLS - 1]).sum::<f64>() * released[energy];
        let all = of(0) + of(1);
        for cone in 0..CONES {
            let mixed: [f64; SHELLS] = std::array::from_fn(|r| {
                released[0] * kernels[0][cone][r] + released[1] * kernels[1][cone][r]
            });
            let [near, far] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
            let total = mixed[SHELLS - 1];
            let rays = (RAYS * total / all).ceil() as usize + 4;
            for azimuth in 0..rays {
                // Even spread over the voxel and the cone (additive recurrences).
                ray_number += 1;
                let part = |step: f64| (0.5 + step * ray_number as f64).fract();
                let cos = near + (far - near) * part(0.569_840_290_998);
                let sin = (1.0 - cos * cos).sqrt();
                let turn = (azimuth as f64 + part(0.754_877_666_246)) / rays as f64 * std::f64::consts::TAU;
                let direction = photon * cos + (side * turn.cos() + other * turn.sin()) * sin;
                let start =
                    DVec3::new(part(0.819_172_513_396), part(0.671_043_606_703), part(0.549_700_477_901));
                let mut at = start + DVec3::new(i as f64, j as f64, k as f64);
                let mut r = 0.0;
                let mut inside = 0.0;
                loop {
                    let cell = (at + direction * 1e-9).floor();
                    if cell.min_element() < 0.0
                        || cell.x >= ACROSS as f64
                        || cell.y >= DOWN as f64
                        || cell.z >= ACROSS as f64
                    {
                        break;
                    }
                    let step = (0..3)
                        .map(|a| {
                            let d = direction[a];
                            let wall = if d > 0.0 { cell[a] + 1.0 } else { cell[a] };
                            if d == 0.0 { f64::INFINITY } else { (wall - at[a]) / d }
                        })
                        .fold(f64::INFINITY, f64::min)
                        .max(1e-12);
                    let voxel = grid.index(cell.x as usize, cell.y as usize, cell.z as usize);
                    r += step * SPACING_MM / 10.0 * f64::from(volume.data()[voxel]);
                    let next = within(&mixed, table.outer_radii_cm(), r);
                    energy[voxel] += share * mass * (next - inside) / rays as f64;
                    inside = next;
                    if total - inside < 1e-4 * total {
                        break;
                    }
                    at += direction * step;
                }
            }
        }
    }
    let energy = mirrored(&energy);
    energy.iter().zip(volume.data()).map(|(e, rho)| e / f64::from(*rho) * 1.602_176_634e-10).collect()
}

/// Water, a slab of lung density, water: differences over the maximum, everywhere beyond 2 mm from the surface.
///
/// The reference has noise of its own: as much as the engine has with many times its directions, 0.1 % of the maximum (root mean
/// square), three times that in single voxels at the edge of the field.
#[test]
fn lung_slab_by_direct_superposition() {
    let patient = phantom(|p| if (30.0..60.0).contains(&p.y) { 0.26 } else { 1.0 });
    let engine = dose(&request(&patient, &point_source(&ENERGIES, &PHOTONS), FIELD_MM, Quality::Full));
    let reference = direct(&patient);
    let most = reference.iter().copied().fold(0.0, f64::max);
    let miss: Vec<f64> =
        engine.gy.data().iter().zip(&reference).map(|(e, r)| (f64::from(*e) - r) / most).collect();
    let rms = (miss.iter().map(|m| m * m).sum::<f64>() / miss.len() as f64).sqrt();
    let within = miss.iter().filter(|m| m.abs() < 0.005).count() as f64 / miss.len() as f64;
    let worst = miss.iter().fold(0.0_f64, |w, m| w.max(m.abs()));
    let mean = miss.iter().sum::<f64>() / miss.len() as f64;
    println!(
        "of the maximum: mean {:+.3} %, rms {:.3} %, worst {:.2} %; {:.1} % of the voxels within 0.5 %",
        100.0 * mean,
        100.0 * rms,
        100.0 * worst,
        100.0 * within
    );
    assert!(rms < 0.003 && within > 0.9 && worst < 0.03 && mean.abs() < 5e-4);
    // Along the axis, means over the four voxels round it.
    for j in 0..DOWN {
        let of = |i: usize, k: usize| miss[(k * DOWN + j) * ACROSS + i];
        let (a, b) = (ACROSS / 2 - 1, ACROSS / 2);
        let axis = 0.25 * (of(a, a) + of(a, b) + of(b, a) + of(b, b));
        println!("{:5.1} mm: {:+.2} %", (j as f64 + 0.5) * SPACING_MM, 100.0 * axis);
        assert!(axis.abs() < 0.01);
    }
    // What heterogeneity does: less dose in the lung than in water there, rebuild behind it.
    let water =
        dose(&request(&phantom(|_| 1.0), &point_source(&ENERGIES, &PHOTONS), FIELD_MM, Quality::Full));
    let on = |d: &beamsight::engine::cccs::BeamDose, j: usize| f64::from(d.gy.at(ACROSS / 2, j, ACROSS / 2));
    assert!(on(&engine, 8) < on(&water, 8), "inside the lung");
    let share = |j: usize| on(&engine, j) / on(&water, j);
    assert!(share(13) > share(11) && share(16) > 1.0, "behind the lung");
}
