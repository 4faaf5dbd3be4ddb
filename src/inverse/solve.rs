//! The least of a problem: L-BFGS-B of the crate `basin` (Byrd, Lu, Nocedal and Zhu, SIAM J. Sci. Comput. 16 (1995) 1190), on variables
//! scaled by their curvature.

use basin::{
    BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor, FirstOrderState,
    Gradient, GradientState, Lbfgsb, State, StepOutcome,
};
use std::collections::VecDeque;
use std::convert::Infallible;

/// Pairs of the solver's memory.
const MEMORY: usize = 12;

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
    low: Vec<f64>,
    high: Vec<f64>,
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

impl<D: Differentiable> Constraints for &Scaled<'_, D> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.low), Some(&self.high)))
    }
}

impl<D: Differentiable> CostFunction for &Scaled<'_, D> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Infallible;

    fn cost(&self, values: &Vec<f64>) -> Result<f64, Infallible> {
        Ok(self.evaluate(values).0)
    }
}

impl<D: Differentiable> Gradient for &Scaled<'_, D> {
    type Gradient = Vec<f64>;

    fn gradient(&self, values: &Vec<f64>) -> Result<Vec<f64>, Infallible> {
        Ok(self.evaluate(values).1)
    }

    fn cost_and_gradient(&self, values: &Vec<f64>) -> Result<(f64, Vec<f64>), Infallible> {
        Ok(self.evaluate(values))
    }
}

/// Hears the objective, the evaluations and on demand the variables after each iteration; says whether to go on.
pub type Each<'a> = dyn FnMut(f64, u64, &dyn Fn() -> Vec<f64>) -> bool + 'a;

/// Goes from `start` towards the least within bounds. `least_gain` is the part of the objective that 20 evaluations must gain. Equal
/// inputs give equal answers.
///
/// # Errors
/// The solver's words where it cannot begin.
pub fn solve(
    function: &impl Differentiable,
    (start, bounds): (&[f64], Bounds<'_>),
    most_evaluations: u64,
    least_gain: f64,
    watch: &mut Each<'_>,
) -> Result<Solved, String> {
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
    let scaled = Scaled { function, units, bounds, low, high };
    let solver = Lbfgsb::new().with_m_capacity(MEMORY);
    let executor = Executor::new(&scaled, solver, FirstOrderState::new(values)).max_iter(u64::MAX);
    let mut stepper = executor.into_stepper().map_err(|e| e.to_string())?;
    let mut past: VecDeque<(u64, f64)> = VecDeque::new();
    let stop = loop {
        let outcome = stepper.step().map_err(|e| e.to_string())?;
        let (objective, evaluations) = (stepper.state().cost(), stepper.state().gradient_evals());
        past.push_back((evaluations, objective));
        while past.len() > 1 && past[1].0 + PATIENCE <= evaluations {
            past.pop_front();
        }
        let (since, before) = past[0];
        if !watch(objective, evaluations, &|| scaled.variables(stepper.state().param())) {
            break Stop::Asked;
        }
        if matches!(outcome, StepOutcome::Stopped(_))
            || (since + PATIENCE <= evaluations && before - objective <= least_gain * before.abs())
        {
            break Stop::Converged;
        }
        if evaluations >= most_evaluations {
            break Stop::Evaluations;
        }
    };
    let state = stepper.state();
    Ok(Solved {
        variables: scaled.variables(state.param()),
        objective: state.cost(),
        evaluations: state.gradient_evals(),
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
