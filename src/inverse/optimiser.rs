//! An optimisation that continues: new objectives, the true dose and turned beams each replace a part of its state, and keep the others.

mod histories;
mod true_dose;

use super::OptimiseError;
use super::columns::{BeamColumns, Columns, compute_missing};
use super::handles::{HandleAim, HandleDoses, MAP_MARGIN, move_handles};
use super::hot_spots::{self, Greatest};
use super::objective::Objective;
use super::problem::Problem;
use super::progress::{Progress, Snapshot, Watch};
use super::receipt::{OptimiseReceipt, since_ms};
use super::remarks::{self, OptimiseRemark};
use super::rows::{RowSet, Rows};
use super::setup::{Field, Inputs, Setup, completed, is_of_fall_off, weigh_fall_off};
use super::smoothness;
use super::solve::{
    Bounds, Differentiable as _, Memory, SolveLimits, Start, Stop, solve, solve_with_memory,
};
use super::wish_passes::{self, NextStep, WishPasses};
use analysis::{Dvh, UNIT_MU};
use case::{FluenceMap, Plan};
use engine::{Compute, JobControl};
use histories::EngineDifference;
pub use histories::RUNS;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of evaluations between two computations of the true dose.
struct EvaluationLimits {
    first: u64,
    later: u64,
    /// With conflicting goals: after [`EASY_PASSES`].
    conflicting: u64,
    last: u64,
}

const EVALUATIONS: EvaluationLimits = EvaluationLimits {
    first: 120,
    later: 40,
    conflicting: 200,
    last: 200,
};

/// Evaluations after new objectives or a turned beam, with CUDA and elsewhere: after a small drag the objective is then within 2 % of its
/// minimum.
const FOLLOW_EVALUATIONS_CUDA: u64 = 36;
const FOLLOW_EVALUATIONS_OTHER: u64 = 22;

/// Passes of the true dose within which compatible goals are met. After them the default fall-off is weakened, and handles follow the dose
/// that the plan is judged by.
const EASY_PASSES: usize = 8;

/// Maximum number of passes of the true dose.
const MOST_PASSES: usize = 15;

/// Maximum number of passes from one true dose to the next on the CPU.
const PASSES_PER_TRUE_DOSE: usize = 4;

/// The true dose has converged if it moves by less in the targets, fraction of the reference dose.
const AT_REST: f64 = 0.001;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Solve,
    Correct,
    /// Computes the dose that the plan is judged by.
    Judge,
    /// Computes the dose by histories that corrects the maps at rest.
    Histories,
    Rest,
}

impl From<NextStep> for Phase {
    fn from(step: NextStep) -> Self {
        match step {
            NextStep::Solve => Self::Solve,
            NextStep::Correct => Self::Correct,
            NextStep::Rest => Self::Rest,
        }
    }
}

/// Rows, columns, objectives and fluences of a plan.
#[derive(Clone, Debug)]
pub struct Optimiser {
    pub(super) setup: Setup,
    /// Columns of each field, once computed.
    pub(super) field_columns: Vec<Option<Arc<BeamColumns>>>,
    /// Columns of all fields; the previous ones until all are computed.
    pub(super) columns: Columns,
    pub(super) neighbours: Vec<[usize; 2]>,
    /// All minimised objectives, at their last dose levels; the requested ones come first.
    pub(super) objectives: Vec<Objective>,
    requested: usize,
    pub(super) reference_gy: f64,
    pub(super) fluences: Vec<f64>,
    /// Curvature of the objective, kept while handles, goals and wishes move.
    memory: Memory,
    /// Whether wishes count: after the first solutions, which meet the goals as well as they can be met.
    pub(super) are_wishes_minimised: bool,
    /// Passes of the wishes, once goals are met.
    pub(super) wish_passes: Option<Box<WishPasses>>,
    /// Upper bounds of the fluences, infinite where there is none.
    pub(super) upper: Vec<f64>,
    pub(super) offset_gy: Vec<f32>,
    /// Dose that the plan is judged by minus the dose on the rows' grid, for each row at the last judgement, Gy.
    pub(super) finer_gy: Vec<f32>,
    is_judged: bool,
    /// Mean of the runs of histories since collapsed cone came to rest.
    engine_difference: Option<EngineDifference>,
    /// DVH point on the evaluation grid minus the same point on the sampled voxels, for each objective, Gy.
    pub(super) dvh_offset_gy: Vec<f64>,
    pub(super) objective: f64,
    pub(super) receipt: OptimiseReceipt,
    pub(super) moved_percent: Option<f64>,
    phase: Phase,
    pass: usize,
    /// All goals are met and the true dose has converged: the last solution follows.
    ends: bool,
    /// Goals conflict: the default fall-off is weakened.
    pub(super) is_contested: bool,
    /// Objectives or beams have changed since the last solution.
    follows: bool,
    greatest: Arc<Greatest>,
    /// Number of times that hot spots have become rows.
    pub(super) times_held: usize,
}

