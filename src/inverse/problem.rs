//! The weighed sum of objectives and its gradient.

use super::columns::Columns;
use super::objective::{Aim, Objective};
use super::rows::{RowSet, Rows};

/// An objective on rows.
#[derive(Clone, Debug)]
struct Term {
    aim: Aim,
    gy: f64,
    weight: f64,
    rows: Vec<u32>,
    shares: Vec<f64>,
}

/// Minimise over fluences of 0 and more: the objectives on doses `columns x fluences + offset`, and the smoothness of the maps.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    columns: &'a Columns,
    terms: Vec<Term>,
    /// Gy of each row: what the columns do not have of the true dose.
    offset_gy: Vec<f32>,
    neighbours: Vec<[usize; 2]>,
    smoothness: f64,
}

impl<'a> Problem<'a> {
    /// Objectives of structures without rows weigh nothing. Weights count by the square of `reference_gy`.
    pub fn new(
        columns: &'a Columns,
        rows: &Rows,
        objectives: &[Objective],
        neighbours: &[[usize; 2]],
        smoothness: f64,
        reference_gy: f64,
    ) -> Self {
        let term = |objective: &Objective| {
            let set = rows.set(&objective.structure);
            Term {
                aim: objective.aim,
                gy: objective.gy,
                weight: if set.is_some() { objective.weight / (reference_gy * reference_gy) } else { 0.0 },
                rows: set.map(|set| set.rows.clone()).unwrap_or_default(),
                shares: set.map(RowSet::shares).unwrap_or_default(),
            }
        };
        Self {
            columns,
            terms: objectives.iter().map(term).collect(),
            offset_gy: vec![0.0; columns.rows()],
            neighbours: neighbours.to_vec(),
            smoothness,
        }
    }

    /// Replaces the difference between the true dose and the columns'.
    pub fn set_offset(&mut self, offset_gy: Vec<f32>) {
        self.offset_gy = offset_gy;
    }

    pub fn offset_gy(&self) -> &[f32] {
        &self.offset_gy
    }

    pub fn beamlets(&self) -> usize {
        self.columns.beamlets()
    }

    /// Doses of the rows, Gy.
    pub fn doses(&self, fluences: &[f64]) -> Vec<f32> {
        self.columns.doses(fluences, &self.offset_gy)
    }

    /// The weighed value of each objective, 0 where its structure has no rows.
    pub fn values(&self, doses: &[f32]) -> Vec<f64> {
        let mut by_dose = vec![0.0_f32; doses.len()];
        self.terms.iter().map(|term| term.add(doses, &mut by_dose)).collect()
    }

    /// The objective, and its gradient by the fluences.
    pub fn evaluate(&self, fluences: &[f64], gradient: &mut Vec<f64>) -> f64 {
        let doses = self.doses(fluences);
        let mut by_dose = vec![0.0_f32; doses.len()];
        let mut sum = 0.0;
        for term in &self.terms {
            sum += term.add(&doses, &mut by_dose);
        }
        *gradient = self.columns.transposed(&by_dose);
        let weight = self.smoothness / self.neighbours.len().max(1) as f64;
        for [a, b] in &self.neighbours {
            let step = fluences[*a] - fluences[*b];
            sum += weight * step * step;
            gradient[*a] += 2.0 * weight * step;
            gradient[*b] -= 2.0 * weight * step;
        }
        sum
    }

    /// Curvature along each fluence where every quadratic objective is active: what scales the variables.
    pub fn curvatures(&self) -> Vec<f64> {
        let mut by_row = vec![0.0_f64; self.columns.rows()];
        for term in &self.terms {
            for (row, share) in term.rows.iter().zip(&term.shares) {
                by_row[*row as usize] += term.weight * share;
            }
        }
        let curvature = |column: &[f32]| -> f64 {
            column.iter().zip(&by_row).map(|(gy, w)| f64::from(*gy).powi(2) * w).sum()
        };
        self.columns.iter().map(curvature).collect()
    }
}

/// Dose at which the cumulative volume from one end reaches a percentage: rows in order, the last counted in part.
fn tail(doses: impl Iterator<Item = (f64, usize)>, shares: &[f64], percent: f64) -> (f64, Vec<(usize, f64)>) {
    let (mut left, mut sum, mut parts) = (0.01 * percent, 0.0, Vec::new());
    let whole = left;
    for (gy, n) in doses {
        let part = shares[n].min(left);
        if part <= 0.0 {
            break;
        }
        sum += gy * part;
        parts.push((n, part / whole));
        left -= part;
    }
    (sum / (whole - left).max(f64::MIN_POSITIVE), parts)
}

