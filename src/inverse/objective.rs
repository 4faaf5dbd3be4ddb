//! Objectives: what is minimised of a structure's doses, and how goals become them.

use case::{Bound, Figure, Goal, Metric, MetricUnit};
use serde::{Deserialize, Serialize};

/// The form of an objective. d: doses of the structure's rows, v: their shares of its volume, D: the objective's dose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Aim {
    /// sum v (d - D)+^2
    Over,
    /// sum v (D - d)+^2
    Under,
    /// sum v (d - D)^2
    Deviation,
    /// (sum v d - D)+^2
    MeanOver,
    /// ((sum v d^a)^(1/a) - D)+^2, a of 1 and more (Niemierko, Med. Phys. 24 (1997) 103)
    Geud { a: f64 },
    /// (T - D)+^2, T the mean of the hottest `volume` percent: the convex stand-in of a point of the DVH (Rockafellar and Uryasev,
    /// J. Risk 2 (2000) 21)
    TailMax { volume: f64 },
    /// (D - T)+^2, T the mean of the coldest `volume` percent
    TailMin { volume: f64 },
}

/// An objective of a structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Name of the rows.
    pub structure: String,
    #[serde(flatten)]
    pub aim: Aim,
    /// D, Gy of all fractions.
    #[serde(rename = "dose")]
    pub gy: f64,
    /// A plain number near 1; the solver divides it by the square of the reference dose, of a wish by the square of its range.
    pub weight: f64,
    /// DVH point or mean of the goal: D moves until it is met.
    #[serde(skip)]
    pub asked: Option<Asked>,
    /// Limit less wished dose, Gy, of the objective of a wish; `None` for others.
    #[serde(skip)]
    pub wish_range_gy: Option<f64>,
    /// Factor of the weight of a goal that cannot be met, whose handle has been at the end of its reach with its figure off; else 1.
    #[serde(skip, default = "unraised")]
    pub raised: f64,
}

impl Objective {
    /// Weight of the squared dose, 1/Gy2.
    pub(super) fn weight_per_gy2(&self, reference_gy: f64) -> f64 {
        let unit_gy = self.wish_range_gy.unwrap_or(reference_gy);
        self.raised * self.weight / (unit_gy * unit_gy)
    }

    /// Whether it lowers doses beyond the limits of goals.
    pub fn is_wish(&self) -> bool {
        self.wish_range_gy.is_some()
    }
}

fn unraised() -> f64 {
    1.0
}

/// DVH point or mean dose that a goal limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// Volume in percent at a dose.
    Point {
        percent: f64,
        gy: f64,
    },
    Mean {
        gy: f64,
    },
}

impl Asked {
    pub(super) fn gy(self) -> f64 {
        let (Self::Point { gy, .. } | Self::Mean { gy }) = self;
        gy
    }

    /// Whether both limit the same point or mean, at any dose.
    pub(super) fn is_alike(self, other: Self) -> bool {
        match (self, other) {
            (Self::Point { percent: a, .. }, Self::Point { percent: b, .. }) => a == b,
            (Self::Mean { .. }, Self::Mean { .. }) => true,
            _ => false,
        }
    }
}

/// Widest tail of an objective, percent of the volume: above it the mean of the hottest part says little about its coldest point.
const WIDEST_TAIL_PERCENT: f64 = 99.0;

/// Factor of the weight of a goal whose kept value may not get worse: a hundred times the weight of a raised goal.
const KEPT_TIMES: f64 = 800.0;

/// Factor of the weight of a maximum: a single voxel needs more weight than a volume.
const MAXIMUM_TIMES: f64 = 4.0;

/// Largest tail that counts as the maximum, percent of the volume: D2% is ICRU's near-maximum (report 83).
pub(super) const NEAR_MAXIMUM_PERCENT: f64 = 2.0;

