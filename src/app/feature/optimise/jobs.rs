//! Inverse planning follows the case: which optimum and leaves are wanted, and what their answers change.

use crate::feature::optimise::state::has_arcs;
use crate::feature::optimise::state::phase::{LeavesToFollow, Phase, RunEnd};
use crate::jobs::Requests;
use crate::state::results::ONLY;
use crate::state::{NoticeKind, State};
use results::{LeavesOf, LeavesSource, OptimumOf, OptimumStage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time without changes after which leaves follow newer maps.
const REST: Duration = Duration::from_millis(500);

/// Leaves of arcs follow by themselves if the last ones took at most this long.
const LONGEST_TO_FOLLOW: Duration = Duration::from_secs(30);

/// The pointer's hold on the case.
#[derive(Clone, Copy)]
struct Held {
    /// The handle of a goal, which maps follow while it is held.
    is_goal: bool,
    /// The user holds nothing, or the handle of a goal: a turned beam is answered once it rests, and a brush's stroke once it ends.
    rests: bool,
}

impl Requests<'_> {
    /// Begins, continues and ends inverse planning as the case requires. Cheap where nothing changed.
    pub(crate) fn follow_inverse(&mut self) {
        let is_goal = self.state.optimise.drag().is_some();
        let has_pointer =
            self.ctx.dragged_id().is_some() || self.ctx.input(|i| i.pointer.any_down());
        let held = Held {
            is_goal,
            rests: is_goal || !has_pointer,
        };
        self.follow_newer_goals(held);
        match self.state.optimise.phase {
            Phase::Idle => {}
            Phase::Maps(_) => self.follow_maps(held),
            Phase::BeforeLeaves(_) => self.begin_leaves_at_rest(has_pointer),
            Phase::Leaves(_) => self.follow_leaves(held),
        }
        self.state.set_inverse_queries(held);
    }

    /// Begins a run for newer goals or beams, where the plan follows them.
    fn follow_newer_goals(&mut self, held: Held) {
        let state = &mut *self.state;
        if state.optimise.is_running() || !state.follows_goals() {
            return;
        }
        let asks = state.asks_for_newer_maps();
        let step = { state.optimise.drag() }.map(|drag| drag.step);
        let step = step.or_else(|| state.history.gesture());
        let Some(plan) = state.plan().filter(|_| asks).cloned() else {
            return;
        };
        if !has_arcs(&plan) {
            if held.rests && state.is_optimised() {
                self.begin_run(step, false);
            }
            return;
        }
        let took = state.time_of_last_arcs();
        if took.is_some_and(|took| took <= LONGEST_TO_FOLLOW) {
            // One run for these goals is enough.
            state.take_as_answered();
            state.optimise.phase = Phase::BeforeLeaves(LeavesToFollow {
                plan: (state.plan, plan),
                step,
                since: Instant::now(),
            });
        }
    }

    fn follow_maps(&mut self, held: Held) {
        let state = &mut *self.state;
        let query = state.optimise_query();
        let drag_step = { state.optimise.drag() }.map(|drag| drag.step);
        let Phase::Maps(run) = &mut state.optimise.phase else {
            return;
        };
        if drag_step.is_some() {
            run.step = drag_step;
        }
        let shown = state.history.case().plans.get(state.plan);
        let Some(shown) = shown.filter(|shown| run.plan.0 == state.plan && run.is_of(shown)) else {
            self.end_phase(RunEnd::Stopped);
            return;
        };
        if !Arc::ptr_eq(shown, &run.last) {
            (run.last, run.plan.1) = (Arc::clone(shown), shown.name.clone());
        }
        if shown.approval.is_some() && shown.approval != run.record {
            self.end_phase(RunEnd::Recorded);
            return;
        }
        let node = state.results.nodes.node::<OptimumOf>(ONLY);
        let end = match query {
            Err(why) => Some(RunEnd::Impossible(why)),
            // Its notice comes with the result.
            Ok(_) if node.is_some_and(|node| node.failure().is_some()) => Some(RunEnd::Failed),
            Ok(query) => {
                let query = OptimumOf(query);
                let answer = node.and_then(|node| node.latest_with_query());
                let rests = answer
                    .is_some_and(|(answered, step)| *answered == query && step.at_rest().is_some());
                (rests && !held.is_goal).then_some(RunEnd::AtRest)
            }
        };
        if let Some(end) = end {
            self.end_phase(end);
        }
    }

    /// Begins the leaves of newer maps once the plan rests.
    fn begin_leaves_at_rest(&mut self, has_pointer: bool) {
        let Phase::BeforeLeaves(waiting) = &mut self.state.optimise.phase else {
            return;
        };
        if has_pointer {
            // A drag that changes the plan begins a run, whose maps leaves follow in turn.
            waiting.since = Instant::now();
            return;
        }
        let remaining = REST.saturating_sub(waiting.since.elapsed());
        if !remaining.is_zero() {
            self.ctx.request_repaint_after(remaining);
            return;
        }
        let Phase::BeforeLeaves(waiting) = std::mem::take(&mut self.state.optimise.phase) else {
            return;
        };
        let (index, followed) = &waiting.plan;
        let plan = self.state.history.case().plans.get(*index);
        let is_unchanged = plan.is_some_and(|plan| match has_arcs(followed) {
            true => Arc::ptr_eq(plan, followed),
            false => !plan.is_cut() && plan.has_maps_of(&followed.beams),
        });
        if is_unchanged {
            self.begin_leaves(*index, waiting.step);
        }
    }

    /// Takes the leaves once they are there; ends them where the plan or its goals have changed.
    fn follow_leaves(&mut self, held: Held) {
        let state = &mut *self.state;
        let Some(leaves) = state.optimise.phase.leaves() else {
            return;
        };
        let node = state.results.nodes.node::<LeavesOf>(ONLY);
        if node.is_some_and(|node| node.failure().is_some()) {
            self.end_phase(RunEnd::Failed);
            return;
        }
        let answer = node.and_then(|node| node.latest_with_query());
        let answer = answer.filter(|(query, _)| **query == leaves.query);
        let answer = answer.map(|(_, answer)| Arc::clone(answer));
        // Plans before it may have been deleted meanwhile.
        let (index, plan) = &leaves.plan;
        let plans = &state.case().plans;
        let index = { plans.iter().position(|other| Arc::ptr_eq(other, plan)) }.unwrap_or(*index);
        let has_changed = (held.rests || answer.is_some()) && !state.are_inputs_of(leaves, index);
        match answer {
            _ if has_changed => {
                let text = format!(
                    "{} has changed while its leaves were cut, or its goals have: cut them again.",
                    plan.name
                );
                state.notices.add(NoticeKind::Warning, text);
                state.optimise.phase = Phase::Idle;
            }
            Some(answer) => self.take_leaves(index, &answer),
            None => {}
        }
    }
}

