//! Refinement of leaves on their true dose: tips and monitor units go down the gradient of the objectives, within the machine's limits.
//!
//! Columns of beamlets are doses of the collapsed cone, and their transposed product is its adjoint at the rows: it carries the gradient by
//! dose back to the beamlets, and those to tips and monitor units (`leaf_variables`). After each solution the true dose of the leaves
//! replaces the model's; what does not lower the objective there is taken back, and leaves may move less far the next time.

use super::OptimiseError;
use super::handles::{BEYOND_OF_LEAVES, between, move_handles};
use super::leaf_bounds::LeafBounds;
use super::leaf_variables::{LeafProblem, LeafVariables, angles_deg};
use super::objective::Objective;
use super::optimiser::{Optimiser, Progress};
use super::problem::Problem;
use super::setup::{CORRECTION, Setup, weigh_fall_off};
use super::solve::{Bounds, solve};
use case::{Beam, Plan};
use engine::{Compute, JobControl};
use sequence::broken_limit;

/// Extent of a refinement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Passes of the true dose, at most.
    passes: usize,
    /// Arcs deliver from the angles of their fields meanwhile, in a third of the time.
    from_fields: bool,
}

/// All that is worth its time on a device: the first passes gain the most, and on the CPU each takes seconds, of an arc half a minute.
impl Extent {
    fn new(device: &Compute, [on_card, elsewhere]: [usize; 2], from_fields: bool) -> Self {
        Self { passes: if matches!(device, Compute::Cuda(_)) { on_card } else { elsewhere }, from_fields }
    }

    pub fn whole(device: &Compute) -> Self {
        Self::new(device, [20, 6], false)
    }

    /// Arcs from the angles of their fields.
    pub fn from_fields(device: &Compute) -> Self {
        Self::new(device, [11, 3], true)
    }

    /// Arcs as they turn, after the most has been done from the angles of their fields.
    pub fn last(device: &Compute) -> Self {
        Self::new(device, [2, 1], false)
    }
}

/// Evaluations of a pass.
const EVALUATIONS: u64 = 40;

/// Tips move so far in the first pass, mm; below the least it ends.
const REACH_MM: f64 = 3.0;
const LEAST_REACH_MM: f64 = 0.2;

/// A pass that gains less, part of the objective, is the last once all that is asked for is met.
const LEAST_GAIN: f64 = 0.01;

/// Leaves with their true dose.
#[derive(Clone, Debug)]
pub struct RefinedLeaves {
    pub plan: Plan,
    /// The objective under true dose, by objectives at their last tails: of the leaves that it began with, and of these; `None` where it
    /// was stopped before that dose was known.
    pub objective: Option<[f64; 2]>,
}

impl RefinedLeaves {
    /// Leaves that nothing has refined yet.
    pub(super) fn as_cut(plan: Plan) -> Self {
        Self { plan, objective: None }
    }
}

/// Leaves of a plan under true dose.
struct Looked {
    plan: Plan,
    rows_gy: Vec<f32>,
    between_gy: Vec<f64>,
}

