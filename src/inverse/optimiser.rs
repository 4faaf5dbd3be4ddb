//! An optimisation that continues: new objectives, the true dose and turned beams each replace a part of its state, and keep the others.

mod histories;
mod true_dose;

use super::OptimiseError;
use super::columns::{BeamColumns, Columns, compute_missing};
use super::hot_spots::{self, Greatest};
use super::monitor_units::MonitorUnits;
use super::objective::Objective;
use super::passes::{NextStep, Passes};
use super::problem::Problem;
use super::progress::{Progress, Snapshot, Watch};
use super::receipt::{OptimiseReceipt, since_ms};
use super::remarks::{self, OptimiseRemark};
use super::rows::{RowSet, Rows};
use super::setup::{Field, Inputs, Setup, completed, is_of_fall_off};
use super::solve::{
    Bounds, Differentiable as _, Memory, SolveLimits, Start, Stop, solve, solve_with_memory,
};
use analysis::{Dvh, UNIT_MU};
use case::{FluenceMap, Plan};
use engine::{Compute, JobControl};
use histories::EngineDifference;
pub use histories::RUNS;
use std::sync::Arc;
use std::time::Instant;

/// Evaluations after a run of histories.
const CORRECTED_EVALUATIONS: u64 = 200;

/// Evaluations after new objectives or a turned beam, with CUDA and elsewhere: after a small drag the objective is then within 2 % of its
/// minimum.
const FOLLOW_EVALUATIONS_CUDA: u64 = 36;
const FOLLOW_EVALUATIONS_OTHER: u64 = 22;

