//! The graph of results: a query holds all inputs of its result, and each answer is computed once, from the
//! answers of other queries.

use super::known_again::DosesOfOpened;
use engine::{Cancelled, JobControl};
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

pub use super::query::{Grade, Priority, Query};

/// Interval at which a waiting thread checks whether its job is cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Why a query has no answer.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The user has cancelled the query or one of its inputs.
    #[error("it was cancelled")]
    CancelledByUser,
    /// The query's own failure.
    #[error("{0}")]
    Here(String),
    /// The failure of an input.
    #[error("{0}")]
    Below(String),
}

impl Failure {
    pub fn here(why: impl ToString) -> Self {
        Self::Here(why.to_string())
    }
}

/// Cached answers, by query. Shared by the window, its jobs and the command line.
#[derive(Default)]
pub struct Graph {
    kept: Mutex<HashMap<TypeId, Box<dyn KeptAnswers>>>,
    /// Signals that an answer has arrived, or a job has ended without one.
    settled: Condvar,
    /// Counts the drops of previews: an answer begun before the last one has outdated inputs.
    drops: AtomicU64,
    /// Doses that were kept with the case.
    doses_of_opened: OnceLock<Arc<DosesOfOpened>>,
    /// Values that one answer leaves for the next of its kind, by type: no answer may depend on it but in the time that it takes.
    warm: Mutex<HashMap<TypeId, Box<dyn Any + Send>>>,
}

impl Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

struct Entry<Q: Query> {
    query: Q,
    grade: Grade,
    state: State<Q::Answer>,
}

/// The required grade of an answer, and how far one in steps is computed.
#[derive(Clone, Copy)]
struct Extent {
    grade: Grade,
    is_one_step: bool,
}

impl Extent {
    fn whole(grade: Grade) -> Self {
        Self {
            grade,
            is_one_step: false,
        }
    }
}

enum State<A> {
    /// A thread is computing the answer.
    Running,
    Done(Result<A, Failure>),
    CancelledByUser,
}

/// The entries of one kind of query.
trait KeptAnswers: Any + Send {
    fn as_any(&mut self) -> &mut dyn Any;
    /// Removes answers whose inputs have improved.
    fn drop_previews(&mut self);
    /// Removes failed, cancelled and unfinished entries, which may be tried again.
    fn drop_failures(&mut self);
}

impl<Q: Query> KeptAnswers for Vec<Entry<Q>> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn drop_previews(&mut self) {
        self.retain(|e| e.grade == Grade::Full || matches!(e.state, State::Running));
    }

    fn drop_failures(&mut self) {
        self.retain(|e| match &e.state {
            State::Running => true,
            State::Done(answer) => answer.as_ref().is_ok_and(Q::is_whole),
            State::CancelledByUser => false,
        });
    }
}

/// Receives the partial answers of any kind of query.
type Partial<'a> = &'a dyn Fn(&dyn Any);

type Kept<'a> = MutexGuard<'a, HashMap<TypeId, Box<dyn KeptAnswers>>>;

fn entries<'a, Q: Query>(kept: &'a mut Kept<'_>) -> &'a mut Vec<Entry<Q>> {
    let kind = kept
        .entry(TypeId::of::<Q>())
        .or_insert_with(|| Box::new(Vec::<Entry<Q>>::new()));
    kind.as_any()
        .downcast_mut()
        .expect("entries lie under the type of their query")
}

/// The state of a query's entry of a grade.
fn state_of<'a, Q: Query>(
    entries: &'a [Entry<Q>],
    query: &Q,
    grade: Grade,
) -> Option<&'a State<Q::Answer>> {
    entries
        .iter()
        .find(|e| e.grade == grade && e.query == *query)
        .map(|e| &e.state)
}

/// Named phases of the job that computed an answer, ms.
fn phases_ms<Q: Query>(answer: &Result<Q::Answer, Failure>) -> Vec<(String, f64)> {
    answer
        .as_ref()
        .ok()
        .and_then(Q::receipt)
        .map(|receipt| receipt.phases_ms.clone())
        .unwrap_or_default()
}

