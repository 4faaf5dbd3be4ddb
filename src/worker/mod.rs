//! The worker: jobs, slots, progress, cancellation, previews.
//!
//! Two threads. The *device lane* owns the devices and computes (doses, paths); the *host lane* does the rest
//! (opening a case, masks, DVHs), so that a long dose never blocks a load. Nobody waits for either: jobs are
//! submitted, reports are drained once a frame.
//!
//! * A job answers to a [`Slot`]. A newer job for the slot takes the older one's place: one that waits is
//!   dropped at once, one that runs is stopped through its [`JobControl`](crate::engine::JobControl).
//! * A job may have a quick answer before its full one ([`Task::after_preview`]). Previews go before all full
//!   answers of their lane, and a newer job does not interrupt a preview that already runs: while a handle is
//!   dragged faster than previews can follow, the picture still follows, and the last position is answered in full.
//! * Full work that may be begun again ([`Task::restartable`]) makes way for the previews of other slots.
//! * Every job ends in exactly one of [`News::Done`], [`News::Failed`], [`News::Cancelled`]. A panic is a failure
//!   that names the job.

mod job;
mod lanes;
mod report;

pub use job::{Lane, Slot, Task};
pub use report::{JobId, News, Report};

use crossbeam_channel::Receiver;
use lanes::Lanes;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Called, on a worker thread, when reports wait that were not there at the last [`Worker::drain`].
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// The threads and their queues. `T` is what the tasks of the floors above answer: an enum of theirs.
/// Dropping it cancels everything and waits for the running jobs to stop.
pub struct Worker<T: Send + 'static> {
    lanes: Arc<Lanes<T>>,
    reports: Receiver<Report<T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts the threads. The window passes a repaint request as `notify`, the command line nothing, tests a
    /// counter; it is called once for any number of reports between two drains.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(notify: Notify) -> io::Result<Self> {
        let (sender, reports) = crossbeam_channel::unbounded();
        let lanes = Arc::new(Lanes::new(sender, notify));
        let mut worker = Self { lanes, reports, threads: Vec::new() };
        for lane in [Lane::Device, Lane::Host] {
            let lanes = worker.lanes.clone();
            let thread = std::thread::Builder::new().name(lane.word().to_owned());
            worker.threads.push(thread.spawn(move || lanes.run(lane))?);
        }
        Ok(worker)
    }

    /// Queues a task as a job; it takes the place of any other of the same slot.
    pub fn submit(&self, slot: Slot, task: Task<T>) -> JobId {
        self.lanes.submit(slot, task)
    }

    /// Cancels the slot's job, waiting or running, preview or not.
    pub fn cancel(&self, slot: Slot) {
        self.lanes.cancel(slot);
    }

    /// All reports since the last time, in the order they were made.
    pub fn drain(&self) -> Vec<Report<T>> {
        self.lanes.before_drain();
        let mut reports: Vec<_> = self.reports.try_iter().collect();
        self.lanes.mark_superseded(&mut reports);
        reports
    }

    /// Jobs submitted so far.
    pub fn submitted(&self) -> u64 {
        self.lanes.submitted()
    }

    /// Jobs waiting or running.
    pub fn live_jobs(&self) -> usize {
        self.lanes.live_jobs()
    }
}

impl<T: Send + 'static> Drop for Worker<T> {
    fn drop(&mut self) {
        self.lanes.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a worker thread ended with a panic outside any job");
            }
        }
    }
}

#[cfg(test)]
mod tests;
