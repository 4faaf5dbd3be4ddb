//! Surroundings of a particle: voxels, tables of their materials, settings.

use crate::energy::LEAST_CUT_OFF_MEV;
use crate::majorants::{Majorants, TablesByClass};
use crate::tables::{MaterialTables, Thresholds};
use crate::voxels::{Cell, VoxelGrid, Voxels};
use bytemuck::{Pod, Zeroable};
use physics::Material;
use std::borrow::Cow;

/// Density below which gas begins, g/cm3: in it electrons below the usual cut-off still go centimetres.
const GAS_BELOW_G_CM3: f64 = 0.1;
const CLASSES: usize = Material::ALL.len();

/// How histories are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Kinetic energy at which electrons end, MeV: the production threshold.
    pub cut_off_mev: f64,
    /// The same in gas and in voxels beside it, MeV.
    pub gas_cut_off_mev: f64,
    /// Photons below are absorbed where they are, MeV.
    pub photon_cut_off_mev: f64,
    /// Share of its energy that an electron loses between two angles of multiple scattering.
    pub step_loss: f64,
    /// Virtual collisions for each real one of a photon; 1 is transport as it is.
    pub splitting: u64,
}

impl Settings {
    /// For tables of these thresholds, as the design has them.
    pub fn for_thresholds(thresholds: Thresholds) -> Self {
        Self {
            cut_off_mev: thresholds.electron_mev,
            gas_cut_off_mev: LEAST_CUT_OFF_MEV,
            photon_cut_off_mev: 0.01,
            step_loss: 0.2,
            splitting: 1,
        }
    }
}

/// Why particles cannot be transported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    #[error("no tables of {}", .0.name())]
    NoTables(Material),
    #[error("tables of different thresholds together")]
    Thresholds,
    #[error("settings out of range: {0:?}")]
    Settings(Settings),
}

/// Voxels with the tables of what is in them.
pub struct World<'a> {
    voxels: Cow<'a, Voxels>,
    tables: TablesByClass<'a>,
    settings: Settings,
    thresholds: Thresholds,
    majorants: Majorants,
    matter: Vec<Matter>,
}

/// Density, material and cut-off of a voxel in one word, as cards read it too: three arrays would be read from memory three times.
///
/// The bits of the density, g/cm3, of which the lowest five make way for the class (its number in [`Material::ALL`]) and for whether
/// electrons keep the cut-off of gas: 4e-6 of the density.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Matter(u32);

const CLASS_BITS: u32 = 0xf;
const NEAR_GAS: u32 = 0x10;

impl Matter {
    fn new(material: Material, density_g_cm3: f32, is_near_gas: bool) -> Self {
        let density = density_g_cm3.to_bits() & !(CLASS_BITS | NEAR_GAS);
        let flag = if is_near_gas { NEAR_GAS } else { 0 };
        Self(density | flag | material as u32)
    }

    fn class(self) -> usize {
        (self.0 & CLASS_BITS) as usize
    }

    fn is_near_gas(self) -> bool {
        self.0 & NEAR_GAS != 0
    }

    pub(crate) fn density_g_cm3(self) -> f64 {
        f64::from(f32::from_bits(self.0 & !(CLASS_BITS | NEAR_GAS)))
    }
}

impl<'a> World<'a> {
    /// # Errors
    ///
    /// Materials without tables, tables of different thresholds, settings out of range.
    pub fn new(
        voxels: &'a Voxels,
        tables: &'a [MaterialTables],
        settings: Settings,
    ) -> Result<Self, WorldError> {
        Self::with(Cow::Borrowed(voxels), tables, settings)
    }

    /// World that owns its voxels.
    ///
    /// # Errors
    ///
    /// Errors of [`World::new`].
    pub fn owning(
        voxels: Voxels,
        tables: &'a [MaterialTables],
        settings: Settings,
    ) -> Result<Self, WorldError> {
        Self::with(Cow::Owned(voxels), tables, settings)
    }

    fn with(
        voxels: Cow<'a, Voxels>,
        tables: &'a [MaterialTables],
        settings: Settings,
    ) -> Result<Self, WorldError> {
        let thresholds = tables
            .first()
            .map_or(Thresholds::STANDARD, |t| t.thresholds);
        let are_in_range = (LEAST_CUT_OFF_MEV..=thresholds.electron_mev)
            .contains(&settings.cut_off_mev)
            && (LEAST_CUT_OFF_MEV..=settings.cut_off_mev).contains(&settings.gas_cut_off_mev)
            && (0.01..=thresholds.photon_mev).contains(&settings.photon_cut_off_mev)
            && (0.01..=0.5).contains(&settings.step_loss)
            && (1..=1000).contains(&settings.splitting);
        if !are_in_range {
            return Err(WorldError::Settings(settings));
        }
        let mut by_class = [None; CLASSES];
        for table in tables {
            if table.thresholds != thresholds {
                return Err(WorldError::Thresholds);
            }
            by_class[table.material as usize] = Some(table);
        }
        let mut matter = { voxels.materials().iter() }.zip(voxels.densities_g_cm3());
        let without_tables =
            matter.find(|(class, density)| **density > 0.0 && by_class[**class as usize].is_none());
        if let Some((&material, _)) = without_tables {
            return Err(WorldError::NoTables(material));
        }
        Ok(Self {
            matter: matter_of(&voxels),
            majorants: Majorants::new(&voxels, &by_class),
            voxels,
            tables: by_class,
            settings,
            thresholds,
        })
    }

