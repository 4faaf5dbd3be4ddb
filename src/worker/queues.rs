//! The queues of the worker and the loop of its threads.

use super::Notify;
use super::job::{Lane, Slot, Step, Task};
use super::report::{JobEvent, JobId, Report};
use crate::case::Receipt;
use crate::engine::{Cache, JobControl};
use crossbeam_channel::Sender;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by the worker's handle and its two threads.
pub(super) struct Queues<S, T> {
    state: Mutex<State<S, T>>,
    /// One condition a lane: a new job, or the end.
    wake: [Condvar; 2],
    outbox: Arc<Outbox<S, T>>,
    /// What the jobs leave for those after them.
    cache: Arc<Cache>,
}

struct State<S, T> {
    waiting: [VecDeque<Entry<S, T>>; 2],
    running: [Option<Running<S, T>>; 2],
    /// The newest job of every slot.
    newest: HashMap<S, JobId>,
    next: u64,
    closing: bool,
}

/// A job in the queue.
struct Entry<S, T> {
    job_ref: Arc<JobRef<S>>,
    step: Step<T>,
    quick: bool,
    started: bool,
}

/// The job of an event.
struct JobRef<S> {
    job: JobId,
    slot: S,
    name: Arc<str>,
    /// Greatest share reported.
    progress: Mutex<f32>,
}

/// The running job of a lane.
struct Running<S, T> {
    job_ref: Arc<JobRef<S>>,
    control: JobControl,
    /// A newer job does not cancel it.
    quick: bool,
    /// The same work, where it may be preempted and restarted.
    again: Option<Step<T>>,
    /// The job was superseded by a newer one, or cancelled.
    ended: bool,
}

/// The events for the next drain.
struct Outbox<S, T> {
    sender: Sender<Report<S, T>>,
    notify: Notify,
    /// Whether `notify` was called since the last drain.
    notified: AtomicBool,
}

impl<S: Slot, T> Outbox<S, T> {
    /// Queues an event for the next drain; [`Self::notify`] has to follow, without the lock.
    fn post(&self, job_ref: &JobRef<S>, event: JobEvent<T>) {
        let report = Report {
            job: job_ref.job,
            slot: job_ref.slot,
            name: job_ref.name.clone(),
            superseded: false,
            event,
        };
        // The receiver is gone while the worker is being dropped.
        let _ = self.sender.send(report);
    }

    fn notify(&self) {
        if !self.sender.is_empty() && !self.notified.swap(true, Ordering::AcqRel) {
            (self.notify)();
        }
    }

    /// Reports a share done: it never falls, and grows by a percent at least. Called by many threads.
    fn progress(&self, job_ref: &JobRef<S>, done: f32) {
        // A thread that finds the lock taken has the same share to report as the thread that holds it.
        let Ok(mut last) = job_ref.progress.try_lock() else { return };
        let done = done.min(1.0);
        if done >= *last + 0.01 || (done == 1.0 && *last < 1.0) {
            *last = done;
            self.post(job_ref, JobEvent::Progress(done));
            self.notify();
        }
    }
}

/// The next step of a lane, from its queue.
struct Run<S, T> {
    job_ref: Arc<JobRef<S>>,
    step: Step<T>,
    control: JobControl,
    first: bool,
}

