//! Table of photons over their energy: attenuation, and the shares of the processes in it.

use super::bit_grid::BitGrid;
use particles::photon::CrossSections;

/// Grid of the photon energy, MeV.
pub const ENERGY_GRID: BitGrid = BitGrid {
    least_exponent: -7,
    octaves: 12,
    log2_per_octave: 5,
};
/// Numbers a node.
pub const WIDTH: usize = 4;

/// Columns of a node: attenuation, then cumulative shares of processes in it; Rayleigh scattering has the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Total mass attenuation coefficient, cm2/g.
    Attenuation,
    Compton,
    /// Triplets included.
    WithPairs,
    WithPhotoelectric,
}

/// Rows of `WIDTH` numbers for each node of `ENERGY_GRID`.
pub fn table(cross_sections: &CrossSections) -> Vec<f32> {
    ENERGY_GRID
        .values()
        .flat_map(|photon_mev| row(cross_sections, f64::from(photon_mev)))
        .collect()
}

fn row(cross_sections: &CrossSections, photon_mev: f64) -> [f32; WIDTH] {
    let processes = cross_sections.at(photon_mev);
    let total = processes.total_cm2_g();
    let compton = processes.compton_cm2_g;
    let with_pairs = compton + processes.pair_cm2_g + processes.triplet_cm2_g;
    let with_photoelectric = with_pairs + processes.photoelectric_cm2_g;
    [
        total as f32,
        (compton / total) as f32,
        (with_pairs / total) as f32,
        (with_photoelectric / total) as f32,
    ]
}
