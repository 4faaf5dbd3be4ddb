//! The graph of results: what is asked for by what it is made from, made once, and made of other results.

use crate::case::Receipt;
use crate::engine::{Cancelled, JobControl};
use crate::worker::Lane;
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// A waiting thread looks so often whether its job is cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A result, by all that it is made from: equal queries have equal answers.
pub trait Query: Clone + PartialEq + Debug + Send + Sync + 'static {
    type Answer: Clone + Debug + Send + Sync + 'static;

    /// Whether the window lists its job with the receipt.
    const LISTED: bool = false;
    /// Whether the window has a notice where it fails: not where a panel says so.
    const NOTICED: bool = true;
    /// Whether it publishes answers on the way.
    const REFINES: bool = false;

    /// What its job does, in words.
    fn name(&self) -> String;

    /// Which of the worker's threads makes it.
    fn lane(&self, _grade: Grade) -> Lane {
        Lane::Host
    }

    /// What the job that made it has left behind.
    fn receipt(_answer: &Self::Answer) -> Option<Arc<Receipt>> {
        None
    }

    /// Whether nothing more comes of it by asking again.
    fn is_whole(_answer: &Self::Answer) -> bool {
        true
    }

    /// Makes the answer of the answers of other queries.
    ///
    /// # Errors
    /// [`Failure`].
    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure>;
}

/// How good an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Quick, while something moves; what is made of it is a preview too.
    Preview,
    Full,
}

/// Why a query has no answer.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The user has cancelled it or what it is made from.
    #[error("it was cancelled")]
    Withheld,
    /// The query's own.
    #[error("{0}")]
    Here(String),
    /// That of a query that it is made from.
    #[error("{0}")]
    Below(String),
}

impl Failure {
    pub fn here(why: impl ToString) -> Self {
        Self::Here(why.to_string())
    }
}

/// Answers at hand, by query. Shared by the window, its jobs and the command line.
#[derive(Default)]
pub struct Graph {
    kept: Mutex<HashMap<TypeId, Box<dyn KeptAnswers>>>,
    /// An answer has come, or its job has ended without one.
    settled: Condvar,
    /// Counts how often previews were dropped: one begun before is made of what is no longer the best.
    drops: AtomicU64,
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

enum State<A> {
    /// A thread is making it.
    Running,
    Done(Result<A, Failure>),
    Withheld,
}

/// The entries of one kind of query.
trait KeptAnswers: Any + Send {
    fn as_any(&mut self) -> &mut dyn Any;
    /// Answers made of what has become better go.
    fn drop_previews(&mut self);
    /// Failed, withheld and unfinished entries go: they may be tried again.
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
            State::Withheld => false,
        });
    }
}

/// Takes the answers on the way of any kind of query.
type Partial<'a> = &'a dyn Fn(&dyn Any);

type Kept<'a> = MutexGuard<'a, HashMap<TypeId, Box<dyn KeptAnswers>>>;

fn entries<'a, Q: Query>(kept: &'a mut Kept<'_>) -> &'a mut Vec<Entry<Q>> {
    let kind = kept.entry(TypeId::of::<Q>()).or_insert_with(|| Box::new(Vec::<Entry<Q>>::new()));
    kind.as_any().downcast_mut().expect("entries lie under the type of their query")
}

impl Graph {
    /// The answer to a query, from what is at hand or made now, and how good it is: at least of the grade. `partial` is given
    /// the answers on the way of a query that refines.
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
        let partial = RefCell::new(partial);
        let sink = |answer: &dyn Any| {
            if let Some(answer) = answer.downcast_ref() {
                (partial.borrow_mut())(answer);
            }
        };
        self.find_or_make(query, grade, control, Some(&sink))
    }

    /// The full answer.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn full<Q: Query>(&self, query: &Q, control: &JobControl) -> Result<Q::Answer, Failure> {
        self.find_or_make(query, Grade::Full, control, None).map(|(answer, _)| answer)
    }

    fn find_or_make<Q: Query>(
        &self,
        query: &Q,
        grade: Grade,
        control: &JobControl,
        partial: Option<Partial<'_>>,
    ) -> Result<(Q::Answer, Grade), Failure> {
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
        entries::<Q>(&mut kept).push(Entry { query: query.clone(), grade, state: State::Running });
        let making = Making { graph: self, query, grade, drops: self.drops.load(Ordering::Acquire) };
        drop(kept);
        let previewed = Cell::new(false);
        let access = Access { graph: self, grade, control, previewed: &previewed, partial };
        let answer = query.answer(&access);
        let reached = if previewed.get() { grade } else { Grade::Full };
        making.settle(&answer, reached);
        answer.map(|answer| (answer, reached))
    }

    fn look_up<Q: Query>(entries: &[Entry<Q>], query: &Q, grade: Grade) -> Found<Q::Answer> {
        let find = |grade| entries.iter().find(|e| e.grade == grade && e.query == *query).map(|e| &e.state);
        match (find(Grade::Full), grade) {
            (Some(State::Done(answer)), _) => return Found::Answer(answer.clone(), Grade::Full),
            (Some(State::Withheld), Grade::Full) => return Found::Answer(Err(Failure::Withheld), grade),
            (Some(State::Running), Grade::Full) => return Found::Running,
            _ if grade == Grade::Full => return Found::Nothing,
            _ => {}
        }
        match find(Grade::Preview) {
            Some(State::Done(answer)) => Found::Answer(answer.clone(), Grade::Preview),
            Some(State::Running) => Found::Running,
            Some(State::Withheld) | None => Found::Nothing,
        }
    }

    /// Keeps the answers that are still wanted; those under way stay.
    pub fn retain<Q: Query>(&self, wanted: impl Fn(&Q) -> bool) {
        entries::<Q>(&mut self.lock()).retain(|e| matches!(e.state, State::Running) || wanted(&e.query));
    }

    /// The user has cancelled a query: nothing that hangs on it makes it after all.
    pub fn withhold<Q: Query>(&self, query: &Q) {
        let mut kept = self.lock();
        let own = entries::<Q>(&mut kept);
        own.retain(|e| e.query != *query || matches!(e.state, State::Running));
        own.push(Entry { query: query.clone(), grade: Grade::Full, state: State::Withheld });
        self.drop_previews(&mut kept);
    }

    fn drop_previews(&self, kept: &mut Kept<'_>) {
        kept.values_mut().for_each(|kind| kind.drop_previews());
        self.drops.fetch_add(1, Ordering::AcqRel);
    }

    /// What failed or was cancelled may be tried again.
    pub fn forget_failures(&self) {
        self.lock().values_mut().for_each(|kind| kind.drop_failures());
    }

    /// No query's answer is made under the lock, so a poisoned one still holds whole entries.
    fn lock(&self) -> Kept<'_> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Found<A> {
    Answer(Result<A, Failure>, Grade),
    Running,
    Nothing,
}

