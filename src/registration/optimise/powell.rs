//! Powell's search without derivatives by quadratic models, within bounds: BOBYQA of the crate `basin` (M. J. D. Powell, report
//! DAMTP 2009/NA06, Cambridge).

use super::{Best, Range};
use basin::{
    Bobyqa, BoxBounds, ConstraintDescription, ConstraintSet, ConstraintSolveError, Constraints,
    CostFunction, Executor, PointState,
};
use std::cell::RefCell;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowellSettings {
    /// First radius of the model, equal along every axis.
    pub step: f64,
    /// Last radius, at which the search ends.
    pub tolerance: f64,
    /// Largest number of evaluations.
    pub values: u64,
}

/// A cost by the numbers that are not locked.
struct Problem<'a, F> {
    value: RefCell<F>,
    start: &'a [f64],
    free: &'a [usize],
    low: Vec<f64>,
    high: Vec<f64>,
    seen: RefCell<Seen>,
}

/// Points asked about so far: the best, and the greatest cost, which is what a point without a value costs, as a model has no place
/// for infinity.
struct Seen {
    best: Best,
    greatest: f64,
}

impl<F> Constraints for &Problem<'_, F> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.low), Some(&self.high)))
    }
}

impl<E, F: FnMut(&[f64]) -> Result<f64, E>> CostFunction for &Problem<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = E;

    fn cost(&self, values: &Vec<f64>) -> Result<f64, E> {
        let mut point = self.start.to_vec();
        for (n, &axis) in self.free.iter().enumerate() {
            point[axis] = values[n].max(self.low[n]).min(self.high[n]);
        }
        let value = (self.value.borrow_mut())(&point)?;
        let mut seen = self.seen.borrow_mut();
        if !value.is_finite() {
            return Ok(seen.greatest);
        }
        seen.greatest = seen.greatest.max(value);
        if value < seen.best.value {
            seen.best = Best { point, value };
        }
        Ok(value)
    }
}

/// Finds the minimum near `start`. `value` returns the cost of a point; one that is not finite counts as the greatest so far.
///
/// # Errors
/// Errors of `value`.
pub fn powell<E>(
    start: &[f64],
    ranges: &[Range],
    settings: PowellSettings,
    mut value: impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<Best, E> {
    let start: Vec<f64> = start.iter().zip(ranges).map(|(x, r)| r.clamp(*x)).collect();
    let first = value(&start)?;
    let (first, greatest) = if first.is_finite() {
        (first, first)
    } else {
        (f64::INFINITY, 0.0)
    };
    let best = Best {
        point: start.clone(),
        value: first,
    };
    let free: Vec<usize> = (0..ranges.len())
        .filter(|&n| ranges[n].high - ranges[n].low > settings.tolerance)
        .collect();
    if free.is_empty() {
        return Ok(best);
    }
    let problem = Problem {
        value: RefCell::new(value),
        start: &start,
        free: &free,
        low: free.iter().map(|&axis| ranges[axis].low).collect(),
        high: free.iter().map(|&axis| ranges[axis].high).collect(),
        seen: RefCell::new(Seen { best, greatest }),
    };
    // A third of the DRRs of line searches along Powell's directions (302 for 866 of two views), and nearer: 0.053 mm off for 0.061.
    let solver = Bobyqa::new()
        .with_initial_radius(settings.step)
        .with_final_radius(settings.tolerance);
    let state = PointState::new(free.iter().map(|&axis| start[axis]).collect::<Vec<_>>());
    let run = Executor::new(&problem, solver, state)
        .max_cost_evals(settings.values)
        .run();
    match run {
        Err(ConstraintSolveError::Evaluation(error)) => Err(error),
        _ => Ok(problem.seen.into_inner().best),
    }
}
