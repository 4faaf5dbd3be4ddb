//! Inverse planning, begun and ended by the user, and its maps as an edit.

use crate::feature::compare::state::Source;
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::optimise::state::GoalDrag;
use crate::feature::optimise::state::maps::with_maps;
use crate::feature::optimise::state::phase::{LeavesRun, LeavesToFollow, Phase, Run, RunEnd};
use crate::jobs::Requests;
use crate::state::results::ONLY;
use crate::state::{NoticeKind, State, Workspace};
use case::{Edit, Goal, Plan};
use results::{LeavesOf, Optimum, OptimumOf};
use std::sync::Arc;
use std::time::Instant;

impl Requests<'_> {
    pub fn optimise(&mut self, action: OptimiseAction) {
        match action {
            OptimiseAction::Start => match self.state.can_optimise() {
                Ok(_) if self.state.optimise.is_running() => {}
                Ok(_) => self.begin_run(None, false),
                Err(why) => self
                    .state
                    .notices
                    .add(NoticeKind::Error, format!("Not optimised: {why}.")),
            },
            OptimiseAction::Stop | OptimiseAction::KeepMaps => _ = self.end_phase(RunEnd::Stopped),
            OptimiseAction::TakeBack => _ = self.end_phase(RunEnd::TakenBack),
            OptimiseAction::CompareBefore => self.state.compare_with_before(),
            OptimiseAction::MakeDeliverable => self.make_deliverable(),
            OptimiseAction::FollowGoals(follows) => self.state.set_follows_goals(follows),
            OptimiseAction::ShowCurve(shows) => self.state.optimise.shows_curve = shows,
            OptimiseAction::ShowStages(shows) => self.state.leaves.shows_stages = shows,
            OptimiseAction::SetTechnique(technique) => self.state.leaves.technique = technique,
        }
    }

    /// Begins a run for the plan on show; its maps join a step of the history, where one is given. Leaves follow if they are requested
    /// or the plan has some.
    pub(crate) fn begin_run(&mut self, step: Option<u64>, to_leaves: bool) {
        let state = &mut *self.state;
        // An approved plan takes no maps: a run of it would never end.
        let Some(plan) = state.plan().filter(|plan| !plan.is_approved()).cloned() else {
            return;
        };
        let leaves_follow =
            to_leaves || plan.is_cut() || state.optimise.phase.are_leaves_to_follow();
        if state.optimise.drag.is_none() {
            state.optimise.ghost = state.curves_to_keep();
        }
        let mut run = Run::new(
            state.optimise.runs + 1,
            state.plan,
            plan,
            step,
            leaves_follow,
        );
        let query = state.optimise_query().ok();
        let latest = state.latest_optimum();
        run.previous = latest
            .filter(|latest| Some(&latest.query) != query.as_ref())
            .cloned();
        state.optimise.runs += 1;
        state.optimise.followed.seen = Some(state.plan);
        state.optimise.phase = Phase::Maps(run);
        state.results.nodes.retry::<OptimumOf>(ONLY);
    }

    /// Begins the leaves of a plan; they join a step of the history, where one is given.
    pub(crate) fn begin_leaves(&mut self, index: usize, step: Option<u64>) {
        let state = &mut *self.state;
        // An approved plan takes no leaves.
        let plan = { state.case().plans.get(index) }.filter(|plan| !plan.is_approved());
        let Some(plan) = plan.cloned() else { return };
        let query = match state.leaves_query(index, state.leaves.technique) {
            Ok(query) => query,
            Err(why) => {
                state
                    .notices
                    .add(NoticeKind::Error, format!("Not made deliverable: {why}."));
                return;
            }
        };
        let goals = state.optimise_query_of(index).ok();
        state.optimise.phase = Phase::Leaves(Box::new(LeavesRun {
            plan: (index, plan),
            query,
            step,
            goals: goals.map(|query| query.digest()),
        }));
        state.results.nodes.retry::<LeavesOf>(ONLY);
    }

    /// Ends what is under way as its end requires: whether its answer is used, whether a step of the history goes with it, and the
    /// notice. Whether that was the user's last action: a run, leaves that the user began, or a drag that was taken back.
    pub(crate) fn end_phase(&mut self, end: RunEnd) -> bool {
        // An undo during a drag takes the drag back.
        let end = match end {
            RunEnd::Undone if self.state.optimise.drag().is_some() => RunEnd::TakenBack,
            end => end,
        };
        let has_dropped_drag = end == RunEnd::TakenBack && self.state.drop_goal_drag();
        if has_dropped_drag && !self.state.optimise.is_running() {
            return true;
        }
        match std::mem::take(&mut self.state.optimise.phase) {
            Phase::Idle | Phase::BeforeLeaves(_) => return false,
            Phase::Leaves(leaves) => {
                if matches!(end, RunEnd::Stopped | RunEnd::TakenBack | RunEnd::Undone) {
                    let text = leaves.stopped_words();
                    self.state.notices.add(NoticeKind::Info, text);
                }
                return leaves.step.is_none();
            }
            Phase::Maps(run) => self.state.end_run(run, &end, has_dropped_drag),
        }
        self.state.derive_standing();
        true
    }
}