/// Objectives of a goal, at its kept value if it has one. `whole_cm3` is the structure's volume, `hundred_gy` the prescription.
///
/// # Errors
/// Why the goal is judged and not optimised, in words.
pub fn of_goal(
    goal: &Goal,
    whole_cm3: f64,
    hundred_gy: Option<f64>,
    is_target: bool,
) -> Result<Vec<Objective>, String> {
    let metric = goal.metric();
    let number = metric.number().unwrap_or_default();
    let limit = goal.kept().unwrap_or(goal.limit());
    if !limit.is_finite() {
        return Err("its limit is no number".to_owned());
    }
    let is_limit_in_cm3 =
        metric.units().contains(&MetricUnit::Cm3) && goal.unit() == MetricUnit::Cm3;
    let limit_percent = if is_limit_in_cm3 {
        100.0 * limit / whole_cm3
    } else {
        limit
    };
    match (metric.figure(), goal.bound) {
        (Figure::Greatest, Bound::AtMost) => Ok(vec![objective(
            goal,
            Aim::Over,
            limit_gy(goal, limit, hundred_gy)?,
            None,
        )]),
        (Figure::Least, Bound::AtLeast) => Ok(vec![objective(
            goal,
            Aim::Under,
            limit_gy(goal, limit, hundred_gy)?,
            None,
        )]),
        (Figure::Mean, Bound::AtMost) => {
            let gy = limit_gy(goal, limit, hundred_gy)?;
            Ok(vec![objective(
                goal,
                Aim::MeanOver,
                gy,
                Some(Asked::Mean { gy }),
            )])
        }
        (Figure::Mean, Bound::AtLeast) => Ok(vec![objective(
            goal,
            Aim::Under,
            limit_gy(goal, limit, hundred_gy)?,
            None,
        )]),
        (Figure::EquivalentUniformDose, Bound::AtMost) if number >= 1.0 => Ok(vec![objective(
            goal,
            Aim::Geud { a: number },
            limit_gy(goal, limit, hundred_gy)?,
            None,
        )]),
        (Figure::DoseAtPercent, _) => {
            of_point(goal, number, limit_gy(goal, limit, hundred_gy)?, is_target)
        }
        (Figure::DoseAtCm3, _) => of_point(
            goal,
            100.0 * number / whole_cm3,
            limit_gy(goal, limit, hundred_gy)?,
            is_target,
        ),
        (Figure::VolumeAtGy, _) => of_point(goal, limit_percent, number, is_target),
        (Figure::VolumeAtPercent, _) => of_point(
            goal,
            limit_percent,
            percent_gy(number, hundred_gy)?,
            is_target,
        ),
        _ => Err(not_optimised(metric, goal.bound)),
    }
}

/// An objective of a goal's structure with the goal's weight.
fn objective(goal: &Goal, aim: Aim, gy: f64, figure: Option<Asked>) -> Objective {
    let weight = goal.weight()
        * if goal.kept().is_some() {
            KEPT_TIMES
        } else {
            1.0
        };
    Objective {
        structure: goal.structure.clone(),
        aim,
        gy,
        weight: if is_of_maximum(aim) {
            MAXIMUM_TIMES * weight
        } else {
            weight
        },
        asked: figure,
        wish_range_gy: None,
        raised: 1.0,
    }
}

/// Objectives of a DVH point: `percent` of the volume at a dose.
fn of_point(goal: &Goal, percent: f64, gy: f64, is_target: bool) -> Result<Vec<Objective>, String> {
    if !(percent > 0.0 && percent < 100.0) {
        return Err("the structure is smaller than the volume it names".to_owned());
    }
    let point = Some(Asked::Point { percent, gy });
    match goal.bound {
        Bound::AtMost => {
            let volume = percent.min(WIDEST_TAIL_PERCENT);
            Ok(vec![objective(goal, Aim::TailMax { volume }, gy, point)])
        }
        Bound::AtLeast => {
            let tail = objective(
                goal,
                Aim::TailMin {
                    volume: 100.0 - percent,
                },
                gy,
                point,
            );
            let under = is_target.then(|| objective(goal, Aim::Under, gy, None));
            Ok(under.into_iter().chain([tail]).collect())
        }
    }
}

/// The limit of a goal on a dose, Gy.
pub(super) fn limit_gy(goal: &Goal, limit: f64, hundred_gy: Option<f64>) -> Result<f64, String> {
    if goal.unit() == MetricUnit::Percent {
        percent_gy(limit, hundred_gy)
    } else {
        Ok(limit)
    }
}

/// A percentage of the prescription, Gy.
fn percent_gy(percent: f64, hundred_gy: Option<f64>) -> Result<f64, String> {
    hundred_gy
        .map(|hundred| 0.01 * percent * hundred)
        .ok_or_else(no_prescription)
}

/// Whether an aim limits the maximum or near-maximum dose.
fn is_of_maximum(aim: Aim) -> bool {
    matches!(aim, Aim::Over)
        || matches!(aim, Aim::TailMax { volume } if volume <= NEAR_MAXIMUM_PERCENT)
}

