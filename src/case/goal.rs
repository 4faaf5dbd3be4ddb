//! Clinical goals: a metric of a structure held against a limit.

use super::bounds;
use super::metric::{Metric, MetricError, MetricUnit};
use super::wish::Wish;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use thiserror::Error;

/// The side of the limit on which values meet a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    AtMost,
    AtLeast,
}

impl Bound {
    pub const ALL: [Self; 2] = [Self::AtMost, Self::AtLeast];

    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }

    /// All spellings of the sign.
    fn spellings(self) -> [&'static str; 3] {
        match self {
            Self::AtMost => ["<=", "≤", "<"],
            Self::AtLeast => [">=", "≥", ">"],
        }
    }

    /// How far a value lies on the side that meets the goal; below 0 beyond the limit.
    pub fn margin(self, value: f64, limit: f64) -> f64 {
        match self {
            Self::AtMost => limit - value,
            Self::AtLeast => value - limit,
        }
    }
}

/// "This metric of this structure is at most, or at least, this value." Written like
/// `Cord: Dmax <= 45 Gy (tolerance 2 Gy, wish 20 Gy, priority 2)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Goal {
    /// Name of the structure.
    pub structure: String,
    /// ROI number of the structure once the goal is in a case: it then follows every rename.
    pub number: Option<u32>,
    metric: Metric,
    pub bound: Bound,
    /// In `unit`, not below 0.
    limit: f64,
    /// Unit of the limit: a dose may be in percent of the 100 % dose, a volume in cm3.
    unit: MetricUnit,
    /// In `unit`: values up to this far beyond the limit are near.
    tolerance: f64,
    /// 1 is the highest.
    priority: u8,
    /// Weight of its objective, where it differs from the priority's.
    weight: Option<f64>,
    /// The value that may not get worse where plans are optimised, in `unit`.
    kept: Option<f64>,
    /// The value towards which plans are optimised once the limit is met.
    wish: Wish,
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
    #[error("'{0}' is neither a tolerance, wish or kept value in the unit of the limit, nor a priority from 1 to {most}, nor a weight from {low} to {high}; write '(tolerance 2 Gy, wish 20 Gy, priority 1, weight 2, kept 40 Gy)' or '(wish none)'", most = Goal::LOWEST_PRIORITY, low = Goal::WEIGHTS.start(), high = Goal::WEIGHTS.end())]
    Suffix(String),
    #[error(
        "a wish is for less than an upper limit, and '{0}' has a lower one: leave the wish out"
    )]
    WishOfLowerLimit(String),
    #[error(
        "the wish of '{0}' is beyond its limit: wish for the limit or less, or write 'wish none'"
    )]
    WishBeyondLimit(String),
}

impl Goal {
    /// The number of the lowest priority.
    pub const LOWEST_PRIORITY: u8 = 9;

    /// Weights that may be set.
    pub const WEIGHTS: RangeInclusive<f64> = 0.01..=100.0;

    /// A goal in the metric's own unit, without tolerance, of the highest priority.
    pub fn new(structure: &str, metric: Metric, bound: Bound, limit: f64) -> Self {
        let base = Self {
            structure: structure.to_owned(),
            number: None,
            metric,
            bound,
            limit: 0.0,
            unit: metric.unit(),
            tolerance: 0.0,
            priority: 1,
            weight: None,
            kept: None,
            wish: Wish::Usual,
        };
        base.with_limit(limit)
    }

    pub fn metric(&self) -> Metric {
        self.metric
    }

    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Unit of limit, tolerance and value.
    pub fn unit(&self) -> MetricUnit {
        self.unit
    }

    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Weight of its objective where plans are optimised: 1 for the highest priority and a quarter of it for each lower one, unless set.
    pub fn weight(&self) -> f64 {
        self.weight
            .unwrap_or_else(|| 0.25_f64.powi(i32::from(self.priority.max(1)) - 1))
    }

    /// The value that may not get worse where plans are optimised, in the unit of the limit.
    pub fn kept(&self) -> Option<f64> {
        self.kept
    }

    /// The value towards which plans are optimised once the limit is met. Its priority is the goal's.
    pub fn wish(&self) -> Wish {
        self.wish
    }

    /// The metric in the unit of the limit.
    pub fn metric_in_unit(&self) -> Metric {
        self.metric.told_in(self.unit).unwrap_or(self.metric)
    }

