//! Progress and cancellation of a running job, and what it finds of jobs before it.

use super::cache::Cache;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thiserror::Error;

/// Named phases of a job and their times, ms.
pub type Phases = Vec<(String, f64)>;

/// Given to a running job, which checks for cancellation, reports its progress and finds what others have cached. Clones share one
/// state.
#[derive(Clone, Debug, Default)]
pub struct JobControl {
    cancelled: Arc<AtomicBool>,
    state: Arc<State>,
    cache: Arc<Cache>,
    keeps_on_card: bool,
}

#[derive(Default)]
struct State {
    /// Fraction done, as the bits of an `f32`.
    done: AtomicU32,
    /// Called with every fraction reported, on the thread that reports it.
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(f32) + Send + Sync>;

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = f32::from_bits(self.done.load(Ordering::Relaxed));
        f.debug_struct("State")
            .field("done", &done)
            .finish_non_exhaustive()
    }
}

/// The job was cancelled before it had a result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Cancelled;

impl JobControl {
    /// With a new cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `listener` with every fraction reported, on the reporting thread: it must be quick.
    #[must_use]
    pub fn with_listener(self, listener: impl Fn(f32) + Send + Sync + 'static) -> Self {
        let state = Arc::new(State {
            listener: Some(Box::new(listener)),
            ..State::default()
        });
        Self { state, ..self }
    }

    /// Control of a job that shares a cache with others.
    pub fn sharing(cache: &Arc<Cache>) -> Self {
        Self {
            cache: Arc::clone(cache),
            ..Self::default()
        }
    }

    /// The same, whose beam doses stay in the memory of the card that computes them, beside the host's.
    #[must_use]
    pub fn keeping_on_card(&self) -> Self {
        Self {
            keeps_on_card: true,
            ..self.clone()
        }
    }

    pub(crate) fn keeps_on_card(&self) -> bool {
        self.keeps_on_card
    }

    /// For a job that this one needs first: cancelled with it, its progress kept apart.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            state: Arc::default(),
            ..self.clone()
        }
    }

    /// Cancels the job, which ends within a few ms.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// `Err(Cancelled)` once cancelled: call it every few ms of work, with `?`.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }

    /// Reports the fraction done, 0 to 1.
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
        let reported = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&reported);
        let control =
            JobControl::new().with_listener(move |done| listener.lock().unwrap().push(done));
        let child = control.child();
        child.report(1.0);
        control.report(0.25);
        assert_eq!(
            (reported.lock().unwrap().as_slice(), control.done()),
            (&[0.25][..], 0.25)
        );
        control.cancel();
        assert!(child.is_cancelled() && child.check() == Err(Cancelled));
        assert!(std::ptr::eq(child.cache(), control.cache()));
        assert!(!std::ptr::eq(JobControl::new().cache(), control.cache()));
    }
}
