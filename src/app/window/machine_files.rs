//! Machine files that change on disk while their doses are on show.

use super::App;
use crate::jobs::Answer;
use crate::state::NoticeKind;
use crate::state::slot::Slot;
use physics::{Machine, MachineContents};
use std::time::Instant;
use worker::Task;

impl App {
    /// Has the worker look at the machine files in use, from time to time.
    pub(super) fn watch_machine_files(&mut self) {
        let Some(names) = self.state.machines_to_look_at(Instant::now()) else { return };
        let task = Task::new("Looking at machine files", move |_| {
            let contents = |name: String| (name.clone(), Machine::contents(&name));
            Ok::<_, String>(Answer::MachineContents(names.into_iter().map(contents).collect()))
        });
        self.worker.submit(Slot::MachineFiles, task);
    }

    pub(super) fn take_machine_contents(&mut self, contents: Vec<(String, MachineContents)>) {
        for name in self.state.take_machine_contents(contents) {
            let text =
                format!("The machine file {name} has changed: doses are computed with it as it is now.");
            self.state.notices.add(NoticeKind::Warning, text);
        }
    }
}
