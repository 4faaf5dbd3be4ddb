//! Goals held against the DVHs of a dose: the scorecard.

use super::Dvh;
use super::dvh::WithoutDose;
use super::metric::NoValue;
use case::{Dose, DosePart, DoseStatus, Goal, Structure, StructureSet};
use thiserror::Error;

/// Whether a value meets its goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Beyond the limit by no more than the tolerance.
    Near,
    Fail,
    /// Reason: the part of the structure or of the final dose that the value lacks could change the verdict.
    Undecided(String),
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Near => "near",
            Self::Fail => "fail",
            Self::Undecided(_) => "undecided",
        }
    }
}

/// Why no verdict on a dose is final, by its status on show; `None` where it is.
pub fn undecided_by(dose: &Dose, status: DoseStatus) -> Option<String> {
    let by_status = unsettled(status).map(str::to_owned);
    let by_part = dose.part.map(DosePart::why_undecided);
    // What a file says of its dose: of another quantity, patient or anatomy. A computed one with a caveat is partial, or coarse.
    let is_of_file = status == DoseStatus::Imported && !dose.caveats.is_empty();
    by_status
        .or(by_part)
        .or_else(|| is_of_file.then(|| format!("the dose is {}", dose.status_text())))
}

/// Why no verdict on a dose of this status is final; `None` where it is. A coarse dose is a whole one, and its word stands
/// beside the verdicts.
pub fn unsettled(status: DoseStatus) -> Option<&'static str> {
    match status {
        DoseStatus::Final | DoseStatus::Imported | DoseStatus::Coarse => None,
        DoseStatus::Partial => Some("the dose is partial"),
        DoseStatus::Preview => Some("the dose is a preview"),
        DoseStatus::Stale => Some("the dose is of an earlier state"),
        DoseStatus::Failed => Some("the dose failed"),
    }
}

/// A value that differs from its limit by less, as a share of the limit, is at the limit: a plan that is normalised to a
/// goal meets it. DVHs are no finer.
const AT_LIMIT: f64 = 1e-4;

/// A value held against its goal, in the unit of the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub value: f64,
    pub verdict: Verdict,
    /// Distance to the limit; below 0 beyond it.
    pub margin: f64,
}

impl Outcome {
    /// Words beside the verdict: the distance to the limit, or why it is undecided.
    pub fn told(&self, goal: &Goal) -> String {
        match &self.verdict {
            Verdict::Undecided(why) => why.clone(),
            _ => self.distance_text(goal),
        }
    }

    /// The distance in words, like `1.50 Gy below` for a goal "at most".
    pub fn distance_text(&self, goal: &Goal) -> String {
        let (size, side) = (
            self.margin.abs(),
            if self.value > goal.limit() {
                "above"
            } else {
                "below"
            },
        );
        let size = if size > 0.0 && size < 0.005 {
            "< 0.01".to_owned()
        } else {
            format!("{size:.2}")
        };
        let unit = goal.unit().symbol();
        let gap = if unit.is_empty() { "" } else { " " };
        if self.margin == 0.0 {
            "at the limit".to_owned()
        } else {
            format!("{size}{gap}{unit} {side}")
        }
    }
}

/// Why a goal has no value: it is then undecided.
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
    /// Reservations about the DVH: a part outside the dose grid or the CT.
    pub remarks: Vec<String>,
}

impl GoalRow {
    pub fn is_met(&self) -> bool {
        self.answer
            .as_ref()
            .is_ok_and(|outcome| outcome.verdict == Verdict::Pass)
    }

    /// Whether it is neither met nor missed.
    pub fn is_undecided(&self) -> bool {
        !self
            .answer
            .as_ref()
            .is_ok_and(|outcome| !matches!(outcome.verdict, Verdict::Undecided(_)))
    }

    /// The verdict in words with what stands beside it, where values are told apart: `pass, 1.50 Gy below`.
    pub fn verdict_text(&self) -> String {
        match &self.answer {
            Ok(outcome) => format!("{}, {}", outcome.verdict.word(), outcome.told(&self.goal)),
            Err(why) => format!("undecided, {}", why.short()),
        }
    }
}

