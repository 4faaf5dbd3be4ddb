//! Pair production: how an electron and a positron share the energy. Bethe & Heitler, Proc. R. Soc. A 146, 83 (1934), with
//! exponential screening, Coulomb and low-energy corrections as in the manual of PENELOPE (Salvat, NEA, section 2.4).

use crate::charge::Kinematics;
use crate::constants::{ELECTRON_MASS_MEV, FINE_STRUCTURE};

/// Screening radius in units of the Compton wavelength over 2 pi, and atomic number: oxygen's stand for every
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

    /// Least share, of an electron created at rest; the greatest is its complement.
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

/// F0 of the manual (2018, eq. 2.88), fitted there to the total cross sections of Hubbell, Gimm & Overbo. Copies of it
/// elsewhere begin with -0.1774, which makes the total at 3 MeV half as large again and the shares too even.
fn low_energy_correction(kappa: f64) -> f64 {
    let a = FINE_STRUCTURE * ATOMIC_NUMBER;
    let a2 = a * a;
    let root = (2.0 / kappa).sqrt();
    root * (-1.774 - 12.10 * a
        + 11.18 * a2
        + root
            * (8.523 + 73.26 * a - 44.41 * a2
                + root
                    * (-13.52 - 121.1 * a + 96.41 * a2 + root * (8.946 + 62.05 * a - 63.41 * a2))))
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
    use crate::constants::ELECTRON_RADIUS_CM;
    use crate::medium::Medium;
    use crate::numeric::integrate;
    use crate::photon::CrossSections;
    use crate::test_data::assert_relative;
    use physics::Material;

    const PHOTONS_MEV: [f64; 6] = [1.1, 1.5, 3.0, 6.0, 15.0, 25.0];

    #[test]
    fn electron_and_positron_share_alike() {
        for photon_mev in PHOTONS_MEV {
            let shares = EnergyShares::new(photon_mev).unwrap();
            let panels: Vec<f64> = (0..=200)
                .map(|index: i32| shares.candidate_share(f64::from(index) / 200.0))
                .collect();
            let mean_mev = integrate(&panels, |share: f64| {
                (share * photon_mev - ELECTRON_MASS_MEV) * shares.density(share)
            }) / integrate(&panels, |share| shares.density(share));
            let half_mev = (photon_mev - 2.0 * ELECTRON_MASS_MEV) / 2.0;
            assert!(
                (mean_mev / half_mev - 1.0).abs() < 1e-9,
                "{photon_mev} MeV: {mean_mev}"
            );
            for &share in &panels[1..200] {
                let difference = shares.density(share) - shares.density(1.0 - share);
                assert!(
                    difference.abs() < 1e-9,
                    "{photon_mev} MeV at {share}: {difference}"
                );
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
                assert!(
                    (0.0..=1.0).contains(&accepted),
                    "{photon_mev} MeV, {index}: {accepted}"
                );
            }
        }
    }

    /// The cross section whose shape the density is, integrated: re^2 alpha Z^2 (2/3) 1.0093 an atom (manual, section 2.4,
    /// without the electrons' part), against XCOM's nuclear column, which was made by other theories.
    #[test]
    fn the_integral_of_the_density_is_the_nuclear_column_of_xcom() {
        let scale_cm2_g = born_scale_cm2_g() * 1.0093 * 2.0 / 3.0;
        let cross_sections = CrossSections::of(Material::Water);
        for (photon_mev, tolerance) in [
            (2.0, 0.05),
            (3.0, 0.02),
            (6.0, 0.02),
            (15.0, 0.01),
            (20.0, 0.01),
        ] {
            let shares = EnergyShares::new(photon_mev).unwrap();
            let value =
                scale_cm2_g * integrate(&even_panels(&shares), |share| shares.density(share));
            let xcom = cross_sections.at(photon_mev).pair_cm2_g;
            assert_relative(value, xcom, tolerance, &format!("{photon_mev} MeV"));
        }
    }

    /// The judge of the shape is Born's approximation without screening, which holds at low energies; it gives XCOM's column
    /// itself.
    #[test]
    fn shares_spread_as_in_the_born_approximation() {
        let cross_sections = CrossSections::of(Material::Water);
        for (photon_mev, tolerance) in [
            (1.5, 0.08),
            (2.0, 0.05),
            (3.0, 0.02),
            (6.0, 0.005),
            (15.0, 0.005),
        ] {
            let shares = EnergyShares::new(photon_mev).unwrap();
            let panels = even_panels(&shares);
            let kappa = photon_mev / ELECTRON_MASS_MEV;
            let born = |share: f64| born_shape(kappa, share * kappa);
            let total_cm2_g = born_scale_cm2_g() * kappa * integrate(&panels, born);
            let xcom = cross_sections.at(photon_mev).pair_cm2_g;
            assert_relative(total_cm2_g, xcom, 0.015, &format!("Born, {photon_mev} MeV"));
            let spread = mean_asymmetry(&panels, |share| shares.density(share));
            assert_relative(
                spread,
                mean_asymmetry(&panels, born),
                tolerance,
                &format!("{photon_mev} MeV"),
            );
        }
    }

    fn even_panels(shares: &EnergyShares) -> Vec<f64> {
        (0..=100)
            .map(|index| shares.candidate_share(f64::from(index) / 100.0))
            .collect()
    }

    fn mean_asymmetry(panels: &[f64], density: impl Fn(f64) -> f64) -> f64 {
        integrate(panels, |share| (share - 0.5).abs() * density(share)) / integrate(panels, density)
    }

    /// re^2 alpha Z^2 of the atoms in a gram of water.
    fn born_scale_cm2_g() -> f64 {
        let water = Medium::of(Material::Water);
        let squares_per_g: f64 = water
            .constituents
            .iter()
            .map(|c| c.atoms_per_g() * c.z() * c.z())
            .sum();
        ELECTRON_RADIUS_CM.powi(2) * FINE_STRUCTURE * squares_per_g
    }

    /// Cross section per energy of one particle over re^2 alpha Z^2, energies with the rest mass in units of it: Bethe &
    /// Heitler's, as Motz, Olsen & Koch, Rev. Mod. Phys. 41, 581 (1969), formula 3D-1000, have it.
    fn born_shape(kappa: f64, energy: f64) -> f64 {
        let other_energy = kappa - energy;
        let (p2, q2) = (energy * energy - 1.0, other_energy * other_energy - 1.0);
        let (p, q) = (p2.sqrt(), q2.sqrt());
        let (p3, q3) = (p * p2, q * q2);
        let product = energy * other_energy;
        let p_logarithm = 2.0 * (energy + p).ln();
        let q_logarithm = 2.0 * (other_energy + q).ln();
        let joint_logarithm = 2.0 * ((product + p * q + 1.0) / kappa).ln();
        let plain = -4.0 / 3.0 - 2.0 * product * (p2 + q2) / (p2 * q2)
            + p_logarithm * other_energy / p3
            + q_logarithm * energy / q3
            - p_logarithm * q_logarithm / (p * q);
        let bracket = (product - p2) / p3 * p_logarithm
            + (product - q2) / q3 * q_logarithm
            + 2.0 * kappa * product / (p2 * q2);
        let joint = kappa * kappa / (p3 * q3) * (product * product + p2 * q2)
            - 8.0 / 3.0 * product / (p * q)
            - kappa / (2.0 * p * q) * bracket;
        p * q / kappa.powi(3) * (plain + joint_logarithm * joint)
    }

    /// The draw of the cosine inverts the integral of 1/(1 - beta cos)^2.
    #[test]
    fn cosines_follow_the_leading_term() {
        let beta = Kinematics::of(2.0).beta2.sqrt();
        let density = |cos: f64| (1.0 - beta * cos).powi(-2);
        let panels = |greatest: f64| -> Vec<f64> {
            (0..=400)
                .map(|i| -1.0 + (greatest + 1.0) * f64::from(i) / 400.0)
                .collect()
        };
        for uniform in [0.1, 0.5, 0.9] {
            let share = integrate(&panels(particle_cos(2.0, uniform)), density)
                / integrate(&panels(1.0), density);
            assert!((share - uniform).abs() < 1e-9, "{share}");
        }
    }
}
