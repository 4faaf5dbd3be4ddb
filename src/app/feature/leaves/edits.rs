//! Leaves of a plan, begun by the user, and as an edit.

use crate::feature::optimise::state::has_arcs;
use crate::feature::optimise::state::phase::{LeavesRun, Phase};
use crate::jobs::Requests;
use crate::state::{NoticeKind, State};
use case::Edit;
use results::Leaves;

impl Requests<'_> {
    /// Makes leaves of the maps of the plan on show; where it has none, the optimisation finds them first.
    pub(crate) fn make_deliverable(&mut self) {
        match self.state.can_make_deliverable() {
            Ok(()) if self.state.optimise.makes_leaves() => {}
            Ok(())
                if self
                    .state
                    .plan()
                    .is_some_and(|plan| plan.has_maps() || has_arcs(plan)) =>
            {
                self.begin_leaves(self.state.plan, None);
            }
            Ok(()) => self.begin_run(None, true),
            Err(why) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("Not made deliverable: {why}."));
            }
        }
    }

    /// Gives a plan the leaves that were made for it as one step of the history.
    pub(crate) fn take_leaves(&mut self, index: usize, leaves: &Leaves) {
        let state = &mut *self.state;
        let Phase::Leaves(run) = std::mem::take(&mut state.optimise.phase) else {
            return;
        };
        let Some(plan) = state.case().plans.get(index) else {
            return;
        };
        let mut beams = leaves.beams.clone();
        for beam in &mut beams {
            if let Some(planned) = plan
                .beams
                .iter()
                .find(|planned| planned.number == beam.number)
            {
                beam.name.clone_from(&planned.name);
            }
        }
        // Maps answer the goals of their optimisation; arcs have no maps, and their leaves answer them.
        let answers = has_arcs(plan) || (run.goals.is_some() && plan.answered_goals == run.goals);
        let answered_goals = if answers {
            state.goals_digest_with(index, &beams)
        } else {
            None
        };
        state.notices.add_remarks(&run.plan.1.name, &leaves.remarks);
        let edit = Edit::SetLeaves {
            plan: index,
            beams,
            answered_goals,
        };
        if let Err(why) = state.history.apply_to_step(index, edit, run.step) {
            state.notices.add(
                NoticeKind::Error,
                format!("The leaves are not used: {why}."),
            );
            state.take_as_answered();
        }
        if !leaves.are_refined {
            let text = "The leaves are as cut from the maps: optimise the plan, and they are refined on their true dose.";
            state.notices.add(NoticeKind::Info, text.to_owned());
        }
        state.derive_standing();
    }
}

impl State {
    /// Whether the leaves of a run fit a plan, by index: nothing that they are made of has changed, and no newer review was recorded.
    pub(crate) fn are_inputs_of(&self, run: &LeavesRun, index: usize) -> bool {
        let Ok(current) = self.leaves_query(index, run.query.technique) else {
            return false;
        };
        let goals = self.optimise_query_of(index).ok();
        let record = &current.plan.approval;
        current == run.query
            && goals.map(|query| query.digest()) == run.goals
            && (record.is_none() || *record == run.plan.1.approval)
    }
}
