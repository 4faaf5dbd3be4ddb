//! Quantiles of the multiple-scattering angle over the energy and the path K, in first transport mean free paths.
//!
//! Positrons take the shape of electrons at their own K: the mean of 1 - cos, which the diffusion of a track follows, is theirs
//! then, and only the tail beyond single scattering by large angles is not. Likewise one shape serves all thresholds: the
//! shapes of 100 and 200 keV differ by 2 % of 1 - cos at K of 0.007, by 0.1 % from K of 0.1 on, and K has its own threshold.

use crate::draws::Draws;
use particles::goudsmit_saunderson::{Moments, NODES, Quantiles, SingleScattering, UnfittedMean};
use particles::{Charge, Medium};
use rayon::prelude::*;
use std::sync::LazyLock;

/// Energies in even steps of ln T, MeV.
pub const ENERGIES: usize = 25;
const LEAST_ENERGY_MEV: f64 = 1.0 / 64.0;
const OCTAVES: f64 = 11.0;
/// Paths in even steps of ln K; the deflection of shorter ones scales with K.
pub const PATHS: usize = 28;
const LEAST_PATH: f64 = 2e-3;
const GREATEST_PATH: f64 = 2.0;

/// Production threshold of knock-on electrons for which the shape is computed, MeV.
const SHAPE_CUT_MEV: f64 = 0.2;

/// Values v of 1 - cos = 2 v/(1 + b (1 - v)) at even steps of s, the probability being 1 - (1 - s)^3, and the bends b: rows by
/// energy, then by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Angles {
    pub v: Vec<f32>,
    pub bends: Vec<f32>,
}

impl Angles {
    pub fn new(medium: &Medium) -> Result<Self, UnfittedMean> {
        let rows: Result<Vec<Vec<Quantiles>>, UnfittedMean> = (0..ENERGIES)
            .into_par_iter()
            .map(|energy| quantiles(medium, energy))
            .collect();
        let mut angles = Self::default();
        for quantiles in rows?.iter().flatten() {
            angles.v.extend(quantiles.v().iter().map(|&v| v as f32));
            angles.bends.push(quantiles.bend() as f32);
        }
        Ok(angles)
    }

    /// 1 - cos after a path: nodes of ln T and of K are chosen by lot, of K in proportion to K, which keeps the mean.
    pub fn one_minus_cos(&self, ln_energy: f64, path: f64, draws: &mut Draws) -> f64 {
        let [energy_lot, path_lot] = draws.lots();
        let energy = node_by_lot(energy_position(ln_energy), ENERGIES, energy_lot);
        let within = path.clamp(LEAST_PATH, GREATEST_PATH);
        let low = (path_position(within) as usize).min(PATHS - 2);
        let fraction = (within - PATH_NODES[low]) / (PATH_NODES[low + 1] - PATH_NODES[low]);
        let column = low + usize::from(path_lot < fraction);
        let row = energy * PATHS + column;
        let tabulated = self.in_row(row, draws.uniform());
        tabulated * (path / LEAST_PATH).min(1.0)
    }

    fn in_row(&self, row: usize, uniform: f64) -> f64 {
        // Single precision, as the values are: its root takes half the time.
        let s = 1.0 - f64::from(((1.0 - uniform) as f32).cbrt());
        let position = s * (NODES - 1) as f64;
        let node = (position as usize).min(NODES - 2);
        let fraction = position - node as f64;
        let values = &self.v[row * NODES..][..NODES];
        let [low, high] = [values[node], values[node + 1]].map(f64::from);
        let v = low + fraction * (high - low);
        2.0 * v / (1.0 + f64::from(self.bends[row]) * (1.0 - v))
    }
}

/// Quantiles of all paths at a node of the energies.
pub fn quantiles(medium: &Medium, energy: usize) -> Result<Vec<Quantiles>, UnfittedMean> {
    let energy_mev = LEAST_ENERGY_MEV * (OCTAVES * energy as f64 / (ENERGIES - 1) as f64).exp2();
    let scattering = SingleScattering::new(medium, Charge::Electron, energy_mev, SHAPE_CUT_MEV);
    Quantiles::for_paths(&Moments::new(&scattering), &*PATH_NODES)
}

static PATH_NODES: LazyLock<[f64; PATHS]> = LazyLock::new(|| {
    std::array::from_fn(|node| {
        LEAST_PATH * (GREATEST_PATH / LEAST_PATH).powf(node as f64 / (PATHS - 1) as f64)
    })
});

fn path_position(path: f64) -> f64 {
    (path / LEAST_PATH).ln() / (GREATEST_PATH / LEAST_PATH).ln() * (PATHS - 1) as f64
}

fn energy_position(ln_energy: f64) -> f64 {
    (ln_energy - LEAST_ENERGY_MEV.ln()) / (OCTAVES * std::f64::consts::LN_2) * (ENERGIES - 1) as f64
}

fn node_by_lot(position: f64, count: usize, uniform: f64) -> usize {
    let position = position.clamp(0.0, (count - 1) as f64);
    let low = (position as usize).min(count - 2);
    low + usize::from(uniform < position - low as f64)
}