/// Whether an answer is a step towards a whole one.
fn is_step<Q: Query>(answer: &Result<Q::Answer, Failure>) -> bool {
    Q::IN_STEPS && answer.as_ref().is_ok_and(|answer| !Q::is_whole(answer))
}

impl Graph {
    /// The answer to a query, cached or computed now, with its grade, which is at least the requested one.
    /// `partial` receives the partial answers of a refining query.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn answer<Q: Query>(
        &self,
        query: &Q,
        grade: Grade,
        control: &JobControl,
        partial: &mut dyn FnMut(&Q::Answer),
    ) -> Result<(Q::Answer, Grade), Failure> {
        self.answer_to_extent(query, Extent::whole(grade), control, partial)
    }

    /// As [`Self::answer`], but of a query in steps one step more, as a preview until the answer is whole.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn step<Q: Query>(
        &self,
        query: &Q,
        grade: Grade,
        control: &JobControl,
        partial: &mut dyn FnMut(&Q::Answer),
    ) -> Result<(Q::Answer, Grade), Failure> {
        let extent = Extent {
            grade,
            is_one_step: true,
        };
        self.answer_to_extent(query, extent, control, partial)
    }

    fn answer_to_extent<Q: Query>(
        &self,
        query: &Q,
        extent: Extent,
        control: &JobControl,
        partial: &mut dyn FnMut(&Q::Answer),
    ) -> Result<(Q::Answer, Grade), Failure> {
        let partial = RefCell::new(partial);
        self.find_or_make(
            query,
            extent,
            control,
            Some(&|answer: &dyn Any| {
                if let Some(answer) = answer.downcast_ref() {
                    (partial.borrow_mut())(answer);
                }
            }),
        )
    }

    /// The full answer.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn full<Q: Query>(&self, query: &Q, control: &JobControl) -> Result<Q::Answer, Failure> {
        self.find_or_make(query, Extent::whole(Grade::Full), control, None)
            .map(|(answer, _)| answer)
    }

    fn find_or_make<Q: Query>(
        &self,
        query: &Q,
        extent: Extent,
        control: &JobControl,
        partial: Option<Partial<'_>>,
    ) -> Result<(Q::Answer, Grade), Failure> {
        let grade = extent.grade;
        let mut kept = self.lock();
        loop {
            control.check()?;
            match Self::look_up(entries::<Q>(&mut kept), query, grade) {
                Found::Answer(answer, grade) => return answer.map(|answer| (answer, grade)),
                Found::Running => {
                    let waited = self.settled.wait_timeout(kept, LOOK_EVERY);
                    kept = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Found::Nothing => break,
            }
        }
        entries::<Q>(&mut kept).push(Entry {
            query: query.clone(),
            grade,
            state: State::Running,
        });
        let pending = PendingAnswer {
            graph: self,
            query,
            grade,
            drops: self.drops.load(Ordering::Acquire),
        };
        drop(kept);
        let previewed = Cell::new(false);
        let access = Access {
            graph: self,
            grade,
            control,
            previewed: &previewed,
            partial,
        };
        let start = Instant::now();
        let mut answer = query.answer(&access);
        while !extent.is_one_step && is_step::<Q>(&answer) {
            answer = query.answer(&access);
        }
        let ms = 1e3 * start.elapsed().as_secs_f64();
        tracing::debug!(
            "{} ({grade:?}): {ms:.2} ms {:.2?}",
            query.name(),
            phases_ms::<Q>(&answer)
        );
        if is_step::<Q>(&answer) {
            // The next step is another: what is kept is only what the step leaves for it.
            return answer.map(|answer| (answer, Grade::Preview));
        }
        let reached = if previewed.get() { grade } else { Grade::Full };
        pending.settle(&answer, reached);
        answer.map(|answer| (answer, reached))
    }

    fn look_up<Q: Query>(entries: &[Entry<Q>], query: &Q, grade: Grade) -> Found<Q::Answer> {
        match (state_of(entries, query, Grade::Full), grade) {
            (Some(State::Done(answer)), _) => return Found::Answer(answer.clone(), Grade::Full),
            (Some(State::CancelledByUser), Grade::Full) => {
                return Found::Answer(Err(Failure::CancelledByUser), grade);
            }
            (Some(State::Running), Grade::Full) => return Found::Running,
            _ if grade == Grade::Full => return Found::Nothing,
            _ => {}
        }
        match state_of(entries, query, Grade::Preview) {
            Some(State::Done(answer)) => Found::Answer(answer.clone(), Grade::Preview),
            Some(State::Running) => Found::Running,
            Some(State::CancelledByUser) | None => Found::Nothing,
        }
    }

    /// The full answer, where there is one already.
    pub fn ready<Q: Query>(&self, query: &Q) -> Option<Q::Answer> {
        match Self::look_up(entries::<Q>(&mut self.lock()), query, Grade::Full) {
            Found::Answer(answer, Grade::Full) => answer.ok(),
            _ => None,
        }
    }

    /// Doses that were kept with the case: set once, when it is opened.
    pub fn set_doses_of_opened(&self, doses: Arc<DosesOfOpened>) {
        self.doses_of_opened.get_or_init(|| doses);
    }

    /// Removes answers without a use; those being computed stay.
    pub fn retain<Q: Query>(&self, wanted: impl Fn(&Q) -> bool) {
        entries::<Q>(&mut self.lock())
            .retain(|e| matches!(e.state, State::Running) || wanted(&e.query));
    }

    /// The user has cancelled a query: no dependent query computes it any more.
    pub fn cancel_by_user<Q: Query>(&self, query: &Q) {
        let mut kept = self.lock();
        let entries_of_kind = entries::<Q>(&mut kept);
        entries_of_kind.retain(|e| e.query != *query || matches!(e.state, State::Running));
        entries_of_kind.push(Entry {
            query: query.clone(),
            grade: Grade::Full,
            state: State::CancelledByUser,
        });
        self.drop_previews(&mut kept);
    }

    fn drop_previews(&self, kept: &mut Kept<'_>) {
        kept.values_mut().for_each(|kind| kind.drop_previews());
        self.drops.fetch_add(1, Ordering::AcqRel);
    }

    /// Allows queries of a kind that failed or were cancelled to be tried again.
    pub fn forget_failures_of<Q: Query>(&self) {
        entries::<Q>(&mut self.lock()).drop_failures();
    }

    /// Value of this type that answers leave for the next of their kind.
    pub fn warm<T: Default + Send + 'static>(&self) -> Arc<Mutex<T>> {
        let mut warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        let place = warm
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::new(Arc::<Mutex<T>>::default()));
        let place: Option<&Arc<Mutex<T>>> = place.downcast_ref();
        Arc::clone(place.expect("a value lies under its type"))
    }

    /// Allows failed or cancelled queries to be tried again.
    pub fn forget_failures(&self) {
        self.lock()
            .values_mut()
            .for_each(|kind| kind.drop_failures());
    }

    /// No answer is computed under the lock, so a poisoned one still holds whole entries.
    fn lock(&self) -> Kept<'_> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Found<A> {
    Answer(Result<A, Failure>, Grade),
    Running,
    Nothing,
}

