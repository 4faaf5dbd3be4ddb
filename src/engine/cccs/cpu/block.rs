//! Voxels laid out for the lines: one axis contiguous, rows padded to whole strips.

use super::terma::Terma;
use crate::dose::lattice::Lattice;
use crate::dose::medium::is_low_density;
use crate::lanes::F32xN;
use crate::{Cancelled, JobControl};
use glam::DVec3;
use physics::kernel_beam::CHANNELS;
use rayon::prelude::*;

/// Lines in a strip, transported side by side.
pub const LANES: usize = 16;
pub type F32x16 = F32xN<LANES>;

/// Zeros before the first voxel of a row.
pub const LEAD: usize = LANES;
/// Strips begin at multiples of this many voxels.
pub const PHASE_STEP: usize = 4;

/// Density along the lines, `[row][c]`: `order[0]` is the contiguous axis, `order[1]` the
/// faster row axis, `order[2]` the slower one, across which the slabs lie.
pub struct Block {
    pub order: [usize; 3],
    pub size: [usize; 3],
    pub spacing_mm: [f64; 3],
    /// Values in a padded row: `LEAD` before the first voxel, enough after the last for any phase of the strips.
    pub stride: usize,
    /// Attenuation-equivalent density of water, g/cm3; zero in the padding.
    pub density: Vec<f32>,
    /// Per row: the voxels with matter (first, one past the last).
    pub matter: Vec<[i32; 2]>,
    /// Per row: whether any voxel has low density.
    pub low_density: Vec<bool>,
    /// The radiation source in the block's axis order.
    from_mm: [f32; 3],
}

/// TERMA in the layout of a block.
pub struct TermaRows {
    stride: usize,
    /// `[row][channel][c]`; zero in the padding.
    values: Vec<f32>,
    /// Per row: the voxels with TERMA (first, one past the last).
    pub with_terma: Vec<[i32; 2]>,
}

impl TermaRows {
    /// One channel of a row, padded.
    #[inline(always)]
    pub fn row(&self, row: usize, channel: usize) -> &[f32] {
        &self.values[(row * CHANNELS + channel) * self.stride..][..self.stride]
    }
}

impl Block {
    /// Lays out x-fastest data along `order`; `source_mm` is the radiation source in the lattice's frame.
    pub fn new(
        lattice: &Lattice,
        order: [usize; 3],
        density: &[f32],
        source_mm: DVec3,
        control: &JobControl,
    ) -> Result<Self, Cancelled> {
        let size = order.map(|a| lattice.size[a]);
        let spacing_mm = order.map(|a| lattice.spacing_mm[a]);
        // An odd number of cache lines, so that rows and slabs above each other do not share cache sets.
        let stride = (((LEAD + size[0] + LANES).div_ceil(LANES)) | 1) * LANES;
        let mut block = Self {
            order,
            size,
            spacing_mm,
            stride,
            density: Vec::new(),
            matter: Vec::new(),
            low_density: Vec::new(),
            from_mm: order.map(|a| source_mm[a] as f32),
        };
        block.density = block.laid_out(lattice, [density], 1.0, control)?;
        block.matter = block.density.par_chunks(stride).map(used_range).collect();
        block.low_density = block
            .density
            .par_chunks(stride)
            .map(|row| row.iter().any(is_low_density))
            .collect();
        Ok(block)
    }

    /// Lays out x-fastest TERMA, multiplied by `scale`.
    pub fn terma_rows(
        &self,
        lattice: &Lattice,
        terma: &Terma,
        scale: f32,
        control: &JobControl,
    ) -> Result<TermaRows, Cancelled> {
        let values = self.laid_out(lattice, terma.each_ref().map(Vec::as_slice), scale, control)?;
        let mut terma_rows = TermaRows {
            stride: self.stride,
            values,
            with_terma: Vec::new(),
        };
        let rows = self.size[1] * self.size[2];
        terma_rows.with_terma = (0..rows)
            .into_par_iter()
            .map(|row| {
                let ranges = (0..CHANNELS).map(|c| used_range(terma_rows.row(row, c)));
                ranges.reduce(union).unwrap_or([0, 0])
            })
            .collect();
        Ok(terma_rows)
    }

    pub fn row(&self, row_and_slab: [usize; 2]) -> usize {
        row_and_slab[1] * self.size[1] + row_and_slab[0]
    }

    /// Unit vector from the radiation source to a place of a row, in voxels.
    #[inline(always)]
    pub fn ray(&self, along: f32, row_and_slab: [usize; 2]) -> [f32; 3] {
        let place = [along, row_and_slab[0] as f32, row_and_slab[1] as f32];
        let [x, y, z] = [0, 1, 2].map(|a| place[a] * self.spacing_mm[a] as f32 - self.from_mm[a]);
        let over = 1.0 / (x * x + y * y + z * z).max(1e-12).sqrt();
        [x * over, y * over, z * over]
    }

