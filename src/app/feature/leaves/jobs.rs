//! Leaves sequenced from maps: a job whose answer edits the plan.

use crate::feature::leaves::state::{Arcs, Cut, Follow, has_arcs};
use crate::jobs::{JobAnswer, Requests};
use crate::state::NoticeKind;
use crate::state::slot::Slot;
use engine::JobControl;
use results::{Leaves, LeavesJob, cut_into_leaves, leaves_of_arcs};
use std::sync::Arc;
use std::time::{Duration, Instant};
use worker::{Lane, Task};

/// Time without changes after which leaves follow newer maps.
const REST: Duration = Duration::from_millis(500);

/// Leaves of arcs follow by themselves if the last ones took at most this long.
const LONGEST_TO_FOLLOW: Duration = Duration::from_secs(30);

/// Leaves of a plan.
#[derive(Debug)]
pub struct LeavesAnswer {
    pub cut: u64,
    pub leaves: Leaves,
}

impl Requests<'_> {
    /// Cuts the leaves of newer maps once the plan rests.
    pub(crate) fn follow_leaves(&mut self) {
        let is_held = self.ctx.dragged_id().is_some() || self.ctx.input(|i| i.pointer.any_down());
        let Some(Follow {
            plan: (index, followed),
            since,
            ..
        }) = &mut self.state.leaves.follow
        else {
            return;
        };
        if is_held {
            // A drag that changes the plan begins a run, whose maps leaves follow in turn.
            *since = Instant::now();
            return;
        }
        let remaining = REST.saturating_sub(since.elapsed());
        if !remaining.is_zero() {
            self.ctx.request_repaint_after(remaining);
            return;
        }
        let plan = self.state.history.case().plans.get(*index);
        let is_unchanged = plan.is_some_and(|plan| match has_arcs(followed) {
            true => Arc::ptr_eq(plan, followed),
            false => !plan.is_cut() && plan.has_maps_of(&followed.beams),
        });
        if let Some(follow) = self.state.leaves.follow.take().filter(|_| is_unchanged) {
            self.begin_cut(follow.plan.0, follow.step);
        }
    }

    /// Optimises the leaves of arcs again once their goals have changed, if the last time took no longer than a planner waits.
    pub(crate) fn follow_arcs(&mut self) {
        let state = &mut *self.state;
        let took = state.leaves.arcs.as_ref().and_then(|arcs| arcs.took);
        if took.is_none_or(|took| took > LONGEST_TO_FOLLOW)
            || !state.follows_goals()
            || !state.plan().is_some_and(|plan| has_arcs(plan))
            || !state.asks_for_newer_maps()
        {
            return;
        }
        let step = state
            .optimise
            .drag()
            .map(|drag| drag.step)
            .or_else(|| state.history.gesture());
        let Some(plan) = state.plan().cloned() else {
            return;
        };
        // One run for these goals is enough.
        state.take_as_answered();
        let plan = (state.plan, plan);
        self.drop_leaves();
        self.state.leaves.follow = Some(Follow {
            plan,
            step,
            since: Instant::now(),
        });
    }

    /// Cuts the maps of a plan; the leaves join a step of the history, where one is given.
    pub(crate) fn begin_cut(&mut self, index: usize, step: Option<u64>) {
        let state = &mut *self.state;
        // An approved plan takes no leaves.
        let plan = state
            .history
            .case()
            .plans
            .get(index)
            .filter(|plan| !plan.is_approved())
            .cloned();
        let Some(plan) = plan else { return };
        let goals = state
            .optimise_query_of(index)
            .ok()
            .map(|query| query.digest());
        let arcs = if has_arcs(&plan) {
            Some(state.optimise_query_of(index))
        } else {
            None
        };
        let arcs = match arcs.transpose() {
            Ok(arcs) => arcs,
            Err(why) => {
                state
                    .notices
                    .add(NoticeKind::Error, format!("Not made deliverable: {why}."));
                return;
            }
        };
        if arcs.is_some() {
            let took = state
                .leaves
                .arcs
                .as_ref()
                .and_then(|previous| previous.took);
            state.leaves.arcs = Some(Arcs {
                started: Instant::now(),
                took,
            });
        }
        state.leaves.cuts += 1;
        let number = state.leaves.cuts;
        let job = LeavesJob {
            case: state.case().clone(),
            plan: Arc::clone(&plan),
            settings: state.results.settings.clone(),
            technique: state.leaves.technique,
        };
        let graph = Arc::clone(state.results.nodes.graph());
        let place = Arc::clone(&state.optimise.place);
        let name = format!("Leaves of plan {}", plan.name);
        state.leaves.cut = Some(Cut {
            number,
            plan: (index, plan),
            step,
            goals,
        });
        let task = Task::new(name, move |control: &JobControl| {
            let leaves = match &arcs {
                Some(query) => leaves_of_arcs(query, job.technique, &graph, control)?,
                None => cut_into_leaves(&job, &place, &graph, control)?,
            };
            let answer = LeavesAnswer {
                cut: number,
                leaves,
            };
            Ok::<_, results::Failure>(JobAnswer::then(move |window| window.take_leaves(answer)))
        });
        self.worker.submit(Slot::Leaves, task.on(Lane::Device));
    }

    /// Ends a cut, or leaves that were to follow. Whether the user started the cut: it is then the last action.
    pub fn take_back_cut(&mut self) -> bool {
        let was_cutting = self.state.leaves.is_cutting();
        !self.stop_cut() && was_cutting
    }

    /// Ends a cut, and leaves that were to follow. Whether they were.
    pub(crate) fn drop_leaves(&mut self) -> bool {
        let leaves = &mut self.state.leaves;
        let were_to_follow = leaves.are_to_follow();
        leaves.follow = None;
        if leaves.cut.take().is_some() {
            self.worker.cancel(Slot::Leaves);
        }
        were_to_follow
    }
}
