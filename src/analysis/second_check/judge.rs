//! The verdict of a second check: figures held against tolerances.

use super::{Agreement, BeamSum, FAR, GammaAgreement, Item, PointAgreement, Tolerances};
use crate::{MOST_UNJUDGED_PERCENT, digits_apart};
use serde::Serialize;

/// Greatest share of the recomputed high dose outside the planned grid at which that grid holds the plan, percent of
/// the points. The outermost voxels of a body may lie half outside. Chosen.
const MOST_HIGH_OUTSIDE_PERCENT: f64 = 1.0;

/// A high dose that fails by far in more than this is none of noise, surfaces or edges: a target, or a part of one. Chosen.
const MOST_FAR_CM3: f64 = 0.1;

/// A target that gets less than this part of its mean dose in the other dose is missing there, where that mean is high dose.
/// Chosen.
const LEAST_OF_MEAN: f64 = 0.5;

/// Beyond this part of the greatest recomputed dose the greatest planned one is of no beam of the plan. Chosen: engines differ by a
/// tenth of it at bone and surfaces.
const MOST_OF_GREATEST: f64 = 1.5;

/// A planned dose is of a single fraction if a fraction of the recomputed course is this near to it, relative.
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
        if other.rank() > self.rank() { other } else { self }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Within => 0,
            Self::NotJudged => 1,
            Self::Outside => 2,
        }
    }
}

/// How a figure stands to its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Within,
    /// Beyond the tolerance, not beyond the action level.
    Between,
    Beyond,
}

impl Level {
    /// The verdict on a share that shall be high, by its tolerance and action level.
    pub fn of_rate(percent: f64, [tolerance, action]: [f64; 2]) -> Self {
        match percent {
            rate if rate >= tolerance => Self::Within,
            rate if rate >= action => Self::Between,
            _ => Self::Beyond,
        }
    }

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
        Some(Level::of_rate(self.pass_rate_percent()?, limits.of_gamma()))
    }
}

impl Agreement {
    fn is_complete(&self) -> bool {
        self.gamma.is_some() && self.gamma_back.is_some() && self.point.is_some()
    }

    /// The worse of both directions; `None` without points in one of them.
    pub fn gamma_level(&self, limits: &Tolerances) -> Option<Level> {
        let [forward, back] = [self.gamma?, self.gamma_back?].map(|gamma| gamma.level(limits));
        Some(forward?.max(back?))
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
    /// Reservations: points that the verdict does not count, and inputs it counts that are not of the plan's files.
    pub reservations: Vec<String>,
}

impl Judgement {
    /// The verdict with its reservations.
    pub fn words(&self) -> String {
        let sentences =
            std::iter::once(self.verdict.words()).chain(self.reservations.iter().map(String::as_str));
        sentences.collect::<Vec<_>>().join("; ")
    }
}

/// Figures that a plan is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    pub whole: &'a Item,
    pub beams: &'a [Item],
    pub beam_sum: Option<&'a BeamSum>,
    pub fractions: u32,
    pub limits: &'a Tolerances,
    /// Inputs that the recomputed dose counts otherwise than the plan's files have them.
    pub changed_here: &'a [String],
}

