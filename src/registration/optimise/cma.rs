//! The covariance matrix adaptation evolution strategy (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016,
//! arXiv:1604.00772, algorithm of its appendix A with positive weights).

use super::linear::eigen;
use super::{Best, Range};
use engine::Random;

/// Settings of a CMA-ES search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CmaSettings {
    /// Points of a generation; by default 4 + 3 ln n.
    pub population: Option<usize>,
    pub generations: usize,
    /// Initial standard deviation, equal along every axis.
    pub sigma: f64,
    /// The search ends where the standard deviation along every axis is below this.
    pub least_sigma: f64,
    pub seed: u64,
}

// The bounded CMA-ES of `basin` asks for one point at a time: 21 launches on a card in place of one for a generation.
/// A search between generations: [`CmaEs::ask`], then [`CmaEs::tell`].
#[derive(Clone, Debug)]
pub struct CmaEs {
    settings: CmaSettings,
    ranges: Vec<Range>,
    weights: Vec<f64>,
    rates: Rates,
    mean: Vec<f64>,
    sigma: f64,
    covariance: Vec<Vec<f64>>,
    /// Standard deviations along the principal axes, and the axes as columns.
    lengths: Vec<f64>,
    axes: Vec<Vec<f64>>,
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    generation: usize,
    random: Random,
    population: usize,
    asked: Vec<Vec<f64>>,
    best: Option<Best>,
}

/// The learning rates (the tutorial's table 1).
#[derive(Clone, Copy, Debug)]
struct Rates {
    mu_eff: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    chi: f64,
}

impl Rates {
    fn new(n: f64, weights: &[f64]) -> Self {
        let mu_eff = weights.iter().map(|w| w * w).sum::<f64>().recip();
        let c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0);
        let c_1 = 2.0 / ((n + 1.3).powi(2) + mu_eff);
        Self {
            mu_eff,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (((mu_eff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma,
            c_c: (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n),
            c_1,
            c_mu: (1.0 - c_1)
                .min(2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0).powi(2) + mu_eff)),
            chi: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }
}

impl CmaEs {
    /// A search from `start`, one number for each of `ranges`.
    pub fn new(start: &[f64], ranges: &[Range], settings: CmaSettings) -> Self {
        let n = start.len();
        let population = settings
            .population
            .unwrap_or(4 + (3.0 * (n.max(1) as f64).ln()) as usize)
            .max(4);
        let parents = population / 2;
        let raw: Vec<f64> = (1..=parents)
            .map(|i| ((population as f64 + 1.0) / 2.0).ln() - (i as f64).ln())
            .collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / sum).collect();
        let unit: Vec<Vec<f64>> = (0..n)
            .map(|r| (0..n).map(|c| f64::from(u8::from(r == c))).collect())
            .collect();
        Self {
            settings,
            ranges: ranges.to_vec(),
            rates: Rates::new(n.max(1) as f64, &weights),
            weights,
            mean: start.iter().zip(ranges).map(|(x, r)| r.clamp(*x)).collect(),
            sigma: settings.sigma,
            covariance: unit.clone(),
            lengths: vec![1.0; n],
            axes: unit,
            path_sigma: vec![0.0; n],
            path_c: vec![0.0; n],
            generation: 0,
            random: Random::new(settings.seed),
            population,
            asked: Vec::new(),
            best: None,
        }
    }

    /// The points of the next generation, within the ranges; `None` once the search has ended.
    pub fn ask(&mut self) -> Option<Vec<Vec<f64>>> {
        let longest = self.lengths.iter().copied().fold(0.0, f64::max);
        let done = self.generation >= self.settings.generations
            || self.mean.is_empty()
            || self.sigma * longest < self.settings.least_sigma;
        if done {
            return None;
        }
        self.asked = (0..self.population).map(|_| self.draw()).collect();
        Some(self.asked.clone())
    }

