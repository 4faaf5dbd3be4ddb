//! Input of a run: the lattice, the groups of histories by energy, the heads.

use super::heads::{Heads, MachineHead, MonitorUnitOf};
use super::request::{MccsRequest, Variant};
use super::rows::{KernelRows, electron_row};
use super::tables::{CLASSES, ELECTRON, Group, PHOTON, PackedVoxel, RADII, RADIUS_STEP_MM};
use crate::JobControl;
use crate::digest::Digest;
use crate::dose::DoseError;
use crate::dose::lattice::Lattice;
use crate::dose::medium::{Medium, attenuation_over_water};
use crate::histories;
use bytemuck::cast_slice;
use case::DoseEngine;
use geometry::Grid;
use physics::kernel::KernelTable;
use physics::kernel_beam::GY_G_PER_MEV;
use physics::{Material, Patient, Softening};
use rayon::prelude::*;
use std::sync::Arc;

/// Part of the histories that are contaminant electrons, where a machine has any.
const ELECTRON_HISTORIES: f64 = 0.02;
/// Energy of a mean history, quanta: deposits are whole numbers of quanta, so that their sum does not depend on their order.
const QUANTA: f64 = (1u64 << 25) as f64;

/// Ready to run histories.
pub struct Simulation {
    pub medium: Arc<Medium>,
    pub lattice: Lattice,
    /// Density and material class of each voxel, x fastest.
    pub voxels: Vec<PackedVoxel>,
    pub groups: Vec<Group>,
    pub heads: Heads,
    /// Part of a kernel's energy up to each cone, by group.
    pub cones: Vec<f32>,
    /// Cumulative kernels, by group and cone.
    pub rows: Vec<f32>,
    /// Photons off the axis over those on it, by group.
    pub softening: Vec<[f32; RADII]>,
    pub directions: u32,
    pub seed: u64,
    pub variant: Variant,
    /// Gy g/cm3 for a quantum a history.
    pub gy_g_cm3_per_quantum: f64,
}

impl Simulation {
    /// # Errors
    /// [`DoseError`] of the request; nothing is run.
    pub fn new(
        request: &MccsRequest,
        monitor_unit: MonitorUnitOf<'_>,
        control: &JobControl,
    ) -> Result<Self, DoseError> {
        super::check::check(request)?;
        let spectrum = &request.beams[0].1.spectrum;
        let medium = Medium::cached(&request.patient, spectrum, &request.grid, control)?;
        let lattice = medium.lattice();
        let heads = Heads::new(request, &medium.grid, monitor_unit, control)?;
        let voxels = packed(&medium, &request.patient);
        let mut simulation = Self {
            lattice,
            voxels,
            groups: Vec::new(),
            heads,
            cones: Vec::new(),
            rows: Vec::new(),
            softening: Vec::new(),
            directions: request.directions,
            seed: request.seed,
            variant: request.variant,
            gy_g_cm3_per_quantum: 0.0,
            medium,
        };
        simulation.add_groups(&attenuation_over_water(spectrum));
        Ok(simulation)
    }

    /// The groups of all machines; `over_water` is the attenuation by which the lattice's densities are equivalent.
    fn add_groups(&mut self, over_water: &[f64]) {
        let machines = std::mem::take(&mut self.heads.machines);
        let energy = |m: &MachineHead| m.photons.total * m.machine.spectrum.mean_energy_mev();
        let whole: f64 = machines.iter().map(energy).sum();
        let scale = QUANTA / whole;
        let mut until = 0.0;
        for (head, m) in machines.iter().enumerate() {
            let share = energy(m) / whole;
            let electron_share = if m.electrons.is_some() {
                ELECTRON_HISTORIES
            } else {
                0.0
            };
            let importance = |energy: f64, photons: f64| match self.variant {
                Variant::Own => photons * energy,
                Variant::Paper => photons,
            };
            let sum: f64 = m
                .machine
                .spectrum
                .bins()
                .map(|(e, w)| importance(e, w))
                .sum();
            let softening = Softening::new(&m.machine);
            for (mev, photons) in m.machine.spectrum.bins() {
                if photons <= 0.0 {
                    continue;
                }
                let chance = share * (1.0 - electron_share) * importance(mev, photons) / sum;
                until += chance;
                let kernel = KernelRows::new(mev);
                self.groups.push(Group {
                    until: until as f32,
                    energy: (scale * photons * mev * kernel.fraction / chance) as f32,
                    kind: PHOTON,
                    head: head as u32,
                    cells_at: m.photons.at as u32,
                    cells: m.photons.count as u32,
                    cones_at: self.cones.len() as u32,
                    rows_at: self.rows.len() as u32,
                    softening_at: (self.softening.len() * RADII) as u32,
                    near_cm: KernelRows::primary_range_cm(mev) as f32,
                    mu: attenuation(mev, over_water),
                });
                self.cones.extend(&kernel.cones);
                self.rows.extend(&kernel.rows);
                let mu = KernelTable::water().mu_over_rho_cm2_g(mev);
                self.softening.push(std::array::from_fn(|n| {
                    softening.at(n as f64 * RADIUS_STEP_MM).photons(mu) as f32
                }));
            }
            if let (Some(cells), Some(electrons)) = (m.electrons, &m.machine.electrons) {
                let chance = share * electron_share;
                until += chance;
                let (row, depth_g_cm2) = electron_row(electrons);
                let mev = m.per_mu.electrons_gy * depth_g_cm2 / GY_G_PER_MEV;
                self.groups.push(Group {
                    until: until as f32,
                    energy: (scale * mev / chance) as f32,
                    kind: ELECTRON,
                    head: head as u32,
                    cells_at: cells.at as u32,
                    cells: cells.count as u32,
                    rows_at: self.rows.len() as u32,
                    near_cm: f32::MAX,
                    ..Group::default()
                });
                self.rows.extend(&row);
            }
        }
        if let Some(last) = self.groups.last_mut() {
            last.until = 2.0;
        }
        self.heads.machines = machines;
        let [x, y, z] = self.lattice.spacing_mm;
        self.gy_g_cm3_per_quantum = GY_G_PER_MEV / (scale * 1e-3 * x * y * z);
    }