    /// The goal of another structure; `number` is its ROI number where it is in a case.
    pub fn of_structure(self, name: &str, number: Option<u32>) -> Self {
        Self {
            structure: name.to_owned(),
            number,
            ..self
        }
    }

    pub fn with_bound(self, bound: Bound) -> Self {
        Self {
            bound,
            kept: None,
            wish: Wish::Usual,
            ..self
        }
    }

    /// With another metric; the limit keeps its unit where the metric has it.
    pub fn with_metric(self, metric: Metric) -> Self {
        let unit = if metric.units().contains(&self.unit) {
            self.unit
        } else {
            metric.unit()
        };
        Self {
            metric,
            unit,
            kept: None,
            wish: self.wish.without_value(),
            ..self
        }
    }

    /// With another limit; unchanged where it is no number.
    pub fn with_limit(self, limit: f64) -> Self {
        if limit.is_finite() {
            let limit = limit.max(0.0);
            Self {
                limit,
                wish: self.wish.within(limit),
                ..self
            }
        } else {
            self
        }
    }

    /// With another unit; unchanged where the metric does not have it.
    pub fn with_unit(self, unit: MetricUnit) -> Self {
        if self.unit != unit && self.metric.units().contains(&unit) {
            Self {
                unit,
                kept: None,
                wish: self.wish.without_value(),
                ..self
            }
        } else {
            self
        }
    }

