//! The dragged handle's command, applied before the layout.

use super::App;
use crate::command::DraggedHandle;
use egui::{Context, Id};

/// The drag of a handle from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Drag {
    /// The handle that the last layout showed under the pointer, and the state of that layout.
    pub handle: Option<(DraggedHandle, Revision)>,
    /// The handle whose move is applied in this frame.
    pub followed: Option<Id>,
}

/// A state of the plan on show: a handle laid out in one is none of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    cases: u64,
    plan: usize,
    steps: usize,
}

impl App {
    pub(super) fn revision(&self) -> Revision {
        let state = &self.state;
        Revision {
            cases: self.cases,
            plan: state.plan,
            steps: state.history.done(),
        }
    }

    /// Moves the dragged handle to the pointer, once a frame.
    pub(super) fn follow_handle(&mut self, ctx: &Context) {
        if ctx.current_pass_index() > 0 {
            return;
        }
        self.drag.followed = None;
        let Some((handle, laid_out)) = self.drag.handle.take() else {
            return;
        };
        if laid_out != self.revision() {
            return;
        }
        // Before the layout, which the command does not need: jobs of a drag begin 4 ms sooner.
        if let Some(pointer) = handle.pointer(ctx) {
            handle
                .command(pointer)
                .into_iter()
                .for_each(|command| self.apply(command));
            self.drag.followed = Some(handle.id());
        }
    }
}
