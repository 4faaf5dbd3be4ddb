//! Energy of a thin beam in a large box of water: the TERMA equals the deposited and the escaping energy, and
//! every box about the beam holds the energy that the tabulated kernels deposit within it.

use super::kernel_sets::KernelSet;
use super::phantom::{block, dose, machine, request};
use beamsight::engine::dose::Quality;
use beamsight::physics::kernel::{CONES, KernelTable};
use glam::DVec3;
use std::sync::Arc;

/// Half the side of the box of water and the voxels of it, mm.
const HALF_MM: f64 = 305.0;
const VOXEL_MM: f64 = 10.0;
const VOXELS: usize = 61;
/// Side of the field at the isocentre, in the middle of the box: one column of voxels.
const FIELD_MM: f64 = VOXEL_MM;
/// Far away, so that the beam keeps its width.
const SAD_MM: f64 = 20_000.0;

/// Energy (Gy cm2 cm3, at unit density) deposited within `half_cm` of the axis, and the whole TERMA, over the
/// box's depth. Per photon fluence on the axis at the isocentre.
fn by_the_table(half_cm: f64) -> [f64; 2] {
    const WITHIN_CONE: usize = 2;
    const AZIMUTHS: usize = 6;
    const STARTS: usize = 6;
    let set = KernelSet::shipped();
    let radii: Vec<f64> = std::iter::once(0.0)
        .chain(set.radii_cm().iter().copied())
        .collect();
    let spectrum = machine("point-6mv").spectrum.clone();
    let tables: Vec<Vec<[f64; CONES]>> = spectrum
        .energies_mev
        .iter()
        .map(|e| radii.iter().map(|r| set.within(*e, *r)).collect())
        .collect();
    let deep_cm = 0.2 * HALF_MM;
    let area_cm2 = 0.01 * FIELD_MM * FIELD_MM;
    let step_cm = 0.5;
    let (mut stays, mut released) = (0.0, 0.0);
    for layer in 0..(deep_cm / step_cm) as usize {
        let depth_cm = (layer as f64 + 0.5) * step_cm;
        // TERMA of the layer for the photons of each energy.
        let energy: Vec<f64> = spectrum
            .bins()
            .map(|(energy, photons)| {
                let mu = KernelTable::water().mu_over_rho_cm2_g(energy);
                let left = |depth: f64| (-mu * depth).exp();
                let lost = left(depth_cm - 0.5 * step_cm) - left(depth_cm + 0.5 * step_cm);
                photons * energy * lost * area_cm2 * 1.602_176_634e-10
            })
            .collect();
        released += energy.iter().sum::<f64>();
        let mixed = |n: usize, cone: usize| -> f64 {
            energy
                .iter()
                .zip(&tables)
                .map(|(e, table)| e * table[n][cone])
                .sum()
        };
        let width_cm = 0.1 * FIELD_MM;
        for cone in 0..CONES {
            let within: Vec<f64> = (0..radii.len()).map(|n| mixed(n, cone)).collect();
            let [near, far] = KernelTable::cone_edges_deg(cone).map(|d| d.to_radians().cos());
            for n in 0..WITHIN_CONE {
                let cos = near + (far - near) * (n as f64 + 0.5) / WITHIN_CONE as f64;
                let sin = (1.0 - cos * cos).sqrt();
                // Distance to the face of the box above or below.
                let end = if cos > 0.0 {
                    (deep_cm - depth_cm) / cos
                } else {
                    depth_cm / -cos
                };
                for turn in 0..AZIMUTHS {
                    let turn = (turn as f64 + 0.5) / AZIMUTHS as f64 * std::f64::consts::FRAC_PI_2;
                    for start in 0..STARTS * STARTS {
                        let at = [start % STARTS, start / STARTS]
                            .map(|s| ((s as f64 + 0.5) / STARTS as f64 - 0.5) * width_cm);
                        let aside = [turn.cos(), turn.sin()].map(|d| d * sin);
                        let side = (0..2)
                            .map(|a| (half_cm - at[a]) / aside[a])
                            .fold(end, f64::min);
                        let share = 1.0 / (WITHIN_CONE * AZIMUTHS * STARTS * STARTS) as f64;
                        stays += share * linear(&radii, &within, side);
                    }
                }
            }
        }
    }
    [stays, released]
}

fn linear(x: &[f64], y: &[f64], at: f64) -> f64 {
    let i = x.partition_point(|x| *x <= at).clamp(1, x.len() - 1);
    let t = ((at - x[i - 1]) / (x[i] - x[i - 1])).min(1.0);
    y[i - 1] + t * (y[i] - y[i - 1])
}

#[test]
fn a_thin_beam_leaves_its_energy_where_the_kernels_do() {
    let water = block(
        DVec3::splat(-HALF_MM),
        DVec3::splat(VOXEL_MM),
        [VOXELS; 3],
        |_| 1.0,
    );
    let mut far = (*machine("point-6mv")).clone();
    far.sad_mm = SAD_MM;
    let far = Arc::new(far);
    for quality in [Quality::Full, Quality::Standard] {
        let engine = dose(&request(&water, &far, FIELD_MM, quality));
        let voxel_cm3 = (0.1 * VOXEL_MM).powi(3);
        for voxels in [0, 1, 2, 4, 7, 12, 20, 30] {
            let inside = |i: usize| i.abs_diff(VOXELS / 2) <= voxels;
            let mut stays = 0.0;
            for k in 0..VOXELS {
                for j in 0..VOXELS {
                    for i in (0..VOXELS).filter(|i| inside(*i) && inside(k)) {
                        stays += voxel_cm3 * f64::from(engine.gy.at(i, j, k));
                    }
                }
            }
            let half_cm = 0.1 * VOXEL_MM * (voxels as f64 + 0.5);
            let [want, released] = by_the_table(half_cm);
            println!(
                "{quality:?}, within {half_cm:4.1} cm: {:.4} of what is released, {:.4} by the table",
                stays / released,
                want / released
            );
            // The electrons' range dominates within the beam's own column.
            let most = if half_cm < 1.0 { 0.015 } else { 0.002 };
            assert!(
                (stays - want).abs() < most * released,
                "{quality:?}, within {half_cm} cm"
            );
        }
    }
}