    /// Voxels per cm along each axis.
    pub fn voxels_per_cm(&self) -> [f32; 3] {
        self.lattice.spacing_mm.map(|mm| (10.0 / mm) as f32)
    }
}

impl histories::Simulation for Simulation {
    const ENGINE: DoseEngine = DoseEngine::MonteCarloConvolution;

    fn medium(&self) -> &Medium {
        &self.medium
    }

    fn gy_g_cm3_per_quantum(&self) -> f64 {
        self.gy_g_cm3_per_quantum
    }

    fn digest(&self) -> String {
        let mut digest = Digest::default();
        let Heads {
            machines: _,
            heads,
            horns,
            beam_positions,
            segments,
            tips_mm,
            leaf_boundaries_mm,
            map_values,
            cells,
        } = &self.heads;
        let tables: [&[u8]; 13] = [
            cast_slice(&self.voxels),
            cast_slice(&self.groups),
            cast_slice(heads),
            cast_slice(horns),
            cast_slice(beam_positions),
            cast_slice(segments),
            cast_slice(tips_mm),
            cast_slice(leaf_boundaries_mm),
            cast_slice(map_values),
            cast_slice(cells),
            cast_slice(&self.cones),
            cast_slice(&self.rows),
            cast_slice(&self.softening),
        ];
        tables.into_iter().for_each(|table| digest.add_bytes(table));
        let Self {
            lattice,
            directions,
            seed,
            variant,
            gy_g_cm3_per_quantum,
            ..
        } = self;
        let rest = format!("{lattice:?} {directions} {seed} {variant:?} {gy_g_cm3_per_quantum:e}");
        digest.add_bytes(rest.as_bytes());
        digest.to_string()
    }
}

/// Attenuation of each class per equivalent density: the energy's own, of the material and not of water.
fn attenuation(mev: f64, over_water: &[f64]) -> [f32; CLASSES] {
    let water = KernelTable::water().mu_over_rho_cm2_g(mev);
    std::array::from_fn(|class| {
        let m = Material::ALL.get(class).copied().unwrap_or(Material::Water);
        let ratio = m.mu_over_rho_cm2_g(mev) / Material::Water.mu_over_rho_cm2_g(mev);
        (water * ratio / over_water[m as usize]) as f32
    })
}

/// Density and material of each voxel of the lattice. The material is that in the middle of the voxel, and only decides how
/// attenuation goes with energy: its mean over the spectrum is in the density already, averaged over the voxel.
fn packed(medium: &Medium, patient: &Patient) -> Vec<PackedVoxel> {
    let grid: &Grid = &medium.grid;
    let [nx, ny, _] = grid.size();
    let density = medium.equivalent_g_cm3.data();
    let mut voxels = vec![PackedVoxel::default(); density.len()];
    voxels
        .par_chunks_mut(nx)
        .enumerate()
        .for_each(|(row, out)| {
            for (i, out) in out.iter_mut().enumerate() {
                let centre = grid.centre_mm(i, row % ny, row / ny);
                let class = patient
                    .material
                    .nearest(centre)
                    .unwrap_or(Material::Water as u8);
                let class = class.min(Material::ALL.len() as u8 - 1);
                *out = PackedVoxel::new(density[row * nx + i], class);
            }
        });
    voxels
}
