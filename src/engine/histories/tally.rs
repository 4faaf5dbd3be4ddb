//! Sums over batches: the mean of every voxel and its standard deviation.

use rayon::prelude::*;

/// Sums over batches of equal size, by voxel: whole numbers, so that the order of batches does not matter.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Quanta.
    pub sum: Vec<u64>,
    /// Squares of the batches' quanta.
    pub squares: Vec<u128>,
    pub batches: u64,
    pub histories: u64,
}

impl Tally {
    pub fn new(voxels: usize) -> Self {
        Self {
            sum: vec![0; voxels],
            squares: vec![0; voxels],
            batches: 0,
            histories: 0,
        }
    }

    /// Takes a batch of histories out of the parts it was deposited in, and leaves them empty.
    pub fn add(&mut self, parts: &mut [Vec<u64>], histories: u64) {
        const ROWS: usize = 1 << 14;
        let mut lanes: Vec<Vec<&mut [u64]>> = Vec::new();
        for part in parts.iter_mut() {
            for (n, chunk) in part.chunks_mut(ROWS).enumerate() {
                if lanes.len() <= n {
                    lanes.push(Vec::new());
                }
                lanes[n].push(chunk);
            }
        }
        let sums = self
            .sum
            .par_chunks_mut(ROWS)
            .zip(self.squares.par_chunks_mut(ROWS));
        sums.zip(lanes).for_each(|((sum, squares), mut parts)| {
            for i in 0..sum.len() {
                let mut quanta = 0;
                for part in &mut parts {
                    quanta += part[i];
                    part[i] = 0;
                }
                if quanta > 0 {
                    sum[i] += quanta;
                    squares[i] += u128::from(quanta) * u128::from(quanta);
                }
            }
        });
        self.batches += 1;
        self.histories += histories;
    }

    /// Adds the batches of another of as many voxels.
    pub fn add_all(&mut self, other: &Self) {
        self.sum
            .iter_mut()
            .zip(&other.sum)
            .for_each(|(to, from)| *to = to.saturating_add(*from));
        self.squares
            .iter_mut()
            .zip(&other.squares)
            .for_each(|(to, from)| *to = to.saturating_add(*from));
        self.batches = self.batches.saturating_add(other.batches);
        self.histories = self.histories.saturating_add(other.histories);
    }

    /// Mean quanta a history, by voxel, and the standard deviation of that mean.
    ///
    /// By batches: `s^2 = (sum b^2 - (sum b)^2 / n) / (n (n - 1))`; no standard deviation (infinite) from a single batch.
    pub fn means(&self) -> (Vec<f32>, Vec<f32>) {
        let n = self.batches as f64;
        let per_history = n / self.histories as f64;
        self.sum
            .par_iter()
            .zip(&self.squares)
            .map(|(sum, squares)| {
                let mean = *sum as f64 / n;
                let variance = (*squares as f64 / n - mean * mean).max(0.0) / (n - 1.0);
                let sd = if self.batches > 1 {
                    variance.sqrt()
                } else {
                    f64::INFINITY
                };
                ((mean * per_history) as f32, (sd * per_history) as f32)
            })
            .unzip()
    }
}

/// Voxels whose squares a thread adds up at a time.
const VOXELS_OF_A_PART: usize = 1 << 16;

/// Mean relative standard deviation of the voxels with more than half the greatest dose (Rogers and Mohan, ICCR 2000): root of
/// the mean square, percent. `None` without dose or with a single batch.
pub fn uncertainty_percent(dose: &[f32], sigma: &[f32]) -> Option<f64> {
    let greatest = dose.par_iter().copied().reduce(|| 0.0, f32::max);
    // Parts of one length, added up in order: the sum does not depend on the threads.
    let parts: Vec<(f64, u32)> = { dose.par_chunks(VOXELS_OF_A_PART) }
        .zip(sigma.par_chunks(VOXELS_OF_A_PART))
        .map(|(dose, sigma)| {
            let high = dose.iter().zip(sigma).filter(|(d, _)| **d > 0.5 * greatest);
            high.fold((0.0, 0), |(sum, n), (d, s)| {
                let relative = f64::from(*s) / f64::from(*d);
                (sum + relative * relative, n + 1)
            })
        })
        .collect();
    let (sum, count) = { parts.iter() }.fold((0.0, 0), |(sum, n), part| (sum + part.0, n + part.1));
    let percent = 100.0 * (sum / f64::from(count)).sqrt();
    (greatest > 0.0 && percent.is_finite()).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations_are_those_of_the_batches() {
        let mut tally = Tally::new(3);
        let batches: [[u64; 3]; 4] = [[10, 0, 5], [14, 0, 5], [12, 0, 5], [8, 4, 5]];
        for b in batches {
            // Over two threads.
            let mut parts = vec![vec![b[0] / 2, 0, b[2]], vec![b[0] - b[0] / 2, b[1], 0]];
            tally.add(&mut parts, 2);
            assert!(parts.iter().flatten().all(|q| *q == 0));
        }
        let (mean, sd) = tally.means();
        for v in 0..3 {
            let values: Vec<f64> = batches.iter().map(|b| b[v] as f64 / 2.0).collect();
            let m = values.iter().sum::<f64>() / 4.0;
            let s = (values.iter().map(|x| (x - m).powi(2)).sum::<f64>() / 3.0 / 4.0).sqrt();
            assert!(
                (f64::from(mean[v]) - m).abs() < 1e-6 && (f64::from(sd[v]) - s).abs() < 1e-6,
                "{v}"
            );
        }
        assert!(uncertainty_percent(&[0.0], &[0.0]).is_none());
        let got = uncertainty_percent(&[1.0, 2.0, 0.9], &[1.0, 0.02, 0.5]).expect("dose");
        assert!((got - 1.0).abs() < 1e-6, "{got}");
    }
}
