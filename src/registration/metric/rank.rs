//! Spearman's rank correlation of the pixels looked at: with a random part of them the stochastic rank correlation of
//! Birkfellner 2009. Equal values share the mean of their ranks.

use super::MetricError;

#[derive(Clone, Debug)]
pub struct Rank {
    /// Ranks of the X-ray's pixels, mean 0, sum of squares 1.
    fixed: Vec<f32>,
}

impl Rank {
    pub fn new(fixed: &[f32]) -> Result<Self, MetricError> {
        Ok(Self { fixed: normalised(fixed).ok_or(MetricError::Flat)? })
    }

    /// -1 to 1; `None` where the DRR has one value only.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let moving = normalised(drr)?;
        Some(self.fixed.iter().zip(&moving).map(|(f, m)| f64::from(*f) * f64::from(*m)).sum())
    }
}

fn normalised(values: &[f32]) -> Option<Vec<f32>> {
    let n = values.len();
    let mut order: Vec<(f32, u32)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let middle = (n as f64 - 1.0) / 2.0;
    let mut ranks = vec![0.0f32; n];
    let mut square = 0.0;
    let mut begin = 0;
    while begin < n {
        let end = begin + order[begin..].iter().take_while(|o| o.0 == order[begin].0).count().max(1);
        let rank = (begin + end - 1) as f64 / 2.0 - middle;
        square += rank * rank * (end - begin) as f64;
        order[begin..end].iter().for_each(|o| ranks[o.1 as usize] = rank as f32);
        begin = end;
    }
    if square <= 0.0 {
        return None;
    }
    let scale = square.sqrt().recip() as f32;
    ranks.iter_mut().for_each(|r| *r *= scale);
    Some(ranks)
}
