//! How a running job is watched and stopped.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thiserror::Error;

/// Handed to a running job: it asks whether to stop and tells how far it is. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    /// Fraction done, as the bits of an `f32`.
    done: AtomicU32,
    /// Told of every fraction reported, on the thread that reports it.
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(f32) + Send + Sync>;

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cancelled, done) = (&self.cancelled, f32::from_bits(self.done.load(Ordering::Relaxed)));
        f.debug_struct("State").field("cancelled", cancelled).field("done", &done).finish_non_exhaustive()
    }
}

/// The job was cancelled before it had a result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Stopped;

impl Watch {
    pub fn new() -> Self {
        Self::default()
    }

    /// A watch that calls `listener` with every fraction reported, on the reporting thread: it must be quick.
    pub fn with_listener(listener: impl Fn(f32) + Send + Sync + 'static) -> Self {
        Self { state: Arc::new(State { listener: Some(Box::new(listener)), ..State::default() }) }
    }

    /// Asks the job to stop; it does so within a few ms.
    pub fn cancel(&self) {
        self.state.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.state.cancelled.load(Ordering::Relaxed)
    }

    /// `Err(Stopped)` once cancelled: call it every few ms of work, with `?`.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_cancelled() { Err(Stopped) } else { Ok(()) }
    }

    /// Tells how far the job is, 0 to 1.
    pub fn report(&self, done: f32) {
        self.state.done.store(done.to_bits(), Ordering::Relaxed);
        if let Some(listener) = &self.state.listener {
            listener(done);
        }
    }

    /// Reports and says whether to go on: the `&dyn Fn(f32) -> bool` of the floors below the engine.
    pub fn goes_on(&self, done: f32) -> bool {
        self.report(done);
        !self.is_cancelled()
    }

    pub fn done(&self) -> f32 {
        f32::from_bits(self.state.done.load(Ordering::Relaxed))
    }
}
