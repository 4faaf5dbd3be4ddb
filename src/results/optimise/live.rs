//! An optimisation that the window keeps: it follows the case, and goes on from where it was.

use super::super::graph::{Failure, Graph};
use super::ORGAN_ROWS;
use super::asked::{Asked, body_of_fall_off};
use super::query::OptimiseQuery;
use analysis::{Dvh, HotSpot};
use case::{Beam, Plan};
use engine::JobControl;
use engine::dose::dose_grid;
use inverse::{Inputs, OptimiseError, OptimiseRemark, Optimiser, Progress, RefinedLeaves, Snapshot, Watch};
use std::sync::Arc;

/// Rows of all organs together; each of many gets fewer than one of few.
const ALL_ORGAN_ROWS: usize = 30_000;

/// Rows of an organ at least.
const LEAST_ORGAN_ROWS: usize = 300;

/// The optimiser's answer so far, of a query.
#[derive(Clone, Debug)]
pub struct Optimum {
    pub query: OptimiseQuery,
    /// The beams that have maps.
    pub beams: Vec<Beam>,
    /// DVHs of the sampled structures, by number, in the optimiser's dose.
    pub dvhs: Vec<(u32, Arc<Dvh>)>,
    /// Part of each goal in all that is minimised, or why it is judged only.
    pub by_goal: Vec<Result<f64, String>>,
    /// Parts of what no goal stands for.
    pub others: OtherShares,
    pub objective: f64,
    pub evaluations: u64,
    /// The last move of the true dose in the targets, percent of the reference dose, once it was looked at.
    pub moved_percent: Option<f64>,
    pub is_at_rest: bool,
    /// The greatest true dose outside the targets, when that was last looked at.
    pub hottest_outside: Option<HotSpot>,
    pub remarks: Arc<[OptimiseRemark]>,
}

/// Parts of objectives that no goal stands for in all that is minimised.
#[derive(Clone, Debug)]
pub struct OtherShares {
    pub fall_off: f64,
    pub smoothness: f64,
    /// In the order of the plan's, or why one is not minimised.
    pub uniform: Vec<Result<f64, String>>,
}

/// Progress of a step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Columns of so many beams are there, of so many.
    Columns {
        done: usize,
        of: usize,
    },
    Optimum(Box<Optimum>),
}

/// Hears of the answers on the way, which it may ask for, and says whether to go on.
pub type Publish<'a> = dyn FnMut(&dyn Fn() -> Option<Step>) -> bool + 'a;

/// An optimiser with the query that it answers.
#[derive(Debug)]
pub struct LiveOptimiser {
    query: OptimiseQuery,
    asked: Asked,
    optimiser: Optimiser,
    /// Remarks on the query.
    remarks: Arc<[OptimiseRemark]>,
    /// The run whose fluences it has.
    run: u64,
}

/// Columns and fluences that a new query takes over.
struct Before<'a> {
    optimiser: &'a Optimiser,
    is_same_run: bool,
}

impl LiveOptimiser {
    /// Does the next step of an optimisation for a query, and keeps it in its place: rows and fields are made anew only where they
    /// changed, columns only of beams that changed. In one `run` fluences go on from where they were; another starts at the plan's
    /// maps. `publish` hears of the answers on the way and says whether to go on.
    ///
    /// # Errors
    /// [`Failure`]; what was there stays for the next query.
    pub fn step(
        place: &mut Option<Self>,
        (query, run): (&OptimiseQuery, u64),
        graph: &Graph,
        control: &JobControl,
        publish: &mut Publish<'_>,
    ) -> Result<Step, Failure> {
        match place {
            Some(own) if own.query.has_rows_of(query) => own.take_goals(query, run, graph, control)?,
            _ => {
                let before = place.as_ref();
                *place = Some(Self::new(query, run, before, graph, control)?);
            }
        }
        let Some(own) = place else { return Err(Failure::here("there is nothing to optimise")) };
        let (query, asked, remarks) = (&own.query, &own.asked, &own.remarks);
        let moved_percent = own.optimiser.moved_percent();
        let mut watch = |_: Progress, now: &dyn Fn() -> Option<Snapshot>| {
            let answer = || {
                let optimum = optimum((query, asked, remarks), now()?, moved_percent);
                Some(Step::Optimum(Box::new(optimum)))
            };
            publish(&answer) && !control.is_cancelled()
        };
        if !own.optimiser.is_at_rest() {
            let watch: &mut Watch<'_> = &mut watch;
            own.optimiser.advance(control, watch).map_err(failure)?;
        }
        Ok(own.answer())
    }

