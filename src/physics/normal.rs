//! The normal distribution, fast: edges blurred by a Gaussian source and averaged over a voxel's footprint.

use std::sync::LazyLock;

/// Beyond this many standard deviations an edge is out of sight (1 - Phi = 1e-9).
pub const REACH: f64 = 6.0;

const STEPS_PER_SIGMA: usize = 128;
const HALF: usize = REACH as usize * STEPS_PER_SIGMA;

/// Cumulative distribution at -6 .. 6 in steps of 1/128; linear interpolation is within 2e-6.
static CUMULATIVE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (0..=2 * HALF)
        .map(|i| exact(i as f64 / STEPS_PER_SIGMA as f64 - REACH))
        .collect()
});

/// Probability that a standard normal variable is below `x`.
pub fn cumulative(x: f64) -> f64 {
    lookup(&CUMULATIVE, x).unwrap_or(if x < 0.0 { 0.0 } else { 1.0 })
}

/// Its integral at the same places.
static INTEGRAL: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (0..=2 * HALF)
        .map(|i| i as f64 / STEPS_PER_SIGMA as f64 - REACH)
        .map(|x| x * exact(x) + density(x))
        .collect()
});

/// The tables of [`cumulative`] and [`cumulative_integral`]: -6 .. 6 in steps of 1/128.
pub fn normal_tables() -> (&'static [f64], &'static [f64]) {
    (&CUMULATIVE, &INTEGRAL)
}

/// Integral of [`cumulative`] from minus infinity to `x`: `x Phi(x) + phi(x)`.
pub fn cumulative_integral(x: f64) -> f64 {
    lookup(&INTEGRAL, x).unwrap_or(if x < 0.0 { 0.0 } else { x })
}

/// Open fraction at `x` of the half plane above `edge`, blurred by `sigma` and averaged over `width` around `x`.
/// Both may be 0; a sharp edge on a point is half open.
fn above_edge(x: f64, edge: f64, sigma: f64, width: f64) -> f64 {
    let s = x - edge;
    let reach = REACH * sigma + 0.5 * width;
    if s > reach {
        return 1.0;
    }
    if s < -reach {
        return 0.0;
    }
    if sigma <= 0.0 {
        return if width > 0.0 {
            (s / width + 0.5).clamp(0.0, 1.0)
        } else {
            0.5
        };
    }
    // Below an eighth of sigma the average over the width differs from the value in its middle by under 1e-3 of it.
    if width < 0.125 * sigma {
        return cumulative(s / sigma);
    }
    let (high, low) = ((s + 0.5 * width) / sigma, (s - 0.5 * width) / sigma);
    (cumulative_integral(high) - cumulative_integral(low)) * sigma / width
}

/// As [`above_edge`], averaged over an even travel of the edge, whose middle is `edge`.
pub fn above_moving_edge(x: f64, edge: f64, travel: f64, sigma: f64, width: f64) -> f64 {
    if travel == 0.0 {
        return above_edge(x, edge, sigma, width);
    }
    let (narrow, wide) = (width.min(travel), width.max(travel));
    // A box within half of sigma blurs as a Gaussian of its variance does, to 3e-5.
    if narrow <= 0.5 * sigma {
        return above_edge(
            x,
            edge,
            (sigma * sigma + narrow * narrow / 12.0).sqrt(),
            wide,
        );
    }
    let s = x - edge;
    let (far, near) = (0.5 * (wide + narrow), 0.5 * (wide - narrow));
    if s.abs() > REACH * sigma + far {
        return if s < 0.0 { 0.0 } else { 1.0 };
    }
    let [a, b, c, d] = [s + far, s + near, s - near, s - far].map(|s| edge_integral(s, sigma));
    (a - b - c + d) / (wide * narrow)
}

/// Second integral of a blurred edge from minus infinity to `s` beyond it.
fn edge_integral(s: f64, sigma: f64) -> f64 {
    if sigma <= 0.0 {
        return 0.5 * s.max(0.0).powi(2);
    }
    let x = s / sigma;
    // The integral of x Phi(x) + phi(x) is (Phi(x) + x (x Phi(x) + phi(x))) / 2.
    0.5 * sigma * sigma * (cumulative(x) + x * cumulative_integral(x))
}

/// Mean of [`cumulative`] over `width` around `x`.
pub fn mean_cumulative(x: f64, width: f64) -> f64 {
    // As in `above_edge`.
    if width > 0.125 {
        (cumulative_integral(x + 0.5 * width) - cumulative_integral(x - 0.5 * width)) / width
    } else {
        cumulative(x)
    }
}

