//! Inputs of an optimisation, to compare: maps answer the case that has equal inputs.

use super::super::inputs::Settings;
use super::super::patient::Densities;
use analysis::{Engine, is_computed, target_of};
use case::{
    Beam, Case, FluenceLimit, FluenceMap, FluenceObjectives, Goal, Jaws, Plan, UniformDose,
};
use input::content_digest_of;
use std::sync::Arc;

/// All that the fluences of a plan follow from, but for where the search starts.
#[derive(Clone, Debug)]
pub struct OptimiseQuery {
    pub(super) case: Case,
    pub(super) plan: Arc<Plan>,
    pub(super) goals: Vec<Goal>,
    pub(super) settings: Settings,
    pub(super) densities: Densities,
    /// Spacing of the sampled voxels, mm; `None`: the spacing of the dose grid.
    pub(super) rows_mm: Option<f64>,
    /// Width of a beamlet along the leaves' travel, mm.
    pub(super) beamlet_mm: f64,
    /// Engine that corrects the maps at rest: collapsed cone, whose columns are minimised, unless chosen.
    pub(super) engine: Engine,
}

impl OptimiseQuery {
    /// Query for a plan of the case, or one that the case may get, and goals.
    ///
    /// # Errors
    /// Words for the user on what is missing.
    pub fn new(
        case: &Case,
        plan: &Arc<Plan>,
        goals: Vec<Goal>,
        settings: &Settings,
        rows_mm: Option<f64>,
        beamlet_mm: f64,
    ) -> Result<Self, String> {
        let densities = Densities::new(case, settings).ok_or("the case has no CT")?;
        if !plan.beams.iter().any(is_computed) {
            return Err(analysis::no_beams(plan));
        }
        let target = target_of(plan, &case.structures).map(|s| s.number);
        let has_target =
            case.structures.structures.iter().any(|s| {
                (s.kind.is_target() || Some(s.number) == target) && !s.contours.is_empty()
            });
        if !has_target {
            return Err("there is no target: give a structure the type PTV, CTV or GTV".to_owned());
        }
        if plan.prescription_gy.is_none() && goals.is_empty() {
            return Err(
                "the plan has no prescription and there is no goal: give one of them".to_owned(),
            );
        }
        let case = Case {
            doses: Vec::new(),
            ..case.clone()
        };
        let plan = Arc::clone(plan);
        Ok(Self {
            case,
            plan,
            goals,
            settings: settings.clone(),
            densities,
            rows_mm,
            beamlet_mm,
            engine: Engine::COLLAPSED_CONE,
        })
    }

    /// The query, corrected at rest by an engine and judged by it. One without histories is collapsed cone, by which it is anyway.
    #[must_use]
    pub fn corrected_by(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    pub(super) fn grid_mm(&self) -> f64 {
        self.rows_mm.unwrap_or(self.settings.grid_mm)
    }

    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The plan where the search starts: maps that leaves were cut from stand in their place.
    pub(super) fn start(&self) -> Plan {
        self.plan.uncut()
    }

    /// Whether the search starts at the same maps.
    pub(super) fn has_start_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan)
            || maps_of(&self.start().beams) == maps_of(&other.start().beams)
    }

    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Whether rows, fields and true dose are the same: other goals are answered from the same columns.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.settings, &other.settings);
        self.densities == other.densities
            && (
                ours.dose_to,
                ours.device,
                ours.machine_changes,
                ours.grid_mm,
                ours.quality,
            ) == (
                theirs.dose_to,
                theirs.device,
                theirs.machine_changes,
                theirs.grid_mm,
                theirs.quality,
            )
            && (self.rows_mm, self.beamlet_mm, self.engine)
                == (other.rows_mm, other.beamlet_mm, other.engine)
            && self.has_beams_of(other)
            && self.sampled().eq(other.sampled())
    }

    /// Whether objectives that no goal stands for, and the upper bounds of maps, are the same.
    fn has_objectives_of(&self, other: &Self) -> bool {
        self.plan.objectives == other.plan.objectives
            && limits_of(&self.plan) == limits_of(&other.plan)
    }

    /// Digest of the goals, other objectives, prescription and beams: maps of a plan that was optimised answer these. It outlives the
    /// window, and renames of the plan, its beams and structures.
    pub fn digest(&self) -> String {
        let FluenceObjectives {
            fall_off,
            monitor_units,
            uniform,
        } = &self.plan.objectives;
        let text = format!(
            "{:?}\n{fall_off:?} {monitor_units:?} {:?}\n{:?}\n{:?} {:?}\n{:?}",
            self.goals.iter().map(goal_by_number).collect::<Vec<_>>(),
            uniform.iter().map(uniform_by_number).collect::<Vec<_>>(),
            self.plan.prescription_gy,
            plan_without_maps(&self.plan),
            ways(&self.plan).collect::<Vec<_>>(),
            limits_of(&self.plan),
        );
        // Memory is read without an error.
        content_digest_of(&mut text.as_bytes()).unwrap_or_default()
    }

    fn has_beams_of(&self, other: &Self) -> bool {
        // Frames compare the same plan, whose leaves may be many.
        Arc::ptr_eq(&self.plan, &other.plan)
            || plan_without_maps(&self.plan) == plan_without_maps(&other.plan)
                && ways(&self.plan).eq(ways(&other.plan))
    }

    fn sampled(&self) -> impl Iterator<Item = (u32, &str, u64, bool)> {
        let target = target_of(&self.plan, &self.case.structures).map(|s| s.number);
        self.case.structures.structures.iter().map(move |s| {
            let is_target = s.kind.is_target() || Some(s.number) == target;
            (s.number, &*s.name, s.contours.id(), is_target)
        })
    }
}

