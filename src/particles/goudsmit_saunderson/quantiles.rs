//! Quantile tables of the multiple-scattering angle.
//!
//! 1 - cos = 2 v/(1 + b (1 - v)), with v tabulated over s where the probability is u = 1 - (1 - s)^3: even steps of u would
//! leave the tail of large angles to one step. The nodes are exact for any b, which bends the curve between them; it is
//! fitted such that the mean of 1 - cos is 1 - exp(-K). (1/b is the a of 1 - cos = 2 a v/(1 - v + a).) b is above zero where small angles prevail (Moliere's peak), below
//! it where many scatterings have made all directions alike.

use super::moments::{Moments, legendre_deficits};
use crate::numeric::{GaussLegendre, geometric_panels};
use std::fmt;

/// Nodes in s.
pub const NODES: usize = 65;
/// Places at which the distribution is summed: half angles from the least by this ratio.
const LEAST_HALF_ANGLE: f64 = 1e-5;
const PLACE_RATIO: f64 = 1.015;
/// Terms of the series below this are left out.
const LEAST_TERM: f64 = 1e-10;
/// Range of 1 + b.
const BENDS: [f64; 2] = [1e-3, 1e9];
const BISECTIONS: usize = 80;

/// Probability at a place s of the table.
pub fn probability_at(s: f64) -> f64 {
    1.0 - (1.0 - s).powi(3)
}

/// Angles after a path.
#[derive(Clone, Debug)]
pub struct Quantiles {
    bend: f64,
    v: Vec<f64>,
}

/// No bend gives the mean deflection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnfittedMean {
    pub path: f64,
    pub mean_one_minus_cos: f64,
}

impl fmt::Display for UnfittedMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no table for a path of {} has the mean {} of 1 - cos",
            self.path, self.mean_one_minus_cos
        )
    }
}

impl std::error::Error for UnfittedMean {}

impl Quantiles {
    /// After each of several paths of K first transport mean free paths, which share their Legendre polynomials.
    pub fn for_paths(moments: &Moments, paths: &[f64]) -> Result<Vec<Self>, UnfittedMean> {
        let distributions = Distribution::for_paths(moments, paths);
        paths
            .iter()
            .zip(distributions)
            .map(|(&path, distribution)| Self::fitted(&distribution, path))
            .collect()
    }

    fn fitted(distribution: &Distribution, path: f64) -> Result<Self, UnfittedMean> {
        let one_minus_cos = distribution.quantiles();
        let mean_one_minus_cos = -(-path).exp_m1();
        let mean =
            |bend: f64| Self::through(&one_minus_cos, bend).mean(|one_minus_cos| one_minus_cos);
        // A greater bend draws the curve between nodes towards small angles.
        let [mut low, mut high] = BENDS.map(f64::ln);
        if mean(high.exp_m1()) > mean_one_minus_cos || mean(low.exp_m1()) < mean_one_minus_cos {
            return Err(UnfittedMean {
                path,
                mean_one_minus_cos,
            });
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if mean(middle.exp_m1()) > mean_one_minus_cos {
                low = middle
            } else {
                high = middle
            }
        }
        Ok(Self::through(&one_minus_cos, (0.5 * (low + high)).exp_m1()))
    }

    /// The table whose nodes are exact, for a bend.
    fn through(one_minus_cos: &[f64], bend: f64) -> Self {
        let v = one_minus_cos
            .iter()
            .map(|x| x * (1.0 + bend) / (2.0 + bend * x))
            .collect();
        Self { bend, v }
    }

    /// b, above -1.
    pub fn bend(&self) -> f64 {
        self.bend
    }

    pub fn v(&self) -> &[f64] {
        &self.v
    }

    /// 1 - cos of a draw, `uniform` in [0, 1].
    pub fn one_minus_cos(&self, uniform: f64) -> f64 {
        self.at(1.0 - (1.0 - uniform).cbrt())
    }

    fn at(&self, s: f64) -> f64 {
        let place = s.clamp(0.0, 1.0) * (NODES as f64 - 1.0);
        let index = (place as usize).min(NODES - 2);
        let fraction = place - index as f64;
        let v = self.v[index] + fraction * (self.v[index + 1] - self.v[index]);
        2.0 * v / (1.0 + self.bend * (1.0 - v))
    }