    /// The objective now over the least of the same problem.
    ///
    /// # Errors
    /// [`Failure`] of the solver.
    pub fn over_least(&self) -> Result<f64, Failure> {
        self.optimiser.over_least().map_err(failure)
    }

    /// Leaves that were cut from the maps of a plan, refined; `None` where these are not the maps that this has come to rest with.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn refined(
        &self,
        maps: &Plan,
        leaves: &Plan,
        control: &JobControl,
    ) -> Option<Result<RefinedLeaves, Failure>> {
        let own = self.optimiser.is_at_rest().then(|| self.optimiser.snapshot()).flatten()?.plan;
        let is_same = |beam: &Beam| {
            let own = own.beams.iter().find(|own| own.number == beam.number);
            own.is_some_and(|own| (&own.fluence, own.mu) == (&beam.fluence, beam.mu))
        };
        let are_same = maps.beams.iter().filter(|beam| beam.fluence.is_some()).all(is_same);
        are_same.then(|| self.optimiser.refined(leaves, control, &mut |_| {}).map_err(failure))
    }

    fn answer(&self) -> Step {
        let [done, of] = self.optimiser.beams();
        let Some(snapshot) = self.optimiser.snapshot() else { return Step::Columns { done, of } };
        let moved_percent = self.optimiser.moved_percent();
        let mut optimum = optimum((&self.query, &self.asked, &self.remarks), snapshot, moved_percent);
        optimum.is_at_rest = self.optimiser.is_at_rest();
        if optimum.is_at_rest {
            let maps = Plan { beams: optimum.beams.clone(), ..Plan::clone(&self.query.plan) };
            optimum.remarks = self.remarks.iter().cloned().chain(OptimiseRemark::of_plan(&maps)).collect();
        }
        Step::Optimum(Box::new(optimum))
    }

    fn new(
        query: &OptimiseQuery,
        run: u64,
        before: Option<&Self>,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        if let Some(fault) = query.plan.fault() {
            return Err(Failure::Here(fault.to_string()));
        }
        let ready = graph.full(&query.densities, control)?;
        let image = ready.patient().mass_density_g_cm3.grid();
        let grid = dose_grid(image, ready.corners_mm(), query.grid_mm()).map_err(Failure::here)?;
        let asked = Asked::new((&query.case, &query.plan, &query.goals), true, &grid, graph, control)?;
        let before = before.map(|own| Before { optimiser: &own.optimiser, is_same_run: own.run == run });
        let mut plan = query.start();
        if let Some(Before { optimiser, is_same_run: true }) = &before
            && let Some(now) = optimiser.snapshot()
        {
            carry(&now.plan, &mut plan);
        }
        let organs = asked.structures.iter().filter(|(_, _, is_target)| !is_target).count();
        let most_rows = (ALL_ORGAN_ROWS / organs.max(1)).clamp(LEAST_ORGAN_ROWS, ORGAN_ROWS);
        let inputs = Inputs {
            plan: &plan,
            patient: Arc::clone(ready.patient()),
            corners_mm: ready.corners_mm(),
            body: body_of_fall_off((&query.case, &query.settings, &ready), graph, control)?,
            regions: asked.regions(most_rows),
            grid_mm: query.grid_mm(),
            beamlet_mm: query.beamlet_mm,
            dose_to: query.settings.dose_to,
            judged: Some((query.settings.grid_mm, query.settings.quality)),
            technique: None,
            windows: Vec::new(),
            device: query.settings.device.resolve().map_err(Failure::here)?,
        };
        let before = before.map(|before| before.optimiser);
        let optimiser = Optimiser::new(&inputs, asked.objectives(), asked.reference_gy, before);
        let optimiser = optimiser.map_err(failure)?;
        Ok(Self { query: query.clone(), remarks: optimiser.remarks().into(), optimiser, asked, run })
    }

    /// Other goals, and another start where the run is another.
    fn take_goals(
        &mut self,
        query: &OptimiseQuery,
        run: u64,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<(), Failure> {
        if self.query != *query {
            let grid = Arc::clone(&self.optimiser.rows().grid);
            let asked = Asked::new((&query.case, &query.plan, &query.goals), true, &grid, graph, control)?;
            self.optimiser.set_plan(&query.start());
            self.optimiser.set_objectives(asked.objectives(), asked.reference_gy).map_err(failure)?;
            self.asked = asked;
            self.remarks = self.optimiser.remarks().into();
        }
        if self.run != run {
            let start = query.start();
            let own = self.optimiser.snapshot().map(|now| now.plan.beams);
            let maps = |beams: &[Beam]| -> Vec<_> {
                beams.iter().map(|beam| (beam.number, beam.mu, beam.fluence.clone())).collect()
            };
            if own.is_some_and(|own| maps(&own) != maps(&start.beams)) {
                self.optimiser.restart(&start);
            }
        }
        (self.query, self.run) = (query.clone(), run);
        Ok(())
    }
}