impl State {
    /// Wall time of the last leaves that were made of arcs.
    fn time_of_last_arcs(&self) -> Option<Duration> {
        let node = self.results.nodes.node::<LeavesOf>(ONLY)?;
        let (query, leaves) = node.latest_with_query()?;
        matches!(query.source, LeavesSource::Goals(_))
            .then(|| Duration::from_secs_f64(1e-3 * leaves.receipt.total_ms()))
    }

    /// Lists the optimum and the leaves that are under way among the results that the case needs.
    fn set_inverse_queries(&mut self, held: Held) {
        let optimum = { self.optimise.phase.run() }.and_then(|_| self.wanted_optimum(held));
        let leaves = self.optimise.phase.leaves();
        let leaves = leaves.map(|leaves| leaves.query.clone());
        let curve = self.wanted_curve();
        self.results.nodes.entry(ONLY).set(optimum);
        self.results.nodes.entry(ONLY).set(leaves);
        self.results.nodes.entry(ONLY).set(curve);
    }

    /// The optimum that a run wants now; `None` where it pauses.
    fn wanted_optimum(&self, held: Held) -> Option<OptimumOf> {
        let query = OptimumOf(self.optimise_query().ok()?);
        let node = self.results.nodes.node::<OptimumOf>(ONLY);
        let under_way = node.and_then(|node| node.now());
        let answer = node.and_then(|node| node.latest_with_query());
        let answered = answer.map(|(answered, _)| answered);
        let stage = answer.and_then(|(_, step)| Some(step.optimum()?.stage));
        // While a handle is held the goal will be another before a search from the start is over.
        let has_settled = stage.is_some_and(|stage| stage != OptimumStage::Searching);
        if held.is_goal && has_settled && answered == Some(&query) {
            return None;
        }
        match under_way {
            Some(under_way) if *under_way == query => Some(query),
            // What a drag asks for shows something of itself before the next takes its place: else nothing would be seen of a fast one.
            Some(under_way) if under_way.0.has_rows_of(&query.0) && answered != Some(under_way) => {
                Some(under_way.clone())
            }
            _ => Some(query).filter(|_| held.rests),
        }
    }
}