    pub fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    pub(crate) fn matter(&self, cell: Cell) -> Matter {
        self.matter[self.voxels.index(cell)]
    }

    /// Tables of matter; none of a vacuum.
    pub(crate) fn tables_of(&self, matter: Matter) -> Option<&'a MaterialTables> {
        (matter.density_g_cm3() > 0.0)
            .then(|| self.tables[matter.class()])
            .flatten()
    }

    /// Tables of a voxel's material; none of a vacuum.
    pub fn tables(&self, voxel: usize) -> Option<&'a MaterialTables> {
        self.tables_of(self.matter[voxel])
    }

    /// Energy at which electrons end.
    pub(crate) fn cut_off_mev(&self, matter: Matter) -> f64 {
        if matter.is_near_gas() {
            self.settings.gas_cut_off_mev
        } else {
            self.settings.cut_off_mev
        }
    }

    /// Matter of all voxels.
    pub fn all_matter(&self) -> &[Matter] {
        &self.matter
    }

    /// Tables of each class of [`Material::ALL`] that has any.
    pub fn all_tables(&self) -> &[Option<&'a MaterialTables>] {
        &self.tables
    }

    /// Majorants of photon flights.
    pub fn majorants(&self) -> &Majorants {
        &self.majorants
    }
}

fn matter_of(voxels: &Voxels) -> Vec<Matter> {
    let materials = voxels.materials().iter().zip(voxels.densities_g_cm3());
    materials
        .zip(near_gas(voxels))
        .map(|((&material, &density_g_cm3), is_near_gas)| {
            Matter::new(material, density_g_cm3, is_near_gas)
        })
        .collect()
}

/// Voxels of gas or vacuum and their neighbours over faces, edges and corners, and those at the sides of the grid, behind which
/// there is vacuum. An electron that may come into gas keeps the cut-off
/// of gas, so that it is cut off alike on both sides of the surface: else gas would lose those that end in the wall before it and not
/// those that leave it. 200 keV electrons go 0.45 mm in water, less than a voxel.
fn near_gas(voxels: &Voxels) -> Vec<bool> {
    let is_gas: Vec<bool> = voxels
        .densities_g_cm3()
        .iter()
        .map(|&density| f64::from(density) < GAS_BELOW_G_CM3)
        .collect();
    let mut near = is_gas;
    for axis in 0..3 {
        near = spread_along(voxels, &near, axis);
    }
    mark_sides(voxels, &mut near);
    near
}

fn mark_sides(voxels: &Voxels, flags: &mut [bool]) {
    let grid = voxels.grid();
    for (voxel, flag) in flags.iter_mut().enumerate() {
        let cell = grid.cell_of_index(voxel);
        *flag |= (0..3).any(|axis| is_at_open_side(grid, cell, axis));
    }
}

fn is_at_open_side(grid: &VoxelGrid, cell: Cell, axis: usize) -> bool {
    !grid.periodic[axis] && (cell[axis] == 0 || cell[axis] + 1 == grid.shape[axis])
}

fn spread_along(voxels: &Voxels, flags: &[bool], axis: usize) -> Vec<bool> {
    let shape = voxels.grid().shape;
    let is_periodic = voxels.grid().periodic[axis];
    let mut spread = flags.to_vec();
    for z in 0..shape[2] {
        for y in 0..shape[1] {
            for x in 0..shape[0] {
                let cell = [x, y, z];
                if flags[voxels.index(cell)] {
                    for neighbour in neighbours(cell, axis, shape[axis], is_periodic) {
                        spread[voxels.index(neighbour)] = true;
                    }
                }
            }
        }
    }
    spread
}

fn neighbours(
    cell: Cell,
    axis: usize,
    count: usize,
    is_periodic: bool,
) -> impl Iterator<Item = Cell> {
    let index = cell[axis];
    let below = match index {
        0 if is_periodic => Some(count - 1),
        0 => None,
        _ => Some(index - 1),
    };
    let above = match index + 1 {
        next if next < count => Some(next),
        _ if is_periodic => Some(0),
        _ => None,
    };
    below.into_iter().chain(above).map(move |index| {
        let mut neighbour = cell;
        neighbour[axis] = index;
        neighbour
    })
}