/// A beginning after one solution by the columns alone, and its objective by them: enough to tell beginnings apart, and it takes a third
/// of the time that a look at the true dose does as well.
///
/// # Errors
/// [`OptimiseError::NoValue`].
pub fn begun(
    optimiser: &Optimiser,
    plan: &Plan,
    fields_of: &dyn Fn(&Beam) -> Vec<usize>,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<(Plan, f64), OptimiseError> {
    let Optimiser { setup, columns, objectives, reference_gy, .. } = optimiser;
    let leaves = LeafVariables::new(plan, &setup.fields, fields_of);
    let problem = Problem::new(columns, &setup.rows, objectives, &[], 0.0, *reference_gy);
    let (mut next, objective) = moved(&leaves, plan, &problem, REACH_MM, control, tell)?;
    take_back_broken(&leaves, &mut next, plan);
    Ok((next, objective))
}

/// Leaves of a plan moved by one solution, each tip at most so far, and the objective there.
fn moved(
    leaves: &LeafVariables,
    plan: &Plan,
    problem: &Problem<'_>,
    reach_mm: f64,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<(Plan, f64), OptimiseError> {
    let values = leaves.values(plan);
    let of_leaves = LeafProblem::new(problem, leaves, &values);
    let room = LeafBounds::round(leaves, plan, &values, reach_mm);
    let bounds = Bounds { lower: &room.lower, upper: &room.upper };
    let mut each = |objective, evaluations, _: &dyn Fn() -> Vec<f64>| {
        tell(Progress::Iteration { objective, evaluations });
        !control.is_cancelled()
    };
    let solved = solve(&of_leaves, (&values, bounds), EVALUATIONS, 1e-4, &mut each)?;
    let mut next = leaves.plan_of(&solved.variables, plan);
    leaves.take_back_small_segments(&mut next, plan);
    Ok((next, solved.objective))
}

/// Refines the leaves of a plan by the objectives and columns of an optimiser that is at rest. `fields_of` gives the places of a beam's
/// fields among the optimiser's. The answer is never worse than `plan` by the objectives under true dose.
///
/// # Errors
/// [`OptimiseError`].
pub fn refine(
    optimiser: &Optimiser,
    plan: &Plan,
    fields_of: &dyn Fn(&Beam) -> Vec<usize>,
    extent: Extent,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<RefinedLeaves, OptimiseError> {
    let (setup, reference_gy) = (&optimiser.setup, optimiser.reference_gy);
    let leaves = LeafVariables::new(plan, &setup.fields, fields_of);
    let mut objectives = optimiser.objectives.clone();
    let look = |plan: Plan, objectives: &[Objective]| -> Result<Looked, OptimiseError> {
        let delivered = if extent.from_fields { from_fields(&plan, setup, fields_of) } else { plan.clone() };
        let truth = setup.dose_of_plan(&delivered, (&setup.grid, CORRECTION), control)?;
        let between_gy = between(setup, objectives, &truth, control);
        let rows_gy = truth.rows.iter().zip(&optimiser.finer_gy).map(|(gy, finer)| gy + finer).collect();
        Ok(Looked { plan, rows_gy, between_gy })
    };
    let problem_of = |objectives: &[Objective]| {
        Problem::new(&optimiser.columns, &setup.rows, objectives, &[], 0.0, reference_gy)
    };
    let value = |problem: &Problem<'_>, rows_gy: &[f32]| -> f64 { problem.values(rows_gy).iter().sum() };
    let first = match look(plan.clone(), &objectives) {
        Err(_) if control.is_cancelled() => return Ok(RefinedLeaves::as_cut(plan.clone())),
        first => first?,
    };
    let first_gy = first.rows_gy.clone();
    let mut best = first;
    let mut reach_mm = REACH_MM;
    for pass in 0..extent.passes {
        if reach_mm < LEAST_REACH_MM || control.is_cancelled() {
            break;
        }
        let doses = (&*best.rows_gy, &*best.between_gy);
        let met = move_handles(&mut objectives, &setup.rows, doses, (reference_gy, BEYOND_OF_LEAVES));
        if !met && pass == extent.passes / 4 {
            weigh_fall_off(&mut objectives, &setup.plan, true);
        }
        let mut problem = problem_of(&objectives);
        let by_columns = problem.doses(&leaves.fluences(&leaves.values(&best.plan)));
        problem.set_offset(best.rows_gy.iter().zip(&by_columns).map(|(gy, own)| gy - own).collect());
        let (mut next, _) = moved(&leaves, &best.plan, &problem, reach_mm, control, tell)?;
        let before = value(&problem, &best.rows_gy);
        if take_back_broken(&leaves, &mut next, &best.plan) == leaves.beams.len() {
            reach_mm *= 0.5;
            continue;
        }
        let next = match look(next, &objectives) {
            // What was found so far is kept.
            Err(_) if control.is_cancelled() => break,
            next => next?,
        };
        let after = value(&problem, &next.rows_gy);
        tell(Progress::Leaves { before, after });
        if after < before {
            best = next;
            if met && before - after < LEAST_GAIN * before {
                break;
            }
        } else {
            reach_mm *= 0.4;
        }
    }
    let problem = problem_of(&objectives);
    let objective = [&first_gy, &best.rows_gy].map(|rows_gy| value(&problem, rows_gy));
    let is_better = objective[1] <= objective[0];
    Ok(RefinedLeaves {
        plan: if is_better { best.plan } else { plan.clone() },
        objective: Some(if is_better { objective } else { [objective[0]; 2] }),
    })
}

impl Optimiser {
    /// Leaves that deliver the maps of this optimiser, which is at rest, refined; beams have the numbers of its fields.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub fn refined(
        &self,
        leaves: &Plan,
        control: &JobControl,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<RefinedLeaves, OptimiseError> {
        let fields_of = |beam: &Beam| self.places_of(&|number| number == beam.number);
        refine(self, leaves, &fields_of, Extent::whole(&self.setup.device), control, tell)
    }
}

/// A plan whose arcs deliver from the angles of their fields.
fn from_fields(plan: &Plan, setup: &Setup, fields_of: &dyn Fn(&Beam) -> Vec<usize>) -> Plan {
    let mut plan = plan.clone();
    for beam in &mut plan.beams {
        let angles_deg = angles_deg(&setup.fields, &fields_of(beam));
        if angles_deg.len() > 1 {
            *beam = sequence::from_angles(beam, &angles_deg);
        }
    }
    plan
}

/// Beams whose moved leaves break a limit of their machine are as they were; the number of them.
fn take_back_broken(leaves: &LeafVariables, moved: &mut Plan, before: &Plan) -> usize {
    let mut taken_back = 0;
    for own in &leaves.beams {
        let beam = &mut moved.beams[own.place];
        if broken_limit(beam, &own.delivery).is_some() {
            beam.clone_from(&before.beams[own.place]);
            taken_back += 1;
        }
    }
    taken_back
}