/// `None` outside the table.
fn lookup(table: &[f64], x: f64) -> Option<f64> {
    let t = (x + REACH) * STEPS_PER_SIGMA as f64;
    if !(0.0..(table.len() - 1) as f64).contains(&t) {
        return None;
    }
    let i = t as usize;
    Some(table[i] + (table[i + 1] - table[i]) * (t - i as f64))
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Cumulative distribution by its power series (Abramowitz and Stegun 26.2.11), good to 1e-11 within 6 sigma.
fn exact(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    let mut n = 1.0;
    while term.abs() > 1e-17 * sum.abs() {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    (0.5 + density(x) * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, Table 26.1.
    #[test]
    fn published_values() {
        for (x, want) in [
            (0.0, 0.5),
            (0.5, 0.6914624613),
            (1.0, 0.8413447461),
            (2.0, 0.9772498681),
            (3.5, 0.9997673709),
        ] {
            assert!((exact(x) - want).abs() < 1e-9, "{x}");
            assert!(
                (cumulative(x) - want).abs() < 3e-6 && (cumulative(-x) - (1.0 - want)).abs() < 3e-6,
                "{x}"
            );
        }
        for far in [6.0, 9.0, f64::INFINITY] {
            assert_eq!((cumulative(-far - 0.1), cumulative(far)), (0.0, 1.0));
        }
    }

    /// The closed form over a width against a plain sum of values.
    #[test]
    fn the_average_over_a_width_is_the_mean_of_the_values() {
        for (x, sigma, width) in [
            (0.3, 0.8, 2.5),
            (-1.0, 0.5, 1.0),
            (0.1, 0.2, 5.0),
            (2.0, 1.0, 0.1),
        ] {
            let n = 2000;
            let mean: f64 = (0..n)
                .map(|i| exact((x + width * ((f64::from(i) + 0.5) / f64::from(n) - 0.5)) / sigma))
                .sum::<f64>()
                / f64::from(n);
            let got = above_edge(x, 0.0, sigma, width);
            assert!(
                (got - mean).abs() < 1e-3 * 0.2,
                "{x} {sigma} {width}: {got} against {mean}"
            );
        }
        assert_eq!(above_edge(1.0, 0.0, 0.0, 4.0), 0.75);
        assert_eq!(above_edge(0.0, 0.0, 0.0, 0.0), 0.5);
    }

    /// The closed form over a travel against a plain sum over places of the edge.
    #[test]
    fn the_average_over_a_travel_is_the_mean_of_its_places() {
        let n = 4000;
        for sigma in [0.0, 0.4, 1.7] {
            for width in [0.0, 0.3, 2.5] {
                for travel in [0.01, 0.6, 2.5, 90.0, 700.0] {
                    for x in [
                        0.0,
                        0.2,
                        -0.9,
                        1.6,
                        -0.4 * travel,
                        0.5 * travel,
                        0.6 * travel,
                    ] {
                        let want =
                            mean_over_unit(&|t| above_edge(x, 1.0 + t * travel, sigma, width), n);
                        let got = above_moving_edge(x, 1.0, travel, sigma, width);
                        let tolerance = 2e-4 + 1.0 / f64::from(n);
                        assert!(
                            (got - want).abs() < tolerance,
                            "{x} {travel} {sigma} {width}: {got} against {want}"
                        );
                    }
                }
            }
        }
        for (x, width) in [(0.3, 0.1), (-0.5, 0.8), (2.0, 30.0), (-20.0, 38.0)] {
            let want = mean_over_unit(&|t| cumulative(x + width * t), n);
            assert!(
                (mean_cumulative(x, width) - want).abs() < 4e-4,
                "{x} {width}"
            );
        }
        assert_eq!(above_moving_edge(3.0, 0.0, 8.0, 0.0, 0.0), 0.875);
        assert_eq!(
            above_moving_edge(0.3, 0.1, 0.0, 0.8, 2.5),
            above_edge(0.3, 0.1, 0.8, 2.5)
        );
    }

    fn mean_over_unit(function: &dyn Fn(f64) -> f64, n: i32) -> f64 {
        (0..n)
            .map(|i| function((f64::from(i) + 0.5) / f64::from(n) - 0.5))
            .sum::<f64>()
            / f64::from(n)
    }
}
