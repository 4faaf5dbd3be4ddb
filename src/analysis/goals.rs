//! Metrics of a DVH by the names planners use (AAPM TG-263: `D95%`, `D0.1cc`, `V20Gy`, `Mean`), and clinical goals
//! made of them.

use super::Dvh;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A number read off a DVH.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Metric {
    Max,
    Mean,
    Min,
    /// Dose that the hottest so many percent of the volume get at least, Gy.
    DosePercent(f64),
    /// Dose that the hottest so many cm3 get at least, Gy.
    DoseCm3(f64),
    /// Share of the volume that gets so many Gy or more, percent.
    VolumeGy(f64),
    /// Share of the volume that gets so many percent of the 100 % dose or more, percent.
    VolumePercent(f64),
}

/// What a metric is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricUnit {
    Gy,
    Percent,
}

impl Metric {
    /// The metric of a DVH; `None` where it needs the 100 % dose and there is none.
    pub fn of(self, dvh: &Dvh, reference_gy: Option<f64>) -> Option<f64> {
        Some(match self {
            Self::Max => dvh.max_gy(),
            Self::Mean => dvh.mean_gy(),
            Self::Min => dvh.min_gy(),
            Self::DosePercent(percent) => dvh.dose_at_percent(percent),
            Self::DoseCm3(cm3) => dvh.dose_at_cm3(cm3),
            Self::VolumeGy(gy) => dvh.percent_at(gy),
            Self::VolumePercent(percent) => dvh.percent_at(0.01 * percent * reference_gy?),
        })
    }

    pub fn unit(self) -> MetricUnit {
        match self {
            Self::VolumeGy(_) | Self::VolumePercent(_) => MetricUnit::Percent,
            _ => MetricUnit::Gy,
        }
    }
}

impl MetricUnit {
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent => "%",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("Dmax"),
            Self::Mean => f.write_str("Dmean"),
            Self::Min => f.write_str("Dmin"),
            Self::DosePercent(v) => write!(f, "D{v}%"),
            Self::DoseCm3(v) => write!(f, "D{v}cc"),
            Self::VolumeGy(v) => write!(f, "V{v}Gy"),
            Self::VolumePercent(v) => write!(f, "V{v}%"),
        }
    }
}

/// "This metric of this structure is at most, or at least, so much."
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub structure: String,
    pub metric: Metric,
    pub at_least: bool,
    pub limit: f64,
    /// Of the limit: a dose may be asked for in percent of the 100 % dose.
    pub unit: MetricUnit,
}

/// Why words are no goal.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GoalError {
    #[error("a goal is a structure, a colon, a metric and its limit, like 'Cord: Dmax <= 45 Gy'")]
    Shape,
    #[error("'{0}' is no metric; it is Dmax, Dmean, Dmin, D95%, D0.1cc, V20Gy or V95%")]
    Metric(String),
    #[error("'{0}' is no limit; it is a number with Gy or %, like '45 Gy'")]
    Limit(String),
    #[error("{0} is a volume: its limit is in %")]
    Unit(String),
}

impl Goal {
    /// Value in Gy or percent (the metric's unit) and whether it meets the goal; `None` where it needs the 100 % dose
    /// and there is none.
    pub fn check(&self, dvh: &Dvh, reference_gy: Option<f64>) -> Option<(f64, bool)> {
        let value = self.metric.of(dvh, reference_gy)?;
        let limit = match (self.metric.unit(), self.unit) {
            (MetricUnit::Gy, MetricUnit::Percent) => 0.01 * self.limit * reference_gy?,
            _ => self.limit,
        };
        Some((value, if self.at_least { value >= limit } else { value <= limit }))
    }

    /// What is asked of a target with a prescription: 95 % of it get 95 % at least (ICRU 50), 2 % no more than 107 %.
    pub fn of_target(structure: &str) -> [Self; 2] {
        let goal = |percent, at_least, limit| Self {
            structure: structure.to_owned(),
            metric: Metric::DosePercent(percent),
            at_least,
            limit,
            unit: MetricUnit::Percent,
        };
        [goal(95.0, true, 95.0), goal(2.0, false, 107.0)]
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.at_least { ">=" } else { "<=" };
        write!(f, "{}: {} {sign} {} {}", self.structure, self.metric, self.limit, self.unit.symbol())
    }
}