/// The entry of a query that a thread is computing: removed when the thread ends without an answer.
struct PendingAnswer<'a, Q: Query> {
    graph: &'a Graph,
    query: &'a Q,
    grade: Grade,
    /// The graph's count at the start.
    drops: u64,
}

impl<Q: Query> PendingAnswer<'_, Q> {
    fn settle(self, answer: &Result<Q::Answer, Failure>, reached: Grade) {
        if !matches!(
            answer,
            Err(Failure::Cancelled(_) | Failure::CancelledByUser)
        ) {
            let mut kept = self.graph.lock();
            if reached == Grade::Preview && self.graph.drops.load(Ordering::Acquire) != self.drops {
                return;
            }
            let entries_of_kind = entries::<Q>(&mut kept);
            entries_of_kind.retain(|e| {
                e.grade != reached || e.query != *self.query || matches!(e.state, State::Running)
            });
            let state = State::Done(answer.clone());
            entries_of_kind.push(Entry {
                query: self.query.clone(),
                grade: reached,
                state,
            });
        }
    }
}

impl<Q: Query> Drop for PendingAnswer<'_, Q> {
    fn drop(&mut self) {
        let mut kept = self.graph.lock();
        let entries_of_kind = entries::<Q>(&mut kept);
        entries_of_kind.retain(|e| {
            let is_running = e.grade == self.grade && matches!(e.state, State::Running);
            !(is_running && e.query == *self.query)
        });
        drop(kept);
        self.graph.settled.notify_all();
    }
}

