//! The queues of the worker and the loop of its threads.

use super::Notify;
use super::job::{Lane, Slot, Step, Task};
use super::report::{JobEvent, JobId, Report};
use case::Receipt;
use crossbeam_channel::Sender;
use engine::{Cache, JobControl};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by the worker's handle and its threads.
pub(super) struct Queues<S, T> {
    state: Mutex<State<S, T>>,
    /// One condition a lane, and one for the helpers: a new job, or the end.
    wake: [Condvar; 3],
    outbox: Arc<Outbox<S, T>>,
    /// Data that jobs leave for those after them.
    cache: Arc<Cache>,
}

/// The lanes by their numbers.
const LANES: [Lane; 2] = [Lane::Device, Lane::Host];
/// Number of the condition for the helpers.
const HELPERS: usize = LANES.len();

struct State<S, T> {
    waiting: [VecDeque<Entry<S, T>>; 2],
    running: Vec<Running<S, T>>,
    /// The newest job of every slot.
    newest: HashMap<S, JobId>,
    next: u64,
    /// The wave of the jobs that are submitted now.
    wave: u64,
    closing: bool,
}

/// A job in the queue.
struct Entry<S, T> {
    job_ref: Arc<JobRef<S>>,
    step: Step<T>,
    started: bool,
}

/// The job of an event.
struct JobRef<S> {
    job: JobId,
    slot: S,
    name: Arc<str>,
    quick: bool,
    /// Quick jobs of one wave are told together.
    wave: u64,
    side_by_side: bool,
    /// Greatest share reported.
    progress: Mutex<f32>,
}

/// A running job of a lane.
struct Running<S, T> {
    lane: usize,
    job_ref: Arc<JobRef<S>>,
    control: JobControl,
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
        let Ok(mut last) = job_ref.progress.try_lock() else {
            return;
        };
        let done = done.min(1.0);
        if done >= *last + 0.01 || (done == 1.0 && *last < 1.0) {
            *last = done;
            self.post(job_ref, JobEvent::Progress(done));
            if !job_ref.quick {
                self.notify();
            }
        }
    }
}

/// The next step of a lane, from its queue.
struct Run<S, T> {
    lane: usize,
    job_ref: Arc<JobRef<S>>,
    step: Step<T>,
    control: JobControl,
    first: bool,
}

