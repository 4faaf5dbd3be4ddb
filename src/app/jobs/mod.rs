//! The window's jobs and their answers; jobs of one feature stand in its folder.
//!
//! `request.rs` requests the missing results of the case, `texture.rs` makes the textures of doses.

mod request;
mod texture;

use super::render::Gpu;
use super::state::State;
use super::state::files::Target;
use super::state::slot::Slot;
use super::state::unsaved::Work;
use crate::feature::open::state::Opened;
use files::{Keeper, RecentCase, Recoverable};
use results::Delivery;
use std::path::PathBuf;

/// The window's worker.
pub type Worker = worker::Worker<Slot, JobAnswer>;

/// The state, with the worker that computes its missing results.
pub struct Requests<'a> {
    pub state: &'a mut State,
    pub worker: &'a Worker,
    pub gpu: &'a Gpu,
    pub ctx: &'a egui::Context,
}

/// Contents of the state folder at the start.
#[derive(Debug)]
pub struct Remembered {
    pub keeper: Keeper,
    pub recoverable: Vec<Recoverable>,
    pub recent: Vec<RecentCase>,
}

/// Changes of the state by the answer of a job, and the requests that follow from it.
pub type Completion = Box<dyn FnOnce(&mut Requests<'_>) + Send>;

/// The answer of a worker's job to the window.
pub enum JobAnswer {
    /// A result of the current case.
    Result(Delivery),
    /// An answer with its completion.
    Then(Completion),
    /// An answer on which the course of the window depends.
    Window(WindowAnswer),
}

/// Answers of the jobs that open, save and remember work.
pub enum WindowAnswer {
    Opened(Box<Opened>),
    Saved(PathBuf),
    /// Nothing is written: the file already exists, and replacing it is not confirmed.
    IsThere(Target),
    /// A session is written that holds this work, of the case with this number; and why it has no doses beside it.
    SessionSaved {
        path: PathBuf,
        work: Box<Work>,
        case: u64,
        without_doses: Option<String>,
    },
    Remembered(Box<Remembered>),
    /// Unsaved work of windows that have ended since the start.
    Recoverable(Vec<Recoverable>),
}

impl JobAnswer {
    /// An answer that is complete when `completion` has run.
    pub fn then(completion: impl FnOnce(&mut Requests<'_>) + Send + 'static) -> Self {
        Self::Then(Box::new(completion))
    }

    /// The answer of a job that nothing waits for.
    pub fn nothing() -> Self {
        Self::then(|_| {})
    }
}
