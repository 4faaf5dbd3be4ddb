//! Collision stopping power of electrons and positrons, and the CSDA range.

use crate::bremsstrahlung::Bremsstrahlung;
use crate::charge::{Charge, Kinematics};
use crate::constants::{COLLISION_MEV_CM2_MOL, ELECTRON_MASS_MEV};
use crate::density_effect::density_effect;
use crate::medium::Medium;
use crate::numeric::{geometric_panels, integrate};
use std::f64::consts::LN_2;

/// Below this energy, where the table of bremsstrahlung ends, the range follows from a stopping power in proportion to 1/T:
/// Bethe's formula without its logarithm.
const RANGE_FROM_MEV: f64 = 0.001;

/// Unrestricted mass collision stopping power, MeV cm2/g (ICRU 37, eq. 3.9 to 3.11).
pub fn collision_mev_cm2_g(medium: &Medium, charge: Charge, energy_mev: f64) -> f64 {
    let Kinematics { tau, beta2, .. } = Kinematics::of(energy_mev);
    let shape = match charge {
        Charge::Electron => (1.0 - beta2) * (1.0 + tau * tau / 8.0 - (2.0 * tau + 1.0) * LN_2),
        Charge::Positron => {
            let y = 1.0 / (tau + 2.0);
            2.0 * LN_2 - beta2 / 12.0 * (23.0 + y * (14.0 + y * (10.0 + y * 4.0)))
        }
    };
    let logarithm = 2.0 * (energy_mev / medium.mean_excitation_mev).ln() + (tau / 2.0).ln_1p();
    scaled(
        medium,
        beta2,
        logarithm + shape - density_effect(medium.material, energy_mev),
    )
}

/// Mass stopping power of collisions that transfer less than `cut_mev`, MeV cm2/g (ICRU 37, section 3.5: Moller's and
/// Bhabha's cross sections to the cut); unrestricted where no collision transfers as much.
pub fn restricted_collision_mev_cm2_g(
    medium: &Medium,
    charge: Charge,
    energy_mev: f64,
    cut_mev: f64,
) -> f64 {
    if cut_mev >= charge.maximum_transfer_mev(energy_mev) {
        return collision_mev_cm2_g(medium, charge, energy_mev);
    }
    let Kinematics {
        tau, gamma, beta2, ..
    } = Kinematics::of(energy_mev);
    let cut = cut_mev / ELECTRON_MASS_MEV;
    let shape = match charge {
        Charge::Electron => {
            let exchange = cut * cut / 2.0 + (2.0 * tau + 1.0) * (-cut / tau).ln_1p();
            -1.0 - beta2 + ((tau - cut) * cut).ln() + tau / (tau - cut) + exchange / (gamma * gamma)
        }
        Charge::Positron => {
            let y = 1.0 / (tau + 2.0);
            let cut2 = cut * cut;
            let cut3 = cut2 * cut;
            let constant_term = tau + 2.0 * cut - 1.5 * cut2 * y;
            let square_term = (cut - cut3 / 3.0) * y * y;
            let cube_term = (cut2 / 2.0 - tau * cut3 / 3.0 + cut3 * cut / 4.0) * y.powi(3);
            (tau * cut).ln() - beta2 / tau * (constant_term - square_term - cube_term)
        }
    };
    let excitation = medium.mean_excitation_mev / ELECTRON_MASS_MEV;
    let logarithm = (2.0 * (tau + 2.0) / (excitation * excitation)).ln();
    scaled(
        medium,
        beta2,
        logarithm + shape - density_effect(medium.material, energy_mev),
    )
}

fn scaled(medium: &Medium, beta2: f64, stopping_number: f64) -> f64 {
    COLLISION_MEV_CM2_MOL * medium.z_over_a_mol_g() / beta2 * stopping_number
}

/// Range in the continuous slowing down approximation, g/cm2: the integral of the inverse of the total stopping power.
pub fn csda_range_g_cm2(bremsstrahlung: &Bremsstrahlung, charge: Charge, energy_mev: f64) -> f64 {
    let inverse_total = |energy_mev: f64| {
        let collision = collision_mev_cm2_g(bremsstrahlung.medium(), charge, energy_mev);
        let radiative = bremsstrahlung
            .spectrum(charge, energy_mev)
            .radiative_mev_cm2_g();
        1.0 / (collision + radiative)
    };
    let start_mev = RANGE_FROM_MEV.min(energy_mev);
    // With S in proportion to 1/T the range is T/(2 S).
    let start_g_cm2 = 0.5 * start_mev * inverse_total(start_mev);
    start_g_cm2 + integrate(&geometric_panels(start_mev, energy_mev, 4.0), inverse_total)
}

#[cfg(test)]
mod tests;
