//! The best values of a model within bounds: Levenberg-Marquardt of the crate `basin`.

use super::model::Model;
use basin::{
    BoundedFiniteDiff, BoundedLevenbergMarquardt, BoxBounds, ConstraintDescription, ConstraintSet,
    Constraints, Executor, PointState, Residual,
};
use std::convert::Infallible;

const ITERATIONS: u64 = 200;

struct Problem<'a> {
    model: &'a Model<'a>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Constraints for Problem<'_> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.low), Some(&self.high)))
    }
}

impl Residual for Problem<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    type Error = Infallible;

    fn residual(&self, values: &Vec<f64>) -> Result<Vec<f64>, Infallible> {
        Ok(self.model.residuals(values))
    }
}

/// The values of the least cost between bounds, all in units of belief.
///
/// # Errors
/// The solver's words where it finds none.
pub fn solve(model: &Model<'_>, low: Vec<f64>, high: Vec<f64>) -> Result<Vec<f64>, String> {
    let problem = Problem {
        model,
        low: low.clone(),
        high: high.clone(),
    };
    let problem = BoundedFiniteDiff::try_new(problem, low.clone(), high.clone())
        .map_err(|e| e.to_string())?;
    // Without this the solver reports failure at the optimum, where no step gains any more.
    let solver = BoundedLevenbergMarquardt::new().with_relative_cost_change_tolerance(1e-9);
    let run = Executor::new(problem, solver, PointState::new(model.values.clone()))
        .max_iter(ITERATIONS)
        .run();
    let best = run.map_err(|e| e.to_string())?.best_param().clone();
    if best.iter().any(|v| !v.is_finite()) {
        return Err("the solver left the range of numbers".to_owned());
    }
    Ok(best
        .iter()
        .zip(low.iter().zip(&high))
        .map(|(v, (low, high))| v.clamp(*low, *high))
        .collect())
}
