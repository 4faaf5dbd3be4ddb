//! What can be asked of the worker.

use crate::engine::JobControl;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::Arc;

/// What a job answers to: a value of the floors above. A newer job for a slot takes the place of the older one.
pub trait Slot: Copy + Eq + Hash + Debug + Send + Sync + 'static {}

impl<S: Copy + Eq + Hash + Debug + Send + Sync + 'static> Slot for S {}

/// Which of the two threads does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Owns the devices: doses, gamma, registration.
    Device,
    /// Everything else: files, masks, DVHs.
    Host,
}

impl Lane {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
        }
    }
}

/// One thing to do: a call of the engine or of the floors above, as closures that answer a `T`.
pub struct Task<T> {
    pub(super) name: Arc<str>,
    pub(super) lane: Lane,
    pub(super) step: Step<T>,
    /// It goes before other work, and a newer job of the slot lets it finish.
    pub(super) quick: bool,
}

/// How work is done.
pub(super) enum Step<T> {
    Once(Once<T>),
    /// May be stopped for a quick job and begun again.
    Again(Again<T>),
    /// Gives answers on the way, each better than the one before.
    Refining(Refining<T>),
}

type Once<T> = Box<dyn FnOnce(&JobControl) -> Result<T, String> + Send>;
type Refining<T> = Box<dyn FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, String> + Send>;
type Again<T> = Arc<dyn Fn(&JobControl) -> Result<T, String> + Send + Sync>;

impl<T> Step<T> {
    fn once<E: Display>(work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static) -> Self {
        Self::Once(Box::new(move |control| work(control).map_err(|error| format!("{error:#}"))))
    }

    /// The same work once more, where it may be done again.
    pub fn another(&self) -> Option<Self> {
        match self {
            Self::Once(_) | Self::Refining(_) => None,
            Self::Again(work) => Some(Self::Again(work.clone())),
        }
    }

    /// `partial` is given the answers on the way.
    pub fn run(self, control: &JobControl, partial: &mut dyn FnMut(T)) -> Result<T, String> {
        match self {
            Self::Refining(work) => work(control, partial),
            Self::Once(work) => work(control),
            Self::Again(work) => work(control),
        }
    }
}

impl<T> Task<T> {
    /// Work for the host lane. `name` says what it does, in words (`opening demo:thorax`). It should ask
    /// `control` every few ms of work and may return any error once that says stop.
    pub fn new<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static,
    ) -> Self {
        Self::of(name, Step::once(work))
    }

    /// As [`Task::new`], for long work that may be stopped while a quick job has its turn, and begun
    /// again: a beam that is dragged does not wait for the full dose of the others.
    pub fn restartable<E: Display>(
        name: impl Into<String>,
        work: impl Fn(&JobControl) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let work = move |control: &JobControl| work(control).map_err(|error| format!("{error:#}"));
        Self::of(name, Step::Again(Arc::new(work)))
    }

    /// As [`Task::new`], for an answer that improves: what `work` hands out on the way comes as
    /// [`JobEvent::Partial`](super::JobEvent::Partial).
    pub fn refining<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, E> + Send + 'static,
    ) -> Self {
        let work = |control: &JobControl, partial: &mut dyn FnMut(T)| {
            work(control, partial).map_err(|error| format!("{error:#}"))
        };
        Self::of(name, Step::Refining(Box::new(work)))
    }

    fn of(name: impl Into<String>, step: Step<T>) -> Self {
        Self { name: name.into().into(), lane: Lane::Host, step, quick: false }
    }

    /// Says that it is a preview, or as quick as one: it goes before other work of its lane, and a newer job of the slot
    /// lets it finish.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    #[must_use]
    pub fn on(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }
}
