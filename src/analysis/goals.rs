//! Goals held against the DVHs of a dose: the scorecard.

use super::Dvh;
use super::metric::NoValue;
use crate::case::{Goal, Structure, StructureSet};
use thiserror::Error;

/// Whether a value meets its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Beyond the limit by no more than the tolerance.
    Near,
    Fail,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Near => "near",
            Self::Fail => "fail",
        }
    }
}

/// A value that differs from its limit by less, as a share of the limit, is at the limit: a plan that is normalised to a
/// goal meets it. DVHs are no finer.
const AT_LIMIT: f64 = 1e-4;

/// A value held against its goal, in the unit of the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub value: f64,
    pub verdict: Verdict,
    /// Distance to the limit; below 0 beyond it.
    pub margin: f64,
}

impl Outcome {
    /// The distance in words, like `1.50 Gy below` for a goal "at most".
    pub fn distance_text(&self, goal: &Goal) -> String {
        let (size, side) = (self.margin.abs(), if self.value > goal.limit() { "above" } else { "below" });
        let size = if size > 0.0 && size < 0.005 { "< 0.01".to_owned() } else { format!("{size:.2}") };
        let unit = goal.unit().symbol();
        let gap = if unit.is_empty() { "" } else { " " };
        if self.margin == 0.0 { "at the limit".to_owned() } else { format!("{size}{gap}{unit} {side}") }
    }
}

/// Why a goal has no verdict: it is then not met.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Unanswered {
    #[error("the case has no structure '{0}'")]
    NoStructure(String),
    #[error("{0} has no contours")]
    NoContours(String),
    #[error("{0}")]
    NoDose(String),
    #[error("the DVH is being computed")]
    Waiting,
    #[error(transparent)]
    NoValue(#[from] NoValue),
}

impl Unanswered {
    /// In two words.
    pub fn short(&self) -> &'static str {
        match self {
            Self::NoStructure(_) => "no structure",
            Self::NoContours(_) => "no contours",
            Self::NoDose(_) => "no dose",
            Self::Waiting => "computing",
            Self::NoValue(_) => "no value",
        }
    }
}

/// A goal with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalRow {
    /// Its place in the list of goals.
    pub index: usize,
    pub goal: Goal,
    pub answer: Result<Outcome, Unanswered>,
    /// Reservations about the DVH: a part outside the dose grid.
    pub remarks: Vec<String>,
}

impl GoalRow {
    pub fn is_met(&self) -> bool {
        self.answer.as_ref().is_ok_and(|outcome| outcome.verdict == Verdict::Pass)
    }
}

/// The goals by priority, each with its answer; `dvh` finds the DVH of a structure, `hundred_gy` is the 100 % dose.
pub fn scorecard<'a>(
    goals: &[Goal],
    set: &StructureSet,
    hundred_gy: Option<f64>,
    dvh: impl Fn(&Structure) -> Result<&'a Dvh, Unanswered>,
) -> Vec<GoalRow> {
    let row = |(index, goal): (usize, &Goal)| {
        let found = || {
            let structure = set
                .referenced(goal.number, &goal.structure)
                .map_err(|_| Unanswered::NoStructure(goal.structure.clone()))?;
            if structure.contours.is_empty() {
                return Err(Unanswered::NoContours(structure.name.clone()));
            }
            dvh(structure)
        };
        let dvh = found();
        let remarks = dvh.as_ref().map(|dvh| dvh.remarks()).unwrap_or_default();
        let answer = dvh.and_then(|dvh| Ok(goal.check(dvh, hundred_gy)?));
        GoalRow { index, goal: goal.clone(), answer, remarks }
    };
    let mut rows: Vec<GoalRow> = goals.iter().enumerate().map(row).collect();
    rows.sort_by_key(|row| row.goal.priority());
    rows
}

/// "5 of 7 met".
pub fn met_text(rows: &[GoalRow]) -> String {
    format!("{} of {} met", rows.iter().filter(|row| row.is_met()).count(), rows.len())
}

impl Goal {
    /// The value of a DVH held against the goal; `hundred_gy` is the 100 % dose.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn check(&self, dvh: &Dvh, hundred_gy: Option<f64>) -> Result<Outcome, NoValue> {
        let value = self.metric_in_unit().value(dvh, hundred_gy)?;
        if !value.is_finite() {
            return Err(NoValue::Undefined("the value is not a number"));
        }
        let margin = self.bound.margin(value, self.limit());
        let margin = if margin.abs() <= AT_LIMIT * self.limit().abs() { 0.0 } else { margin };
        let verdict = match margin {
            m if m >= 0.0 => Verdict::Pass,
            m if m >= -self.tolerance() => Verdict::Near,
            _ => Verdict::Fail,
        };
        Ok(Outcome { value, verdict, margin })
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::tests::ramp;
    use super::*;
    use crate::case::{Rgb, StructureKind};

