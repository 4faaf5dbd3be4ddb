//! Refinement of leaves on their true dose: tips and monitor units follow the gradient of the objectives, within the machine's limits.
//!
//! Columns of beamlets are collapsed-cone doses, and the transposed product is the adjoint at the rows: it gives the gradient by fluence
//! from the gradient by dose, and `leaf_variables` the gradient by tips and monitor units. After each solution the true dose of the leaves
//! replaces the model's; a solution that does not lower the objective there is rejected, and the leaf reach reduced.

use super::OptimiseError;
use super::handles::{HandleAim, HandleDoses, Handles, LEAF_MARGIN, dvh_offsets_gy, move_handles};
use super::leaf_bounds::LeafBounds;
use super::leaf_variables::{LeafProblem, LeafVariables, angles_deg};
use super::objective::Objective;
use super::optimiser::Optimiser;
use super::problem::Problem;
use super::progress::Progress;
use super::refinement::{Refinement, RejectedBeam};
use super::setup::Setup;
use super::solve::{Bounds, Start, solve};
use case::{Beam, Plan};
use engine::{Compute, JobControl};
use sequence::broken_limit;

/// Extent of a refinement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Maximum number of passes of the true dose.
    passes: usize,
    /// Whether doses of arcs are computed from the angles of their fields, in a third of the time.
    from_fields: bool,
}

/// Numbers of passes with CUDA and elsewhere: the first passes gain the most, and on the CPU each takes seconds, half a minute with an arc.
impl Extent {
    fn new(device: &Compute, [cuda_passes, other_passes]: [usize; 2], from_fields: bool) -> Self {
        let passes = if matches!(device, Compute::Cuda(_)) {
            cuda_passes
        } else {
            other_passes
        };
        Self {
            passes,
            from_fields,
        }
    }

    /// All beams as they are delivered.
    pub fn as_delivered(device: &Compute) -> Self {
        Self::new(device, [20, 6], false)
    }

    /// Arcs from the angles of their fields.
    pub fn from_fields(device: &Compute) -> Self {
        Self::new(device, [11, 3], true)
    }

    /// Arcs as they are delivered, after the refinement from the angles of their fields.
    pub fn last(device: &Compute) -> Self {
        Self::new(device, [2, 1], false)
    }
}

/// Evaluations of a pass.
const EVALUATIONS: u64 = 40;

/// Maximum leaf movement in the first pass, mm.
const REACH_MM: f64 = 3.0;

/// The refinement ends when the maximum leaf movement is smaller, mm.
const LEAST_REACH_MM: f64 = 0.2;

/// A pass that lowers the objective by less than this fraction is the last once all goals are met.
const LEAST_GAIN: f64 = 0.01;

/// Leaves with their true dose.
#[derive(Clone, Debug)]
pub struct RefinedLeaves {
    pub plan: Plan,
    /// Objective under true dose at the last dose levels, of the initial leaves and of these; `None` if it was stopped before the first
    /// true dose.
    pub objective: Option<[f64; 2]>,
    /// Number of true doses that the refinement has computed.
    pub true_doses: usize,
    pub refinement: Refinement,
}

impl RefinedLeaves {
    /// Leaves of the sequencer.
    pub(super) fn unrefined(plan: Plan) -> Self {
        Self {
            plan,
            objective: None,
            true_doses: 0,
            refinement: Refinement::default(),
        }
    }
}

/// Leaves of a plan and their true dose.
#[derive(Clone)]
struct TrueDoseCheck {
    plan: Plan,
    rows_gy: Vec<f32>,
    dvh_offset_gy: Vec<f64>,
}