    /// A point of the distribution; one outside the ranges is redrawn a few times, then clamped.
    fn draw(&mut self) -> Vec<f64> {
        const TRIES: usize = 10;
        let n = self.mean.len();
        let mut point = Vec::new();
        for _ in 0..TRIES {
            let z: Vec<f64> = self
                .lengths
                .iter()
                .map(|l| l * self.random.normal())
                .collect();
            point = (0..n)
                .map(|i| {
                    self.mean[i] + self.sigma * (0..n).map(|k| self.axes[i][k] * z[k]).sum::<f64>()
                })
                .collect();
            if point
                .iter()
                .zip(&self.ranges)
                .all(|(x, r)| *x >= r.low && *x <= r.high)
            {
                break;
            }
        }
        point
            .iter()
            .zip(&self.ranges)
            .map(|(x, r)| r.clamp(*x))
            .collect()
    }

    /// Receives the values of the last generation, in its order; NaN counts as the worst.
    pub fn tell(&mut self, values: &[f64]) {
        let mut order: Vec<(f64, usize)> = values
            .iter()
            .map(|v| if v.is_nan() { f64::INFINITY } else { *v })
            .zip(0..self.asked.len())
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(value, first)) = order.first() else {
            return;
        };
        if self.best.as_ref().is_none_or(|b| value < b.value) {
            self.best = Some(Best {
                point: self.asked[first].clone(),
                value,
            });
        }
        self.generation += 1;
        let n = self.mean.len();
        // Steps of the parents in units of sigma.
        let steps: Vec<Vec<f64>> = order
            .iter()
            .take(self.weights.len())
            .map(|&(_, p)| {
                (0..n)
                    .map(|i| (self.asked[p][i] - self.mean[i]) / self.sigma)
                    .collect()
            })
            .collect();
        let step: Vec<f64> = (0..n)
            .map(|i| self.weights.iter().zip(&steps).map(|(w, s)| w * s[i]).sum())
            .collect();
        for i in 0..n {
            self.mean[i] = self.ranges[i].clamp(self.mean[i] + self.sigma * step[i]);
        }
        self.adapt(&step, &steps);
    }

    fn adapt(&mut self, step: &[f64], steps: &[Vec<f64>]) {
        let n = step.len();
        let Rates {
            mu_eff,
            c_sigma,
            d_sigma,
            c_c,
            c_1,
            c_mu,
            chi,
        } = self.rates;
        // C^(-1/2) times the step.
        let along: Vec<f64> = (0..n)
            .map(|k| {
                (0..n).map(|i| self.axes[i][k] * step[i]).sum::<f64>() / self.lengths[k].max(1e-300)
            })
            .collect();
        let gain = (c_sigma * (2.0 - c_sigma) * mu_eff).sqrt();
        for i in 0..n {
            let white: f64 = (0..n).map(|k| self.axes[i][k] * along[k]).sum();
            self.path_sigma[i] = (1.0 - c_sigma) * self.path_sigma[i] + gain * white;
        }
        let length = self.path_sigma.iter().map(|p| p * p).sum::<f64>().sqrt();
        let expected = (1.0 - (1.0 - c_sigma).powi(2 * self.generation as i32)).sqrt();
        let h = f64::from(u8::from(
            length / expected < (1.4 + 2.0 / (n as f64 + 1.0)) * chi,
        ));
        let gain = h * (c_c * (2.0 - c_c) * mu_eff).sqrt();
        for i in 0..n {
            self.path_c[i] = (1.0 - c_c) * self.path_c[i] + gain * step[i];
        }
        let kept = 1.0 + (1.0 - h) * c_1 * c_c * (2.0 - c_c) - c_1 - c_mu;
        for i in 0..n {
            for j in 0..n {
                let rank_mu: f64 = self
                    .weights
                    .iter()
                    .zip(steps)
                    .map(|(w, s)| w * s[i] * s[j])
                    .sum();
                self.covariance[i][j] = kept * self.covariance[i][j]
                    + c_1 * self.path_c[i] * self.path_c[j]
                    + c_mu * rank_mu;
            }
        }
        self.sigma *= ((c_sigma / d_sigma) * (length / chi - 1.0)).exp().min(2.0);
        let (values, axes) = eigen(&self.covariance);
        self.lengths = values.iter().map(|v| v.max(1e-20).sqrt()).collect();
        self.axes = axes;
    }

    /// The best point so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The middle of the distribution.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }
}
