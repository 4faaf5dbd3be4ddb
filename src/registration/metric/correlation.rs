//! Normalised cross correlations of groups of features, a feature being the value of a pixel or the difference of two.

use super::{MetricError, Sample, chosen};

/// Poses have six numbers.
const AXES: usize = 6;
/// A group whose standard deviation is less than this share of the picture's tells noise from noise.
const FLAT: f64 = 0.02;
/// Fewer features make no correlation.
const FEWEST: usize = 8;

/// Weighted mean of the normalised cross correlations of groups of features.
#[derive(Clone, Debug)]
pub struct Correlation {
    groups: Vec<Group>,
    /// Places in the list of pixels, group by group: a feature is `value[plus] - value[minus]`, or `value[plus]` where
    /// there is no `minus`.
    plus: Vec<u32>,
    minus: Vec<u32>,
    /// The X-ray's features: of each group the mean is 0 and the sum of squares 1.
    fixed: Vec<f32>,
}

#[derive(Clone, Debug)]
struct Group {
    begin: usize,
    end: usize,
    /// All weights together are 1.
    weight: f64,
}

/// A correlation at a pose, how it changes with the pose, and the Gauss-Newton matrix of what it lacks to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Slopes {
    /// Of the correlation; up to 1.
    pub value: f64,
    /// Its derivative by each number of the pose.
    pub gradient: [f64; AXES],
    /// `J'J` of the residuals `fixed - drr`, each normalised: `value = 1 - |residuals|^2 / 2`.
    pub matrix: [[f64; AXES]; AXES],
}

impl Correlation {
    /// One group of all pixels.
    pub fn whole(fixed: &[f32]) -> Result<Self, MetricError> {
        Self::patches(fixed, &vec![0; fixed.len()])
    }

    /// A group for each number of `patches`, which has one a pixel. Patches that are nearly flat, or small, are left out.
    pub fn patches(fixed: &[f32], patches: &[usize]) -> Result<Self, MetricError> {
        let mut order: Vec<u32> = (0..fixed.len() as u32).collect();
        order.sort_by_key(|&n| patches[n as usize]);
        let numbers: Vec<usize> = order.iter().map(|&n| patches[n as usize]).collect();
        let values = order.iter().map(|&n| fixed[n as usize]).collect();
        Self::new(order, Vec::new(), values, &numbers)
    }

    /// `patches` is sorted: it says which features are of one group.
    fn new(
        plus: Vec<u32>,
        minus: Vec<u32>,
        mut fixed: Vec<f32>,
        patches: &[usize],
    ) -> Result<Self, MetricError> {
        let (_, all) = moments(&fixed);
        let mut groups = Vec::new();
        let mut begin = 0;
        while begin < fixed.len() {
            let end = begin + patches[begin..].partition_point(|&p| p == patches[begin]);
            let (mean, square) = moments(&fixed[begin..end]);
            if end - begin >= FEWEST && square > FLAT * FLAT * all && square > 0.0 {
                let scale = (square * (end - begin) as f64).sqrt().recip();
                let centred = |v: &mut f32| *v = ((f64::from(*v) - mean) * scale) as f32;
                fixed[begin..end].iter_mut().for_each(centred);
                groups.push(Group { begin, end, weight: (end - begin) as f64 });
            }
            begin = end;
        }
        if groups.is_empty() {
            return Err(MetricError::Flat);
        }
        let sum: f64 = groups.iter().map(|g| g.weight).sum();
        groups.iter_mut().for_each(|g| g.weight /= sum);
        Ok(Self { groups, plus, minus, fixed })
    }

    /// The correlation with a DRR; `None` where that has one value in every group.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let mut sum = 0.0;
        let mut defined = false;
        for group in &self.groups {
            let [mut m, mut mm, mut fm] = [0.0; 3];
            self.each(group, drr, |f, v| {
                m += v;
                mm += v * v;
                fm += f * v;
            });
            let n = (group.end - group.begin) as f64;
            let square = mm - m * m / n;
            if square > 1e-12 * mm.max(f64::MIN_POSITIVE) {
                defined = true;
                sum += group.weight * fm / square.sqrt();
            }
        }
        defined.then_some(sum)
    }

    /// The correlation with its slopes, from a DRR and its derivatives by each number of the pose.
    ///
    /// With `f` and `m` the normalised features, the residuals `f - m` have `|f - m|^2 = 2 - 2 f.m`, and the derivative
    /// of `m` is `(d - m (m.d)) / |M|`, `d` the centred derivative of the features `M`.
    pub fn slopes(&self, drr: &[f32], derivatives: &[&[f32]; AXES]) -> Option<Slopes> {
        let mut out = Slopes { value: 0.0, gradient: [0.0; AXES], matrix: [[0.0; AXES]; AXES] };
        let mut defined = false;
        for group in &self.groups {
            let sums = self.sums(group, drr, derivatives);
            let n = (group.end - group.begin) as f64;
            defined |= sums.add_to(&mut out, n, group.weight);
        }
        defined.then_some(out)
    }

    fn sums(&self, group: &Group, drr: &[f32], derivatives: &[&[f32]; AXES]) -> Sums {
        let mut sums = Sums::default();
        for at in group.begin..group.end {
            let f = f64::from(self.fixed[at]);
            let m = f64::from(self.feature(at, drr));
            let d: [f64; AXES] = std::array::from_fn(|a| f64::from(self.feature(at, derivatives[a])));
            sums.m += m;
            sums.mm += m * m;
            sums.fm += f * m;
            for a in 0..AXES {
                sums.d[a] += d[a];
                sums.fd[a] += f * d[a];
                sums.md[a] += m * d[a];
                for b in 0..=a {
                    sums.dd[a][b] += d[a] * d[b];
                }
            }
        }
        sums
    }

    fn feature(&self, at: usize, values: &[f32]) -> f32 {
        let plus = values[self.plus[at] as usize];
        if self.minus.is_empty() { plus } else { plus - values[self.minus[at] as usize] }
    }

    fn each(&self, group: &Group, values: &[f32], mut take: impl FnMut(f64, f64)) {
        for at in group.begin..group.end {
            take(f64::from(self.fixed[at]), f64::from(self.feature(at, values)));
        }
    }
}

