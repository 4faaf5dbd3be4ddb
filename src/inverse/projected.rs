//! Limited-memory BFGS within bounds: each step goes along the quasi-Newton direction of the variables that no bound holds, and what would
//! leave the bounds stops at them (Bertsekas, SIAM J. Control Optim. 20 (1982) 221, with the recursion of Nocedal, Math. Comput. 35 (1980)
//! 773).
//!
//! L-BFGS-B of the crate `basin` is its judge in the tests: it finds the same least, and takes four times as long between two evaluations.

use super::solve::Bounds;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// Pairs of the memory.
const MEMORY: usize = 12;

/// Variables of a block. Sums of blocks add up in their order: equal inputs give equal bits on any number of threads.
const BLOCK: usize = 4096;

/// Variables from which blocks go side by side: for fewer the threads would take longer to hear of it.
const SIDE_BY_SIDE: usize = 8 * BLOCK;

/// Part of the slope that a step must gain (Armijo).
const ARMIJO: f64 = 1e-4;

/// Trials of a step.
const TRIALS: usize = 20;

/// A pair counts where the curvature along it is more than this part of its gradient's.
const LEAST_CURVATURE: f64 = 1e-10;

/// Values that an instruction or a few take side by side.
const LANES: usize = 8;

/// A value with its gradient.
type Evaluated = (f64, Vec<f64>);

/// A step of the past and what it did to the gradient.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// A way down to the least of a function.
pub struct Descent<'a> {
    bounds: Bounds<'a>,
    variables: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    pairs: VecDeque<Pair>,
    evaluations: u64,
}

impl<'a> Descent<'a> {
    /// A way that begins at variables within their bounds.
    pub fn begin(evaluate: &dyn Fn(&[f64]) -> Evaluated, variables: Vec<f64>, bounds: Bounds<'a>) -> Self {
        let (value, gradient) = evaluate(&variables);
        Self { bounds, variables, value, gradient, pairs: VecDeque::new(), evaluations: 1 }
    }

