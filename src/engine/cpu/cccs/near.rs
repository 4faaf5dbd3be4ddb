//! Adds what thin lines misplace next to where energy is released (`engine::cccs::near`).

use super::block::{Block, LEAD, PHASE_STEP};
use super::lanes::LANES;
use crate::engine::cccs::near::{DENSEST, POWERS, Stencil, WAY};
use crate::engine::{Stopped, Watch};
use glam::DMat3;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use rayon::prelude::*;
use std::ops::Range;

/// A stencil for a block.
struct Near<'a> {
    block: &'a Block,
    stencil: &'a Stencil,
    /// Rows: the block's axes -> tangents against the beam axis, `[x, y, z]` of the directions' frame.
    kernel_from_block: [[f32; 3]; 3],
    /// What the primary's channels release per volume.
    released: Vec<f32>,
}

/// Adds to `deposit` (padded, in the block's layout) as transport does.
pub fn add_near(
    block: &Block,
    stencil: &Stencil,
    lattice_from_kernel: DMat3,
    deposit: &mut [f32],
    watch: &Watch,
) -> Result<(), Stopped> {
    let kernel_from_lattice = lattice_from_kernel.transpose();
    let sources = block.source[0].iter().zip(&block.source[1]);
    let near = Near {
        block,
        stencil,
        kernel_from_block: [0, 1, 2].map(|axis| block.order.map(|a| kernel_from_lattice.row(axis)[a] as f32)),
        released: block.density.iter().zip(sources).map(|(d, (near, deep))| d * (near + deep)).collect(),
    };
    deposit.par_chunks_mut(block.stride * block.size[1]).enumerate().try_for_each(|(slab, deposit)| {
        watch.check()?;
        let mut sum = vec![0.0; block.stride];
        (0..block.size[1]).for_each(|across| near.add_row([across, slab], &mut sum, deposit));
        Ok(())
    })
}

impl Near<'_> {
    /// One row of voxels, `rest` across and along the slabs. `deposit` is that of the slab.
    fn add_row(&self, rest: [usize; 2], sum: &mut [f32], deposit: &mut [f32]) {
        let block = self.block;
        let start = block.row(rest) * block.stride;
        sum.fill(0.0);
        let strips = (LEAD..LEAD + block.size[0]).step_by(LANES);
        let tilts: Vec<(usize, Range<usize>)> =
            strips.map(|cell| (self.tilt_at(start + cell), cell..cell + LANES)).collect();
        for run in tilts.chunk_by(|a, b| a.0 == b.0) {
            let (Some((tilt, first)), Some((_, last))) = (run.first(), run.last()) else { continue };
            let cells = first.start..last.end.min(LEAD + block.size[0]);
            for number in 0..self.stencil.offsets.len() {
                self.add_offset(rest, number, *tilt, cells.clone(), sum);
            }
        }
        let density = &block.density[start..start + block.stride];
        let to = &mut deposit[rest[0] * block.stride..][..block.stride];
        to.iter_mut().zip(density).zip(sum).for_each(|((to, density), sum)| *to += density * *sum);
    }

    /// What one offset brings to `cells` (indices into the padded row).
    fn add_offset(&self, rest: [usize; 2], number: usize, tilt: usize, cells: Range<usize>, sum: &mut [f32]) {
        let (block, stencil) = (self.block, self.stencil);
        let offset = &stencil.offsets[number];
        let from = [rest[0] as i32 - offset.to[1], rest[1] as i32 - offset.to[2]];
        if (0..2).any(|axis| !(0..block.size[axis + 1] as i32).contains(&from[axis])) {
            return;
        }
        let from = from.map(|f| f as usize);
        let row = block.row(from);
        // Only voxels that release bring anything.
        let [first, end] =
            block.releasing[row].map(|voxel| (voxel + offset.to[0] + LEAD as i32).max(0) as usize);
        let cells = cells.start.max(first)..cells.end.min(end);
        if cells.is_empty() {
            return;
        }
        let slab = tilt * block.size[2] + from[1];
        let powers = &stencil.table[slab * stencil.offsets.len() + number].of_density;
        let release = (row * block.stride + cells.start).wrapping_add_signed(-offset.to[0] as isize);
        let rows_of = block.size[1] as i32;
        let way = offset.way.map(|([x, y, z], _)| {
            let step = x + (y + z * rows_of) * block.stride as i32;
            &block.density[release.wrapping_add_signed(step as isize)..][..cells.len()]
        });
        let parts = offset.way.map(|(_, part)| part);
        let released = &self.released[release..release + cells.len()];
        add_share(powers, way, parts, released, &mut sum[cells]);
    }

    /// The number of the stencils for the ray in the middle of the strip that begins at a cell.
    fn tilt_at(&self, cell: usize) -> usize {
        let ray = self.block.rays[cell / PHASE_STEP];
        let [x, y, z] = self.kernel_from_block.map(|row| row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2]);
        if z > 0.0 { self.stencil.tilts.at([x / z, y / z]) } else { 0 }
    }
}

/// `H` at the mean density of the way, times what is released.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn add_share(
    powers: &[f32; POWERS],
    way: [&[f32]; WAY],
    parts: [f32; WAY],
    released: &[f32],
    sum: &mut [f32],
) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let times_plus = |a: f32, b: f32, c: f32| if FUSED { a.mul_add(b, c) } else { a * b + c };
    let count = sum.len();
    let [a, b, c, d] = way.map(|w| &w[..count]);
    let released = &released[..count];
    for i in 0..count {
        let near = times_plus(parts[0], a[i], parts[1] * b[i]);
        let mean = times_plus(parts[2], c[i], times_plus(parts[3], d[i], near)).min(DENSEST);
        let h = times_plus(times_plus(powers[2], mean, powers[1]), mean, powers[0]);
        sum[i] = times_plus(h, released[i], sum[i]);
    }
}
