//! The handle that the pointer drags. Its command follows from the pointer alone, so it is applied before panels and views are laid
//! out: the jobs of a move begin beside the layout, which shows the move already.

use super::Command;
use crate::kit::Pointer;
use egui::{Context, Id, Response};
use std::fmt;

/// A handle that is dragged.
pub struct DraggedHandle {
    id: Id,
    /// The pointer that it was laid out under.
    pointer: Pointer,
    command: Box<dyn Fn(Pointer) -> Option<Command>>,
}

impl DraggedHandle {
    /// `None` where nothing drags it.
    pub(super) fn new(
        handle: &Response,
        command: impl Fn(Pointer) -> Option<Command> + 'static,
    ) -> Option<Self> {
        let pointer = Pointer::dragging(handle)?;
        Some(Self {
            id: handle.id,
            pointer,
            command: Box::new(command),
        })
    }

    pub fn id(&self) -> Id {
        self.id
    }

    /// The pointer that drags it now; `None` once it has let go.
    pub fn pointer(&self, ctx: &Context) -> Option<Pointer> {
        Pointer::dragging(&ctx.read_response(self.id)?)
    }

    /// The command of a move of the pointer; `None` where that changes nothing.
    pub fn command(&self, pointer: Pointer) -> Option<Command> {
        if pointer == self.pointer {
            None
        } else {
            (self.command)(pointer)
        }
    }
}

impl fmt::Debug for DraggedHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DraggedHandle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
