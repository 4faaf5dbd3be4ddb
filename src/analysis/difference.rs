//! The difference of two doses A and B at a position: its unit, and the scale that it is shown on. Views, panels, reports and
//! sessions share one definition of the percent.

use serde::{Deserialize, Serialize};

/// A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    pub fn index(self) -> usize {
        self as usize
    }
}

/// Unit of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DifferenceUnit {
    #[default]
    Gy,
    /// Percent of the reference dose that is 100 %.
    Percent,
    /// Percent of the dose of A at the same position.
    LocalPercent,
}

impl DifferenceUnit {
    pub const ALL: [Self; 3] = [Self::Gy, Self::Percent, Self::LocalPercent];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent => "% of 100 %",
            Self::LocalPercent => "% of A (local)",
        }
    }

    /// Suffix of a number.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent | Self::LocalPercent => "%",
        }
    }
}

/// Display of B - A; the scale is symmetric about 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferenceDisplay {
    pub unit: DifferenceUnit,
    /// Smaller differences are not drawn, in the unit, on either side.
    pub dead_band: f64,
    /// End of the scale, in the unit, on either side.
    pub end: f64,
    /// 0 to 1.
    pub opacity: f64,
}

impl DifferenceDisplay {
    /// Defaults for a unit, with 100 % in Gy.
    pub fn new(unit: DifferenceUnit, reference_gy: f64) -> Self {
        let [dead_band, end] = match unit {
            DifferenceUnit::Gy => [rounded(0.01 * reference_gy), rounded(0.1 * reference_gy)],
            DifferenceUnit::Percent | DifferenceUnit::LocalPercent => [1.0, 10.0],
        };
        Self {
            unit,
            dead_band,
            end,
            opacity: 0.75,
        }
    }

    /// B - A at a position in the unit; `None` if undefined: without a 100 %, or local where A is too low.
    pub fn value(&self, a_gy: f64, b_gy: f64, reference_gy: Option<f64>) -> Option<f64> {
        let gy = b_gy - a_gy;
        match self.unit {
            DifferenceUnit::Gy => Some(gy),
            DifferenceUnit::Percent => Some(100.0 * gy / reference_gy?),
            DifferenceUnit::LocalPercent => {
                (a_gy > 0.0 && a_gy >= LOCAL_FROM * reference_gy?).then(|| 100.0 * gy / a_gy)
            }
        }
    }

    /// Marks of the legend, from the top; symmetric about 0.
    pub fn marks(&self) -> [f64; 5] {
        [self.end, 0.5 * self.end, 0.0, -0.5 * self.end, -self.end]
    }
}

impl Default for DifferenceDisplay {
    fn default() -> Self {
        Self::new(DifferenceUnit::Percent, 1.0)
    }
}

/// Local percent are defined where A is at least this share of 100 %.
pub const LOCAL_FROM: f64 = 0.1;

/// Rounds down to 1, 2 or 5 times a power of ten.
fn rounded(gy: f64) -> f64 {
    let power = 10.0_f64.powf(gy.max(1e-6).log10().floor());
    power
        * [5.0, 2.0, 1.0]
            .into_iter()
            .find(|m| m * power <= gy * 1.000_001)
            .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_b_less_a_in_each_unit() {
        let display = |unit| DifferenceDisplay::new(unit, 50.0);
        assert_eq!(
            display(DifferenceUnit::Gy).value(20.0, 19.0, Some(50.0)),
            Some(-1.0)
        );
        assert_eq!(
            display(DifferenceUnit::Percent).value(20.0, 19.0, Some(50.0)),
            Some(-2.0)
        );
        assert_eq!(
            display(DifferenceUnit::LocalPercent).value(20.0, 19.0, Some(50.0)),
            Some(-5.0)
        );
        assert_eq!(
            display(DifferenceUnit::LocalPercent).value(4.9, 19.0, Some(50.0)),
            None,
            "A is too low for local percent"
        );
        assert_eq!(
            display(DifferenceUnit::Percent).value(20.0, 19.0, None),
            None,
            "no 100 %, no percent"
        );
    }

    #[test]
    fn the_legend_reaches_as_far_down_as_up() {
        for unit in DifferenceUnit::ALL {
            let marks = DifferenceDisplay::new(unit, 37.0).marks();
            for (up, down) in marks.iter().zip(marks.iter().rev()) {
                assert_eq!(*up, -*down);
            }
            assert!(marks[0] > 0.0);
        }
    }

    #[test]
    fn a_scale_in_gy_is_round() {
        for (gy, want) in [
            (6.0, 5.0),
            (0.19, 0.1),
            (0.2, 0.2),
            (1.0, 1.0),
            (74.0, 50.0),
        ] {
            assert!((rounded(gy) - want).abs() < 1e-9 * want, "{gy}");
        }
    }
}
