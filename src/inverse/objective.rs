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
    /// A plain number near 1; the square of the reference dose divides it before it weighs.
    pub weight: f64,
    /// Figure of the DVH that is asked for: D moves until it is met.
    #[serde(skip)]
    pub asked: Option<Asked>,
}

/// Figure of a structure's DVH that a goal asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// So many percent of the volume at this dose.
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

    /// Whether both ask for the same figure, whatever its dose.
    pub(super) fn is_alike(self, other: Self) -> bool {
        match (self, other) {
            (Self::Point { percent: a, .. }, Self::Point { percent: b, .. }) => a == b,
            (Self::Mean { .. }, Self::Mean { .. }) => true,
            _ => false,
        }
    }
}

/// Percent of the volume above which the mean of the hottest part says little of its coldest point.
const WIDEST_TAIL_PERCENT: f64 = 99.0;

/// A value that may not get worse weighs so many times as much.
const KEPT_TIMES: f64 = 100.0;

/// The greatest dose is of one voxel: it wants more weight than a volume to be kept.
const MAXIMUM_TIMES: f64 = 4.0;

/// A tail of no more than this counts as the maximum, percent of the volume: D2% is ICRU's near-maximum (report 83).
const NEAR_MAXIMUM_PERCENT: f64 = 2.0;

/// Objectives that stand for a goal; one that is kept stands at its kept value. `whole_cm3` is the structure's volume, `hundred_gy` the prescription.
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
    let percent_of = |gy: f64| hundred_gy.map(|hundred| 0.01 * gy * hundred).ok_or_else(no_prescription);
    let dose = || if goal.unit() == MetricUnit::Percent { percent_of(limit) } else { Ok(limit) };
    let volume = |value: f64, cm3: bool| if cm3 { 100.0 * value / whole_cm3 } else { value };
    let weight = goal.weight() * if goal.kept().is_some() { KEPT_TIMES } else { 1.0 };
    let objective = |aim: Aim, gy: f64, asked| Objective {
        structure: goal.structure.clone(),
        aim,
        gy,
        weight: if is_of_maximum(aim) { MAXIMUM_TIMES * weight } else { weight },
        asked,
    };
    // A point of the DVH: so much of the volume at this dose.
    let point = |percent: f64, gy: f64| -> Result<Vec<Objective>, String> {
        if !(percent > 0.0 && percent < 100.0) {
            return Err("the structure is smaller than the volume it names".to_owned());
        }
        match goal.bound {
            Bound::AtMost => {
                let volume = percent.min(WIDEST_TAIL_PERCENT);
                Ok(vec![objective(Aim::TailMax { volume }, gy, Some(Asked::Point { percent, gy }))])
            }
            Bound::AtLeast => {
                let tail = objective(
                    Aim::TailMin { volume: 100.0 - percent },
                    gy,
                    Some(Asked::Point { percent, gy }),
                );
                let under = is_target.then(|| objective(Aim::Under, gy, None));
                Ok(under.into_iter().chain([tail]).collect())
            }
        }
    };
    let in_cm3 = metric.units().contains(&MetricUnit::Cm3) && goal.unit() == MetricUnit::Cm3;
    match (metric.figure(), goal.bound) {
        (Figure::Greatest, Bound::AtMost) => Ok(vec![objective(Aim::Over, dose()?, None)]),
        (Figure::Least, Bound::AtLeast) => Ok(vec![objective(Aim::Under, dose()?, None)]),
        (Figure::Mean, Bound::AtMost) => {
            let gy = dose()?;
            Ok(vec![objective(Aim::MeanOver, gy, Some(Asked::Mean { gy }))])
        }
        (Figure::Mean, Bound::AtLeast) => Ok(vec![objective(Aim::Under, dose()?, None)]),
        (Figure::EquivalentUniformDose, Bound::AtMost) if number >= 1.0 => {
            Ok(vec![objective(Aim::Geud { a: number }, dose()?, None)])
        }
        (Figure::DoseAtPercent, _) => point(number, dose()?),
        (Figure::DoseAtCm3, _) => point(volume(number, true), dose()?),
        (Figure::VolumeAtGy, _) => point(volume(limit, in_cm3), number),
        (Figure::VolumeAtPercent, _) => point(volume(limit, in_cm3), percent_of(number)?),
        _ => Err(not_optimised(metric, goal.bound)),
    }
}

