//! The lattice of the dose: an even box of voxels.

use geometry::Grid;
use glam::DVec3;

/// An even box of voxels in its own frame: centres of voxel (0,0,0) at the origin, spacing in mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    pub size: [usize; 3],
    pub spacing_mm: [f64; 3],
}

impl Lattice {
    pub fn voxels(&self) -> usize {
        self.size.iter().product()
    }
}

/// An even grid as a lattice.
pub fn lattice_of(grid: &Grid) -> Lattice {
    let [x, y] = grid.spacing_xy_mm();
    let z = grid.even_plane_spacing_mm().unwrap_or(x);
    Lattice {
        size: grid.size(),
        spacing_mm: [x, y, z],
    }
}

/// Axes of the lattice along a row, across, and along the slabs, for lines mostly along x, y, z.
pub const ORDERS: [[usize; 3]; 3] = [[1, 2, 0], [0, 2, 1], [0, 1, 2]];

/// The axis along which a direction crosses most voxels.
pub fn dominant_axis(lattice: &Lattice, axis: DVec3) -> usize {
    let speed: [f64; 3] = std::array::from_fn(|a| (axis[a] / lattice.spacing_mm[a]).abs());
    if speed[2] >= speed[0] && speed[2] >= speed[1] {
        2
    } else if speed[1] >= speed[0] {
        1
    } else {
        0
    }
}
