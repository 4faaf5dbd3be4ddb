//! All tables of one material.

use super::angles::Angles;
use super::{Thresholds, angles, bremsstrahlung, charged, compton, photon, rayleigh};
use particles::goudsmit_saunderson::{NODES, UnfittedMean};
use particles::photon::compton::Electrons;
use particles::photon::{CrossSections, ScatteringFunctions};
use particles::{Charge, Medium, bremsstrahlung::Bremsstrahlung};
use physics::Material;

/// Tables of a material for a pair of thresholds, each a flat array; the modules beside this one have their rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialTables {
    pub material: Material,
    pub thresholds: Thresholds,
    /// Electrons, then positrons.
    pub charged: [Vec<f32>; 2],
    /// Bound of the cross section of knock-on electrons and annihilation, cm2/g: electrons, then positrons.
    pub collision_bound_cm2_g: [f32; 2],
    pub photon: Vec<f32>,
    pub compton: Vec<f32>,
    pub rayleigh: Vec<f32>,
    pub bremsstrahlung: Vec<f32>,
    pub angles: Angles,
}

impl MaterialTables {
    /// Tables computed from the cross sections of `particles`: seconds of work.
    ///
    /// # Errors
    ///
    /// A multiple-scattering angle whose mean no table has.
    pub fn new(material: Material, thresholds: Thresholds) -> Result<Self, UnfittedMean> {
        let medium = Medium::of(material);
        let photons = Bremsstrahlung::of(medium);
        let functions = ScatteringFunctions::of(&medium);
        Ok(Self {
            material,
            thresholds,
            charged: charged_tables(&photons, thresholds),
            collision_bound_cm2_g: collision_bounds(&medium, thresholds),
            photon: photon::table(&CrossSections::of(material)),
            compton: compton::table(Electrons::Bound(&functions)),
            rayleigh: rayleigh::table(&functions),
            bremsstrahlung: bremsstrahlung::table(&photons),
            angles: Angles::new(&medium)?,
        })
    }

    /// Tables of other thresholds: all but the losses and cross sections of charged particles are the same.
    pub fn for_thresholds(&self, thresholds: Thresholds) -> Self {
        let medium = Medium::of(self.material);
        Self {
            thresholds,
            charged: charged_tables(&Bremsstrahlung::of(medium), thresholds),
            collision_bound_cm2_g: collision_bounds(&medium, thresholds),
            ..self.clone()
        }
    }

    /// Value of a column of the charged particles' table.
    pub fn charged_at(&self, charge: Charge, energy_mev: f64, column: charged::Column) -> f64 {
        charged::ENERGY_GRID.place(energy_mev as f32).in_table(
            &self.charged[charge as usize],
            charged::WIDTH,
            column as usize,
        )
    }

    /// All columns of the charged particles' table.
    pub(crate) fn charged_row(&self, charge: Charge, energy_mev: f64) -> charged::Row {
        let place = charged::ENERGY_GRID.place(energy_mev as f32);
        let [soft, transport, bremsstrahlung, ln_energy] =
            place.row_of(&self.charged[charge as usize]);
        charged::Row {
            soft_mev_cm2_g: soft,
            transport_cm2_g: transport,
            bremsstrahlung_cm2_g: bremsstrahlung,
            ln_energy,
        }
    }

    /// All columns of the photons' table: attenuation, cm2/g, then the cumulative shares of processes in it.
    pub(crate) fn photon_row(&self, photon_mev: f64) -> [f64; photon::WIDTH] {
        photon::ENERGY_GRID
            .place(photon_mev as f32)
            .row_of(&self.photon)
    }

    /// Total mass attenuation coefficient, cm2/g.
    pub fn attenuation_cm2_g(&self, photon_mev: f64) -> f64 {
        photon::ENERGY_GRID.place(photon_mev as f32).in_table(
            &self.photon,
            photon::WIDTH,
            photon::Column::Attenuation as usize,
        )
    }

    /// Whether every array is as long as its grid, which readers of the tables rely on.
    pub(super) fn has_the_lengths_of_its_grids(&self) -> bool {
        let charged = charged::ENERGY_GRID.nodes() * charged::WIDTH;
        let rows_of_angles = angles::ENERGIES * angles::PATHS;
        self.charged.iter().all(|table| table.len() == charged)
            && self.photon.len() == photon::ENERGY_GRID.nodes() * photon::WIDTH
            && self.compton.len() == compton::ENERGY_GRID.nodes() * compton::PROBABILITIES
            && self.rayleigh.len() == rayleigh::ENTRIES
            && self.bremsstrahlung.len()
                == bremsstrahlung::ENERGY_GRID.nodes() * bremsstrahlung::SHARES
            && self.angles.v.len() == rows_of_angles * NODES
            && self.angles.bends.len() == rows_of_angles
    }

    /// Arrays that do not depend on the thresholds, in the order of the file.
    pub(super) fn shared_arrays(&self) -> [&[f32]; 6] {
        [
            &self.photon,
            &self.compton,
            &self.rayleigh,
            &self.bremsstrahlung,
            &self.angles.v,
            &self.angles.bends,
        ]
    }

    /// Arrays that belong to the thresholds, in the order of the file.
    pub(super) fn arrays_of_thresholds(&self) -> [&[f32]; 3] {
        [
            &self.charged[0],
            &self.charged[1],
            &self.collision_bound_cm2_g,
        ]
    }
}

fn charged_tables(photons: &Bremsstrahlung, thresholds: Thresholds) -> [Vec<f32>; 2] {
    Charge::BOTH.map(|charge| charged::table(photons, charge, thresholds))
}

fn collision_bounds(medium: &Medium, thresholds: Thresholds) -> [f32; 2] {
    Charge::BOTH.map(|charge| charged::collision_bound_cm2_g(medium, charge, thresholds) as f32)
}
