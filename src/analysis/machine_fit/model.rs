//! The doses of a machine near one that was computed, without a new computation, and how far they are from the measured ones.
//!
//! Photon doses are taken as linear in the parameters. They are so exactly in the off-axis factors and, but for the common
//! normalisation, in the extra-focal share; nearly so in the rest over a step of the fit. Electrons are in closed form.

use super::TankData;
use super::compare::{Prepared, Region};
use super::held::HELD_PERCENT;
use super::tank::Layout;
use physics::{Machine, Parameter};

/// Uncertainty of a measurement that differences are weighed by: percent, and mm where dose is steep.
const PERCENT: f64 = 0.5;
const TAIL_PERCENT: f64 = 1.0;
const MM: f64 = 0.3;
/// Independent points that a curve and an output factor count as, and the uncertainty of a factor, percent.
const CURVE_POINTS: f64 = 25.0;
const FACTOR_POINTS: f64 = 4.0;
const FACTOR_PERCENT: f64 = 0.4;

/// Data and starting machine of a fit.
pub struct Targets<'a> {
    pub data: &'a TankData,
    pub layout: &'a Layout,
    pub prepared: &'a [Prepared],
    pub start: &'a Machine,
    /// Output factors of the start that are held ([`super::held`]).
    pub held: Vec<f64>,
}

/// A machine that was computed, and the derivatives there.
pub struct Model<'a> {
    pub targets: &'a Targets<'a>,
    pub parameters: &'a [Parameter],
    /// Values in units of what is believed of each, from its start.
    pub values: Vec<f64>,
    /// Photon doses at all places.
    pub photons: Vec<f64>,
    /// Their change by a unit of each parameter; empty for none.
    pub columns: Vec<Vec<f64>>,
}

impl Targets<'_> {
    /// The machine of values in units of belief.
    pub fn machine(&self, parameters: &[Parameter], values: &[f64]) -> Machine {
        self.start.adjusted(&self.natural(parameters, values))
    }

    /// Values in their own units.
    pub fn natural(&self, parameters: &[Parameter], values: &[f64]) -> Vec<(Parameter, f64)> {
        parameters
            .iter()
            .zip(values)
            .map(|(p, u)| {
                let allowed = p.allowed();
                let value = p.start(self.start).unwrap_or(0.0) + u * allowed.believed;
                (*p, value.clamp(allowed.low, allowed.high))
            })
            .collect()
    }

    /// Doses with their electrons.
    pub fn with_electrons(&self, machine: &Machine, photons: &[f64]) -> Vec<f64> {
        let electrons = self.layout.electrons(machine, photons);
        photons.iter().zip(electrons).map(|(p, e)| p + e).collect()
    }

    /// Weighed differences of computed and measured doses.
    pub fn misfit(&self, doses: &[f64]) -> Vec<f64> {
        let mut misfit = Vec::new();
        for (curve, range) in self.prepared.iter().zip(&self.layout.curves) {
            let share = (CURVE_POINTS / range.len() as f64).min(1.0).sqrt();
            let percent = curve.percent(&doses[range.clone()]);
            misfit.extend((0..percent.len()).map(|i| {
                let floor = match curve.regions[i] {
                    Region::HighDose => PERCENT * (0.2 + 0.008 * curve.measured[i]),
                    Region::Penumbra | Region::BuildUp => PERCENT,
                    Region::Tail | Region::Beyond => TAIL_PERCENT,
                };
                share * (percent[i] - curve.measured[i]) / floor.hypot(MM * curve.slope[i])
            }));
        }
        let reference = doses[self.layout.reference].max(f64::MIN_POSITIVE);
        let factors = self
            .data
            .factors
            .iter()
            .flat_map(|f| &f.factors)
            .zip(&doses[self.layout.factors.clone()]);
        misfit.extend(factors.map(|(factor, dose)| {
            FACTOR_POINTS.sqrt() * 100.0 * (dose / reference / factor.factor - 1.0) / FACTOR_PERCENT
        }));
        let held = self.layout.held_factors(doses);
        misfit.extend(held.iter().zip(&self.held).map(|(factor, start)| {
            FACTOR_POINTS.sqrt() * 100.0 * (factor / start - 1.0) / HELD_PERCENT
        }));
        misfit
    }
}

impl Model<'_> {
    /// Weighed differences at other values, then how far those are from what is believed.
    pub fn residuals(&self, values: &[f64]) -> Vec<f64> {
        let mut photons = self.photons.clone();
        for (k, column) in self.columns.iter().enumerate() {
            let step = values[k] - self.values[k];
            if step != 0.0 {
                photons
                    .iter_mut()
                    .zip(column)
                    .for_each(|(dose, change)| *dose += step * change);
            }
        }
        let machine = self.targets.machine(self.parameters, values);
        let mut residuals = self
            .targets
            .misfit(&self.targets.with_electrons(&machine, &photons));
        residuals.extend(values);
        residuals
    }

    /// Half the sum of their squares at the values that were computed.
    pub fn cost(&self) -> f64 {
        0.5 * self
            .residuals(&self.values)
            .iter()
            .map(|r| r * r)
            .sum::<f64>()
    }

    /// Information of the data on each parameter by itself, in units of belief to the power -2, and the uncertainties
    /// that are left of all together, in units of belief.
    pub fn knowledge(&self) -> (Vec<f64>, Vec<f64>) {
        const STEP: f64 = 1e-3;
        let n = self.parameters.len();
        let reference = self.residuals(&self.values);
        let slopes: Vec<Vec<f64>> = (0..n)
            .map(|k| {
                let mut values = self.values.clone();
                values[k] += STEP;
                self.residuals(&values)
                    .iter()
                    .zip(&reference)
                    .map(|(stepped, reference)| (stepped - reference) / STEP)
                    .collect()
            })
            .collect();
        let normal: Vec<Vec<f64>> = (0..n)
            .map(|j| (0..n).map(|k| dot(&slopes[j], &slopes[k])).collect())
            .collect();
        // The belief itself gives 1.
        let alone = (0..n).map(|k| normal[k][k] - 1.0).collect();
        (
            alone,
            inverse_diagonal(normal)
                .into_iter()
                .map(f64::sqrt)
                .collect(),
        )
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Diagonal of the inverse of a symmetric positive matrix, by elimination.
fn inverse_diagonal(matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let n = matrix.len();
    // Each row with a row of the unit matrix behind it.
    let mut rows = matrix;
    for (k, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(j == k))));
    }
    for k in 0..n {
        let pivot = rows[k][k];
        rows[k].iter_mut().for_each(|v| *v /= pivot);
        let pivot_row = rows[k].clone();
        for (j, row) in rows.iter_mut().enumerate() {
            let factor = row[k];
            if j != k && factor != 0.0 {
                row.iter_mut()
                    .zip(&pivot_row)
                    .for_each(|(v, o)| *v -= factor * o);
            }
        }
    }
    (0..n).map(|k| rows[k][n + k].max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagonal_of_an_inverse() {
        // The inverse of [[4, 2], [2, 3]] is [[3, -2], [-2, 4]] / 8.
        let got = inverse_diagonal(vec![vec![4.0, 2.0], vec![2.0, 3.0]]);
        assert!(
            (got[0] - 0.375).abs() < 1e-12 && (got[1] - 0.5).abs() < 1e-12,
            "{got:?}"
        );
    }
}
