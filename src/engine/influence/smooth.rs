//! Doses that the extra-focal source and contaminant electrons add to the columns.
//!
//! The extra-focal source spreads a beamlet over 25 mm and more, so that its dose at a voxel goes with the fluence on the voxel's
//! ray. The factor is taken from the dose of all beamlets at once, which is thereby exact; of a modulated map the rest is within 0.1 % of
//! the dose (`engine::selftest`), because the source blurs the modulation as well.

use super::field::Sampled;
use super::request::{InfluenceRequest, OpenField};
use crate::dose::medium::Medium;
use geometry::Volume;
use rayon::prelude::*;

/// Products of a column's profile and a row's at the sampled voxels.
struct Products {
    /// `[column][voxel]`, Gy of the beam's monitor units; empty where there is none.
    columns: Vec<f32>,
    /// `[row][voxel]`
    rows: Vec<f32>,
}

/// The smooth part of every column.
pub struct Smooth {
    voxels: usize,
    columns_of_map: usize,
    parts: Vec<Products>,
}

/// A sampled voxel as the head sees it.
struct SeenVoxel {
    at_mm: [f64; 2],
    distance_mm: f64,
    inverse_square: f64,
}

impl Smooth {
    /// `extra_focal` has the energy per volume at the sampled voxels that the extra-focal source gives through all beamlets;
    /// `electrons_gy` is the surface dose of electrons in the reference field; both for one photon per cm2 on the axis.
    pub fn new(
        request: &InfluenceRequest,
        field: &OpenField,
        medium: &Medium,
        depth_mm: &Volume<f32>,
        sampled: &Sampled,
        extra_focal: &[f32],
        electrons_gy: f64,
    ) -> Self {
        let voxels = sampled.voxels.len();
        let place = |voxel: &u32| {
            let centre_mm = medium.grid.centre_of_mm(*voxel as usize);
            let (at_mm, distance_mm) = field.frame.project(centre_mm)?;
            let sad = field.frame.sad_mm;
            let inverse_square = sad * sad / centre_mm.distance_squared(field.frame.source_mm);
            Some(SeenVoxel {
                at_mm,
                distance_mm,
                inverse_square,
            })
        };
        let places: Vec<Option<SeenVoxel>> = sampled.voxels.par_iter().map(place).collect();
        let mut parts = Vec::new();
        if request.dose.machine.extra_focal.is_some() {
            let seen = |n: usize, shares: &mut [Vec<f64>; 2]| {
                let Some(place) = &places[n] else { return 0.0 };
                field
                    .beamlets
                    .extra_focal_at(place.at_mm, place.distance_mm, shares);
                // One dose of all beamlets, scaled by the fluence on the voxel's ray, is within 0.06 % of a dose for each beamlet.
                let of_all: f64 = request
                    .beamlets
                    .iter()
                    .map(|b| product(field, shares, *b))
                    .sum();
                if of_all > 0.0 {
                    f64::from(extra_focal[n]) * f64::from(sampled.gy_per_energy[n]) / of_all
                } else {
                    0.0
                }
            };
            parts.push(products(field, voxels, seen));
        }
        if let Some(electrons) = request
            .dose
            .machine
            .electrons
            .filter(|_| electrons_gy > 0.0)
        {
            let seen = |n: usize, shares: &mut [Vec<f64>; 2]| {
                let (voxel, Some(place)) = (sampled.voxels[n] as usize, &places[n]) else {
                    return 0.0;
                };
                let with_depth = electrons.at_depth(f64::from(depth_mm.data()[voxel]));
                let density = f64::from(medium.equivalent_g_cm3.data()[voxel]);
                if with_depth <= 0.0 || density <= 0.0 {
                    return 0.0;
                }
                let open = field.beamlets.electrons_at(place.at_mm, shares);
                let energy = electrons_gy * with_depth * open * place.inverse_square * density;
                energy * f64::from(sampled.gy_per_energy[n])
            };
            parts.push(products(field, voxels, seen));
        }
        Self {
            voxels,
            columns_of_map: field.map.columns,
            parts,
        }
    }

    /// Profiles as flat arrays, `[column][voxel]` and `[row][voxel]`: of the extra-focal source, of electrons, where there are any.
    pub fn parts(&self) -> impl Iterator<Item = (&[f32], &[f32])> {
        let some = self.parts.iter().filter(|part| !part.columns.is_empty());
        some.map(|part| (part.columns.as_slice(), part.rows.as_slice()))
    }

    /// Adds the smooth part of a beamlet to its column.
    pub fn add(&self, beamlet: usize, column: &mut [f32]) {
        let [row, of_row] = [beamlet / self.columns_of_map, beamlet % self.columns_of_map];
        for (columns, rows) in self.parts() {
            let along = &columns[of_row * self.voxels..][..self.voxels];
            let across = &rows[row * self.voxels..][..self.voxels];
            for (gy, (along, across)) in column.iter_mut().zip(along.iter().zip(across)) {
                *gy += along * across;
            }
        }
    }
}

fn product(field: &OpenField, shares: &[Vec<f64>; 2], beamlet: usize) -> f64 {
    let columns = field.map.columns;
    shares[0][beamlet % columns] * shares[1][beamlet / columns]
}

/// Tabulates what `seen` says of each sampled voxel: a factor, and the shares of columns and rows.
fn products(
    field: &OpenField,
    voxels: usize,
    seen: impl Fn(usize, &mut [Vec<f64>; 2]) -> f64 + Sync,
) -> Products {
    const BLOCK: usize = 256;
    let counts = [field.map.columns, field.map.rows()];
    let by_block: Vec<[Vec<f32>; 2]> = (0..voxels.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut shares = [Vec::new(), Vec::new()];
            let within = block * BLOCK..((block + 1) * BLOCK).min(voxels);
            let mut out = counts.map(|count| vec![0.0_f32; count * within.len()]);
            for n in within.clone() {
                let factor = seen(n, &mut shares);
                if factor == 0.0 {
                    continue;
                }
                for (axis, factor) in [(0, factor), (1, 1.0)] {
                    let offset = n - within.start;
                    for (span, share) in shares[axis].iter().enumerate() {
                        out[axis][span * within.len() + offset] = (factor * share) as f32;
                    }
                }
            }
            out
        })
        .collect();
    let [columns, rows] = [0, 1].map(|axis| {
        let mut joined = vec![0.0_f32; counts[axis] * voxels];
        for (block, part) in by_block.iter().enumerate() {
            let width = part[axis].len() / counts[axis].max(1);
            for (span, from) in part[axis].chunks_exact(width.max(1)).enumerate() {
                joined[span * voxels + block * BLOCK..][..width].copy_from_slice(from);
            }
        }
        joined
    });
    Products { columns, rows }
}
