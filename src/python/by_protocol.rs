//! A plan by a protocol: the pipeline of the verb `plan`.

use super::case::PyCase;
use super::dose::PyDose;
use super::dose_job::How;
use super::errors::{Kind, argument, failure};
use super::job::run;
use super::json::dictionary;
use super::optimise::report;
use super::plan::PyPlan;
use analysis::{Engine, USUAL_MACHINE, plan_by_protocol};
use files::{Delivery, Protocol};
use pyo3::prelude::*;
use results::{GoalEntry, PlanByProtocol, RobustReport, compute_by_protocol};
use serde::Serialize;
use std::sync::Arc;

/// Figures of a plan by a protocol.
#[derive(Serialize)]
struct Figures {
    protocol: String,
    technique: &'static str,
    targets: Vec<Target>,
    made_structures: Vec<String>,
    protocol_remarks: Vec<String>,
    objective: f64,
    goals: Vec<GoalEntry>,
    remarks: Vec<String>,
    robust: Option<RobustReport>,
    undelivered: Vec<String>,
}

#[derive(Serialize)]
struct Target {
    target: String,
    structure: String,
    gy: f64,
}

/// The plan of a protocol with its true dose and figures; `beamsight.plan` says how.
#[pyfunction(name = "_plan")]
#[pyo3(signature = (case, protocol, technique, how, progress = None))]
pub fn plan<'py>(
    py: Python<'py>,
    case: &PyCase,
    protocol: &str,
    technique: Option<&str>,
    how: How,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(PyPlan, PyDose, Bound<'py, PyAny>)> {
    let protocol = Protocol::resolve(protocol).map_err(argument)?;
    let protocol = match technique {
        None => protocol,
        Some(word) => {
            let deliveries = Delivery::ALL.map(|delivery| (delivery.word(), delivery));
            let delivery = super::words::one_of("technique", word, &deliveries)?;
            protocol.delivered_by(delivery).map_err(argument)?
        }
    };
    let machine = how.machine.as_deref().unwrap_or(USUAL_MACHINE);
    let (planned, computed) = run(py, progress.as_ref(), |control, steps| {
        steps.tell("targets, structures and beams");
        let planned = plan_by_protocol(&case.0, &protocol, machine, control)
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        let job = how.job_of(&planned.case, planned.plan.clone(), Engine::COLLAPSED_CONE)?;
        let tell: &(dyn Fn(&str) + Sync) = &|words| steps.tell(words);
        let answer = compute_by_protocol(
            &job,
            &planned,
            &protocol,
            control,
            &mut |progress| report(progress, job.engine, control, steps),
            tell,
        );
        Ok((planned, answer.map_err(|why| failure(&why))?))
    })?;
    let goals = computed.goals(&planned);
    let PlanByProtocol {
        optimum,
        idle,
        result,
        robust,
        ..
    } = computed;
    let targets = planned.targets.into_iter();
    let figures = Figures {
        protocol: protocol.name.clone(),
        technique: protocol.delivery.word(),
        targets: targets
            .map(|(target, structure, gy)| Target {
                target,
                structure,
                gy,
            })
            .collect(),
        made_structures: planned.made,
        protocol_remarks: planned.remarks,
        objective: optimum.answer.objective,
        goals: goals.into_iter().map(GoalEntry::from).collect(),
        remarks: result.remarks.clone(),
        robust,
        undelivered: idle,
    };
    let figures = dictionary(py, &figures)?;
    let plan = PyPlan(Arc::new(result.plan.clone()));
    Ok((plan, PyDose::computed(&planned.case, result, None), figures))
}
