//! An optimisation that goes on: new objectives, the true dose and turned beams each change a part of it, and the rest stays.

use super::OptimiseError;
use super::columns::{BeamColumns, Columns};
use super::handles::{BEYOND_OF_MAPS, between, move_handles};
use super::hot_spots::{self, Greatest};
use super::objective::Objective;
use super::problem::Problem;
use super::remarks::{self, OptimiseRemark};
use super::rows::{RowSet, Rows};
use super::setup::{CORRECTION, Field, Inputs, Setup, Truth, completed, is_of_fall_off, weigh_fall_off};
use super::smoothness;
use super::solve::{Bounds, Stop, solve};
use analysis::{Dvh, UNIT_MU};
use case::{FluenceMap, Plan};
use engine::dose::Quality;
use engine::influence::beams_together;
use engine::{Compute, JobControl};
use std::sync::Arc;

/// Evaluations between two looks at the true dose, at most: the first time, then each time, after [`EASY_PASSES`], and in the end.
const EVALUATIONS: [u64; 4] = [120, 40, 200, 200];

/// Evaluations after which new objectives or a turned beam are answered, on a card and elsewhere: a small drag comes within 2 % of its
/// least by then.
const FOLLOWING: [u64; 2] = [36, 22];

/// Passes of the true dose within which goals that leave room for each other are met. After them the fall-off, which nobody asked for,
/// gives way, and handles follow the dose that the plan is judged by.
const EASY_PASSES: usize = 8;

/// Passes of the true dose at most.
const MOST_PASSES: usize = 15;

/// Passes from one look at the true dose to the next on the CPU, at most.
const PASSES_TO_A_LOOK: usize = 4;

/// The true dose has come to rest where it moves by less in the targets, part of the reference dose.
const AT_REST: f64 = 0.001;

/// Progress of an optimisation while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Columns of so many beams are there, of so many.
    Columns {
        done: usize,
        of: usize,
    },
    Iteration {
        objective: f64,
        evaluations: u64,
    },
    /// The true dose moved by so much in the targets, percent of the reference dose.
    TrueDose {
        moved_percent: f64,
    },
    /// A refinement of leaves has looked at their true dose: the objective before and after.
    Leaves {
        before: f64,
        after: f64,
    },
}

/// The optimiser's answer so far.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The plan with maps; monitor units of each beam are those of its strongest beamlet.
    pub plan: Plan,
    pub rows: Arc<Rows>,
    /// Gy of each row: columns times fluences, and the offset.
    pub doses_gy: Vec<f32>,
    /// Greatest true doses at the last look.
    pub greatest: Arc<Greatest>,
    /// Part of the whole that each of the objectives asked for has, in their order.
    pub shares: Vec<f64>,
    /// Parts of the fall-off round the targets and of the smoothness.
    pub fall_off_share: f64,
    pub smoothness_share: f64,
    pub objective: f64,
    pub evaluations: u64,
}

/// Hears of each step, may ask for the answer so far, which there is once all columns are there, and says whether to go on.
pub type Watch<'a> = dyn FnMut(Progress, &dyn Fn() -> Option<Snapshot>) -> bool + 'a;

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Solve,
    Correct,
    /// A look at the dose that the plan is judged by.
    Judge,
    Rest,
}

/// Rows, columns, objectives and fluences of a plan.
#[derive(Clone, Debug)]
pub struct Optimiser {
    pub(super) setup: Setup,
    /// Columns of each field, once made.
    pub(super) made: Vec<Option<Arc<BeamColumns>>>,
    /// All of them, once all are made; until then those of before.
    pub(super) columns: Columns,
    pub(super) neighbours: Vec<[usize; 2]>,
    /// All that is minimised, tails at their last doses; first those that were asked for.
    pub(super) objectives: Vec<Objective>,
    asked: usize,
    pub(super) reference_gy: f64,
    pub(super) fluences: Vec<f64>,
    /// Upper bounds of the fluences, infinite where there is none.
    pub(super) upper: Vec<f64>,
    pub(super) offset_gy: Vec<f32>,
    /// Gy of each row: the dose that the plan is judged by less that of the rows' grid, when it was last looked at.
    pub(super) finer_gy: Vec<f32>,
    is_judged: bool,
    /// Gy of each objective with a point: where that lies on the DVH that the plan is judged by, less where it lies on that of the rows.
    between_gy: Vec<f64>,
    pub(super) objective: f64,
    pub(super) evaluations: u64,
    pub(super) moved_percent: Option<f64>,
    phase: Phase,
    pass: usize,
    /// The points that are asked for are met and the true dose rests: the last solution follows.
    ends: bool,
    /// Goals leave no room for each other: the usual fall-off has given way.
    pub(super) is_contested: bool,
    /// Objectives or beams have changed since the last solution.
    follows: bool,
    greatest: Arc<Greatest>,
    /// Hot spots have become rows so often.
    pub(super) times_held: usize,
}

