//! The optimisation of a plan in one call: for the command line, Python, and plans with arcs.

use super::super::graph::{Failure, Graph};
use super::query::OptimiseQuery;
use super::request::Prepared;
use analysis::OutsideTargets;
use case::Goal;
use engine::JobControl;
use inverse::{Optimised, Progress, optimise};
use sequence::Technique;

/// The answer, and the goals that were judged only, each with why.
#[derive(Clone, Debug)]
pub struct OptimisedPlan {
    pub answer: Optimised,
    pub only_judged: Vec<(Goal, String)>,
    /// Region outside the targets in which doses of the plan are searched for hot spots.
    pub outside: OutsideTargets,
}

/// Optimises the maps of a query's plan, and the leaves that deliver them by a technique.
///
/// # Errors
/// [`Failure`]: why there is no optimum.
pub fn optimise_plan(
    query: &OptimiseQuery,
    technique: Option<Technique>,
    graph: &Graph,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Result<OptimisedPlan, Failure> {
    let prepared = Prepared::new(query, graph, control)?;
    let start = query.start();
    let inputs = prepared.inputs(query, &start, technique);
    let Prepared { request, body, .. } = prepared;
    let answer = optimise(
        &inputs,
        request.objectives(),
        request.reference_gy,
        control,
        report,
    )
    .map_err(Failure::here)?;
    let outside = request.outside_targets(body);
    let only_judged = query
        .goals
        .iter()
        .zip(request.by_goal)
        .filter_map(|(goal, objectives)| Some((goal.clone(), objectives.err()?)))
        .collect();
    Ok(OptimisedPlan {
        answer,
        only_judged,
        outside,
    })
}