/// Whether an aim holds the greatest dose, or that of the hottest few voxels.
fn is_of_maximum(aim: Aim) -> bool {
    matches!(aim, Aim::Over) || matches!(aim, Aim::TailMax { volume } if volume <= NEAR_MAXIMUM_PERCENT)
}

fn no_prescription() -> String {
    "it is in percent of the prescription, and the plan has none".to_owned()
}

fn not_optimised(metric: Metric, bound: Bound) -> String {
    let side = match bound {
        Bound::AtMost => "an upper",
        Bound::AtLeast => "a lower",
    };
    format!("{metric} with {side} limit is judged, not optimised: no convex objective stands for it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_become_objectives() {
        use Aim::{Geud, MeanOver, Over, TailMax, TailMin, Under};
        for (words, target, want) in [
            ("Cord: Dmax <= 45 Gy", false, vec![(Over, 45.0, 4.0)]),
            ("Core: D10% <= 25 Gy (priority 2)", false, vec![(TailMax { volume: 10.0 }, 25.0, 0.25)]),
            ("Core: D10cc <= 25 Gy", false, vec![(TailMax { volume: 25.0 }, 25.0, 1.0)]),
            ("Cord: D2% <= 45 Gy", false, vec![(TailMax { volume: 2.0 }, 45.0, 4.0)]),
            ("Lung: V20Gy <= 30 %", false, vec![(TailMax { volume: 30.0 }, 20.0, 1.0)]),
            ("Lung: V20Gy[cc] <= 8 cc", false, vec![(TailMax { volume: 20.0 }, 20.0, 1.0)]),
            ("Lung: Dmean <= 30 %", false, vec![(MeanOver, 15.0, 1.0)]),
            ("PTV: D95% >= 50 Gy", true, vec![(Under, 50.0, 1.0), (TailMin { volume: 5.0 }, 50.0, 1.0)]),
            ("PTV: V95% >= 98 %", true, vec![(Under, 47.5, 1.0), (TailMin { volume: 2.0 }, 47.5, 1.0)]),
            ("PTV: Dmin >= 95 % (priority 3)", true, vec![(Under, 47.5, 0.0625)]),
            ("Rectum: gEUD8 <= 40 Gy", false, vec![(Geud { a: 8.0 }, 40.0, 1.0)]),
            ("Lung: Dmean <= 20 Gy (priority 2, weight 5)", false, vec![(MeanOver, 20.0, 5.0)]),
            ("Cord: Dmax <= 45 Gy (kept 41 Gy)", false, vec![(Over, 41.0, 400.0)]),
            (
                "Core: D10% <= 25 Gy (weight 0.5, kept 20 Gy)",
                false,
                vec![(TailMax { volume: 10.0 }, 20.0, 50.0)],
            ),
        ] {
            let goal: Goal = words.parse().unwrap_or_else(|e| panic!("{words}: {e}"));
            let got = of_goal(&goal, 40.0, Some(50.0), target).unwrap_or_else(|e| panic!("{words}: {e}"));
            let got: Vec<_> = got.into_iter().map(|o| (o.aim, o.gy, o.weight)).collect();
            assert_eq!(got.len(), want.len(), "{words}");
            for (a, b) in got.iter().zip(&want) {
                let near = |x: f64, y: f64| (x - y).abs() < 1e-9;
                let aims = match (a.0, b.0) {
                    (TailMin { volume: x }, TailMin { volume: y }) => near(x, y),
                    (x, y) => x == y,
                };
                assert!(aims && near(a.1, b.1) && near(a.2, b.2), "{words}: {a:?} for {b:?}");
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
