//! The verdict of a second check: figures held against tolerances.

use super::{GammaAgreement, Item, PointAgreement, Tolerances};
use serde::Serialize;

/// Where more of the planned dose lies outside the recomputed one, the two are not doses of one place, percent of the points.
const MOST_OUTSIDE_PERCENT: f64 = 5.0;

/// A planned dose whose course is this near to the recomputed one of a single fraction is that of a fraction.
const LIKE_A_FRACTION: f64 = 0.15;

/// A difference of exactly the limit is not beyond it by the rounding of its division, percent.
const ROUNDING_PERCENT: f64 = 1e-9;

/// The outcome of a second check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Within,
    Outside,
    NotJudged,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Self::Within => "within tolerance",
            Self::Outside => "NOT within tolerance",
            Self::NotJudged => "NOT JUDGED",
        }
    }

    /// The verdict that counts of several plans: one that is outside is known to be wrong.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        let rank = |verdict| match verdict {
            Self::Within => 0,
            Self::NotJudged => 1,
            Self::Outside => 2,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// How a figure stands to its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Within,
    /// Beyond the tolerance, not beyond the action level.
    Between,
    Beyond,
}

impl Level {
    pub fn words(self) -> &'static str {
        match self {
            Self::Within => "within tolerance",
            Self::Between => "beyond tolerance",
            Self::Beyond => "beyond the action level",
        }
    }
}

impl GammaAgreement {
    /// `None` without points.
    pub fn level(&self, limits: &Tolerances) -> Option<Level> {
        let rate = self.pass_rate_percent()?;
        Some(match rate {
            rate if rate >= limits.gamma_tolerance_percent => Level::Within,
            rate if rate >= limits.gamma_action_percent => Level::Between,
            _ => Level::Beyond,
        })
    }
}

impl PointAgreement {
    /// `None` without a planned dose.
    pub fn level(&self, limits: &Tolerances) -> Option<Level> {
        let difference = self.difference_percent()?.abs() - ROUNDING_PERCENT;
        Some(match difference {
            d if d <= limits.point_tolerance_percent => Level::Within,
            d if d <= limits.point_action_percent => Level::Between,
            _ => Level::Beyond,
        })
    }
}

/// The verdict with its reasons, a sentence each; none for a plan within tolerance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reasons: Vec<String>,
}

/// Judges a plan and its beams. Whatever could not be judged keeps the plan from being judged as a whole; a beam without a
/// planned dose of its own counts in the plan's alone.
pub fn judge(whole: &Item, beams: &[Item], fractions: u32, limits: &Tolerances) -> Judgement {
    let (mut open, mut outside) = (Vec::new(), Vec::new());
    // What is wrong with a beam explains why the plan is not compared.
    open.extend(beams.iter().chain([whole]).flat_map(|item| item.not_judged.iter().cloned()));
    for item in std::iter::once(whole).chain(beams) {
        look(item, fractions, limits, &mut open, &mut outside);
    }
    // The plan as a whole is always compared by gamma and at a point.
    let compared = whole.agreement.as_ref();
    if open.is_empty() && compared.is_none_or(|a| a.gamma.is_none() || a.point.is_none()) {
        open.push("The plan's dose was not compared.".to_owned());
    }
    let verdict = match (open.is_empty(), outside.is_empty()) {
        (false, _) => Verdict::NotJudged,
        (true, false) => Verdict::Outside,
        (true, true) => Verdict::Within,
    };
    open.extend(outside);
    Judgement { verdict, reasons: open }
}

