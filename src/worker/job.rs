//! Requests to the worker.

use engine::JobControl;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::Arc;

/// The key of a job, a type of the caller. A newer job for a slot replaces the older one.
pub trait Slot: Copy + Eq + Hash + Debug + Send + Sync + 'static {}

impl<S: Copy + Eq + Hash + Debug + Send + Sync + 'static> Slot for S {}

/// The thread of a job.
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

/// A unit of work: a call of the engine or of the floors above, as closures that return a `T`.
pub struct Task<T> {
    pub(super) name: Arc<str>,
    pub(super) lane: Lane,
    pub(super) step: Step<T>,
    /// A quick job precedes other work, and a newer job of the slot does not cancel it.
    pub(super) quick: bool,
    pub(super) side_by_side: bool,
    pub(super) behind: bool,
}

/// The kind of work.
pub(super) enum Step<T> {
    Once(Once<T>),
    /// May be preempted by a quick job and restarted.
    Again(Again<T>),
    /// Returns partial answers, each better than the one before.
    Refining(Refining<T>),
}

type Once<T> = Box<dyn FnOnce(&JobControl) -> Result<T, String> + Send>;
type Refining<T> = Box<dyn FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, String> + Send>;
type Again<T> = Arc<dyn Fn(&JobControl) -> Result<T, String> + Send + Sync>;

impl<T> Step<T> {
    fn once<E: Display>(work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static) -> Self {
        Self::Once(Box::new(move |control| {
            work(control).map_err(|error| format!("{error:#}"))
        }))
    }

    /// The same work once more, where it is restartable.
    pub fn another(&self) -> Option<Self> {
        match self {
            Self::Once(_) | Self::Refining(_) => None,
            Self::Again(work) => Some(Self::Again(work.clone())),
        }
    }

    fn map<U: 'static>(self, wrap: fn(T) -> U) -> Step<U>
    where
        T: 'static,
    {
        match self {
            Self::Once(work) => Step::Once(Box::new(move |control| work(control).map(wrap))),
            Self::Again(work) => Step::Again(Arc::new(move |control| work(control).map(wrap))),
            Self::Refining(work) => Step::Refining(Box::new(move |control, partial| {
                work(control, &mut |answer| partial(wrap(answer))).map(wrap)
            })),
        }
    }

    /// `partial` receives the partial answers.
    pub fn run(self, control: &JobControl, partial: &mut dyn FnMut(T)) -> Result<T, String> {
        match self {
            Self::Refining(work) => work(control, partial),
            Self::Once(work) => work(control),
            Self::Again(work) => work(control),
        }
    }
}

impl<T> Task<T> {
    /// Work for the host lane. `name` describes it in words (`opening demo:thorax`). It should poll `control`
    /// every few ms of work and may return any error once cancelled.
    pub fn new<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static,
    ) -> Self {
        Self::from_step(name, Step::once(work))
    }

    /// As [`Task::new`], for long work that a quick job may preempt and that is then restarted: a dragged
    /// beam does not wait for the full dose of the others.
    pub fn restartable<E: Display>(
        name: impl Into<String>,
        work: impl Fn(&JobControl) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        Self::from_step(
            name,
            Step::Again(Arc::new(move |control: &JobControl| {
                work(control).map_err(|error| format!("{error:#}"))
            })),
        )
    }

    /// As [`Task::new`], for an answer that improves: partial answers of `work` arrive as
    /// [`JobEvent::Partial`](super::JobEvent::Partial).
    pub fn refining<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, E> + Send + 'static,
    ) -> Self {
        Self::from_step(
            name,
            Step::Refining(Box::new(
                |control: &JobControl, partial: &mut dyn FnMut(T)| {
                    work(control, partial).map_err(|error| format!("{error:#}"))
                },
            )),
        )
    }

    fn from_step(name: impl Into<String>, step: Step<T>) -> Self {
        Self {
            name: name.into().into(),
            lane: Lane::Host,
            step,
            quick: false,
            side_by_side: false,
            behind: false,
        }
    }

    /// The same work for a worker whose answers wrap its own.
    pub fn map<U: 'static>(self, wrap: fn(T) -> U) -> Task<U>
    where
        T: 'static,
    {
        let Self {
            name,
            lane,
            step,
            quick,
            side_by_side,
            behind,
        } = self;
        Task {
            name,
            lane,
            step: step.map(wrap),
            quick,
            side_by_side,
            behind,
        }
    }

    /// Marks a preview, or work as quick as one: it precedes other work of its lane, and a newer job of the
    /// slot does not cancel it.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// Lets helpers run it, where it is quick, beside others of its lane like it: many small ones that need what came before.
    #[must_use]
    pub fn side_by_side(mut self) -> Self {
        self.side_by_side = true;
        self
    }

    /// Lets waiting quick jobs of the slot run first that are of a wave before (see [`Worker::begin_wave`](super::Worker::begin_wave)).
    #[must_use]
    pub fn behind(mut self) -> Self {
        self.behind = true;
        self
    }

    #[must_use]
    pub fn on(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }
}
