//! Input of a run: the patient's voxels with the tables of their materials, and the head source.

use super::check;
use super::patient_world::{PatientWorld, patient_world};
use super::request::McRequest;
use crate::JobControl;
use crate::cccs::calibrate::{MonitorUnit, MonitorUnitOf};
use crate::digest::Digest;
use crate::dose::lattice::Lattice;
use crate::dose::medium::Medium;
use crate::dose::{DoseError, DoseTo};
use crate::histories;
use crate::histories::contaminant::electron_row;
use crate::histories::head::tables::{ELECTRON, PHOTON};
use crate::histories::head::{HeadRequest, HeadSource, SampledLine};
use bytemuck::cast_slice;
use case::DoseEngine;
use geometry::Volume;
use physics::kernel_beam::GY_G_PER_MEV;
use std::sync::Arc;
use transport::World;
use transport::energy::QUANTUM_MEV;
use transport::tables::MaterialTables;

/// Part of the histories that are contaminant electrons, where a machine has any.
const ELECTRON_HISTORIES: f64 = 0.01;
/// Whole units of weight in a photon of mean weight: weights are whole numbers, so that sums of deposits are.
pub const WEIGHT_UNITS: f64 = 16.0;
/// Photons of less weight, as behind closed leaves, are this or nothing (Russian roulette), in units.
pub const LEAST_WEIGHT: f64 = 4.0;

/// Ready to run histories.
pub struct Simulation {
    pub medium: Arc<Medium>,
    pub lattice: Lattice,
    patient: Arc<PatientWorld>,
    /// Photons weigh 1 on the mean, contaminant electrons the quanta that they deposit.
    pub head: HeadSource,
    /// Fall-offs of contaminant electrons, a row of [`NODES`](crate::histories::contaminant::NODES) each.
    pub electron_rows: Vec<f32>,
    /// First entry in `electron_rows` of each bin of the head source.
    pub electron_row_at: Vec<u32>,
    pub dose_to: DoseTo,
    pub seed: u64,
    gy_g_cm3_per_quantum: f64,
    warnings: Vec<String>,
}

impl Simulation {
    /// # Errors
    /// [`DoseError`] of the request; nothing is run.
    pub fn new(
        request: &McRequest,
        monitor_unit: MonitorUnitOf<'_>,
        control: &JobControl,
    ) -> Result<Self, DoseError> {
        check::check(request)?;
        let spectrum = &request.beams[0].1.spectrum;
        let medium = Medium::cached(&request.patient, spectrum, &request.grid, control)?;
        check::check_densities(request, &medium)?;
        let lattice = medium.lattice();
        let patient = patient_world(request, &medium, control)?;
        let head_request = HeadRequest {
            patient: &request.patient,
            beams: &request.beams,
            lattice: &medium.grid,
        };
        let head = HeadSource::new(
            head_request,
            &|machine| monitor_unit(machine).map(MonitorUnit::output),
            control,
        )?;
        let mut simulation = Self {
            warnings: check::warnings(request, lattice.spacing_mm),
            lattice,
            patient,
            head,
            electron_rows: Vec::new(),
            electron_row_at: Vec::new(),
            dose_to: request.dose_to,
            seed: request.seed,
            gy_g_cm3_per_quantum: 0.0,
            medium,
        };
        simulation.add_lines(monitor_unit)?;
        Ok(simulation)
    }

    pub fn world(&self) -> &World<'static> {
        &self.patient.world
    }

    /// Energies of all machines, each sampled as often as it is among the photons: then all weigh alike.
    fn add_lines(&mut self, monitor_unit: MonitorUnitOf<'_>) -> Result<(), DoseError> {
        let photons_in_all: f64 = self.head.machines.iter().map(|m| m.photons.total).sum();
        let units_per_weight = WEIGHT_UNITS * self.world().settings().splitting as f64;
        let mut lines = Vec::new();
        for number in 0..self.head.machines.len() {
            let machine_head = &self.head.machines[number];
            let machine = Arc::clone(&machine_head.machine);
            let share = machine_head.photons.total / photons_in_all;
            let electrons = machine
                .electrons
                .filter(|_| machine_head.electrons.is_some());
            let electron_share = electrons.map_or(0.0, |_| ELECTRON_HISTORIES);
            for (energy_mev, part) in machine.spectrum.bins().filter(|(_, part)| *part > 0.0) {
                self.electron_row_at.push(0);
                lines.push(SampledLine {
                    machine: number,
                    kind: PHOTON,
                    energy_mev,
                    chance: share * (1.0 - electron_share) * part,
                    weight: part / photons_in_all,
                });
            }
            if let Some(electrons) = electrons {
                let (row, depth_g_cm2) = electron_row(&electrons);
                self.electron_row_at.push(self.electron_rows.len() as u32);
                self.electron_rows.extend(row);
                let deposit_mev = monitor_unit(&machine)?.electrons_gy * depth_g_cm2 / GY_G_PER_MEV;
                lines.push(SampledLine {
                    machine: number,
                    kind: ELECTRON,
                    // Their dose falls off along the ray by depth alone.
                    energy_mev: 0.0,
                    chance: share * electron_share,
                    weight: units_per_weight * deposit_mev / (QUANTUM_MEV * photons_in_all),
                });
            }
        }
        self.head.set_lines(&lines);
        let [x, y, z] = self.lattice.spacing_mm;
        self.gy_g_cm3_per_quantum =
            GY_G_PER_MEV * QUANTUM_MEV * photons_in_all / (units_per_weight * 1e-3 * x * y * z);
        Ok(())
    }
}

impl histories::Simulation for Simulation {
    const ENGINE: DoseEngine = DoseEngine::MonteCarlo;

    fn medium(&self) -> &Medium {
        &self.medium
    }

    fn gy_g_cm3_per_quantum(&self) -> f64 {
        self.gy_g_cm3_per_quantum
    }

    /// Dose to water is in the deposits already, by stopping powers.
    fn mass(&self, _: DoseTo) -> &Volume<f32> {
        &self.medium.mass_g_cm3
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn digest(&self) -> String {
        let mut digest = Digest::default();
        self.head.add_to(&mut digest);
        let voxels = self.world().voxels();
        digest.add_bytes(cast_slice(voxels.densities_g_cm3()));
        let classes: Vec<u8> = voxels.materials().iter().map(|m| *m as u8).collect();
        digest.add_bytes(&classes);
        let tables = self.world().all_tables().iter().flatten();
        tables.for_each(|tables| add_tables(&mut digest, tables));
        digest.add_bytes(cast_slice(&self.electron_rows));
        let Self {
            lattice,
            dose_to,
            seed,
            gy_g_cm3_per_quantum,
            ..
        } = self;
        let settings = self.world().settings();
        let settings_text =
            format!("{lattice:?} {dose_to:?} {seed} {settings:?} {gy_g_cm3_per_quantum:e}");
        digest.add_bytes(settings_text.as_bytes());
        digest.to_string()
    }
}

fn add_tables(digest: &mut Digest, tables: &MaterialTables) {
    let [electrons, positrons] = &tables.charged;
    let arrays: [&[f32]; 4] = [electrons, positrons, &tables.photon, &tables.compton];
    arrays
        .into_iter()
        .for_each(|array| digest.add_bytes(cast_slice(array)));
}