/// Judges a plan and its beams. What contradicts itself is wrong, whatever else could be judged. Whatever could not be judged keeps the
/// plan from being judged as a whole; a beam without its own planned dose counts in the plan's alone.
pub fn judge(figures: Figures<'_>) -> Judgement {
    let Figures { whole: plan, beams, beam_sum, fractions, limits, changed_here } = figures;
    let mut wrong: Vec<String> =
        std::iter::once(plan).chain(beams).flat_map(|item| item.wrong.clone()).collect();
    wrong.extend(beam_sum.and_then(BeamSum::contradiction));
    let (mut open, mut outside) = (Vec::new(), Vec::new());
    // What is wrong with a beam explains why the plan is not compared.
    open.extend(beams.iter().chain([plan]).flat_map(|item| item.not_judged.iter().cloned()));
    for item in std::iter::once(plan).chain(beams) {
        look(item, fractions, limits, &mut open, &mut outside);
    }
    // The plan as a whole is always compared by gamma, both ways, and at a point.
    let compared = plan.agreement.as_ref();
    if open.is_empty() && wrong.is_empty() && !compared.is_some_and(Agreement::is_complete) {
        open.push("The plan's dose was not compared.".to_owned());
    }
    let verdict = match (wrong.is_empty(), open.is_empty(), outside.is_empty()) {
        (false, ..) | (true, true, false) => Verdict::Outside,
        (true, false, _) => Verdict::NotJudged,
        (true, true, true) => Verdict::Within,
    };
    let mut reservations = Vec::new();
    if let Some(back) = compared.and_then(|a| a.gamma_back).filter(|back| back.outside > 0) {
        reservations.push(format!(
            "{} of {} points of the recomputed dose ({:.1} %) lie outside the planned grid and are not judged",
            back.outside,
            back.points + back.outside,
            back.outside_percent()
        ));
    }
    if !changed_here.is_empty() {
        let text = "the recomputed dose counts what is not of the plan's files";
        reservations.push(format!("{text}: {}", changed_here.join(", ")));
    }
    let reasons = wrong.into_iter().chain(open).chain(outside).collect();
    Judgement { verdict, reasons, reservations }
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
            (false, Some(level), Some(percent)) => {
                let digits = digits_apart(percent.abs(), &limits.of_points(), 1);
                outside.push(format!(
                    "{name}: the dose at {} differs by {percent:+.digits$} % ({:.3} Gy planned, {:.3} Gy recomputed), {} of {} %.",
                    point.place,
                    point.planned_gy,
                    point.recomputed_gy,
                    level.words(),
                    limits.of_points()[usize::from(level == Level::Beyond)]
                ));
            }
        }
    }
    if let Some(there) = &agreement.gamma {
        let roles = ["planned", "recomputed"];
        if there.outside_percent() > MOST_UNJUDGED_PERCENT {
            open.push(format!(
                "{name}: {:.1} % of its planned dose lies where nothing is recomputed: the CT or the body does not reach as far.",
                there.outside_percent()
            ));
        } else {
            look_at_gamma(&name, there, roles, limits, open, outside);
        }
    }
    if let Some(back) = &agreement.gamma_back {
        let grid = "lies outside the planned grid: export the planned dose on a grid that holds it";
        if back.high_outside_percent() > MOST_HIGH_OUTSIDE_PERCENT {
            open.push(format!(
                "{name}: {:.1} % of the recomputed high dose (from {:.3} Gy on) {grid}.",
                back.high_outside_percent(),
                0.5 * agreement.normalisation_gy
            ));
        } else if back.outside_percent() > MOST_UNJUDGED_PERCENT {
            open.push(format!(
                "{name}: {:.1} % of the recomputed dose from {} % on {grid}.",
                back.outside_percent(),
                limits.gamma_threshold_percent
            ));
        }
        look_at_gamma(&name, back, ["recomputed", "planned"], limits, open, outside);
    }
    for target in &item.targets {
        let [planned_gy, recomputed_gy] = target.mean_gy;
        let (less, more) = (planned_gy.min(recomputed_gy), planned_gy.max(recomputed_gy));
        if less < LEAST_OF_MEAN * more && more >= LEAST_OF_MEAN * agreement.normalisation_gy {
            outside.push(format!(
                "{name}: the mean dose of the target '{}' is {planned_gy:.3} Gy planned and {recomputed_gy:.3} Gy recomputed.",
                target.name
            ));
        }
    }
    let [planned_gy, recomputed_gy] = agreement.greatest_gy;
    if planned_gy > MOST_OF_GREATEST * recomputed_gy {
        outside.push(format!(
            "{name}: the greatest planned dose, {planned_gy:.3} Gy, is {:.1} times the greatest recomputed one, {recomputed_gy:.3} Gy.",
            planned_gy / recomputed_gy
        ));
    }
}

/// Gamma of the one dose at the points of the other.
fn look_at_gamma(
    name: &str,
    gamma: &GammaAgreement,
    [analysed, other]: [&str; 2],
    limits: &Tolerances,
    open: &mut Vec<String>,
    outside: &mut Vec<String>,
) {
    match (gamma.level(limits), gamma.pass_rate_percent()) {
        (None, _) | (_, None) => {
            open.push(format!("{name}: its {analysed} dose has no points above the threshold."));
        }
        (Some(Level::Within), _) => {}
        (Some(level), Some(rate)) => {
            let digits = digits_apart(rate, &limits.of_gamma(), 1);
            outside.push(format!(
                "{name}: gamma {} passes at {rate:.digits$} % of the points of the {analysed} dose, {} of {} %.",
                limits.criterion_text(),
                level.words(),
                limits.of_gamma()[usize::from(level == Level::Beyond)]
            ));
        }
    }
    if gamma.far_cm3 > MOST_FAR_CM3 {
        outside.push(format!(
            "{name}: {:.1} cm3 of its {analysed} high dose are nowhere near in the {other} dose (within {} % and {} mm), as where a \
             target is missing.",
            gamma.far_cm3, FAR.dose_percent, FAR.dta_mm
        ));
    }
}

