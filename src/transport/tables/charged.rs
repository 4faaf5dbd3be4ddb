//! Tables of electrons and positrons over the kinetic energy: soft losses, transport cross section, hard bremsstrahlung.

use super::Thresholds;
use super::bit_grid::BitGrid;
use crate::energy::LEAST_CUT_OFF_MEV;
use particles::bremsstrahlung::Bremsstrahlung;
use particles::goudsmit_saunderson::{Moments, SingleScattering};
use particles::hard::{annihilation, greatest_cross_section_cm2_g};
use particles::stopping::restricted_collision_mev_cm2_g;
use particles::{Charge, Medium};
use rayon::prelude::*;

/// Grid of the kinetic energy, MeV.
pub const ENERGY_GRID: BitGrid = BitGrid {
    least_exponent: -6,
    octaves: 11,
    log2_per_octave: 5,
};
/// Numbers a node.
pub const WIDTH: usize = 4;

/// Columns of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Losses below the thresholds, MeV cm2/g.
    SoftStoppingPower,
    /// First transport cross section kappa of soft scattering, cm2/g.
    TransportCrossSection,
    /// Bremsstrahlung above its threshold, cm2/g.
    Bremsstrahlung,
    /// Natural logarithm of the energy over MeV.
    LogEnergy,
}

/// Columns at an energy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub soft_mev_cm2_g: f64,
    pub transport_cm2_g: f64,
    pub bremsstrahlung_cm2_g: f64,
    /// Logarithm of the energy over MeV.
    pub ln_energy: f64,
}

/// Rows of `WIDTH` numbers for each node of `ENERGY_GRID`.
pub fn table(bremsstrahlung: &Bremsstrahlung, charge: Charge, thresholds: Thresholds) -> Vec<f32> {
    (0..ENERGY_GRID.nodes())
        .into_par_iter()
        .flat_map_iter(|node| {
            row(
                bremsstrahlung,
                charge,
                f64::from(ENERGY_GRID.value(node)),
                thresholds,
            )
        })
        .collect()
}

/// Row at an energy, in the order of [`Column`].
pub fn row(
    bremsstrahlung: &Bremsstrahlung,
    charge: Charge,
    energy_mev: f64,
    thresholds: Thresholds,
) -> [f32; WIDTH] {
    let medium = bremsstrahlung.medium();
    let spectrum = bremsstrahlung.spectrum(charge, energy_mev);
    let collision =
        restricted_collision_mev_cm2_g(medium, charge, energy_mev, thresholds.electron_mev);
    let radiative = spectrum.restricted_radiative_mev_cm2_g(thresholds.photon_mev);
    let scattering = SingleScattering::new(medium, charge, energy_mev, thresholds.electron_mev);
    [
        (collision + radiative) as f32,
        Moments::first_cm2_g(&scattering) as f32,
        spectrum.cross_section_cm2_g(thresholds.photon_mev) as f32,
        energy_mev.ln() as f32,
    ]
}

/// Bound, cm2/g, of the cross section of knock-on electrons and annihilation in flight together at all energies above the least
/// cut-off: a particle that loses energy keeps it as its rate.
pub fn collision_bound_cm2_g(medium: &Medium, charge: Charge, thresholds: Thresholds) -> f64 {
    let knock_on = greatest_cross_section_cm2_g(medium, charge, thresholds.electron_mev);
    // Annihilation grows as the positron slows down.
    match charge {
        Charge::Electron => knock_on,
        Charge::Positron => knock_on + annihilation::cross_section_cm2_g(medium, LEAST_CUT_OFF_MEV),
    }
}
