//! A second check of a plan from elsewhere: its figures, and the verdict on them. What could not be judged never passes.

mod beam_sum;
mod judge;
mod machines;
mod points;
mod tolerances;

pub use beam_sum::{BeamDoses, BeamSum, SumDifference};
pub use judge::{Figures, Judgement, Level, Verdict, capital, judge};
pub use machines::{MachineUse, Models, choose_machines};
pub use points::{DosePoint, beam_point, common_point, plan_point};
pub use tolerances::{Tolerances, TolerancesError};

use crate::{CentralRay, digits_apart, percent_words, rate_text};
use case::{DoseEngine, Metric};
use engine::gamma::{Criterion, GammaMap, OUTSIDE};
use geometry::Volume;
use serde::Serialize;

/// A plan, its planned and its recomputed doses, and how they agree.
#[derive(Clone, Debug, Serialize)]
pub struct SecondCheck {
    /// Folder or case.
    pub case: String,
    pub patient: String,
    pub patient_id: String,
    pub plan: String,
    pub fractions: u32,
    pub prescription_gy: Option<f64>,
    pub machines: Vec<MachineUse>,
    pub engine: DoseEngine,
    pub grid_mm: f64,
    /// Name of the HU table.
    pub hu_table: String,
    /// `medium`, `water`.
    pub dose_to: &'static str,
    /// Mean standard deviation of a Monte Carlo dose above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    /// Devices that computed; empty where nothing was.
    pub device: String,
    /// Names of the planned and the recomputed dose with their status; empty where there is none.
    pub planned: String,
    pub recomputed: String,
    pub tolerances: Tolerances,
    pub judgement: Judgement,
    pub whole: Item,
    pub beams: Vec<Item>,
    /// The planned dose beside the sum of the beams' planned doses; `None` where no beam has one, or the plan has none.
    pub beam_sum: Option<BeamSum>,
    pub structures: Vec<StructureCheck>,
    pub goals: Vec<GoalCheck>,
    pub notes: Vec<String>,
}

impl SecondCheck {
    /// The engine, with the uncertainty of its dose.
    pub fn engine_words(&self) -> String {
        let uncertainty = self.uncertainty_percent.map_or(String::new(), |percent| {
            format!(" {}", percent_words(percent))
        });
        format!("{}{uncertainty}", self.engine.name())
    }
}

/// The plan as a whole, or a beam.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Item {
    /// `the plan`, `beam 'A'`.
    pub name: String,
    /// Monitor units of one fraction.
    pub mu: f64,
    /// The field of a beam; the plan has none.
    pub field: Option<FieldOnPatient>,
    /// `None` without a planned dose.
    pub agreement: Option<Agreement>,
    /// The plan as a whole.
    pub targets: Vec<TargetDoses>,
    /// Why it cannot be judged, a sentence each.
    pub not_judged: Vec<String>,
    /// Faults whatever is recomputed, a sentence each.
    pub wrong: Vec<String>,
}

impl Item {
    /// Words in place of its figures where it has none.
    pub fn words_without_figures(&self) -> &'static str {
        match (self.not_judged.is_empty(), self.wrong.is_empty()) {
            (false, _) => "not judged",
            (true, false) => "wrong",
            (true, true) => "no dose of its own",
        }
    }
}

/// The field of a beam on the patient, at its first control point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldOnPatient {
    /// Between the jaws at the isocentre plane, mm.
    pub sides_mm: [f64; 2],
    /// Equivalent square of the jaws.
    pub equivalent_square_mm: Option<f64>,
    /// `None` where the central ray meets no surface.
    pub ray: Option<CentralRay>,
}

/// Parts of a second check that are made here, and those that are taken from the system that it checks.
pub const INDEPENDENCE: [&str; 2] = [
    "Made here, independent of the planning system: the reading of its files, fluence, beam model, heterogeneities, transport of \
     the dose, the doses at points, gamma and DVHs.",
    "Taken from its files and not checked: CT and structures, apertures, angles and monitor units, the planned dose, its point and \
     its normalisation. The machine's model is the one named above: one fitted to the data of the planning system shares their \
     errors, a generic one is no model of the clinic's machine.",
];

