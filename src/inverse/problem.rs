//! The weighted sum of objectives and its gradient.

use super::columns::Columns;
use super::monitor_units::MonitorUnits;
use super::objective::{Aim, Objective};
use super::rows::{RowSet, Rows};
use super::solve::Differentiable;
use analysis::UNIT_MU;
use rayon::prelude::*;

/// An objective on rows.
#[derive(Clone, Debug)]
struct Term {
    aim: Aim,
    gy: f64,
    weight: f64,
    rows: Vec<u32>,
    shares: Vec<f64>,
}

/// Minimisation over fluences: the objectives on doses `columns x fluences + offset`, and the monitor units of the maps.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    columns: &'a Columns,
    terms: Vec<Term>,
    /// True dose of each row minus the dose of the columns, Gy.
    offset_gy: Vec<f32>,
    monitor_units: MonitorUnits,
}

impl<'a> Problem<'a> {
    /// Objectives of structures without rows have weight 0. Weights are divided by the square of `reference_gy`.
    pub fn new(
        columns: &'a Columns,
        rows: &Rows,
        objectives: &[Objective],
        monitor_units: MonitorUnits,
        reference_gy: f64,
    ) -> Self {
        Self {
            columns,
            terms: objectives
                .iter()
                .map(|objective| Term::new(objective, rows, reference_gy))
                .collect(),
            offset_gy: vec![0.0; columns.rows()],
            monitor_units,
        }
    }

    /// Replaces the difference between the true dose and the dose of the columns.
    pub fn set_offset(&mut self, offset_gy: Vec<f32>) {
        self.offset_gy = offset_gy;
    }

    pub fn offset_gy(&self) -> &[f32] {
        &self.offset_gy
    }

    pub fn beamlets(&self) -> usize {
        self.columns.beamlets()
    }

    /// Price of the monitor units that leaves deliver, of each.
    pub(super) fn price_per_mu(&self) -> f64 {
        self.monitor_units.weight / UNIT_MU
    }

    /// Doses of the rows, Gy.
    pub fn doses(&self, fluences: &[f64]) -> Vec<f32> {
        self.columns.doses(fluences, &self.offset_gy)
    }

    /// The weighted value of each objective, 0 where its structure has no rows.
    pub fn values(&self, doses: &[f32]) -> Vec<f64> {
        self.terms
            .iter()
            .map(|term| term.value_and_slopes(doses).0)
            .collect()
    }
}

impl Differentiable for Problem<'_> {
    /// The objective, and its gradient by the fluences.
    fn evaluate(&self, fluences: &[f64], gradient: &mut Vec<f64>) -> f64 {
        let doses = self.doses(fluences);
        let mut by_dose = vec![0.0_f32; doses.len()];
        let mut sum = 0.0;
        let values: Vec<(f64, Vec<f32>)> = self
            .terms
            .par_iter()
            .map(|term| term.value_and_slopes(&doses))
            .collect();
        for (term, (value, slopes)) in self.terms.iter().zip(values) {
            sum += value;
            term.rows
                .iter()
                .zip(slopes)
                .for_each(|(row, slope)| by_dose[*row as usize] += slope);
        }
        *gradient = self.columns.transposed(&by_dose);
        sum + self.monitor_units.add_gradient(fluences, gradient)
    }

    /// Curvature along each fluence with every quadratic objective active; the solver scales the variables by it.
    fn curvatures(&self) -> Vec<f64> {
        let mut by_row = vec![0.0_f32; self.columns.rows()];
        for term in &self.terms {
            for (row, share) in term.rows.iter().zip(&term.shares) {
                by_row[*row as usize] += (term.weight * share) as f32;
            }
        }
        self.columns.squares(&by_row)
    }
}

/// Tail of a DVH: the hottest (`sign` 1) or coldest (`sign` -1) rows that fill the part `volume` of the structure.
struct Tail {
    /// Indices of all rows of the structure, the rows of the tail first.
    places: Vec<u32>,
    /// Rows that lie entirely in the tail.
    complete: usize,
    /// Share of the next row in the tail.
    partial_share: f64,
}