impl Optimiser {
    /// An optimiser that minimises `objectives`. From one `before` it takes the columns of fields whose inputs are the same; fluences
    /// start at the plan's maps.
    ///
    /// # Errors
    /// [`OptimiseError`] but for columns.
    pub fn new(
        inputs: &Inputs<'_>,
        objectives: Vec<Objective>,
        reference_gy: f64,
        before: Option<&Self>,
    ) -> Result<Self, OptimiseError> {
        let setup = Setup::new(inputs, before.map(|before| &before.setup))?;
        let made: Vec<_> = setup.fields.iter().map(|field| before?.columns_for(&setup, field)).collect();
        let mut optimiser = Self {
            neighbours: setup.neighbours(),
            columns: before.map(|before| before.columns.clone()).unwrap_or_default(),
            made,
            objectives: Vec::new(),
            asked: 0,
            reference_gy,
            fluences: Vec::new(),
            upper: upper(&setup),
            offset_gy: vec![0.0; setup.rows.voxels.len()],
            finer_gy: vec![0.0; setup.rows.voxels.len()],
            is_judged: setup.judged.is_none(),
            between_gy: Vec::new(),
            objective: f64::INFINITY,
            evaluations: 0,
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

    /// Columns of a field of another setup, where they are among these.
    fn columns_for(&self, setup: &Setup, field: &Field) -> Option<Arc<BeamColumns>> {
        let mut own = self.setup.fields.iter().zip(&self.made);
        own.find(|(own, _)| setup.shares_columns(field, &self.setup, own)).and_then(|(_, made)| made.clone())
    }

    pub fn rows(&self) -> &Arc<Rows> {
        &self.setup.rows
    }

    /// Beams whose columns are there, and all.
    pub fn beams(&self) -> [usize; 2] {
        [self.made.iter().flatten().count(), self.made.len()]
    }

    /// The last move of the true dose in the targets, percent of the reference dose; `None` before it was looked at.
    pub fn moved_percent(&self) -> Option<f64> {
        self.moved_percent
    }

    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Rest
    }

    /// Other objectives: fluences and the difference to the true dose stay, and tails keep their distance to what is asked for.
    ///
    /// # Errors
    /// [`OptimiseError::NoObjectives`]: the objectives are then as they were.
    pub fn set_objectives(
        &mut self,
        objectives: Vec<Objective>,
        reference_gy: f64,
    ) -> Result<(), OptimiseError> {
        let asked = objectives.len();
        let mut objectives = completed(objectives, &self.setup, reference_gy);
        weigh_fall_off(&mut objectives, &self.setup.plan, self.is_contested);
        if !objectives.iter().any(|o| self.rows().set(&o.structure).is_some()) {
            return Err(OptimiseError::NoObjectives);
        }
        for next in &mut objectives {
            let Some(asked) = next.asked else { continue };
            let is_alike = |old: &&Objective| {
                (&old.structure, old.aim) == (&next.structure, next.aim)
                    && old.asked.is_some_and(|old| old.is_alike(asked))
            };
            if let Some(old) = self.objectives.iter().find(is_alike)
                && let Some(before) = old.asked
            {
                next.gy = (old.gy + asked.gy() - before.gy()).max(0.0);
            }
        }
        (self.objectives, self.asked, self.reference_gy) = (objectives, asked, reference_gy);
        self.between_gy.clear();
        if self.phase == Phase::Rest {
            self.pass = 1;
        }
        // A card looks at the true dose between two objectives of a drag; on the CPU the drag would wait for it.
        let looks = self.phase == Phase::Correct && matches!(self.setup.device, Compute::Cuda(_));
        self.phase = if looks { Phase::Correct } else { Phase::Solve };
        (self.ends, self.follows) = (false, !self.fluences.is_empty());
        self.is_judged = self.setup.judged.is_none();
        Ok(())
    }

    /// Objectives that no goal stands for, and upper bounds, are those of a plan with the same beams from the next objectives on.
    pub fn set_plan(&mut self, plan: &Plan) {
        self.setup.plan = plan.clone();
        self.upper = upper(&self.setup);
    }

    /// Goes on from the maps of a plan with the same beams.
    pub fn restart(&mut self, plan: &Plan) {
        self.set_plan(plan);
        self.fluences.clear();
        (self.phase, self.pass, self.ends) = (Phase::Solve, 0, false);
        self.is_contested = false;
        weigh_fall_off(&mut self.objectives, &self.setup.plan, false);
        self.is_judged = self.setup.judged.is_none();
    }

    /// The next step: columns of a few beams, a bounded number of evaluations, or a look at the true dose. Where `watch` ends an evaluation,
    /// the fluences are those of then.
    ///
    /// # Errors
    /// [`OptimiseError`]: a step that fails changes nothing.
    pub fn advance(&mut self, control: &JobControl, watch: &mut Watch<'_>) -> Result<(), OptimiseError> {
        if self.make_next(control)? {
            let [done, of] = self.beams();
            watch(Progress::Columns { done, of }, &|| None);
            return Ok(());
        }
        if self.fluences.is_empty() {
            self.join_columns();
            (self.fluences, self.follows) = self.start();
        }
        match self.phase {
            Phase::Solve => self.solve(watch)?,
            Phase::Correct => {
                let (moved, truth) = self.correct(control)?;
                // Handles move with the doses that are true, of objectives that they were found for.
                let mut met = false;
                if !self.follows {
                    (self.objectives, met) = self.with_moved_handles();
                }
                let looks = !self.follows && (met || self.pass >= hot_spots::SETTLED);
                let holds_more =
                    looks && self.pass + 1 < MOST_PASSES && self.hold_hot_spots(&truth, control, watch)?;
                self.pass += 1;
                self.ends = self.pass >= MOST_PASSES || (moved < AT_REST && met && !holds_more);
                self.phase = Phase::Solve;
                if self.pass >= EASY_PASSES && !self.is_contested && !self.ends && !self.follows {
                    self.is_contested = true;
                    weigh_fall_off(&mut self.objectives, &self.setup.plan, true);
                    self.phase = if self.is_judged { Phase::Solve } else { Phase::Judge };
                }
                watch(Progress::TrueDose { moved_percent: 100.0 * moved }, &|| self.snapshot());
            }
            Phase::Judge => {
                self.judge(control)?;
                (self.is_judged, self.phase) = (true, Phase::Solve);
                let moved_percent = self.moved_percent.unwrap_or_default();
                watch(Progress::TrueDose { moved_percent }, &|| self.snapshot());
            }
            Phase::Rest => {}
        }
        Ok(())
    }

    /// Makes the next columns that are missing; whether there were any.
    fn make_next(&mut self, control: &JobControl) -> Result<bool, OptimiseError> {
        make_missing(&self.setup, &mut self.made, control)
    }

    pub(super) fn join_columns(&mut self) {
        let (rows, made) = (self.setup.rows.voxels.len(), self.made.iter().flatten().cloned());
        let made: Vec<_> = made.collect();
        self.columns = Columns::new(rows, &made, &self.setup.device, &self.columns);
    }

    /// All columns, and no solution.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub(super) fn make_columns(
        &mut self,
        control: &JobControl,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), OptimiseError> {
        while self.make_next(control)? {
            let [done, of] = self.beams();
            tell(Progress::Columns { done, of });
        }
        self.join_columns();
        Ok(())
    }