/// The goals by priority, each with its answer; `dvh` finds the DVH of a structure, `hundred_gy` is the 100 % dose,
/// `unsettled` why the dose decides nothing ([`undecided_by`]).
pub fn scorecard<'a>(
    goals: &[Goal],
    set: &StructureSet,
    hundred_gy: Option<f64>,
    unsettled: Option<&str>,
    dvh: impl Fn(&Structure) -> Result<&'a Dvh, Unanswered>,
) -> Vec<GoalRow> {
    let mut rows: Vec<GoalRow> = goals
        .iter()
        .enumerate()
        .map(|(index, goal)| {
            let structure = structure_of_goal(goal, set);
            let doubt = structure
                .as_ref()
                .ok()
                .and_then(|structure| set.doubt(structure));
            let dvh = structure.and_then(&dvh);
            let mut remarks = dvh.as_ref().map(|dvh| dvh.remarks()).unwrap_or_default();
            // Beside another reason it is no reason yet.
            remarks.extend(doubt.clone().filter(|_| unsettled.is_some()));
            let undecided = unsettled.or(doubt.as_deref());
            let answer = dvh.and_then(|dvh| Ok(check(goal, dvh, hundred_gy, undecided)?));
            GoalRow {
                index,
                goal: goal.clone(),
                answer,
                remarks,
            }
        })
        .collect();
    rows.sort_by_key(|row| row.goal.priority());
    rows
}

/// The structure that a goal is of, if it has contours.
fn structure_of_goal<'a>(goal: &Goal, set: &'a StructureSet) -> Result<&'a Structure, Unanswered> {
    let structure = set
        .referenced(goal.number, &goal.structure)
        .map_err(|_| Unanswered::NoStructure(goal.structure.clone()))?;
    if structure.contours.is_empty() {
        return Err(Unanswered::NoContours(structure.name.clone()));
    }
    Ok(structure)
}

/// "5 of 7 met", and how many are undecided.
pub fn met_text(rows: &[GoalRow]) -> String {
    let met = format!(
        "{} of {} met",
        rows.iter().filter(|row| row.is_met()).count(),
        rows.len()
    );
    match rows.iter().filter(|row| row.is_undecided()).count() {
        0 => met,
        undecided => format!("{met}, {undecided} undecided"),
    }
}

/// The value of a DVH held against the goal; `hundred_gy` is the 100 % dose, `unsettled` why the dose decides nothing.
/// The verdict on a structure that has no dose in a part is the one that any dose there would give, else there is none.
///
/// # Errors
/// [`NoValue`].
pub fn check(
    goal: &Goal,
    dvh: &Dvh,
    hundred_gy: Option<f64>,
    unsettled: Option<&str>,
) -> Result<Outcome, NoValue> {
    let metric = goal.metric_in_unit();
    let value = dvh.metric(metric, hundred_gy)?;
    if !value.is_finite() {
        return Err(NoValue::Undefined("the value is not a number"));
    }
    let [low, high] = dvh
        .metric_bounds(metric, hundred_gy)?
        .map(|bound| verdict(goal, bound));
    let verdict = match unsettled {
        Some(why) => Verdict::Undecided(why.to_owned()),
        None if low == high => low,
        None => Verdict::Undecided(what_is_missing(goal, dvh)),
    };
    Ok(Outcome {
        value,
        verdict,
        margin: margin(goal, value),
    })
}

/// The distance to the limit, 0 at it.
fn margin(goal: &Goal, value: f64) -> f64 {
    let margin = goal.bound.margin(value, goal.limit());
    if margin.abs() <= AT_LIMIT * goal.limit().abs() {
        0.0
    } else {
        margin
    }
}

fn verdict(goal: &Goal, value: f64) -> Verdict {
    match margin(goal, value) {
        m if m >= 0.0 => Verdict::Pass,
        m if m >= -goal.tolerance() => Verdict::Near,
        _ => Verdict::Fail,
    }
}

