//! Discrete interactions of charged particles: knock-on electrons above the production threshold, annihilation in flight.

pub mod annihilation;
pub mod bhabha;
pub mod moller;

use crate::charge::Charge;
use crate::constants::COLLISION_MEV_CM2_MOL;
use crate::medium::Medium;

/// Energies at which the greatest cross section is looked for, in even steps of the logarithm from the threshold to a
/// thousand times it.
const SCAN_STEPS: usize = 20_000;
const SCAN_SPAN: f64 = 1e3;

/// Cross section of knock-on electrons per transferred energy, cm2/(MeV g).
pub fn differential_cm2_mev_g(
    medium: &Medium,
    charge: Charge,
    energy_mev: f64,
    transfer_mev: f64,
) -> f64 {
    match charge {
        Charge::Electron => moller::differential_cm2_mev_g(medium, energy_mev, transfer_mev),
        Charge::Positron => bhabha::differential_cm2_mev_g(medium, energy_mev, transfer_mev),
    }
}

/// Cross section of knock-on electrons above `cut_mev`, cm2/g.
pub fn cross_section_cm2_g(medium: &Medium, charge: Charge, energy_mev: f64, cut_mev: f64) -> f64 {
    match charge {
        Charge::Electron => moller::cross_section_cm2_g(medium, energy_mev, cut_mev),
        Charge::Positron => bhabha::cross_section_cm2_g(medium, energy_mev, cut_mev),
    }
}

/// The greatest cross section above `cut_mev` at any energy, cm2/g: a rate that holds while a particle loses energy, from
/// which collisions are taken with the probability of the true one.
pub fn greatest_cross_section_cm2_g(medium: &Medium, charge: Charge, cut_mev: f64) -> f64 {
    let threshold_mev = cut_mev * cut_mev / charge.maximum_transfer_mev(cut_mev);
    (0..=SCAN_STEPS)
        .map(|step| threshold_mev * SCAN_SPAN.powf(step as f64 / SCAN_STEPS as f64))
        .map(|energy_mev| cross_section_cm2_g(medium, charge, energy_mev, cut_mev))
        .fold(high_energy_limit_cm2_g(medium, cut_mev), f64::max)
}

/// Limit of both cross sections at high energies, cm2/g: 2 pi re^2 m NA (Z/A)/cut.
fn high_energy_limit_cm2_g(medium: &Medium, cut_mev: f64) -> f64 {
    COLLISION_MEV_CM2_MOL * medium.z_over_a_mol_g() / cut_mev
}

#[cfg(test)]
mod tests {
    use super::*;
    use physics::Material;

    #[test]
    fn no_energy_has_a_greater_cross_section() {
        let medium = Medium::of(Material::Water);
        for charge in Charge::BOTH {
            for cut_mev in [0.1, 0.2] {
                let greatest = greatest_cross_section_cm2_g(&medium, charge, cut_mev);
                for energy_mev in [0.21, 0.4, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0, 30.0] {
                    let value = cross_section_cm2_g(&medium, charge, energy_mev, cut_mev);
                    assert!(
                        value <= greatest * (1.0 + 1e-6),
                        "{charge:?} {energy_mev} MeV: {value}"
                    );
                }
                let limit = cross_section_cm2_g(&medium, charge, 1e4, cut_mev);
                let expected = high_energy_limit_cm2_g(&medium, cut_mev);
                assert!(
                    (limit / expected - 1.0).abs() < 1e-3,
                    "{charge:?}: {limit} and {expected}"
                );
            }
        }
    }
}
