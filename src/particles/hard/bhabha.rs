//! Positrons that knock out electrons: Bhabha, Proc. R. Soc. A 154, 195 (1936), free electrons at rest.

use crate::charge::Kinematics;
use crate::constants::COLLISION_MEV_CM2_MOL;
use crate::medium::Medium;

/// Coefficients of 1/(beta^2 k^2) - b1/k + b2 - b3 k + b4 k^2, in the share k of the energy.
struct Coefficients {
    beta2: f64,
    b1: f64,
    b2: f64,
    b3: f64,
    b4: f64,
}

impl Coefficients {
    fn of(energy_mev: f64) -> Self {
        let Kinematics { gamma, beta2, .. } = Kinematics::of(energy_mev);
        let y = 1.0 / (gamma + 1.0);
        let z = 1.0 - 2.0 * y;
        let b4 = z.powi(3);
        Self {
            beta2,
            b1: 2.0 - y * y,
            b2: z * (3.0 + y * y),
            b3: b4 + z * z,
            b4,
        }
    }
}

fn scale_cm2_g(medium: &Medium, energy_mev: f64) -> f64 {
    COLLISION_MEV_CM2_MOL * medium.z_over_a_mol_g() / energy_mev
}

/// Cross section per transferred energy, cm2/(MeV g); zero above the whole energy.
pub fn differential_cm2_mev_g(medium: &Medium, energy_mev: f64, transfer_mev: f64) -> f64 {
    let share = transfer_mev / energy_mev;
    if share > 1.0 {
        return 0.0;
    }
    let Coefficients {
        beta2,
        b1,
        b2,
        b3,
        b4,
    } = Coefficients::of(energy_mev);
    let shape = 1.0 / (beta2 * share * share) - b1 / share + b2 - share * (b3 - share * b4);
    scale_cm2_g(medium, energy_mev) / energy_mev * shape
}

/// Cross section of transfers above `cut_mev`, cm2/g; zero where none is possible.
pub fn cross_section_cm2_g(medium: &Medium, energy_mev: f64, cut_mev: f64) -> f64 {
    let cut = cut_mev / energy_mev;
    if cut >= 1.0 {
        return 0.0;
    }
    let Coefficients {
        beta2,
        b1,
        b2,
        b3,
        b4,
    } = Coefficients::of(energy_mev);
    let shape = (1.0 / cut - 1.0) / beta2 + b1 * cut.ln() + b2 * (1.0 - cut)
        - b3 * (1.0 - cut * cut) / 2.0
        + b4 * (1.0 - cut.powi(3)) / 3.0;
    scale_cm2_g(medium, energy_mev) * shape
}

/// Share of the energy in a draw from 1/k^2 above the cut, `uniform` in [0, 1].
pub fn candidate_share(energy_mev: f64, cut_mev: f64, uniform: f64) -> f64 {
    let cut = cut_mev / energy_mev;
    cut / (1.0 - (1.0 - cut) * uniform)
}

/// Probability that a candidate is taken.
pub fn acceptance(energy_mev: f64, share: f64) -> f64 {
    let Coefficients {
        beta2,
        b1,
        b2,
        b3,
        b4,
    } = Coefficients::of(energy_mev);
    1.0 - beta2 * share * (b1 - share * (b2 - share * (b3 - share * b4)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{geometric_panels, integrate};
    use crate::test_data::assert_relative;
    use physics::Material;

    #[test]
    fn the_cross_section_is_the_integral_of_the_differential_one() {
        let medium = Medium::of(Material::Water);
        for energy_mev in [0.3, 2.0, 15.0] {
            let integral = integrate(&geometric_panels(0.2, energy_mev, 1.5), |transfer_mev| {
                differential_cm2_mev_g(&medium, energy_mev, transfer_mev)
            });
            assert_relative(
                cross_section_cm2_g(&medium, energy_mev, 0.2),
                integral,
                1e-9,
                "Bhabha",
            );
        }
    }

    /// Shares that are drawn and accepted follow the cross section: its ratio to theirs is one number over all transfers.
    #[test]
    fn accepted_shares_follow_the_cross_section() {
        let medium = Medium::of(Material::Water);
        for energy_mev in [0.3, 2.0, 15.0] {
            let reference = ratio_to_sampled(&medium, energy_mev, 0.0);
            for uniform in [0.2, 0.5, 0.9, 0.9999] {
                assert_relative(
                    ratio_to_sampled(&medium, energy_mev, uniform),
                    reference,
                    1e-9,
                    "Bhabha",
                );
            }
        }
    }

    fn ratio_to_sampled(medium: &Medium, energy_mev: f64, uniform: f64) -> f64 {
        let share = candidate_share(energy_mev, 0.2, uniform);
        let accepted = acceptance(energy_mev, share);
        assert!((0.0..=1.0).contains(&accepted), "{accepted}");
        differential_cm2_mev_g(medium, energy_mev, share * energy_mev) * share * share / accepted
    }
}