impl PartialEq for OptimiseQuery {
    fn eq(&self, other: &Self) -> bool {
        self.has_rows_of(other)
            && self.goals == other.goals
            && self.has_objectives_of(other)
            && self.plan.prescription_gy == other.plan.prescription_gy
    }
}

/// A goal in words, by the number of its structure, else by the name.
fn goal_by_number(goal: &Goal) -> (Option<u32>, String) {
    let name = if goal.number.is_some() {
        ""
    } else {
        &*goal.structure
    };
    (
        goal.number,
        goal.clone().of_structure(name, goal.number).to_string(),
    )
}

/// A uniform dose without the name of a structure that has a number.
fn uniform_by_number(dose: &UniformDose) -> UniformDose {
    let structure = if dose.number.is_some() {
        String::new()
    } else {
        dose.structure.clone()
    };
    UniformDose {
        structure,
        ..dose.clone()
    }
}

/// Hundredths of a degree.
fn hundredths(deg: f64) -> i64 {
    (deg * 100.0).round() as i64
}

/// Upper bounds of the maps of a plan, by the beams' numbers.
fn limits_of(plan: &Plan) -> Vec<(u32, Vec<FluenceLimit>)> {
    let bounded = plan
        .beams
        .iter()
        .filter(|beam| !beam.limits_of_map().is_empty());
    bounded
        .map(|beam| (beam.number, beam.limits_of_map().to_vec()))
        .collect()
}

/// Start, stop and direction of the arcs of a plan: leaves of an arc have control points of their own on the same way, whose angles are
/// rounded to a thousandth of a degree.
fn ways(plan: &Plan) -> impl Iterator<Item = Option<([i64; 2], bool)>> {
    let arcs = plan
        .beams
        .iter()
        .filter(|beam| is_computed(beam))
        .map(sequence::arc_of);
    arcs.map(move |arc| {
        arc.map(|arc| {
            (
                [hundredths(arc.start_deg), hundredths(arc.stop_deg)],
                arc.clockwise,
            )
        })
    })
}

/// Number, monitor units and map of each beam.
pub(super) fn maps_of(beams: &[Beam]) -> Vec<(u32, f64, Option<&FluenceMap>)> {
    beams
        .iter()
        .map(|beam| (beam.number, beam.mu, beam.fluence.as_ref()))
        .collect()
}

/// A plan without what maps replace and what the optimisation does not read: collimators, monitor units, normalisation.
fn plan_without_maps(plan: &Plan) -> Plan {
    let mut plan = Plan {
        normalisation: None,
        prescription_gy: None,
        remarks: Vec::new(),
        absent_beams: Vec::new(),
        ..plan.delivered()
    };
    for beam in plan.beams.iter_mut().filter(|beam| is_computed(beam)) {
        beam.control_points.truncate(1);
        for point in &mut beam.control_points {
            point.jaws = Jaws::symmetric(0.0, 0.0);
            point.leaves_mm.clear();
            point.meterset_weight = 1.0;
        }
        (beam.mu, beam.mlc, beam.fluence) = (0.0, None, None);
    }
    plan
}

#[cfg(test)]
mod tests;
