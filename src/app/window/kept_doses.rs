//! Doses that a session or unsaved work was kept with, as its case is opened.

use super::App;
use crate::jobs::JobAnswer;
use crate::state::NoticeKind;
use crate::state::State;
use crate::state::slot::Slot;
use files::{BeamPlace, KeptDoses};
use results::DosesOfOpened;
use std::path::Path;
use std::sync::Arc;
use worker::Task;

impl App {
    /// Lets the beams of the case that was just opened take the doses that they were kept with, and has the worker look which are
    /// computed again. `named` has the beams that the session names; recovered work names none.
    pub(super) fn take_kept_doses(
        &self,
        recovers: Option<&Path>,
        session: Option<&Path>,
        named: Vec<BeamPlace>,
    ) {
        let of_unsaved = recovers.map(|work| self.memory.doses_of(work));
        let doses: Vec<KeptDoses> = of_unsaved
            .into_iter()
            .chain(session.map(KeptDoses::of_session))
            .collect();
        if doses.is_empty() {
            return;
        }
        let opened = Arc::new(DosesOfOpened {
            doses,
            beams: self.state.beams_of_all_plans(),
        });
        self.state
            .results
            .nodes
            .set_doses_of_opened(Arc::clone(&opened));
        let (is_recovered, case) = (recovers.is_some(), self.cases);
        if named.is_empty() && !is_recovered {
            return;
        }
        let task = Task::new("Looking for kept doses", move |_| {
            let (kept, with) = if is_recovered {
                (None, "the unsaved work")
            } else {
                (Some(&named[..]), "the session")
            };
            let said = opened.computed_again(kept, with);
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.state.tell_computed_again(said, case)
            }))
        });
        self.worker.submit(Slot::KeptDoses, task);
    }
}

impl State {
    /// Says which beams of a case, by its number, are computed again.
    fn tell_computed_again(&mut self, said: Option<String>, of_case: u64) {
        let is_of_case = self
            .origin
            .as_ref()
            .is_some_and(|origin| origin.number == of_case);
        if let Some(text) = said.filter(|_| is_of_case) {
            self.notices.add(NoticeKind::Info, text);
        }
    }
}