/// Mean doses of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetDoses {
    pub name: String,
    /// Planned and recomputed.
    pub mean_gy: [f64; 2],
}

/// A recomputed dose beside the planned one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Gamma of the recomputed dose at the points of the planned one.
    pub gamma: Option<GammaAgreement>,
    /// Gamma of the planned dose at the points of the recomputed one: what the planned dose lacks is tested in this direction alone.
    pub gamma_back: Option<GammaAgreement>,
    /// 100 % of both: the near-maximum of the planned dose, Gy.
    pub normalisation_gy: f64,
    /// Values of the planned and of the recomputed dose, Gy.
    pub greatest_gy: [f64; 2],
    pub point: Option<PointAgreement>,
}

/// Gamma in the direction that passes less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerGamma {
    pub pass_rate_percent: f64,
    /// The points that the rate is a share of.
    pub points: usize,
    /// Whose points these are: `planned`, `recomputed`.
    pub of: &'static str,
}

impl LowerGamma {
    /// The lower of both directions, each with its points.
    pub fn of_both(rates: [Option<f64>; 2], points: [usize; 2]) -> Option<Self> {
        let [forward, back] = std::array::from_fn(|n| {
            rates[n].map(|pass_rate_percent| Self {
                pass_rate_percent,
                points: points[n],
                of: ["planned", "recomputed"][n],
            })
        });
        match (forward, back) {
            (Some(forward), Some(back)) if back.pass_rate_percent < forward.pass_rate_percent => {
                Some(back)
            }
            (forward, back) => forward.or(back),
        }
    }
}

impl Agreement {
    /// The direction that passes less; `None` without points in one of them.
    pub fn lower_gamma(&self) -> Option<LowerGamma> {
        let both = [self.gamma?, self.gamma_back?];
        let rates = both.map(|gamma| gamma.pass_rate_percent());
        rates
            .iter()
            .all(Option::is_some)
            .then(|| LowerGamma::of_both(rates, both.map(|gamma| gamma.all_points())))?
    }

    /// `99.20 % of 5012 planned points, 98.70 % of 5100 recomputed points`, with those that are not judged.
    pub fn gamma_words(&self) -> Option<String> {
        let forward = self
            .gamma?
            .words("planned", "where nothing is recomputed: they fail");
        let back = self
            .gamma_back
            .map(|gamma| gamma.words("recomputed", "outside the planned grid: not judged"));
        Some(
            [Some(forward), back]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        )
    }
}

/// Gamma of one dose at the points of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GammaAgreement {
    /// With a gamma, and of those the passing ones.
    pub points: usize,
    pub passing: usize,
    /// Points that the other dose does not reach.
    pub outside: usize,
    /// Whether those count as failing: of the planned dose they do.
    pub outside_fails: bool,
    /// Points of half the normalisation or more, and of those the ones that the other dose does not reach.
    pub high_points: usize,
    pub high_outside: usize,
    /// Volume of the high dose that is nowhere near in the other dose ([`FAR`]).
    pub far_cm3: f64,
    pub mean: Option<f64>,
    /// As far as it was searched for.
    pub max: Option<f64>,
    /// Points that have more gamma than was searched for: mean and maximum are more, too.
    pub beyond_max_gamma: usize,
}

/// A high dose that does not meet this criterion fails by far, whatever criterion is judged by: engines and outlines of bodies differ by
/// less, and of a missing ball all is found but its rim. Chosen.
pub const FAR: Criterion = Criterion {
    dose_percent: 20.0,
    dta_mm: 4.0,
    local: false,
};