    pub fn variables(&self) -> &[f64] {
        &self.variables
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Goes one step down; false where no step gains any more.
    pub fn step(&mut self, evaluate: &dyn Fn(&[f64]) -> Evaluated) -> bool {
        let free = self.free();
        let downhill: Vec<f64> = self.gradient.iter().zip(&free).map(|(slope, free)| -slope * free).collect();
        let steepness = dot(&downhill, &downhill).sqrt();
        if steepness <= f64::MIN_POSITIVE || !steepness.is_finite() {
            return false;
        }
        if !self.pairs.is_empty() {
            let direction = self.direction(&downhill, &free);
            if dot(&direction, &self.gradient) < 0.0 && self.search(&direction, evaluate) {
                return true;
            }
            // A memory that leads nowhere is of another part of the function.
            self.pairs.clear();
        }
        let along: Vec<f64> = downhill.iter().map(|slope| slope / steepness).collect();
        self.search(&along, evaluate)
    }

    /// 1 for variables that may move downhill, 0 for those that a bound holds.
    fn free(&self) -> Vec<f64> {
        let Bounds { lower, upper } = self.bounds;
        let bounds = lower.iter().zip(upper);
        let own = |((value, slope), (lower, upper)): ((&f64, &f64), (&f64, &f64))| {
            let is_held = (value <= lower && *slope > 0.0) || (value >= upper && *slope < 0.0);
            f64::from(u8::from(!is_held))
        };
        self.variables.iter().zip(&self.gradient).zip(bounds).map(own).collect()
    }

    /// The way downhill times the inverse of the curvature among the free variables, as the pairs tell it.
    fn direction(&self, downhill: &[f64], free: &[f64]) -> Vec<f64> {
        let mut along = downhill.to_vec();
        // The curvature along each pair, and the part of it that is taken away.
        let mut parts = vec![None; self.pairs.len()];
        let mut times = None;
        for (Pair { step, change }, part) in self.pairs.iter().zip(&mut parts).rev() {
            let [squared, curvature, of_step] = by_blocks(&mut along, |block, along| {
                let (step, change, free) = (&step[block.clone()], &change[block.clone()], &free[block]);
                [sum([change, change, free]), sum([change, step, free]), dot(step, along)]
            });
            if curvature > LEAST_CURVATURE * squared {
                times.get_or_insert(curvature / squared);
                *part = Some((curvature, of_step / curvature));
                let [] = by_blocks(&mut along, |block, along| {
                    add(along, -of_step / curvature, &change[block.clone()], &free[block]);
                    []
                });
            }
        }
        let times = times.unwrap_or(1.0);
        along.iter_mut().for_each(|value| *value *= times);
        for (Pair { step, change }, part) in self.pairs.iter().zip(parts) {
            let Some((curvature, part)) = part else { continue };
            let [of_change] = by_blocks(&mut along, |block, along| [dot(&change[block], along)]);
            let [] = by_blocks(&mut along, |block, along| {
                add(along, part - of_change / curvature, &step[block.clone()], &free[block]);
                []
            });
        }
        along
    }

    /// Goes along a direction as far as it gains, and keeps the pair; false where it gains nowhere.
    fn search(&mut self, direction: &[f64], evaluate: &dyn Fn(&[f64]) -> Evaluated) -> bool {
        let Bounds { lower, upper } = self.bounds;
        let mut part = 1.0;
        for _ in 0..TRIALS {
            let place = |n: usize| (self.variables[n] + part * direction[n]).max(lower[n]).min(upper[n]);
            let next: Vec<f64> = (0..direction.len()).map(place).collect();
            let step: Vec<f64> = next.iter().zip(&self.variables).map(|(next, now)| next - now).collect();
            let expected = dot(&step, &self.gradient);
            let (value, gradient) = evaluate(&next);
            self.evaluations += 1;
            if expected < 0.0 && value <= self.value + ARMIJO * expected {
                let change: Vec<f64> =
                    gradient.iter().zip(&self.gradient).map(|(next, now)| next - now).collect();
                if dot(&step, &change) > 0.0 {
                    if self.pairs.len() == MEMORY {
                        self.pairs.pop_front();
                    }
                    self.pairs.push_back(Pair { step, change });
                }
                (self.variables, self.value, self.gradient) = (next, value, gradient);
                return true;
            }
            // The least of the parabola through the value, the slope and the value there; NaN halves the step.
            let bend = value - self.value - expected;
            let least = -expected / (2.0 * bend);
            part *= if bend > 0.0 && expected < 0.0 { least.clamp(0.1, 0.5) } else { 0.5 };
        }
        false
    }
}

/// Sum of the products of equal places, in lanes that go side by side.
fn sum<const FACTORS: usize>(factors: [&[f64]; FACTORS]) -> f64 {
    let chunks = factors.map(|values| values.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for n in 0..chunks[0].0.len() {
        let own = chunks.map(|(whole, _)| &whole[n]);
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += own.iter().map(|values| values[lane]).product::<f64>();
        }
    }
    let rest = (0..chunks[0].1.len()).map(|n| chunks.iter().map(|(_, rest)| rest[n]).product::<f64>());
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum([a, b])
}

/// Adds a part of other values to those of free variables.
fn add(to: &mut [f64], part: f64, values: &[f64], free: &[f64]) {
    to.iter_mut().zip(values).zip(free).for_each(|((to, value), free)| *to += part * value * free);
}

/// Visits the values by blocks, and adds up what each gives.
fn by_blocks<const SUMS: usize>(
    values: &mut [f64],
    visit: impl Fn(Range<usize>, &mut [f64]) -> [f64; SUMS] + Sync,
) -> [f64; SUMS] {
    let of = |(n, block): (usize, &mut [f64])| visit(n * BLOCK..n * BLOCK + block.len(), block);
    let parts: Vec<[f64; SUMS]> = if values.len() < SIDE_BY_SIDE {
        values.chunks_mut(BLOCK).enumerate().map(of).collect()
    } else {
        values.par_chunks_mut(BLOCK).enumerate().map(of).collect()
    };
    let add = |sums: [f64; SUMS], part: [f64; SUMS]| std::array::from_fn(|n| sums[n] + part[n]);
    parts.into_iter().fold([0.0; SUMS], add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use basin::{
        BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor,
        FirstOrderState, Gradient, Lbfgsb, State,
    };
    use std::convert::Infallible;

    /// Squares of different weights, fourth powers and steps between neighbours.
    struct Valley {
        target: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    }

    impl Valley {
        fn new(count: usize) -> Self {
            let target = (0..count).map(|n| (n * 7919 % 1013) as f64 / 300.0 - 1.0).collect();
            Self { target, lower: vec![0.0; count], upper: vec![1.5; count] }
        }

        fn evaluate(&self, x: &[f64]) -> Evaluated {
            let (mut sum, mut slopes) = (0.0, vec![0.0; x.len()]);
            for (n, target) in self.target.iter().enumerate() {
                let (off, weight) = (x[n] - target, 1.0 + (n % 97) as f64);
                sum += 0.5 * weight * off * off + 0.1 * off.powi(4);
                slopes[n] += weight * off + 0.4 * off.powi(3);
                if n > 0 {
                    let step = x[n] - x[n - 1];
                    sum += 5.0 * step * step;
                    slopes[n] += 10.0 * step;
                    slopes[n - 1] -= 10.0 * step;
                }
            }
            (sum, slopes)
        }

        fn least(&self, most_evaluations: u64) -> (Vec<f64>, f64) {
            let evaluate = |x: &[f64]| self.evaluate(x);
            let bounds = Bounds { lower: &self.lower, upper: &self.upper };
            let mut descent = Descent::begin(&evaluate, vec![1.0; self.target.len()], bounds);
            while descent.evaluations() < most_evaluations && descent.step(&evaluate) {}
            (descent.variables().to_vec(), descent.value())
        }
    }

    impl Constraints for &Valley {
        type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

        fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
            ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.lower), Some(&self.upper)))
        }
    }

    impl CostFunction for &Valley {
        type Param = Vec<f64>;
        type Output = f64;
        type Error = Infallible;

        fn cost(&self, x: &Vec<f64>) -> Result<f64, Infallible> {
            Ok(self.evaluate(x).0)
        }
    }

    impl Gradient for &Valley {
        type Gradient = Vec<f64>;

        fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Infallible> {
            Ok(self.evaluate(x).1)
        }
    }

    #[test]
    fn the_least_is_that_of_basin() {
        let valley = Valley::new(500);
        let start = FirstOrderState::new(vec![1.0; 500]);
        let solver = Lbfgsb::new().with_m_capacity(MEMORY);
        let want = Executor::new(&valley, solver, start).max_iter(300).run().expect("a least");
        let (variables, value) = valley.least(300);
        assert!((value - want.state.cost()).abs() < 1e-9 * value, "{value} for {}", want.state.cost());
        for (n, (got, want)) in variables.iter().zip(want.state.param()).enumerate() {
            assert!((got - want).abs() < 1e-5, "{n}: {got} for {want}");
        }
        // Some are held by a bound, some are not.
        for bound in [0.0, 1.5] {
            let held = variables.iter().filter(|value| **value == bound).count();
            assert!((20..480).contains(&held), "{held} at {bound}");
        }
    }

    /// The way ends where no variable may move downhill any more, and where the function has no value.
    #[test]
    fn the_way_ends_where_nothing_gains() {
        let bounds = Bounds { lower: &[0.0; 3], upper: &[2.0; 3] };
        let uphill = |x: &[f64]| (x.iter().sum(), vec![1.0; 3]);
        let mut descent = Descent::begin(&uphill, vec![1.0, 2.0, 0.5], bounds);
        while descent.step(&uphill) {}
        assert_eq!((descent.variables(), descent.value()), (&[0.0; 3][..], 0.0));
        let nothing = |_: &[f64]| (f64::NAN, vec![f64::NAN; 3]);
        assert!(!Descent::begin(&nothing, vec![1.0; 3], bounds).step(&nothing));
    }

    #[test]
    fn blocks_side_by_side_give_the_same_bits() {
        let valley = Valley::new(SIDE_BY_SIDE + 77);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| valley.least(25))
        };
        let (alone, together) = (on(1), on(3));
        assert_eq!(alone.1.to_bits(), together.1.to_bits());
        assert!(alone.0.iter().zip(&together.0).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
