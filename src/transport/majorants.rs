//! Majorants of photon flights (Woodcock, Proc. Conf. Applications of Computing Methods to Reactor Problems, ANL-7050 (1965)).
//!
//! A voxel of metal has four to ten times the attenuation of tissue, and a flight against it makes as many candidates as would in
//! metal throughout. So the lattice is cut into blocks, and where any is heavy, flights go from box to box: a flight that would leave its
//! box begins anew on the box's side, which is exact, since the distance to a collision has no memory.

use crate::tables::{MaterialTables, photon};
use crate::voxels::{VoxelGrid, Voxels};
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use physics::Material;

/// Density above which matter is heavy, g/cm3: metal and enamel. Against the densest bone tissue makes fewer candidates than a flight
/// has boxes to cross.
const HEAVY_ABOVE_G_CM3: f32 = 2.0;
/// Edge of a block, cm.
const BLOCK_CM: f64 = 2.0;
/// Blocks along an axis are numbered by a byte.
const MOST_BLOCKS: usize = 255;
/// By so much, cm, a photon on a side is looked up ahead of it, in the box that it enters.
const AHEAD_CM: f64 = 1e-9;
const CLASSES: usize = Material::ALL.len();

/// Tables of each class of [`Material::ALL`] that has any.
pub(crate) type TablesByClass<'a> = [Option<&'a MaterialTables>; CLASSES];

/// Greatest attenuations of voxels over the nodes of [`photon::ENERGY_GRID`], and the boxes in which they hold.
#[derive(Clone, Debug)]
pub struct Majorants {
    /// Greatest attenuation of all matter, 1/cm.
    all_per_cm: Vec<f32>,
    /// Greatest attenuation of matter that is not heavy, 1/cm.
    light_per_cm: Vec<f32>,
    blocks: Option<Blocks>,
}

/// Even blocks of voxels, each with its box.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Blocks along each axis.
    pub shape: [usize; 3],
    /// Voxels of a block along each axis; the last block may have fewer.
    pub edge: [usize; 3],
    /// By block, fastest along x.
    pub boxes: Vec<MajorantBox>,
}

/// Largest box found around a block in which its majorant holds, in blocks: from `low` up to below `high`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct MajorantBox {
    pub low: [u8; 3],
    /// 1 where any of its voxels is heavy.
    pub is_heavy: u8,
    pub high: [u8; 3],
    padding: u8,
}

/// Majorant of a flight, and how far it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub majorant_per_cm: f64,
    pub side: Option<BoxSide>,
}

/// Side by which a flight leaves its box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxSide {
    pub axis: usize,
    pub distance_cm: f64,
    /// Coordinate of the side along its axis.
    pub place_cm: f64,
    /// Whether nothing is behind it.
    pub is_of_grid: bool,
}

impl Majorants {
    pub(crate) fn new(voxels: &Voxels, tables: &TablesByClass<'_>) -> Self {
        let is_heavy: Vec<bool> = { voxels.densities_g_cm3().iter() }
            .map(|&density| density > HEAVY_ABOVE_G_CM3)
            .collect();
        // Sides that bring a photon back would need boxes that wrap round.
        let has_blocks = is_heavy.contains(&true) && voxels.grid().periodic == [false; 3];
        Self {
            all_per_cm: majorant(tables, &greatest_densities(voxels, f32::INFINITY)),
            light_per_cm: majorant(tables, &greatest_densities(voxels, HEAVY_ABOVE_G_CM3)),
            blocks: has_blocks.then(|| Blocks::new(voxels.grid(), &is_heavy)),
        }
    }

    /// Greatest attenuation of any voxel at the nodes, 1/cm.
    pub fn all_per_cm(&self) -> &[f32] {
        &self.all_per_cm
    }

    /// Greatest attenuation of voxels that are not heavy, 1/cm.
    pub fn light_per_cm(&self) -> &[f32] {
        &self.light_per_cm
    }

    /// Blocks of the voxels; none where nothing is heavy, so that one majorant holds throughout.
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// Majorant of a flight from a point.
    pub(crate) fn span(
        &self,
        grid: &VoxelGrid,
        position_cm: DVec3,
        direction: DVec3,
        photon_mev: f64,
    ) -> Span {
        let place = photon::ENERGY_GRID.place(photon_mev as f32);
        let Some(blocks) = &self.blocks else {
            return Span {
                majorant_per_cm: place.in_table(&self.all_per_cm, 1, 0),
                side: None,
            };
        };
        let bounds = blocks.box_at(grid, position_cm + AHEAD_CM * direction.signum());
        let rows = match bounds.is_heavy {
            0 => &self.light_per_cm,
            _ => &self.all_per_cm,
        };
        Span {
            majorant_per_cm: place.in_table(rows, 1, 0),
            side: Some(blocks.side_ahead(grid, bounds, position_cm, direction)),
        }
    }
}

impl Blocks {
    fn new(grid: &VoxelGrid, is_heavy: &[bool]) -> Self {
        let edge = [0, 1, 2].map(|axis| {
            let voxels = (BLOCK_CM / grid.spacing_cm[axis]).round() as usize;
            voxels.max(grid.shape[axis].div_ceil(MOST_BLOCKS)).max(1)
        });
        let shape = [0, 1, 2].map(|axis| grid.shape[axis].div_ceil(edge[axis]));
        let mut heavy = vec![false; shape.iter().product()];
        for (voxel, _) in is_heavy.iter().enumerate().filter(|(_, heavy)| **heavy) {
            let cell = grid.cell_of_index(voxel);
            heavy[index(shape, [0, 1, 2].map(|axis| cell[axis] / edge[axis]))] = true;
        }
        let boxes = (0..heavy.len())
            .map(|block| box_around(shape, &heavy, block))
            .collect();
        Self { shape, edge, boxes }
    }

