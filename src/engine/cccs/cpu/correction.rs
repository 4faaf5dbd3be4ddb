//! Adds the local correction of the lattice's discretisation ([`correction`](crate::cccs::correction)).

use super::block::{Block, F32x16, LANES, LEAD, TermaRows, used_range};
use crate::cccs::correction::{DENSEST, PATH, POWERS, Stencil};
use crate::{Cancelled, JobControl};
use glam::DMat3;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use rayon::prelude::*;
use std::ops::Range;

/// A stencil for a block.
struct Correction<'a> {
    block: &'a Block,
    stencil: &'a Stencil,
    /// Rows: the block's axes -> tangents against the beam axis, `[x, y, z]` of the directions' frame.
    kernel_from_block: [[f32; 3]; 3],
    /// Primary TERMA per volume.
    terma: Vec<f32>,
    /// Per row, the voxels that have some: first, one past the last.
    with_terma: Vec<[i32; 2]>,
}

/// Adds to `deposit` (padded, in the block's layout), in its unit.
pub fn add_correction(
    block: &Block,
    terma_rows: &TermaRows,
    stencil: &Stencil,
    lattice_from_kernel: DMat3,
    deposit: &mut [f32],
    control: &JobControl,
) -> Result<(), Cancelled> {
    let kernel_from_lattice = lattice_from_kernel.transpose();
    let mut correction = Correction {
        block,
        stencil,
        kernel_from_block: [0, 1, 2]
            .map(|axis| block.order.map(|a| kernel_from_lattice.row(axis)[a] as f32)),
        terma: vec![0.0; block.padded_len()],
        with_terma: Vec::new(),
    };
    let rows = correction
        .terma
        .par_chunks_mut(block.stride)
        .enumerate()
        .map(|(row, terma)| {
            let cells = row * block.stride..(row + 1) * block.stride;
            let terma_rows = terma_rows.row(row, 0).iter().zip(terma_rows.row(row, 1));
            for ((terma, density), (shallow, deep)) in
                terma.iter_mut().zip(&block.density[cells]).zip(terma_rows)
            {
                *terma = density * (shallow + deep);
            }
            used_range(terma)
        });
    correction.with_terma = rows.collect();
    deposit
        .par_chunks_mut(block.stride * block.size[1])
        .enumerate()
        .try_for_each(|(slab, deposit)| {
            control.check()?;
            let mut sum = vec![0.0; block.stride];
            (0..block.size[1])
                .for_each(|across| correction.add_row([across, slab], &mut sum, deposit));
            Ok(())
        })
}

/// The correction by one offset along a stretch of a row, as indices into the block's data.
struct Share<'a> {
    powers: &'a [f32; POWERS],
    parts: [f32; PATH],
    /// First cells of the path's voxels, beginning with the one with TERMA.
    path: [usize; PATH],
    /// Cells of the padded row that receives.
    cells: Range<usize>,
}

impl Correction<'_> {
    /// Corrects one row of voxels of a slab, whose padded deposit is `deposit`.
    fn add_row(&self, row_and_slab: [usize; 2], sum: &mut [f32], deposit: &mut [f32]) {
        let block = self.block;
        let start = block.row(row_and_slab) * block.stride;
        let strips = (LEAD..LEAD + block.size[0]).step_by(LANES);
        let tilts: Vec<(usize, Range<usize>)> = strips
            .map(|cell| (self.tilt_at(cell, row_and_slab), cell..cell + LANES))
            .collect();
        let mut shares = Vec::new();
        for run in tilts.chunk_by(|a, b| a.0 == b.0) {
            let (Some((tilt, first)), Some((_, last))) = (run.first(), run.last()) else {
                continue;
            };
            let cells = first.start..last.end.min(LEAD + block.size[0]);
            let offsets = 0..self.stencil.offsets.len();
            shares.extend(
                offsets.filter_map(|number| self.share(row_and_slab, number, *tilt, cells.clone())),
            );
        }
        if shares.is_empty() {
            return;
        }
        sum.fill(0.0);
        add_shares(&shares, &block.density, &self.terma, sum);
        let density = &block.density[start..start + block.stride];
        let to = &mut deposit[row_and_slab[0] * block.stride..][..block.stride];
        to.iter_mut()
            .zip(density)
            .zip(sum)
            .for_each(|((to, density), sum)| *to += density * *sum);
    }

    fn share(
        &self,
        row_and_slab: [usize; 2],
        number: usize,
        tilt: usize,
        cells: Range<usize>,
    ) -> Option<Share<'_>> {
        let (block, stencil) = (self.block, self.stencil);
        let offset = &stencil.offsets[number];
        let from = [
            row_and_slab[0] as i32 - offset.to[1],
            row_and_slab[1] as i32 - offset.to[2],
        ];
        if (0..2).any(|axis| !(0..block.size[axis + 1] as i32).contains(&from[axis])) {
            return None;
        }
        let from = from.map(|f| f as usize);
        let row = block.row(from);
        // Voxels without TERMA contribute nothing. A lowest TERMA above 0 would leave steps of an arc that do not sum to its dose, bit for bit.
        let [first, end] =
            self.with_terma[row].map(|voxel| (voxel + offset.to[0] + LEAD as i32).max(0) as usize);
        let cells = cells.start.max(first)..cells.end.min(end);
        if cells.is_empty() {
            return None;
        }
        let slab = tilt * block.size[2] + from[1];
        let start = (row * block.stride + cells.start).wrapping_add_signed(-offset.to[0] as isize);
        let across = block.size[1] as i32;
        Some(Share {
            powers: &stencil.table[slab * stencil.offsets.len() + number].of_density,
            parts: offset.path.map(|(_, part)| part),
            path: offset.path.map(|([x, y, z], _)| {
                start.wrapping_add_signed((x + (y + z * across) * block.stride as i32) as isize)
            }),
            cells,
        })
    }

    /// The number of the stencils for the ray in the middle of the strip that begins at a cell of a padded row.
    fn tilt_at(&self, cell: usize, row_and_slab: [usize; 2]) -> usize {
        let ray = self.block.ray(
            cell as f32 - LEAD as f32 + 0.5 * (LANES - 1) as f32,
            row_and_slab,
        );
        let [x, y, z] = self
            .kernel_from_block
            .map(|row| row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2]);
        if z > 0.0 {
            self.stencil.tilts.at([x / z, y / z])
        } else {
            0
        }
    }
}

/// `H` at the mean density of the path, times the TERMA, a strip at a time.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn add_shares(shares: &[Share<'_>], density: &[f32], terma: &[f32], sum: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for Share {
        powers,
        parts,
        path,
        cells,
    } in shares
    {
        for step in (0..cells.len()).step_by(LANES) {
            let mut mean = F32x16::load(density, path[0] + step) * parts[0];
            for n in 1..PATH {
                let density_on_path = F32x16::load(density, path[n] + step);
                mean = density_on_path.mul_add::<FUSED>(F32x16::splat(parts[n]), mean);
            }
            let mean = mean.min(F32x16::splat(DENSEST));
            let h = F32x16::splat(powers[2]).mul_add::<FUSED>(mean, F32x16::splat(powers[1]));
            let h = h.mul_add::<FUSED>(mean, F32x16::splat(powers[0]));
            let to = &mut sum[cells.start + step..];
            let mut share = F32x16::load(terma, path[0] + step);
            if step + LANES > cells.len() {
                share.0[cells.len() - step..].fill(0.0);
            }
            h.mul_add::<FUSED>(share, F32x16::load(to, 0)).store(to);
        }
    }
}
