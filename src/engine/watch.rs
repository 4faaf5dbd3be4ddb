//! How a running job is watched and stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thiserror::Error;

/// Handed to a running job: it asks whether to stop and tells how far it is. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// Fraction done, as the bits of an `f32`.
    done: AtomicU32,
}

/// The job was cancelled before it had a result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Stopped;

impl Watch {
    pub fn new() -> Self {
        Self::default()
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
    }

    pub fn done(&self) -> f32 {
        f32::from_bits(self.state.done.load(Ordering::Relaxed))
    }
}
