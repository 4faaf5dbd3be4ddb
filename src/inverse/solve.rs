//! The least of a problem, on variables scaled by their curvature.

use super::projected::Descent;
use std::collections::VecDeque;

/// Evaluations over which the objective must still gain what was asked.
const PATIENCE: u64 = 20;

/// The greatest fluence that is looked for.
const MOST_FLUENCE: f64 = case::bounds::MOST_FLUENCE as f64;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No direction gains any more, or less than was asked in 20 evaluations.
    Converged,
    Evaluations,
    /// The watch asked for it.
    Asked,
}

/// The objective is no finite number where the solver begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the objective has no finite value to begin with: look at the doses and weights of the objectives")]
pub struct NoValue;

/// Variables found, all within their bounds.
#[derive(Clone, Debug)]
pub struct Solved {
    pub variables: Vec<f64>,
    pub objective: f64,
    pub evaluations: u64,
    pub stop: Stop,
}

/// A function of variables: the fluences of beamlets, or the tips and monitor units of leaves.
pub trait Differentiable {
    /// The value, and its gradient by the variables.
    fn evaluate(&self, variables: &[f64], gradient: &mut Vec<f64>) -> f64;

    /// Curvature along each variable: what scales it.
    fn curvatures(&self) -> Vec<f64>;
}

/// Bounds of the variables; upper ones may be infinite.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    pub lower: &'a [f64],
    pub upper: &'a [f64],
}

struct Scaled<'a, D> {
    function: &'a D,
    /// One unit of each variable of the solver.
    units: Vec<f64>,
    bounds: Bounds<'a>,
}

impl<D: Differentiable> Scaled<'_, D> {
    fn variables(&self, values: &[f64]) -> Vec<f64> {
        let bounds = self.bounds.lower.iter().zip(self.bounds.upper);
        // Scaled and back a bound is met up to rounding only.
        let within = |((value, unit), (lower, upper)): ((&f64, &f64), (&f64, &f64))| {
            (value * unit).max(*lower).min(*upper)
        };
        values.iter().zip(&self.units).zip(bounds).map(within).collect()
    }

    fn evaluate(&self, values: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = Vec::new();
        let value = self.function.evaluate(&self.variables(values), &mut gradient);
        gradient.iter_mut().zip(&self.units).for_each(|(slope, unit)| *slope *= unit);
        (value, gradient)
    }
}

/// Hears the objective, the evaluations and on demand the variables after each iteration; says whether to go on.
pub type Each<'a> = dyn FnMut(f64, u64, &dyn Fn() -> Vec<f64>) -> bool + 'a;

/// Goes from `start` towards the least within bounds. `least_gain` is the part of the objective that 20 evaluations must gain. Equal
/// inputs give equal answers.
///
/// # Errors
/// [`NoValue`].
pub fn solve(
    function: &impl Differentiable,
    (start, bounds): (&[f64], Bounds<'_>),
    most_evaluations: u64,
    least_gain: f64,
    watch: &mut Each<'_>,
) -> Result<Solved, NoValue> {
    let curvatures = function.curvatures();
    let largest = curvatures.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // A variable that no objective sees has no scale of its own.
    let units: Vec<f64> = curvatures.iter().map(|c| c.max(1e-6 * largest).sqrt().recip()).collect();
    let scaled = |bound: &[f64]| -> Vec<f64> {
        units.iter().zip(bound).map(|(unit, bound)| bound.min(MOST_FLUENCE) / unit).collect()
    };
    let (low, high) = (scaled(bounds.lower), scaled(bounds.upper));
    let within = low.iter().zip(&high);
    let values =
        scaled(start).iter().zip(within).map(|(value, (low, high))| value.max(*low).min(*high)).collect();
    let bounds_of_solver = Bounds { lower: &low, upper: &high };
    let scaled = Scaled { function, units, bounds };
    let evaluate = |values: &[f64]| scaled.evaluate(values);
    let mut descent = Descent::begin(&evaluate, values, bounds_of_solver);
    if !descent.value().is_finite() {
        return Err(NoValue);
    }
    let mut past: VecDeque<(u64, f64)> = VecDeque::new();
    let stop = loop {
        let gains = descent.step(&evaluate);
        let (objective, evaluations) = (descent.value(), descent.evaluations());
        past.push_back((evaluations, objective));
        while past.len() > 1 && past[1].0 + PATIENCE <= evaluations {
            past.pop_front();
        }
        let (since, before) = past[0];
        if !watch(objective, evaluations, &|| scaled.variables(descent.variables())) {
            break Stop::Asked;
        }
        if !gains || (since + PATIENCE <= evaluations && before - objective <= least_gain * before.abs()) {
            break Stop::Converged;
        }
        if evaluations >= most_evaluations {
            break Stop::Evaluations;
        }
    };
    Ok(Solved {
        variables: scaled.variables(descent.variables()),
        objective: descent.value(),
        evaluations: descent.evaluations(),
        stop,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use crate::columns::Columns;
    use crate::objective::{Aim, Objective};
    use crate::rows::{RowSet, Rows};
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    /// Each beamlet has a row of its own: the least is the dose asked for, or the bound where that is lower, whatever the start.
    #[test]
    fn fluences_stay_within_their_bounds() {
        let per_unit = [1.0_f32, 2.0, 4.0, 0.5];
        let count = per_unit.len();
        let mut gy = vec![0.0; count * count];
        per_unit.iter().enumerate().for_each(|(n, own)| gy[n * count + n] = *own);
        let columns = Columns::from_gy(count, &gy);
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [count, 1, 1]).expect("a grid");
        let set = RowSet { name: "S".to_owned(), rows: (0..count as u32).collect(), cm3: vec![1.0; count] };
        let rows = Rows { grid: Arc::new(grid), voxels: (0..count).collect(), sets: vec![set] };
        let aim = Aim::Deviation;
        let asked = [Objective { structure: "S".to_owned(), aim, gy: 8.0, weight: 1.0, asked: None }];
        let problem = Problem::new(&columns, &rows, &asked, &[], 0.0, 1.0);
        let upper = [f64::INFINITY, 3.0, 0.0, 20.0];
        for start in [[0.0; 4], [100.0; 4]] {
            let bounds = Bounds { lower: &[0.0; 4], upper: &upper };
            let solved = solve(&problem, (&start, bounds), 200, 1e-12, &mut |_, _, _| true).expect("a least");
            for (got, want) in solved.variables.iter().zip([8.0, 3.0, 0.0, 16.0]) {
                assert!((got - want).abs() < 1e-4, "{:?}", solved.variables);
            }
            assert!(solved.variables.iter().zip(&upper).all(|(x, upper)| x <= upper));
        }
    }
}
