//! Annihilation of positrons in flight with free electrons at rest, into two photons: Heitler, The Quantum Theory of
//! Radiation (1954), section 27.

use crate::charge::Kinematics;
use crate::constants::{AVOGADRO_PER_MOL, ELECTRON_MASS_MEV, ELECTRON_RADIUS_CM};
use crate::medium::Medium;
use std::f64::consts::PI;

/// Cross section, cm2/g.
pub fn cross_section_cm2_g(medium: &Medium, energy_mev: f64) -> f64 {
    let Kinematics {
        gamma, momentum2, ..
    } = Kinematics::of(energy_mev);
    let momentum = momentum2.sqrt();
    let scale = PI * ELECTRON_RADIUS_CM.powi(2) * medium.z_over_a_mol_g() * AVOGADRO_PER_MOL
        / ((gamma + 1.0) * momentum2);
    scale
        * ((gamma * gamma + 4.0 * gamma + 1.0) * (gamma + momentum).ln() - (3.0 + gamma) * momentum)
}

/// Least share of the energy T + 2 m that a photon takes.
pub fn minimum_share(energy_mev: f64) -> f64 {
    let Kinematics {
        gamma, momentum2, ..
    } = Kinematics::of(energy_mev);
    1.0 / (gamma + 1.0 + momentum2.sqrt())
}

/// Density of the share of the first photon, not normalised: its integral from the least share to its complement is the
/// bracket of the cross section.
pub fn share_density(energy_mev: f64, share: f64) -> f64 {
    let gamma = Kinematics::of(energy_mev).gamma;
    -(gamma + 1.0).powi(2) + (gamma * gamma + 4.0 * gamma + 1.0) / share - share.powi(-2)
}

/// Share in a draw uniform in its logarithm, `uniform` in [0, 1].
pub fn candidate_share(energy_mev: f64, uniform: f64) -> f64 {
    let minimum = minimum_share(energy_mev);
    minimum * (1.0 / minimum - 1.0).powf(uniform)
}

/// Probability that a candidate is taken: share times density over its maximum, at the share 1/(gamma + 1).
pub fn acceptance(energy_mev: f64, share: f64) -> f64 {
    let gamma = Kinematics::of(energy_mev).gamma;
    share * share_density(energy_mev, share) / (gamma * gamma + 2.0 * gamma - 1.0)
}

/// Cosine between the positron and the photon that takes a share.
pub fn photon_cos(energy_mev: f64, share: f64) -> f64 {
    let Kinematics {
        gamma, momentum2, ..
    } = Kinematics::of(energy_mev);
    (gamma + 1.0 - 1.0 / share) / momentum2.sqrt()
}

/// Energy of both photons, MeV.
pub fn photons_mev(energy_mev: f64) -> f64 {
    energy_mev + 2.0 * ELECTRON_MASS_MEV
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{geometric_panels, integrate};
    use crate::test_data::assert_relative;
    use physics::Material;

    const ENERGIES_MEV: [f64; 4] = [0.05, 0.5, 2.0, 10.0];

    #[test]
    fn two_photons_carry_energy_and_momentum_of_the_positron() {
        for energy_mev in ENERGIES_MEV {
            let momentum_mev = Kinematics::of(energy_mev).momentum2.sqrt() * ELECTRON_MASS_MEV;
            for uniform in [0.001, 0.2, 0.5, 0.8, 0.999] {
                let share = candidate_share(energy_mev, uniform);
                let photons = [share, 1.0 - share].map(|share| {
                    (
                        share * photons_mev(energy_mev),
                        photon_cos(energy_mev, share),
                    )
                });
                let along: f64 = photons.iter().map(|(k_mev, cos)| k_mev * cos).sum();
                assert_relative(along, momentum_mev, 1e-12, "along the positron");
                let [first, second] =
                    photons.map(|(k_mev, cos)| k_mev * (1.0 - cos * cos).max(0.0).sqrt());
                assert!(
                    (first - second).abs() < 1e-7,
                    "across: {first} and {second}"
                );
            }
        }
    }

    #[test]
    fn the_cross_section_is_the_integral_of_the_density() {
        for energy_mev in ENERGIES_MEV {
            let Kinematics {
                gamma, momentum2, ..
            } = Kinematics::of(energy_mev);
            let minimum = minimum_share(energy_mev);
            let panels = geometric_panels(minimum, 1.0 - minimum, 1.3);
            let integral = integrate(&panels, |share| share_density(energy_mev, share));
            let medium = Medium::of(Material::Water);
            let scale = PI * ELECTRON_RADIUS_CM.powi(2) * medium.electrons_per_g()
                / ((gamma + 1.0) * momentum2);
            assert_relative(
                cross_section_cm2_g(&medium, energy_mev),
                scale * integral,
                1e-9,
                "Heitler",
            );
        }
    }

    #[test]
    fn acceptance_is_a_probability() {
        for energy_mev in ENERGIES_MEV {
            for index in 0..=200 {
                let share = candidate_share(energy_mev, f64::from(index) / 200.0);
                let accepted = acceptance(energy_mev, share);
                assert!(
                    (-1e-12..=1.0 + 1e-12).contains(&accepted),
                    "{energy_mev} MeV, {share}: {accepted}"
                );
            }
        }
    }
}
