//! The optimisation of a plan in one call: for the command line, and of plans with arcs.

use super::super::graph::{Failure, Graph};
use super::super::inputs::Settings;
use super::super::patient::Densities;
use super::ORGAN_ROWS;
use super::request::{OptimiseRequest, body_of_fall_off};
use analysis::{OutsideTargets, no_beams};
use case::{Case, Goal, Plan};
use engine::JobControl;
use engine::dose::dose_grid;
use inverse::{Inputs, Optimised, Progress, optimise};
use sequence::Technique;
use std::sync::Arc;

/// Request for fluence maps.
#[derive(Clone, Debug)]
pub struct OptimiseJob<'a> {
    pub case: &'a Case,
    pub plan: &'a Plan,
    pub goals: &'a [Goal],
    pub settings: &'a Settings,
    /// Spacing of the sampled voxels, mm; `None`: the spacing of the dose grid.
    pub rows_mm: Option<f64>,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    /// Leaves that will deliver the maps, and whose dose is to meet the goals.
    pub technique: Option<Technique>,
}

/// The answer, and the goals that were judged only, each with why.
#[derive(Clone, Debug)]
pub struct OptimisedPlan {
    pub answer: Optimised,
    pub only_judged: Vec<(Goal, String)>,
    /// Region outside the targets in which doses of the plan are searched for hot spots.
    pub outside: OutsideTargets,
}

/// Optimises the maps of a plan's beams by the goals of the case.
///
/// # Errors
/// [`Failure`]: why there is no optimum.
pub fn optimise_plan(
    job: &OptimiseJob<'_>,
    graph: &Graph,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<OptimisedPlan, Failure> {
    let OptimiseJob {
        case,
        plan,
        goals,
        settings,
        ..
    } = *job;
    if let Some(fault) = plan.fault() {
        return Err(Failure::Here(fault.to_string()));
    }
    let plan = &plan.uncut();
    let densities =
        Densities::new(case, settings).ok_or_else(|| Failure::here("the case has no CT"))?;
    if !plan.beams.iter().any(analysis::is_computed) {
        return Err(Failure::Here(no_beams(plan)));
    }
    let ready = graph.full(&densities, control)?;
    let image = ready.patient().mass_density_g_cm3.grid();
    let grid_mm = job.rows_mm.unwrap_or(settings.grid_mm);
    let grid = dose_grid(image, ready.corners_mm(), grid_mm).map_err(Failure::here)?;
    let request = OptimiseRequest::new(case, plan, goals, false, &grid, graph, control)?;
    let body = body_of_fall_off(case, settings, &ready, graph, control)?;
    let inputs = Inputs {
        plan,
        patient: Arc::clone(ready.patient()),
        corners_mm: ready.corners_mm(),
        body: body.clone(),
        regions: request.regions(ORGAN_ROWS),
        grid_mm,
        beamlet_mm: job.beamlet_mm,
        dose_to: settings.dose_to,
        judged: None,
        technique: job.technique,
        windows: Vec::new(),
        device: settings.device.resolve().map_err(Failure::here)?,
    };
    let answer = optimise(
        &inputs,
        request.objectives(),
        request.reference_gy,
        control,
        tell,
    )
    .map_err(Failure::here)?;
    let outside = request.outside_targets(body);
    let judged = { goals.iter().zip(request.by_goal) }
        .filter_map(|(goal, objectives)| Some((goal.clone(), objectives.err()?)));
    Ok(OptimisedPlan {
        answer,
        only_judged: judged.collect(),
        outside,
    })
}
