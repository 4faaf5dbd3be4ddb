//! The queues behind the worker and what its threads do.

use super::Notify;
use super::job::{Lane, Slot, Step, Task};
use super::report::{JobId, News, Report};
use crate::case::Receipt;
use crate::engine::JobControl;
use crossbeam_channel::Sender;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Shared by the worker's handle and its two threads.
pub(super) struct Lanes<T> {
    state: Mutex<State<T>>,
    /// One a lane: something to do, or the end.
    wake: [Condvar; 2],
    outbox: Arc<Outbox<T>>,
}

struct State<T> {
    waiting: [VecDeque<Entry<T>>; 2],
    running: [Option<Running<T>>; 2],
    /// The newest job of every slot ever used.
    newest: HashMap<Slot, JobId>,
    next: u64,
    closing: bool,
}

/// A job in the queue.
struct Entry<T> {
    who: Arc<Who>,
    /// `None` once it has run, or where the job has none.
    preview: Option<Step<T>>,
    full: Step<T>,
    /// The full work is treated like a preview.
    quick: bool,
    started: bool,
}

impl<T> Entry<T> {
    /// Whether its next stretch is quick.
    fn is_quick(&self) -> bool {
        self.preview.is_some() || self.quick
    }
}

/// Whose news it is.
struct Who {
    job: JobId,
    slot: Slot,
    name: Arc<str>,
    /// Greatest share reported.
    progress: Mutex<f32>,
}

/// The job a lane is busy with.
struct Running<T> {
    who: Arc<Who>,
    control: JobControl,
    /// Its preview runs: a newer job lets that finish.
    previewing: bool,
    /// The full work, where it may be stopped for a preview of another slot.
    again: Option<Step<T>>,
    /// A newer job waits, or somebody cancelled.
    ended: bool,
}

/// The way to the drain.
struct Outbox<T> {
    sender: Sender<Report<T>>,
    notify: Notify,
    /// Whether `notify` was called since the last drain.
    told: AtomicBool,
}

impl<T> Outbox<T> {
    /// Leaves news for the next drain; [`Self::tell`] is to follow, without the lock.
    fn post(&self, who: &Who, news: News<T>) {
        let report = Report { job: who.job, slot: who.slot, name: who.name.clone(), superseded: false, news };
        // Nobody listens any more while the worker is being dropped.
        let _ = self.sender.send(report);
    }

    fn tell(&self) {
        if !self.sender.is_empty() && !self.told.swap(true, Ordering::AcqRel) {
            (self.notify)();
        }
    }

    /// Passes on a share done: never a fall, never less than a percent. Called by many threads.
    fn progress(&self, who: &Who, done: f32) {
        // Whoever finds it locked has the same to tell as whoever locked it.
        let Ok(mut last) = who.progress.try_lock() else { return };
        let done = done.min(1.0);
        if done >= *last + 0.01 || (done == 1.0 && *last < 1.0) {
            *last = done;
            self.post(who, News::Progress(done));
            self.tell();
        }
    }
}

/// What a lane takes from its queue: one stretch of one job.
struct Turn<T> {
    who: Arc<Who>,
    step: Step<T>,
    control: JobControl,
    first: bool,
    /// The rest of the job, where this is its preview.
    rest: Option<Step<T>>,
}