impl<S: Slot, T: Send + 'static> Queues<S, T> {
    pub fn new(sender: Sender<Report<S, T>>, notify: Notify) -> Self {
        let state = State {
            waiting: [VecDeque::new(), VecDeque::new()],
            running: [None, None],
            newest: HashMap::new(),
            next: 1,
            closing: false,
        };
        let outbox = Arc::new(Outbox { sender, notify, notified: AtomicBool::new(false) });
        Self {
            state: Mutex::new(state),
            wake: [Condvar::new(), Condvar::new()],
            outbox,
            cache: Arc::default(),
        }
    }

    /// No job runs under the lock, so a poisoned one still holds a whole state.
    fn lock(&self) -> MutexGuard<'_, State<S, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn submit(&self, slot: S, task: Task<T>) -> JobId {
        let Task { name, lane, step, quick } = task;
        let mut state = self.lock();
        let job = JobId(state.next);
        state.next += 1;
        state.newest.insert(slot, job);
        let job_ref = Arc::new(JobRef { job, slot, name, progress: Mutex::new(0.0) });
        let entry = Entry { job_ref, step, quick, started: false };
        let replaced = state.take_waiting(slot);
        state.end_running(slot, true);
        if entry.quick {
            state.preempt(lane as usize);
        }
        let queue = &mut state.waiting[lane as usize];
        // The newer job takes the older one's place in the queue, not the end of it: of several beams that
        // change with one drag, all but the first would otherwise starve.
        match &replaced {
            Some((old_lane, at, _)) if *old_lane == lane as usize => queue.insert(*at, entry),
            _ => queue.push_back(entry),
        }
        if let Some((_, _, old)) = &replaced {
            self.outbox.post(&old.job_ref, JobEvent::Cancelled);
        }
        drop(state);
        self.wake[lane as usize].notify_one();
        self.outbox.notify();
        job
    }

    pub fn cancel(&self, slot: S) {
        self.end(slot, false);
    }

    /// Ends the slot's job as a newer one would.
    pub fn supersede(&self, slot: S) {
        self.end(slot, true);
    }

    fn end(&self, slot: S, spares_quick: bool) {
        let mut state = self.lock();
        let waiting = state.take_waiting(slot);
        state.end_running(slot, spares_quick);
        if let Some((_, _, old)) = &waiting {
            self.outbox.post(&old.job_ref, JobEvent::Cancelled);
        }
        drop(state);
        self.outbox.notify();
    }

    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        let waiting = std::mem::take(&mut state.waiting);
        for running in state.running.iter_mut().flatten() {
            running.ended = true;
            running.control.cancel();
        }
        drop(state);
        // The closures' captured values are dropped here, outside the lock.
        drop(waiting);
        self.wake.iter().for_each(Condvar::notify_all);
    }

    pub fn submitted(&self) -> u64 {
        self.lock().next - 1
    }

    pub fn live_jobs(&self) -> usize {
        let state = self.lock();
        state.waiting.iter().map(VecDeque::len).sum::<usize>() + state.running.iter().flatten().count()
    }

    /// Whether a quick job waits or runs.
    pub fn has_quick(&self) -> bool {
        let state = self.lock();
        state.waiting.iter().flatten().any(|entry| entry.quick)
            || state.running.iter().flatten().any(|running| running.quick)
    }

    /// To be called before a drain: events from here on call `notify` again.
    pub fn before_drain(&self) {
        self.outbox.notified.store(false, Ordering::Release);
    }

    pub fn mark_superseded(&self, reports: &mut [Report<S, T>]) {
        let state = self.lock();
        for report in reports {
            report.superseded = state.newest.get(&report.slot).is_some_and(|&newest| newest > report.job);
        }
    }

    /// The loop of a lane's thread, until the end.
    pub fn run(&self, lane: Lane) {
        while let Some(run) = self.next_run(lane as usize) {
            let Run { job_ref, step, control, first } = run;
            if first {
                self.outbox.post(&job_ref, JobEvent::Started);
                self.outbox.notify();
            }
            let begin = Instant::now();
            let mut partial = |value| {
                self.outbox.post(&job_ref, JobEvent::Partial(value));
                self.outbox.notify();
            };
            let answer = catch_unwind(AssertUnwindSafe(|| step.run(&control, &mut partial)))
                .unwrap_or_else(|payload| Err(format!("the program made a mistake: {}", words_of(&*payload))))
                .map_err(|why| format!("{}: {why}", job_ref.name));
            let receipt = Receipt {
                job: job_ref.name.to_string(),
                device: lane.word().to_owned(),
                phases_ms: vec![("work".to_owned(), 1000.0 * begin.elapsed().as_secs_f64())],
                ..Receipt::default()
            };
            self.settle(lane as usize, &job_ref, answer, receipt);
        }
    }

    /// Waits for the next step of work; `None` at the end.
    fn next_run(&self, lane: usize) -> Option<Run<S, T>> {
        let mut state = self.lock();
        loop {
            if state.closing {
                return None;
            }
            let queue = &mut state.waiting[lane];
            // Previews first: those of all beams precede the first full dose.
            let at = queue.iter().position(|entry| entry.quick).unwrap_or(0);
            if let Some(entry) = queue.remove(at) {
                return Some(self.run_of(&mut state, lane, entry));
            }
            state = self.wake[lane].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run_of(&self, state: &mut State<S, T>, lane: usize, entry: Entry<S, T>) -> Run<S, T> {
        let Entry { job_ref, step, quick, started } = entry;
        let (outbox, whose) = (self.outbox.clone(), job_ref.clone());
        let control = JobControl::of(&self.cache).with_listener(move |done| outbox.progress(&whose, done));
        state.running[lane] = Some(Running {
            job_ref: job_ref.clone(),
            control: control.clone(),
            quick,
            again: step.another(),
            ended: false,
        });
        Run { job_ref, step, control, first: !started }
    }

    /// Reports the outcome of a job, and queues it again where it was preempted.
    fn settle(&self, lane: usize, job_ref: &Arc<JobRef<S>>, answer: Result<T, String>, receipt: Receipt) {
        let mut state = self.lock();
        let Some(Running { control, ended, again, quick, .. }) = state.running[lane].take() else { return };
        let post = |event| self.outbox.post(job_ref, event);
        match (answer, again) {
            _ if ended && control.is_cancelled() => post(JobEvent::Cancelled),
            (Ok(value), _) => post(JobEvent::Done(value, Arc::new(receipt))),
            (Err(_), Some(step)) if control.is_cancelled() => {
                state.waiting[lane].push_front(Entry {
                    job_ref: job_ref.clone(),
                    step,
                    quick,
                    started: true,
                });
            }
            (Err(message), _) => post(JobEvent::Failed { message }),
        }
        drop(state);
        self.outbox.notify();
    }
}

impl<S: Slot, T> State<S, T> {
    /// Removes the slot's job from the queue and returns its lane, its position, and it.
    fn take_waiting(&mut self, slot: S) -> Option<(usize, usize, Entry<S, T>)> {
        self.waiting.iter_mut().enumerate().find_map(|(lane, queue)| {
            let at = queue.iter().position(|e| e.job_ref.slot == slot)?;
            queue.remove(at).map(|entry| (lane, at, entry))
        })
    }

    /// Preempts restartable work for the quick job that is about to wait.
    fn preempt(&mut self, lane: usize) {
        if let Some(running) = self.running[lane].as_ref().filter(|r| r.again.is_some()) {
            running.control.cancel();
        }
    }

    fn end_running(&mut self, slot: S, spares_quick: bool) {
        for running in self.running.iter_mut().flatten().filter(|r| r.job_ref.slot == slot) {
            running.ended = true;
            if !(running.quick && spares_quick) {
                running.control.cancel();
            }
        }
    }
}

/// The message of a panic.
fn words_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words given")
}
