//! Gauss-Legendre quadrature, whole and in panels.

/// Nodes and weights on [-1, 1].
pub struct GaussLegendre {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl GaussLegendre {
    /// Roots of P_n by Newton's method from Chebyshev's approximation (Press et al., Numerical Recipes, section 4.5).
    pub fn new(points: usize) -> Self {
        let mut nodes = Vec::with_capacity(points);
        let mut weights = Vec::with_capacity(points);
        for index in 0..points {
            let mut root =
                (std::f64::consts::PI * (index as f64 + 0.75) / (points as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let (value, derivative) = legendre_with_slope(points, root);
                slope = derivative;
                let step = value / derivative;
                root -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            nodes.push(root);
            weights.push(2.0 / ((1.0 - root * root) * slope * slope));
        }
        Self { nodes, weights }
    }

    /// Nodes and weights on [low, high].
    pub fn on(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let centre = 0.5 * (low + high);
        let half = 0.5 * (high - low);
        self.nodes
            .iter()
            .zip(&self.weights)
            .map(move |(&node, &weight)| (centre + half * node, half * weight))
    }
}

/// P_n and its derivative inside (-1, 1).
fn legendre_with_slope(degree: usize, x: f64) -> (f64, f64) {
    let (mut previous, mut value) = (1.0, x);
    for n in 1..degree {
        let n = n as f64;
        (previous, value) = (
            value,
            ((2.0 * n + 1.0) * x * value - n * previous) / (n + 1.0),
        );
    }
    (
        value,
        degree as f64 * (previous - x * value) / (1.0 - x * x),
    )
}

/// Integral of a smooth function over panels between `boundaries`, 12 points each.
pub fn integrate(boundaries: &[f64], function: impl Fn(f64) -> f64) -> f64 {
    let rule = GaussLegendre::new(12);
    boundaries
        .windows(2)
        .map(|panel| {
            rule.on(panel[0], panel[1])
                .map(|(x, weight)| weight * function(x))
                .sum::<f64>()
        })
        .sum()
}

/// Boundaries from `low` to `high` that grow by about `ratio`.
pub fn geometric_panels(low: f64, high: f64, ratio: f64) -> Vec<f64> {
    let panels = ((high / low).ln() / ratio.ln()).ceil().max(1.0);
    (0..=panels as usize)
        .map(|panel| low * (high / low).powf(panel as f64 / panels))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_points_integrate_a_polynomial_of_degree_23() {
        assert!((integrate(&[0.0, 1.0], |x| x.powi(23)) * 24.0 - 1.0).abs() < 1e-13);
        assert!(
            (integrate(&geometric_panels(0.01, 3.0, 2.0), |x| 1.0 / x) / 300_f64.ln() - 1.0).abs()
                < 1e-13
        );
    }
}