/// The part of the structure without a dose, in words.
fn what_is_missing(goal: &Goal, dvh: &Dvh) -> String {
    let (percent, why) = dvh.without_dose();
    let share = match percent {
        p if p >= 9.5 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        _ => "less than 0.1 %".to_owned(),
    };
    let name = &goal.structure;
    match why {
        WithoutDose::OutsideDoseGrid => format!("{share} of {name} lies outside the dose grid"),
        WithoutDose::OutsideCt => format!("{share} of {name} lies outside the CT"),
        WithoutDose::NotANumber => format!("the dose is not a number in {share} of {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::tests::{half_of_a_ramp, ramp, ramp_beyond_the_ct};
    use super::*;
    use case::StructureKind;

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
            assert_eq!(
                check(&goal, &dvh, Some(8.0), None).unwrap().verdict,
                verdict,
                "{words}"
            );
        }
        let goal: Goal = "S: Dmean >= 50 %".parse().unwrap();
        assert_eq!(check(&goal, &dvh, None, None), Err(NoValue::NoHundred));
        // The mean is 5 Gy, 62.5 % of 8 Gy.
        let outcome = check(&goal, &dvh, Some(8.0), None).unwrap();
        assert!((outcome.value - 62.5).abs() < 0.1 && (outcome.margin - 12.5).abs() < 0.1);
        assert_eq!(outcome.distance_text(&goal), "12.50 % above");
        let mean_gy = dvh.mean_gy();
        for (limit_gy, verdict) in [(1.00005 * mean_gy, Pass), (1.0005 * mean_gy, Fail)] {
            let goal: Goal = format!("S: Dmean >= {limit_gy} Gy").parse().unwrap();
            assert_eq!(
                check(&goal, &dvh, None, None).unwrap().verdict,
                verdict,
                "{limit_gy}"
            );
        }
        let cord: Goal = "S: Dmean <= 7 Gy".parse().unwrap();
        assert_eq!(
            check(&cord, &dvh, None, None).unwrap().distance_text(&cord),
            "2.00 Gy below"
        );
    }

    #[test]
    fn what_has_no_structure_contours_or_dose_is_never_met_and_priorities_order() {
        let dvh = ramp();
        let structure = |number: u32, drawn: bool| Structure {
            contours: if drawn {
                vec![case::Contour {
                    points_mm: vec![glam::DVec3::ZERO; 3],
                    image_uid: None,
                }]
                .into()
            } else {
                case::Contours::default()
            },
            ..Structure::new(format!("S{number}"), number, StructureKind::Other)
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
        let rows = scorecard(&goals, &set, None, None, |s| match s.number {
            1 => Ok(&dvh),
            _ => Err(Unanswered::NoDose(
                "the structure lies wholly outside the dose grid".to_owned(),
            )),
        });
        let told: Vec<(usize, &str)> = rows
            .iter()
            .map(|row| {
                (
                    row.index,
                    row.answer
                        .as_ref()
                        .map_or_else(Unanswered::short, |o| o.verdict.word()),
                )
            })
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
        assert_eq!(met_text(&rows), "1 of 6 met, 5 undecided");
    }

    #[test]
    fn a_structure_that_was_not_read_whole_or_shares_its_name_decides_nothing() {
        let dvh = ramp();
        let contours = case::Contour {
            points_mm: vec![glam::DVec3::ZERO; 3],
            image_uid: None,
        };
        let structure = |name: &str, number: u32| Structure {
            contours: vec![contours.clone()].into(),
            ..Structure::new(name, number, StructureKind::Other)
        };
        let mut cord = structure("Cord", 3);
        cord.remarks =
            vec![case::Remark::warning("open lines", Vec::new()).forbidding("5 contours left out")];
        let structures = vec![
            structure("PTV", 1),
            structure("ptv ", 2),
            cord,
            structure("Lung", 4),
        ];
        let mut set = StructureSet {
            structures,
            ..StructureSet::default()
        };
        set.tell_apart();
        let told = |set: &StructureSet| -> Vec<String> {
            let goals = [
                "PTV: Dmax <= 100 Gy",
                "Cord: Dmax <= 100 Gy",
                "Lung: Dmax <= 100 Gy",
            ];
            let goals: Vec<Goal> = goals.iter().map(|words| words.parse().unwrap()).collect();
            let rows = scorecard(&goals, set, None, None, |_| Ok(&dvh));
            rows.iter().map(GoalRow::verdict_text).collect()
        };
        let verdicts = told(&set);
        let [ptv, cord, lung] = &verdicts[..] else {
            panic!("{verdicts:?}")
        };
        assert!(
            ptv.starts_with("undecided, two structures are called 'PTV'"),
            "{ptv}"
        );
        assert!(cord.starts_with("undecided, 5 contours left out"), "{cord}");
        assert!(lung.starts_with("pass"), "{lung}");
        // Named anew, the second is another.
        (set.structures[1].name, set.structures[1].shared_name) = ("Boost".to_owned(), None);
        assert!(told(&set)[0].starts_with("pass"));
    }

    /// 10 of 20 cm of a bar lie outside the dose grid, where the dose is 0 to 10 Gy along it: any dose outside decides
    /// nothing, or both nothing and the greatest do.
    #[test]
    fn what_lies_outside_the_dose_grid_decides_or_leaves_undecided() {
        let dvh = half_of_a_ramp();
        assert!((dvh.outside_percent() - 50.0).abs() < 0.1);
        for (words, word) in [
            // Exceeded inside, whatever lies outside.
            ("S: Dmax <= 9 Gy", "fail"),
            ("S: Dmax <= 11 Gy", "undecided"),
            ("S: Dmax >= 9 Gy", "pass"),
            ("S: Dmin >= 1 Gy", "fail"),
            ("S: Dmin <= 1 Gy", "pass"),
            ("S: Dmin >= 0.01 Gy", "undecided"),
            // Of the whole the mean is 2.5 Gy or more.
            ("S: Dmean <= 2.4 Gy", "fail"),
            ("S: Dmean <= 2.6 Gy", "undecided"),
            ("S: Dmean >= 2.4 Gy", "pass"),
            // The hottest 20 % of the whole are 40 % of what is known, or all unknown: 6 Gy and more.
            ("S: D20% <= 5.8 Gy", "fail"),
            ("S: D20% <= 6.2 Gy", "undecided"),
            // 80 % of the whole: 0 Gy, or the hottest 60 % of what is known, 4 Gy.
            ("S: D80% <= 4.2 Gy", "pass"),
            ("S: D80% >= 4.2 Gy", "fail"),
            ("S: D80% >= 3.8 Gy", "undecided"),
            ("S: D80% >= 3.8 Gy (tolerance 4 Gy)", "undecided"),
            ("S: D80% >= 4.2 Gy (tolerance 5 Gy)", "near"),
            // More than 5 Gy: 25 to 75 %, 20 to 60 cm3.
            ("S: V5Gy <= 76 %", "pass"),
            ("S: V5Gy >= 76 %", "fail"),
            ("S: V5Gy <= 50 %", "undecided"),
            ("S: V5Gy >= 19 cc", "pass"),
            ("S: V50% >= 24 %", "pass"),
            ("S: CI >= 0.9", "undecided"),
            ("S: HI <= 3", "undecided"),
            ("S: gEUD(a=1) <= 2.4 Gy", "fail"),
            ("S: gEUD(a=1) >= 2.4 Gy", "pass"),
            ("S: gEUD(a=1) <= 5 Gy", "undecided"),
            // 2.5 of 8 Gy are 31 %.
            ("S: gEUD(a=1) >= 32 %", "undecided"),
            ("S: gEUD(a=1) >= 31 %", "pass"),
        ] {
            let goal: Goal = words.parse().unwrap();
            assert_eq!(
                check(&goal, &dvh, Some(8.0), None).unwrap().verdict.word(),
                word,
                "{words}"
            );
        }
        let goal: Goal = "S: Dmean <= 6 Gy".parse().unwrap();
        let told = |goal: &Goal, why| check(goal, &dvh, None, why).unwrap().told(goal);
        assert_eq!(told(&goal, None), "50 % of S lies outside the dose grid");
        let sure: Goal = "S: Dmax <= 9 Gy".parse().unwrap();
        assert_eq!(
            told(&sure, unsettled(DoseStatus::Preview)),
            "the dose is a preview"
        );
        assert_eq!(
            told(&sure, unsettled(DoseStatus::Coarse)),
            told(&sure, None)
        );
    }

    /// Whether the CT or the dose grid ends at the middle of the bar, as much of it has no dose.
    #[test]
    fn what_lies_outside_the_ct_leaves_the_verdicts_of_what_lies_outside_the_dose_grid() {
        let (cut, complete) = (ramp_beyond_the_ct(), half_of_a_ramp());
        assert!((cut.volume_cm3() - 44.0).abs() < 1e-9 && (cut.whole_cm3() - 80.0).abs() < 1e-9);
        assert!((cut.without_dose_cm3() - complete.without_dose_cm3()).abs() < 0.1);
        for (words, word) in [
            ("S: Dmax <= 9 Gy", "fail"),
            ("S: Dmax <= 11 Gy", "undecided"),
            ("S: Dmean >= 2.4 Gy", "pass"),
            ("S: Dmean <= 2.6 Gy", "undecided"),
            ("S: D80% <= 4.2 Gy", "pass"),
            ("S: D80% >= 3.8 Gy", "undecided"),
            ("S: V5Gy >= 19 cc", "pass"),
            ("S: V5Gy >= 76 %", "fail"),
            ("S: CI >= 0.9", "undecided"),
        ] {
            let goal: Goal = words.parse().unwrap();
            let verdict_of = |dvh| check(&goal, dvh, Some(8.0), None).unwrap().verdict;
            assert_eq!(
                (verdict_of(&cut).word(), verdict_of(&complete).word()),
                (word, word),
                "{words}"
            );
        }
        let goal: Goal = "S: Dmean <= 6 Gy".parse().unwrap();
        assert_eq!(
            check(&goal, &cut, None, None).unwrap().told(&goal),
            "45 % of S lies outside the CT"
        );
        let said = cut.remarks();
        assert!(
            said.iter()
                .any(|r| r
                    == "45.0 % of the contours' volume lie outside the CT and are not counted"),
            "{said:?}"
        );
    }
}
