//! Normalised cross correlations of groups of features, a feature being the value of a pixel or the difference of two.

use super::{MetricError, Sample, chosen};
use engine::drr_gradient::{AXES, CorrelationAtPose, Features, Sums};

/// Groups with a standard deviation below this share of the picture's hold only noise.
const FLAT: f64 = 0.02;
/// Fewest features of a correlation.
const FEWEST: usize = 8;

/// Weighted mean of the normalised cross correlations of groups of features.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// Rays are indices into the list of pixels.
    features: Features,
    /// Weight of each group; their sum is 1.
    weights: Vec<f64>,
}

impl Correlation {
    /// One group of all pixels.
    pub fn whole(fixed: &[f32]) -> Result<Self, MetricError> {
        Self::patches(fixed, &vec![0; fixed.len()])
    }

    /// One group for each number in `patches`, which has one a pixel. Nearly flat or small patches are left
    /// out.
    pub fn patches(fixed: &[f32], patches: &[usize]) -> Result<Self, MetricError> {
        let mut order: Vec<u32> = (0..fixed.len() as u32).collect();
        order.sort_by_key(|&n| patches[n as usize]);
        let numbers: Vec<usize> = order.iter().map(|&n| patches[n as usize]).collect();
        let values = order.iter().map(|&n| fixed[n as usize]).collect();
        Self::new(order, Vec::new(), values, &numbers)
    }

    /// `patches` is sorted: it holds the group of each feature.
    fn new(
        plus: Vec<u32>,
        minus: Vec<u32>,
        mut fixed: Vec<f32>,
        patches: &[usize],
    ) -> Result<Self, MetricError> {
        let (_, total_square) = moments(&fixed);
        let mut groups = Vec::new();
        let mut begin = 0;
        while begin < fixed.len() {
            let end = begin + patches[begin..].partition_point(|&p| p == patches[begin]);
            let (mean, square) = moments(&fixed[begin..end]);
            if end - begin >= FEWEST && square > FLAT * FLAT * total_square && square > 0.0 {
                let scale = (square * (end - begin) as f64).sqrt().recip();
                fixed[begin..end]
                    .iter_mut()
                    .for_each(|v: &mut f32| *v = ((f64::from(*v) - mean) * scale) as f32);
                groups.push([begin as u32, end as u32]);
            }
            begin = end;
        }
        if groups.is_empty() {
            return Err(MetricError::Flat);
        }
        let features = Features {
            plus,
            minus,
            fixed,
            groups,
        };
        let counts = (0..features.groups.len()).map(|g| features.count(g));
        let sum: f64 = counts.clone().sum();
        let weights = counts.map(|n| n / sum).collect();
        Ok(Self { features, weights })
    }

    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The correlation with a DRR; `None` where the DRR is flat in every group.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let sums: Vec<Sums> = (0..self.weights.len())
            .map(|g| self.features.sums(g, drr))
            .collect();
        self.value_of(&sums)
    }

    /// The correlation with its gradient, from a DRR and its derivatives by each number of the pose.
    pub fn at_pose(&self, drr: &[f32], derivatives: &[&[f32]; AXES]) -> Option<CorrelationAtPose> {
        let sums: Vec<Sums> = (0..self.weights.len())
            .map(|g| self.features.products(g, drr, derivatives))
            .collect();
        self.at_pose_of(&sums)
    }

    /// As [`Correlation::value`], from the sums of each group.
    pub fn value_of(&self, sums: &[Sums]) -> Option<f64> {
        let parts = sums
            .iter()
            .zip(&self.weights)
            .filter_map(|(s, w)| s.correlation().map(|c| c * w));
        parts.fold(None, |sum, part| Some(sum.unwrap_or(0.0) + part))
    }

    /// As [`Correlation::at_pose`], from the sums of each group.
    pub fn at_pose_of(&self, sums: &[Sums]) -> Option<CorrelationAtPose> {
        let mut out = CorrelationAtPose::default();
        let mut defined = false;
        for (sums, &weight) in sums.iter().zip(&self.weights) {
            defined |= sums.add_to(&mut out, weight);
        }
        defined.then_some(out)
    }
}

/// Pairs of pixels two apart, along rows and along columns, as indices into a list of pixels.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    across: Vec<[u32; 2]>,
    down: Vec<[u32; 2]>,
}

impl Differences {
    /// The correlation of both directions in one group.
    pub fn together(self, fixed: &[f32]) -> Result<Correlation, MetricError> {
        self.grouped(fixed, 0)
    }

    /// The correlation with a group for each direction.
    pub fn apart(self, fixed: &[f32]) -> Result<Correlation, MetricError> {
        self.grouped(fixed, 1)
    }

    fn grouped(self, fixed: &[f32], second: usize) -> Result<Correlation, MetricError> {
        let patches: Vec<usize> =
            [vec![0; self.across.len()], vec![second; self.down.len()]].concat();
        let pairs = [self.across, self.down].concat();
        let values = pairs
            .iter()
            .map(|p| fixed[p[0] as usize] - fixed[p[1] as usize])
            .collect();
        let (plus, minus) = pairs.into_iter().map(|[plus, minus]| (plus, minus)).unzip();
        Correlation::new(plus, minus, values, &patches)
    }
}

/// Central differences at the pixels whose four neighbours are all in the mask, with the pixels needed,
/// ascending. With a share below 1 a fourth of that share of the positions is used, as each needs four
/// pixels.
pub fn differences(
    [columns, rows]: [usize; 2],
    counts: impl Fn(usize) -> bool,
    sample: Sample,
) -> (Vec<u32>, Differences) {
    let places: Vec<u32> = (0..columns * rows)
        .filter(|&n| {
            let (i, j) = (n % columns, n / columns);
            let inside = i > 0 && j > 0 && i + 1 < columns && j + 1 < rows;
            inside
                && [n - 1, n + 1, n - columns, n + columns]
                    .into_iter()
                    .all(&counts)
        })
        .map(|n| n as u32)
        .collect();
    let sample = Sample {
        share: if sample.share < 1.0 {
            0.25 * sample.share
        } else {
            1.0
        },
        ..sample
    };
    let places = chosen(places, sample);
    let columns = columns as u32;
    let mut pixels: Vec<u32> = places
        .iter()
        .flat_map(|&n| [n - 1, n + 1, n - columns, n + columns])
        .collect();
    pixels.sort_unstable();
    pixels.dedup();
    // Every requested pixel is in the list.
    let across = places
        .iter()
        .map(|&n| {
            [
                place_of_pixel(n + 1, &pixels),
                place_of_pixel(n - 1, &pixels),
            ]
        })
        .collect();
    let down = places
        .iter()
        .map(|&n| {
            [
                place_of_pixel(n + columns, &pixels),
                place_of_pixel(n - columns, &pixels),
            ]
        })
        .collect();
    (pixels, Differences { across, down })
}

fn place_of_pixel(n: u32, pixels: &[u32]) -> u32 {
    pixels.partition_point(|&p| p < n) as u32
}

/// Mean and mean square deviation.
fn moments(values: &[f32]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    (
        mean,
        values
            .iter()
            .map(|v| (f64::from(*v) - mean).powi(2))
            .sum::<f64>()
            / n,
    )
}