fn look(item: &Item, fractions: u32, limits: &Tolerances, open: &mut Vec<String>, outside: &mut Vec<String>) {
    let Some(agreement) = &item.agreement else { return };
    let name = capital(&item.name);
    if agreement.gamma.is_none() && agreement.point.is_none() {
        open.push(format!("{name}: nothing of the two doses could be compared."));
    }
    if let Some(point) = &agreement.point {
        match (looks_like_a_fraction(point, fractions), point.level(limits), point.difference_percent()) {
            (true, ..) => open.push(format!(
                "{name}: its planned dose at {} is that of about one of {fractions} fractions ({:.3} Gy planned, {:.3} Gy \
                 recomputed for the course): export the dose of all fractions.",
                point.place, point.planned_gy, point.recomputed_gy
            )),
            (false, None, _) | (false, _, None) => {
                let which = if point.planned_gy > 0.0 { "recomputed" } else { "planned" };
                open.push(format!("{name}: there is no {which} dose at {}.", point.place));
            }
            (false, Some(Level::Within), _) => {}
            (false, Some(level), Some(percent)) => outside.push(format!(
                "{name}: the dose at {} differs by {percent:+.1} % ({:.3} Gy planned, {:.3} Gy recomputed), {} of {} %.",
                point.place,
                point.planned_gy,
                point.recomputed_gy,
                level.words(),
                if level == Level::Between { limits.point_tolerance_percent } else { limits.point_action_percent }
            )),
        }
    }
    if let Some(gamma) = &agreement.gamma {
        let share = 100.0 * gamma.outside as f64 / (gamma.points + gamma.outside).max(1) as f64;
        match (gamma.level(limits), gamma.pass_rate_percent()) {
            _ if share > MOST_OUTSIDE_PERCENT => open.push(format!(
                "{name}: {share:.1} % of its planned dose lies where nothing is recomputed: the CT or the body does not reach \
                 as far."
            )),
            (None, _) | (_, None) => {
                open.push(format!("{name}: its planned dose has no points above the threshold."));
            }
            (Some(Level::Within), _) => {}
            (Some(level), Some(rate)) => outside.push(format!(
                "{name}: gamma {} passes at {rate:.1} % of the points, {} of {} %.",
                limits.criterion_text(),
                level.words(),
                if level == Level::Between { limits.gamma_tolerance_percent } else { limits.gamma_action_percent }
            )),
        }
    }
}

