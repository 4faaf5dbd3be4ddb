//! Piecewise cubic interpolation.

/// Cubics between nodes by values and slopes there; constant outside.
#[derive(Clone, Debug)]
pub struct Cubic {
    x: Vec<f64>,
    value: Vec<f64>,
    slope: Vec<f64>,
}

impl Cubic {
    /// Monotone between nodes: slopes by Fritsch & Butland, SIAM J. Sci. Stat. Comput. 5, 300 (1984). For tables with a
    /// threshold, where a spline would ring.
    pub fn monotone(x: Vec<f64>, value: Vec<f64>) -> Self {
        let count = x.len();
        let secants: Vec<f64> = (0..count - 1)
            .map(|i| (value[i + 1] - value[i]) / (x[i + 1] - x[i]))
            .collect();
        let slope = (0..count)
            .map(|i| match i {
                0 => secants[0],
                i if i == count - 1 => secants[count - 2],
                i if secants[i - 1] * secants[i] <= 0.0 => 0.0,
                i => {
                    let (left, right) = (x[i] - x[i - 1], x[i + 1] - x[i]);
                    let (weight_left, weight_right) = (left + 2.0 * right, 2.0 * left + right);
                    (weight_left + weight_right)
                        / (weight_left / secants[i - 1] + weight_right / secants[i])
                }
            })
            .collect();
        Self { x, value, slope }
    }

    /// The spline with two continuous derivatives; its slopes at the ends are taken from parabolas through three nodes.
    pub fn spline(x: Vec<f64>, value: Vec<f64>) -> Self {
        let count = x.len();
        if count < 3 {
            return Self::monotone(x, value);
        }
        let step: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let secant: Vec<f64> = (0..count - 1)
            .map(|i| (value[i + 1] - value[i]) / step[i])
            .collect();
        let mut slope = vec![0.0; count];
        slope[0] = parabola_slope(step[0], step[1], secant[0], secant[1]);
        slope[count - 1] = parabola_slope(
            step[count - 2],
            step[count - 3],
            secant[count - 2],
            secant[count - 3],
        );
        // Thomas' algorithm for the slopes inside.
        let mut ratio = vec![0.0; count];
        for i in 1..count - 1 {
            let diagonal = 2.0 * (step[i - 1] + step[i]) - step[i] * ratio[i - 1];
            let source =
                3.0 * (step[i] * secant[i - 1] + step[i - 1] * secant[i]) - step[i] * slope[i - 1];
            ratio[i] = step[i - 1] / diagonal;
            slope[i] = source / diagonal;
        }
        for i in (1..count - 1).rev() {
            slope[i] -= ratio[i] * slope[i + 1];
        }
        Self { x, value, slope }
    }

    pub fn at(&self, x: f64) -> f64 {
        let last = self.x.len() - 1;
        let x = x.clamp(self.x[0], self.x[last]);
        let i = self.x.partition_point(|&node| node <= x).clamp(1, last) - 1;
        let step = self.x[i + 1] - self.x[i];
        let t = (x - self.x[i]) / step;
        let (s, t2) = (1.0 - t, t * t);
        let s2 = s * s;
        self.value[i] * s2 * (1.0 + 2.0 * t)
            + self.value[i + 1] * t2 * (1.0 + 2.0 * s)
            + step * s * t * (self.slope[i] * s - self.slope[i + 1] * t)
    }

    pub fn nodes(&self) -> &[f64] {
        &self.x
    }
}

/// Slope at the outer node of a parabola through it and the next two.
fn parabola_slope(near_step: f64, far_step: f64, near_secant: f64, far_secant: f64) -> f64 {
    ((2.0 * near_step + far_step) * near_secant - near_step * far_secant) / (near_step + far_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_through_a_parabola_is_the_parabola() {
        let x = vec![0.0, 0.3, 1.0, 1.4, 2.5];
        let value = x.iter().map(|x| 1.0 + x * x).collect();
        let spline = Cubic::spline(x, value);
        for x in [0.1, 0.77, 1.2, 2.1] {
            assert!((spline.at(x) - 1.0 - x * x).abs() < 1e-12);
        }
    }

    #[test]
    fn a_monotone_cubic_does_not_ring_at_a_threshold() {
        let cubic = Cubic::monotone(vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 0.0, 1.0, 5.0]);
        assert!((0..=100).all(|i| cubic.at(f64::from(i) * 0.01) == 0.0));
        assert!(cubic.at(1.5) > 0.0);
    }
}
