//! The dose that the displayed plan delivers to the patient in the shown pose.

use crate::feature::compare::state::Source;
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State, Workspace};
use analysis::Side;
use case::Dose;
use registration::PoseStanding;
use results::{Day, dose_of_day};
use std::sync::Arc;
use worker::{Lane, Task};

impl State {
    /// Why the displayed plan has no dose in the shown pose, a sentence.
    pub fn why_no_dose_at_pose(&self) -> Option<String> {
        let standing = self.register.shown_standing();
        if let Some(PoseStanding::NoMatch { why }) = standing {
            return Some(format!("The pose matches no patient of the X-rays: {why}."));
        }
        if self.register.shown_pose().is_identity() {
            return Some("The patient lies as planned: the dose is the plan's.".to_owned());
        }
        // Asked in each frame: the plan itself is made for the job alone.
        let is_computed = self.delivered_factor().is_some();
        (!is_computed).then(|| {
            "The plan has to be computed first: show its dose in the Plan workspace.".to_owned()
        })
    }
}

impl Requests<'_> {
    /// Computes the displayed plan in the shown pose, and compares it with the plan.
    pub(crate) fn dose_at_pose(&mut self) {
        let delivered = self.state.delivered_plan();
        let refused = self.state.why_no_dose_at_pose();
        let Some(delivered) = delivered.filter(|_| refused.is_none()) else {
            self.state
                .notices
                .add(NoticeKind::Warning, refused.unwrap_or_default());
            return;
        };
        let (pose, case) = (self.state.register.shown_pose(), self.state.case());
        let day = Day {
            name: format!("pose {pose:.1}"),
            pose,
            centre_mm: Some(self.state.register.centre_mm(case)),
        };
        let (plan, number) = (self.state.plan, self.number_of_case());
        let task = Task::new(format!("Dose at the {}", day.name), move |control| {
            dose_of_day(&delivered, &day, control).map(|dose| {
                JobAnswer::then(move |window| window.take_dose_of_day(dose, plan, number))
            })
        });
        let slot = Slot::NewDose(self.worker.submitted());
        self.worker.submit(slot, task.on(Lane::Device));
    }

    fn number_of_case(&self) -> Option<u64> {
        self.state.origin.as_ref().map(|origin| origin.number)
    }

    /// Adds the dose as B of a comparison with the plan.
    fn take_dose_of_day(&mut self, dose: Dose, plan: usize, number: Option<u64>) {
        // An answer that comes late is of the case before.
        if number != self.number_of_case() {
            return;
        }
        self.take_dose(Arc::new(dose), Some(Side::B));
        self.state.compare.sides[Side::A.index()] = Some(Source::Plan(plan));
        self.state.workspace = Workspace::Compare;
    }
}
