//! Steps of the optimisation, one job each: between two of them others run, and the case may change.

use crate::feature::optimise::state::Run;
use crate::jobs::{JobAnswer, Requests};
use crate::state::NoticeKind;
use crate::state::slot::Slot;
use engine::JobControl;
use results::{LiveOptimiser, OptimiseQuery, Step};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use worker::{Lane, Task};

/// Iterations after which a step gives way to other goals: fewer would gain nothing.
const LEAST_ITERATIONS: usize = 8;

/// Answers on the way are published so often at most.
const PUBLISH_EVERY: Duration = Duration::from_millis(120);

impl Requests<'_> {
    /// Begins, goes on with and ends the optimisation as the case asks for. Cheap where nothing changed.
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
        let Some(run) = &mut self.state.optimise.run else { return };
        if drags_goal {
            run.step = self.state.optimise.drag.as_ref().map(|drag| drag.step);
        }
        let shown = self.state.history.case().plans.get(self.state.plan);
        let Some(shown) = shown.filter(|shown| run.plan.0 == self.state.plan && run.is_of(shown)) else {
            self.stop_run();
            return;
        };
        if !Arc::ptr_eq(shown, &run.last) {
            (run.last, run.plan.1) = (Arc::clone(shown), shown.name.clone());
        }
        if shown.approval.is_some() && shown.approval != run.record {
            self.end_run_for_record();
            return;
        }
        let query = match query {
            Ok(query) => query,
            Err(why) => {
                self.state.notices.add(NoticeKind::Error, format!("The optimisation ended: {why}."));
                self.halt_run();
                return;
            }
        };
        match &run.asked {
            Some(asked) if *asked == query => {}
            Some(asked) if asked.has_rows_of(&query) => run.hurry(),
            Some(_) => self.worker.cancel(Slot::Optimise),
            None => {
                let latest = self.state.optimise.latest.as_ref().filter(|(of, _)| *of == run.number);
                let is_done = latest.is_some_and(|(_, now)| now.is_at_rest && now.query == query);
                if is_done && !drags_goal {
                    self.end_run(true);
                } else if !is_done && rests {
                    self.submit_step(query);
                }
            }
        }
    }

    /// Begins a run for the plan on show; its maps join a step of the history, where one is given. Leaves follow where they are asked for,
    /// and where the plan has some.
    pub(crate) fn begin_run(&mut self, step: Option<u64>, to_leaves: bool) {
        let leaves_follow =
            self.drop_leaves() || to_leaves || self.state.plan().is_some_and(|plan| plan.is_cut());
        let state = &mut *self.state;
        // An approved plan takes no maps: a run of it would never end.
        let Some(plan) = state.plan().filter(|plan| !plan.is_approved()).cloned() else { return };
        if state.optimise.drag.is_none() {
            state.optimise.ghost = state.curves_to_keep();
        }
        state.optimise.runs += 1;
        state.optimise.seen = Some(state.plan);
        state.optimise.columns = None;
        state.optimise.run = Some(Run::new(state.optimise.runs, (state.plan, plan), step, leaves_follow));
    }

    fn submit_step(&mut self, query: OptimiseQuery) {
        let place = Arc::clone(&self.state.optimise.place);
        let graph = Arc::clone(self.state.results.nodes.graph());
        let Some(run) = &mut self.state.optimise.run else { return };
        run.asked = Some(query.clone());
        run.has_changed = Arc::default();
        let (number, has_changed) = (run.number, Arc::clone(&run.has_changed));
        let answer = move |step| JobAnswer::then(move |window| window.take_step(number, step));
        let work = move |control: &JobControl, partial: &mut dyn FnMut(JobAnswer)| {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut iterations, mut told) = (0, Instant::now());
            let mut publish = |now: &dyn Fn() -> Option<Step>| {
                iterations += 1;
                if told.elapsed() >= PUBLISH_EVERY {
                    now().into_iter().for_each(|step| partial(answer(step)));
                    told = Instant::now();
                }
                iterations < LEAST_ITERATIONS || !has_changed.load(Ordering::Relaxed)
            };
            LiveOptimiser::step(&mut place, &query, number, &graph, control, &mut publish).map(answer)
        };
        let name = format!("Optimising plan {}", self.state.plan().map_or("", |plan| &plan.name));
        self.worker.submit(Slot::Optimise, Task::refining(name, work).on(Lane::Device));
    }

    /// Takes a step of the run with this number.
    fn take_step(&mut self, of_run: u64, step: Step) {
        let optimise = &mut self.state.optimise;
        if optimise.run.as_ref().is_none_or(|run| run.number != of_run) {
            return;
        }
        match step {
            Step::Columns { done, of } => optimise.columns = Some([done, of]),
            Step::Optimum(optimum) => {
                optimise.columns = None;
                optimise.latest_goals = Some(optimum.query.digest());
                optimise.latest = Some((of_run, Arc::from(optimum)));
            }
        }
    }

    /// The step under way has ended; `why` where it failed, which ends the run.
    pub fn optimise_step_ended(&mut self, why: Option<&str>) {
        if let Some(run) = &mut self.state.optimise.run {
            run.asked = None;
        }
        if why.is_some() {
            self.end_run(false);
        }
    }
}
