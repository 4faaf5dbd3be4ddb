//! The worker: jobs, slots, progress, cancellation, previews.
//!
//! Two lanes. The *device lane*, one thread, owns the devices and computes (doses, paths); the *host lane* does the
//! rest (opening a case, masks, DVHs), so that a long dose never blocks a load. The jobs of a lane follow one another;
//! helpers run small ones like each other ([`Task::side_by_side`]) at the same time. The caller waits for none: jobs
//! are submitted, reports are drained once a frame.
//!
//! * A job belongs to a [`Slot`]. A newer job for the slot replaces the older one: a waiting one is dropped
//!   at once, a running one is cancelled through its [`JobControl`](engine::JobControl).
//! * Quick jobs ([`Task::quick`]) precede all others of their lane, and a newer job does not cancel a running
//!   one: while a handle is dragged faster than previews are computed, the picture is still updated.
//! * Quick jobs preempt restartable work ([`Task::restartable`]). Their reports are told together, when none is left of
//!   their wave. A wave has the quick jobs of one state of the case; the next wave's jobs ([`Worker::begin_wave`]) may queue
//!   behind it ([`Task::behind`]).
//! * Every job ends in exactly one of [`JobEvent::Done`], [`JobEvent::Failed`], [`JobEvent::Cancelled`]. A
//!   panic is a failure with the name of the job.

mod job;
mod queues;
mod report;

pub use job::{Lane, Slot, Task};
pub use report::{JobEvent, JobId, Report};

use crossbeam_channel::Receiver;
use engine::Cache;
use queues::Queues;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// One helper for every this many threads of the pool, all of which a single job may use,
const THREADS_OF_HELPER: usize = 4;
/// and no more in all.
// Up to seven helpers gain nothing in a drag of a beam on 16 threads.
const MOST_HELPERS: usize = 3;

/// Called, on a worker thread, when the first report after a [`Worker::drain`] is ready.
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// The threads and their queues. `S` is the type of the slots and `T` the type of the tasks' answers: both are of
/// the floors above. A drop cancels everything and waits for the running jobs to stop.
pub struct Worker<S: Slot, T: Send + 'static> {
    queues: Arc<Queues<S, T>>,
    reports: Receiver<Report<S, T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<S: Slot, T: Send + 'static> Worker<S, T> {
    /// Starts the threads. The window passes a repaint request as `notify`, the command line a no-op, tests a
    /// counter; it is called once for any number of reports between two drains.
    ///
    /// # Errors
    /// A thread that the system cannot start.
    pub fn start(notify: Notify) -> io::Result<Self> {
        Self::with_helpers(
            (rayon::current_num_threads() / THREADS_OF_HELPER).min(MOST_HELPERS),
            notify,
        )
    }

    fn with_helpers(helpers: usize, notify: Notify) -> io::Result<Self> {
        let (sender, reports) = crossbeam_channel::unbounded();
        let queues = Arc::new(Queues::new(sender, notify));
        let mut worker = Self {
            queues,
            reports,
            threads: Vec::new(),
        };
        let helpers = std::iter::repeat_n(None, helpers);
        for lane in [Some(Lane::Device), Some(Lane::Host)]
            .into_iter()
            .chain(helpers)
        {
            let queues = worker.queues.clone();
            let thread =
                std::thread::Builder::new().name(lane.map_or("helper", Lane::word).to_owned());
            worker.threads.push(thread.spawn(move || queues.run(lane))?);
        }
        Ok(worker)
    }

    /// Queues a task as a job; it replaces any other of the same slot.
    pub fn submit(&self, slot: S, task: Task<T>) -> JobId {
        self.queues.submit(slot, task)
    }

    /// Cancels the slot's job, waiting or running, preview or not.
    pub fn cancel(&self, slot: S) {
        self.queues.cancel(slot);
    }

    /// Ends the slot's job as a newer one would: a running quick one still answers.
    pub fn supersede(&self, slot: S) {
        self.queues.supersede(slot);
    }

    /// All reports since the last drain, in order.
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

    /// Whether a quick job waits or runs.
    pub fn has_quick(&self) -> bool {
        self.queues.has_quick()
    }

    /// Begins another wave of quick jobs, to queue behind the jobs of the wave under way: so the processors do not wait for the window
    /// between two states of a case. Returns `false`, and begins none, while a wave before that one is left, or one of its jobs
    /// that come first.
    pub fn begin_wave(&self, comes_first: impl Fn(S) -> bool) -> bool {
        self.queues.begin_wave(comes_first)
    }

    /// The cache that the jobs share.
    pub fn cache(&self) -> &Cache {
        self.queues.cache()
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