    /// Objectives with the tails of another optimiser over the same rows, and its difference to the dose that the plan is judged by.
    pub(super) fn take_tails(&mut self, of: &Self) {
        self.objectives.clone_from(&of.objectives);
        self.finer_gy.clone_from(&of.finer_gy);
    }

    /// All that was asked for, tails at their last doses.
    pub(super) fn asked(&self) -> &[Objective] {
        &self.objectives[..self.asked]
    }

    /// Places of the fields of beams with some numbers.
    pub(super) fn places_of(&self, is_own: &dyn Fn(u32) -> bool) -> Vec<usize> {
        let fields = &self.setup.fields;
        (0..fields.len()).filter(|n| is_own(fields[*n].1.beam.number)).collect()
    }

    fn problem(&self) -> Problem<'_> {
        let mut problem = Problem::new(
            &self.columns,
            self.rows(),
            &self.objectives,
            &self.neighbours,
            self.smoothness(),
            self.reference_gy,
        );
        problem.set_offset(self.offset_gy.clone());
        problem
    }

    fn solve(&mut self, watch: &mut Watch<'_>) -> Result<(), OptimiseError> {
        let (most, gain) = match (self.follows, self.ends) {
            (true, _) => (FOLLOWING[usize::from(!matches!(self.setup.device, Compute::Cuda(_)))], 1e-3),
            (_, true) => (EVALUATIONS[3], 1e-5),
            _ if self.is_contested => (EVALUATIONS[2], 1e-4),
            _ => (EVALUATIONS[self.pass.min(1)], 1e-3),
        };
        let problem = self.problem();
        let mut each = |objective, evaluations, fluences: &dyn Fn() -> Vec<f64>| {
            let evaluations = self.evaluations + evaluations;
            let now = || Some(self.snapshot_of(&problem, &fluences(), objective, evaluations));
            watch(Progress::Iteration { objective, evaluations }, &now)
        };
        let (lower, upper) = (&*vec![0.0; self.fluences.len()], &*self.upper);
        let start = (&*self.fluences, Bounds { lower, upper });
        let solved = solve(&problem, start, most, gain, &mut each)?;
        self.evaluations += solved.evaluations;
        (self.fluences, self.objective) = (solved.variables, solved.objective);
        if solved.stop != Stop::Asked {
            self.follows = false;
            // The last solution may leave a point that was met on the way.
            self.ends = self.ends && (self.pass >= MOST_PASSES || self.with_moved_handles().1);
            self.phase = match (self.ends, self.is_judged) {
                (false, _) if self.goes_on_unseen() => Phase::Solve,
                (false, _) => Phase::Correct,
                (true, false) => Phase::Judge,
                (true, true) => Phase::Rest,
            };
        }
        Ok(())
    }

    /// The objective now over the least that these columns, offset and tails allow: 1 at the optimum.
    ///
    /// # Errors
    /// [`OptimiseError::NoValue`].
    pub fn over_least(&self) -> Result<f64, OptimiseError> {
        let (lower, upper) = (&*vec![0.0; self.fluences.len()], &*self.upper);
        let start = (&*self.fluences, Bounds { lower, upper });
        let least = solve(&self.problem(), start, u64::MAX, 1e-7, &mut |_, _, _| true);
        Ok(self.objective / least?.objective)
    }

    /// On the CPU a look at the true dose takes as long as hundreds of evaluations: by the difference found last handles move until what
    /// they ask for is met, and then the dose that the plan is judged by is looked at in its stead. Whether a solution comes next.
    fn goes_on_unseen(&mut self) -> bool {
        if !matches!(self.setup.device, Compute::Cpu) || self.between_gy.is_empty() {
            return false;
        }
        let (objectives, are_met) = self.with_moved_handles();
        if are_met {
            self.ends = !self.is_judged;
            return self.ends;
        }
        let waits = !self.pass.is_multiple_of(PASSES_TO_A_LOOK) && self.pass + 1 < MOST_PASSES;
        if waits {
            self.objectives = objectives;
            self.pass += 1;
        }
        waits
    }

    /// The objectives with their handles moved by the doses now, and whether the figures that are asked for lie where they are asked.
    fn with_moved_handles(&self) -> (Vec<Objective>, bool) {
        let mut objectives = self.objectives.clone();
        let (doses, aim) = (self.doses_gy(), (self.reference_gy, BEYOND_OF_MAPS));
        let are_met = move_handles(&mut objectives, self.rows(), (&doses, &self.between_gy), aim);
        (objectives, are_met)
    }

    /// The answer so far; `None` before all columns are there.
    pub fn snapshot(&self) -> Option<Snapshot> {
        (!self.fluences.is_empty())
            .then(|| self.snapshot_of(&self.problem(), &self.fluences, self.objective, self.evaluations))
    }

    fn snapshot_of(&self, problem: &Problem<'_>, x: &[f64], objective: f64, evaluations: u64) -> Snapshot {
        let doses_gy = problem.doses(x);
        let (values, smoothness) = (problem.values(&doses_gy), problem.smoothness_value(x));
        let whole = (values.iter().sum::<f64>() + smoothness).max(f64::MIN_POSITIVE);
        let of_all = || self.objectives.iter().zip(&values);
        let share = |own: &Objective, value: f64| {
            let hot = of_all().skip(self.asked).filter(|(hot, _)| hot_spots::is_part_of(hot, own));
            (value + hot.map(|(_, value)| value).sum::<f64>()) / whole
        };
        Snapshot {
            plan: self.with_maps(x),
            rows: Arc::clone(self.rows()),
            doses_gy,
            greatest: Arc::clone(&self.greatest),
            shares: of_all().take(self.asked).map(|(own, value)| share(own, *value)).collect(),
            fall_off_share: of_all()
                .filter(|(of, _)| is_of_fall_off(of) || of.structure == hot_spots::OUTSIDE)
                .map(|(_, value)| value / whole)
                .sum(),
            smoothness_share: smoothness / whole,
            objective,
            evaluations,
        }
    }

    /// Remarks on what the plan and its goals have otherwise.
    pub fn remarks(&self) -> Vec<OptimiseRemark> {
        remarks::of_setup(&self.setup, self.asked(), self.reference_gy)
    }

    /// Greatest true doses at the last look.
    pub fn greatest(&self) -> &Arc<Greatest> {
        &self.greatest
    }

    /// Gy of each row.
    pub fn doses_gy(&self) -> Vec<f32> {
        self.columns.doses(&self.fluences, &self.offset_gy)
    }

    /// The DVH of a structure's rows in their doses, up to its greatest true dose where that lies beyond theirs.
    pub fn dvh(set: &RowSet, doses_gy: &[f32], greatest_gy: Option<f64>) -> Option<Dvh> {
        /// Volume of a point whose dose counts as the maximum alone, cm3.
        const POINT_CM3: f32 = 1e-6;
        let rows = || set.rows.iter().map(|row| doses_gy[*row as usize]);
        let of_rows = rows().fold(0.0, f32::max);
        let beyond = greatest_gy.map(|gy| gy as f32).filter(|gy| *gy > of_rows);
        Dvh::of_points(rows().zip(set.cm3.iter().copied()).chain(beyond.map(|gy| (gy, POINT_CM3))))
    }

    /// Flat maps scaled to the reference dose as the mean of the targets, or those of before, and whether it is these.
    fn start(&self) -> (Vec<f64>, bool) {
        let former = |number: u32| -> Option<(&FluenceMap, f64)> {
            let beam = self.setup.plan.beams.iter().find(|beam| beam.number == number)?;
            Some((beam.fluence.as_ref()?, beam.mu / UNIT_MU))
        };
        let of = |(_, beamlets): &Field| match former(beamlets.beam.number) {
            Some((map, times)) => beamlets.carried(map).into_iter().map(|x| x * times).collect(),
            None => vec![1.0; beamlets.active.len()],
        };
        let start: Vec<f64> = self.setup.fields.iter().flat_map(of).collect();
        let carried = self.setup.fields.iter().any(|(_, own)| former(own.beam.number).is_some());
        if carried {
            return (start, true);
        }
        let mean = self.setup.mean_of_targets(&self.columns.doses(&start, &vec![0.0; self.columns.rows()]));
        let scale = if mean > 0.0 { self.reference_gy / mean } else { 1.0 };
        (start.into_iter().map(|x| x * scale).collect(), false)
    }

    /// Takes the true dose of the maps less the columns' as the offset; how far it moved, part of the reference dose.
    fn correct(&mut self, control: &JobControl) -> Result<(f64, Truth), OptimiseError> {
        let setup = &self.setup;
        let mut truth = setup.true_dose(&self.fluences, (&setup.grid, CORRECTION), control)?;
        self.between_gy = between(setup, &self.objectives, &truth, control);
        self.greatest = Arc::new(Greatest::new(setup, &truth));
        truth.rows.iter_mut().zip(&self.finer_gy).for_each(|(gy, finer)| *gy += finer);
        Ok((self.take_truth(&truth.rows), truth))
    }

    /// As [`Self::correct`], by the dose that the plan is judged by; later looks at the rows' grid keep the difference.
    fn judge(&mut self, control: &JobControl) -> Result<(), OptimiseError> {
        let setup = &self.setup;
        let Some((grid, quality)) = &setup.judged else { return Ok(()) };
        let coarse: Vec<f32> = if matches!(setup.device, Compute::Cpu) {
            // A look at the rows' grid as well would take seconds: what the last one found has hardly moved since.
            self.doses_gy().iter().zip(&self.finer_gy).map(|(gy, finer)| gy - finer).collect()
        } else {
            setup.true_dose(&self.fluences, (&setup.grid, CORRECTION), control)?.rows
        };
        let truth = setup.true_dose(&self.fluences, (grid, *quality), control)?;
        self.finer_gy = truth.rows.iter().zip(&coarse).map(|(truth, coarse)| truth - coarse).collect();
        self.between_gy = between(setup, &self.objectives, &truth, control);
        self.take_truth(&truth.rows);
        Ok(())
    }

    pub(super) fn take_truth(&mut self, truth: &[f32]) -> f64 {
        let computed = self.columns.doses(&self.fluences, &vec![0.0; self.columns.rows()]);
        let offset: Vec<f32> = truth.iter().zip(&computed).map(|(truth, dose)| truth - dose).collect();
        let moved: Vec<f32> =
            offset.iter().zip(&self.offset_gy).map(|(new, old)| (new - old).abs()).collect();
        let part = self.setup.mean_of_targets(&moved) / self.reference_gy;
        self.offset_gy = offset;
        self.moved_percent = Some(100.0 * part);
        part
    }

    /// The plan with the maps that fluences of all active beamlets make.
    pub(super) fn with_maps(&self, fluences: &[f64]) -> Plan {
        let mut plan = self.setup.plan.clone();
        for ((_, beamlets), own) in self.setup.by_field(fluences) {
            let mut beam = beamlets.with_monitor_units(own);
            if let Some(place) = plan.beams.iter_mut().find(|b| b.number == beam.number) {
                beam.fluence_limits =
                    beam.fluence.as_ref().map(|map| place.limits_on(map)).unwrap_or_default();
                *place = beam;
            }
        }
        // The maps give the doses that were asked for: a normalisation would scale them away from there.
        plan.normalisation = None;
        plan
    }

    /// Weight of the squared steps between neighbours of a map.
    pub(super) fn smoothness(&self) -> f64 {
        smoothness::weight(&self.setup.plan, self.setup.technique, self.reference_gy)
    }
}