/// Leaves of a plan after one solution by the columns alone, and their objective. This suffices to rank start positions, in a third of the
/// time that a pass with the true dose takes.
///
/// # Errors
/// [`OptimiseError::NoValue`].
pub fn first_pass(
    optimiser: &Optimiser,
    plan: &Plan,
    fields_of: &dyn Fn(&Beam) -> Vec<usize>,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Result<(Plan, f64), OptimiseError> {
    let leaves = LeafVariables::new(plan, &optimiser.setup.fields, fields_of);
    let problem = leaf_problem(optimiser, &optimiser.objectives);
    let (mut next, objective) = moved(&leaves, plan, &problem, REACH_MM, control, report)?;
    restore_broken(&leaves, &mut next, plan);
    Ok((next, objective))
}

/// Objective on the columns of an optimiser, with the monitor units of leaves.
fn leaf_problem<'a>(optimiser: &'a Optimiser, objectives: &[Objective]) -> Problem<'a> {
    let Optimiser {
        setup,
        columns,
        reference_gy,
        monitor_units,
        ..
    } = optimiser;
    let monitor_units = monitor_units.of_leaves();
    Problem::new(
        columns,
        &setup.rows,
        objectives,
        monitor_units,
        *reference_gy,
    )
}

/// Leaves of a plan moved by one solution, each tip by at most `reach_mm`, and their objective.
fn moved(
    leaves: &LeafVariables,
    plan: &Plan,
    problem: &Problem<'_>,
    reach_mm: f64,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Result<(Plan, f64), OptimiseError> {
    let values = leaves.values(plan);
    let leaf_problem = LeafProblem::new(problem, leaves, &values);
    let bounds = LeafBounds::round(leaves, plan, &values, reach_mm);
    let bounds = Bounds {
        lower: &bounds.lower,
        upper: &bounds.upper,
    };
    let start = Start {
        variables: &values,
        bounds,
    };
    let solved = solve(
        &leaf_problem,
        start,
        EVALUATIONS,
        1e-4,
        &mut |objective, evaluations, _| {
            report(Progress::Iteration {
                objective,
                evaluations,
            });
            !control.is_cancelled()
        },
    )?;
    let mut next = leaves.plan_of(&solved.variables, plan);
    leaves.restore_small_segments(&mut next, plan);
    Ok((next, solved.objective))
}

/// Refines the leaves of a plan with the objectives and columns of a converged optimiser. `fields_of` gives the indices of a beam's fields
/// in the optimiser. Under true dose the answer is never worse than `plan`.
///
/// # Errors
/// [`OptimiseError`].
pub fn refine(
    optimiser: &Optimiser,
    plan: &Plan,
    fields_of: &dyn Fn(&Beam) -> Vec<usize>,
    extent: Extent,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Result<RefinedLeaves, OptimiseError> {
    let setup = &optimiser.setup;
    let leaves = LeafVariables::new(plan, &setup.fields, fields_of);
    let mut objectives = optimiser.objectives.clone();
    let delivery = if extent.from_fields {
        Delivery::FromFields(fields_of)
    } else {
        Delivery::Planned
    };
    let first = match TrueDoseCheck::new(optimiser, plan.clone(), &objectives, delivery, control) {
        Err(_) if control.is_cancelled() => return Ok(RefinedLeaves::unrefined(plan.clone())),
        first => first?,
    };
    let mut best = first.clone();
    let mut true_doses = 1;
    let mut refinement = Refinement::default();
    let mut reach_mm = REACH_MM;
    for _ in 0..extent.passes {
        if reach_mm < LEAST_REACH_MM || control.is_cancelled() {
            break;
        }
        let doses = HandleDoses {
            rows_gy: &best.rows_gy,
            dvh_offset_gy: &best.dvh_offset_gy,
        };
        let aim = HandleAim {
            reference_gy: optimiser.reference_gy,
            margin: LEAF_MARGIN,
            raises: false,
        };
        let Handles { are_met, .. } = move_handles(&mut objectives, &setup.rows, doses, aim);
        let mut problem = leaf_problem(optimiser, &objectives);
        let by_columns = problem.doses(&leaves.fluences(&leaves.values(&best.plan)));
        problem.set_offset(
            best.rows_gy
                .iter()
                .zip(&by_columns)
                .map(|(gy, column_gy)| gy - column_gy)
                .collect(),
        );
        let (mut next, _) = moved(&leaves, &best.plan, &problem, reach_mm, control, report)?;
        let best_value = total_value(&problem, &leaves, &best);
        let broken = restore_broken(&leaves, &mut next, &best.plan);
        let is_none_left = broken.len() == leaves.beams.len();
        refinement.passes += 1;
        refinement.reject(broken);
        if is_none_left {
            reach_mm *= 0.5;
            continue;
        }
        let next = match TrueDoseCheck::new(optimiser, next, &objectives, delivery, control) {
            // The best leaves so far are kept.
            Err(_) if control.is_cancelled() => break,
            next => next?,
        };
        true_doses += 1;
        let next_value = total_value(&problem, &leaves, &next);
        report(Progress::Leaves {
            before: best_value,
            after: next_value,
        });
        if next_value < best_value {
            best = next;
            refinement.kept += 1;
            if are_met && best_value - next_value < LEAST_GAIN * best_value {
                break;
            }
        } else {
            reach_mm *= 0.4;
        }
    }
    let problem = leaf_problem(optimiser, &objectives);
    let objective = [&first, &best].map(|leaf_dose| total_value(&problem, &leaves, leaf_dose));
    let is_better = objective[1] <= objective[0];
    if !is_better {
        // Handles have moved since: at the last dose levels the initial leaves are the better ones.
        refinement.kept = 0;
    }
    Ok(RefinedLeaves {
        plan: if is_better { best.plan } else { plan.clone() },
        objective: Some(if is_better {
            objective
        } else {
            [objective[0]; 2]
        }),
        true_doses,
        refinement,
    })
}

/// Objectives under true dose, and the price of the monitor units.
fn total_value(problem: &Problem<'_>, leaves: &LeafVariables, leaf_dose: &TrueDoseCheck) -> f64 {
    let of_doses: f64 = problem.values(&leaf_dose.rows_gy).iter().sum();
    of_doses + problem.price_per_mu() * leaves.mu(&leaves.values(&leaf_dose.plan))
}

/// How the true dose delivers arcs.
#[derive(Clone, Copy)]
enum Delivery<'a> {
    Planned,
    /// From the angles of their fields, by the indices of a beam's fields.
    FromFields(&'a dyn Fn(&Beam) -> Vec<usize>),
}

impl TrueDoseCheck {
    fn new(
        optimiser: &Optimiser,
        plan: Plan,
        objectives: &[Objective],
        delivery: Delivery<'_>,
        control: &JobControl,
    ) -> Result<Self, OptimiseError> {
        let setup = &optimiser.setup;
        let delivered = match delivery {
            Delivery::Planned => plan.clone(),
            Delivery::FromFields(fields_of) => from_fields(&plan, setup, fields_of),
        };
        let truth = setup.dose_of_plan(&delivered, setup.correction(), control)?;
        let dvh_offset_gy = dvh_offsets_gy(setup, objectives, &truth, control);
        let rows_gy = truth
            .rows
            .iter()
            .zip(&optimiser.finer_gy)
            .map(|(gy, finer)| gy + finer)
            .collect();
        Ok(Self {
            plan,
            rows_gy,
            dvh_offset_gy,
        })
    }
}

impl Optimiser {
    /// Refined leaves for the maps of this optimiser, which has converged; beams have the numbers of its fields.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub fn refined(
        &self,
        leaves: &Plan,
        control: &JobControl,
        report: &mut dyn FnMut(Progress),
    ) -> Result<RefinedLeaves, OptimiseError> {
        let extent = Extent::as_delivered(&self.setup.device);
        refine(
            self,
            leaves,
            &|beam| self.places_of(|number| number == beam.number),
            extent,
            control,
            report,
        )
    }
}

/// The plan with arcs delivered from the angles of their fields.
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

/// Restores beams whose moved leaves violate a limit of their machine, and returns them.
fn restore_broken(leaves: &LeafVariables, moved: &mut Plan, previous: &Plan) -> Vec<RejectedBeam> {
    let mut restored = Vec::new();
    for leaf_beam in &leaves.beams {
        let beam = &mut moved.beams[leaf_beam.place];
        if let Some(limit) = broken_limit(beam, &leaf_beam.delivery) {
            beam.clone_from(&previous.beams[leaf_beam.place]);
            restored.push(RejectedBeam {
                beam: beam.name.clone(),
                passes: 1,
                limit,
            });
        }
    }
    restored
}
