//! Projected limited-memory BFGS: each step follows the quasi-Newton direction of the free variables, and is projected on the bounds
//! (Bertsekas, SIAM J. Control Optim. 20 (1982) 221, with the recursion of Nocedal, Math. Comput. 35 (1980)
//! 773).
//!
//! Tests compare it with L-BFGS-B of the crate `basin`, which finds the same minimum and takes four times as long between two evaluations.

use super::solve::Bounds;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// Number of pairs in the memory.
const MEMORY: usize = 12;

/// Variables of a block. Sums of blocks are added in order: equal inputs give equal bits on any number of threads.
const BLOCK: usize = 4096;

/// Number of variables from which blocks are processed in parallel: below it waking threads takes longer.
const MIN_PARALLEL: usize = 8 * BLOCK;

/// Fraction of the expected decrease that a step must reach (Armijo).
const ARMIJO: f64 = 1e-4;

/// Maximum number of trials in a line search.
const TRIALS: usize = 20;

/// A pair is used if the curvature along it exceeds this fraction of the squared change of the gradient.
const LEAST_CURVATURE: f64 = 1e-10;

/// SIMD lanes of a sum.
const LANES: usize = 8;

/// A value with its gradient.
type Evaluated = (f64, Vec<f64>);

/// A past step and its change of the gradient.
#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// The last steps of a descent with their changes of the gradient: the memory of its curvature.
#[derive(Clone, Debug, Default)]
pub struct Pairs(VecDeque<Pair>);

/// A descent to the minimum of a function.
pub struct Descent<'a> {
    bounds: Bounds<'a>,
    variables: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    pairs: Pairs,
    evaluations: u64,
}