fn looks_like_a_fraction(point: &PointAgreement, fractions: u32) -> bool {
    let share = point.recomputed_gy / point.planned_gy / f64::from(fractions);
    fractions > 1 && (share - 1.0).abs() < LIKE_A_FRACTION
}

/// With a capital letter in front.
pub fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{SumDifference, TargetDoses};
    use super::*;

    fn item(name: &str, passing: usize, outside: usize, recomputed_gy: f64) -> Item {
        let gamma =
            GammaAgreement { points: 1000, passing, outside, outside_fails: true, ..Default::default() };
        let back = GammaAgreement { points: 1000, passing: 1000, high_points: 500, ..Default::default() };
        let point = PointAgreement {
            place: "the isocentre".to_owned(),
            point_mm: [0.0; 3],
            planned_gy: 2.0,
            recomputed_gy,
        };
        let agreement = Some(Agreement {
            gamma: Some(gamma),
            gamma_back: Some(back),
            normalisation_gy: 2.0,
            greatest_gy: [2.1, 2.1],
            point: Some(point),
        });
        Item { name: name.to_owned(), mu: 100.0, agreement, ..Item::default() }
    }

    fn judgement_of(plan: &Item, beams: &[Item], fractions: u32, changed_here: &[String]) -> Judgement {
        let limits = &Tolerances::default();
        judge(Figures { whole: plan, beams, beam_sum: None, fractions, limits, changed_here })
    }

    fn verdict(plan: &Item, beams: &[Item]) -> (Verdict, String) {
        let judged = judgement_of(plan, beams, 1, &[]);
        (judged.verdict, judged.reasons.join(" "))
    }

    #[test]
    fn limits_count_as_within_and_each_figure_beyond_them_is_named() {
        // 95 % of points and 3 % of dose are just within; TG-218 and MPPG 5.b.
        for (passing, gy) in [(1000, 2.0), (950, 2.06), (950, 1.94)] {
            assert_eq!(verdict(&item("the plan", passing, 0, gy), &[]), (Verdict::Within, String::new()));
        }
        for (passing, gy, says) in [
            (949, 2.0, "passes at 94.9 % of the points of the planned dose, beyond tolerance of 95 %"),
            (
                1000,
                2.0604,
                "differs by +3.02 % (2.000 Gy planned, 2.060 Gy recomputed), beyond tolerance of 3 %",
            ),
            (
                1000,
                2.1001,
                "differs by +5.005 % (2.000 Gy planned, 2.100 Gy recomputed), beyond the action level",
            ),
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
        let judged = judgement_of(&because, std::slice::from_ref(&wedge), 1, &[]);
        assert_eq!(judged.reasons, ["It has a wedge.", "Not compared."], "the cause goes first");
        let nothing = Item { agreement: None, ..good.clone() };
        assert_eq!(verdict(&nothing, &[]).0, Verdict::NotJudged);
        assert_eq!(verdict(&nothing, std::slice::from_ref(&good)).0, Verdict::NotJudged);
        let half = Agreement { gamma: None, ..good.agreement.clone().unwrap() };
        assert_eq!(verdict(&Item { agreement: Some(half), ..good.clone() }, &[]).0, Verdict::NotJudged);
        let none = Item { agreement: Some(Agreement::default()), ..item("beam 'B'", 0, 0, 0.0) };
        assert_eq!(verdict(&good, &[none]).0, Verdict::NotJudged);
    }

    /// A contradiction is known to be wrong, also beside what could not be judged.
    #[test]
    fn a_contradiction_fails_whatever_is_open() {
        let nothing =
            || Item { agreement: None, wrong: vec!["It delivers nothing.".to_owned()], ..Item::default() };
        assert_eq!(verdict(&nothing(), &[]), (Verdict::Outside, "It delivers nothing.".to_owned()));
        let open = Item { not_judged: vec!["It has a wedge.".to_owned()], ..nothing() };
        let (outcome, why) = verdict(&open, &[]);
        assert_eq!((outcome, why.as_str()), (Verdict::Outside, "It delivers nothing. It has a wedge."));
        let plan = item("the plan", 1000, 0, 2.0);
        let limits = &Tolerances::default();
        let worst = SumDifference { point_mm: [0.0; 3], planned_gy: 2.06, sum_gy: 2.0 };
        let sum = |worst| BeamSum { beams: 2, worst, ..BeamSum::default() };
        let judged = |sum: &BeamSum| {
            let beam_sum = Some(sum);
            judge(Figures { whole: &plan, beams: &[], beam_sum, fractions: 1, limits, changed_here: &[] })
        };
        assert_eq!(judged(&sum(None)).verdict, Verdict::Within);
        let off = judged(&sum(Some(worst)));
        assert!(
            off.verdict == Verdict::Outside && off.reasons[0].contains("not the sum of its 2 beam doses"),
            "{off:?}"
        );
    }

    #[test]
    fn numbers_that_are_none_are_not_judged() {
        let with = |planned_gy, recomputed_gy| {
            let mut plan = item("the plan", 1000, 0, recomputed_gy);
            plan.agreement.as_mut().unwrap().point.as_mut().unwrap().planned_gy = planned_gy;
            verdict(&plan, &[]).0
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

    /// The same the other way: what the planned dose lacks has no points in it.
    #[test]
    fn the_recomputed_dose_must_be_found_in_the_planned_one() {
        let with = |change: &dyn Fn(&mut Agreement, &mut GammaAgreement)| {
            let mut plan = item("the plan", 1000, 0, 2.0);
            let agreement = plan.agreement.as_mut().unwrap();
            let mut back = agreement.gamma_back.unwrap();
            change(agreement, &mut back);
            agreement.gamma_back = Some(back);
            judgement_of(&plan, &[], 1, &[])
        };
        for (judged, verdict, says) in [
            (
                with(&|_, back| back.passing = 940),
                Verdict::Outside,
                "94.0 % of the points of the recomputed dose",
            ),
            (with(&|_, back| back.far_cm3 = 8.0), Verdict::Outside, "8.0 cm3 of its recomputed high dose"),
            (
                with(&|_, back| back.outside = 60),
                Verdict::NotJudged,
                "5.7 % of the recomputed dose from 10 % on lies",
            ),
            (
                with(&|_, back| back.high_outside = 6),
                Verdict::NotJudged,
                "1.2 % of the recomputed high dose (from 1.000 Gy on)",
            ),
            (
                with(&|a, _| a.greatest_gy = [6.4, 2.0]),
                Verdict::Outside,
                "6.400 Gy, is 3.2 times the greatest recomputed",
            ),
        ] {
            assert!(judged.verdict == verdict && judged.reasons.join(" ").contains(says), "{judged:?}");
        }
        // A target that is too small to count among the points.
        for (mean_gy, expected) in
            [([0.1, 2.0], Verdict::Outside), ([1.9, 2.0], Verdict::Within), ([0.01, 0.1], Verdict::Within)]
        {
            let targets = vec![TargetDoses { name: "M2".to_owned(), mean_gy }];
            let plan = Item { targets, ..item("the plan", 1000, 0, 2.0) };
            let (outcome, why) = verdict(&plan, &[]);
            assert_eq!(
                (outcome, why.contains("target 'M2'")),
                (expected, expected == Verdict::Outside),
                "{why}"
            );
        }
        let few = with(&|_, back| back.outside = 50);
        assert_eq!(few.verdict, Verdict::Within);
        assert!(
            few.words().starts_with("within tolerance; 50 of 1050 points of the recomputed dose (4.8 %)"),
            "{few:?}"
        );
        let mut one_way = item("the plan", 1000, 0, 2.0);
        one_way.agreement.as_mut().unwrap().gamma_back = None;
        assert_eq!(verdict(&one_way, &[]).0, Verdict::NotJudged);
    }

    #[test]
    fn what_is_not_of_the_files_stands_in_the_verdict() {
        let created = ["bolus 'B1'".to_owned()];
        let judged = judgement_of(&item("the plan", 1000, 0, 2.0), &[], 1, &created);
        assert_eq!(judged.verdict, Verdict::Within);
        assert!(
            judged.words().contains("within tolerance; ") && judged.words().contains("bolus 'B1'"),
            "{judged:?}"
        );
    }

    #[test]
    fn the_dose_of_one_fraction_is_recognised() {
        let plan = item("the plan", 0, 0, 2.0 * 24.0);
        let judged = judgement_of(&plan, &[], 25, &[]);
        assert_eq!(judged.verdict, Verdict::NotJudged);
        assert!(judged.reasons[0].contains("about one of 25 fractions"), "{:?}", judged.reasons);
        // One fraction in all: a double dose is a double dose.
        assert_eq!(judgement_of(&item("the plan", 0, 0, 4.0), &[], 1, &[]).verdict, Verdict::Outside);
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
