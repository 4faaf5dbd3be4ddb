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
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
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
        let sentences = std::iter::once(self.verdict.words())
            .chain(self.reservations.iter().map(String::as_str));
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
    let Figures {
        whole: plan,
        beams,
        beam_sum,
        fractions,
        limits,
        changed_here,
    } = figures;
    let mut wrong: Vec<String> = std::iter::once(plan)
        .chain(beams)
        .flat_map(|item| item.wrong.clone())
        .collect();
    wrong.extend(beam_sum.and_then(BeamSum::contradiction));
    let (mut open, mut outside) = (Vec::new(), Vec::new());
    // What is wrong with a beam explains why the plan is not compared.
    open.extend(
        beams
            .iter()
            .chain([plan])
            .flat_map(|item| item.not_judged.iter().cloned()),
    );
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
    if let Some(back) = compared
        .and_then(|a| a.gamma_back)
        .filter(|back| back.outside > 0)
    {
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
    Judgement {
        verdict,
        reasons,
        reservations,
    }
}

fn look(
    item: &Item,
    fractions: u32,
    limits: &Tolerances,
    open: &mut Vec<String>,
    outside: &mut Vec<String>,
) {
    let Some(agreement) = &item.agreement else {
        return;
    };
    let name = capital(&item.name);
    if agreement.gamma.is_none() && agreement.point.is_none() {
        open.push(format!(
            "{name}: nothing of the two doses could be compared."
        ));
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
    if let Some(gamma) = &agreement.gamma {
        let roles = ["planned", "recomputed"];
        if gamma.outside_percent() > MOST_UNJUDGED_PERCENT {
            open.push(format!(
                "{name}: {:.1} % of its planned dose lies where nothing is recomputed: the CT or the body does not reach as far.",
                gamma.outside_percent()
            ));
        } else {
            look_at_gamma(&name, gamma, roles, limits, open, outside);
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
        look_at_gamma(
            &name,
            back,
            ["recomputed", "planned"],
            limits,
            open,
            outside,
        );
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
            open.push(format!(
                "{name}: its {analysed} dose has no points above the threshold."
            ));
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
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests;
