//! Small worlds for unit tests.

use crate::particle::{Deposit, Kind, Particle, Scorer};
use crate::tables::{MaterialTables, shipped};
use crate::voxels::{VoxelGrid, Voxels};
use glam::DVec3;
use physics::Material;

pub struct Nothing;

impl Scorer for Nothing {
    fn deposit(&mut self, _: &Deposit) {}
}

pub fn tables() -> &'static [MaterialTables] {
    &shipped().expect("tables of the repository")[0].materials
}

/// Voxels of 1 cm with the materials of a pattern, at their own densities.
pub fn cubes(shape: [usize; 3], pattern: impl Fn([usize; 3]) -> Material) -> Voxels {
    let grid = VoxelGrid {
        shape,
        origin_cm: DVec3::ZERO,
        spacing_cm: DVec3::ONE,
        periodic: [false; 3],
    };
    let materials: Vec<Material> = (0..shape.iter().product())
        .map(|voxel| pattern(grid.cell_of_index(voxel)))
        .collect();
    let densities = materials
        .iter()
        .map(|&material| particles::Medium::of(material).density_g_cm3 as f32)
        .collect();
    Voxels::new(grid, materials, densities).expect("cubes")
}

pub fn particle(kind: Kind, energy_mev: f64, key: u64) -> Particle {
    Particle {
        kind,
        energy_mev,
        position_cm: DVec3::splat(0.5),
        direction: DVec3::Z,
        weight: 1,
        key,
    }
}
