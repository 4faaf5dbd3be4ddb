//! Volumes by dose.

/// Bins between the least and the greatest dose.
pub const BINS: usize = 4096;

/// The cumulative distribution of a volume over dose.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub min_gy: f64,
    pub max_gy: f64,
    /// Volume with at least the dose of bin edge `n`, cm3: falls from the whole volume at `min_gy` to 0 at
    /// `max_gy`.
    at_least_cm3: Vec<f64>,
}

/// The volume of each bin while it is filled.
#[derive(Clone, Debug)]
pub struct Bins {
    cm3: Vec<f64>,
    min_gy: f64,
    per_gy: f64,
}

impl Bins {
    pub fn new(min_gy: f64, max_gy: f64) -> Self {
        let per_gy = if max_gy > min_gy { BINS as f64 / (max_gy - min_gy) } else { 0.0 };
        Self { cm3: vec![0.0; BINS], min_gy, per_gy }
    }

    #[inline]
    pub fn add(&mut self, gy: f32, cm3: f64) {
        let n = ((f64::from(gy) - self.min_gy) * self.per_gy) as usize;
        self.cm3[n.min(BINS - 1)] += cm3;
    }

    /// Counts a sample with a dose.
    #[inline]
    pub fn count(&mut self, gy: Option<f32>, cm3: f64) {
        if let Some(gy) = gy.filter(|gy| gy.is_finite()) {
            self.add(gy, cm3);
        }
    }

    pub fn merge(&mut self, more: &Self) {
        self.cm3.iter_mut().zip(&more.cm3).for_each(|(bin, more)| *bin += more);
    }
}

impl Histogram {
    pub fn new(min_gy: f64, max_gy: f64, bins: &Bins) -> Self {
        let mut at_least_cm3 = vec![0.0; BINS + 1];
        for n in (0..BINS).rev() {
            at_least_cm3[n] = at_least_cm3[n + 1] + bins.cm3[n];
        }
        Self { min_gy, max_gy, at_least_cm3 }
    }

    /// The whole volume, cm3.
    pub fn whole_cm3(&self) -> f64 {
        self.at_least_cm3[0]
    }

    /// Volume that gets at least `gy`, cm3.
    pub fn cm3_at(&self, gy: f64) -> f64 {
        if gy <= self.min_gy {
            return self.whole_cm3();
        }
        if gy > self.max_gy {
            return 0.0;
        }
        let at = (gy - self.min_gy) / (self.max_gy - self.min_gy) * BINS as f64;
        let n = (at as usize).min(BINS - 1);
        let (more, less) = (self.at_least_cm3[n], self.at_least_cm3[n + 1]);
        more + (less - more) * (at - n as f64)
    }

    /// The dose that the hottest `cm3` get at least, Gy; the least dose where there is less volume.
    pub fn dose_at_cm3(&self, cm3: f64) -> f64 {
        if cm3 >= self.whole_cm3() {
            return self.min_gy;
        }
        // The first edge with less than the requested volume; the one before it has more.
        let above = self.at_least_cm3.partition_point(|&v| v >= cm3.max(0.0)).min(BINS);
        if above == 0 {
            return self.min_gy;
        }
        let (more, less) = (self.at_least_cm3[above - 1], self.at_least_cm3[above]);
        let t = if more > less { ((more - cm3) / (more - less)).clamp(0.0, 1.0) } else { 0.0 };
        self.edge_gy((above - 1) as f64 + t)
    }

    /// Every bin: the dose in its middle, Gy, and its volume, cm3.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let volumes = self.at_least_cm3.windows(2).map(|edges| edges[0] - edges[1]);
        volumes.enumerate().map(|(n, cm3)| (self.edge_gy(n as f64 + 0.5), cm3))
    }

    /// Every `every`-th bin edge: its dose, Gy, and the volume that gets at least that, cm3.
    pub fn edges(&self, every: usize) -> impl Iterator<Item = [f64; 2]> + '_ {
        (0..=BINS).step_by(every).map(|n| [self.edge_gy(n as f64), self.at_least_cm3[n]])
    }

    /// Dose at a (fractional) bin edge.
    fn edge_gy(&self, edge: f64) -> f64 {
        self.min_gy + (self.max_gy - self.min_gy) * edge / BINS as f64
    }
}