/// Maps of a plan's beams, by number, for another plan to start at.
fn carry(from: &Plan, to: &mut Plan) {
    for beam in &mut to.beams {
        if let Some(other) = from.beams.iter().find(|other| other.number == beam.number)
            && other.fluence.is_some()
        {
            beam.fluence_limits = other.fluence.as_ref().map(|map| beam.limits_on(map)).unwrap_or_default();
            (beam.fluence, beam.mu) = (other.fluence.clone(), other.mu);
        }
    }
}

fn failure(error: OptimiseError) -> Failure {
    Failure::here(error)
}

fn optimum(
    (query, asked, remarks): (&OptimiseQuery, &Asked, &Arc<[OptimiseRemark]>),
    now: Snapshot,
    moved_percent: Option<f64>,
) -> Optimum {
    let dvhs = asked.structures.iter().filter_map(|(structure, ..)| {
        // The greatest dose of a structure may lie between its rows.
        let greatest_gy = now.greatest.by_structure.get(&structure.name).copied();
        let dvh = Optimiser::dvh(now.rows.set(&structure.name)?, &now.doses_gy, greatest_gy)?;
        Some((structure.number, Arc::new(dvh)))
    });
    let mut shares = now.shares.iter();
    let mut share = |count: usize| shares.by_ref().take(count).sum::<f64>();
    let by_goal: Vec<Result<f64, String>> =
        asked.by_goal.iter().map(|of| of.as_ref().map(|of| share(of.len())).map_err(Clone::clone)).collect();
    let uniform = asked.uniform.iter().map(|of| of.as_ref().map(|_| share(1)).map_err(Clone::clone));
    let others = OtherShares {
        fall_off: now.fall_off_share,
        smoothness: now.smoothness_share,
        uniform: uniform.collect(),
    };
    Optimum {
        query: query.clone(),
        dvhs: dvhs.collect(),
        by_goal,
        others,
        beams: now.plan.beams.into_iter().filter(|beam| beam.fluence.is_some()).collect(),
        objective: now.objective,
        evaluations: now.evaluations,
        moved_percent,
        is_at_rest: false,
        hottest_outside: now.greatest.outside,
        remarks: Arc::clone(remarks),
    }
}