impl State {
    fn end_run(&mut self, run: Run, end: &RunEnd, has_dropped_drag: bool) {
        let latest = self.optimum_of_run(&run).cloned();
        let has_answer = latest.is_some();
        let plan_at_start = self.case().plans.get(run.plan.0).cloned();
        match latest.filter(|_| end.uses_maps()) {
            Some(latest) => {
                let plan = self.give_maps(&run, &latest);
                if let Some(plan) = plan.filter(|_| end.lets_leaves_follow()) {
                    self.optimise.phase = Phase::BeforeLeaves(LeavesToFollow {
                        plan,
                        step: run.step,
                        since: Instant::now(),
                    });
                }
            }
            // A failed run is not repeated until its inputs change.
            None => self.take_as_answered(),
        }
        let has_maps = self.case().plans.get(run.plan.0) != plan_at_start.as_ref();
        let has_begun_step = run
            .step
            .is_some_and(|step| self.history.gesture() == Some(step));
        match end {
            RunEnd::TakenBack if has_begun_step && !has_dropped_drag => self.undo(),
            RunEnd::Undone if has_begun_step || has_maps => self.undo(),
            _ => {}
        }
        let (kind, text) = match end {
            RunEnd::AtRest | RunEnd::Failed => (NoticeKind::Info, None),
            RunEnd::Impossible(why) => (
                NoticeKind::Error,
                Some(format!("The optimisation ended: {why}.")),
            ),
            RunEnd::Stopped => (NoticeKind::Info, Some(run.stopped_words(has_answer))),
            RunEnd::TakenBack if has_dropped_drag => (NoticeKind::Info, None),
            RunEnd::TakenBack => (NoticeKind::Info, Some(run.taken_back_words())),
            RunEnd::Undone => (NoticeKind::Info, Some(run.undone_words(has_maps))),
            RunEnd::Recorded => {
                let plan = self.plan();
                let record = plan.map(|plan| plan.approval_words()).unwrap_or_default();
                (NoticeKind::Info, Some(run.recorded_words(&record)))
            }
        };
        if let Some(text) = text {
            self.notices.add(kind, text);
        }
        if end.forgets() {
            self.forget_run();
        }
    }

    /// Gives the maps of a run to the plan that they answer: the plan on show, else a copy of it. The plan, by index, if leaves are to
    /// follow.
    fn give_maps(&mut self, run: &Run, latest: &Optimum) -> Option<(usize, Arc<Plan>)> {
        let mut plans = std::iter::once(run.plan.0).chain(0..self.case().plans.len());
        let answered = plans.find(|plan| {
            self.optimise_query_of(*plan)
                .is_ok_and(|query| query == latest.query)
        });
        let Some(plan) = answered else {
            let text = "The optimisation ended before it answered the plan as it is: its fluences are not used.";
            self.notices.add(NoticeKind::Info, text);
            self.take_as_answered();
            return None;
        };
        let are_set = self.set_fluences(plan, latest, run.step);
        if !are_set {
            // A new run would only find the refused maps again.
            self.forget_run();
        }
        self.notices.add_remarks(&run.plan.1, &latest.remarks);
        let optimised = self.case().plans.get(plan);
        let optimised = optimised.filter(|plan| are_set && run.leaves_follow && !plan.is_cut())?;
        Some((plan, Arc::clone(optimised)))
    }