impl<'a> Descent<'a> {
    /// A descent from variables within their bounds, with the memory of a descent over the same variables or an empty one.
    pub fn begin(
        evaluate: &dyn Fn(&[f64]) -> Evaluated,
        variables: Vec<f64>,
        bounds: Bounds<'a>,
        pairs: Pairs,
    ) -> Self {
        let (value, gradient) = evaluate(&variables);
        Self {
            bounds,
            variables,
            value,
            gradient,
            pairs,
            evaluations: 1,
        }
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

    /// The memory, for a descent of a function that differs little.
    pub fn into_pairs(self) -> Pairs {
        self.pairs
    }

    /// Takes one step; false if no step lowers the value.
    pub fn step(&mut self, evaluate: &dyn Fn(&[f64]) -> Evaluated) -> bool {
        let free = self.free();
        let downhill: Vec<f64> = self
            .gradient
            .iter()
            .zip(&free)
            .map(|(slope, free)| -slope * free)
            .collect();
        let steepness = dot(&downhill, &downhill).sqrt();
        if steepness <= f64::MIN_POSITIVE || !steepness.is_finite() {
            return false;
        }
        if !self.pairs.0.is_empty() {
            let direction = self.direction(&downhill, &free);
            if dot(&direction, &self.gradient) < 0.0 && self.search(&direction, evaluate) {
                return true;
            }
            // The pairs describe another region of the function: the next step follows the gradient.
            self.pairs.0.clear();
        }
        let along: Vec<f64> = downhill.iter().map(|slope| slope / steepness).collect();
        self.search(&along, evaluate)
    }

    /// 1 for variables that may move downhill, 0 for variables held by a bound.
    fn free(&self) -> Vec<f64> {
        let Bounds { lower, upper } = self.bounds;
        let mut free = Vec::with_capacity(self.variables.len());
        for (n, (value, slope)) in self.variables.iter().zip(&self.gradient).enumerate() {
            let is_held =
                (*value <= lower[n] && *slope > 0.0) || (*value >= upper[n] && *slope < 0.0);
            free.push(f64::from(u8::from(!is_held)));
        }
        free
    }

    /// Steepest descent times the inverse Hessian of the free variables, by the two-loop recursion over the pairs.
    fn direction(&self, downhill: &[f64], free: &[f64]) -> Vec<f64> {
        let mut along = downhill.to_vec();
        // The curvature along each pair, and the multiple of its change that is subtracted.
        let mut parts = vec![None; self.pairs.0.len()];
        let mut times = None;
        for (Pair { step, change }, part) in self.pairs.0.iter().zip(&mut parts).rev() {
            let [squared, curvature, of_step] = by_blocks(&mut along, |block, along| {
                let (step, change, free) =
                    (&step[block.clone()], &change[block.clone()], &free[block]);
                [
                    sum([change, change, free]),
                    sum([change, step, free]),
                    dot(step, along),
                ]
            });
            if curvature > LEAST_CURVATURE * squared {
                times.get_or_insert(curvature / squared);
                *part = Some((curvature, of_step / curvature));
                let [] = by_blocks(&mut along, |block, along| {
                    add(
                        along,
                        -of_step / curvature,
                        &change[block.clone()],
                        &free[block],
                    );
                    []
                });
            }
        }
        let times = times.unwrap_or(1.0);
        along.iter_mut().for_each(|value| *value *= times);
        for (Pair { step, change }, part) in self.pairs.0.iter().zip(parts) {
            let Some((curvature, part)) = part else {
                continue;
            };
            let [of_change] = by_blocks(&mut along, |block, along| [dot(&change[block], along)]);
            let [] = by_blocks(&mut along, |block, along| {
                add(
                    along,
                    part - of_change / curvature,
                    &step[block.clone()],
                    &free[block],
                );
                []
            });
        }
        along
    }

    /// Searches along a direction for a sufficient decrease, and keeps the pair; false if there is none.
    fn search(&mut self, direction: &[f64], evaluate: &dyn Fn(&[f64]) -> Evaluated) -> bool {
        let Bounds { lower, upper } = self.bounds;
        let mut part = 1.0;
        for _ in 0..TRIALS {
            let next: Vec<f64> = (0..direction.len())
                .map(|n| {
                    (self.variables[n] + part * direction[n])
                        .max(lower[n])
                        .min(upper[n])
                })
                .collect();
            let step: Vec<f64> = next
                .iter()
                .zip(&self.variables)
                .map(|(next, current)| next - current)
                .collect();
            let expected = dot(&step, &self.gradient);
            let (value, gradient) = evaluate(&next);
            self.evaluations += 1;
            if expected < 0.0 && value <= self.value + ARMIJO * expected {
                let change: Vec<f64> = gradient
                    .iter()
                    .zip(&self.gradient)
                    .map(|(next, current)| next - current)
                    .collect();
                if dot(&step, &change) > 0.0 {
                    if self.pairs.0.len() == MEMORY {
                        self.pairs.0.pop_front();
                    }
                    self.pairs.0.push_back(Pair { step, change });
                }
                (self.variables, self.value, self.gradient) = (next, value, gradient);
                return true;
            }
            // Minimum of the parabola through both values and the slope at the start; NaN halves the step.
            let bend = value - self.value - expected;
            let minimum = -expected / (2.0 * bend);
            part *= if bend > 0.0 && expected < 0.0 {
                minimum.clamp(0.1, 0.5)
            } else {
                0.5
            };
        }
        false
    }
}

/// Sum of the element-wise products, in SIMD lanes.
fn sum<const FACTORS: usize>(factors: [&[f64]; FACTORS]) -> f64 {
    let chunks = factors.map(|values| values.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for n in 0..chunks[0].0.len() {
        let chunk = chunks.map(|(chunks, _)| &chunks[n]);
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += chunk.iter().map(|values| values[lane]).product::<f64>();
        }
    }
    let remainder = (0..chunks[0].1.len()).map(|n| {
        chunks
            .iter()
            .map(|(_, remainder)| remainder[n])
            .product::<f64>()
    });
    lanes.iter().sum::<f64>() + remainder.sum::<f64>()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum([a, b])
}

/// Adds a multiple of other values to the values of free variables.
fn add(to: &mut [f64], part: f64, values: &[f64], free: &[f64]) {
    to.iter_mut()
        .zip(values)
        .zip(free)
        .for_each(|((to, value), free)| *to += part * value * free);
}

/// Visits the values by blocks, and adds their sums.
fn by_blocks<const SUMS: usize>(
    values: &mut [f64],
    visit: impl Fn(Range<usize>, &mut [f64]) -> [f64; SUMS] + Sync,
) -> [f64; SUMS] {
    let parts: Vec<[f64; SUMS]> = if values.len() < MIN_PARALLEL {
        let blocks = values.chunks_mut(BLOCK).enumerate();
        blocks
            .map(|(n, block)| visit(block_range(n, block), block))
            .collect()
    } else {
        let blocks = values.par_chunks_mut(BLOCK).enumerate();
        blocks
            .map(|(n, block)| visit(block_range(n, block), block))
            .collect()
    };
    parts.into_iter().fold([0.0; SUMS], |sums, part| {
        std::array::from_fn(|n| sums[n] + part[n])
    })
}

/// Indices of the variables of block `n`.
fn block_range(n: usize, block: &[f64]) -> Range<usize> {
    n * BLOCK..n * BLOCK + block.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use basin::{
        BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor,
        FirstOrderState, Gradient, Lbfgsb, State,
    };
    use std::convert::Infallible;

    /// Squares of different weights, fourth powers and differences of neighbours.
    struct Valley {
        target: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    }

    impl Valley {
        fn new(count: usize) -> Self {
            let target = (0..count)
                .map(|n| (n * 7919 % 1013) as f64 / 300.0 - 1.0)
                .collect();
            Self {
                target,
                lower: vec![0.0; count],
                upper: vec![1.5; count],
            }
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

        fn minimum(&self, max_evaluations: u64) -> (Vec<f64>, f64) {
            let bounds = Bounds {
                lower: &self.lower,
                upper: &self.upper,
            };
            let start = vec![1.0; self.target.len()];
            let mut descent =
                Descent::begin(&|x| self.evaluate(x), start, bounds, Pairs::default());
            while descent.evaluations() < max_evaluations && descent.step(&|x| self.evaluate(x)) {}
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
    fn the_minimum_equals_the_one_of_basin() {
        let valley = Valley::new(500);
        let start = FirstOrderState::new(vec![1.0; 500]);
        let solver = Lbfgsb::new().with_m_capacity(MEMORY);
        let want = Executor::new(&valley, solver, start)
            .max_iter(300)
            .run()
            .expect("a minimum");
        let (variables, value) = valley.minimum(300);
        assert!(
            (value - want.state.cost()).abs() < 1e-9 * value,
            "{value} for {}",
            want.state.cost()
        );
        for (n, (got, want)) in variables.iter().zip(want.state.param()).enumerate() {
            assert!((got - want).abs() < 1e-5, "{n}: {got} for {want}");
        }
        // Some are held by a bound, some are not.
        for bound in [0.0, 1.5] {
            let held = variables.iter().filter(|value| **value == bound).count();
            assert!((20..480).contains(&held), "{held} at {bound}");
        }
    }

    fn uphill(x: &[f64]) -> Evaluated {
        (x.iter().sum(), vec![1.0; 3])
    }

    fn not_a_number(_: &[f64]) -> Evaluated {
        (f64::NAN, vec![f64::NAN; 3])
    }

    /// The descent ends at a corner of the bounds, and for a function without a value.
    #[test]
    fn the_descent_ends_without_a_decrease() {
        let bounds = Bounds {
            lower: &[0.0; 3],
            upper: &[2.0; 3],
        };
        let start = vec![1.0, 2.0, 0.5];
        let mut descent = Descent::begin(&uphill, start, bounds, Pairs::default());
        while descent.step(&uphill) {}
        assert_eq!((descent.variables(), descent.value()), (&[0.0; 3][..], 0.0));
        let start = vec![1.0; 3];
        let mut descent = Descent::begin(&not_a_number, start, bounds, Pairs::default());
        assert!(!descent.step(&not_a_number));
    }

    /// A target that has moved by little is nearer after ten evaluations with the memory of the former one.
    #[test]
    fn a_descent_goes_on_with_its_memory() {
        let mut valley = Valley::new(500);
        let (lower, upper) = (valley.lower.clone(), valley.upper.clone());
        let bounds = Bounds {
            lower: &lower,
            upper: &upper,
        };
        let start = vec![1.0; lower.len()];
        let mut first = Descent::begin(&|x| valley.evaluate(x), start, bounds, Pairs::default());
        while first.evaluations() < 60 && first.step(&|x| valley.evaluate(x)) {}
        let start = first.variables().to_vec();
        let pairs = first.into_pairs();
        valley.target.iter_mut().for_each(|target| *target += 0.01);
        let minimum = valley.minimum(1000).1;
        let [cold, warm] = [Pairs::default(), pairs].map(|pairs| {
            let mut descent = Descent::begin(&|x| valley.evaluate(x), start.clone(), bounds, pairs);
            while descent.evaluations() < 10 && descent.step(&|x| valley.evaluate(x)) {}
            descent.value() - minimum
        });
        assert!(
            warm < 0.6 * cold,
            "{warm:e} above the minimum with memory, {cold:e} without"
        );
    }

    #[test]
    fn parallel_blocks_give_the_same_bits() {
        let valley = Valley::new(MIN_PARALLEL + 77);
        let [serial, parallel] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("threads");
            pool.install(|| valley.minimum(25))
        });
        assert_eq!(serial.1.to_bits(), parallel.1.to_bits());
        assert!(
            serial
                .0
                .iter()
                .zip(&parallel.0)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
}