impl Tail {
    /// Bisects the rows by selection: the order within the tail does not matter, and sorting would take most of an evaluation.
    fn new(doses: impl Iterator<Item = f32>, shares: &[f64], sign: f32, volume: f64) -> Self {
        const SORTED_ROWS: usize = 16;
        let mut keys: Vec<u64> = doses
            .enumerate()
            .map(|(n, gy)| descending_key(sign * gy, n))
            .collect();
        let (mut low, mut high, mut remaining) = (0, keys.len(), volume);
        while high - low > SORTED_ROWS {
            let middle = low.midpoint(high);
            keys[low..high].select_nth_unstable(middle - low);
            let hotter: f64 = keys[low..middle]
                .iter()
                .map(|key| shares[index_of(*key)])
                .sum();
            if hotter <= remaining {
                (low, remaining) = (middle, remaining - hotter);
            } else {
                high = middle;
            }
        }
        keys[low..high].sort_unstable();
        while low < keys.len() && shares[index_of(keys[low])] <= remaining {
            remaining -= shares[index_of(keys[low])];
            low += 1;
        }
        Self {
            places: keys.into_iter().map(|key| key as u32).collect(),
            complete: low,
            partial_share: remaining,
        }
    }

    /// Indices of the rows of the tail, each with its share of the structure's volume in the tail.
    fn parts<'a>(&'a self, shares: &'a [f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let complete = self.places[..self.complete]
            .iter()
            .map(|n| (*n as usize, shares[*n as usize]));
        let partial = self
            .places
            .get(self.complete)
            .filter(|_| self.partial_share > 0.0);
        complete.chain(partial.map(|n| (*n as usize, self.partial_share)))
    }
}

/// Key of a dose and the index of its row, ordered from the greatest dose: such keys are sorted six times as fast as pairs.
fn descending_key(signed_gy: f32, n: usize) -> u64 {
    let bits = signed_gy.to_bits();
    let ascending = if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    };
    u64::from(!ascending) << 32 | n as u64
}

/// Index of the row of a [`descending_key`].
fn index_of(key: u64) -> usize {
    key as u32 as usize
}

impl Term {
    fn new(objective: &Objective, rows: &Rows, reference_gy: f64) -> Self {
        let set = rows.set(&objective.structure);
        Self {
            aim: objective.aim,
            gy: objective.gy,
            weight: if set.is_some() {
                objective.weight_per_gy2(reference_gy)
            } else {
                0.0
            },
            rows: set.map(|set| set.rows.clone()).unwrap_or_default(),
            shares: set.map(RowSet::shares).unwrap_or_default(),
        }
    }

    /// Dose of each row, Gy, and its share of the volume.
    fn doses_and_shares<'a>(&'a self, doses: &'a [f32]) -> impl Iterator<Item = (f64, f64)> + 'a {
        let doses_gy = self.rows.iter().map(|row| f64::from(doses[*row as usize]));
        doses_gy.zip(self.shares.iter().copied())
    }