    /// Gives a plan its maps as one step of the history; `false` where they are refused.
    fn set_fluences(&mut self, plan: usize, optimum: &Optimum, step: Option<u64>) -> bool {
        let Some(previous) = self.case().plans.get(plan) else {
            return false;
        };
        let answered_goals = Some(optimum.answered_goals.to_string());
        let with = with_maps(previous, &optimum.beams);
        if with != **previous || previous.answered_goals != answered_goals {
            let beams = with
                .beams
                .into_iter()
                .filter(|beam| beam.fluence.is_some())
                .collect();
            if let Err(why) = self.history.apply(
                Edit::SetFluences {
                    plan,
                    beams,
                    answered_goals,
                },
                step,
            ) {
                self.notices.add(
                    NoticeKind::Error,
                    format!("The fluences are not used: {why}."),
                );
                return false;
            }
        }
        self.optimise.applied = self.case().plans.get(plan).cloned();
        true
    }

    /// Lets the maps of the displayed plan follow newer goals, or leaves them as they are.
    fn set_follows_goals(&mut self, follows_goals: bool) {
        let Some(plan) = self.plan().map(|plan| Plan {
            follows_goals,
            ..Plan::clone(plan)
        }) else {
            return;
        };
        self.edit(
            Edit::SetPlan {
                plan: self.plan,
                value: plan,
            },
            None,
        );
        // The user now requests goals that were dismissed before.
        self.optimise.followed.dismissed = None;
    }

    /// Opens Compare with the plan before its maps as A and the plan on show as B. The plan before becomes a plan of the case, once.
    fn compare_with_before(&mut self) {
        let Some(unoptimised) = self.plan_before_maps() else {
            return;
        };
        let copy = Plan {
            name: String::new(),
            uid: None,
            ..unoptimised.clone()
        };
        let existing = self
            .case()
            .plans
            .iter()
            .position(|plan| plan.delivered() == unoptimised.delivered());
        let place = existing.unwrap_or_else(|| {
            let shown = self.plan().map_or("", |plan| &plan.name);
            let name = self.free_plan_name(&format!("{shown} before optimisation"));
            let place = self.case().plans.len();
            self.edit(Edit::AddPlan(Plan { name, ..copy }), None);
            if let Some(engine) = self.results.engines.get(&self.plan).copied() {
                self.results.engines.insert(place, engine);
            }
            place
        });
        self.compare.sides = [place, self.plan].map(|plan| Some(Source::Plan(plan)));
        self.workspace = Workspace::Compare;
    }

    /// Drops all results of a run, except its influence matrix.
    fn forget_run(&mut self) {
        self.results.nodes.forget::<OptimumOf>();
        self.optimise.ghost.clear();
        self.take_as_answered();
    }

    /// Accepts the maps of the case as they are, whatever its goals require: a step of the history that is undone or redone brings
    /// its own maps.
    pub fn take_as_answered(&mut self) {
        self.optimise.followed.dismissed = self.goals_digest();
    }

    /// Drags the handle of a goal, or of a goal that the drag creates.
    pub(crate) fn drag_goal(&mut self, index: Option<usize>, goal: Goal, gesture: u64) {
        let Some(step) = self.step_of(Some(gesture)) else {
            return;
        };
        let mut goals = self.goals();
        let index = match self.optimise.drag.as_ref().filter(|drag| drag.step == step) {
            Some(GoalDrag { dropped: true, .. }) => return,
            Some(drag) => drag.index,
            None => {
                let index = index.unwrap_or(goals.len());
                self.optimise.ghost = self.curves_to_keep();
                let met = self.goals_met_on_view();
                self.optimise.drag = Some(GoalDrag {
                    index,
                    step,
                    met,
                    dropped: false,
                });
                index
            }
        };
        match goals.get_mut(index) {
            Some(old) => *old = goal,
            None => goals.push(goal),
        }
        self.edit(Edit::SetGoals(goals), Some(gesture));
    }

    /// Takes a drag back that is under way; whether there is one.
    pub(crate) fn drop_goal_drag(&mut self) -> bool {
        let gesture = self.history.gesture();
        let Some(drag) = self.optimise.drag.as_mut().filter(|drag| !drag.dropped) else {
            return false;
        };
        drag.dropped = true;
        if gesture == Some(drag.step) {
            self.undo();
        }
        self.optimise.ghost.clear();
        self.take_as_answered();
        true
    }
}