/// Solutions for another weight of monitor units: by the second the leakage stays.
const WEIGHT_SOLUTIONS: usize = 2;

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
            NextStep::Judge => Self::Judge,
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
    pub(super) monitor_units: MonitorUnits,
    /// All minimised objectives, at their last dose levels; the requested ones come first.
    pub(super) objectives: Vec<Objective>,
    requested: usize,
    pub(super) reference_gy: f64,
    pub(super) fluences: Vec<f64>,
    /// Curvature of the objective, kept while handles, goals and wishes move.
    memory: Memory,
    /// Lower bounds of the fluences: what leaks through closed leaves.
    pub(super) lower: Vec<f64>,
    /// Upper bounds of the fluences, infinite where there is none.
    pub(super) upper: Vec<f64>,
    pub(super) offset_gy: Vec<f32>,
    /// Dose that the plan is judged by minus the dose on the rows' grid, for each row at the last judgement, Gy.
    pub(super) finer_gy: Vec<f32>,
    pub(super) is_judged: bool,
    /// Mean of the runs of histories since collapsed cone came to rest.
    engine_difference: Option<EngineDifference>,
    /// DVH point on the evaluation grid minus the same point on the sampled voxels, for each objective, Gy.
    pub(super) dvh_offset_gy: Vec<f64>,
    pub(super) objective: f64,
    pub(super) receipt: OptimiseReceipt,
    pub(super) moved_percent: Option<f64>,
    phase: Phase,
    pub(super) passes: Passes,
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
        Self::of_setup(setup, objectives, reference_gy, previous)
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
            monitor_units: MonitorUnits::new(&setup, reference_gy),
            lower: vec![0.0; setup.beamlets()],
            columns: previous
                .map(|previous| previous.columns.clone())
                .unwrap_or_default(),
            field_columns,
            objectives: Vec::new(),
            requested: 0,
            reference_gy,
            fluences: Vec::new(),
            memory: Memory::default(),
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
            passes: Passes::default(),
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

    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Rest
    }

    pub fn receipt(&self) -> &OptimiseReceipt {
        &self.receipt
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
        self.setup.set_levels(&objectives);
        let mut objectives = completed(objectives, &self.setup, reference_gy);
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
        self.monitor_units = MonitorUnits::new(&self.setup, reference_gy);
        self.dvh_offset_gy.clear();
        // With CUDA the true dose is computed between two objectives of a drag; elsewhere the drag would wait for it.
        let corrects =
            self.phase == Phase::Correct && matches!(self.setup.device, Compute::Cuda(_));
        self.phase = if corrects {
            Phase::Correct
        } else {
            Phase::Solve
        };
        self.follows = !self.fluences.is_empty();
        self.passes = Passes::default();
        self.drop_histories();
        self.is_judged = self.setup.judged.is_none();
        Ok(())
    }

    /// Takes the plan's own objectives, from the next objectives on, and fluence limits from a plan with the same beams.
    pub fn set_plan(&mut self, plan: &Plan) {
        self.setup.plan = plan.clone();
        self.upper = upper(&self.setup);
        self.monitor_units = MonitorUnits::new(&self.setup, self.reference_gy);
    }

    /// Restarts from the maps of a plan with the same beams.
    pub fn restart(&mut self, plan: &Plan) {
        self.set_plan(plan);
        self.fluences.clear();
        self.memory = Memory::default();
        self.drop_histories();
        (self.phase, self.passes) = (Phase::Solve, Passes::default());
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
            self.raise_floor();
        }
        match self.phase {
            Phase::Solve => {
                self.solve(watch)?;
                self.receipt.solutions_ms += since_ms(start);
            }
            Phase::Correct => {
                let (moved, truth) = self.correct(control)?;
                self.receipt.true_doses += 1;
                self.receipt.true_doses_ms += since_ms(start);
                let holds_more = !self.follows
                    && self.passes.may_hold_hot_spots()
                    && self.hold_hot_spots(&truth, control, watch)?;
                // Fluences of former objectives say nothing about the goals of new ones, nor do others about new rows.
                self.phase = if self.follows || holds_more {
                    Phase::Solve
                } else {
                    self.after_true_dose(moved).into()
                };
                self.follows = false;
                let moved_percent = 100.0 * moved;
                watch(Progress::TrueDose { moved_percent }, &|| self.snapshot());
            }
            Phase::Judge => {
                self.judge(control)?;
                self.receipt.true_doses += 1;
                self.receipt.true_doses_ms += since_ms(start);
                self.is_judged = true;
                self.phase = self.after_judged_dose().into();
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
        let mut problem = Problem::new(
            &self.columns,
            self.rows(),
            &self.objectives,
            self.monitor_units.clone(),
            self.reference_gy,
        );
        problem.set_offset(self.offset_gy.clone());
        problem
    }

    fn solve(&mut self, watch: &mut Watch<'_>) -> Result<(), OptimiseError> {
        let (max_evaluations, min_gain) = match (self.follows, &self.setup.device) {
            (true, Compute::Cuda(_)) => (FOLLOW_EVALUATIONS_CUDA, 1e-3),
            (true, _) => (FOLLOW_EVALUATIONS_OTHER, 1e-3),
            _ if self.runs() > 0 => (CORRECTED_EVALUATIONS, 1e-5),
            _ => (self.passes.evaluations(), 0.0),
        };
        let mut memory = std::mem::take(&mut self.memory);
        let problem = self.problem();
        let start = Start {
            variables: &self.fluences,
            bounds: Bounds {
                lower: &self.lower,
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
        self.memory = memory;
        self.receipt.evaluations += solved.evaluations;
        self.receipt.solutions += 1;
        (self.fluences, self.objective) = (solved.variables, solved.objective);
        if solved.stop == Stop::Asked {
            return Ok(());
        }
        self.phase = if self.runs() > 0 {
            Phase::Histories
        } else if self.follows {
            Phase::Correct
        } else {
            self.after_solution().into()
        };
        Ok(())
    }

    /// The optimum for another weight of monitor units, near this one: it keeps the dose levels of goals and the difference to the true
    /// dose, which a few solutions move little.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub fn at_monitor_units_weight(
        &self,
        weight: f64,
        watch: &mut Watch<'_>,
    ) -> Result<Self, OptimiseError> {
        let mut optimiser = self.clone();
        optimiser.setup.plan.objectives.monitor_units = weight;
        optimiser.monitor_units = MonitorUnits::new(&optimiser.setup, self.reference_gy);
        // Each solution has the leakage of the one before as its floor.
        for _ in 0..WEIGHT_SOLUTIONS {
            optimiser.raise_floor();
            optimiser.follows = true;
            optimiser.solve(watch)?;
        }
        Ok(optimiser)
    }

    /// The current objective over its minimum with these columns, offset and dose levels: 1 at the optimum.
    ///
    /// # Errors
    /// [`OptimiseError::NoValue`].
    pub fn over_least(&self) -> Result<f64, OptimiseError> {
        let start = Start {
            variables: &self.fluences,
            bounds: Bounds {
                lower: &self.lower,
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
        let (values, monitor_units) = (problem.values(&doses_gy), self.monitor_units.value(x));
        let total = (values.iter().sum::<f64>() + monitor_units).max(f64::MIN_POSITIVE);
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
                .filter(|(o, _)| {
                    is_of_fall_off(o, &self.setup.levels) || o.structure == hot_spots::OUTSIDE
                })
                .map(|(_, value)| value / total)
                .sum(),
            monitor_units_share: monitor_units / total,
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
        let fields = self.setup.by_field(fluences).zip(&self.setup.leaked);
        for (((_, beamlets), field_fluences), leaked) in fields {
            let mut beam = beamlets.with_monitor_units(field_fluences, *leaked);
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

    /// Takes the leakage of the current maps as the lower bounds of fluences.
    pub(super) fn raise_floor(&mut self) {
        self.setup.leaked = self.monitor_units.leaked(&self.fluences);
        self.lower = self.monitor_units.floor(&self.setup.leaked, &self.upper);
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