/// The entry of a query that a thread is making: it goes when the thread ends without an answer.
struct Making<'a, Q: Query> {
    graph: &'a Graph,
    query: &'a Q,
    grade: Grade,
    /// Of the graph, when it began.
    drops: u64,
}

impl<Q: Query> Making<'_, Q> {
    fn settle(self, answer: &Result<Q::Answer, Failure>, reached: Grade) {
        if !matches!(answer, Err(Failure::Cancelled(_) | Failure::Withheld)) {
            let mut kept = self.graph.lock();
            if reached == Grade::Preview && self.graph.drops.load(Ordering::Acquire) != self.drops {
                return;
            }
            let own = entries::<Q>(&mut kept);
            own.retain(|e| e.grade != reached || e.query != *self.query || matches!(e.state, State::Running));
            let state = State::Done(answer.clone());
            own.push(Entry { query: self.query.clone(), grade: reached, state });
        }
    }
}

impl<Q: Query> Drop for Making<'_, Q> {
    fn drop(&mut self) {
        let mut kept = self.graph.lock();
        let own = entries::<Q>(&mut kept);
        let running = |e: &Entry<Q>| e.grade == self.grade && matches!(e.state, State::Running);
        own.retain(|e| !(running(e) && e.query == *self.query));
        drop(kept);
        self.graph.settled.notify_all();
    }
}

/// What a query's answer is made with.
pub struct Access<'a> {
    graph: &'a Graph,
    grade: Grade,
    control: &'a JobControl,
    /// Whether the grade has shown in the answer.
    previewed: &'a Cell<bool>,
    partial: Option<Partial<'a>>,
}

impl Access<'_> {
    /// The answer to another query, at least as good as the one that is made of it has to be.
    ///
    /// # Errors
    /// [`Failure::Below`] where it has none.
    pub fn get<Q: Query>(&self, query: &Q) -> Result<Q::Answer, Failure> {
        let found = self.graph.find_or_make(query, self.grade, self.control, None);
        let (answer, grade) = found.map_err(|failure| match failure {
            Failure::Here(why) => Failure::Below(why),
            other => other,
        })?;
        if grade < Grade::Full {
            self.previewed.set(true);
        }
        Ok(answer)
    }

    /// The best answer so far of a query that refines; none where it has not begun.
    pub fn so_far<Q: Query>(&self, query: &Q) -> Option<Q::Answer> {
        let mut kept = self.graph.lock();
        match Graph::look_up(entries::<Q>(&mut kept), query, Grade::Preview) {
            Found::Answer(Ok(answer), grade) => {
                self.previewed.set(self.previewed.get() || grade < Grade::Full);
                Some(answer)
            }
            _ => None,
        }
    }

    /// The grade; an answer that asks differs by it.
    pub fn grade(&self) -> Grade {
        self.previewed.set(true);
        self.grade
    }

    /// An answer on the way to the full one: what hangs on it may be made anew.
    pub fn publish<Q: Query>(&self, query: &Q, answer: Q::Answer) {
        let mut kept = self.graph.lock();
        let withheld = |e: &Entry<Q>| e.query == *query && matches!(e.state, State::Withheld);
        if entries::<Q>(&mut kept).iter().any(withheld) {
            return;
        }
        self.graph.drop_previews(&mut kept);
        let state = State::Done(Ok(answer.clone()));
        entries::<Q>(&mut kept).push(Entry { query: query.clone(), grade: Grade::Preview, state });
        drop(kept);
        if let Some(partial) = self.partial {
            partial(&answer);
        }
    }

    pub fn control(&self) -> &JobControl {
        self.control
    }
}

#[cfg(test)]
mod tests;
