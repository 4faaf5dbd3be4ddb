//! A function given as a table of points.

use serde::Deserialize;

/// Straight lines between points, the end values beyond them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<[f64; 2]>")]
pub struct Curve {
    points: Vec<[f64; 2]>,
}

impl TryFrom<Vec<[f64; 2]>> for Curve {
    type Error = String;

    fn try_from(points: Vec<[f64; 2]>) -> Result<Self, String> {
        if points.is_empty() {
            return Err("a table needs at least one [x, value] point".to_owned());
        }
        if let Some(p) = points
            .iter()
            .find(|p| !p[0].is_finite() || !p[1].is_finite())
        {
            return Err(format!("the point [{}, {}] is not finite", p[0], p[1]));
        }
        if let Some(w) = points.windows(2).find(|w| w[0][0] >= w[1][0]) {
            return Err(format!(
                "the first values must ascend: {} is followed by {}",
                w[0][0], w[1][0]
            ));
        }
        Ok(Self { points })
    }
}

impl Curve {
    /// The same value everywhere.
    pub fn constant(value: f64) -> Self {
        Self {
            points: vec![[0.0, value]],
        }
    }

    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    pub fn at(&self, x: f64) -> f64 {
        let p = &self.points;
        let i = p.partition_point(|q| q[0] <= x);
        if i == 0 {
            return p[0][1];
        }
        let Some(next) = p.get(i) else {
            return p[i - 1][1];
        };
        let [x0, y0] = p[i - 1];
        y0 + (next[1] - y0) * (x - x0) / (next[0] - x0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_points_and_flat_beyond() {
        let c = Curve::try_from(vec![[0.0, 1.0], [10.0, 3.0], [20.0, 2.0]]).expect("a table");
        for (x, want) in [
            (-5.0, 1.0),
            (0.0, 1.0),
            (5.0, 2.0),
            (10.0, 3.0),
            (15.0, 2.5),
            (20.0, 2.0),
            (99.0, 2.0),
        ] {
            assert_eq!(c.at(x), want, "at {x}");
        }
        assert!(Curve::try_from(vec![[0.0, 1.0], [0.0, 2.0]]).is_err());
        assert!(Curve::try_from(vec![[0.0, f64::NAN]]).is_err());
        assert!(Curve::try_from(vec![]).is_err());
    }
}
