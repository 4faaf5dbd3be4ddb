//! The evaluated dose with the range of dose in each of its cells.

use crate::engine::gamma::Layers;
use rayon::prelude::*;

/// What is searched. A cell lies between eight voxels, in two dimensions between four, and has the index of its lowest.
pub struct Lattice<'a> {
    /// Gy, `[z][y][x]`.
    pub values: &'a [f32],
    /// Least and greatest dose at the corners of a cell, Gy, `[z][y][x]` of the voxels; those of the last column, row
    /// and plane belong to no cell.
    pub range: Vec<[f32; 2]>,
    /// Voxels along x, y, z.
    pub size: [usize; 3],
    pub spacing_mm: [f32; 2],
    pub planes_mm: &'a [f64],
    /// Whether the last axis counts layers that know nothing of each other.
    pub flat: bool,
}

impl<'a> Lattice<'a> {
    pub fn new(layers: &'a Layers) -> Self {
        let grid = layers.values.grid();
        let values = layers.values.data();
        let size = grid.size();
        let [nx, ny, nz] = size;
        let flat = layers.flat();
        let mut range = vec![[0.0; 2]; values.len()];
        range.par_chunks_mut(nx * ny).enumerate().for_each(|(k, range)| {
            let above = if flat || k + 1 == nz { k } else { k + 1 };
            for j in 0..ny - 1 {
                let row = |j: usize, k: usize| &values[(k * ny + j) * nx..][..nx];
                let rows = [row(j, k), row(j + 1, k), row(j, above), row(j + 1, above)];
                let out = &mut range[j * nx..][..nx - 1];
                for (i, out) in out.iter_mut().enumerate() {
                    let low = rows.map(|row| row[i].min(row[i + 1]));
                    let high = rows.map(|row| row[i].max(row[i + 1]));
                    *out = [
                        low[0].min(low[1]).min(low[2].min(low[3])),
                        high[0].max(high[1]).max(high[2].max(high[3])),
                    ];
                }
            }
        });
        let spacing_mm = grid.spacing_xy_mm().map(|step| step as f32);
        Self { values, range, size, spacing_mm, planes_mm: grid.planes_mm(), flat }
    }
}
