//! Log-log interpolation.

/// Straight lines in ln x and ln y; constant outside. Repeated abscissas are edges: the upper value holds there.
#[derive(Clone, Debug)]
pub struct LogLog {
    ln_x: Vec<f64>,
    ln_y: Vec<f64>,
}

impl LogLog {
    /// Points with positive values; others are passed over.
    pub fn new(points: impl Iterator<Item = [f64; 2]>) -> Self {
        let (ln_x, ln_y) = points
            .filter(|[x, y]| *x > 0.0 && *y > 0.0)
            .map(|[x, y]| (x.ln(), y.ln()))
            .unzip();
        Self { ln_x, ln_y }
    }

    pub fn at(&self, x: f64) -> f64 {
        let count = self.ln_x.len();
        let ln_x = x.ln().clamp(self.ln_x[0], self.ln_x[count - 1]);
        let upper = self
            .ln_x
            .partition_point(|&node| node <= ln_x)
            .clamp(1, count - 1);
        let (low, high) = (self.ln_x[upper - 1], self.ln_x[upper]);
        let fraction = if high > low {
            (ln_x - low) / (high - low)
        } else {
            1.0
        };
        (self.ln_y[upper - 1] + fraction * (self.ln_y[upper] - self.ln_y[upper - 1])).exp()
    }
}
