//! Leaves that deliver the maps of a plan.

use super::super::beam::DoseOfBeam;
use super::super::graph::{Failure, Graph};
use super::super::inputs::Settings;
use super::super::patient::Densities;
use super::super::plan_dose::DoseOfPlan;
use super::job::optimise_plan;
use super::live::LiveOptimiser;
use super::query::OptimiseQuery;
use analysis::{is_computed, no_beams};
use case::{Beam, Case, Plan};
use engine::JobControl;
use inverse::{OptimiseRemark, Progress};
use sequence::{Technique, check_machines, sequence_plan_while};
use std::sync::{Arc, Mutex, PoisonError};

/// Request for the leaves of a plan of a case.
#[derive(Clone, Debug)]
pub struct LeavesJob {
    pub case: Case,
    pub plan: Arc<Plan>,
    pub settings: Settings,
    pub technique: Technique,
}

/// Leaves of a plan.
#[derive(Clone, Debug)]
pub struct Leaves {
    pub beams: Vec<Beam>,
    /// Whether they were refined on their true dose.
    pub are_refined: bool,
    pub remarks: Vec<OptimiseRemark>,
}

/// Cuts the maps of a plan into leaves, with the monitor units of its normalisation, and refines them where `live` has come to rest with
/// these maps. Leaves that were cut before are cut anew.
///
/// # Errors
/// [`Failure`] of the dose that the plan is normalised by; [`sequence::SequenceError`] in words.
pub fn cut_into_leaves(
    job: &LeavesJob,
    live: &Mutex<Option<LiveOptimiser>>,
    graph: &Graph,
    control: &JobControl,
) -> Result<Leaves, Failure> {
    let plan = Arc::new(job.plan.uncut());
    if let Some(fault) = plan.fault() {
        return Err(Failure::Here(fault.to_string()));
    }
    // Machines are refused before any dose.
    let with_map = plan.beams.iter().filter(|beam| beam.fluence.is_some());
    check_machines(&plan, with_map).map_err(Failure::here)?;
    let factor = factor(job, &plan, graph, control)?;
    let mut plan = Arc::unwrap_or_clone(plan);
    plan.beams.iter_mut().for_each(|beam| beam.mu *= factor);
    let cut = sequence_plan_while(&plan, job.technique, &|| !control.is_cancelled());
    control.check()?;
    let cut = cut.map_err(Failure::here)?;
    let live = live.lock().unwrap_or_else(PoisonError::into_inner);
    let refined = live
        .as_ref()
        .and_then(|live| live.refined(&plan, &cut.plan, control))
        .transpose()?;
    control.check()?;
    let are_refined = refined.is_some();
    let refinement = refined.as_ref().map(|leaves| leaves.refinement.remarks());
    let delivered = refined.map_or(cut.plan, |leaves| leaves.plan);
    let mut remarks = OptimiseRemark::of_plan(&delivered);
    remarks.extend(refinement.unwrap_or_default());
    let of_map = delivered
        .beams
        .into_iter()
        .zip(&plan.beams)
        .filter(|(_, map)| map.fluence.is_some());
    Ok(Leaves {
        beams: of_map.map(|(leaves, _)| leaves).collect(),
        are_refined,
        remarks,
    })
}

/// Leaves of a plan with arcs, from its goals to the refined leaves in one go: fluence maps of arcs belong to sectors, which no plan holds.
///
/// # Errors
/// [`Failure`]: why there are none, or cancelled.
pub fn leaves_of_arcs(
    query: &OptimiseQuery,
    technique: Technique,
    graph: &Graph,
    control: &JobControl,
) -> Result<Leaves, Failure> {
    /// Parts of the time that columns take, and one look at true dose of the refinement.
    const COLUMNS: f32 = 0.3;
    const LOOK: f32 = 0.05;
    let mut looks = 0.0;
    let optimised =
        optimise_plan(
            query,
            Some(technique),
            graph,
            control,
            &mut |progress| match progress {
                Progress::Columns { done, of: count } => {
                    control
                        .report((COLUMNS * done as f32 / count.max(1) as f32).max(control.done()));
                }
                Progress::Leaves { .. } => {
                    looks += 1.0;
                    control.report((COLUMNS + LOOK * looks).min(0.99));
                }
                Progress::Iteration { .. }
                | Progress::TrueDose { .. }
                | Progress::Histories { .. } => {}
            },
        )?;
    control.check()?;
    let leaves = optimised
        .answer
        .leaves
        .ok_or_else(|| Failure::here("the arcs have no leaves"))?;
    let beams = leaves.plan.beams.into_iter().filter(is_computed);
    Ok(Leaves {
        beams: beams.collect(),
        are_refined: true,
        remarks: optimised.answer.remarks,
    })
}

/// Factor of the plan's normalisation on all monitor units.
fn factor(
    job: &LeavesJob,
    plan: &Arc<Plan>,
    graph: &Graph,
    control: &JobControl,
) -> Result<f64, Failure> {
    if plan.normalisation.is_none() {
        return Ok(1.0);
    }
    let LeavesJob { case, settings, .. } = job;
    let densities =
        Densities::new(case, settings).ok_or_else(|| Failure::here("the case has no CT"))?;
    let computed = plan.beams.iter().filter(|beam| is_computed(beam));
    let beams: Vec<DoseOfBeam> = computed
        .map(|beam| DoseOfBeam::new(&densities, plan, beam, settings, None))
        .collect();
    let dose = DoseOfPlan::of_plan(case, plan, None, &beams, None, None);
    Ok(graph
        .full(&dose.ok_or_else(|| Failure::Here(no_beams(plan)))?, control)?
        .factor)
}