impl Term {
    /// Weighed value of the term; adds its gradient by the doses.
    fn add(&self, doses: &[f32], by_dose: &mut [f32]) -> f64 {
        let rows = || self.rows.iter().map(|row| *row as usize).zip(&self.shares);
        let gy = |row: usize| f64::from(doses[row]);
        match self.aim {
            Aim::Over | Aim::Under | Aim::Deviation => {
                let mut sum = 0.0;
                for (row, share) in rows() {
                    let beyond = match self.aim {
                        Aim::Over => (gy(row) - self.gy).max(0.0),
                        Aim::Under => (gy(row) - self.gy).min(0.0),
                        _ => gy(row) - self.gy,
                    };
                    sum += share * beyond * beyond;
                    by_dose[row] += (2.0 * self.weight * share * beyond) as f32;
                }
                self.weight * sum
            }
            Aim::MeanOver => {
                let mean: f64 = rows().map(|(row, share)| share * gy(row)).sum();
                let beyond = (mean - self.gy).max(0.0);
                rows().for_each(|(row, share)| by_dose[row] += (2.0 * self.weight * beyond * share) as f32);
                self.weight * beyond * beyond
            }
            Aim::Geud { a } => {
                // Doses below 0 come from an offset alone.
                let power: f64 = rows().map(|(row, share)| share * gy(row).max(0.0).powf(a)).sum();
                let geud = power.powf(a.recip());
                let beyond = (geud - self.gy).max(0.0);
                if beyond > 0.0 {
                    let times = 2.0 * self.weight * beyond * geud / power;
                    rows().for_each(|(row, share)| {
                        by_dose[row] += (times * share * gy(row).max(0.0).powf(a - 1.0)) as f32;
                    });
                }
                self.weight * beyond * beyond
            }
            Aim::TailMax { volume } | Aim::TailMin { volume } => {
                let hottest = matches!(self.aim, Aim::TailMax { .. });
                let sign = if hottest { 1.0 } else { -1.0 };
                // Keys of a dose and its place sort six times as fast as pairs.
                let keys = self.rows.iter().enumerate().map(|(n, row)| {
                    let signed = (sign as f32 * doses[*row as usize]).to_bits();
                    let ascending = if signed >> 31 == 1 { !signed } else { signed | 1 << 31 };
                    u64::from(!ascending) << 32 | n as u64
                });
                let mut keys: Vec<u64> = keys.collect();
                keys.sort_unstable();
                let order = keys.iter().map(|key| {
                    let n = *key as u32 as usize;
                    (gy(self.rows[n] as usize), n)
                });
                let (mean, parts) = tail(order, &self.shares, volume);
                let beyond = (sign * (mean - self.gy)).max(0.0);
                for (n, part) in parts.iter().filter(|_| beyond > 0.0) {
                    by_dose[self.rows[*n] as usize] += (2.0 * self.weight * sign * beyond * part) as f32;
                }
                self.weight * beyond * beyond
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
        let sets = vec![RowSet { name: "S".to_owned(), rows: (0..count as u32).collect(), cm3 }];
        Rows { grid: Arc::new(grid), voxels: (0..count).collect(), sets }
    }

    fn objective(aim: Aim, gy: f64) -> Objective {
        Objective { structure: "S".to_owned(), aim, gy, weight: 3.0, asked: None }
    }

    /// The gradient of every aim is that of its differences.
    #[test]
    fn gradients_are_those_of_differences() {
        let (count, beamlets) = (40, 5);
        let gy: Vec<f32> = (0..count * beamlets).map(|n| ((n * 37 % 101) as f32) / 50.0).collect();
        let (columns, rows) = (Columns::from_gy(count, gy), rows(count));
        let at = [1.1, 0.4, 2.3, 0.9, 1.7];
        for (aim, limit) in [
            (Aim::Over, 6.0),
            (Aim::Under, 8.0),
            (Aim::Deviation, 5.0),
            (Aim::MeanOver, 3.0),
            (Aim::Geud { a: 6.0 }, 4.0),
            (Aim::TailMax { volume: 23.0 }, 5.0),
            (Aim::TailMin { volume: 23.0 }, 8.0),
        ] {
            let problem =
                Problem::new(&columns, &rows, &[objective(aim, limit)], &[[0, 1], [3, 4]], 0.3, 2.0);
            let mut gradient = Vec::new();
            let value = problem.evaluate(&at, &mut gradient);
            assert!(value > 0.5, "{aim:?}: {value}");
            for beamlet in 0..beamlets {
                let step = 1e-3;
                let moved = |by: f64| {
                    let mut x = at;
                    x[beamlet] += by;
                    problem.evaluate(&x, &mut Vec::new())
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                let off = (slope - gradient[beamlet]).abs();
                assert!(off < 2e-3 * slope.abs().max(1.0), "{aim:?}: {slope} for {}", gradient[beamlet]);
            }
        }
    }

    /// Closed forms of one row each of 1, 2, 3 and 4 Gy.
    #[test]
    fn values_are_those_of_closed_forms() {
        let columns = Columns::from_gy(4, vec![1.0, 2.0, 3.0, 4.0]);
        let mut rows = rows(4);
        rows.sets[0].cm3 = vec![1.0; 4];
        for (aim, gy, want) in [
            (Aim::Over, 2.0, (0.25 * 1.0 + 0.25 * 4.0) * 3.0),
            (Aim::Under, 2.5, (0.25 * 2.25 + 0.25 * 0.25) * 3.0),
            (Aim::Deviation, 1.0, 0.25 * (1.0 + 4.0 + 9.0) * 3.0),
            (Aim::MeanOver, 1.5, 3.0),
            (Aim::Geud { a: 1.0 }, 0.5, 12.0),
            (Aim::TailMax { volume: 50.0 }, 1.5, 12.0),
            (Aim::TailMax { volume: 37.5 }, 0.0, 3.0 * (11.0_f64 / 3.0).powi(2)),
            (Aim::TailMin { volume: 50.0 }, 2.5, 3.0),
        ] {
            let problem = Problem::new(&columns, &rows, &[objective(aim, gy)], &[], 0.0, 1.0);
            let got = problem.evaluate(&[1.0], &mut Vec::new());
            assert!((got - want).abs() < 1e-6, "{aim:?}: {got} for {want}");
        }
    }
}