    /// Mean of a function of 1 - cos over the draws.
    pub fn mean(&self, function: impl Fn(f64) -> f64) -> f64 {
        let rule = GaussLegendre::new(6);
        let edge = |node: usize| node as f64 / (NODES as f64 - 1.0);
        (0..NODES - 1)
            .flat_map(|node| rule.on(edge(node), edge(node + 1)).collect::<Vec<_>>())
            .map(|(s, weight)| weight * 3.0 * (1.0 - s).powi(2) * function(self.at(s)))
            .sum()
    }
}

/// Probability of deflections beyond places in 1 - cos.
struct Distribution {
    one_minus_cos: Vec<f64>,
    probability_beyond: Vec<f64>,
}

/// Terms of one path's series.
struct Series {
    unscattered: f64,
    /// <P_l> of what scattered; what did not is a peak forward that no finite sum has.
    scattered: Vec<f64>,
}

impl Series {
    fn new(moments: &Moments, path: f64) -> Self {
        let unscattered = moments.unscattered(path);
        let scattered = (0..moments.by_degree_cm2_g().len())
            .map(|degree| moments.mean_legendre(degree, path) - unscattered)
            .take_while(|term| term.abs() > LEAST_TERM)
            .collect();
        Self {
            unscattered,
            scattered,
        }
    }

    /// Probability of deflections beyond 1 - cos, from the differences P_{l-1} - P_{l+1}: the integral of (2l + 1) P_l from
    /// cos to 1.
    fn probability_beyond(&self, differences: &[f64]) -> f64 {
        let sum: f64 = self
            .scattered
            .iter()
            .zip(differences)
            .map(|(term, difference)| term * difference)
            .sum();
        1.0 - self.unscattered - 0.5 * sum
    }
}

impl Distribution {
    fn for_paths(moments: &Moments, paths: &[f64]) -> Vec<Self> {
        let series: Vec<Series> = paths
            .iter()
            .map(|&path| Series::new(moments, path))
            .collect();
        let terms = series
            .iter()
            .map(|series| series.scattered.len())
            .max()
            .unwrap_or(0)
            .max(2);
        let mut distributions: Vec<Self> = series
            .iter()
            .map(|series| Self {
                one_minus_cos: vec![0.0],
                probability_beyond: vec![1.0 - series.unscattered],
            })
            .collect();
        let (mut deficits, mut differences) = (Vec::new(), Vec::new());
        // Half the angle in even steps of its logarithm, to where the sine is 1.
        for half_angle in
            geometric_panels(LEAST_HALF_ANGLE, std::f64::consts::FRAC_PI_2, PLACE_RATIO)
        {
            let one_minus_cos = 2.0 * half_angle.sin().powi(2);
            legendre_deficits(one_minus_cos, terms, &mut deficits);
            differences.clear();
            differences.push(one_minus_cos);
            differences.extend((1..terms).map(|l| deficits[l + 1] - deficits[l - 1]));
            for (distribution, series) in distributions.iter_mut().zip(&series) {
                distribution.push(one_minus_cos, series.probability_beyond(&differences));
            }
        }
        distributions
    }

    /// Probabilities fall: rounding and the end of the series leave ripples of 1e-9.
    fn push(&mut self, one_minus_cos: f64, probability_beyond: f64) {
        let previous = self.probability_beyond[self.probability_beyond.len() - 1];
        self.one_minus_cos.push(one_minus_cos);
        self.probability_beyond
            .push(probability_beyond.min(previous).max(0.0));
    }

    /// 1 - cos at the nodes of the table.
    fn quantiles(&self) -> Vec<f64> {
        (0..NODES)
            .map(|node| {
                let s = node as f64 / (NODES as f64 - 1.0);
                self.place_beyond(1.0 - probability_at(s))
            })
            .collect()
    }

    /// 1 - cos beyond which a probability lies.
    fn place_beyond(&self, probability: f64) -> f64 {
        let last = self.probability_beyond.len() - 1;
        if probability >= self.probability_beyond[0] {
            return 0.0;
        }
        if probability <= 0.0 {
            return 2.0;
        }
        let upper = self
            .probability_beyond
            .partition_point(|&node| node > probability)
            .clamp(1, last);
        let step = self.probability_beyond[upper - 1] - self.probability_beyond[upper];
        let fraction = if step > 0.0 {
            (self.probability_beyond[upper - 1] - probability) / step
        } else {
            1.0
        };
        let (low, high) = (self.one_minus_cos[upper - 1], self.one_minus_cos[upper]);
        low + fraction.min(1.0) * (high - low)
    }
}

#[cfg(test)]
mod tests;