fn no_prescription() -> String {
    "it is in percent of the prescription, and the plan has none".to_owned()
}

fn not_optimised(metric: Metric, bound: Bound) -> String {
    let side = match bound {
        Bound::AtMost => "an upper",
        Bound::AtLeast => "a lower",
    };
    format!(
        "{metric} with {side} limit is judged, not optimised: no convex objective stands for it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(x: f64, y: f64) -> bool {
        (x - y).abs() < 1e-9
    }

    #[test]
    fn goals_become_objectives() {
        use Aim::{Geud, MeanOver, Over, TailMax, TailMin, Under};
        for (words, target, want) in [
            ("Cord: Dmax <= 45 Gy", false, vec![(Over, 45.0, 4.0)]),
            (
                "Core: D10% <= 25 Gy (priority 2)",
                false,
                vec![(TailMax { volume: 10.0 }, 25.0, 0.25)],
            ),
            (
                "Core: D10cc <= 25 Gy",
                false,
                vec![(TailMax { volume: 25.0 }, 25.0, 1.0)],
            ),
            (
                "Cord: D2% <= 45 Gy",
                false,
                vec![(TailMax { volume: 2.0 }, 45.0, 4.0)],
            ),
            (
                "Lung: V20Gy <= 30 %",
                false,
                vec![(TailMax { volume: 30.0 }, 20.0, 1.0)],
            ),
            (
                "Lung: V20Gy[cc] <= 8 cc",
                false,
                vec![(TailMax { volume: 20.0 }, 20.0, 1.0)],
            ),
            ("Lung: Dmean <= 30 %", false, vec![(MeanOver, 15.0, 1.0)]),
            (
                "PTV: D95% >= 50 Gy",
                true,
                vec![(Under, 50.0, 1.0), (TailMin { volume: 5.0 }, 50.0, 1.0)],
            ),
            (
                "PTV: V95% >= 98 %",
                true,
                vec![(Under, 47.5, 1.0), (TailMin { volume: 2.0 }, 47.5, 1.0)],
            ),
            (
                "PTV: Dmin >= 95 % (priority 3)",
                true,
                vec![(Under, 47.5, 0.0625)],
            ),
            (
                "Rectum: gEUD8 <= 40 Gy",
                false,
                vec![(Geud { a: 8.0 }, 40.0, 1.0)],
            ),
            (
                "Lung: Dmean <= 20 Gy (priority 2, weight 5)",
                false,
                vec![(MeanOver, 20.0, 5.0)],
            ),
            (
                "Cord: Dmax <= 45 Gy (kept 41 Gy)",
                false,
                vec![(Over, 41.0, 3200.0)],
            ),
            (
                "Core: D10% <= 25 Gy (weight 0.5, kept 20 Gy)",
                false,
                vec![(TailMax { volume: 10.0 }, 20.0, 400.0)],
            ),
        ] {
            let goal: Goal = words.parse().unwrap_or_else(|e| panic!("{words}: {e}"));
            let got =
                of_goal(&goal, 40.0, Some(50.0), target).unwrap_or_else(|e| panic!("{words}: {e}"));
            let got: Vec<_> = got.into_iter().map(|o| (o.aim, o.gy, o.weight)).collect();
            assert_eq!(got.len(), want.len(), "{words}");
            for (a, b) in got.iter().zip(&want) {
                let aims = match (a.0, b.0) {
                    (TailMin { volume: x }, TailMin { volume: y }) => near(x, y),
                    (x, y) => x == y,
                };
                assert!(
                    aims && near(a.1, b.1) && near(a.2, b.2),
                    "{words}: {a:?} for {b:?}"
                );
            }
        }
    }

    #[test]
    fn goals_that_are_only_judged_say_so() {
        for (words, hundred, word) in [
            ("PTV: CI >= 0.8", Some(50.0), "CI"),
            ("PTV: HI <= 0.1", Some(50.0), "HI"),
            ("PTV: Dmin >= 95 %", None, "prescription"),
            ("Lens: D50cc <= 5 Gy", Some(50.0), "smaller"),
        ] {
            let goal: Goal = words.parse().unwrap_or_else(|e| panic!("{words}: {e}"));
            let said = of_goal(&goal, 40.0, hundred, true).expect_err(words);
            assert!(said.contains(word), "{words}: {said}");
        }
    }
}
