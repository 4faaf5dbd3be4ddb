//! A second check of a plan from elsewhere: its figures, and the verdict on them. What could not be judged never passes.

mod judge;
mod machines;
mod points;
mod tolerances;

pub use judge::{Judgement, Level, Verdict, judge};
pub use machines::{MachineUse, Models, choose_machines};
pub use points::{DosePoint, beam_point, common_point, plan_point};
pub use tolerances::{Tolerances, TolerancesError};

use crate::case::Metric;
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
    /// `collapsed cone`, `Monte Carlo`.
    pub engine: &'static str,
    pub grid_mm: f64,
    /// Name of the HU table.
    pub hu_table: String,
    /// `medium`, `water`.
    pub dose_to: &'static str,
    /// Devices that computed; empty where nothing was.
    pub device: String,
    /// Names of the planned and the recomputed dose with their status; empty where there is none.
    pub planned: String,
    pub recomputed: String,
    pub tolerances: Tolerances,
    pub judgement: Judgement,
    pub whole: Item,
    pub beams: Vec<Item>,
    pub structures: Vec<StructureCheck>,
    pub goals: Vec<GoalCheck>,
    pub notes: Vec<String>,
}

/// The plan as a whole, or a beam.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Item {
    /// `the plan`, `beam 'A'`.
    pub name: String,
    /// Monitor units of one fraction.
    pub mu: f64,
    /// `None` where it has no planned dose of its own.
    pub agreement: Option<Agreement>,
    /// Why it cannot be judged, a sentence each.
    pub not_judged: Vec<String>,
}

/// A recomputed dose beside the planned one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    pub gamma: Option<GammaAgreement>,
    pub point: Option<PointAgreement>,
}

/// Gamma of the recomputed dose at the points of the planned one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GammaAgreement {
    /// With a gamma, and of those the passing ones.
    pub points: usize,
    pub passing: usize,
    /// Points of the planned dose that the recomputed one does not reach.
    pub outside: usize,
    pub mean: Option<f64>,
    /// As far as it was searched for.
    pub max: Option<f64>,
    /// Points that have more gamma than was searched for: mean and maximum are more, too.
    pub beyond_max_gamma: usize,
}

impl GammaAgreement {
    /// Share of the passing points, percent; points that the recomputed dose does not reach fail. `None` without points.
    pub fn pass_rate_percent(&self) -> Option<f64> {
        let all = self.points + self.outside;
        (all > 0).then(|| 100.0 * self.passing as f64 / all as f64)
    }
}

/// Doses at a point for the same monitor units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointAgreement {
    /// What the point is.
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
}

/// A structure in both doses. It is shown, not judged: no limits for structures are published.
#[derive(Clone, Debug, Serialize)]
pub struct StructureCheck {
    pub name: String,
    pub gamma_points: usize,
    pub gamma_pass_rate_percent: Option<f64>,
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