impl GammaAgreement {
    /// Counts of the first map; how many of the points are high, and what fails by far, by the second one.
    pub fn new(
        reference: &Volume<f32>,
        maps: &[GammaMap],
        normalisation_gy: f64,
        outside_fails: bool,
    ) -> Self {
        let [map, far] = maps else {
            return Self::default();
        };
        let counts = map.counts;
        let mut agreement = Self {
            points: counts.analysed,
            passing: counts.passing,
            outside: counts.outside,
            outside_fails,
            ..Self::default()
        };
        let grid = reference.grid();
        let half_gy = (0.5 * normalisation_gy) as f32;
        for k in 0..grid.size()[2] {
            let mut failing = 0;
            let gammas = map.gamma.plane(k).iter().zip(far.gamma.plane(k));
            for (_, (gamma, far)) in reference
                .plane(k)
                .iter()
                .zip(gammas)
                .filter(|(gy, _)| **gy >= half_gy)
            {
                let is_outside = gamma.to_bits() == OUTSIDE.to_bits();
                agreement.high_points += usize::from(is_outside || !gamma.is_nan());
                agreement.high_outside += usize::from(is_outside);
                failing += usize::from(*far > 1.0);
            }
            agreement.far_cm3 += failing as f64 * grid.voxel_cm3(k);
        }
        agreement
    }

    /// The pass rate of the points of the `whose` dose; `outside` says what its points outside the other dose are.
    fn words(&self, whose: &str, outside: &str) -> String {
        let rate = self
            .pass_rate_percent()
            .map_or("no points".to_owned(), rate_text);
        let outside = match self.outside {
            0 => String::new(),
            n => format!(" ({n} more {outside})"),
        };
        format!("{rate} of {} {whose} points{outside}", self.points)
    }

    /// Share of the points that the other dose does not reach, percent.
    pub fn outside_percent(&self) -> f64 {
        100.0 * self.outside as f64 / (self.points + self.outside).max(1) as f64
    }

    /// The same of the points of high dose.
    pub fn high_outside_percent(&self) -> f64 {
        100.0 * self.high_outside as f64 / self.high_points.max(1) as f64
    }

    /// The points that the pass rate is a share of.
    pub fn all_points(&self) -> usize {
        self.points + if self.outside_fails { self.outside } else { 0 }
    }

    /// Share of the passing points, percent. `None` without points.
    pub fn pass_rate_percent(&self) -> Option<f64> {
        let all_points = self.all_points();
        (all_points > 0).then(|| 100.0 * self.passing as f64 / all_points as f64)
    }
}

/// Doses at a point for the same monitor units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointAgreement {
    /// Name of the point.
    pub place: String,
    /// Patient LPS.
    pub point_mm: [f64; 3],
    pub planned_gy: f64,
    pub recomputed_gy: f64,
}

impl PointAgreement {
    /// Recomputed less planned, percent of planned; `None` without a planned dose.
    pub fn difference_percent(&self) -> Option<f64> {
        let percent = 100.0 * (self.recomputed_gy - self.planned_gy) / self.planned_gy;
        (self.planned_gy > 0.0 && percent.is_finite()).then_some(percent)
    }

    /// `+3.02 %`, on its side of the limits.
    pub fn difference_words(&self, limits: &Tolerances) -> String {
        let Some(percent) = self.difference_percent() else {
            return "-".to_owned();
        };
        let digits = digits_apart(percent.abs(), &limits.of_points(), 2);
        format!("{percent:+.digits$} %")
    }
}

/// A structure in both doses. It is shown, not judged: no limits for structures are published.
#[derive(Clone, Debug, Serialize)]
pub struct StructureCheck {
    pub name: String,
    /// The lower of both ways, its points, and whose these are.
    pub gamma_pass_rate_percent: Option<f64>,
    pub gamma_points: usize,
    pub gamma_points_of: &'static str,
    pub metrics: Vec<MetricPair>,
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct MetricPair {
    pub metric: Metric,
    pub unit: &'static str,
    pub planned: Option<f64>,
    pub recomputed: Option<f64>,
}

/// A goal in both doses. It is shown, not judged: that is the planner's.
#[derive(Clone, Debug, Serialize)]
pub struct GoalCheck {
    pub goal: String,
    pub unit: &'static str,
    pub planned: Option<f64>,
    pub recomputed: Option<f64>,
    /// Verdict words, or why there is none.
    pub verdicts: [String; 2],
}
