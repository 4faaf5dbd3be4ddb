//! Rayleigh scattering: Thomson's cross section times the squared form factor.

use super::scattering_functions::{ScatteringFunctions, momentum_transfer_per_angstrom};
use crate::constants::{ELECTRON_RADIUS_CM, PLANCK_LIGHT_KEV_ANGSTROM};
use crate::numeric::{geometric_panels, integrate};
use std::f64::consts::PI;

/// Mass cross section, cm2/g.
pub fn cross_section_cm2_g(functions: &ScatteringFunctions, photon_mev: f64) -> f64 {
    let density = |one_minus_cos: f64| {
        let x_per_angstrom = momentum_transfer_per_angstrom(photon_mev, one_minus_cos);
        2.0 * acceptance(one_minus_cos) * functions.form_factor2_per_g(x_per_angstrom)
    };
    let forward_panel = 1e-9;
    PI * ELECTRON_RADIUS_CM
        * ELECTRON_RADIUS_CM
        * (integrate(&[0.0, forward_panel], density)
            + integrate(&geometric_panels(forward_panel, 2.0, 1.3), density))
}

/// Probability that a deflection drawn from the squared form factor is taken: (1 + cos^2)/2.
pub fn acceptance(one_minus_cos: f64) -> f64 {
    let cos = 1.0 - one_minus_cos;
    0.5 * (1.0 + cos * cos)
}

/// Integral of the squared form factor over x^2, by which deflections are drawn.
pub struct CumulativeFormFactor {
    x2: Vec<f64>,
    sum: Vec<f64>,
}

impl CumulativeFormFactor {
    /// `per_octave` points an octave of x, 2^-10 to 2^13 per Angstrom: photons to 50 MeV.
    pub fn new(functions: &ScatteringFunctions, per_octave: usize) -> Self {
        let octaves = per_octave * 23;
        let x2: Vec<f64> = std::iter::once(0.0)
            .chain((0..=octaves).map(|i| (2.0 * (i as f64 / per_octave as f64 - 10.0)).exp2()))
            .collect();
        let mut total = 0.0;
        let mut sum = vec![0.0];
        for pair in x2.windows(2) {
            total += integrate(pair, |x2| functions.form_factor2_per_g(x2.sqrt()));
            sum.push(total);
        }
        Self { x2, sum }
    }

    pub fn values(&self) -> &[f64] {
        &self.sum
    }

    /// 1 - cos of a candidate, `uniform` in [0, 1]; to be taken with `acceptance`.
    pub fn one_minus_cos(&self, photon_mev: f64, uniform: f64) -> f64 {
        let backward_x2 = (photon_mev * 1e3 / PLANCK_LIGHT_KEV_ANGSTROM).powi(2);
        let target = uniform * interpolate(&self.x2, &self.sum, backward_x2);
        2.0 * (interpolate(&self.sum, &self.x2, target) / backward_x2).min(1.0)
    }
}

/// Straight lines between increasing nodes.
fn interpolate(nodes: &[f64], values: &[f64], place: f64) -> f64 {
    let last = nodes.len() - 1;
    let upper = nodes.partition_point(|&node| node <= place).clamp(1, last);
    let step = nodes[upper] - nodes[upper - 1];
    let fraction = if step > 0.0 {
        ((place - nodes[upper - 1]) / step).clamp(0.0, 1.0)
    } else {
        0.0
    };
    values[upper - 1] + fraction * (values[upper] - values[upper - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::Medium;
    use crate::photon::CrossSections;
    use crate::test_data::assert_relative;
    use physics::Material;

    /// XCOM's coherent column was made with form factors of Hubbell and Overbo, within a percent of these.
    #[test]
    fn form_factors_give_the_coherent_column_of_xcom() {
        for material in [
            Material::Water,
            Material::CorticalBone,
            Material::Aluminium,
            Material::Titanium,
        ] {
            let functions = ScatteringFunctions::of(&Medium::of(material));
            let cross_sections = CrossSections::of(material);
            for photon_mev in [0.01, 0.03, 0.1, 0.5, 2.0] {
                let xcom = cross_sections.at(photon_mev).rayleigh_cm2_g;
                let value = cross_section_cm2_g(&functions, photon_mev);
                assert_relative(
                    value,
                    xcom,
                    0.01,
                    &format!("{} at {photon_mev} MeV", material.name()),
                );
            }
        }
    }

    /// The median of candidates by the integral over deflections itself.
    #[test]
    fn candidates_follow_the_squared_form_factor() {
        let functions = ScatteringFunctions::of(&Medium::of(Material::Water));
        let cumulative = CumulativeFormFactor::new(&functions, 8);
        for photon_mev in [0.02, 0.1, 1.0] {
            let density = |one_minus_cos: f64| {
                functions
                    .form_factor2_per_g(momentum_transfer_per_angstrom(photon_mev, one_minus_cos))
            };
            let integral = |greatest: f64| {
                integrate(&[0.0, 1e-9], density)
                    + integrate(&geometric_panels(1e-9, greatest, 1.3), density)
            };
            for uniform in [0.1, 0.5, 0.9, 0.99] {
                let candidate = cumulative.one_minus_cos(photon_mev, uniform);
                let share = integral(candidate) / integral(2.0);
                assert!(
                    (share - uniform).abs() < 5e-3,
                    "{photon_mev} MeV: {share} for {uniform}"
                );
            }
        }
    }
}
