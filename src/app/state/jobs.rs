//! The list of the worker's jobs.

use super::slot::Slot;
use case::Receipt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Running jobs, and the receipts or failures of finished ones.
#[derive(Debug, Default)]
pub struct Jobs {
    pub live: Vec<LiveJob>,
    /// Newest first.
    pub finished: VecDeque<FinishedJob>,
}

#[derive(Debug)]
pub struct LiveJob {
    pub id: worker::JobId,
    pub slot: Slot,
    pub name: Arc<str>,
    /// Fraction of the work that is done, 0 to 1; `None` until the job states one.
    pub done: Option<f32>,
    pub began: Instant,
    /// The user has cancelled the job, which may end with its answer all the same.
    pub is_cancelled: bool,
}

impl LiveJob {
    /// Estimated seconds left, from the progress so far; `None` while that is close to zero.
    pub fn seconds_left(&self) -> Option<f64> {
        let done = f64::from(self.done?);
        (done >= 0.03).then(|| self.began.elapsed().as_secs_f64() * (1.0 - done) / done)
    }
}

#[derive(Debug)]
pub struct FinishedJob {
    pub name: Arc<str>,
    pub end: JobEnd,
}

#[derive(Debug)]
pub enum JobEnd {
    Done(Arc<Receipt>),
    Failed(String),
}

const MOST_FINISHED: usize = 50;

impl Jobs {
    /// Fraction done of the running job of a slot, as far as it states one.
    pub fn done_of(&self, slot: Slot) -> Option<f32> {
        self.live.iter().find(|job| job.slot == slot)?.done
    }

    /// Notes that the user has cancelled the jobs of a slot.
    pub fn cancel(&mut self, slot: Slot) {
        self.live
            .iter_mut()
            .filter(|job| job.slot == slot)
            .for_each(|job| job.is_cancelled = true);
    }

    pub fn finish(&mut self, name: Arc<str>, end: JobEnd) {
        self.finished.push_front(FinishedJob { name, end });
        self.finished.truncate(MOST_FINISHED);
    }
}
