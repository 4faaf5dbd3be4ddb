//! The worker: jobs, slots, progress, cancellation, previews.
//!
//! Two threads. The *device lane* owns the devices and computes (doses, paths); the *host lane* does the rest
//! (opening a case, masks, DVHs), so that a long dose never blocks a load. Nobody waits for either: jobs are
//! submitted, reports are drained once a frame.
//!
//! * A job answers to a [`Slot`]. A newer job for the slot takes the older one's place: one that waits is
//!   dropped at once, one that runs is stopped through its [`JobControl`](crate::engine::JobControl).
//! * Quick jobs ([`Task::quick`]) go before all others of their lane, and a newer job does not interrupt one that already
//!   runs: while a handle is dragged faster than previews can follow, the picture still follows.
//! * Work that may be begun again ([`Task::restartable`]) makes way for quick jobs.
//! * Every job ends in exactly one of [`JobEvent::Done`], [`JobEvent::Failed`], [`JobEvent::Cancelled`]. A panic is a failure
//!   that names the job.

mod job;
mod queues;
mod report;

pub use job::{Lane, Slot, Task};
pub use report::{JobEvent, JobId, Report};

use crossbeam_channel::Receiver;
use queues::Queues;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Called, on a worker thread, when reports wait that were not there at the last [`Worker::drain`].
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// The threads and their queues. `S` names the slots and `T` is what the tasks answer: both
/// are of the floors above.
/// Dropping it cancels everything and waits for the running jobs to stop.
pub struct Worker<S: Slot, T: Send + 'static> {
    queues: Arc<Queues<S, T>>,
    reports: Receiver<Report<S, T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<S: Slot, T: Send + 'static> Worker<S, T> {
    /// Starts the threads. The window passes a repaint request as `notify`, the command line nothing, tests a
    /// counter; it is called once for any number of reports between two drains.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(notify: Notify) -> io::Result<Self> {
        let (sender, reports) = crossbeam_channel::unbounded();
        let queues = Arc::new(Queues::new(sender, notify));
        let mut worker = Self { queues, reports, threads: Vec::new() };
        for lane in [Lane::Device, Lane::Host] {
            let queues = worker.queues.clone();
            let thread = std::thread::Builder::new().name(lane.word().to_owned());
            worker.threads.push(thread.spawn(move || queues.run(lane))?);
        }
        Ok(worker)
    }

    /// Queues a task as a job; it takes the place of any other of the same slot.
    pub fn submit(&self, slot: S, task: Task<T>) -> JobId {
        self.queues.submit(slot, task)
    }

    /// Cancels the slot's job, waiting or running, preview or not.
    pub fn cancel(&self, slot: S) {
        self.queues.cancel(slot);
    }

    /// All reports since the last time, in the order they were made.
    pub fn drain(&self) -> Vec<Report<S, T>> {
        self.queues.before_drain();
        let mut reports: Vec<_> = self.reports.try_iter().collect();
        self.queues.mark_superseded(&mut reports);
        reports
    }

    /// Jobs submitted so far.
    pub fn submitted(&self) -> u64 {
        self.queues.submitted()
    }

    /// Jobs waiting or running.
    pub fn live_jobs(&self) -> usize {
        self.queues.live_jobs()
    }
}

impl<S: Slot, T: Send + 'static> Drop for Worker<S, T> {
    fn drop(&mut self) {
        self.queues.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a worker thread ended with a panic outside any job");
            }
        }
    }
}

#[cfg(test)]
mod tests;
