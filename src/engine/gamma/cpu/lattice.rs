//! The evaluated dose with the range of dose in each of its cells.

use crate::gamma::Layers;
use rayon::prelude::*;
use std::sync::OnceLock;

/// The evaluated dose and its cells. A cell lies between eight voxels, in two dimensions between four, and has the index of its lowest.
pub struct Lattice<'a> {
    /// Gy, `[z][y][x]`.
    pub values: &'a [f32],
    /// Least and greatest dose at the corners of a cell, Gy, `[z][y][x]` of the voxels; values of the last column, row
    /// and plane belong to no cell.
    pub low: Vec<f32>,
    pub high: Vec<f32>,
    /// Voxels along x, y, z.
    pub size: [usize; 3],
    pub spacing_mm: [f32; 2],
    pub planes_mm: &'a [f64],
    /// Whether the last axis counts layers that know nothing of each other.
    pub flat: bool,
    blocks: OnceLock<Blocks>,
}

/// Cells along each side of a block; of layers that know nothing of each other one along the last axis.
pub const BLOCK: usize = 4;

/// The range of dose in blocks of cells.
pub struct Blocks {
    /// Gy, `[z][y][x]`.
    pub low: Vec<f32>,
    pub high: Vec<f32>,
    /// Blocks along x and y.
    pub size: [usize; 2],
}

impl<'a> Lattice<'a> {
    pub fn new(layers: &'a Layers) -> Self {
        let grid = layers.values.grid();
        let values = layers.values.data();
        let size = grid.size();
        let [nx, ny, nz] = size;
        let flat = layers.flat();
        let [mut low, mut high] = [vec![0.0; values.len()], vec![0.0; values.len()]];
        let planes = low
            .par_chunks_mut(nx * ny)
            .zip(high.par_chunks_mut(nx * ny))
            .enumerate();
        planes.for_each(|(k, (low, high))| {
            let above = if flat || k + 1 == nz { k } else { k + 1 };
            for j in 0..ny - 1 {
                let row = |j: usize, k: usize| &values[(k * ny + j) * nx..][..nx];
                let rows = [row(j, k), row(j + 1, k), row(j, above), row(j + 1, above)];
                let out = low[j * nx..][..nx - 1]
                    .iter_mut()
                    .zip(&mut high[j * nx..][..nx - 1]);
                for (i, (low, high)) in out.enumerate() {
                    let lowest = rows.map(|row| row[i].min(row[i + 1]));
                    let highest = rows.map(|row| row[i].max(row[i + 1]));
                    *low = lowest[0].min(lowest[1]).min(lowest[2].min(lowest[3]));
                    *high = highest[0].max(highest[1]).max(highest[2].max(highest[3]));
                }
            }
        });
        let spacing_mm = grid.spacing_xy_mm().map(|step| step as f32);
        Self {
            values,
            low,
            high,
            size,
            spacing_mm,
            planes_mm: grid.planes_mm(),
            flat,
            blocks: OnceLock::new(),
        }
    }

    /// Cells along an axis of a block.
    pub fn block_side(&self, axis: usize) -> usize {
        if self.flat && axis == 2 { 1 } else { BLOCK }
    }

    /// The blocks, made when the first point asks for them: doses that belong together have no such point.
    pub fn blocks(&self) -> &Blocks {
        self.blocks.get_or_init(|| self.blocked())
    }

    /// By one thread: the others wait for it, and a thread of the pool that waits here must not take up their work.
    fn blocked(&self) -> Blocks {
        let [nx, ny, nz] = self.size;
        let cells = [nx - 1, ny - 1, if self.flat { nz } else { nz - 1 }];
        let count: [usize; 3] =
            std::array::from_fn(|axis| cells[axis].div_ceil(self.block_side(axis)));
        let size = [count[0], count[1]];
        let block_count = count.iter().product();
        let (mut low, mut high) = (
            vec![f32::INFINITY; block_count],
            vec![f32::NEG_INFINITY; block_count],
        );
        for k in 0..cells[2] {
            for j in 0..cells[1] {
                let first = ((k / self.block_side(2)) * size[1] + j / BLOCK) * size[0];
                let row = |doses: &[f32], b: usize, extreme: fn(f32, f32) -> f32, start: f32| {
                    let begin = (k * ny + j) * nx + b * BLOCK;
                    let end = (k * ny + j) * nx + ((b + 1) * BLOCK).min(cells[0]);
                    doses[begin..end].iter().copied().fold(start, extreme)
                };
                for b in 0..size[0] {
                    low[first + b] = row(&self.low, b, f32::min, low[first + b]);
                    high[first + b] = row(&self.high, b, f32::max, high[first + b]);
                }
            }
        }
        Blocks { low, high, size }
    }
}
