//! The optimisation, changed by the user, and its maps as an edit.

use crate::feature::compare::state::Source;
use crate::feature::leaves::state::Follow;
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::optimise::state::{GoalDrag, with_maps};
use crate::jobs::Requests;
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State, Workspace};
use case::{Beam, Edit, Goal, Plan};
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
            OptimiseAction::Stop => self.stop_run(),
            OptimiseAction::TakeBack => _ = self.take_back_run(),
            OptimiseAction::CompareBefore => self.state.compare_with_before(),
            OptimiseAction::MakeDeliverable => self.make_deliverable(),
            OptimiseAction::KeepMaps => _ = self.stop_cut(),
            OptimiseAction::FollowGoals(follows) => self.state.set_follows_goals(follows),
            OptimiseAction::ShowStages(shows) => self.state.leaves.shows_stages = shows,
            OptimiseAction::SetTechnique(technique) => self.state.leaves.technique = technique,
        }
    }

    /// Ends the run for the user; the plan gets the maps found so far.
    pub fn stop_run(&mut self) {
        let optimise = &self.state.optimise;
        let Some(run) = &optimise.run else { return };
        let has_maps = optimise
            .latest
            .as_ref()
            .is_some_and(|(number, _)| *number == run.number);
        let has = if has_maps {
            "has the fluences found so far"
        } else {
            "is as it was"
        };
        let plan = &run.plan.1;
        let text =
            format!("Cancelled: optimising {plan}. The plan {has}. Press 'Optimise' to go on.");
        self.state.notices.add(NoticeKind::Info, text);
        self.halt_run();
    }

    /// Ends the run with the maps found so far.
    pub fn halt_run(&mut self) {
        self.worker.cancel(Slot::Optimise);
        self.end_run(true);
    }

    /// Ends the run without its maps, and takes back the drag that it answers. Whether there was one.
    pub fn take_back_run(&mut self) -> bool {
        let dragged = self.state.drop_goal_drag();
        let Some(run) = self.state.optimise.run.take() else {
            return dragged;
        };
        self.worker.cancel(Slot::Optimise);
        if !dragged {
            let plan = &run.plan.1;
            let text = format!(
                "Taken back: optimising {plan}. The plan is as it was. Press 'Optimise' to go on."
            );
            self.state.notices.add(NoticeKind::Info, text);
        }
        if !dragged
            && run
                .step
                .is_some_and(|step| self.state.history.gesture() == Some(step))
        {
            self.state.undo();
        }
        self.state.forget_run();
        true
    }

    /// Ends the run for an undo. The maps found so far become a step, which is undone: redo brings them. Whether there was a run.
    pub fn undo_run(&mut self) -> bool {
        if self.state.optimise.drag().is_some() {
            return self.take_back_run();
        }
        let Some(run) = &self.state.optimise.run else {
            return false;
        };
        let (plan, step) = (run.plan.clone(), run.step);
        let unoptimised = self.state.case().plans.get(plan.0).cloned();
        self.halt_run();
        self.drop_leaves();
        let has_maps = self.state.case().plans.get(plan.0) != unoptimised.as_ref();
        let has_begun_it = step.is_some() && self.state.history.gesture() == step;
        if has_maps || has_begun_it {
            self.state.undo();
        }
        let outcome = if has_maps {
            "Redo brings the fluences found so far."
        } else {
            "It had found none yet."
        };
        let text = format!("Undone: optimising {}. {outcome}", plan.1);
        self.state.notices.add(NoticeKind::Info, text);
        self.state.forget_run();
        true
    }

    /// Ends the run without its maps: the plan was reviewed meanwhile, as it is.
    pub(crate) fn end_run_for_record(&mut self) {
        let Some(run) = &self.state.optimise.run else {
            return;
        };
        let words = self
            .state
            .plan()
            .map(|plan| plan.approval_words())
            .unwrap_or_default();
        let text = format!(
            "Ended: optimising {}, which is {words}. The plan stays as it was looked at.",
            run.plan.1
        );
        self.state.notices.add(NoticeKind::Info, text);
        self.worker.cancel(Slot::Optimise);
        self.drop_leaves();
        self.end_run(false);
        self.state.forget_run();
        self.state.derive_standing();
    }

    /// Ends the run, where it came to its maps or is to end.
    pub(crate) fn end_run(&mut self, uses_maps: bool) {
        let Some(run) = self.state.optimise.run.take() else {
            return;
        };
        let latest = self
            .state
            .optimise
            .latest
            .as_ref()
            .filter(|(number, _)| *number == run.number);
        let latest = latest.map(|(_, latest)| Arc::clone(latest));
        if let Some(latest) = latest.filter(|_| uses_maps) {
            // The plan on show first: a copy of it has the same answer.
            let case = self.state.case();
            let mut plans = std::iter::once(run.plan.0).chain(0..case.plans.len());
            let answered = plans.find(|plan| {
                self.state
                    .optimise_query_of(*plan)
                    .is_ok_and(|query| query == latest.query)
            });
            match answered {
                Some(plan) => {
                    let are_set = self.state.set_fluences(plan, &latest.beams, run.step);
                    if !are_set {
                        // A new run would only find the refused maps again.
                        self.state.forget_run();
                    }
                    self.state.notices.add_remarks(&run.plan.1, &latest.remarks);
                    let optimised = self.state.case().plans.get(plan);
                    let to_cut =
                        optimised.filter(|plan| are_set && run.leaves_follow && !plan.is_cut());
                    self.state.leaves.follow = to_cut.map(|to_cut| Follow {
                        plan: (plan, Arc::clone(to_cut)),
                        step: run.step,
                        since: Instant::now(),
                    });
                }
                None => {
                    let text = "The optimisation ended before it answered the plan as it is: its fluences are not used.";
                    self.state.notices.add(NoticeKind::Info, text);
                    self.state.take_as_answered();
                }
            }
        } else {
            // A failed run is not repeated until its inputs change.
            self.state.take_as_answered();
        }
        (self.state.optimise.published, self.state.optimise.columns) = (None, None);
        self.state.derive_standing();
    }
}

impl State {
    /// Gives a plan its maps as one step of the history; `false` where they are refused.
    fn set_fluences(&mut self, plan: usize, beams: &[Beam], step: Option<u64>) -> bool {
        let Some(previous) = self.case().plans.get(plan) else {
            return false;
        };
        let answered_goals = self.optimise.latest_goals.clone();
        let with = with_maps(previous, beams);
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
        self.optimise.dismissed = None;
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
        let optimise = &mut self.optimise;
        (optimise.latest, optimise.columns, optimise.published) = (None, None, None);
        optimise.latest_goals = None;
        optimise.ghost.clear();
        self.take_as_answered();
    }

    /// Accepts the maps of the case as they are, whatever its goals require: a step of the history that is undone or redone brings
    /// its own maps.
    pub fn take_as_answered(&mut self) {
        self.optimise.dismissed = self.goals_digest();
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