impl<S: Slot, T: Send + 'static> Queues<S, T> {
    pub fn new(sender: Sender<Report<S, T>>, notify: Notify) -> Self {
        let state = State {
            waiting: [VecDeque::new(), VecDeque::new()],
            running: Vec::new(),
            newest: HashMap::new(),
            next: 1,
            wave: 0,
            closing: false,
        };
        let outbox = Arc::new(Outbox {
            sender,
            notify,
            notified: AtomicBool::new(false),
        });
        Self {
            state: Mutex::new(state),
            wake: Default::default(),
            outbox,
            cache: Arc::default(),
        }
    }

    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// No job runs under the lock, so a poisoned one still holds a whole state.
    fn lock(&self) -> MutexGuard<'_, State<S, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn submit(&self, slot: S, task: Task<T>) -> JobId {
        let Task {
            name,
            lane,
            step,
            quick,
            side_by_side,
            behind,
        } = task;
        let mut state = self.lock();
        let job = JobId(state.next);
        state.next += 1;
        state.newest.insert(slot, job);
        let (wave, progress) = (state.wave, Mutex::new(0.0));
        let job_ref = Arc::new(JobRef {
            job,
            slot,
            name,
            quick,
            wave,
            side_by_side,
            progress,
        });
        let entry = Entry {
            job_ref,
            step,
            started: false,
        };
        let replaced: Vec<_> = std::iter::from_fn(|| {
            state.take_waiting(slot, |old: &JobRef<S>| {
                !(behind && old.quick && old.wave < wave)
            })
        })
        .collect();
        state.end_running(slot, true);
        if quick {
            state.preempt(lane as usize);
        }
        let queue = &mut state.waiting[lane as usize];
        // The newer job takes the older one's place in the queue, not the end of it: of several beams that
        // change with one drag, all but the first would otherwise starve.
        match replaced.first() {
            Some((old_lane, place, _)) if *old_lane == lane as usize => queue.insert(*place, entry),
            _ => queue.push_back(entry),
        }
        for (_, _, old) in &replaced {
            self.outbox.post(&old.job_ref, JobEvent::Cancelled);
        }
        drop(state);
        self.wake[lane as usize].notify_one();
        if quick && side_by_side {
            self.wake[HELPERS].notify_one();
        }
        if !replaced.is_empty() {
            self.outbox.notify();
        }
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
        // One of each wave, at most.
        let waiting: Vec<_> = std::iter::from_fn(|| state.take_waiting(slot, |_| true)).collect();
        state.end_running(slot, spares_quick);
        for (_, _, old) in &waiting {
            self.outbox.post(&old.job_ref, JobEvent::Cancelled);
        }
        drop(state);
        if !waiting.is_empty() {
            self.outbox.notify();
        }
    }

    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        let waiting = std::mem::take(&mut state.waiting);
        for running in &mut state.running {
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
        state.waiting.iter().map(VecDeque::len).sum::<usize>() + state.running.len()
    }

    /// Whether a quick job waits or runs.
    pub fn has_quick(&self) -> bool {
        self.lock().quick().next().is_some()
    }

    pub fn begin_wave(&self, comes_first: impl Fn(S) -> bool) -> bool {
        let mut state = self.lock();
        let wave = state.wave;
        let is_ahead = state
            .quick()
            .all(|job_ref| job_ref.wave == wave && !comes_first(job_ref.slot));
        state.wave += u64::from(is_ahead);
        is_ahead
    }

    /// To be called before a drain: events from here on call `notify` again.
    pub fn before_drain(&self) {
        self.outbox.notified.store(false, Ordering::Release);
    }

    pub fn mark_superseded(&self, reports: &mut [Report<S, T>]) {
        let state = self.lock();
        for report in reports {
            report.superseded = state
                .newest
                .get(&report.slot)
                .is_some_and(|&newest| newest > report.job);
        }
    }

    /// The loop of a lane's thread, or of a helper of both, until the end.
    pub fn run(&self, lane: Option<Lane>) {
        while let Some(run) = self.next_run(lane) {
            let Run {
                lane,
                job_ref,
                step,
                control,
                first,
            } = run;
            if first {
                self.outbox.post(&job_ref, JobEvent::Started);
                if !job_ref.quick {
                    self.outbox.notify();
                }
            }
            let begin = Instant::now();
            let answer = catch_unwind(AssertUnwindSafe(|| {
                step.run(&control, &mut |value| {
                    self.outbox.post(&job_ref, JobEvent::Partial(value));
                    self.outbox.notify();
                })
            }))
            .unwrap_or_else(|payload| {
                Err(format!(
                    "the program made a mistake: {}",
                    words_of(&*payload)
                ))
            })
            .map_err(|why| format!("{}: {why}", job_ref.name));
            let receipt = Receipt {
                job: job_ref.name.to_string(),
                device: LANES[lane].word().to_owned(),
                phases_ms: vec![("work".to_owned(), 1000.0 * begin.elapsed().as_secs_f64())],
                ..Receipt::default()
            };
            self.settle(&job_ref, answer, receipt);
        }
    }

    /// Waits for the next step of work; `None` at the end.
    fn next_run(&self, lane: Option<Lane>) -> Option<Run<S, T>> {
        let mut state = self.lock();
        loop {
            if state.closing {
                return None;
            }
            let next = match lane {
                Some(lane) => state
                    .take_next(lane as usize)
                    .map(|entry| (lane as usize, entry)),
                None => (0..LANES.len()).find_map(|lane| Some((lane, state.take_beside(lane)?))),
            };
            if let Some((lane, entry)) = next {
                return Some(self.run_of(&mut state, lane, entry));
            }
            let wake = &self.wake[lane.map_or(HELPERS, |lane| lane as usize)];
            state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run_of(&self, state: &mut State<S, T>, lane: usize, entry: Entry<S, T>) -> Run<S, T> {
        let Entry {
            job_ref,
            step,
            started,
        } = entry;
        let (outbox, whose) = (self.outbox.clone(), job_ref.clone());
        let control = JobControl::sharing(&self.cache)
            .with_listener(move |done| outbox.progress(&whose, done));
        state.running.push(Running {
            lane,
            job_ref: job_ref.clone(),
            control: control.clone(),
            again: step.another(),
            ended: false,
        });
        Run {
            lane,
            job_ref,
            step,
            control,
            first: !started,
        }
    }

    /// Reports the outcome of a job, and queues it again where it was preempted.
    fn settle(&self, job_ref: &Arc<JobRef<S>>, answer: Result<T, String>, receipt: Receipt) {
        let mut state = self.lock();
        let Some(index) = state
            .running
            .iter()
            .position(|r| r.job_ref.job == job_ref.job)
        else {
            return;
        };
        let Running {
            lane,
            control,
            ended,
            again,
            ..
        } = state.running.swap_remove(index);
        let post = |event| self.outbox.post(job_ref, event);
        match (answer, again) {
            _ if ended && control.is_cancelled() => post(JobEvent::Cancelled),
            (Ok(value), _) => post(JobEvent::Done(value, Arc::new(receipt))),
            (Err(_), Some(step)) if control.is_cancelled() => {
                // The work begins anew.
                let mut last = job_ref
                    .progress
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                if std::mem::take(&mut *last) > 0.0 {
                    post(JobEvent::Progress(0.0));
                }
                drop(last);
                state.waiting[lane].push_front(Entry {
                    job_ref: job_ref.clone(),
                    step,
                    started: true,
                });
            }
            (Err(message), _) => post(JobEvent::Failed { message }),
        }
        // What follows a drag is shown at once, not piece by piece: each frame takes a processor from the rest.
        let more_follows = job_ref.quick && state.quick().any(|other| other.wave <= job_ref.wave);
        let passed_over = state
            .waiting
            .iter()
            .flatten()
            .any(|e: &Entry<S, T>| e.job_ref.side_by_side || e.job_ref.slot == job_ref.slot);
        drop(state);
        if passed_over {
            // All threads may have passed it over while this job ran.
            self.wake.iter().for_each(Condvar::notify_all);
        }
        if !more_follows {
            self.outbox.notify();
        }
    }
}

impl<S: Slot, T> State<S, T> {
    /// The quick jobs that wait or run.
    fn quick(&self) -> impl Iterator<Item = &JobRef<S>> {
        let waiting = self.waiting.iter().flatten().map(|entry| &*entry.job_ref);
        waiting
            .chain(self.running.iter().map(|running| &*running.job_ref))
            .filter(|job_ref| job_ref.quick)
    }

    /// The next job of a lane's own thread. Previews first: the previews of all beams precede the first full dose. Two jobs of a slot
    /// do not run at once: the older one could end last.
    fn take_next(&mut self, lane: usize) -> Option<Entry<S, T>> {
        let running = &self.running;
        let is_free = |e: &Entry<S, T>| running.iter().all(|r| r.job_ref.slot != e.job_ref.slot);
        let queue = &mut self.waiting[lane];
        let quick = queue.iter().position(|e| e.job_ref.quick && is_free(e));
        let index = quick.or_else(|| queue.iter().position(is_free))?;
        queue.remove(index)
    }

    /// The next job of a lane for a helper: where it is one of those that run side by side, as all do that run now. What they are
    /// made of comes before them in the lane, and is there.
    fn take_beside(&mut self, lane: usize) -> Option<Entry<S, T>> {
        let (running, queue) = (&self.running, &mut self.waiting[lane]);
        let index = queue.iter().position(|e| e.job_ref.quick)?;
        let next = &queue[index].job_ref;
        let fits = next.side_by_side
            && running.iter().all(|r: &Running<S, T>| {
                (r.lane != lane || r.job_ref.side_by_side) && r.job_ref.slot != next.slot
            });
        fits.then(|| queue.remove(index)).flatten()
    }

    /// Removes a job of the slot from the queue and returns its lane, its position, and it.
    fn take_waiting(
        &mut self,
        slot: S,
        is_meant: impl Fn(&JobRef<S>) -> bool,
    ) -> Option<(usize, usize, Entry<S, T>)> {
        self.waiting
            .iter_mut()
            .enumerate()
            .find_map(|(lane, queue)| {
                let index = queue
                    .iter()
                    .position(|e| e.job_ref.slot == slot && is_meant(&e.job_ref))?;
                queue.remove(index).map(|entry| (lane, index, entry))
            })
    }

    /// Preempts restartable work for the quick job that is about to wait.
    fn preempt(&mut self, lane: usize) {
        for running in self
            .running
            .iter()
            .filter(|r| r.lane == lane && r.again.is_some())
        {
            running.control.cancel();
        }
    }

    fn end_running(&mut self, slot: S, spares_quick: bool) {
        for running in self.running.iter_mut().filter(|r| r.job_ref.slot == slot) {
            running.ended = true;
            if !(running.job_ref.quick && spares_quick) {
                running.control.cancel();
            }
        }
    }
}

/// The message of a panic.
fn words_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no words given")
}
