//! Spectrum of bremsstrahlung photons over their share of the electron's energy.

use super::bit_grid::BitGrid;
use particles::Charge;
use particles::bremsstrahlung::{Bremsstrahlung, Spectrum};

/// Grid of the electron's kinetic energy, MeV.
pub const ENERGY_GRID: BitGrid = BitGrid {
    least_exponent: -6,
    octaves: 11,
    log2_per_octave: 2,
};
/// Even steps of the share from 0 to 1.
pub const SHARES: usize = 33;

/// k dsigma/dk over its greatest value at the energy, rows by energy. Positrons have the same shape.
pub fn table(bremsstrahlung: &Bremsstrahlung) -> Vec<f32> {
    ENERGY_GRID
        .values()
        .flat_map(|energy_mev| {
            row(&bremsstrahlung.spectrum(Charge::Electron, f64::from(energy_mev)))
        })
        .collect()
}

fn row(spectrum: &Spectrum) -> Vec<f32> {
    let values: Vec<f64> = (0..SHARES)
        .map(|column| spectrum.scaled_cm2_g(column as f64 / (SHARES - 1) as f64))
        .collect();
    let greatest = values.iter().copied().fold(0.0, f64::max);
    values
        .iter()
        .map(|value| (value / greatest) as f32)
        .collect()
}

/// Probability that a photon drawn evenly in ln k is accepted.
pub fn acceptance(table: &[f32], energy_mev: f64, share: f64) -> f64 {
    let energy = ENERGY_GRID.place(energy_mev as f32);
    let position = share * (SHARES - 1) as f64;
    let column = (position as usize).min(SHARES - 2);
    let fraction = position - column as f64;
    let low = energy.in_table(table, SHARES, column);
    let high = energy.in_table(table, SHARES, column + 1);
    low + fraction * (high - low)
}