    #[test]
    fn goals_are_met_or_not_on_the_right_side_of_their_limit() {
        use Verdict::{Fail, Near, Pass};
        let dvh = ramp();
        for (words, verdict) in [
            ("S: D95% >= 0.3 Gy", Pass),
            ("S: D95% >= 0.7 Gy", Fail),
            ("S: D95% >= 0.7 Gy (tolerance 0.4 Gy)", Near),
            ("S: Dmax <= 10 Gy", Pass),
            ("S: Dmax <= 9 Gy", Fail),
            // The greatest dose is 9.9 to 10 Gy.
            ("S: Dmax <= 9 Gy (tolerance 0.8 Gy)", Fail),
            ("S: Dmax <= 9 Gy (tolerance 1.1 Gy)", Near),
            ("S: V3Gy <= 75 %", Pass),
            ("S: V3Gy >= 75 %", Fail),
            ("S: V3Gy >= 75 % (tolerance 10 %)", Near),
            // 70 % of 40 cm3.
            ("S: V3Gy <= 29 cc", Pass),
            ("S: V3Gy[cc] < 27 cm3", Fail),
            ("S: HI <= 2", Pass),
            ("S: CI >= 0.3", Fail),
            // 50 % of 8 Gy are 4 Gy.
            ("S: Dmean >= 50 %", Pass),
            ("S: Dmean ≤ 50%", Fail),
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(goal.check(&dvh, Some(8.0)).unwrap().verdict, verdict, "{words}");
        }
        let goal: Goal = "S: Dmean >= 50 %".parse().unwrap();
        assert_eq!(goal.check(&dvh, None), Err(NoValue::NoHundred));
        // The mean is 5 Gy, 62.5 % of 8 Gy.
        let outcome = goal.check(&dvh, Some(8.0)).unwrap();
        assert!((outcome.value - 62.5).abs() < 0.1 && (outcome.margin - 12.5).abs() < 0.1);
        assert_eq!(outcome.distance_text(&goal), "12.50 % above");
        let mean_gy = dvh.mean_gy();
        for (limit_gy, verdict) in [(1.00005 * mean_gy, Pass), (1.0005 * mean_gy, Fail)] {
            let goal: Goal = format!("S: Dmean >= {limit_gy} Gy").parse().unwrap();
            assert_eq!(goal.check(&dvh, None).unwrap().verdict, verdict, "{limit_gy}");
        }
        let cord: Goal = "S: Dmean <= 7 Gy".parse().unwrap();
        assert_eq!(cord.check(&dvh, None).unwrap().distance_text(&cord), "2.00 Gy below");
    }

    #[test]
    fn what_has_no_structure_contours_or_dose_is_never_met_and_priorities_order() {
        let dvh = ramp();
        let structure = |number: u32, drawn: bool| Structure {
            name: format!("S{number}"),
            number,
            kind: StructureKind::Other,
            colour: Rgb([0; 3]),
            contours: if drawn {
                vec![crate::case::Contour { points_mm: vec![glam::DVec3::ZERO; 3], image_uid: None }].into()
            } else {
                crate::case::Contours::default()
            },
            points_mm: Vec::new(),
            density: None,
        };
        let set = StructureSet {
            structures: vec![structure(1, true), structure(2, false), structure(3, true)],
            ..StructureSet::default()
        };
        let goals: Vec<Goal> = [
            "Gone: Dmax <= 100 Gy (priority 2)",
            "S2: Dmax <= 100 Gy",
            "S3: Dmax <= 100 Gy",
            "S1: D50cc <= 100 Gy",
            "S1: Dmax <= 100 Gy (priority 3)",
            "S1: V95% >= 0 %",
        ]
        .iter()
        .map(|words| words.parse().unwrap())
        .collect();
        let rows = scorecard(&goals, &set, None, |s| match s.number {
            1 => Ok(&dvh),
            _ => Err(Unanswered::NoDose("the structure lies wholly outside the dose grid".to_owned())),
        });
        let told: Vec<(usize, &str)> = rows
            .iter()
            .map(|row| (row.index, row.answer.as_ref().map_or_else(Unanswered::short, |o| o.verdict.word())))
            .collect();
        assert_eq!(
            told,
            [
                (1, "no contours"),
                (2, "no dose"),
                (3, "no value"),
                (5, "no value"),
                (0, "no structure"),
                (4, "pass")
            ]
        );
        assert_eq!(met_text(&rows), "1 of 6 met");
    }
}
