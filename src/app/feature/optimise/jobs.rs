//! Steps of the optimisation, one job each: between two of them others run, and the case may change.

use crate::feature::optimise::state::run::{Run, RunEnd};
use crate::feature::optimise::state::{LatestAnswer, Optimise};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use engine::JobControl;
use results::{LiveOptimiser, OptimiseQuery, OptimumStage, Step};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use worker::{Lane, Task};

/// Iterations after which a step gives way to other goals: fewer would gain nothing.
const LEAST_ITERATIONS: usize = 8;

/// Shortest time between two published intermediate answers.
const PUBLISH_EVERY: Duration = Duration::from_millis(120);

/// Next action of a run.
enum NextAction {
    Wait,
    End,
    /// Ends the step under way, which answers another query.
    Cancel,
    Submit,
}

impl Optimise {
    fn next_action(&self, query: &OptimiseQuery, drags_goal: bool) -> NextAction {
        let Some(run) = &self.run else {
            return NextAction::Wait;
        };
        let latest = self.latest_of(run.number);
        let runs_long = latest.is_some_and(|optimum| {
            matches!(
                optimum.stage,
                OptimumStage::Settling | OptimumStage::Correcting
            )
        });
        if let Some(requested) = &run.requested {
            if requested == query {
                return NextAction::Wait;
            }
            // A search that settles would make a drag wait for its true doses, a correction for its histories.
            if runs_long || !requested.has_rows_of(query) {
                return NextAction::Cancel;
            }
            run.raise_priority();
            return NextAction::Wait;
        }
        match latest.filter(|optimum| optimum.query == *query) {
            Some(optimum) if optimum.is_at_rest() && !drags_goal => NextAction::End,
            // While a handle is held the goal will be another before a search from the start is over.
            Some(optimum) if drags_goal && optimum.stage != OptimumStage::Searching => {
                NextAction::Wait
            }
            _ => NextAction::Submit,
        }
    }
}

impl Requests<'_> {
    /// Starts, continues and ends the optimisation as the case requires. Cheap where nothing changed.
    pub(crate) fn follow_optimise(&mut self) {
        if self.state.optimise.run.is_none() && !self.state.follows_goals() {
            return;
        }
        let drags_goal = self.state.optimise.drag().is_some();
        // A turned beam is answered once it rests, and a brush's stroke once it ends.
        let is_held = self.ctx.dragged_id().is_some() || self.ctx.input(|i| i.pointer.any_down());
        let rests = drags_goal || !is_held;
        let query = self.state.optimise_query();
        if self.state.optimise.run.is_none() {
            let asks = self.state.asks_for_newer_maps();
            if rests && asks && self.state.is_optimised() {
                let step = self.state.optimise.drag().map(|drag| drag.step);
                self.begin_run(step.or_else(|| self.state.history.gesture()), false);
            }
        }
        let Some(run) = &mut self.state.optimise.run else {
            return;
        };
        if drags_goal {
            run.step = self.state.optimise.drag.as_ref().map(|drag| drag.step);
        }
        let shown = self.state.history.case().plans.get(self.state.plan);
        let Some(shown) = shown.filter(|shown| run.plan.0 == self.state.plan && run.is_of(shown))
        else {
            self.end_run(RunEnd::Stopped);
            return;
        };
        if !Arc::ptr_eq(shown, &run.last) {
            (run.last, run.plan.1) = (Arc::clone(shown), shown.name.clone());
        }
        if shown.approval.is_some() && shown.approval != run.record {
            self.end_run(RunEnd::Recorded);
            return;
        }
        let query = match query {
            Ok(query) => query,
            Err(why) => {
                self.end_run(RunEnd::Impossible(why));
                return;
            }
        };
        match self.state.optimise.next_action(&query, drags_goal) {
            NextAction::Wait => {}
            NextAction::End => _ = self.end_run(RunEnd::AtRest),
            NextAction::Cancel => self.worker.cancel(Slot::Optimise),
            NextAction::Submit if rests => self.submit_step(query),
            NextAction::Submit => {}
        }
    }

    /// Begins a run for the plan on show; its maps join a step of the history, where one is given. Leaves follow if they are requested
    /// or the plan has some.
    pub(crate) fn begin_run(&mut self, step: Option<u64>, to_leaves: bool) {
        let leaves_follow =
            self.drop_leaves() || to_leaves || self.state.plan().is_some_and(|plan| plan.is_cut());
        let state = &mut *self.state;
        // An approved plan takes no maps: a run of it would never end.
        let Some(plan) = state.plan().filter(|plan| !plan.is_approved()).cloned() else {
            return;
        };
        if state.optimise.drag.is_none() {
            state.optimise.ghost = state.curves_to_keep();
        }
        state.optimise.runs += 1;
        state.optimise.followed.seen = Some(state.plan);
        state.optimise.run = Some(Run::new(
            state.optimise.runs,
            state.plan,
            plan,
            step,
            leaves_follow,
        ));
    }

    fn submit_step(&mut self, query: OptimiseQuery) {
        let place = Arc::clone(&self.state.optimise.place);
        let graph = Arc::clone(self.state.results.nodes.graph());
        let Some(run) = &mut self.state.optimise.run else {
            return;
        };
        run.requested = Some(query.clone());
        run.has_changed = Arc::default();
        let (number, has_changed) = (run.number, Arc::clone(&run.has_changed));
        let name = format!(
            "Optimising plan {}",
            self.state.plan().map_or("", |plan| &plan.name)
        );
        let task = Task::refining(
            name,
            move |control: &JobControl, partial: &mut dyn FnMut(JobAnswer)| {
                let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
                let (mut iterations, mut published) = (0, Instant::now());
                let step = LiveOptimiser::step(
                    &mut place,
                    &query,
                    number,
                    &graph,
                    control,
                    &mut |current_step| {
                        iterations += 1;
                        if published.elapsed() >= PUBLISH_EVERY {
                            current_step()
                                .into_iter()
                                .for_each(|step| partial(answer(number, step)));
                            published = Instant::now();
                        }
                        iterations < LEAST_ITERATIONS || !has_changed.load(Ordering::Relaxed)
                    },
                );
                step.map(|step| answer(number, step))
            },
        );
        self.worker.submit(Slot::Optimise, task.on(Lane::Device));
    }

    /// Takes a step of the run with this number.
    fn take_step(&mut self, run_number: u64, step: Step) {
        let optimise = &mut self.state.optimise;
        let run = optimise.run.as_mut();
        let Some(run) = run.filter(|run| run.number == run_number) else {
            return;
        };
        match step {
            Step::Columns { done, of: total } => run.columns = Some([done, total]),
            Step::Optimum(optimum) => {
                run.columns = None;
                optimise.latest = Some(LatestAnswer {
                    run: run_number,
                    goals: optimum.query.digest(),
                    optimum: Arc::from(optimum),
                });
            }
        }
    }

    /// The step under way has ended; `why` where it failed, which ends the run.
    pub fn optimise_step_ended(&mut self, why: Option<&str>) {
        if let Some(run) = &mut self.state.optimise.run {
            run.requested = None;
        }
        if why.is_some() {
            self.end_run(RunEnd::Failed);
        }
    }
}

/// The answer of the job that computed a step of a run.
fn answer(run_number: u64, step: Step) -> JobAnswer {
    JobAnswer::then(move |window| window.take_step(run_number, step))
}