    /// Box of the block at a point, or of the nearest to a point outside.
    fn box_at(&self, grid: &VoxelGrid, position_cm: DVec3) -> MajorantBox {
        let place = (position_cm - grid.origin_cm) / grid.spacing_cm;
        let block = [0, 1, 2].map(|axis| {
            let voxel = (place[axis].max(0.0) as usize).min(grid.shape[axis] - 1);
            voxel / self.edge[axis]
        });
        self.boxes[index(self.shape, block)]
    }

    fn side_ahead(
        &self,
        grid: &VoxelGrid,
        bounds: MajorantBox,
        position_cm: DVec3,
        direction: DVec3,
    ) -> BoxSide {
        let mut nearest = BoxSide {
            axis: 0,
            distance_cm: f64::INFINITY,
            place_cm: 0.0,
            is_of_grid: true,
        };
        for axis in (0..3).filter(|&axis| direction[axis] != 0.0) {
            let sides = if direction[axis] > 0.0 {
                bounds.high
            } else {
                bounds.low
            };
            let voxels = (usize::from(sides[axis]) * self.edge[axis]).min(grid.shape[axis]);
            let place_cm = grid.origin_cm[axis] + grid.spacing_cm[axis] * voxels as f64;
            let distance_cm = (place_cm - position_cm[axis]) / direction[axis];
            if distance_cm < nearest.distance_cm {
                nearest = BoxSide {
                    axis,
                    distance_cm,
                    place_cm,
                    is_of_grid: voxels == 0 || voxels == grid.shape[axis],
                };
            }
        }
        nearest.distance_cm = nearest.distance_cm.max(0.0);
        nearest
    }
}

fn index(shape: [usize; 3], block: [usize; 3]) -> usize {
    (block[2] * shape[1] + block[1]) * shape[0] + block[0]
}

/// Blocks from `low` up to below `high`.
#[derive(Clone, Copy)]
struct Extent {
    low: [usize; 3],
    high: [usize; 3],
}

impl Extent {
    /// Blocks beside these, one deep; none beyond the lattice.
    fn layer(self, shape: [usize; 3], axis: usize, upward: bool) -> Option<Self> {
        let mut layer = self;
        if upward {
            layer.low[axis] = self.high[axis];
            layer.high[axis] = self.high[axis] + 1;
        } else {
            layer.low[axis] = self.low[axis].checked_sub(1)?;
            layer.high[axis] = self.low[axis];
        }
        (layer.high[axis] <= shape[axis]).then_some(layer)
    }

    fn with(self, layer: Self) -> Self {
        Self {
            low: [0, 1, 2].map(|axis| self.low[axis].min(layer.low[axis])),
            high: [0, 1, 2].map(|axis| self.high[axis].max(layer.high[axis])),
        }
    }

    fn are_all(self, shape: [usize; 3], heavy: &[bool], wanted: bool) -> bool {
        let rows = self.high[0] - self.low[0];
        (self.low[2]..self.high[2]).all(|z| {
            (self.low[1]..self.high[1]).all(|y| {
                let first = index(shape, [self.low[0], y, z]);
                heavy[first..][..rows].iter().all(|&is| is == wanted)
            })
        })
    }
}

/// Box grown from a block, side after side by one block, as long as all in it are as heavy as the block.
fn box_around(shape: [usize; 3], heavy: &[bool], block: usize) -> MajorantBox {
    let [nx, ny, _] = shape;
    let low = [block % nx, block / nx % ny, block / nx / ny];
    let mut extent = Extent {
        low,
        high: low.map(|first| first + 1),
    };
    let mut grows = true;
    while grows {
        grows = false;
        for (axis, upward) in (0..3).flat_map(|axis| [(axis, false), (axis, true)]) {
            let layer = extent.layer(shape, axis, upward);
            if let Some(layer) = layer.filter(|l| l.are_all(shape, heavy, heavy[block])) {
                extent = extent.with(layer);
                grows = true;
            }
        }
    }
    MajorantBox {
        low: extent.low.map(|first| first as u8),
        is_heavy: u8::from(heavy[block]),
        high: extent.high.map(|end| end as u8),
        padding: 0,
    }
}

/// Greatest density of each class among voxels no denser than `most_g_cm3`.
fn greatest_densities(voxels: &Voxels, most_g_cm3: f32) -> [f32; CLASSES] {
    let mut greatest = [0.0_f32; CLASSES];
    for (&material, &density) in voxels.materials().iter().zip(voxels.densities_g_cm3()) {
        if density <= most_g_cm3 {
            let class = &mut greatest[material as usize];
            *class = class.max(density);
        }
    }
    greatest
}

/// Greatest attenuation at each node of the energies: between nodes the greatest of straight lines lies below the line between their
/// greatest ends.
fn majorant(tables: &TablesByClass<'_>, greatest_density: &[f32; CLASSES]) -> Vec<f32> {
    (0..photon::ENERGY_GRID.nodes())
        .map(|node| {
            tables
                .iter()
                .zip(greatest_density)
                .filter_map(|(table, density)| {
                    table.map(|table| table.photon[node * photon::WIDTH] * density)
                })
                .fold(0.0, f32::max)
        })
        .collect()
}

#[cfg(test)]
mod tests;
