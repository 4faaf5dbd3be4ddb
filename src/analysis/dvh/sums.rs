//! Sums over the samples of a structure, and their least and greatest dose.

use super::row::Visitor;
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

    fn inside(&mut self, coverage: &[u8], gy: &[f32], _: &[f32], cm3: f64) -> bool {
        let (mut weight, mut sum) = ([0_u32; LANES], [0.0_f64; LANES]);
        let (mut min, mut max) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        let mut add = |coverage: &[u8], gy: &[f32]| {
            for (n, (c, gy)) in coverage.iter().zip(gy).enumerate() {
                weight[n] += u32::from(*c);
                sum[n] += f64::from(*c) * f64::from(*gy);
                let (low, high) = if *c > 0 { (*gy, *gy) } else { (f32::INFINITY, f32::NEG_INFINITY) };
                min[n] = if low < min[n] { low } else { min[n] };
                max[n] = if high > max[n] { high } else { max[n] };
            }
        };
        let (coverage, last_coverage) = coverage.as_chunks::<LANES>();
        let (gy, last_gy) = gy.as_chunks::<LANES>();
        coverage.iter().zip(gy).for_each(|(coverage, gy)| add(coverage, gy));
        add(last_coverage, last_gy);
        let sum: f64 = sum.iter().sum();
        if !sum.is_finite() {
            return false;
        }
        self.inside_cm3 += cm3 * f64::from(weight.iter().sum::<u32>());
        self.gy_cm3 += cm3 * sum;
        self.reach([
            min.into_iter().fold(f32::INFINITY, f32::min),
            max.into_iter().fold(f32::NEG_INFINITY, f32::max),
        ]);
        true
    }
}
