//! Leaves that were cut from maps, as an edit.

use crate::feature::leaves::jobs::LeavesAnswer;
use crate::feature::leaves::state::has_arcs;
use crate::jobs::Requests;
use crate::state::NoticeKind;
use crate::state::slot::Slot;
use case::{Edit, Plan};
use std::sync::Arc;

impl Requests<'_> {
    /// Cuts the maps of the plan on show into leaves; where it has none, the optimisation finds them first.
    pub(crate) fn make_deliverable(&mut self) {
        match self.state.can_make_deliverable() {
            Ok(()) if self.state.leaves.is_cutting() => {}
            Ok(())
                if self
                    .state
                    .plan()
                    .is_some_and(|plan| plan.has_maps() || has_arcs(plan)) =>
            {
                self.drop_leaves();
                self.begin_cut(self.state.plan, None);
            }
            Ok(()) => self.begin_run(None, true),
            Err(why) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("Not made deliverable: {why}."));
            }
        }
    }

    /// Ends a cut for the user, or leaves that were to follow. Whether they were.
    pub(crate) fn stop_cut(&mut self) -> bool {
        if let Some(cut) = &self.state.leaves.cut {
            let how = Slot::Leaves.after_cancel().unwrap_or_default();
            let text = format!("Cancelled: leaves of {}. {how}", cut.plan.1.name);
            self.state.notices.add(NoticeKind::Info, text);
        }
        self.drop_leaves()
    }

    /// Gives a plan its leaves as one step of the history, unless it has changed meanwhile.
    pub fn take_leaves(&mut self, answer: LeavesAnswer) {
        let state = &mut *self.state;
        let Some(cut) = state.leaves.cut.take_if(|cut| cut.number == answer.cut) else {
            return;
        };
        let (cut_index, cut_plan) = cut.plan;
        if let Some(arcs) = state.leaves.arcs.as_mut().filter(|_| has_arcs(&cut_plan)) {
            arcs.took = Some(arcs.started.elapsed());
        }
        // Plans before it may have been deleted meanwhile.
        let current_index = state
            .case()
            .plans
            .iter()
            .position(|plan| Arc::ptr_eq(plan, &cut_plan));
        let index = current_index.unwrap_or(cut_index);
        let goals = state
            .optimise_query_of(index)
            .ok()
            .map(|query| query.digest());
        let plan = state.case().plans.get(index);
        let Some(plan) = plan.filter(|plan| goals == cut.goals && has_same_inputs(plan, &cut_plan))
        else {
            let text = format!(
                "{} has changed while its leaves were cut, or its goals have: cut them again.",
                cut_plan.name
            );
            state.notices.add(NoticeKind::Warning, text);
            return;
        };
        let mut beams = answer.leaves.beams;
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
        let answers = has_arcs(&cut_plan) || (goals.is_some() && plan.answered_goals == goals);
        let answered_goals = if answers {
            state.goals_digest_with(index, &beams)
        } else {
            None
        };
        state
            .notices
            .add_remarks(&cut_plan.name, &answer.leaves.remarks);
        let edit = Edit::SetLeaves {
            plan: index,
            beams,
            answered_goals,
        };
        if let Err(why) = state.history.apply_to_step(index, edit, cut.step) {
            state.notices.add(
                NoticeKind::Error,
                format!("The leaves are not used: {why}."),
            );
            state.take_as_answered();
        }
        if !answer.leaves.are_refined {
            let text = "The leaves are as cut from the maps: optimise the plan, and they are refined on their true dose.";
            state.notices.add(NoticeKind::Info, text.to_owned());
        }
        state.derive_standing();
    }
}

/// Whether leaves of one plan also fit the other: beams and objectives are the same, and no newer review was recorded.
fn has_same_inputs(plan: &Plan, cut_plan: &Plan) -> bool {
    plan.delivered() == cut_plan.delivered()
        && plan.objectives == cut_plan.objectives
        && (plan.approval.is_none() || plan.approval == cut_plan.approval)
}
