//! How a running job is watched and stopped.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thiserror::Error;

/// Handed to a running job: it asks whether to stop and tells how far it is. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct JobControl {
    cancelled: Arc<AtomicBool>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Fraction done, as the bits of an `f32`.
    done: AtomicU32,
    /// Told of every fraction reported, on the thread that reports it.
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(f32) + Send + Sync>;

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = f32::from_bits(self.done.load(Ordering::Relaxed));
        f.debug_struct("State").field("done", &done).finish_non_exhaustive()
    }
}

/// The job was cancelled before it had a result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Cancelled;

impl JobControl {
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `listener` with every fraction reported, on the reporting thread: it must be quick.
    pub fn with_listener(listener: impl Fn(f32) + Send + Sync + 'static) -> Self {
        let state = Arc::new(State { listener: Some(Box::new(listener)), ..State::default() });
        Self { state, ..Self::default() }
    }

    /// For what a job needs done first by another: cancelled with it, but how far it is says nothing of the job.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { cancelled: Arc::clone(&self.cancelled), ..Self::default() }
    }

    /// Asks the job to stop; it does so within a few ms.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// `Err(Cancelled)` once cancelled: call it every few ms of work, with `?`.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Tells how far the job is, 0 to 1.
    pub fn report(&self, done: f32) {
        self.state.done.store(done.to_bits(), Ordering::Relaxed);
        if let Some(listener) = &self.state.listener {
            listener(done);
        }
    }

    pub fn done(&self) -> f32 {
        f32::from_bits(self.state.done.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_child_is_cancelled_with_the_job_and_says_nothing_of_its_progress() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let control = JobControl::with_listener(move |done| heard.lock().unwrap().push(done));
        let child = control.child();
        child.report(1.0);
        control.report(0.25);
        assert_eq!((told.lock().unwrap().as_slice(), control.done()), (&[0.25][..], 0.25));
        control.cancel();
        assert!(child.is_cancelled() && child.check() == Err(Cancelled));
    }
}
