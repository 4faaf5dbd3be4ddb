//! Compton scattering: Klein & Nishina, Z. Phys. 52, 853 (1929), times the incoherent scattering function.

use super::scattering_functions::{ScatteringFunctions, momentum_transfer_per_angstrom};
use crate::constants::{ELECTRON_MASS_MEV, ELECTRON_RADIUS_CM};
use crate::numeric::{geometric_panels, integrate};
use std::f64::consts::PI;

/// Steps in the variable of `quantiles` by which the distribution is summed.
const STEPS: usize = 4096;

/// Electrons that photons scatter from.
#[derive(Clone, Copy)]
pub enum Electrons<'a> {
    Free,
    Bound(&'a ScatteringFunctions),
}

impl Electrons<'_> {
    /// S(x)/Z at a deflection.
    fn scattering_function(self, photon_mev: f64, one_minus_cos: f64) -> f64 {
        match self {
            Self::Free => 1.0,
            Self::Bound(functions) => functions
                .incoherent_per_electron(momentum_transfer_per_angstrom(photon_mev, one_minus_cos)),
        }
    }
}

/// 1 - cos of the photon that keeps a share of its energy.
pub fn one_minus_cos(photon_mev: f64, share: f64) -> f64 {
    (1.0 - share) * ELECTRON_MASS_MEV / (photon_mev * share)
}

/// Least share of its energy that a photon keeps, backward.
pub fn minimum_share(photon_mev: f64) -> f64 {
    1.0 / (1.0 + 2.0 * photon_mev / ELECTRON_MASS_MEV)
}

/// Density of the share of its energy that a photon keeps, not normalised.
pub fn share_density(electrons: Electrons, photon_mev: f64, share: f64) -> f64 {
    let t = one_minus_cos(photon_mev, share);
    let klein_nishina = 1.0 / share + share - t * (2.0 - t);
    klein_nishina * electrons.scattering_function(photon_mev, t)
}

/// Cross section of an electron, cm2.
pub fn cross_section_cm2(electrons: Electrons, photon_mev: f64) -> f64 {
    // In the deflection: the scattering function rises at small ones, where shares of the energy crowd.
    let density = |t: f64| {
        let share = 1.0 / (1.0 + photon_mev / ELECTRON_MASS_MEV * t);
        share * share * share_density(electrons, photon_mev, share)
    };
    let forward_panel = 1e-9;
    PI * ELECTRON_RADIUS_CM
        * ELECTRON_RADIUS_CM
        * (integrate(&[0.0, forward_panel], density)
            + integrate(&geometric_panels(forward_panel, 2.0, 1.3), density))
}

/// Quantiles of y = ln(1/share)/ln(1/minimum share), at `count` even steps of the probability: a draw without rejection.
pub fn quantiles(electrons: Electrons, photon_mev: f64, count: usize) -> Vec<f64> {
    let span = -minimum_share(photon_mev).ln();
    let density = |y: f64| {
        let share = (-y * span).exp();
        share * share_density(electrons, photon_mev, share)
    };
    let mut cumulative = vec![0.0];
    let mut sum = 0.0;
    for step in 0..STEPS {
        let edges = [
            step as f64 / STEPS as f64,
            (step as f64 + 1.0) / STEPS as f64,
        ];
        // Simpson's rule.
        sum += (density(edges[0]) + 4.0 * density(0.5 * (edges[0] + edges[1])) + density(edges[1]))
            .max(0.0);
        cumulative.push(sum);
    }
    (0..count)
        .map(|index| quantile(&cumulative, index as f64 / (count as f64 - 1.0)))
        .collect()
}

/// Place in [0, 1] at which a cumulative sum over even steps reaches a share of its last value.
fn quantile(cumulative: &[f64], share: f64) -> f64 {
    let steps = cumulative.len() - 1;
    let target = share * cumulative[steps];
    let upper = cumulative
        .partition_point(|&sum| sum < target)
        .clamp(1, steps);
    let step = cumulative[upper] - cumulative[upper - 1];
    let fraction = if step > 0.0 {
        (target - cumulative[upper - 1]) / step
    } else {
        0.0
    };
    (upper as f64 - 1.0 + fraction) / steps as f64
}

/// Quantiles over energies: rows by photon energy in even steps of its logarithm, bilinear between.
pub struct QuantileTable {
    least_mev: f64,
    rows_per_octave: f64,
    probabilities: usize,
    y: Vec<f64>,
}

/// Grid of a table of quantiles.
#[derive(Clone, Copy, Debug)]
pub struct QuantileGrid {
    pub least_mev: f64,
    pub octaves: usize,
    pub rows_per_octave: usize,
    pub probabilities: usize,
}

impl QuantileTable {
    pub fn new(electrons: Electrons, grid: QuantileGrid) -> Self {
        let rows_per_octave = grid.rows_per_octave as f64;
        let y = (0..=grid.octaves * grid.rows_per_octave)
            .flat_map(|row| {
                let photon_mev = grid.least_mev * (row as f64 / rows_per_octave).exp2();
                quantiles(electrons, photon_mev, grid.probabilities)
            })
            .collect();
        Self {
            least_mev: grid.least_mev,
            rows_per_octave,
            probabilities: grid.probabilities,
            y,
        }
    }

    pub fn values(&self) -> &[f64] {
        &self.y
    }

    /// Share of its energy that a photon keeps, `uniform` in [0, 1].
    pub fn share(&self, photon_mev: f64, uniform: f64) -> f64 {
        let rows = self.y.len() / self.probabilities;
        let place = (photon_mev / self.least_mev).log2() * self.rows_per_octave;
        let place = place.clamp(0.0, rows as f64 - 1.0);
        let row = (place as usize).min(rows - 2);
        let fraction = place - row as f64;
        let y =
            (1.0 - fraction) * self.in_row(row, uniform) + fraction * self.in_row(row + 1, uniform);
        minimum_share(photon_mev).powf(y)
    }

    fn in_row(&self, row: usize, uniform: f64) -> f64 {
        let values = &self.y[row * self.probabilities..][..self.probabilities];
        let place = uniform.clamp(0.0, 1.0) * (self.probabilities as f64 - 1.0);
        let index = (place as usize).min(self.probabilities - 2);
        let fraction = place - index as f64;
        values[index] * (1.0 - fraction) + values[index + 1] * fraction
    }
}

/// Cosine of the electron's angle after a photon was deflected by `one_minus_cos`.
pub fn electron_cos(photon_mev: f64, one_minus_cos: f64) -> f64 {
    let a = photon_mev / ELECTRON_MASS_MEV;
    (1.0 + a) * (one_minus_cos / (2.0 + a * (2.0 + a) * one_minus_cos)).sqrt()
}

#[cfg(test)]
mod tests;
