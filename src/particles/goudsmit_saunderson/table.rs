//! Quantile tables over energies and paths: what a transport draws from.

use super::{Moments, Quantiles, SingleScattering, UnfittedMean};
use crate::charge::Charge;
use crate::medium::Medium;

/// Even steps in ln T and ln K.
#[derive(Clone, Copy, Debug)]
pub struct AngleGrid {
    pub least_energy_mev: f64,
    pub greatest_energy_mev: f64,
    pub energies: usize,
    /// Shortest path, in first transport mean free paths; the deflection of shorter ones scales with K.
    pub least_path: f64,
    pub greatest_path: f64,
    pub paths: usize,
    /// Production threshold of knock-on electrons: what it separates is not scattered here.
    pub cut_mev: f64,
}

impl AngleGrid {
    /// The grid of the engine's tables, for a production threshold.
    pub fn for_cut(cut_mev: f64) -> Self {
        Self {
            least_energy_mev: 1.0 / 64.0,
            greatest_energy_mev: 32.0,
            energies: 25,
            least_path: 2e-3,
            greatest_path: 2.0,
            paths: 28,
            cut_mev,
        }
    }

    fn energy_mev(&self, index: usize) -> f64 {
        geometric_node(
            self.least_energy_mev,
            self.greatest_energy_mev,
            index,
            self.energies,
        )
    }

    fn path(&self, index: usize) -> f64 {
        geometric_node(self.least_path, self.greatest_path, index, self.paths)
    }
}

/// Node of a grid with even steps of the logarithm.
fn geometric_node(low: f64, high: f64, index: usize, count: usize) -> f64 {
    low * (high / low).powf(index as f64 / (count as f64 - 1.0))
}

/// Node below a value, and the way from it to the next, in even steps of the logarithm.
fn geometric_place(low: f64, high: f64, value: f64, count: usize) -> (usize, f64) {
    let place = (value / low).ln() / (high / low).ln() * (count as f64 - 1.0);
    let place = place.clamp(0.0, count as f64 - 1.0);
    let index = (place as usize).min(count - 2);
    (index, place - index as f64)
}

/// Uniform draws that one deflection takes.
#[derive(Clone, Copy, Debug)]
pub struct AngleDraws {
    pub energy: f64,
    pub path: f64,
    pub angle: f64,
}

/// Quantiles of a material for a charge.
#[derive(Clone, Debug)]
pub struct AngleTable {
    grid: AngleGrid,
    /// Paths of an energy stand together.
    quantiles: Vec<Quantiles>,
}

impl AngleTable {
    pub fn new(medium: &Medium, charge: Charge, grid: AngleGrid) -> Result<Self, UnfittedMean> {
        let mut quantiles = Vec::with_capacity(grid.energies * grid.paths);
        let paths: Vec<f64> = (0..grid.paths).map(|index| grid.path(index)).collect();
        for energy in 0..grid.energies {
            let scattering =
                SingleScattering::new(medium, charge, grid.energy_mev(energy), grid.cut_mev);
            let moments = Moments::new(&scattering);
            quantiles.extend(Quantiles::for_paths(&moments, &paths)?);
        }
        Ok(Self { grid, quantiles })
    }

    pub fn quantiles(&self) -> &[Quantiles] {
        &self.quantiles
    }

    /// 1 - cos after a path.
    pub fn one_minus_cos(&self, energy_mev: f64, path: f64, draws: AngleDraws) -> f64 {
        let tabulated = self
            .drawn_quantiles(energy_mev, path, draws)
            .one_minus_cos(draws.angle);
        tabulated * (path / self.grid.least_path).min(1.0)
    }

    /// Nodes in ln T and in K by lot, K linearly, which keeps the mean to second order.
    fn drawn_quantiles(&self, energy_mev: f64, path: f64, draws: AngleDraws) -> &Quantiles {
        let grid = &self.grid;
        let (low_energy, energy_fraction) = geometric_place(
            grid.least_energy_mev,
            grid.greatest_energy_mev,
            energy_mev,
            grid.energies,
        );
        let energy = low_energy + usize::from(draws.energy < energy_fraction);
        let path = path.clamp(grid.least_path, grid.greatest_path);
        let (low_path, _) = geometric_place(grid.least_path, grid.greatest_path, path, grid.paths);
        let span = grid.path(low_path + 1) - grid.path(low_path);
        let path_fraction = (path - grid.path(low_path)) / span;
        let path_index = low_path + usize::from(draws.path < path_fraction);
        &self.quantiles[energy * grid.paths + path_index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::assert_relative;
    use physics::Material;

    /// Draws at energies and paths between nodes: the chord of 1 - exp(-K) over a step of K lies under it by at most
    /// an eighth of the step's square.
    #[test]
    fn draws_keep_the_mean_deflection_between_nodes() {
        let grid = AngleGrid {
            energies: 4,
            least_energy_mev: 0.2,
            ..AngleGrid::for_cut(0.2)
        };
        let table = AngleTable::new(&Medium::of(Material::Water), Charge::Electron, grid).unwrap();
        assert_eq!(table.quantiles().len(), 112);
        for path in [2e-3, 0.031, 0.3, 1.9] {
            let steps = 100;
            let uniform = |index: i32| (f64::from(index) + 0.5) / f64::from(steps);
            let mut sum = 0.0;
            for (energy, path_draw) in (0..steps).flat_map(|e| (0..steps).map(move |p| (e, p))) {
                let draws = AngleDraws {
                    energy: uniform(energy),
                    path: uniform(path_draw),
                    angle: 0.0,
                };
                sum += table
                    .drawn_quantiles(0.7, path, draws)
                    .mean(|one_minus_cos| one_minus_cos);
            }
            let mean = sum / f64::from(steps * steps);
            assert_relative(mean, -(-path).exp_m1(), 0.005, &format!("K {path}"));
        }
    }

    /// Both ends of the energies and the middle: a bend exists for each mean.
    #[test]
    fn every_material_has_a_table_over_the_whole_grid() {
        let grid = AngleGrid {
            energies: 3,
            paths: 7,
            ..AngleGrid::for_cut(0.2)
        };
        for material in Material::ALL {
            for charge in Charge::BOTH {
                let table = AngleTable::new(&Medium::of(material), charge, grid);
                let table =
                    table.unwrap_or_else(|error| panic!("{} {charge:?}: {error}", material.name()));
                assert!(
                    table
                        .quantiles()
                        .iter()
                        .all(|q| q.bend() > -1.0 && q.bend().is_finite())
                );
            }
        }
    }

    #[test]
    fn deflections_of_shorter_paths_scale() {
        let grid = AngleGrid {
            energies: 2,
            paths: 2,
            least_energy_mev: 0.2,
            ..AngleGrid::for_cut(0.2)
        };
        let table = AngleTable::new(&Medium::of(Material::Water), Charge::Electron, grid).unwrap();
        let draws = AngleDraws {
            energy: 0.5,
            path: 0.5,
            angle: 0.9,
        };
        let shortest = table.one_minus_cos(0.3, 2e-3, draws);
        assert_relative(
            table.one_minus_cos(0.3, 5e-4, draws),
            shortest / 4.0,
            1e-12,
            "K 0.0005",
        );
    }
}
