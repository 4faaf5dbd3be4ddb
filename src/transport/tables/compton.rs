//! Quantiles of the energy that a photon keeps in Compton scattering: a draw without rejection.

use super::bit_grid::BitGrid;
use particles::photon::compton::{Electrons, minimum_share, quantiles};
use rayon::prelude::*;

/// Grid of the photon energy, MeV.
pub const ENERGY_GRID: BitGrid = BitGrid {
    least_exponent: -7,
    octaves: 12,
    log2_per_octave: 3,
};
/// Even steps of the probability from 0 to 1.
pub const PROBABILITIES: usize = 257;

/// y = ln(1/share)/ln(1/least share), rows by energy.
pub fn table(electrons: Electrons) -> Vec<f32> {
    (0..ENERGY_GRID.nodes())
        .into_par_iter()
        .flat_map_iter(|node| row(electrons, node))
        .collect()
}

/// Row of a node of the energies.
pub fn row(electrons: Electrons, node: usize) -> Vec<f32> {
    quantiles(electrons, f64::from(ENERGY_GRID.value(node)), PROBABILITIES)
        .into_iter()
        .map(|y| y as f32)
        .collect()
}

/// Share of its energy that a photon keeps, bilinear in the table.
pub fn share(table: &[f32], photon_mev: f64, uniform: f64) -> f64 {
    let energy = ENERGY_GRID.place(photon_mev as f32);
    let position = uniform * (PROBABILITIES - 1) as f64;
    let column = (position as usize).min(PROBABILITIES - 2);
    let fraction = position - column as f64;
    let low = energy.in_table(table, PROBABILITIES, column);
    let high = energy.in_table(table, PROBABILITIES, column + 1);
    (minimum_share(photon_mev).ln() * (low + fraction * (high - low))).exp()
}
