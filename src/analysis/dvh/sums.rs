//! Sums over the samples of a structure, and their least and greatest dose.

use super::row::{Visitor, Weight};
use super::samples::SampledDose;

/// Sums that are added up side by side.
const LANES: usize = 8;

/// The sums of the first pass over some samples.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    pub inside_cm3: f64,
    pub outside_cm3: f64,
    pub not_a_number_cm3: f64,
    pub gy_cm3: f64,
    pub min_gy: f32,
    pub max_gy: f32,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            inside_cm3: 0.0,
            outside_cm3: 0.0,
            not_a_number_cm3: 0.0,
            gy_cm3: 0.0,
            min_gy: f32::INFINITY,
            max_gy: f32::NEG_INFINITY,
        }
    }
}

impl Sums {
    pub fn volume_cm3(&self) -> f64 {
        self.inside_cm3 + self.outside_cm3 + self.not_a_number_cm3
    }

    pub fn add(&mut self, more: &Self) {
        self.inside_cm3 += more.inside_cm3;
        self.outside_cm3 += more.outside_cm3;
        self.not_a_number_cm3 += more.not_a_number_cm3;
        self.gy_cm3 += more.gy_cm3;
        self.reach([more.min_gy, more.max_gy]);
    }

    /// Lets the least and the greatest dose reach others.
    pub fn reach(&mut self, [min_gy, max_gy]: [f32; 2]) {
        self.min_gy = self.min_gy.min(min_gy);
        self.max_gy = self.max_gy.max(max_gy);
    }
}

impl Visitor for Sums {
    fn sample(&mut self, dose: Option<SampledDose>, cm3: f64) {
        match dose.map(|dose| dose.gy) {
            None => self.outside_cm3 += cm3,
            Some(gy) if !gy.is_finite() => self.not_a_number_cm3 += cm3,
            Some(gy) => {
                self.inside_cm3 += cm3;
                self.gy_cm3 += f64::from(gy) * cm3;
                self.reach([gy, gy]);
            }
        }
    }

    fn inside<W: Weight>(&mut self, weights: &[W], gy: &[f32], _: &[f32], cm3: f64) -> bool {
        let (mut volume, mut sum) = ([0.0_f64; LANES], [0.0_f64; LANES]);
        let (mut min, mut max) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        let mut add = |weights: &[W], gy: &[f32]| {
            for (n, (weight, gy)) in weights.iter().zip(gy).enumerate() {
                let weight = weight.weight();
                volume[n] += weight;
                sum[n] += weight * f64::from(*gy);
                let (low, high) = if weight > 0.0 {
                    (*gy, *gy)
                } else {
                    (f32::INFINITY, f32::NEG_INFINITY)
                };
                min[n] = if low < min[n] { low } else { min[n] };
                max[n] = if high > max[n] { high } else { max[n] };
            }
        };
        let (weights, last_weights) = weights.as_chunks::<LANES>();
        let (gy, last_gy) = gy.as_chunks::<LANES>();
        weights
            .iter()
            .zip(gy)
            .for_each(|(weights, gy)| add(weights, gy));
        add(last_weights, last_gy);
        let sum: f64 = sum.iter().sum();
        if !sum.is_finite() {
            return false;
        }
        self.inside_cm3 += cm3 * volume.iter().sum::<f64>();
        self.gy_cm3 += cm3 * sum;
        self.reach([
            min.into_iter().fold(f32::INFINITY, f32::min),
            max.into_iter().fold(f32::NEG_INFINITY, f32::max),
        ]);
        true
    }
}