impl<T: Send + 'static> Lanes<T> {
    pub fn new(sender: Sender<Report<T>>, notify: Notify) -> Self {
        let state = State {
            waiting: [VecDeque::new(), VecDeque::new()],
            running: [None, None],
            newest: HashMap::new(),
            next: 1,
            closing: false,
        };
        let outbox = Arc::new(Outbox { sender, notify, told: AtomicBool::new(false) });
        Self { state: Mutex::new(state), wake: [Condvar::new(), Condvar::new()], outbox }
    }

    /// No job runs under the lock, so a poisoned one still holds a whole state.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn submit(&self, slot: Slot, task: Task<T>) -> JobId {
        let Task { name, lane, preview, full, quick } = task;
        let mut state = self.lock();
        let job = JobId(state.next);
        state.next += 1;
        state.newest.insert(slot, job);
        let who = Arc::new(Who { job, slot, name, progress: Mutex::new(0.0) });
        let entry = Entry { who, preview, full, quick, started: false };
        let replaced = state.take_waiting(slot);
        state.supersede_running(slot);
        if entry.is_quick() {
            state.make_way(lane as usize);
        }
        let queue = &mut state.waiting[lane as usize];
        // The newer job takes the older one's place in the queue, not the end of it: else, of several beams that
        // follow one drag, only the first would ever have its turn.
        match &replaced {
            Some((old_lane, at, _)) if *old_lane == lane as usize => queue.insert(*at, entry),
            _ => queue.push_back(entry),
        }
        if let Some((_, _, old)) = &replaced {
            self.outbox.post(&old.who, News::Cancelled);
        }
        drop(state);
        self.wake[lane as usize].notify_one();
        self.outbox.tell();
        job
    }

    pub fn cancel(&self, slot: Slot) {
        let mut state = self.lock();
        let waiting = state.take_waiting(slot);
        for running in state.running.iter_mut().flatten().filter(|r| r.who.slot == slot) {
            running.ended = true;
            running.control.cancel();
        }
        if let Some((_, _, old)) = &waiting {
            self.outbox.post(&old.who, News::Cancelled);
        }
        drop(state);
        self.outbox.tell();
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
        // What the closures hold is dropped here, outside the lock.
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

    /// To be called before a drain: news that come from here on call `notify` again.
    pub fn before_drain(&self) {
        self.outbox.told.store(false, Ordering::Release);
    }

    pub fn mark_superseded(&self, reports: &mut [Report<T>]) {
        let state = self.lock();
        for report in reports {
            report.superseded = state.newest.get(&report.slot).is_some_and(|&newest| newest > report.job);
        }
    }

    /// What a lane's thread does: takes turns until the end.
    pub fn run(&self, lane: Lane) {
        while let Some(turn) = self.next_turn(lane as usize) {
            let Turn { who, step, control, first, rest } = turn;
            if first {
                self.outbox.post(&who, News::Started);
                self.outbox.tell();
            }
            let begin = Instant::now();
            let mut partial = |value| {
                self.outbox.post(&who, News::Partial(value));
                self.outbox.tell();
            };
            let answer = catch_unwind(AssertUnwindSafe(|| step.run(&control, &mut partial)))
                .unwrap_or_else(|payload| Err(format!("the program made a mistake: {}", words_of(&*payload))))
                .map_err(|why| format!("{}: {why}", who.name));
            let receipt = Receipt {
                job: who.name.to_string(),
                device: lane.word().to_owned(),
                phases_ms: vec![("work".to_owned(), 1000.0 * begin.elapsed().as_secs_f64())],
                ..Receipt::default()
            };
            self.settle(lane as usize, &who, answer, receipt, rest);
        }
    }

    /// Waits for the next stretch of work; `None` at the end.
    fn next_turn(&self, lane: usize) -> Option<Turn<T>> {
        let mut state = self.lock();
        loop {
            if state.closing {
                return None;
            }
            let queue = &mut state.waiting[lane];
            // Previews first: all beams follow before the first of them is computed in full.
            let at = queue.iter().position(Entry::is_quick).unwrap_or(0);
            if let Some(entry) = queue.remove(at) {
                return Some(self.turn_of(&mut state, lane, entry));
            }
            state = self.wake[lane].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn turn_of(&self, state: &mut State<T>, lane: usize, entry: Entry<T>) -> Turn<T> {
        let Entry { who, preview, full, quick, started } = entry;
        let (step, rest) = match preview {
            Some(preview) => (preview, Some(full)),
            None => (full, None),
        };
        let control = if rest.is_some() {
            // A preview is over before a bar could be read.
            JobControl::new()
        } else {
            let (outbox, who) = (self.outbox.clone(), who.clone());
            JobControl::with_listener(move |done| outbox.progress(&who, done))
        };
        state.running[lane] = Some(Running {
            who: who.clone(),
            control: control.clone(),
            previewing: rest.is_some() || quick,
            again: if rest.is_some() { None } else { step.another() },
            ended: false,
        });
        Turn { who, step, control, first: !started, rest }
    }

    /// Tells what came of a stretch of work and queues what is left of the job: the full work after a preview, or
    /// all of it where it made way.
    fn settle(
        &self,
        lane: usize,
        who: &Arc<Who>,
        answer: Result<T, String>,
        receipt: Receipt,
        rest: Option<Step<T>>,
    ) {
        let mut state = self.lock();
        let Some(Running { control, ended, again, .. }) = state.running[lane].take() else { return };
        let post = |news| self.outbox.post(who, news);
        let left = |full| Entry { who: who.clone(), preview: None, full, quick: false, started: true };
        match (answer, rest, again) {
            _ if ended && control.is_cancelled() => post(News::Cancelled),
            (Ok(value), None, _) => post(News::Done(value, Arc::new(receipt))),
            (Ok(value), Some(full), _) => {
                post(News::Partial(value));
                if ended {
                    post(News::Cancelled);
                } else {
                    state.waiting[lane].push_back(left(full));
                }
            }
            (Err(_), None, Some(again)) if control.is_cancelled() => {
                state.waiting[lane].push_front(left(again))
            }
            (Err(message), ..) => post(News::Failed { message }),
        }
        drop(state);
        self.outbox.tell();
    }
}

impl<T> State<T> {
    /// Takes the slot's job out of the queue: its lane, its place, and it.
    fn take_waiting(&mut self, slot: Slot) -> Option<(usize, usize, Entry<T>)> {
        self.waiting.iter_mut().enumerate().find_map(|(lane, queue)| {
            let at = queue.iter().position(|e| e.who.slot == slot)?;
            queue.remove(at).map(|entry| (lane, at, entry))
        })
    }

    /// Stops full work that may be begun again, for the preview that is about to wait.
    fn make_way(&mut self, lane: usize) {
        if let Some(running) = self.running[lane].as_ref().filter(|r| r.again.is_some()) {
            running.control.cancel();
        }
    }

    fn supersede_running(&mut self, slot: Slot) {
        for running in self.running.iter_mut().flatten().filter(|r| r.who.slot == slot) {
            running.ended = true;
            if !running.previewing {
                running.control.cancel();
            }
        }
    }
}

/// The words of a panic.
fn words_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words given")
}
