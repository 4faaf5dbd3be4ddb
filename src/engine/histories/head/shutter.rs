//! Standard normal variable behind a shutter: a point of a Gaussian source that is seen between two edges.

use std::f32::consts::FRAC_1_SQRT_2;

/// Least and greatest probability whose quantile is taken: 0 and 1, to which sums are rounded, have none.
const PROBABILITIES: [f32; 2] = [1e-23, 1.0 - f32::EPSILON / 2.0];

/// Probabilities of a standard normal variable below, between and above two edges, with a transmission beyond the edges.
///
/// Points are drawn in proportion to what passes, so that no ray is drawn to be stopped, and a few that pass through a narrow
/// opening do not stand for the many that are stopped beside it.
#[derive(Clone, Copy, Debug)]
pub struct Shutter {
    below: f32,
    between: f32,
    above: f32,
    /// Upper tail beyond the lower edge.
    above_low: f32,
    transmission: f32,
}

impl Shutter {
    /// `edges` in standard deviations, ascending.
    pub fn new(edges: [f32; 2], transmission: f32) -> Self {
        let [low, high] = edges;
        let above_low = upper_tail(low);
        let above = upper_tail(high.max(low));
        let below = upper_tail(-low);
        // The difference of the smaller tails, which have more digits.
        let between = if low > 0.0 {
            above_low - above
        } else {
            upper_tail(-high.max(low)) - below
        };
        Self {
            below,
            between: between.max(0.0),
            above,
            above_low,
            transmission,
        }
    }

    /// Part that passes, on the mean over all points.
    pub fn passing(&self) -> f32 {
        self.between + self.transmission * (self.below + self.above)
    }

    /// Point drawn among those that pass, in standard deviations; `uniform` in (0, 1).
    pub fn draw(&self, uniform: f32) -> f32 {
        let place = uniform * self.passing();
        if place < self.between {
            return if self.above_low < 0.5 {
                -lower_quantile(self.above_low - place)
            } else {
                lower_quantile(self.below + place)
            };
        }
        let beyond = (place - self.between) / self.transmission;
        if beyond < self.below {
            lower_quantile(beyond)
        } else {
            -lower_quantile((beyond - self.below).min(self.above))
        }
    }
}

/// Probability above a value.
fn upper_tail(value: f32) -> f32 {
    0.5 * libm::erfcf(value * FRAC_1_SQRT_2)
}

/// Value below which a probability lies, to seven digits: PPND7 of Wichura, Applied Statistics 37, 477 (1988), algorithm AS 241.
fn lower_quantile(probability: f32) -> f32 {
    let probability = probability.clamp(PROBABILITIES[0], PROBABILITIES[1]);
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(r, [3.387_133, 50.434_27, 159.291_13, 59.109_375])
            / polynomial(r, [1.0, 17.895_17, 78.757_76, 67.187_56]);
    }
    let tail = probability.min(1.0 - probability);
    let r = (-tail.ln()).sqrt();
    let value = if r <= 5.0 {
        polynomial(
            r - 1.6,
            [1.423_437_3, 2.756_815_4, 1.306_728_5, 0.170_238_21],
        ) / polynomial(r - 1.6, [1.0, 0.737_001_64, 0.120_211_33, 0.0])
    } else {
        polynomial(
            r - 5.0,
            [6.657_905, 3.081_226_4, 0.428_682_95, 0.017_337_203],
        ) / polynomial(r - 5.0, [1.0, 0.241_978_94, 0.012_258_203, 0.0])
    };
    value.copysign(centred)
}

fn polynomial(x: f32, [a, b, c, d]: [f32; 4]) -> f32 {
    ((d * x + c) * x + b) * x + a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of Abramowitz & Stegun, table 26.5, and of tails far out.
    #[test]
    fn quantiles_are_tabulated_ones() {
        for (probability, value) in [
            (0.5, 0.0),
            (0.025, -1.959_964),
            (0.975, 1.959_964),
            (0.001, -3.090_232),
            (2.866_516e-7, -5.0),
            (1e-20, -9.262_34),
        ] {
            let quantile = lower_quantile(probability);
            assert!(
                (quantile - value).abs() < 2e-6 * value.abs().max(1.0),
                "{probability}: {quantile}"
            );
        }
    }

    fn tail(value: f64) -> f64 {
        0.5 * libm::erfc(value * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// Shares of evenly spaced draws below, between and above the edges, against tails in double precision.
    #[test]
    fn points_have_the_distribution_behind_the_shutter() {
        for (edges, transmission) in [
            ([-0.7, 0.4], 0.02),
            ([1.5, 1.9], 0.003),
            ([-6.0, -3.0], 0.01),
            ([-9.0, 9.0], 0.01),
            ([3.0, 3.0], 0.01),
            ([-1.0, 2.0], 0.0),
        ] {
            let shutter = Shutter::new(edges, transmission);
            let [low, high] = edges.map(f64::from);
            let [below, above] = [-low, high].map(|edge| f64::from(transmission) * tail(edge));
            let between = tail(low) - tail(high);
            let passing = below + between + above;
            assert!(
                (f64::from(shutter.passing()) / passing - 1.0).abs() < 1e-3,
                "{edges:?}"
            );
            let count = 1 << 20;
            let mut shares = [0.0; 3];
            for n in 0..count {
                let point = f64::from(shutter.draw((n as f32 + 0.5) / count as f32));
                let region = usize::from(point > low) + usize::from(point > high);
                shares[region] += passing / f64::from(count);
            }
            for (share, expected) in shares.into_iter().zip([below, between, above]) {
                assert!(
                    (share - expected).abs() < 2e-3 * passing,
                    "{edges:?}: {shares:?}"
                );
            }
        }
    }
}