    /// Cosines of the angles between the rays to places of a row, in voxels, and a direction.
    #[inline(always)]
    pub fn cosines(&self, along: F32x16, row_and_slab: [usize; 2], direction: [f32; 3]) -> F32x16 {
        let [dx, dy, dz] = direction;
        let y = row_and_slab[0] as f32 * self.spacing_mm[1] as f32 - self.from_mm[1];
        let z = row_and_slab[1] as f32 * self.spacing_mm[2] as f32 - self.from_mm[2];
        let mut cosines = along;
        for v in &mut cosines.0 {
            let x = *v * self.spacing_mm[0] as f32 - self.from_mm[0];
            *v = (x * dx + (y * dy + z * dz)) / (x * x + (y * y + z * z)).max(1e-12).sqrt();
        }
        cosines
    }

    /// Padded values in all.
    pub fn padded_len(&self) -> usize {
        self.stride * self.size[1] * self.size[2]
    }

    /// x-fastest data as `[row][kind][c]`, padded.
    fn laid_out<const KINDS: usize>(
        &self,
        lattice: &Lattice,
        data: [&[f32]; KINDS],
        scale: f32,
        control: &JobControl,
    ) -> Result<Vec<f32>, Cancelled> {
        let mut out = vec![0.0; KINDS * self.padded_len()];
        let [to_next, to_row, to_slab] = self.steps(lattice);
        // Slabs side by side share the cache lines of data whose fastest axis they lie across.
        let slab = KINDS * self.size[1] * self.stride;
        out.par_chunks_mut(LANES * slab)
            .enumerate()
            .try_for_each(|(group, out)| {
                control.check()?;
                let slabs = out.len() / slab;
                for (j, k) in (0..self.size[1]).flat_map(|j| (0..slabs).map(move |k| (j, k))) {
                    let first = j * to_row + (group * LANES + k) * to_slab;
                    let rows =
                        out[self.row([j, k]) * KINDS * self.stride..].chunks_exact_mut(self.stride);
                    for (row, data) in rows.zip(data) {
                        let from = data[first..].iter().step_by(to_next);
                        row[LEAD..][..self.size[0]]
                            .iter_mut()
                            .zip(from)
                            .for_each(|(v, d)| *v = scale * d);
                    }
                }
                Ok(())
            })?;
        Ok(out)
    }

    /// Index of a voxel of the lattice in padded values of this layout.
    fn padded_index(&self, voxel: [usize; 3]) -> usize {
        let [i, j, k] = self.order.map(|a| voxel[a]);
        self.row([j, k]) * self.stride + LEAD + i
    }

    /// Adds padded values of this layout onto x-fastest data.
    pub fn add_onto(&self, lattice: &Lattice, padded: &[f32], to: &mut [f32]) {
        let [nx, ny, _] = lattice.size;
        to.par_chunks_mut(nx * ny).enumerate().for_each(|(z, to)| {
            // The first voxel of the plane, and its neighbours along x and along y.
            let [first, along_x, along_y] =
                [[0, 0, z], [1, 0, z], [0, 1, z]].map(|voxel| self.padded_index(voxel));
            let (along_x, along_y) = (along_x - first, along_y - first);
            for (y, to) in to.chunks_exact_mut(nx).enumerate() {
                let from = padded[first + y * along_y..].iter().step_by(along_x);
                to.iter_mut().zip(from).for_each(|(t, p)| *t += p);
            }
        });
    }

    /// Index steps in x-fastest data along this layout's axes.
    fn steps(&self, lattice: &Lattice) -> [usize; 3] {
        let steps = [1, lattice.size[0], lattice.size[0] * lattice.size[1]];
        self.order.map(|a| steps[a])
    }
}

/// Voxels of a padded row from the first to the last that is not zero.
pub fn used_range(row: &[f32]) -> [i32; 2] {
    let first = row.iter().position(|value| *value != 0.0);
    let last = row.iter().rposition(|value| *value != 0.0);
    match (first, last) {
        (Some(a), Some(b)) => [a, b + 1].map(|i| i as i32 - LEAD as i32),
        _ => [0, 0],
    }
}

/// The smallest range that holds two, either of which may be empty.
pub fn union(a: [i32; 2], b: [i32; 2]) -> [i32; 2] {
    if a[0] >= a[1] {
        b
    } else if b[0] >= b[1] {
        a
    } else {
        [a[0].min(b[0]), a[1].max(b[1])]
    }
}
