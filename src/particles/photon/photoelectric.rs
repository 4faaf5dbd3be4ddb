//! Angle of photoelectrons: Sauter, Ann. Phys. 11, 454 (1931), the K shell; the electron takes the photon's energy.

use crate::charge::Kinematics;

/// Terms of the density of nu = 1 - cos: nu/(a + nu)^3 times g(nu) = (2 - nu)(1/(a + nu) + b).
struct Terms {
    a: f64,
    b: f64,
}

impl Terms {
    fn of(energy_mev: f64) -> Self {
        let Kinematics { gamma, beta2, .. } = Kinematics::of(energy_mev);
        let beta = beta2.sqrt();
        Self {
            a: 1.0 / beta - 1.0,
            b: 0.5 * beta * gamma * (gamma - 1.0) * (gamma - 2.0),
        }
    }

    fn g(&self, one_minus_cos: f64) -> f64 {
        (2.0 - one_minus_cos) * (1.0 / (self.a + one_minus_cos) + self.b)
    }
}

/// Density of 1 - cos, not normalised.
pub fn density(energy_mev: f64, one_minus_cos: f64) -> f64 {
    let terms = Terms::of(energy_mev);
    terms.g(one_minus_cos) * one_minus_cos / (terms.a + one_minus_cos).powi(3)
}

/// 1 - cos in a draw from nu/(a + nu)^3, `uniform` in [0, 1].
pub fn candidate(energy_mev: f64, uniform: f64) -> f64 {
    let Terms { a, .. } = Terms::of(energy_mev);
    let a_plus_2 = a + 2.0;
    2.0 * a * (2.0 * uniform + a_plus_2 * uniform.sqrt()) / (a_plus_2 * a_plus_2 - 4.0 * uniform)
}

/// Probability that a candidate is taken: g falls from its greatest value forward.
pub fn acceptance(energy_mev: f64, one_minus_cos: f64) -> f64 {
    let terms = Terms::of(energy_mev);
    terms.g(one_minus_cos) / terms.g(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{geometric_panels, integrate};

    const ENERGIES_MEV: [f64; 4] = [0.01, 0.1, 0.5, 2.0];

    #[test]
    fn candidates_follow_their_density() {
        for energy_mev in ENERGIES_MEV {
            let terms = Terms::of(energy_mev);
            let share_below = |greatest: f64| {
                let panels = geometric_panels(1e-9, greatest, 1.3);
                integrate(&panels, |nu| nu / (terms.a + nu).powi(3))
            };
            for uniform in [0.05, 0.5, 0.95, 1.0] {
                let share = share_below(candidate(energy_mev, uniform)) / share_below(2.0);
                assert!(
                    (share - uniform).abs() < 1e-9,
                    "{energy_mev} MeV: {share} for {uniform}"
                );
            }
        }
    }

    /// Sauter's cross section in its own form (Davisson & Evans, Rev. Mod. Phys. 24, 79 (1952), eq. 17):
    /// sin^2/(1 - beta cos)^4 [1 + gamma (gamma - 1)(gamma - 2)/2 (1 - beta cos)].
    #[test]
    fn the_density_is_that_of_davisson_and_evans() {
        for energy_mev in ENERGIES_MEV {
            let Kinematics { gamma, beta2, .. } = Kinematics::of(energy_mev);
            let beta = beta2.sqrt();
            let published = |nu: f64| {
                let cos = 1.0 - nu;
                let slow = 1.0 - beta * cos;
                (1.0 - cos * cos) / slow.powi(4)
                    * (1.0 + 0.5 * gamma * (gamma - 1.0) * (gamma - 2.0) * slow)
            };
            let scale = density(energy_mev, 0.5) / published(0.5);
            for nu in [0.001, 0.1, 1.0, 1.9] {
                let ratio = density(energy_mev, nu) / (scale * published(nu));
                assert!(
                    (ratio - 1.0).abs() < 1e-12,
                    "{energy_mev} MeV, {nu}: {ratio}"
                );
                assert!((0.0..=1.0).contains(&acceptance(energy_mev, nu)));
            }
        }
    }
}