/// Makes the next columns that are missing, of as many beams as the device has in hand together; whether there were any.
pub(super) fn make_missing(
    setup: &Setup,
    made: &mut [Option<Arc<BeamColumns>>],
    control: &JobControl,
) -> Result<bool, OptimiseError> {
    let Setup { fields, rows, plan, device, .. } = setup;
    let missing = (0..made.len()).filter(|n| made[*n].is_none());
    let next: Vec<usize> = missing.take(beams_together(device)).collect();
    let request = |n: &usize| {
        let (machine, beamlets) = &fields[*n];
        (setup.request(machine, &beamlets.beam, Quality::Fast), beamlets)
    };
    let requests: Vec<_> = next.iter().map(request).collect();
    let columns = BeamColumns::compute(&requests, rows, plan.fractions, device, control)?;
    next.iter().zip(columns).for_each(|(n, columns)| made[*n] = Some(Arc::new(columns)));
    Ok(!next.is_empty())
}

/// Upper bounds of the active beamlets of all fields by those of the plan's beams.
fn upper(setup: &Setup) -> Vec<f64> {
    let of = |(_, beamlets): &Field| {
        let beam = setup.plan.beams.iter().find(|beam| beam.number == beamlets.beam.number);
        beam.map_or_else(|| vec![f64::INFINITY; beamlets.active.len()], |beam| beamlets.upper(beam))
    };
    setup.fields.iter().flat_map(of).collect()
}
