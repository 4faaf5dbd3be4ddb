//! Minimisation of a problem, on variables scaled by their curvature.

use super::projected::{Descent, Pairs};
use std::collections::VecDeque;

/// Evaluations within which the objective must decrease by the required part.
const PATIENCE: u64 = 20;

/// Upper bound of all variables, which infinite bounds are replaced by: the greatest fluence of a map.
const MAX_FLUENCE: f64 = case::bounds::MOST_FLUENCE as f64;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No direction lowers the objective, or it decreased by less than the required part in 20 evaluations.
    Converged,
    Evaluations,
    /// The watch requested it.
    Asked,
}

/// The objective is not finite at the start of the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the objective has no finite value to begin with: look at the doses and weights of the objectives"
)]
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

    /// Curvature along each variable, by which it is scaled.
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
        let Bounds { lower, upper } = self.bounds;
        let scaled = values.iter().zip(&self.units).zip(lower.iter().zip(upper));
        // Scaling and back meets a bound only up to rounding.
        scaled
            .map(|((value, unit), (lower, upper))| (value * unit).max(*lower).min(*upper))
            .collect()
    }

    fn evaluate(&self, values: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = Vec::new();
        let value = self
            .function
            .evaluate(&self.variables(values), &mut gradient);
        gradient
            .iter_mut()
            .zip(&self.units)
            .for_each(|(slope, unit)| *slope *= unit);
        (value, gradient)
    }
}

/// Is called after each iteration with the objective, the evaluations and a source of the variables; returns whether to continue.
pub type Each<'a> = dyn FnMut(f64, u64, &dyn Fn() -> Vec<f64>) -> bool + 'a;

/// Variables at the start of the solver, and their bounds.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub variables: &'a [f64],
    pub bounds: Bounds<'a>,
}

/// The scale of the variables and the curvature that solutions have found: the next solution over the same variables begins with them.
/// Without, each move of a handle costs the evaluations in which the curvature is found anew.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// One unit of each variable of the solver, from the curvatures of the first function: pairs are in these units.
    units: Vec<f64>,
    pairs: Pairs,
}

/// End of a solution.
#[derive(Clone, Copy, Debug)]
pub struct SolveLimits {
    pub max_evaluations: u64,
    /// Relative decrease of the objective that 20 evaluations must reach.
    pub min_gain: f64,
}

/// Minimises a function within bounds. `min_gain` is the relative decrease of the objective that 20 evaluations must reach. Equal inputs
/// give equal answers.
///
/// # Errors
/// [`NoValue`].
pub fn solve(
    function: &impl Differentiable,
    start: Start<'_>,
    max_evaluations: u64,
    min_gain: f64,
    watch: &mut Each<'_>,
) -> Result<Solved, NoValue> {
    let limits = SolveLimits {
        max_evaluations,
        min_gain,
    };
    solve_with_memory(function, start, limits, &mut Memory::default(), watch)
}

