//! The optimisation of a plan's fluences: what it is made of is asked of the graph, as doses are.

use super::graph::{Failure, Graph};
use super::inputs::Settings;
use super::patient::{Densities, MaskOf};
use analysis::no_beams;
use case::{Case, Goal, Plan, Structure, StructureKind};
use engine::JobControl;
use geometry::Mask;
use inverse::{Inputs, Objective, Optimised, Progress, of_goal, optimise};
use std::sync::Arc;

/// Request for fluence maps.
#[derive(Clone, Debug)]
pub struct OptimiseJob<'a> {
    pub case: &'a Case,
    pub plan: &'a Plan,
    pub goals: &'a [Goal],
    pub settings: &'a Settings,
    /// Spacing of the sampled voxels, mm.
    pub rows_mm: f64,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
}

/// The answer, and the goals that were judged only, each with why.
#[derive(Clone, Debug)]
pub struct OptimisedPlan {
    pub answer: Optimised,
    pub only_judged: Vec<(Goal, String)>,
}

/// Structures whose dose is asked for up to a prescription.
fn is_target(structure: &Structure) -> bool {
    matches!(structure.kind, StructureKind::Ptv | StructureKind::Ctv | StructureKind::Gtv)
}

/// Optimises the maps of a plan's beams by the goals of the case.
///
/// # Errors
/// [`Failure`]: why there is no optimum.
pub fn optimise_plan(
    job: &OptimiseJob<'_>,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<OptimisedPlan, Failure> {
    let OptimiseJob { case, plan, goals, settings, .. } = *job;
    if let Some(fault) = plan.fault() {
        return Err(Failure::Here(fault.to_string()));
    }
    let graph = Graph::default();
    let densities = Densities::of(case, settings).ok_or_else(|| Failure::here("the case has no CT"))?;
    if !plan.beams.iter().any(analysis::is_computed) {
        return Err(Failure::Here(no_beams(plan)));
    }
    let ready = graph.full(&densities, control)?;
    let mut only_judged = Vec::new();
    let mut structures: Vec<(&Structure, Arc<Mask>)> = Vec::new();
    let mut objectives: Vec<Objective> = Vec::new();
    let mask_of = |structure: &'_ Structure| -> Result<Option<Arc<Mask>>, Failure> {
        let Some(query) = MaskOf::of(case, structure) else { return Ok(None) };
        graph.full(&query, control).map(Some)
    };
    for goal in goals {
        let mut judged = |why: &str| only_judged.push((goal.clone(), why.to_owned()));
        let Ok(structure) = case.structures.referenced(goal.number, &goal.structure) else {
            judged("the case has no structure of its name");
            continue;
        };
        let known = structures.iter().find(|(of, _)| of.number == structure.number);
        let mask = match known {
            Some((_, mask)) => Arc::clone(mask),
            None => match mask_of(structure)? {
                Some(mask) if mask.volume_cm3() > 0.0 => {
                    structures.push((structure, Arc::clone(&mask)));
                    mask
                }
                _ => {
                    judged("the structure has no volume in the CT");
                    continue;
                }
            },
        };
        match of_goal(goal, mask.volume_cm3(), plan.prescription_gy, is_target(structure)) {
            Ok(found) => {
                objectives
                    .extend(found.into_iter().map(|o| Objective { structure: structure.name.clone(), ..o }));
            }
            Err(why) => judged(&why),
        }
    }
    // A target that no goal names is still to get its dose.
    let targeted = |structures: &[(&Structure, Arc<Mask>)]| structures.iter().any(|(s, _)| is_target(s));
    if !targeted(&structures)
        && let Some(target) = analysis::target_of(plan, &case.structures)
        && let Some(mask) = mask_of(target)?
    {
        structures.push((target, mask));
    }
    let limits = objectives.iter().map(|o| o.gy).fold(0.0, f64::max);
    let reference_gy = plan.prescription_gy.unwrap_or(limits);
    if reference_gy.is_nan() || reference_gy <= 0.0 {
        return Err(Failure::here("the plan has no prescription and no goal has a dose: give one of them"));
    }
    let targets = analysis::target_of(plan, &case.structures).map(|s| s.number);
    let is_one = |s: &Structure| is_target(s) || Some(s.number) == targets;
    let device = settings.device.resolve().map_err(Failure::here)?;
    let inputs = Inputs {
        plan,
        patient: Arc::clone(ready.patient()),
        corners_mm: ready.corners_mm(),
        body: ready.body().map(|mask| &**mask),
        structures: structures.iter().map(|(s, mask)| (s.name.clone(), &**mask, is_one(s))).collect(),
        objectives,
        reference_gy,
        grid_mm: job.rows_mm,
        beamlet_mm: job.beamlet_mm,
        dose_to: settings.dose_to,
        device: &device,
    };
    let answer = optimise(&inputs, control, tell).map_err(Failure::here)?;
    Ok(OptimisedPlan { answer, only_judged })
}
