//! Voxels that particles cross: materials and densities on an even grid, vacuum outside.

use glam::DVec3;
use physics::Material;

/// Place of a voxel on the grid, by x, y, z.
pub type Cell = [usize; 3];

/// Even grid of voxels in cm. Arrays run fastest along x.
#[derive(Clone, Debug)]
pub struct Voxels {
    grid: VoxelGrid,
    materials: Vec<Material>,
    densities_g_cm3: Vec<f32>,
}

/// Shape and place of the voxels.
#[derive(Clone, Copy, Debug)]
pub struct VoxelGrid {
    pub shape: [usize; 3],
    /// Corner with the least coordinates, cm.
    pub origin_cm: DVec3,
    pub spacing_cm: DVec3,
    /// Sides through which a particle comes back on the other one, by axis.
    pub periodic: [bool; 3],
}

/// Why voxels cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VoxelsError {
    #[error("{materials} materials and {densities} densities for {voxels} voxels")]
    Count {
        voxels: usize,
        materials: usize,
        densities: usize,
    },
    #[error("a density of {0} g/cm3")]
    Density(f32),
    #[error("a grid without volume")]
    Grid,
}

/// Face that a track leaves a voxel by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    pub axis: usize,
    pub distance_cm: f64,
}

/// Place behind a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossing {
    Voxel,
    Outside,
}

impl Voxels {
    /// # Errors
    ///
    /// Arrays of another length, densities that are negative or not finite, a grid without volume.
    pub fn new(
        grid: VoxelGrid,
        materials: Vec<Material>,
        densities_g_cm3: Vec<f32>,
    ) -> Result<Self, VoxelsError> {
        let voxels = grid
            .shape
            .iter()
            .try_fold(1_usize, |count, &n| count.checked_mul(n))
            .ok_or(VoxelsError::Grid)?;
        let has_volume = voxels > 0
            && grid.spacing_cm.min_element() > 0.0
            && grid.spacing_cm.is_finite()
            && grid.origin_cm.is_finite();
        if !has_volume {
            return Err(VoxelsError::Grid);
        }
        if materials.len() != voxels || densities_g_cm3.len() != voxels {
            return Err(VoxelsError::Count {
                voxels,
                materials: materials.len(),
                densities: densities_g_cm3.len(),
            });
        }
        if let Some(&density) = densities_g_cm3
            .iter()
            .find(|density| !(density.is_finite() && **density >= 0.0))
        {
            return Err(VoxelsError::Density(density));
        }
        Ok(Self {
            grid,
            materials,
            densities_g_cm3,
        })
    }

    pub fn grid(&self) -> &VoxelGrid {
        &self.grid
    }

    pub fn count(&self) -> usize {
        self.materials.len()
    }

    pub fn materials(&self) -> &[Material] {
        &self.materials
    }

    pub fn densities_g_cm3(&self) -> &[f32] {
        &self.densities_g_cm3
    }

    pub fn material(&self, voxel: usize) -> Material {
        self.materials[voxel]
    }

    pub fn density_g_cm3(&self, voxel: usize) -> f64 {
        f64::from(self.densities_g_cm3[voxel])
    }

    /// Mass of a voxel, g.
    pub fn mass_g(&self, voxel: usize) -> f64 {
        self.density_g_cm3(voxel) * self.grid.spacing_cm.element_product()
    }

    pub fn index(&self, cell: Cell) -> usize {
        let [nx, ny, _] = self.grid.shape;
        (cell[2] * ny + cell[1]) * nx + cell[0]
    }
}

impl VoxelGrid {
    fn upper_cm(&self) -> DVec3 {
        self.origin_cm + self.spacing_cm * DVec3::from_array(self.shape.map(|n| n as f64))
    }

    /// Cell of an index into the arrays.
    pub fn cell_of_index(&self, voxel: usize) -> Cell {
        let [nx, ny, _] = self.shape;
        [voxel % nx, voxel / nx % ny, voxel / nx / ny]
    }

    /// Voxel that holds a point; none outside.
    pub fn cell_of(&self, position_cm: DVec3) -> Option<Cell> {
        let place = (position_cm - self.origin_cm) / self.spacing_cm;
        let mut cell = [0; 3];
        for axis in 0..3 {
            if !(place[axis] >= 0.0 && place[axis] < self.shape[axis] as f64) {
                return None;
            }
            cell[axis] = place[axis] as usize;
        }
        Some(cell)
    }

    /// Point brought back through periodic sides.
    pub fn wrapped(&self, mut position_cm: DVec3) -> DVec3 {
        for axis in 0..3 {
            if self.periodic[axis] {
                let length = self.spacing_cm[axis] * self.shape[axis] as f64;
                let offset = (position_cm[axis] - self.origin_cm[axis]).rem_euclid(length);
                position_cm[axis] = self.origin_cm[axis] + offset;
            }
        }
        position_cm
    }

    /// Distance along a direction to where a ray enters the grid, cm: zero inside, none for a ray that misses it.
    pub fn entry_cm(&self, position_cm: DVec3, direction: DVec3) -> Option<f64> {
        let upper = self.upper_cm();
        let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
        for axis in 0..3 {
            let [low, high] = [self.origin_cm[axis], upper[axis]];
            if direction[axis] == 0.0 {
                if position_cm[axis] < low || position_cm[axis] >= high {
                    return None;
                }
                continue;
            }
            let [a, b] = [low, high].map(|side| (side - position_cm[axis]) / direction[axis]);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        (enter < leave).then_some(enter)
    }

    /// Nearest face of a voxel ahead of a point in it.
    pub fn face_ahead(&self, cell: Cell, position_cm: DVec3, direction: DVec3) -> Face {
        let mut nearest = Face {
            axis: 0,
            distance_cm: f64::INFINITY,
        };
        for axis in 0..3 {
            if direction[axis] == 0.0 {
                continue;
            }
            let side = self.side_cm(cell, axis, direction[axis] > 0.0);
            let distance_cm = (side - position_cm[axis]) / direction[axis];
            if distance_cm < nearest.distance_cm {
                nearest = Face { axis, distance_cm };
            }
        }
        // Rounding may leave a point beyond its face by the last bit.
        nearest.distance_cm = nearest.distance_cm.max(0.0);
        nearest
    }

    fn side_cm(&self, cell: Cell, axis: usize, upper: bool) -> f64 {
        self.origin_cm[axis] + self.spacing_cm[axis] * (cell[axis] + usize::from(upper)) as f64
    }

    /// Moves a track through a face: the cell by one, the point onto the face exactly, so that the cell is what says where the track is.
    pub fn cross(
        &self,
        axis: usize,
        direction: DVec3,
        cell: &mut Cell,
        position_cm: &mut DVec3,
    ) -> Crossing {
        let forward = direction[axis] > 0.0;
        position_cm[axis] = self.side_cm(*cell, axis, forward);
        let last = self.shape[axis] - 1;
        let at_side = cell[axis] == if forward { last } else { 0 };
        match (at_side, self.periodic[axis]) {
            (true, false) => return Crossing::Outside,
            (true, true) => {
                cell[axis] = if forward { 0 } else { last };
                position_cm[axis] = self.side_cm(*cell, axis, !forward);
            }
            (false, _) if forward => cell[axis] += 1,
            (false, _) => cell[axis] -= 1,
        }
        Crossing::Voxel
    }
}

#[cfg(test)]
mod tests;
