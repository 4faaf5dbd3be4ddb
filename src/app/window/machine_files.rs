//! Machine files that change on disk while their doses are on show.

use super::App;
use crate::jobs::JobAnswer;
use crate::state::slot::Slot;
use physics::Machine;
use std::time::Instant;
use worker::Task;

impl App {
    /// Has the worker look at the machine files in use, from time to time.
    pub(super) fn watch_machine_files(&mut self) {
        let Some(names) = self.state.machines_to_look_at(Instant::now()) else {
            return;
        };
        let task = Task::new("Looking at machine files", move |_| {
            let contents = names.into_iter().map(|name| {
                let contents = Machine::contents(&name);
                (name, contents)
            });
            let contents = contents.collect();
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.state.tell_changed_machines(contents)
            }))
        });
        self.worker.submit(Slot::MachineFiles, task);
    }
}
