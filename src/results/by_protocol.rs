//! A plan by protocol from its goals to its true dose: maps or leaves, goals, and figures under the protocol's set-up error.

use super::graph::{Failure, Graph};
use super::optimise::{BEAMLET_MM, OptimiseQuery, OptimisedPlan, optimise_plan};
use super::plan_job::{PlanJob, PlanResult, compute_plan, with_matter_outside};
use super::scenarios::{RobustReport, compute_scenarios};
use analysis::{GoalRow, PlannedCase, ShiftDirections, is_computed};
use case::Plan;
use engine::JobControl;
use files::{Delivery, Protocol};
use inverse::Progress;
use sequence::{Technique, check_machines, undelivered};
use std::sync::Arc;

/// A plan by a protocol, with its dose.
#[derive(Debug)]
pub struct PlanByProtocol {
    pub optimum: OptimisedPlan,
    /// Names of the beams that get 0 MU, and are taken out.
    pub idle: Vec<String>,
    /// The true dose of the leaves, or of the maps where the protocol has no technique.
    pub result: PlanResult,
    /// The same with the matter outside the body counted, where that alone keeps the dose from being whole.
    pub with_matter: Option<PlanResult>,
    /// Under the set-up error of the protocol, where it has one.
    pub robust: Option<RobustReport>,
}

impl PlanByProtocol {
    /// The goals of the protocol in the dose.
    pub fn goals(&self, planned: &PlannedCase) -> Vec<GoalRow> {
        self.result.goals(
            self.with_matter.as_ref(),
            &planned.goals.goals,
            &planned.case.structures,
            planned.plan.prescription_gy,
        )
    }
}

/// How leaves deliver the maps of a protocol's plan; `None` where they stay maps.
pub fn technique_of(delivery: Delivery) -> Option<Technique> {
    match delivery {
        Delivery::Maps => None,
        Delivery::Imrt | Delivery::Vmat => Some(Technique::SlidingWindow),
        Delivery::Step => Some(Technique::StepAndShoot),
        Delivery::Few => Some(Technique::FewSegments),
    }
}

/// Optimises a prepared plan, delivers it and computes its true dose. The job says how doses are computed; plan and structures come
/// from `planned`. `progress` receives the steps of the optimiser, `tell` a line before each stage behind it.
///
/// # Errors
/// [`Failure`]: a machine that delivers no such plan, goals that no optimiser takes, why a dose cannot be computed.
pub fn compute_by_protocol(
    job: &PlanJob,
    planned: &PlannedCase,
    protocol: &Protocol,
    control: &JobControl,
    progress: &mut dyn FnMut(Progress),
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanByProtocol, Failure> {
    let technique = technique_of(protocol.delivery);
    if technique.is_some() {
        let beams = planned.plan.beams.iter();
        check_machines(&planned.plan, beams.filter(|beam| is_computed(beam)))
            .map_err(Failure::here)?;
    }
    let (case, goals, settings) = (&planned.case, &planned.goals.goals, job.settings()?);
    let plan = Arc::new(planned.plan.clone());
    let query = OptimiseQuery::new(case, &plan, goals.clone(), &settings, None, BEAMLET_MM)
        .map_err(Failure::here)?;
    let optimum = optimise_plan(&query, technique, &Graph::default(), control, progress)?;
    tell("true dose");
    let mut plan = match &optimum.answer.leaves {
        Some(leaves) => leaves.plan.clone(),
        None => optimum.answer.plan.clone(),
    };
    let idle = take_out_idle(&mut plan);
    let job = PlanJob {
        structures: Arc::clone(&case.structures),
        plan,
        ..job.clone()
    };
    let result = compute_plan(&job, control, tell)?;
    let with_matter = match goals[..] {
        [] => None,
        _ => with_matter_outside(&job, &result, control, tell)?,
    };
    let robust = match protocol.set_up_error_mm {
        None => None,
        Some(shift_mm) => {
            let job = PlanJob {
                plan: result.plan.clone(),
                ..job
            };
            let scenarios = ShiftDirections::Axes.scenarios(shift_mm);
            let robust = compute_scenarios(&job, &scenarios, control, tell)?;
            let hundred_gy = job.plan.prescription_gy;
            let set = &case.structures;
            Some(RobustReport::new(&robust, shift_mm, goals, set, hundred_gy))
        }
    };
    Ok(PlanByProtocol {
        optimum,
        idle,
        result,
        with_matter,
        robust,
    })
}

/// Takes out the beams that the optimum does without, since no plan with a beam of 0 MU leaves as DICOM; returns their names.
fn take_out_idle(plan: &mut Plan) -> Vec<String> {
    let idle: Vec<String> = undelivered(plan).map(str::to_owned).collect();
    plan.beams
        .retain(|beam| beam.mu > 0.0 || !idle.contains(&beam.name));
    idle
}
