//! A plan by protocol, as one step of the history; its leaves join the step.

use crate::feature::optimise::state::phase::RunEnd;
use crate::feature::robust::state::SetUpErrors;
use crate::jobs::Requests;
use crate::state::display::DoseReference;
use crate::state::{NoticeKind, Selection};
use case::Edit;
use files::Delivery;
use results::technique_of;
use std::sync::Arc;

/// Identity of plans by protocol among the gestures.
const PROTOCOL_STEP: u64 = 0x7072_6f74_6f63_6f6c;

impl Requests<'_> {
    /// Adds the prepared plan with its structures and goals, and has it optimised and delivered.
    pub(crate) fn make_plan(&mut self) {
        let prepared = match self.state.plan_to_make() {
            Ok(prepared) => Arc::clone(prepared),
            Err(why) => {
                let text = format!("No plan is made: {why}.");
                self.state.notices.add(NoticeKind::Error, text);
                return;
            }
        };
        if self.state.optimise.is_running() {
            // The plan on show keeps what was found of its maps.
            self.end_phase(RunEnd::Stopped);
        }
        let planned = &prepared.planned;
        let state = &mut *self.state;
        state.protocol.made += 1;
        let step = PROTOCOL_STEP ^ state.protocol.made.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let index = state.case().plans.len();
        let edit = Edit::AddPlanned {
            structures: planned.case.structures.structures.clone(),
            goals: planned.goals.goals.clone(),
            plan: Box::new(planned.plan.clone()),
        };
        state.edit_within(edit, Some(step));
        if state.case().plans.len() == index {
            // It was refused, and the user told.
            return;
        }
        state.protocol.is_open = false;
        state
            .notices
            .add_remarks(&planned.plan.name, &planned.remarks);
        if let Some(shift_mm) = prepared.protocol.set_up_error_mm {
            state.set_up_errors = SetUpErrors::of_protocol(shift_mm);
        }
        state.dose_display.reference = DoseReference::Prescription;
        state.plan = index;
        state.selection = Selection::Plan;
        let technique = technique_of(prepared.protocol.delivery);
        match (prepared.protocol.delivery, technique) {
            (Delivery::Vmat, _) => {
                self.begin_leaves(index, Some(step));
            }
            (_, Some(technique)) => {
                self.state.leaves.technique = technique;
                self.begin_run(Some(step), true);
            }
            (_, None) => self.begin_run(Some(step), false),
        }
    }
}
