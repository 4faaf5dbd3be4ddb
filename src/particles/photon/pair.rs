//! Pair production: how an electron and a positron share the energy. Bethe & Heitler, Proc. R. Soc. A 146, 83 (1934), with
//! exponential screening, Coulomb and low-energy corrections as in the manual of PENELOPE (Salvat, NEA, section 2.4).

use crate::charge::Kinematics;
use crate::constants::{ELECTRON_MASS_MEV, FINE_STRUCTURE};

/// Screening radius in units of the Compton wavelength over 2 pi, and atomic number: those of oxygen stand for every
/// medium, since below 20 MeV screening hardly changes how the energy is shared.
const SCREENING_RADIUS: f64 = 54.03;
const ATOMIC_NUMBER: f64 = 8.0;
/// Candidates are accepted by the density over this many times its value at equal shares.
const BOUND: f64 = 1.6;

/// Density of the electron's share of the photon's energy.
#[derive(Clone, Copy, Debug)]
pub struct EnergyShares {
    /// Photon energy over m.
    kappa: f64,
    /// Part of both screening functions that depends on the photon's energy alone.
    common_screening: f64,
}

impl EnergyShares {
    /// None below the threshold 2 m.
    pub fn new(photon_mev: f64) -> Option<Self> {
        let kappa = photon_mev / ELECTRON_MASS_MEV;
        (kappa > 2.0).then(|| Self {
            kappa,
            common_screening: 4.0 * SCREENING_RADIUS.ln() - 4.0 * coulomb_correction()
                + low_energy_correction(kappa),
        })
    }

    /// Least share, that of an electron at rest; the greatest is its complement.
    pub fn minimum_share(&self) -> f64 {
        1.0 / self.kappa
    }

    /// Density, not normalised; zero outside the shares that are possible.
    pub fn density(&self, share: f64) -> f64 {
        if share <= self.minimum_share() || share >= 1.0 - self.minimum_share() {
            return 0.0;
        }
        let b = SCREENING_RADIUS / (2.0 * self.kappa * share * (1.0 - share));
        let b2 = b * b;
        let arc = b * (1.0 / b).atan();
        let logarithm = b2.ln_1p();
        let h = b2 * (4.0 - 4.0 * arc - 3.0 * (1.0 / b2).ln_1p());
        let phi1 = 7.0 / 3.0 - 2.0 * logarithm - 6.0 * arc - h + self.common_screening;
        let phi2 = 11.0 / 6.0 - 2.0 * logarithm - 3.0 * arc + 0.5 * h + self.common_screening;
        (2.0 * (0.5 - share).powi(2) * phi1 + phi2).max(0.0)
    }

    /// Share in a uniform draw, `uniform` in [0, 1].
    pub fn candidate_share(&self, uniform: f64) -> f64 {
        self.minimum_share() + (1.0 - 2.0 * self.minimum_share()) * uniform
    }

    /// Probability that a candidate is taken.
    pub fn acceptance(&self, share: f64) -> f64 {
        self.density(share) / (BOUND * self.density(0.5))
    }
}

/// Davies, Bethe, Maximon, Phys. Rev. 93, 788 (1954), as a series.
fn coulomb_correction() -> f64 {
    let a2 = (FINE_STRUCTURE * ATOMIC_NUMBER).powi(2);
    a2 * (1.0 / (1.0 + a2) + 0.202_059 - 0.036_93 * a2)
}

/// F0 of the manual: from Hubbell, Gimm & Overbo's cross sections.
fn low_energy_correction(kappa: f64) -> f64 {
    let a = FINE_STRUCTURE * ATOMIC_NUMBER;
    let a2 = a * a;
    let root = (2.0 / kappa).sqrt();
    root * (-0.1774 - 12.10 * a
        + 11.18 * a2
        + root
            * (8.523 + 73.26 * a - 44.41 * a2
                + root * (-13.52 - 121.1 * a + 96.41 * a2 + root * (8.946 + 62.05 * a - 63.41 * a2))))
}

/// Cosine between the photon and a particle of the pair: leading term of Sauter, Ann. Phys. 9, 217 (1931), drawn with
/// `uniform` in [0, 1].
pub fn particle_cos(energy_mev: f64, uniform: f64) -> f64 {
    let beta = Kinematics::of(energy_mev).beta2.sqrt();
    let centred_uniform = 2.0 * uniform - 1.0;
    (centred_uniform + beta) / (centred_uniform * beta + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::integrate;

    const PHOTONS_MEV: [f64; 6] = [1.1, 1.5, 3.0, 6.0, 15.0, 25.0];

    #[test]
    fn electron_and_positron_share_alike() {
        for photon_mev in PHOTONS_MEV {
            let shares = EnergyShares::new(photon_mev).unwrap();
            let place = |index: i32| shares.candidate_share(f64::from(index) / 200.0);
            let panels: Vec<f64> = (0..=200).map(place).collect();
            let moment = |share: f64| (share * photon_mev - ELECTRON_MASS_MEV) * shares.density(share);
            let mean_mev = integrate(&panels, moment) / integrate(&panels, |share| shares.density(share));
            let half_mev = (photon_mev - 2.0 * ELECTRON_MASS_MEV) / 2.0;
            assert!((mean_mev / half_mev - 1.0).abs() < 1e-9, "{photon_mev} MeV: {mean_mev}");
            for &share in &panels[1..200] {
                let difference = shares.density(share) - shares.density(1.0 - share);
                assert!(difference.abs() < 1e-9, "{photon_mev} MeV at {share}: {difference}");
            }
        }
        assert!(EnergyShares::new(1.0).is_none());
    }

    #[test]
    fn acceptance_is_a_probability() {
        for photon_mev in PHOTONS_MEV {
            let shares = EnergyShares::new(photon_mev).unwrap();
            for index in 0..=1000 {
                let accepted = shares.acceptance(shares.candidate_share(f64::from(index) / 1000.0));
                assert!((0.0..=1.0).contains(&accepted), "{photon_mev} MeV, {index}: {accepted}");
            }
        }
    }

    /// The draw of the cosine inverts the integral of 1/(1 - beta cos)^2.
    #[test]
    fn cosines_follow_the_leading_term() {
        let beta = Kinematics::of(2.0).beta2.sqrt();
        let density = |cos: f64| (1.0 - beta * cos).powi(-2);
        let panels = |greatest: f64| -> Vec<f64> {
            (0..=400).map(|i| -1.0 + (greatest + 1.0) * f64::from(i) / 400.0).collect()
        };
        for uniform in [0.1, 0.5, 0.9] {
            let share =
                integrate(&panels(particle_cos(2.0, uniform)), density) / integrate(&panels(1.0), density);
            assert!((share - uniform).abs() < 1e-9, "{share}");
        }
    }
}