/// Sums of products over a group: of the DRR's features `m`, their derivatives `d`, and the X-ray's `f`.
#[derive(Default)]
struct Sums {
    m: f64,
    mm: f64,
    fm: f64,
    d: [f64; AXES],
    fd: [f64; AXES],
    md: [f64; AXES],
    /// The lower triangle.
    dd: [[f64; AXES]; AXES],
}

impl Sums {
    /// Adds a group's part; false where its correlation is undefined.
    fn add_to(&self, out: &mut Slopes, n: f64, weight: f64) -> bool {
        let square = self.mm - self.m * self.m / n;
        if square <= 1e-12 * self.mm.max(f64::MIN_POSITIVE) {
            return false;
        }
        let length = square.sqrt();
        let value = self.fm / length;
        // Of the normalised DRR with the centred derivatives.
        let along: [f64; AXES] = std::array::from_fn(|a| (self.md[a] - self.m * self.d[a] / n) / length);
        out.value += weight * value;
        for a in 0..AXES {
            // The X-ray's features are centred: those of the derivative need not be.
            out.gradient[a] += weight * (self.fd[a] - value * along[a]) / length;
            for b in 0..=a {
                let centred = self.dd[a][b] - self.d[a] * self.d[b] / n;
                let entry = weight * (centred - along[a] * along[b]) / square;
                out.matrix[a][b] += entry;
                if a != b {
                    out.matrix[b][a] += entry;
                }
            }
        }
        true
    }
}

/// Pairs of pixels two apart, along rows and along columns, as places in a list of pixels.
#[derive(Clone, Debug, Default)]
pub struct Features {
    across: Vec<[u32; 2]>,
    down: Vec<[u32; 2]>,
}

impl Features {
    /// Both directions in one group.
    pub fn together(self, fixed: &[f32]) -> Result<Correlation, MetricError> {
        self.grouped(fixed, 0)
    }

    /// A group for each direction.
    pub fn apart(self, fixed: &[f32]) -> Result<Correlation, MetricError> {
        self.grouped(fixed, 1)
    }

    fn grouped(self, fixed: &[f32], second: usize) -> Result<Correlation, MetricError> {
        let patches: Vec<usize> = [vec![0; self.across.len()], vec![second; self.down.len()]].concat();
        let pairs = [self.across, self.down].concat();
        let values = pairs.iter().map(|p| fixed[p[0] as usize] - fixed[p[1] as usize]).collect();
        let (plus, minus) = pairs.into_iter().map(|[plus, minus]| (plus, minus)).unzip();
        Correlation::new(plus, minus, values, &patches)
    }
}

/// Central differences at the pixels of which all four neighbours count; with the pixels they need, ascending. Of a part
/// of the pixels, a fourth of the places are taken, as each needs four.
pub fn differences(
    [columns, rows]: [usize; 2],
    counts: impl Fn(usize) -> bool,
    sample: Sample,
) -> (Vec<u32>, Features) {
    let inner = |n: usize| {
        let (i, j) = (n % columns, n / columns);
        let inside = i > 0 && j > 0 && i + 1 < columns && j + 1 < rows;
        inside && [n - 1, n + 1, n - columns, n + columns].into_iter().all(&counts)
    };
    let places: Vec<u32> = (0..columns * rows).filter(|&n| inner(n)).map(|n| n as u32).collect();
    let sample = Sample { share: if sample.share < 1.0 { 0.25 * sample.share } else { 1.0 }, ..sample };
    let places = chosen(places, sample);
    let columns = columns as u32;
    let mut pixels: Vec<u32> =
        places.iter().flat_map(|&n| [n - 1, n + 1, n - columns, n + columns]).collect();
    pixels.sort_unstable();
    pixels.dedup();
    // Every pixel asked for was just put into the list.
    let place = |n: u32| pixels.partition_point(|&p| p < n) as u32;
    let across = places.iter().map(|&n| [place(n + 1), place(n - 1)]).collect();
    let down = places.iter().map(|&n| [place(n + columns), place(n - columns)]).collect();
    (pixels, Features { across, down })
}

/// Mean and mean square deviation.
fn moments(values: &[f32]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    (mean, values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n)
}
