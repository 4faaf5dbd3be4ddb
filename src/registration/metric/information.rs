//! Mutual information of a joint histogram (Viola and Wells 1997, Maes 1997), each pixel shared between the two nearest
//! bins of each picture (a Parzen window of first order), so that it changes smoothly with the pose.

const BINS: usize = 32;

#[derive(Clone, Debug)]
pub struct Information {
    /// Lower bin and the upper bin's share, of each pixel of the X-ray.
    fixed: Vec<(u8, f32)>,
}

impl Information {
    /// The X-ray has at least two values.
    pub fn new(fixed: &[f32]) -> Self {
        Self { fixed: binned(fixed).unwrap_or_default() }
    }

    /// Nats; `None` where the DRR has one value only.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let moving = binned(drr)?;
        let mut joint = vec![0.0f64; BINS * BINS];
        for (&(f, high_f), &(m, high_m)) in self.fixed.iter().zip(&moving) {
            let (high_f, high_m) = (f64::from(high_f), f64::from(high_m));
            let at = f as usize * BINS + m as usize;
            joint[at] += (1.0 - high_f) * (1.0 - high_m);
            joint[at + 1] += (1.0 - high_f) * high_m;
            joint[at + BINS] += high_f * (1.0 - high_m);
            joint[at + BINS + 1] += high_f * high_m;
        }
        let total: f64 = joint.iter().sum();
        let mut of_fixed = [0.0; BINS];
        let mut of_moving = [0.0; BINS];
        for (at, weight) in joint.iter().enumerate() {
            of_fixed[at / BINS] += weight;
            of_moving[at % BINS] += weight;
        }
        let entropy = |weights: &[f64]| {
            -weights.iter().filter(|w| **w > 0.0).map(|w| w / total * (w / total).ln()).sum::<f64>()
        };
        Some(entropy(&of_fixed) + entropy(&of_moving) - entropy(&joint))
    }
}

/// Each value's lower bin, which is never the last, and the share of the next.
fn binned(values: &[f32]) -> Option<Vec<(u8, f32)>> {
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (BINS - 1) as f32 / (high - low);
    if !(scale.is_finite() && scale > 0.0) {
        return None;
    }
    let bin = |v: &f32| {
        let x = ((v - low) * scale).clamp(0.0, (BINS - 1) as f32);
        let lower = x.floor().min((BINS - 2) as f32);
        (lower as u8, x - lower)
    };
    Some(values.iter().map(bin).collect())
}
