//! Samples of a plane that are held: their range of doses must be known before they are counted.

use super::row::{Visitor, Weight};
use super::samples::SampledDose;

/// Half-width, squared, of a sample outside the dose grid.
const OUTSIDE: f32 = -1.0;

/// Samples in the order of visits.
#[derive(Debug, Default)]
pub struct HeldSamples {
    /// NaN outside the dose grid.
    gy: Vec<f32>,
    half_gy2: Vec<f32>,
    weights: Vec<f32>,
    /// Volume of a weight of 1.
    cm3: f64,
}

impl HeldSamples {
    pub fn with_capacity(samples: usize, cm3: f64) -> Self {
        let [gy, half_gy2, weights] = [(); 3].map(|()| Vec::with_capacity(samples));
        Self {
            gy,
            half_gy2,
            weights,
            cm3,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.gy.len()
    }

    /// Hands all samples over.
    pub fn visit(&self, to: &mut impl Visitor) {
        if to.inside(&self.weights, &self.gy, &self.half_gy2, self.cm3) {
            return;
        }
        for ((&gy, &half_gy2), weight) in self.gy.iter().zip(&self.half_gy2).zip(&self.weights) {
            let dose = (half_gy2 != OUTSIDE).then_some(SampledDose { gy, half_gy2 });
            if *weight > 0.0 {
                to.sample(dose, weight.weight() * self.cm3);
            }
        }
    }
}

impl Visitor for HeldSamples {
    fn sample(&mut self, dose: Option<SampledDose>, cm3: f64) {
        let SampledDose { gy, half_gy2 } = dose.unwrap_or(SampledDose {
            gy: f32::NAN,
            half_gy2: OUTSIDE,
        });
        self.gy.push(gy);
        self.half_gy2.push(half_gy2);
        self.weights.push((cm3 / self.cm3) as f32);
    }

    fn inside<W: Weight>(
        &mut self,
        weights: &[W],
        gy: &[f32],
        half_gy2: &[f32],
        _cm3: f64,
    ) -> bool {
        self.gy.extend_from_slice(gy);
        self.half_gy2.extend_from_slice(half_gy2);
        self.half_gy2.resize(self.gy.len(), 0.0);
        self.weights
            .extend(weights.iter().map(|weight| weight.weight() as f32));
        true
    }
}
