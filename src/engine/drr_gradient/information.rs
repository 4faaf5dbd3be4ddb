//! Mutual information of a joint histogram (Viola and Wells 1997, Maes 1997), each pixel shared between the two nearest
//! bins of each picture (a Parzen window of first order), so that it changes smoothly with the pose.

/// Bins along each side of the histogram, as `BINS` of `kernels/similarity.cu`.
pub const BINS: usize = 32;
/// A pixel's weight in the histogram. Shares of it are whole numbers, whose sums do not depend on their order: card and CPU
/// have the same histogram of the same values.
const WHOLE: f32 = 65536.0;

/// Histogram bins of an X-ray's listed pixels.
#[derive(Clone, Debug)]
pub struct Information {
    /// Position of each pixel among the bins, 0 to `BINS - 1`.
    fixed: Vec<f32>,
}

impl Information {
    /// `None` where the X-ray has one value only.
    pub fn new(fixed: &[f32]) -> Option<Self> {
        Some(Self {
            fixed: binned(fixed)?,
        })
    }

    /// Position of each pixel of the X-ray among the bins, 0 to `BINS - 1`.
    pub fn fixed(&self) -> &[f32] {
        &self.fixed
    }

    /// Nats; `None` where the DRR has one value only.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let moving = binned(drr)?;
        let mut joint = vec![0_u64; BINS * BINS];
        for (&f, &m) in self.fixed.iter().zip(&moving) {
            let ([f, high_f], [m, high_m]) = (shared(f), shared(m));
            let bin = f as usize * BINS + m as usize;
            joint[bin] += weight(1.0 - high_f, 1.0 - high_m);
            joint[bin + 1] += weight(1.0 - high_f, high_m);
            joint[bin + BINS] += weight(high_f, 1.0 - high_m);
            joint[bin + BINS + 1] += weight(high_f, high_m);
        }
        let mut of_fixed = [0; BINS];
        let mut of_moving = [0; BINS];
        for (bin, weight) in joint.iter().enumerate() {
            of_fixed[bin / BINS] += weight;
            of_moving[bin % BINS] += weight;
        }
        let total = joint.iter().sum::<u64>() as f64;
        let entropy = |weights: &[u64]| {
            let parts = weights
                .iter()
                .filter(|weight| **weight > 0)
                .map(|weight| *weight as f64 / total);
            -parts.map(|part| part * part.ln()).sum::<f64>()
        };
        Some(entropy(&of_fixed) + entropy(&of_moving) - entropy(&joint))
    }
}

/// Position of each value among the bins; `None` where all are one.
fn binned(values: &[f32]) -> Option<Vec<f32>> {
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let last = (BINS - 1) as f32;
    let scale = last / (high - low);
    (scale.is_finite() && scale > 0.0).then(|| {
        values
            .iter()
            .map(|value| ((value - low) * scale).clamp(0.0, last))
            .collect()
    })
}

/// The lower bin, which is never the last, and the share of the next.
fn shared(bin: f32) -> [f32; 2] {
    let lower = bin.floor().min((BINS - 2) as f32);
    [lower, bin - lower]
}

fn weight(fixed: f32, moving: f32) -> u64 {
    (fixed * moving * WHOLE + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares to 1 / 65536, against a histogram of real numbers.
    #[test]
    fn it_is_that_of_a_histogram_of_real_numbers() {
        let fixed: Vec<f32> = (0..3000).map(|n| (n * 7919 % 2999) as f32).collect();
        let drr: Vec<f32> = fixed
            .iter()
            .zip(0..)
            .map(|(f, n)| (f * 0.002).sin() + (n % 17) as f32 * 0.02)
            .collect();
        let ends = |values: &[f32]| {
            [
                values.iter().copied().fold(f32::MAX, f32::min),
                values.iter().copied().fold(f32::MIN, f32::max),
            ]
        };
        let hats = |values: &[f32]| -> Vec<[f64; BINS]> {
            let [low, high] = ends(values).map(f64::from);
            values
                .iter()
                .map(|v| (f64::from(*v) - low) / (high - low) * (BINS - 1) as f64)
                .map(|x| std::array::from_fn(|bin| (1.0 - (x - bin as f64).abs()).max(0.0)))
                .collect()
        };
        let (of_fixed, of_drr) = (hats(&fixed), hats(&drr));
        let share = |bins: [Option<usize>; 2]| {
            let weight = |hats: &[f64; BINS], bin: Option<usize>| bin.map_or(1.0, |bin| hats[bin]);
            let pairs = of_fixed.iter().zip(&of_drr);
            pairs
                .map(|(f, m)| weight(f, bins[0]) * weight(m, bins[1]))
                .sum::<f64>()
                / fixed.len() as f64
        };
        let mut want = 0.0;
        for f in 0..BINS {
            for m in 0..BINS {
                let joint = share([Some(f), Some(m)]);
                if joint > 0.0 {
                    want += joint * (joint / share([Some(f), None]) / share([None, Some(m)])).ln();
                }
            }
        }
        let got = Information::new(&fixed)
            .and_then(|information| information.value(&drr))
            .expect("two values");
        assert!((got - want).abs() < 1e-5, "{got} for {want}");
        assert!(want > 0.1, "{want}");
    }
}
