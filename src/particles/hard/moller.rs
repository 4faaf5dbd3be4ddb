//! Electrons that knock out electrons: Moller, Ann. Phys. 14, 531 (1932), free electrons at rest. Of two electrons after the
//! collision the slower one is the secondary: the transfer is at most half the energy.

use crate::charge::Kinematics;
use crate::constants::COLLISION_MEV_CM2_MOL;
use crate::medium::Medium;

/// Coefficients of the cross section in the share k of the energy: 1/k^2 + exchange + 1/(1-k)^2 - interference/(k(1-k)).
struct Coefficients {
    scale_cm2_g: f64,
    exchange: f64,
    interference: f64,
}

impl Coefficients {
    fn of(medium: &Medium, energy_mev: f64) -> Self {
        let Kinematics { gamma, beta2, .. } = Kinematics::of(energy_mev);
        Self {
            scale_cm2_g: COLLISION_MEV_CM2_MOL * medium.z_over_a_mol_g() / (beta2 * energy_mev),
            exchange: exchange(gamma),
            interference: interference(gamma),
        }
    }
}

fn exchange(gamma: f64) -> f64 {
    ((gamma - 1.0) / gamma).powi(2)
}

fn interference(gamma: f64) -> f64 {
    (2.0 * gamma - 1.0) / (gamma * gamma)
}

/// Cross section per transferred energy, cm2/(MeV g); zero above half the energy.
pub fn differential_cm2_mev_g(medium: &Medium, energy_mev: f64, transfer_mev: f64) -> f64 {
    let share = transfer_mev / energy_mev;
    if share > 0.5 {
        return 0.0;
    }
    let Coefficients {
        scale_cm2_g,
        exchange,
        interference,
    } = Coefficients::of(medium, energy_mev);
    let remainder = 1.0 - share;
    let shape = share.powi(-2) + exchange + remainder.powi(-2) - interference / (share * remainder);
    scale_cm2_g / energy_mev * shape
}

/// Cross section of transfers above `cut_mev`, cm2/g; zero where none is possible.
pub fn cross_section_cm2_g(medium: &Medium, energy_mev: f64, cut_mev: f64) -> f64 {
    let cut = cut_mev / energy_mev;
    if cut >= 0.5 {
        return 0.0;
    }
    let Coefficients {
        scale_cm2_g,
        exchange,
        interference,
    } = Coefficients::of(medium, energy_mev);
    let remainder = 1.0 - cut;
    scale_cm2_g
        * (exchange * (0.5 - cut) + 1.0 / cut
            - 1.0 / remainder
            - interference * (remainder / cut).ln())
}

/// Share of the energy in a draw from 1/k^2 above the cut, `uniform` in [0, 1].
pub fn candidate_share(energy_mev: f64, cut_mev: f64, uniform: f64) -> f64 {
    let cut = cut_mev / energy_mev;
    cut / (1.0 - (1.0 - 2.0 * cut) * uniform)
}

/// Probability that a candidate is taken.
pub fn acceptance(energy_mev: f64, share: f64) -> f64 {
    let gamma = Kinematics::of(energy_mev).gamma;
    let odds = share / (1.0 - share);
    let exchange = exchange(gamma);
    (1.0 + exchange * share * share + odds * (odds - interference(gamma))) / (2.0 + exchange / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{primary_cos2, primary_one_minus_cos, secondary_cos2};
    use crate::constants::ELECTRON_MASS_MEV;
    use crate::numeric::{geometric_panels, integrate};
    use crate::test_data::assert_relative;
    use physics::Material;

    #[test]
    fn the_cross_section_is_the_integral_of_the_differential_one() {
        let medium = Medium::of(Material::Muscle);
        for energy_mev in [0.5, 2.0, 15.0] {
            let integral = integrate(
                &geometric_panels(0.2, energy_mev / 2.0, 1.5),
                |transfer_mev| differential_cm2_mev_g(&medium, energy_mev, transfer_mev),
            );
            assert_relative(
                cross_section_cm2_g(&medium, energy_mev, 0.2),
                integral,
                1e-9,
                "Moller",
            );
        }
        assert_eq!(cross_section_cm2_g(&medium, 0.39, 0.2), 0.0);
    }

    /// Shares that are drawn and accepted follow the cross section: its ratio to theirs is one number over all transfers.
    #[test]
    fn accepted_shares_follow_the_cross_section() {
        let medium = Medium::of(Material::Water);
        for energy_mev in [0.5, 2.0, 15.0] {
            let reference = ratio_to_sampled(&medium, energy_mev, 0.0);
            for uniform in [0.2, 0.5, 0.9, 0.9999] {
                assert_relative(
                    ratio_to_sampled(&medium, energy_mev, uniform),
                    reference,
                    1e-12,
                    "Moller",
                );
            }
        }
    }

    fn ratio_to_sampled(medium: &Medium, energy_mev: f64, uniform: f64) -> f64 {
        let share = candidate_share(energy_mev, 0.2, uniform);
        let accepted = acceptance(energy_mev, share);
        assert!((0.0..=1.0).contains(&accepted), "{accepted}");
        let differential = differential_cm2_mev_g(medium, energy_mev, share * energy_mev);
        differential * share * share / accepted
    }

    #[test]
    fn both_electrons_carry_the_momentum_of_the_first() {
        let momentum =
            |energy_mev: f64| (energy_mev * (energy_mev + 2.0 * ELECTRON_MASS_MEV)).sqrt();
        for (energy_mev, transfer_mev) in [(1.0, 0.3), (6.0, 0.2), (6.0, 3.0)] {
            let (primary, secondary) =
                (momentum(energy_mev - transfer_mev), momentum(transfer_mev));
            let (primary_cos, secondary_cos) = (
                primary_cos2(energy_mev, transfer_mev).sqrt(),
                secondary_cos2(energy_mev, transfer_mev).sqrt(),
            );
            assert_relative(
                primary * primary_cos + secondary * secondary_cos,
                momentum(energy_mev),
                1e-12,
                "along",
            );
            let across = primary * (1.0 - primary_cos * primary_cos).sqrt()
                - secondary * (1.0 - secondary_cos * secondary_cos).sqrt();
            assert!(across.abs() < 1e-7, "{across}");
            assert_relative(
                primary_one_minus_cos(energy_mev, transfer_mev),
                1.0 - primary_cos,
                1e-12,
                "deflection",
            );
        }
    }
}
