//! Input of a run: the lattice, the head source, and the kernels of its energy bins.

use super::request::{MccsRequest, Variant};
use super::rows::KernelRows;
use super::tables::{BinKernel, CLASSES, PackedVoxel};
use crate::JobControl;
use crate::cccs::calibrate::{MonitorUnit, MonitorUnitOf};
use crate::digest::Digest;
use crate::dose::DoseError;
use crate::dose::lattice::Lattice;
use crate::dose::medium::{Medium, attenuation_over_water};
use crate::histories;
use crate::histories::contaminant::electron_row;
use crate::histories::head::tables::{ELECTRON, PHOTON};
use crate::histories::head::{HeadRequest, HeadSource, SampledLine};
use bytemuck::cast_slice;
use case::DoseEngine;
use physics::kernel::KernelTable;
use physics::kernel_beam::GY_G_PER_MEV;
use physics::{Electrons, Machine, Material, Patient};
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
    /// Particles weigh the quanta that they deposit.
    pub head: HeadSource,
    /// By energy bin of the head source.
    pub kernels: Vec<BinKernel>,
    /// Part of a kernel's energy up to each cone, by bin.
    pub cones: Vec<f32>,
    /// Cumulative kernels, by bin and cone.
    pub rows: Vec<f32>,
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
        let head_request = HeadRequest {
            patient: &request.patient,
            beams: &request.beams,
            lattice: &medium.grid,
        };
        let head = HeadSource::new(
            head_request,
            &|machine: &Machine| monitor_unit(machine).map(MonitorUnit::output),
            control,
        )?;
        let voxels = packed(&medium, &request.patient);
        let mut simulation = Self {
            lattice,
            voxels,
            head,
            kernels: Vec::new(),
            cones: Vec::new(),
            rows: Vec::new(),
            directions: request.directions,
            seed: request.seed,
            variant: request.variant,
            gy_g_cm3_per_quantum: 0.0,
            medium,
        };
        simulation.add_lines(&attenuation_over_water(spectrum), monitor_unit)?;
        Ok(simulation)
    }

    /// Energies of all machines with their kernels; `over_water` is the attenuation by which the lattice's densities are equivalent.
    fn add_lines(
        &mut self,
        over_water: &[f64],
        monitor_unit: MonitorUnitOf<'_>,
    ) -> Result<(), DoseError> {
        let machines = std::mem::take(&mut self.head.machines);
        let whole_mev: f64 = machines.iter().map(|m| m.energy_mev()).sum();
        let quanta_per_mev = QUANTA / whole_mev;
        let mut lines = Vec::new();
        for (number, m) in machines.iter().enumerate() {
            let share = m.energy_mev() / whole_mev;
            let electron_share = if m.electrons.is_some() {
                ELECTRON_HISTORIES
            } else {
                0.0
            };
            let spectrum = &m.machine.spectrum;
            let importances = spectrum
                .bins()
                .map(|(mev, photons)| self.importance(mev, photons));
            let sum: f64 = importances.sum();
            for (mev, photons) in spectrum.bins().filter(|(_, photons)| *photons > 0.0) {
                let importance = self.importance(mev, photons);
                let fraction = self.add_photon_kernel(mev, over_water);
                lines.push(SampledLine {
                    machine: number,
                    kind: PHOTON,
                    energy_mev: mev,
                    chance: share * (1.0 - electron_share) * importance / sum,
                    weight: quanta_per_mev * photons * mev * fraction,
                });
            }
            if let (Some(_), Some(electrons)) = (m.electrons, &m.machine.electrons) {
                let depth_g_cm2 = self.add_electron_kernel(electrons);
                let mev = monitor_unit(&m.machine)?.electrons_gy * depth_g_cm2 / GY_G_PER_MEV;
                lines.push(SampledLine {
                    machine: number,
                    kind: ELECTRON,
                    // Their dose falls off along the ray by depth alone.
                    energy_mev: 0.0,
                    chance: share * electron_share,
                    weight: quanta_per_mev * mev,
                });
            }
        }
        self.head.machines = machines;
        self.head.set_lines(&lines);
        let [x, y, z] = self.lattice.spacing_mm;
        self.gy_g_cm3_per_quantum = GY_G_PER_MEV / (quanta_per_mev * 1e-3 * x * y * z);
        Ok(())
    }

    /// How often photons of an energy are sampled, relative.
    fn importance(&self, mev: f64, photons: f64) -> f64 {
        match self.variant {
            Variant::Own => photons * mev,
            Variant::Paper => photons,
        }
    }

    /// Adds the kernel of an energy; returns the part of the photon's energy that comes to rest within its last radius.
    fn add_photon_kernel(&mut self, mev: f64, over_water: &[f64]) -> f64 {
        let kernel = KernelRows::new(mev);
        self.kernels.push(BinKernel {
            cones_at: self.cones.len() as u32,
            rows_at: self.rows.len() as u32,
            near_cm: KernelRows::primary_range_cm(mev) as f32,
            mu: attenuation(mev, over_water),
        });
        self.cones.extend(&kernel.cones);
        self.rows.extend(&kernel.rows);
        kernel.fraction
    }

    /// Adds the fall-off of contaminant electrons; returns its integral over depth, g/cm2.
    fn add_electron_kernel(&mut self, electrons: &Electrons) -> f64 {
        let (row, depth_g_cm2) = electron_row(electrons);
        self.kernels.push(BinKernel {
            rows_at: self.rows.len() as u32,
            near_cm: f32::MAX,
            ..BinKernel::default()
        });
        self.rows.extend(&row);
        depth_g_cm2
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
        self.head.add_to(&mut digest);
        let tables: [&[u8]; 4] = [
            cast_slice(&self.voxels),
            cast_slice(&self.kernels),
            cast_slice(&self.cones),
            cast_slice(&self.rows),
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
        let numbers =
            format!("{lattice:?} {directions} {seed} {variant:?} {gy_g_cm3_per_quantum:e}");
        digest.add_bytes(numbers.as_bytes());
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
    let materials = medium.materials(patient);
    { medium.equivalent_g_cm3.data().par_iter().zip(materials) }
        .map(|(density_g_cm3, material)| PackedVoxel::new(*density_g_cm3, material as u8))
        .collect()
}