    /// With another tolerance; unchanged where it is no number.
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        if tolerance.is_finite() {
            Self {
                tolerance: tolerance.max(0.0),
                ..self
            }
        } else {
            self
        }
    }

    pub fn with_priority(self, priority: u8) -> Self {
        Self {
            priority: priority.clamp(1, Self::LOWEST_PRIORITY),
            ..self
        }
    }

    /// With this weight, or the priority's for `None`; unchanged where it is no number.
    pub fn with_weight(self, weight: Option<f64>) -> Self {
        match weight {
            Some(weight) if weight.is_nan() => self,
            _ => Self {
                weight: weight.map(|w| w.clamp(*Self::WEIGHTS.start(), *Self::WEIGHTS.end())),
                ..self
            },
        }
    }

    /// With a value that may not get worse, or none; unchanged where it is no number.
    pub fn with_kept(self, kept: Option<f64>) -> Self {
        if kept.is_some_and(|kept| !kept.is_finite()) {
            self
        } else {
            Self { kept, ..self }
        }
    }

    /// With another wish, at most the limit; unchanged for a lower limit, and where the value is no number.
    pub fn with_wish(self, wish: Wish) -> Self {
        let is_number = !matches!(wish, Wish::Value(value) if !value.is_finite() || value < 0.0);
        if self.bound == Bound::AtMost && is_number {
            Self {
                wish: wish.within(self.limit),
                ..self
            }
        } else {
            self
        }
    }

    /// The usual goals of a target with a prescription: 95 % of it get 95 % at least (ICRU 50), 2 % no more
    /// than 107 %.
    pub fn of_target(structure: &str) -> Vec<Self> {
        let goals = [
            (Metric::D95, Bound::AtLeast, 95.0),
            (Metric::D2, Bound::AtMost, 107.0),
        ];
        let percent = goals.map(|(metric, bound, limit)| {
            Self::new(structure, metric, bound, limit).with_unit(MetricUnit::Percent)
        });
        percent.into()
    }

    /// The limit as text: `<= 45 Gy`.
    pub fn limit_text(&self) -> String {
        format!(
            "{} {} {}",
            self.bound.sign(),
            self.limit,
            self.unit.symbol()
        )
        .trim_end()
        .to_owned()
    }

    /// The structure, the metric and its limit alone.
    pub fn short_text(&self) -> String {
        format!("{}: {} {}", self.structure, self.metric, self.limit_text())
    }

    /// The greatest limit that means something: of a share of a volume all of it, of a dose what no course gives.
    pub fn most_limit(&self) -> f64 {
        match (self.metric.unit(), self.unit) {
            (MetricUnit::Percent, MetricUnit::Percent) => 100.0,
            (MetricUnit::Gy, MetricUnit::Gy) => bounds::MOST_COURSE_GY,
            (MetricUnit::Gy, MetricUnit::Percent) => bounds::MOST_NORMALISED_PERCENT,
            _ => 1e6,
        }
    }

    /// Why no dose could be held against its limit, in words; `None` where one can.
    pub fn nonsense(&self) -> Option<String> {
        let (max_limit, unit) = (self.most_limit(), self.unit.symbol());
        let beyond = self.limit > max_limit;
        beyond.then(|| {
            format!("the limit of {} is at most {max_limit} {unit}", self.metric)
                .trim_end()
                .to_owned()
        })
    }

    /// The goal, if its wish is one that it can have.
    fn with_sound_wish(self) -> Result<Self, GoalError> {
        match (self.bound, self.wish) {
            (Bound::AtLeast, Wish::Nothing | Wish::Value(_)) => {
                Err(GoalError::WishOfLowerLimit(self.short_text()))
            }
            (_, Wish::Value(value)) if value > self.limit => {
                Err(GoalError::WishBeyondLimit(self.short_text()))
            }
            _ => Ok(self),
        }
    }

    /// Tolerance, wish, priority, weight and kept value from the text in the brackets behind the limit.
    fn with_suffix(mut self, suffix: &str) -> Option<Self> {
        for part in suffix.split(',').map(str::trim) {
            self = match part.split_once(' ')? {
                (what @ ("tolerance" | "kept"), words) => {
                    let (value, unit) = MetricUnit::split(words).filter(|(t, _)| *t >= 0.0)?;
                    if unit != self.unit {
                        return None;
                    }
                    if what == "kept" {
                        self.with_kept(Some(value))
                    } else {
                        self.with_tolerance(value)
                    }
                }
                ("wish", words) => Self {
                    wish: Wish::parse(words, self.unit)?,
                    ..self
                },
                ("weight", number) => {
                    let number: f64 = number.trim().parse().ok()?;
                    Self::WEIGHTS
                        .contains(&number)
                        .then(|| self.with_weight(Some(number)))?
                }
                ("priority", number) => {
                    let number: u8 = number.trim().parse().ok()?;
                    (1..=Self::LOWEST_PRIORITY)
                        .contains(&number)
                        .then(|| self.with_priority(number))?
                }
                _ => return None,
            };
        }
        Some(self)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short_text())?;
        let tolerance = format!("tolerance {} {}", self.tolerance, self.unit.symbol());
        let tolerance = (self.tolerance > 0.0).then(|| tolerance.trim_end().to_owned());
        let priority = (self.priority > 1).then(|| format!("priority {}", self.priority));
        let weight = self.weight.map(|weight| format!("weight {weight}"));
        let kept = self.kept.map(|kept| {
            format!("kept {kept} {}", self.unit.symbol())
                .trim_end()
                .to_owned()
        });
        let wish = self.wish.words(self.unit);
        let suffix: Vec<String> = [tolerance, wish, priority, weight, kept]
            .into_iter()
            .flatten()
            .collect();
        if suffix.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", suffix.join(", "))
        }
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
        let (structure, expression) = words.rsplit_once(':').ok_or(GoalError::Shape)?;
        let signs = Bound::ALL.into_iter().flat_map(|bound| {
            let spellings = bound.spellings().into_iter();
            spellings
                .filter_map(move |sign| Some((expression.find(sign)?, Reverse(sign.len()), bound)))
        });
        // The leftmost sign in the text, and the longest of those that begin there.
        let sign = { signs }.min_by_key(|(start, length, _)| (*start, *length));
        let (start, Reverse(length), bound) = sign.ok_or(GoalError::Shape)?;
        let (metric, behind) = (
            expression[..start].parse::<Metric>()?,
            expression[start + length..].trim(),
        );
        let (limit, suffix) = match behind.split_once('(') {
            Some((limit, suffix)) => (limit.trim(), Some(suffix)),
            None => (behind, None),
        };
        let (limit, unit) = MetricUnit::split(limit)
            .filter(|(limit, unit)| {
                *limit >= 0.0 && (*unit != MetricUnit::One || metric.unit() == *unit)
            })
            .ok_or_else(|| GoalError::Limit(limit.to_owned()))?;
        if metric.told_in(unit).is_none() {
            let units = metric
                .units()
                .iter()
                .map(|u| u.symbol())
                .collect::<Vec<_>>()
                .join(" or ");
            return Err(GoalError::Unit(
                metric.to_string(),
                if units.is_empty() {
                    "no unit".to_owned()
                } else {
                    units
                },
            ));
        }
        let structure = structure.trim();
        if structure.is_empty() {
            return Err(GoalError::Shape);
        }
        let goal = Self::new(structure, metric, bound, limit).with_unit(unit);
        let Some(suffix) = suffix else {
            return Ok(goal);
        };
        let parts = suffix.trim().strip_suffix(')').map(str::trim);
        let with_suffix = parts.and_then(|parts| goal.with_suffix(parts));
        with_suffix
            .ok_or_else(|| GoalError::Suffix(format!("({suffix}")))?
            .with_sound_wish()
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
    use super::*;

    #[test]
    fn goals_are_read_back_as_they_are_written_and_nonsense_is_refused() {
        for words in [
            "PTV 70: D95% >= 66.5 Gy",
            "A:B: Dmax <= 45 Gy",
            "Lung: V20Gy <= 30 %",
            "Lung: V20Gy <= 300 cc",
            "X: D0.1cc <= 50 Gy",
            "PTV: CI >= 0.8",
            "Cord: Dmax <= 45 Gy (tolerance 2 Gy)",
            "Cord: gEUD(a=8) <= 45 Gy (priority 3)",
            "Lung (both): V20Gy[cc] <= 300 cc (tolerance 25.5 cc, priority 9)",
            "PTV: CI >= 0.8 (tolerance 0.05, priority 2)",
            "Cord: Dmax <= 45 Gy (weight 0.5)",
            "Cord: Dmax <= 45 Gy (priority 2, weight 100, kept 41.25 Gy)",
            "Cord: D0.1cc <= 45 Gy (wish 20 Gy, priority 2)",
            "Cord: D0.1cc <= 45 Gy (tolerance 2 Gy, wish 0 Gy)",
            "Lung: V20Gy <= 30 % (wish 12.5 %)",
            "PTV: HI <= 0.1 (wish 0.05)",
            "PTV: D2% <= 107 % (wish none)",
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(goal.to_string(), words);
            let kept = serde_json::to_string(&goal).unwrap();
            assert_eq!(serde_json::from_str::<Goal>(&kept).unwrap(), goal);
        }
        let goal: Goal = "Cord: Dmax < 45Gy ( priority 2 , tolerance 1.5 Gy )"
            .parse()
            .unwrap();
        assert_eq!(
            goal.to_string(),
            "Cord: Dmax <= 45 Gy (tolerance 1.5 Gy, priority 2)"
        );
        assert_eq!((goal.tolerance(), goal.priority()), (1.5, 2));
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
            "Cord: Dmax <= 45 Gy (tolerance 2 %)",
            "Cord: Dmax <= 45 Gy (tolerance -2 Gy)",
            "Cord: Dmax <= 45 Gy (weight 0)",
            "Cord: Dmax <= 45 Gy (weight 101)",
            "Cord: Dmax <= 45 Gy (weight NaN)",
            "Cord: Dmax <= 45 Gy (kept 40 %)",
            "Cord: Dmax <= 45 Gy (kept inf Gy)",
            "Cord: Dmax <= 45 Gy (wish 20 %)",
            "Cord: Dmax <= 45 Gy (wish -1 Gy)",
            "Cord: Dmax <= 45 Gy (wish less)",
            "Cord: Dmax <= 45 Gy (wish)",
            "Cord: Dmax <= 45 Gy (priority 0)",
            "Cord: Dmax <= 45 Gy (priority 10)",
            "Cord: Dmax <= 45 Gy (priority 2",
            "Cord: Dmax <= 45 Gy (soon)",
            "Cord: Dmax <= 45 Gy ()",
            "Cord: Dmax <= 45 Gy (priority 2) now",
        ] {
            assert!(words.parse::<Goal>().is_err(), "{words}");
        }
    }

    fn error_of(words: &str) -> String {
        words.parse::<Goal>().expect_err(words).to_string()
    }

    #[test]
    fn wishes_stay_on_the_side_of_the_limit_that_meets_it() {
        let beyond = error_of("Cord: Dmax <= 45 Gy (wish 46 Gy, priority 2)");
        assert!(
            beyond.contains("'Cord: Dmax <= 45 Gy' is beyond its limit"),
            "{beyond}"
        );
        for words in [
            "PTV: D95% >= 50 Gy (wish 51 Gy)",
            "PTV: D95% >= 50 Gy (wish none)",
        ] {
            let lower = error_of(words);
            assert!(
                lower.contains("'PTV: D95% >= 50 Gy' has a lower one"),
                "{lower}"
            );
        }
        let goal: Goal = "Cord: Dmax <= 45 Gy (wish 20 Gy)".parse().unwrap();
        assert_eq!(goal.wish(), Wish::Value(20.0));
        assert_eq!(
            "Cord: Dmax <= 45 Gy".parse::<Goal>().unwrap().wish(),
            Wish::Usual
        );
        // A limit that is dragged below the wish takes it along; what has another unit or side is another wish.
        assert_eq!(goal.clone().with_limit(15.0).wish(), Wish::Value(15.0));
        assert_eq!(
            goal.clone().with_unit(MetricUnit::Percent).wish(),
            Wish::Usual
        );
        assert_eq!(goal.clone().with_bound(Bound::AtLeast).wish(), Wish::Usual);
        let nothing = goal.clone().with_wish(Wish::Nothing);
        assert_eq!(nothing.with_unit(MetricUnit::Percent).wish(), Wish::Nothing);
        for (wish, stays) in [
            (Wish::Value(f64::NAN), 20.0),
            (Wish::Value(-1.0), 20.0),
            (Wish::Value(60.0), 45.0),
        ] {
            assert_eq!(goal.clone().with_wish(wish).wish(), Wish::Value(stays));
        }
    }

    fn goal_of_priority(priority: u8) -> Goal {
        Goal::new("Lung", Metric::MAX, Bound::AtMost, 20.0).with_priority(priority)
    }

    #[test]
    fn another_metric_keeps_a_unit_that_it_has() {
        let goal =
            Goal::new("Lung", Metric::MEAN, Bound::AtMost, 20.0).with_unit(MetricUnit::Percent);
        let v20: Metric = "V20Gy".parse().unwrap();
        assert_eq!(
            goal.clone().with_metric(v20).short_text(),
            "Lung: V20Gy <= 20 %"
        );
        let cc = goal.with_metric(v20).with_unit(MetricUnit::Cm3);
        assert_eq!(
            cc.clone().with_metric(Metric::MAX).short_text(),
            "Lung: Dmax <= 20 Gy"
        );
        assert_eq!(cc.with_limit(f64::NAN).with_limit(-3.0).limit(), 0.0);
        assert_eq!(
            [1, 2, 3].map(|p| goal_of_priority(p).weight()),
            [1.0, 0.25, 0.0625]
        );
        let weighed = goal_of_priority(2)
            .with_weight(Some(1e9))
            .with_weight(Some(f64::NAN));
        assert_eq!(
            (weighed.weight(), weighed.with_weight(None).weight()),
            (100.0, 0.25)
        );
        let kept = goal_of_priority(1)
            .with_kept(Some(3.0))
            .with_kept(Some(f64::INFINITY));
        assert_eq!(
            (kept.kept(), kept.with_metric(Metric::MEAN).kept()),
            (Some(3.0), None)
        );
        for (words, max_words) in [
            ("PTV: V20Gy <= 130 %", Some("100 %")),
            ("PTV: V20Gy <= 100 %", None),
            ("PTV: V20Gy <= 5000 cc", None),
            ("PTV: D95% >= 9500 %", Some("1000 %")),
            ("PTV: Dmax <= 107 %", None),
            ("PTV: Dmax <= 4500 Gy", Some("1000 Gy")),
            ("PTV: Dmax <= 70 Gy", None),
        ] {
            let told = words.parse::<Goal>().unwrap().nonsense();
            assert_eq!(told.is_some(), max_words.is_some(), "{words}");
            assert!(
                told.is_none_or(|told| told.ends_with(max_words.unwrap_or_default())),
                "{words}"
            );
        }
        let of_target = Goal::of_target("PTV")
            .iter()
            .map(Goal::to_string)
            .collect::<Vec<_>>();
        assert_eq!(of_target, ["PTV: D95% >= 95 %", "PTV: D2% <= 107 %"]);
    }
}