fn looks_like_a_fraction(point: &PointAgreement, fractions: u32) -> bool {
    let share = point.recomputed_gy / point.planned_gy / f64::from(fractions);
    fractions > 1 && (share - 1.0).abs() < LIKE_A_FRACTION
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Agreement;
    use super::*;

    fn item(name: &str, passing: usize, outside: usize, recomputed_gy: f64) -> Item {
        let gamma =
            GammaAgreement { points: 1000, passing, outside, mean: None, max: None, beyond_max_gamma: 0 };
        let point = PointAgreement {
            place: "the isocentre".to_owned(),
            point_mm: [0.0; 3],
            planned_gy: 2.0,
            recomputed_gy,
        };
        let agreement = Some(Agreement { gamma: Some(gamma), point: Some(point) });
        Item { name: name.to_owned(), mu: 100.0, agreement, not_judged: Vec::new() }
    }

    fn verdict(whole: &Item, beams: &[Item]) -> (Verdict, String) {
        let judged = judge(whole, beams, 1, &Tolerances::default());
        (judged.verdict, judged.reasons.join(" "))
    }

    #[test]
    fn limits_count_as_within_and_each_figure_beyond_them_is_named() {
        // 95 % of points and 3 % of dose are just within; TG-218 and MPPG 5.b.
        for (passing, gy) in [(1000, 2.0), (950, 2.06), (950, 1.94)] {
            assert_eq!(verdict(&item("the plan", passing, 0, gy), &[]), (Verdict::Within, String::new()));
        }
        for (passing, gy, says) in [
            (949, 2.0, "passes at 94.9 % of the points, beyond tolerance of 95 %"),
            (899, 2.0, "beyond the action level of 90 %"),
            (
                1000,
                2.08,
                "differs by +4.0 % (2.000 Gy planned, 2.080 Gy recomputed), beyond tolerance of 3 %",
            ),
            (
                1000,
                1.8,
                "differs by -10.0 % (2.000 Gy planned, 1.800 Gy recomputed), beyond the action level of 5 %",
            ),
        ] {
            let (verdict, why) =
                verdict(&item("the plan", passing, 0, gy), &[item("beam 'A'", 1000, 0, 2.0)]);
            assert_eq!(verdict, Verdict::Outside);
            assert!(why.starts_with("The plan: ") && why.contains(says), "{why}");
        }
    }

    #[test]
    fn a_beam_alone_fails_the_plan() {
        let (verdict, why) = verdict(&item("the plan", 1000, 0, 2.0), &[item("beam 'A'", 1000, 0, 2.2)]);
        assert_eq!(verdict, Verdict::Outside);
        assert!(why.starts_with("Beam 'A': the dose at the isocentre differs by +10.0 %"), "{why}");
    }

    #[test]
    fn what_is_not_judged_never_passes() {
        let good = item("the plan", 1000, 0, 2.0);
        let wedge = Item { agreement: None, not_judged: vec!["It has a wedge.".to_owned()], ..good.clone() };
        assert_eq!(
            verdict(&good, std::slice::from_ref(&wedge)),
            (Verdict::NotJudged, "It has a wedge.".to_owned())
        );
        // A failing figure beside it is told, and does not make the plan judged.
        let (open, why) = verdict(&item("the plan", 100, 0, 2.0), std::slice::from_ref(&wedge));
        assert!(open == Verdict::NotJudged && why.contains("wedge") && why.contains("10.0 %"), "{why}");
        let because = Item { agreement: None, not_judged: vec!["Not compared.".to_owned()], ..good.clone() };
        let judged = judge(&because, std::slice::from_ref(&wedge), 1, &Tolerances::default());
        assert_eq!(judged.reasons, ["It has a wedge.", "Not compared."], "the cause goes first");
        let nothing = Item { agreement: None, ..good.clone() };
        assert_eq!(verdict(&nothing, &[]).0, Verdict::NotJudged);
        assert_eq!(verdict(&nothing, std::slice::from_ref(&good)).0, Verdict::NotJudged);
        let half = Agreement { gamma: None, ..good.agreement.clone().unwrap() };
        assert_eq!(verdict(&Item { agreement: Some(half), ..good.clone() }, &[]).0, Verdict::NotJudged);
        let none = Item { agreement: Some(Agreement::default()), ..item("beam 'B'", 0, 0, 0.0) };
        assert_eq!(verdict(&good, &[none]).0, Verdict::NotJudged);
    }

    #[test]
    fn numbers_that_are_none_are_not_judged() {
        let with = |planned_gy, recomputed_gy| {
            let mut whole = item("the plan", 1000, 0, recomputed_gy);
            whole.agreement.as_mut().unwrap().point.as_mut().unwrap().planned_gy = planned_gy;
            verdict(&whole, &[]).0
        };
        for [planned, recomputed] in
            [[0.0, 1.0], [2.0, f64::NAN], [f64::NAN, 2.0], [2.0, f64::INFINITY], [-1.0, -1.0]]
        {
            assert_eq!(with(planned, recomputed), Verdict::NotJudged, "{planned} {recomputed}");
        }
        let mut empty = item("the plan", 0, 0, 2.0);
        empty.agreement.as_mut().unwrap().gamma.as_mut().unwrap().points = 0;
        assert_eq!(verdict(&empty, &[]).0, Verdict::NotJudged);
    }

    #[test]
    fn points_that_nothing_reaches_fail_and_many_of_them_leave_the_plan_open() {
        // 1000 points pass, and of all 1050 these are 95.2 %; of 1060 fewer than 95 %.
        assert_eq!(verdict(&item("the plan", 1000, 50, 2.0), &[]).0, Verdict::Within);
        assert_eq!(verdict(&item("the plan", 990, 52, 2.0), &[]).0, Verdict::Outside);
        let (open, why) = verdict(&item("the plan", 1000, 60, 2.0), &[]);
        assert!(
            open == Verdict::NotJudged && why.contains("5.7 % of its planned dose lies where nothing"),
            "{why}"
        );
    }

    #[test]
    fn the_dose_of_one_fraction_is_recognised() {
        let whole = item("the plan", 0, 0, 2.0 * 24.0);
        let judged = judge(&whole, &[], 25, &Tolerances::default());
        assert_eq!(judged.verdict, Verdict::NotJudged);
        assert!(judged.reasons[0].contains("about one of 25 fractions"), "{:?}", judged.reasons);
        // One fraction in all: a double dose is a double dose.
        assert_eq!(
            judge(&item("the plan", 0, 0, 4.0), &[], 1, &Tolerances::default()).verdict,
            Verdict::Outside
        );
    }

    #[test]
    fn the_worst_of_several_plans_is_the_one_known_to_be_wrong() {
        use Verdict::{NotJudged, Outside, Within};
        assert_eq!(
            [Within.worst(NotJudged), NotJudged.worst(Outside), Outside.worst(NotJudged)],
            [NotJudged, Outside, Outside]
        );
        assert_eq!(Within.worst(Within), Within);
    }
}
