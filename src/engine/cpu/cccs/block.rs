//! Voxels laid out for the lines: one axis contiguous, rows padded to whole strips.

use super::lanes::LANES;
use crate::engine::cccs::lattice::Lattice;
use crate::physics::kernel_beam::CHANNELS;
use glam::DVec3;

/// Empty values before the first voxel of a row.
pub const LEAD: usize = LANES;
/// Strips may begin at every so many voxels.
pub const PHASE_STEP: usize = 4;

/// What the lines pass through and pick up, with `[row][c]` data: `order[0]` is the contiguous axis, `order[1]` the
/// faster row axis, `order[2]` the slower one, across which the slabs lie.
pub struct Block {
    pub order: [usize; 3],
    pub size: [usize; 3],
    pub spacing_mm: [f64; 3],
    /// Values in a padded row: `LEAD` before the first voxel, enough after the last for any phase of the strips.
    pub stride: usize,
    /// Attenuation-equivalent density of water, g/cm3; zero in the padding.
    pub density: Vec<f32>,
    /// Energy released per mass, by channel; zero in the padding.
    pub source: [Vec<f32>; CHANNELS],
    /// Per row: the voxels with matter, and those that release energy (first, one past the last).
    pub matter: Vec<[i32; 2]>,
    pub releasing: Vec<[i32; 2]>,
    /// Unit vector from the radiation source to the middle of the strip that starts at each `PHASE_STEP`-th padded
    /// voxel, in the block's axis order.
    pub rays: Vec<[f32; 3]>,
}

impl Block {
    /// Lays out x-fastest data along `order`, the source multiplied by `scale`; `source_mm` is the radiation source in the
    /// lattice's frame.
    pub fn new(
        lattice: &Lattice,
        order: [usize; 3],
        density: &[f32],
        source: &[Vec<f32>; CHANNELS],
        scale: f32,
        source_mm: DVec3,
    ) -> Self {
        let size = order.map(|a| lattice.size[a]);
        let spacing_mm = order.map(|a| lattice.spacing_mm[a]);
        let stride = LEAD + (size[0] + LANES).next_multiple_of(LANES);
        let mut block = Self {
            order,
            size,
            spacing_mm,
            stride,
            density: Vec::new(),
            source: std::array::from_fn(|_| Vec::new()),
            matter: Vec::new(),
            releasing: Vec::new(),
            rays: Vec::new(),
        };
        block.density = block.laid_out(lattice, density, 1.0);
        block.source = source.each_ref().map(|s| block.laid_out(lattice, s, scale));
        for row in 0..size[1] * size[2] {
            let cells = row * stride..(row + 1) * stride;
            block.matter.push(used_range(&block.density[cells.clone()]));
            let released = block.source.each_ref().map(|s| used_range(&s[cells.clone()]));
            block.releasing.push(released.into_iter().reduce(union).unwrap_or([0, 0]));
        }
        let from = order.map(|a| source_mm[a]);
        for row in 0..size[1] * size[2] {
            let rest = [row % size[1], row / size[1]];
            for group in 0..stride / PHASE_STEP {
                let middle = (group * PHASE_STEP) as f64 - LEAD as f64 + 0.5 * (LANES - 1) as f64;
                let ray = DVec3::new(
                    middle * spacing_mm[0] - from[0],
                    rest[0] as f64 * spacing_mm[1] - from[1],
                    rest[1] as f64 * spacing_mm[2] - from[2],
                )
                .normalize_or_zero();
                block.rays.push([ray.x as f32, ray.y as f32, ray.z as f32]);
            }
        }
        block
    }

    pub fn row(&self, rest: [usize; 2]) -> usize {
        rest[1] * self.size[1] + rest[0]
    }

    /// Padded values in all.
    pub fn padded_len(&self) -> usize {
        self.stride * self.size[1] * self.size[2]
    }

    fn laid_out(&self, lattice: &Lattice, data: &[f32], scale: f32) -> Vec<f32> {
        let mut out = vec![0.0; self.padded_len()];
        self.each_row(lattice, |row, first, step| {
            for (i, v) in out[row * self.stride + LEAD..][..self.size[0]].iter_mut().enumerate() {
                *v = scale * data[first + i * step];
            }
        });
        out
    }

    /// Adds padded values of this layout onto x-fastest data.
    pub fn add_onto(&self, lattice: &Lattice, padded: &[f32], to: &mut [f32]) {
        self.each_row(lattice, |row, first, step| {
            for (i, v) in padded[row * self.stride + LEAD..][..self.size[0]].iter().enumerate() {
                to[first + i * step] += v;
            }
        });
    }

    /// Row number, first index and index step in x-fastest data of every row.
    fn each_row(&self, lattice: &Lattice, mut visit: impl FnMut(usize, usize, usize)) {
        let steps = [1, lattice.size[0], lattice.size[0] * lattice.size[1]];
        let [c, fast, slow] = self.order;
        for k in 0..self.size[2] {
            for j in 0..self.size[1] {
                visit(self.row([j, k]), j * steps[fast] + k * steps[slow], steps[c]);
            }
        }
    }
}

/// Voxels of a padded row from the first to the last that is not zero.
fn used_range(row: &[f32]) -> [i32; 2] {
    let used = |v: &f32| *v != 0.0;
    match (row.iter().position(used), row.iter().rposition(used)) {
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
