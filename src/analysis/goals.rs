//! Clinical goals: a metric of a structure held against a limit.

use super::Dvh;
use super::metric::{Metric, MetricError, MetricUnit, NoValue};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A type of goal: the comparison of a metric with a limit. A new type is one entry of [`KINDS`].
#[derive(Debug)]
struct Kind {
    /// The written sign.
    sign: &'static str,
    /// Alternative spellings of the sign.
    also: &'static [&'static str],
    /// Whether a value (the first) meets a limit.
    met: fn(f64, f64) -> bool,
}

/// Every type of goal.
static KINDS: [Kind; 2] = [
    Kind { sign: "<=", also: &["≤", "<"], met: |value, limit| value <= limit },
    Kind { sign: ">=", also: &["≥", ">"], met: |value, limit| value >= limit },
];

/// "This metric of this structure is at most, or at least, this value."
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Goal {
    pub structure: String,
    pub metric: Metric,
    kind: &'static Kind,
    limit: f64,
    /// Unit of the limit: a dose may be in percent of the 100 % dose, a volume in cm3.
    unit: MetricUnit,
}

/// Why a text is no goal.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GoalError {
    #[error("a goal is a structure, a colon, a metric and its limit, like 'Cord: Dmax <= 45 Gy'")]
    Shape,
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error("'{0}' is no limit; it is a number with its unit, like '45 Gy', '30 %' or '200 cc'")]
    Limit(String),
    #[error("the limit of {0} is in {1}")]
    Unit(String, String),
}

impl Goal {
    /// The value in the metric's own unit and whether it meets the goal; `hundred_gy` is the 100 % dose.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn check(&self, dvh: &Dvh, hundred_gy: Option<f64>) -> Result<(f64, bool), NoValue> {
        let beside_limit = self.metric.told_in(self.unit).unwrap_or(self.metric);
        let met = (self.kind.met)(beside_limit.value(dvh, hundred_gy)?, self.limit);
        Ok((self.metric.value(dvh, hundred_gy)?, met))
    }

    /// The usual goals of a target with a prescription: 95 % of it get 95 % at least (ICRU 50), 2 % no more
    /// than 107 %.
    pub fn of_target(structure: &str) -> Vec<Self> {
        let goals = ["D95% >= 95 %", "D2% <= 107 %"];
        goals.into_iter().filter_map(|words| format!("{structure}: {words}").parse().ok()).collect()
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { structure, metric, kind: Kind { sign, .. }, limit, unit } = self;
        let words = format!("{structure}: {metric} {sign} {limit} {}", unit.symbol());
        f.write_str(words.trim_end())
    }
}

impl PartialEq for Goal {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let (structure, rest) = words.rsplit_once(':').ok_or(GoalError::Shape)?;
        let signs = |kind: &'static Kind| {
            let signs = std::iter::once(kind.sign).chain(kind.also.iter().copied());
            signs.filter_map(move |sign| Some((rest.find(sign)?, Reverse(sign.len()), kind)))
        };
        // The leftmost sign in the text, and the longest of those that begin there.
        let found = KINDS.iter().flat_map(signs).min_by_key(|(at, length, _)| (*at, *length));
        let (at, Reverse(length), kind) = found.ok_or(GoalError::Shape)?;
        let (metric, limit) = (rest[..at].parse::<Metric>()?, rest[at + length..].trim());
        let (limit, unit) = MetricUnit::split(limit)
            .filter(|(limit, unit)| *limit >= 0.0 && (*unit != MetricUnit::One || metric.unit() == *unit))
            .ok_or_else(|| GoalError::Limit(limit.to_owned()))?;
        if metric.told_in(unit).is_none() {
            let units = metric.units().iter().map(|u| u.symbol()).collect::<Vec<_>>().join(" or ");
            return Err(GoalError::Unit(
                metric.to_string(),
                if units.is_empty() { "no unit".to_owned() } else { units },
            ));
        }
        let structure = structure.trim();
        if structure.is_empty() {
            return Err(GoalError::Shape);
        }
        Ok(Self { structure: structure.to_owned(), metric, kind, limit, unit })
    }
}

impl From<Goal> for String {
    fn from(goal: Goal) -> Self {
        goal.to_string()
    }
}

impl TryFrom<String> for Goal {
    type Error = GoalError;

    fn try_from(words: String) -> Result<Self, Self::Error> {
        words.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::tests::ramp;
    use super::*;

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
            // 70 % of 40 cm3.
            ("S: V3Gy <= 29 cc", true),
            ("S: V3Gy[cc] < 27 cm3", false),
            ("S: HI <= 2", true),
            ("S: CI >= 0.3", false),
            // 50 % of 8 Gy are 4 Gy.
            ("S: Dmean >= 50 %", true),
            ("S: Dmean ≤ 50%", false),
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(goal.check(&dvh, Some(8.0)).unwrap().1, met, "{words}");
        }
        let goal: Goal = "S: Dmean >= 50 %".parse().unwrap();
        assert_eq!(goal.check(&dvh, None), Err(NoValue::NoHundred));
        let of_target = Goal::of_target("PTV").iter().map(Goal::to_string).collect::<Vec<_>>();
        assert_eq!(of_target, ["PTV: D95% >= 95 %", "PTV: D2% <= 107 %"]);
    }

    #[test]
    fn goals_are_read_back_as_they_are_written_and_nonsense_is_refused() {
        for words in [
            "PTV 70: D95% >= 66.5 Gy",
            "A:B: Dmax <= 45 Gy",
            "Lung: V20Gy <= 30 %",
            "Lung: V20Gy <= 300 cc",
            "X: D0.1cc <= 50 Gy",
            "PTV: CI >= 0.8",
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(goal.to_string(), words);
            let kept = serde_json::to_string(&goal).unwrap();
            assert_eq!(serde_json::from_str::<Goal>(&kept).unwrap(), goal);
        }
        for words in [
            "",
            "Cord",
            "Cord: Dmax",
            "Cord: Dmax <= 45",
            "Cord: Dmax <= x Gy",
            "Cord: Dmax <= 45,5 Gy",
            "Cord: D <= 4 Gy",
            "Cord: D200% <= 4 Gy",
            "Cord: V20Gy <= 30 Gy",
            "Cord: CI >= 80 %",
            "Cord: Dmax <= 4 cc",
            ": Dmax <= 45 Gy",
            "Cord: Dmax <= -1 Gy",
            "é: é <= 1 Gy",
        ] {
            assert!(words.parse::<Goal>().is_err(), "{words}");
        }
    }
}