/// As [`solve()`], from the memory of earlier solutions; a memory of other variables is emptied first.
///
/// # Errors
/// [`NoValue`].
pub fn solve_with_memory(
    function: &impl Differentiable,
    start: Start<'_>,
    limits: SolveLimits,
    memory: &mut Memory,
    watch: &mut Each<'_>,
) -> Result<Solved, NoValue> {
    let SolveLimits {
        max_evaluations,
        min_gain,
    } = limits;
    let Memory { units, pairs } = std::mem::take(memory);
    let (units, pairs) = if units.len() == start.variables.len() {
        (units, pairs)
    } else {
        (units_of(function), Pairs::default())
    };
    let lower = in_units(start.bounds.lower, &units);
    let upper = in_units(start.bounds.upper, &units);
    let mut values = in_units(start.variables, &units);
    for (n, value) in values.iter_mut().enumerate() {
        *value = value.max(lower[n]).min(upper[n]);
    }
    let scaled = Scaled {
        function,
        units,
        bounds: start.bounds,
    };
    let mut descent = Descent::begin(
        &|values| scaled.evaluate(values),
        values,
        Bounds {
            lower: &lower,
            upper: &upper,
        },
        pairs,
    );
    if !descent.value().is_finite() {
        return Err(NoValue);
    }
    let mut past: VecDeque<(u64, f64)> = VecDeque::new();
    let stop = loop {
        let gains = descent.step(&|values| scaled.evaluate(values));
        let (objective, evaluations) = (descent.value(), descent.evaluations());
        past.push_back((evaluations, objective));
        while past.len() > 1 && past[1].0 + PATIENCE <= evaluations {
            past.pop_front();
        }
        let (since, previous) = past[0];
        if !watch(objective, evaluations, &|| {
            scaled.variables(descent.variables())
        }) {
            break Stop::Asked;
        }
        if !gains
            || (since + PATIENCE <= evaluations
                && previous - objective <= min_gain * previous.abs())
        {
            break Stop::Converged;
        }
        if evaluations >= max_evaluations {
            break Stop::Evaluations;
        }
    };
    let solved = Solved {
        variables: scaled.variables(descent.variables()),
        objective: descent.value(),
        evaluations: descent.evaluations(),
        stop,
    };
    let pairs = descent.into_pairs();
    *memory = Memory {
        units: scaled.units,
        pairs,
    };
    Ok(solved)
}

/// One unit of each variable of the solver: its curvature there is 1.
fn units_of(function: &impl Differentiable) -> Vec<f64> {
    let curvatures = function.curvatures();
    let largest = curvatures.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // A variable without influence on any objective has no curvature.
    let scaled = curvatures.iter().map(|c| c.max(1e-6 * largest));
    scaled.map(|c| c.sqrt().recip()).collect()
}

/// Values in the units of the solver, with an upper bound that is finite.
fn in_units(values: &[f64], units: &[f64]) -> Vec<f64> {
    units
        .iter()
        .zip(values)
        .map(|(unit, value)| value.min(MAX_FLUENCE) / unit)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use crate::columns::Columns;
    use crate::monitor_units::MonitorUnits;
    use crate::objective::{Aim, Objective};
    use crate::rows::{RowSet, Rows};
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    /// With one row for each beamlet the optimum is the objective's dose, or the bound where that is lower, for any start.
    #[test]
    fn fluences_stay_within_their_bounds() {
        let per_unit = [1.0_f32, 2.0, 4.0, 0.5];
        let count = per_unit.len();
        let mut gy = vec![0.0; count * count];
        per_unit
            .iter()
            .enumerate()
            .for_each(|(n, dose_gy)| gy[n * count + n] = *dose_gy);
        let columns = Columns::from_gy(count, &gy);
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [count, 1, 1]).expect("a grid");
        let set = RowSet {
            name: "S".to_owned(),
            rows: (0..count as u32).collect(),
            cm3: vec![1.0; count],
        };
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: (0..count).collect(),
            sets: vec![set],
        };
        let aim = Aim::Deviation;
        let objectives = [Objective {
            structure: "S".to_owned(),
            aim,
            gy: 8.0,
            weight: 1.0,
            asked: None,
            wish_range_gy: None,
            raised: 1.0,
        }];
        let problem = Problem::new(&columns, &rows, &objectives, MonitorUnits::none(), 1.0);
        let upper = [f64::INFINITY, 3.0, 0.0, 20.0];
        for start in [[0.0; 4], [100.0; 4]] {
            let bounds = Bounds {
                lower: &[0.0; 4],
                upper: &upper,
            };
            let start = Start {
                variables: &start,
                bounds,
            };
            let solved =
                solve(&problem, start, 200, 1e-12, &mut |_, _, _| true).expect("a minimum");
            for (got, want) in solved.variables.iter().zip([8.0, 3.0, 0.0, 16.0]) {
                assert!((got - want).abs() < 1e-4, "{:?}", solved.variables);
            }
            assert!(
                solved
                    .variables
                    .iter()
                    .zip(&upper)
                    .all(|(x, upper)| x <= upper)
            );
        }
    }
}