/// Access to the inputs of a query's answer.
pub struct Access<'a> {
    graph: &'a Graph,
    grade: Grade,
    control: &'a JobControl,
    /// Whether the grade has affected the answer.
    previewed: &'a Cell<bool>,
    partial: Option<Partial<'a>>,
}

impl Access<'_> {
    /// The answer to another query, of at least the grade of the dependent one.
    ///
    /// # Errors
    /// [`Failure::Below`] where it has none.
    pub fn get<Q: Query>(&self, query: &Q) -> Result<Q::Answer, Failure> {
        let answer = self
            .graph
            .find_or_make(query, Extent::whole(self.grade), self.control, None);
        let (answer, grade) = answer.map_err(|failure| match failure {
            Failure::Here(why) => Failure::Below(why),
            other => other,
        })?;
        if grade < Grade::Full {
            self.previewed.set(true);
        }
        Ok(answer)
    }

    /// The full answer to another query, where there is one already.
    pub fn ready<Q: Query>(&self, query: &Q) -> Option<Q::Answer> {
        self.graph.ready(query)
    }

    /// Whether another thread computes the full answer to a query.
    pub fn is_running<Q: Query>(&self, query: &Q) -> bool {
        matches!(
            Graph::look_up(entries::<Q>(&mut self.graph.lock()), query, Grade::Full),
            Found::Running
        )
    }

    /// The best answer so far of a refining query; `None` before it has begun.
    pub fn so_far<Q: Query>(&self, query: &Q) -> Option<Q::Answer> {
        let mut kept = self.graph.lock();
        match Graph::look_up(entries::<Q>(&mut kept), query, Grade::Preview) {
            Found::Answer(Ok(answer), grade) => {
                self.previewed
                    .set(self.previewed.get() || grade < Grade::Full);
                Some(answer)
            }
            _ => None,
        }
    }

    /// The requested grade; an answer that reads it depends on it.
    pub fn grade(&self) -> Grade {
        self.previewed.set(true);
        self.grade
    }

    /// Publishes a partial answer: dependent queries may be computed anew.
    pub fn publish<Q: Query>(&self, query: &Q, answer: Q::Answer) {
        let mut kept = self.graph.lock();
        let is_cancelled = { entries::<Q>(&mut kept).iter() }
            .any(|e| e.query == *query && matches!(e.state, State::CancelledByUser));
        if is_cancelled {
            return;
        }
        self.graph.drop_previews(&mut kept);
        let state = State::Done(Ok(answer.clone()));
        entries::<Q>(&mut kept).push(Entry {
            query: query.clone(),
            grade: Grade::Preview,
            state,
        });
        drop(kept);
        if let Some(partial) = self.partial {
            partial(&answer);
        }
    }

    /// Shows an answer on the way to the caller of the graph; no other query is answered from it.
    pub fn show<Q: Query>(&self, answer: &Q::Answer) {
        if let Some(partial) = self.partial {
            partial(answer);
        }
    }

    /// The graph, for work that asks it for inputs by itself.
    pub(super) fn graph(&self) -> &Graph {
        self.graph
    }

    pub fn doses_of_opened(&self) -> Option<&DosesOfOpened> {
        self.graph.doses_of_opened.get().map(|doses| &**doses)
    }

    pub fn control(&self) -> &JobControl {
        self.control
    }
}

#[cfg(test)]
mod tests;