    /// Weighted value of the term, and its gradient by the dose of each of its rows.
    fn value_and_slopes(&self, doses: &[f32]) -> (f64, Vec<f32>) {
        match self.aim {
            Aim::Over | Aim::Under | Aim::Deviation => {
                let mut sum = 0.0;
                let mut slopes = Vec::with_capacity(self.rows.len());
                for (gy, share) in self.doses_and_shares(doses) {
                    let beyond = match self.aim {
                        Aim::Over => (gy - self.gy).max(0.0),
                        Aim::Under => (gy - self.gy).min(0.0),
                        _ => gy - self.gy,
                    };
                    sum += share * beyond * beyond;
                    slopes.push((2.0 * self.weight * share * beyond) as f32);
                }
                (self.weight * sum, slopes)
            }
            Aim::MeanOver => {
                let mean: f64 = self
                    .doses_and_shares(doses)
                    .map(|(gy, share)| share * gy)
                    .sum();
                let beyond = (mean - self.gy).max(0.0);
                let slopes = self
                    .shares
                    .iter()
                    .map(|share| (2.0 * self.weight * beyond * share) as f32);
                (self.weight * beyond * beyond, slopes.collect())
            }
            Aim::Geud { a } => {
                // Only the offset makes doses below 0.
                let power: f64 = self
                    .doses_and_shares(doses)
                    .map(|(gy, share)| share * gy.max(0.0).powf(a))
                    .sum();
                let geud = power.powf(a.recip());
                let beyond = (geud - self.gy).max(0.0);
                if beyond <= 0.0 {
                    return (0.0, vec![0.0; self.rows.len()]);
                }
                let times = 2.0 * self.weight * beyond * geud / power;
                let slopes = self
                    .doses_and_shares(doses)
                    .map(|(gy, share)| (times * share * gy.max(0.0).powf(a - 1.0)) as f32);
                (self.weight * beyond * beyond, slopes.collect())
            }
            Aim::TailMax { volume } | Aim::TailMin { volume } => {
                let sign = if matches!(self.aim, Aim::TailMax { .. }) {
                    1.0
                } else {
                    -1.0
                };
                let part = 0.01 * volume;
                let doses_gy = self.rows.iter().map(|row| doses[*row as usize]);
                let tail = Tail::new(doses_gy, &self.shares, sign as f32, part);
                let (mut sum, mut counted) = (0.0, 0.0);
                for (n, share) in tail.parts(&self.shares) {
                    sum += share * f64::from(doses[self.rows[n] as usize]);
                    counted += share;
                }
                let mean = sum / f64::max(counted, f64::MIN_POSITIVE);
                let beyond = (sign * (mean - self.gy)).max(0.0);
                let mut slopes = vec![0.0; self.rows.len()];
                for (n, share) in tail.parts(&self.shares).filter(|_| beyond > 0.0) {
                    slopes[n] = (2.0 * self.weight * sign * beyond * share / part) as f32;
                }
                (self.weight * beyond * beyond, slopes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    fn rows(count: usize) -> Rows {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [count, 1, 1]).expect("a grid");
        let cm3 = (0..count).map(|n| 1.0 + 0.1 * (n % 3) as f32).collect();
        let sets = vec![RowSet {
            name: "S".to_owned(),
            rows: (0..count as u32).collect(),
            cm3,
        }];
        Rows {
            grid: Arc::new(grid),
            voxels: (0..count).collect(),
            sets,
        }
    }

    fn objective(aim: Aim, gy: f64) -> Objective {
        Objective {
            structure: "S".to_owned(),
            aim,
            gy,
            weight: 3.0,
            asked: None,
            wish_range_gy: None,
            raised: 1.0,
        }
    }

    /// The gradient of every aim equals central differences.
    #[test]
    fn gradients_equal_central_differences() {
        let (count, beamlets) = (40, 5);
        let gy: Vec<f32> = (0..count * beamlets)
            .map(|n| ((n * 37 % 101) as f32) / 50.0)
            .collect();
        let (columns, rows) = (Columns::from_gy(count, &gy), rows(count));
        let fluences = [1.1, 0.4, 2.3, 0.9, 1.7];
        for (aim, limit) in [
            (Aim::Over, 6.0),
            (Aim::Under, 8.0),
            (Aim::Deviation, 5.0),
            (Aim::MeanOver, 3.0),
            (Aim::Geud { a: 6.0 }, 4.0),
            (Aim::TailMax { volume: 23.0 }, 5.0),
            (Aim::TailMin { volume: 23.0 }, 8.0),
        ] {
            let problem = Problem::new(
                &columns,
                &rows,
                &[objective(aim, limit)],
                MonitorUnits::none(),
                2.0,
            );
            let mut gradient = Vec::new();
            let value = problem.evaluate(&fluences, &mut gradient);
            assert!(value > 0.5, "{aim:?}: {value}");
            for beamlet in 0..beamlets {
                let step = 1e-3;
                let [plus, minus] = [step, -step].map(|step| {
                    let mut moved = fluences;
                    moved[beamlet] += step;
                    problem.evaluate(&moved, &mut Vec::new())
                });
                let slope = (plus - minus) / (2.0 * step);
                let off = (slope - gradient[beamlet]).abs();
                assert!(
                    off < 2e-3 * slope.abs().max(1.0),
                    "{aim:?}: {slope} for {}",
                    gradient[beamlet]
                );
            }
        }
    }

    /// Closed forms of one row each of 1, 2, 3 and 4 Gy.
    #[test]
    fn values_equal_closed_forms() {
        // The offset gives the doses: columns are rounded.
        let columns = Columns::from_gy(4, &[0.0; 4]);
        let mut rows = rows(4);
        rows.sets[0].cm3 = vec![1.0; 4];
        for (aim, gy, want) in [
            (Aim::Over, 2.0, (0.25 * 1.0 + 0.25 * 4.0) * 3.0),
            (Aim::Under, 2.5, (0.25 * 2.25 + 0.25 * 0.25) * 3.0),
            (Aim::Deviation, 1.0, 0.25 * (1.0 + 4.0 + 9.0) * 3.0),
            (Aim::MeanOver, 1.5, 3.0),
            (Aim::Geud { a: 1.0 }, 0.5, 12.0),
            (Aim::TailMax { volume: 50.0 }, 1.5, 12.0),
            (
                Aim::TailMax { volume: 37.5 },
                0.0,
                3.0 * (11.0_f64 / 3.0).powi(2),
            ),
            (Aim::TailMin { volume: 50.0 }, 2.5, 3.0),
        ] {
            let mut problem = Problem::new(
                &columns,
                &rows,
                &[objective(aim, gy)],
                MonitorUnits::none(),
                1.0,
            );
            problem.set_offset(vec![1.0, 2.0, 3.0, 4.0]);
            let got = problem.evaluate(&[1.0], &mut Vec::new());
            assert!((got - want).abs() < 1e-6, "{aim:?}: {got} for {want}");
        }
    }
}