impl FromStr for Metric {
    type Err = GoalError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let lower = word.trim().to_ascii_lowercase();
        let wrong = || GoalError::Metric(word.trim().to_owned());
        match lower.as_str() {
            "dmax" | "max" => return Ok(Self::Max),
            "dmean" | "mean" => return Ok(Self::Mean),
            "dmin" | "min" => return Ok(Self::Min),
            _ => {}
        }
        let rest = lower.get(1..).ok_or_else(wrong)?;
        let number = |end: &str| -> Option<f64> {
            let value: f64 = rest.strip_suffix(end)?.trim().parse().ok()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let share = |v: &f64| *v <= 100.0;
        let metric = match lower.as_bytes().first() {
            Some(b'd') => number("%")
                .filter(share)
                .map(Self::DosePercent)
                .or_else(|| number("cc").or_else(|| number("cm3")).map(Self::DoseCm3))
                .or_else(|| rest.parse().ok().filter(|v: &f64| *v > 0.0 && share(v)).map(Self::DosePercent)),
            Some(b'v') => number("gy").map(Self::VolumeGy).or_else(|| number("%").map(Self::VolumePercent)),
            _ => None,
        };
        metric.ok_or_else(wrong)
    }
}

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let (structure, rest) = words.rsplit_once(':').ok_or(GoalError::Shape)?;
        let sign = rest.find(['<', '>', '≤', '≥']).ok_or(GoalError::Shape)?;
        let (metric, limit) = rest.split_at(sign);
        let at_least = limit.starts_with(['>', '≥']);
        let limit = limit.trim_start_matches(['<', '>', '≤', '≥', '=']).trim();
        let metric: Metric = metric.parse()?;
        let wrong = || GoalError::Limit(limit.to_owned());
        let lower = limit.to_ascii_lowercase();
        let (number, unit) = match (lower.strip_suffix("gy"), lower.strip_suffix('%')) {
            (Some(number), _) => (number, MetricUnit::Gy),
            (_, Some(number)) => (number, MetricUnit::Percent),
            _ => return Err(wrong()),
        };
        let limit: f64 = number.trim().parse().map_err(|_| wrong())?;
        if !(limit.is_finite() && limit >= 0.0) {
            return Err(wrong());
        }
        if metric.unit() == MetricUnit::Percent && unit == MetricUnit::Gy {
            return Err(GoalError::Unit(metric.to_string()));
        }
        let structure = structure.trim();
        if structure.is_empty() {
            return Err(GoalError::Shape);
        }
        Ok(Self { structure: structure.to_owned(), metric, at_least, limit, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::JobControl;
    use crate::geometry::{Grid, Mask, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    /// A cube of 10 cm with a dose of 1 Gy a cm along x, from 0 to 10 Gy: D(v %) = 10 - v / 10, V(x Gy) = 100 - 10 x.
    fn ramp() -> Dvh {
        let size = 100;
        let grid = Arc::new(Grid::axis_aligned(DVec3::splat(0.5), DVec3::ONE, [size, 20, 20]).unwrap());
        let data = (0..grid.len()).map(|n| (n % size) as f32 * 0.1 + 0.05).collect();
        let square = [[0.0, 0.0], [100.0, 0.0], [100.0, 20.0], [0.0, 20.0]];
        let contours: Vec<Vec<DVec3>> =
            (0..20).map(|k| square.map(|[x, y]| DVec3::new(x, y, f64::from(k) + 0.5)).to_vec()).collect();
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        let mask = Mask::from_contours(&grid, &contours, &|_| true).unwrap();
        Dvh::new(&mask, &Volume::new(grid, data), &JobControl::new()).unwrap()
    }

    #[test]
    fn metrics_of_a_ramp_are_those_of_its_closed_form() {
        let dvh = ramp();
        let of = |word: &str| word.parse::<Metric>().unwrap().of(&dvh, Some(8.0)).unwrap();
        for (word, want) in [
            ("Dmax", 9.95),
            ("mean", 5.0),
            ("Dmin", 0.05),
            ("D95%", 0.5),
            ("D2", 9.8),
            ("D4cc", 9.0),
            ("V3Gy", 70.0),
            ("V50%", 60.0),
        ] {
            assert!((of(word) - want).abs() < 0.11, "{word}: {}, not {want}", of(word));
        }
        assert_eq!(Metric::VolumePercent(50.0).of(&dvh, None), None, "percent need a reference");
    }

    #[test]
    fn goals_are_met_or_not_on_the_right_side_of_their_limit() {
        let dvh = ramp();
        for (words, met) in [
            ("S: D95% >= 0.3 Gy", true),
            ("S: D95% >= 0.7 Gy", false),
            ("S: Dmax <= 10 Gy", true),
            ("S: Dmax <= 9 Gy", false),
            ("S: V3Gy <= 75 %", true),
            ("S: V3Gy >= 75 %", false),
            // 50 % of 8 Gy are 4 Gy.
            ("S: Dmean >= 50 %", true),
            ("S: Dmean ≤ 50%", false),
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(goal.check(&dvh, Some(8.0)).unwrap().1, met, "{words}");
        }
        let goal: Goal = "S: Dmean >= 50 %".parse().unwrap();
        assert_eq!(goal.check(&dvh, None), None);
    }

    #[test]
    fn goals_are_read_back_as_they_are_written_and_nonsense_is_refused() {
        for words in
            ["PTV 70: D95% >= 66.5 Gy", "A:B: Dmax <= 45 Gy", "Lung: V20Gy <= 30 %", "X: D0.1cc <= 50 Gy"]
        {
            assert_eq!(words.parse::<Goal>().unwrap().to_string(), words);
        }
        for words in [
            "",
            "Cord",
            "Cord: Dmax",
            "Cord: Dmax <= 45",
            "Cord: Dmax <= x Gy",
            "Cord: D <= 4 Gy",
            "Cord: D200% <= 4 Gy",
            "Cord: V20Gy <= 30 Gy",
            ": Dmax <= 45 Gy",
            "Cord: Dmax <= -1 Gy",
            "é: é <= 1 Gy",
        ] {
            assert!(words.parse::<Goal>().is_err(), "{words}");
        }
    }
}
