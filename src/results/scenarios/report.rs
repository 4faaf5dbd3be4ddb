//! Figures of plans under set-up errors and at poses, as tables for `--json` and for Python.

use super::{Course, DoseFigures, RobustPlan};
use analysis::{DvhBand, GoalRow, RobustGoal, Scenario};
use case::{DoseStatus, Goal, Plan, Pose, StructureSet, add_each_once};
use serde::Serialize;

/// A plan under set-up errors.
#[derive(Clone, Debug, Serialize)]
pub struct RobustReport {
    /// Length of the shifts.
    pub shift_mm: f64,
    pub scenarios: Vec<ScenarioEntry>,
    pub goals: Vec<RobustGoalEntry>,
    pub bands: Vec<DvhBand>,
    #[serde(skip)]
    rows: Vec<RobustGoal>,
}

/// A scenario; the one without an error is the first.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioEntry {
    /// Shift of the isocentres, patient LPS.
    pub shift_mm: [f64; 3],
    pub name: String,
    pub status: DoseStatus,
    pub caveats: Vec<String>,
}

/// A goal as planned and in its worst scenario.
#[derive(Clone, Debug, Serialize)]
pub struct RobustGoalEntry {
    pub goal: Goal,
    pub value: Option<f64>,
    /// `None` where the dose decides no goal.
    pub met: Option<bool>,
    pub worst: Option<f64>,
    pub worst_met: Option<bool>,
    pub worst_shift_mm: [f64; 3],
    pub worst_scenario: String,
}

impl RobustReport {
    /// `hundred_gy` is the 100 % dose of the goals.
    pub fn new(
        robust: &RobustPlan,
        shift_mm: f64,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Self {
        let rows = robust.goals(goals, set, hundred_gy);
        let scenarios = robust.scenarios.iter().map(|result| ScenarioEntry {
            shift_mm: result.scenario.shift_mm.to_array(),
            name: result.scenario.to_string(),
            status: result.figures.status,
            caveats: result.figures.caveats.clone(),
        });
        let goals = rows.iter().map(|goal| {
            let scenario = robust.scenarios[goal.scenario].scenario;
            RobustGoalEntry::new(goal, scenario)
        });
        Self {
            shift_mm,
            scenarios: scenarios.collect(),
            goals: goals.collect(),
            bands: robust.bands(set),
            rows,
        }
    }

    /// The goals as planned and in their worst scenarios.
    pub fn rows(&self) -> &[RobustGoal] {
        &self.rows
    }

    /// Caveats of the scenarios, each once.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let of_scenarios = self.scenarios.iter().flat_map(|s| &s.caveats);
        add_each_once(&mut caveats, of_scenarios.map(String::as_str));
        caveats
    }
}

impl RobustGoalEntry {
    fn new(goal: &RobustGoal, scenario: Scenario) -> Self {
        Self {
            goal: goal.planned.goal.clone(),
            value: value(&goal.planned),
            met: met(&goal.planned),
            worst: value(&goal.worst),
            worst_met: met(&goal.worst),
            worst_shift_mm: scenario.shift_mm.to_array(),
            worst_scenario: scenario.to_string(),
        }
    }
}

/// Fractions at the poses of their days, and their sum.
#[derive(Clone, Debug, Serialize)]
pub struct CourseReport {
    pub plan: String,
    /// Fractions of the plan.
    pub fractions: u32,
    pub delivered: Vec<DayEntry>,
    /// Fractions to come, which count at the mean pose.
    pub to_come: u32,
    pub mean_pose: Pose,
    pub sum: DoseEntry,
}

/// A fraction, and the dose of a course of such fractions.
#[derive(Clone, Debug, Serialize)]
pub struct DayEntry {
    pub name: String,
    pub pose: Pose,
    pub dose: DoseEntry,
}

/// A dose with its goals.
#[derive(Clone, Debug, Serialize)]
pub struct DoseEntry {
    pub status: DoseStatus,
    pub caveats: Vec<String>,
    pub goals: Vec<GoalEntry>,
}

/// A goal with its value.
#[derive(Clone, Debug, Serialize)]
pub struct GoalEntry {
    pub goal: Goal,
    pub value: Option<f64>,
    /// `None` where the dose decides no goal.
    pub met: Option<bool>,
}

impl CourseReport {
    pub fn new(course: &Course, plan: &Plan, goals: &[Goal], set: &StructureSet) -> Self {
        let hundred_gy = plan.prescription_gy;
        let delivered = course.days.iter().map(|result| DayEntry {
            name: result.day.name.clone(),
            pose: result.day.pose,
            dose: DoseEntry::new(&result.figures, goals, set, hundred_gy),
        });
        Self {
            plan: plan.name.clone(),
            fractions: plan.fractions,
            delivered: delivered.collect(),
            to_come: course.to_come,
            mean_pose: course.mean_pose,
            sum: DoseEntry::new(&course.figures, goals, set, hundred_gy),
        }
    }
}

impl DoseEntry {
    fn new(
        figures: &DoseFigures,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Self {
        let rows = figures.goals(goals, set, hundred_gy).into_iter();
        Self {
            status: figures.status,
            caveats: figures.caveats.clone(),
            goals: rows.map(GoalEntry::from).collect(),
        }
    }
}

impl From<GoalRow> for GoalEntry {
    fn from(row: GoalRow) -> Self {
        Self {
            value: value(&row),
            met: met(&row),
            goal: row.goal,
        }
    }
}

fn value(row: &GoalRow) -> Option<f64> {
    row.answer.as_ref().ok().map(|outcome| outcome.value)
}

fn met(row: &GoalRow) -> Option<bool> {
    (!row.is_undecided()).then(|| row.is_met())
}