impl Optimiser {
    /// An optimiser that minimises `objectives`. It takes the columns of fields with equal inputs from the `previous` one; fluences start
    /// at the plan's maps.
    ///
    /// # Errors
    /// [`OptimiseError`] but for columns.
    pub fn new(
        inputs: &Inputs<'_>,
        objectives: Vec<Objective>,
        reference_gy: f64,
        previous: Option<&Self>,
    ) -> Result<Self, OptimiseError> {
        let setup = Setup::new(inputs, previous.map(|previous| &previous.setup))?;
        let mut optimiser = Self::of_setup(setup, objectives, reference_gy, previous)?;
        // A turned beam leaves organs as low as they were.
        optimiser.are_wishes_minimised =
            previous.is_some_and(|previous| previous.are_wishes_minimised);
        Ok(optimiser)
    }

    /// An optimiser that answers as if there were no previous one: it takes only columns, and rows without hot spots.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn afresh(
        inputs: &Inputs<'_>,
        objectives: Vec<Objective>,
        reference_gy: f64,
        previous: &Self,
    ) -> Result<Self, OptimiseError> {
        let previous_setup = Some(&previous.setup).filter(|setup| !setup.has_hot_spots);
        let mut setup = Setup::new(inputs, previous_setup)?;
        setup.unavoidable_gy = 0.0;
        Self::of_setup(setup, objectives, reference_gy, Some(previous))
    }

    fn of_setup(
        setup: Setup,
        objectives: Vec<Objective>,
        reference_gy: f64,
        previous: Option<&Self>,
    ) -> Result<Self, OptimiseError> {
        setup.check_histories()?;
        let field_columns: Vec<_> = setup
            .fields
            .iter()
            .map(|field| previous?.columns_for(&setup, field))
            .collect();
        let mut optimiser = Self {
            neighbours: setup.neighbours(),
            columns: previous
                .map(|previous| previous.columns.clone())
                .unwrap_or_default(),
            field_columns,
            objectives: Vec::new(),
            requested: 0,
            reference_gy,
            fluences: Vec::new(),
            memory: Memory::default(),
            are_wishes_minimised: false,
            wish_passes: None,
            upper: upper(&setup),
            offset_gy: vec![0.0; setup.rows.voxels.len()],
            finer_gy: vec![0.0; setup.rows.voxels.len()],
            is_judged: setup.judged.is_none(),
            engine_difference: None,
            dvh_offset_gy: Vec::new(),
            objective: f64::INFINITY,
            receipt: OptimiseReceipt::new(&setup.device),
            moved_percent: None,
            phase: Phase::Solve,
            pass: 0,
            ends: false,
            is_contested: false,
            follows: false,
            greatest: Arc::default(),
            times_held: 0,
            setup,
        };
        optimiser.set_objectives(objectives, reference_gy)?;
        Columns::check(optimiser.rows().voxels.len(), optimiser.setup.beamlets())?;
        Ok(optimiser)
    }

    /// Columns of a field of another setup, if a field of this one has the same.
    fn columns_for(&self, setup: &Setup, field: &Field) -> Option<Arc<BeamColumns>> {
        let mut fields = self.setup.fields.iter().zip(&self.field_columns);
        let (_, columns) =
            fields.find(|(other, _)| setup.shares_columns(field, &self.setup, other))?;
        columns.clone()
    }

    pub fn rows(&self) -> &Arc<Rows> {
        &self.setup.rows
    }

    /// Number of beams whose columns are computed, and of all beams.
    pub fn beams(&self) -> [usize; 2] {
        [
            self.field_columns.iter().flatten().count(),
            self.field_columns.len(),
        ]
    }

    /// The last move of the true dose in the targets, percent of the reference dose; `None` before its first computation.
    pub fn moved_percent(&self) -> Option<f64> {
        self.moved_percent
    }

    pub fn receipt(&self) -> &OptimiseReceipt {
        &self.receipt
    }

    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Rest
    }

    /// Replaces the objectives: fluences and the difference to the true dose stay, and dose levels keep their distance to the goals.
    ///
    /// # Errors
    /// [`OptimiseError::NoObjectives`]: then the objectives are unchanged.
    pub fn set_objectives(
        &mut self,
        objectives: Vec<Objective>,
        reference_gy: f64,
    ) -> Result<(), OptimiseError> {
        let requested = objectives.len();
        let mut objectives = completed(objectives, &self.setup, reference_gy);
        weigh_fall_off(&mut objectives, &self.setup.plan, self.is_contested);
        if !objectives
            .iter()
            .any(|o| self.rows().set(&o.structure).is_some())
        {
            return Err(OptimiseError::NoObjectives);
        }
        for next in &mut objectives {
            let Some(figure) = next.asked else { continue };
            let old = self.objectives.iter().find(|old| {
                (&old.structure, old.aim) == (&next.structure, next.aim)
                    && old.asked.is_some_and(|old| old.is_alike(figure))
            });
            if let Some(old) = old
                && let Some(old_figure) = old.asked
            {
                next.gy = (old.gy + figure.gy() - old_figure.gy()).max(0.0);
            }
        }
        (self.objectives, self.requested, self.reference_gy) =
            (objectives, requested, reference_gy);
        self.dvh_offset_gy.clear();
        if self.is_at_rest() || self.is_corrected_by_histories() {
            self.pass = 1;
        }
        // With CUDA the true dose is computed between two objectives of a drag; elsewhere the drag would wait for it.
        let corrects =
            self.phase == Phase::Correct && matches!(self.setup.device, Compute::Cuda(_));
        self.phase = if corrects {
            Phase::Correct
        } else {
            Phase::Solve
        };
        (self.ends, self.follows) = (false, !self.fluences.is_empty());
        self.wish_passes = None;
        self.drop_histories();
        self.is_judged = self.setup.judged.is_none();
        Ok(())
    }

    /// Takes the plan's own objectives, from the next objectives on, and fluence limits from a plan with the same beams.
    pub fn set_plan(&mut self, plan: &Plan) {
        self.setup.plan = plan.clone();
        self.upper = upper(&self.setup);
    }

    /// Restarts from the maps of a plan with the same beams.
    pub fn restart(&mut self, plan: &Plan) {
        self.set_plan(plan);
        self.fluences.clear();
        (self.memory, self.wish_passes) = (Memory::default(), None);
        self.drop_histories();
        self.are_wishes_minimised = false;
        (self.phase, self.pass, self.ends) = (Phase::Solve, 0, false);
        self.is_contested = false;
        weigh_fall_off(&mut self.objectives, &self.setup.plan, false);
        self.is_judged = self.setup.judged.is_none();
    }

    /// The next step: columns of a few beams, a bounded number of evaluations, or a true dose. If `watch` stops the solver, the current
    /// iterate is kept.
    ///
    /// # Errors
    /// [`OptimiseError`]: a step that fails changes nothing.
    pub fn advance(
        &mut self,
        control: &JobControl,
        watch: &mut Watch<'_>,
    ) -> Result<(), OptimiseError> {
        let start = Instant::now();
        if self.compute_next(control)? {
            self.receipt.columns_ms += since_ms(start);
            let [done, total] = self.beams();
            watch(Progress::Columns { done, of: total }, &|| None);
            return Ok(());
        }
        if self.fluences.is_empty() {
            self.join_columns();
            (self.fluences, self.follows) = self.start();
        }
        match self.phase {
            Phase::Solve => {
                self.solve(watch)?;
                self.receipt.solutions_ms += since_ms(start);
            }
            Phase::Correct if self.wish_passes.is_some() && !self.follows => {
                let (moved, _) = self.correct(control)?;
                self.receipt.true_doses += 1;
                self.receipt.true_doses_ms += since_ms(start);
                self.phase = self.after_wished_true_dose().into();
                let moved_percent = 100.0 * moved;
                watch(Progress::TrueDose { moved_percent }, &|| self.snapshot());
            }
            Phase::Correct => {
                let (moved, truth) = self.correct(control)?;
                self.receipt.true_doses += 1;
                self.receipt.true_doses_ms += since_ms(start);
                // Fluences of former objectives say nothing about the goals of new ones.
                let mut are_met = false;
                if !self.follows {
                    (self.objectives, are_met) = self.with_moved_handles();
                }
                let is_settled = !self.follows && (are_met || self.pass >= hot_spots::SETTLED);
                let holds_more = is_settled
                    && self.pass + 1 < MOST_PASSES
                    && self.hold_hot_spots(&truth, control, watch)?;
                self.pass += 1;
                self.ends = self.pass >= MOST_PASSES || (moved < AT_REST && are_met && !holds_more);
                self.phase = Phase::Solve;
                if self.pass >= EASY_PASSES && !self.is_contested && !self.ends && !self.follows {
                    self.is_contested = true;
                    weigh_fall_off(&mut self.objectives, &self.setup.plan, true);
                    self.phase = if self.is_judged {
                        Phase::Solve
                    } else {
                        Phase::Judge
                    };
                }
                watch(
                    Progress::TrueDose {
                        moved_percent: 100.0 * moved,
                    },
                    &|| self.snapshot(),
                );
            }
            Phase::Judge => {
                self.judge(control)?;
                self.receipt.true_doses += 1;
                self.receipt.true_doses_ms += since_ms(start);
                (self.is_judged, self.phase) = (true, Phase::Solve);
                let moved_percent = self.moved_percent.unwrap_or_default();
                watch(Progress::TrueDose { moved_percent }, &|| self.snapshot());
            }
            Phase::Histories => self.correct_by_histories(control, watch)?,
            Phase::Rest => {}
        }
        if self.phase == Phase::Rest && self.has_runs_left() {
            self.phase = Phase::Histories;
        }
        Ok(())
    }

    /// Computes the next missing columns; whether any were missing.
    fn compute_next(&mut self, control: &JobControl) -> Result<bool, OptimiseError> {
        compute_missing(&self.setup, &mut self.field_columns, control)
    }

    pub(super) fn join_columns(&mut self) {
        let computed: Vec<_> = self.field_columns.iter().flatten().cloned().collect();
        let rows = self.setup.rows.voxels.len();
        self.columns = Columns::new(rows, &computed, &self.setup.device, &self.columns);
        self.memory = Memory::default();
    }

    /// Computes all columns without a solution.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub(super) fn make_columns(
        &mut self,
        control: &JobControl,
        report: &mut dyn FnMut(Progress),
    ) -> Result<(), OptimiseError> {
        while self.compute_next(control)? {
            let [done, total] = self.beams();
            report(Progress::Columns { done, of: total });
        }
        self.join_columns();
        Ok(())
    }

    /// Takes the objectives, with their dose levels, and the difference to the judged dose from another optimiser over the same rows.
    pub(super) fn take_tails(&mut self, other: &Self) {
        self.objectives.clone_from(&other.objectives);
        self.finer_gy.clone_from(&other.finer_gy);
    }

    /// The requested objectives, at their last dose levels.
    pub(super) fn asked(&self) -> &[Objective] {
        &self.objectives[..self.requested]
    }

    /// Indices of the fields whose numbers satisfy a condition.
    pub(super) fn places_of(&self, is_number: impl Fn(u32) -> bool) -> Vec<usize> {
        let fields = &self.setup.fields;
        (0..fields.len())
            .filter(|n| is_number(fields[*n].1.beam.number))
            .collect()
    }

    pub(super) fn problem(&self) -> Problem<'_> {
        let mut objectives = Cow::Borrowed(&self.objectives);
        if !self.are_wishes_minimised && self.objectives.iter().any(Objective::is_wish) {
            let wishes = objectives.to_mut().iter_mut().filter(|o| o.is_wish());
            wishes.for_each(|wish| wish.weight = 0.0);
        }
        let mut problem = Problem::new(
            &self.columns,
            self.rows(),
            &objectives,
            &self.neighbours,
            self.smoothness(),
            self.reference_gy,
        );
        problem.set_offset(self.offset_gy.clone());
        problem
    }

    fn solve(&mut self, watch: &mut Watch<'_>) -> Result<(), OptimiseError> {
        let (max_evaluations, min_gain) = match (self.follows, self.ends, &self.setup.device) {
            (true, _, Compute::Cuda(_)) => (FOLLOW_EVALUATIONS_CUDA, 1e-3),
            (true, ..) => (FOLLOW_EVALUATIONS_OTHER, 1e-3),
            _ if self.runs() > 0 => (EVALUATIONS.last, 1e-5),
            _ if self.wish_passes.is_some() => (wish_passes::EVALUATIONS, 0.0),
            (_, true, _) => (EVALUATIONS.last, 1e-5),
            _ if self.is_contested => (EVALUATIONS.conflicting, 1e-4),
            _ if self.pass == 0 => (EVALUATIONS.first, 1e-3),
            _ => (EVALUATIONS.later, 1e-3),
        };
        let mut memory = std::mem::take(&mut self.memory);
        let problem = self.problem();
        let start = Start {
            variables: &self.fluences,
            bounds: Bounds {
                lower: &vec![0.0; self.fluences.len()],
                upper: &self.upper,
            },
        };
        let limits = SolveLimits {
            max_evaluations,
            min_gain,
        };
        let solved = solve_with_memory(
            &problem,
            start,
            limits,
            &mut memory,
            &mut |objective, evaluations, fluences| {
                let evaluations = self.receipt.evaluations + evaluations;
                watch(
                    Progress::Iteration {
                        objective,
                        evaluations,
                    },
                    &|| Some(self.snapshot_of(&problem, &fluences(), objective, evaluations)),
                )
            },
        )?;
        // Curvature without wishes is found anew: the search for goals alone is what it was.
        self.memory = if self.has_wishes() {
            memory
        } else {
            Memory::default()
        };
        self.receipt.evaluations += solved.evaluations;
        self.receipt.solutions += 1;
        (self.fluences, self.objective) = (solved.variables, solved.objective);
        if solved.stop != Stop::Asked && self.runs() > 0 {
            self.phase = Phase::Histories;
        } else if solved.stop != Stop::Asked && self.wish_passes.is_some() {
            self.phase = if self.follows {
                Phase::Correct
            } else {
                self.after_wished_solution().into()
            };
            self.follows = false;
        } else if solved.stop != Stop::Asked {
            self.follows = false;
            // The last solution may violate a goal that was met before.
            self.ends = self.ends && (self.pass >= MOST_PASSES || self.with_moved_handles().1);
            self.phase = match (self.ends, self.is_judged) {
                (false, _) if self.continues_without_true_dose() => Phase::Solve,
                (false, _) => Phase::Correct,
                (true, false) => Phase::Judge,
                (true, true) if self.has_wishes() => {
                    self.begin_wishes();
                    Phase::Solve
                }
                (true, true) => Phase::Rest,
            };
        }
        Ok(())
    }

    /// The current objective over its minimum with these columns, offset and dose levels: 1 at the optimum.
    ///
    /// # Errors
    /// [`OptimiseError::NoValue`].
    pub fn over_least(&self) -> Result<f64, OptimiseError> {
        let start = Start {
            variables: &self.fluences,
            bounds: Bounds {
                lower: &vec![0.0; self.fluences.len()],
                upper: &self.upper,
            },
        };
        let optimum = solve(&self.problem(), start, u64::MAX, 1e-7, &mut |_, _, _| true);
        Ok(self.objective / optimum?.objective)
    }

    /// The current objective.
    fn value(&self) -> f64 {
        self.problem().evaluate(&self.fluences, &mut Vec::new())
    }

    /// Moves handles with the last difference to the true dose until the goals are met; then the judged dose replaces the next true dose.
    /// Whether a solution comes next. For the CPU alone, where a true dose takes as long as hundreds of evaluations.
    fn continues_without_true_dose(&mut self) -> bool {
        if !matches!(self.setup.device, Compute::Cpu) || self.dvh_offset_gy.is_empty() {
            return false;
        }
        let (objectives, are_met) = self.with_moved_handles();
        if are_met {
            self.ends = !self.is_judged;
            return self.ends;
        }
        let waits = !self.pass.is_multiple_of(PASSES_PER_TRUE_DOSE) && self.pass + 1 < MOST_PASSES;
        if waits {
            self.objectives = objectives;
            self.pass += 1;
        }
        waits
    }

    /// The objectives with their handles moved by the current doses, and whether all goals are met.
    fn with_moved_handles(&self) -> (Vec<Objective>, bool) {
        let mut objectives = self.objectives.clone();
        let doses = HandleDoses {
            rows_gy: &self.doses_gy(),
            dvh_offset_gy: &self.dvh_offset_gy,
        };
        let aim = HandleAim {
            reference_gy: self.reference_gy,
            margin: MAP_MARGIN,
        };
        let are_met = move_handles(&mut objectives, self.rows(), doses, aim);
        (objectives, are_met)
    }

    /// The current answer; `None` before all columns are computed.
    pub fn snapshot(&self) -> Option<Snapshot> {
        (!self.fluences.is_empty()).then(|| {
            self.snapshot_of(
                &self.problem(),
                &self.fluences,
                self.objective,
                self.receipt.evaluations,
            )
        })
    }

    fn snapshot_of(
        &self,
        problem: &Problem<'_>,
        x: &[f64],
        objective: f64,
        evaluations: u64,
    ) -> Snapshot {
        let doses_gy = problem.doses(x);
        let (values, smoothness) = (problem.values(&doses_gy), problem.smoothness_value(x));
        let total = (values.iter().sum::<f64>() + smoothness).max(f64::MIN_POSITIVE);
        let (requested, added) = self.objectives.split_at(self.requested);
        let (requested_values, added_values) = values.split_at(self.requested);
        let mut shares = Vec::with_capacity(requested.len());
        for (objective, value) in requested.iter().zip(requested_values) {
            let hot = added
                .iter()
                .zip(added_values)
                .filter(|(hot, _)| hot_spots::is_part_of(hot, objective));
            shares.push((value + hot.map(|(_, value)| value).sum::<f64>()) / total);
        }
        let all_values = self.objectives.iter().zip(&values);
        Snapshot {
            plan: self.with_maps(x),
            rows: Arc::clone(self.rows()),
            doses_gy,
            greatest: Arc::clone(&self.greatest),
            shares,
            fall_off_share: all_values
                .filter(|(o, _)| is_of_fall_off(o) || o.structure == hot_spots::OUTSIDE)
                .map(|(_, value)| value / total)
                .sum(),
            smoothness_share: smoothness / total,
            objective,
            receipt: OptimiseReceipt {
                evaluations,
                ..self.receipt.clone()
            },
        }
    }

    /// Remarks on goals and beams that the optimisation cannot take as the plan has them.
    pub fn remarks(&self) -> Vec<OptimiseRemark> {
        remarks::of_setup(&self.setup, self.asked(), self.reference_gy)
    }

    /// Greatest doses of the last true dose.
    pub fn greatest(&self) -> &Arc<Greatest> {
        &self.greatest
    }

    /// Gy of each row.
    pub fn doses_gy(&self) -> Vec<f32> {
        self.columns.doses(&self.fluences, &self.offset_gy)
    }

    /// DVH of a structure by the doses of its rows, extended to its greatest true dose.
    pub fn dvh(set: &RowSet, doses_gy: &[f32], greatest_gy: Option<f64>) -> Option<Dvh> {
        /// Volume of the voxel of greatest dose, cm3: small, so that it changes nothing but the maximum.
        const POINT_CM3: f32 = 1e-6;
        let rows_gy = set.rows.iter().map(|row| doses_gy[*row as usize]);
        let max_gy = rows_gy.clone().fold(0.0, f32::max);
        let beyond = greatest_gy.map(|gy| gy as f32).filter(|gy| *gy > max_gy);
        Dvh::of_points(
            rows_gy
                .zip(set.cm3.iter().copied())
                .chain(beyond.map(|gy| (gy, POINT_CM3))),
        )
    }

    /// Fluences at the start, and whether they are maps of the plan: otherwise uniform maps with the reference dose as the targets' mean.
    fn start(&self) -> (Vec<f64>, bool) {
        let mut start = Vec::with_capacity(self.setup.beamlets());
        let mut is_carried = false;
        for (_, beamlets) in &self.setup.fields {
            if let Some((map, times)) = self.planned_map(beamlets.beam.number) {
                start.extend(beamlets.carried(map).into_iter().map(|x| x * times));
                is_carried = true;
            } else {
                start.resize(start.len() + beamlets.active.len(), 1.0);
            }
        }
        if is_carried {
            return (start, true);
        }
        let mean = self
            .setup
            .mean_of_targets(&self.columns.doses(&start, &vec![0.0; self.columns.rows()]));
        let scale = if mean > 0.0 {
            self.reference_gy / mean
        } else {
            1.0
        };
        (start.into_iter().map(|x| x * scale).collect(), false)
    }

    /// Map of a beam of the plan, and its monitor units as a multiple of [`UNIT_MU`].
    fn planned_map(&self, number: u32) -> Option<(&FluenceMap, f64)> {
        let beam = self
            .setup
            .plan
            .beams
            .iter()
            .find(|beam| beam.number == number)?;
        Some((beam.fluence.as_ref()?, beam.mu / UNIT_MU))
    }

    /// The plan with the maps of fluences of all active beamlets.
    pub(super) fn with_maps(&self, fluences: &[f64]) -> Plan {
        let mut plan = self.setup.plan.clone();
        for ((_, beamlets), field_fluences) in self.setup.by_field(fluences) {
            let mut beam = beamlets.with_monitor_units(field_fluences);
            if let Some(place) = plan.beams.iter_mut().find(|b| b.number == beam.number) {
                beam.fluence_limits = beam
                    .fluence
                    .as_ref()
                    .map(|map| place.limits_on(map))
                    .unwrap_or_default();
                *place = beam;
            }
        }
        // The maps deliver the doses of the objectives: a normalisation would scale them.
        plan.normalisation = None;
        plan
    }

    /// Weight of the squared steps between neighbours of a map.
    pub(super) fn smoothness(&self) -> f64 {
        smoothness::weight(&self.setup.plan, self.reference_gy)
    }
}

/// Upper bounds of the active beamlets of all fields by the fluence limits of the plan's beams.
fn upper(setup: &Setup) -> Vec<f64> {
    let mut upper = Vec::with_capacity(setup.beamlets());
    for (_, beamlets) in &setup.fields {
        match setup
            .plan
            .beams
            .iter()
            .find(|beam| beam.number == beamlets.beam.number)
        {
            Some(beam) => upper.extend(beamlets.upper(beam)),
            None => upper.resize(upper.len() + beamlets.active.len(), f64::INFINITY),
        }
    }
    upper
}
