//! The graph, tested with queries of numbers.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// A number with a counter of its computations; a preview is a tenth of it.
#[derive(Clone, Debug)]
struct Leaf {
    number: u32,
    made: Arc<AtomicUsize>,
    fails: bool,
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

fn leaf(number: u32) -> Leaf {
    Leaf {
        number,
        made: Arc::default(),
        fails: false,
    }
}

impl Query for Leaf {
    type Answer = u32;

    fn name(&self) -> String {
        format!("leaf {}", self.number)
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<u32, Failure> {
        self.made.fetch_add(1, Ordering::SeqCst);
        match inputs.grade() {
            _ if self.fails => Err(Failure::here("no leaf")),
            Grade::Preview => Ok(self.number / 10),
            Grade::Full => Ok(self.number),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Sum(Vec<Leaf>);

impl Query for Sum {
    type Answer = u32;

    fn name(&self) -> String {
        "sum".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<u32, Failure> {
        self.0.iter().map(|leaf| inputs.get(leaf)).sum()
    }
}

fn ask<Q: Query>(graph: &Graph, query: &Q, grade: Grade) -> Result<(Q::Answer, Grade), Failure> {
    graph.answer(query, grade, &JobControl::new(), &mut |_| {})
}

#[test]
fn what_is_equal_is_made_once_and_a_preview_gives_way_to_the_full_answer() {
    let graph = Graph::default();
    let (a, b) = (leaf(100), leaf(20));
    let sum = Sum(vec![a.clone(), b.clone(), a.clone()]);
    assert_eq!(
        ask(&graph, &sum, Grade::Preview).unwrap(),
        (22, Grade::Preview)
    );
    assert_eq!(
        ask(&graph, &sum, Grade::Preview).unwrap(),
        (22, Grade::Preview)
    );
    assert_eq!(a.made.load(Ordering::SeqCst), 1);
    assert_eq!(ask(&graph, &sum, Grade::Full).unwrap(), (220, Grade::Full));
    assert_eq!(
        (a.made.load(Ordering::SeqCst), b.made.load(Ordering::SeqCst)),
        (2, 2)
    );
    // The full leaves are cached: another sum of them is no preview although only one was requested.
    let other = Sum(vec![b.clone()]);
    assert_eq!(
        ask(&graph, &other, Grade::Preview).unwrap(),
        (20, Grade::Full)
    );
    // Unused answers are dropped.
    graph.retain(|leaf: &Leaf| leaf.number == 20);
    graph.retain(|_: &Sum| false);
    assert_eq!(ask(&graph, &sum, Grade::Full).unwrap(), (220, Grade::Full));
    assert_eq!(
        (a.made.load(Ordering::SeqCst), b.made.load(Ordering::SeqCst)),
        (3, 2)
    );
}

#[test]
fn a_failure_is_told_by_all_that_hangs_on_it_until_it_is_forgotten() {
    let graph = Graph::default();
    let bad = Leaf {
        fails: true,
        ..leaf(7)
    };
    for _ in 0..2 {
        let failed = ask(&graph, &Sum(vec![bad.clone()]), Grade::Full);
        assert!(matches!(failed, Err(Failure::Below(why)) if why == "no leaf"));
    }
    assert!(matches!(
        ask(&graph, &bad, Grade::Full),
        Err(Failure::Here(_))
    ));
    assert_eq!(bad.made.load(Ordering::SeqCst), 1);
    graph.forget_failures();
    assert_eq!(
        ask(&graph, &Sum(vec![leaf(7)]), Grade::Full).unwrap(),
        (7, Grade::Full)
    );
}

#[test]
fn nothing_makes_what_the_user_has_cancelled() {
    let graph = Graph::default();
    let cancelled = leaf(30);
    graph.cancel_by_user(&cancelled);
    assert!(matches!(
        ask(&graph, &Sum(vec![cancelled.clone()]), Grade::Full),
        Err(Failure::CancelledByUser)
    ));
    assert_eq!(cancelled.made.load(Ordering::SeqCst), 0);
    assert_eq!(
        ask(&graph, &Sum(vec![cancelled.clone()]), Grade::Preview).unwrap(),
        (3, Grade::Preview)
    );
    graph.forget_failures();
    assert_eq!(
        ask(&graph, &cancelled, Grade::Full).unwrap(),
        (30, Grade::Full)
    );
}

/// Blocks until it is released or cancelled; panics on request.
#[derive(Clone, Debug)]
struct Gated {
    begun: mpsc::Sender<()>,
    go: Arc<Mutex<mpsc::Receiver<bool>>>,
}

impl PartialEq for Gated {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Query for Gated {
    type Answer = u32;

    const REFINES: bool = true;

    fn name(&self) -> String {
        "gated".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<u32, Failure> {
        self.begun.send(()).unwrap();
        inputs.publish(self, 1);
        loop {
            inputs.control().check()?;
            match self
                .go
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .try_recv()
            {
                Ok(true) => return Ok(2),
                Ok(false) => panic!("told to"),
                Err(_) => std::thread::yield_now(),
            }
        }
    }
}

fn gated() -> (Gated, mpsc::Receiver<()>, mpsc::Sender<bool>) {
    let (begun, begins) = mpsc::channel();
    let (let_go, go) = mpsc::channel();
    (
        Gated {
            begun,
            go: Arc::new(Mutex::new(go)),
        },
        begins,
        let_go,
    )
}

#[test]
fn two_threads_that_ask_at_once_share_one_answer() {
    let (query, begins, let_go) = gated();
    let graph = Graph::default();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(&graph, &query, Grade::Full));
        begins.recv().unwrap();
        let second = scope.spawn(|| ask(&graph, &query, Grade::Full));
        let_go.send(true).unwrap();
        assert_eq!(first.join().unwrap().unwrap().0, 2);
        assert_eq!(second.join().unwrap().unwrap().0, 2);
    });
    assert!(begins.try_recv().is_err(), "begun once");
}

#[test]
fn who_waits_for_another_thread_can_be_cancelled_and_so_can_who_makes_it() {
    let (query, begins, let_go) = gated();
    let graph = Graph::default();
    let (makes, waits) = (JobControl::new(), JobControl::new());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| graph.answer(&query, Grade::Full, &makes, &mut |_| {}));
        begins.recv().unwrap();
        let second = scope.spawn(|| graph.answer(&query, Grade::Full, &waits, &mut |_| {}));
        waits.cancel();
        assert!(matches!(second.join().unwrap(), Err(Failure::Cancelled(_))));
        makes.cancel();
        assert!(matches!(first.join().unwrap(), Err(Failure::Cancelled(_))));
    });
    let_go.send(true).unwrap();
    assert_eq!(
        ask(&graph, &query, Grade::Full).unwrap().0,
        2,
        "it is made anew"
    );
}

#[test]
fn an_answer_that_panics_leaves_nobody_waiting() {
    let (query, _begins, let_go) = gated();
    let graph = Graph::default();
    let_go.send(false).unwrap();
    std::thread::scope(|scope| {
        assert!(
            scope
                .spawn(|| ask(&graph, &query, Grade::Full))
                .join()
                .is_err()
        )
    });
    let_go.send(true).unwrap();
    assert_eq!(ask(&graph, &query, Grade::Full).unwrap().0, 2);
}

/// Ten times the gated one's latest partial answer.
#[derive(Clone, Debug, PartialEq)]
struct Tenfold(Gated);

impl Query for Tenfold {
    type Answer = u32;

    fn name(&self) -> String {
        "tenfold".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<u32, Failure> {
        Ok(10
            * match inputs.grade() {
                Grade::Preview => inputs.so_far(&self.0).unwrap_or(0),
                Grade::Full => inputs.get(&self.0)?,
            })
    }
}

#[test]
fn answers_on_the_way_reach_who_asked_and_what_hangs_on_them() {
    let (query, begins, let_go) = gated();
    let (graph, published) = (Graph::default(), Mutex::new(Vec::new()));
    let after = Tenfold(query.clone());
    assert_eq!(
        ask(&graph, &after, Grade::Preview).unwrap(),
        (0, Grade::Preview)
    );
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            graph.answer(&query, Grade::Full, &JobControl::new(), &mut |n| {
                published.lock().unwrap().push(*n)
            })
        });
        begins.recv().unwrap();
        while published.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(
            ask(&graph, &after, Grade::Preview).unwrap(),
            (10, Grade::Preview)
        );
        let_go.send(true).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), (2, Grade::Full));
    });
    assert_eq!(published.into_inner().unwrap(), [1]);
    assert_eq!(ask(&graph, &after, Grade::Full).unwrap(), (20, Grade::Full));
}

/// A leaf's answer where it is ready, and whether reading it made a preview of the dependent one.
fn ready(graph: &Graph, leaf: &Leaf) -> (Option<u32>, bool) {
    let (control, previewed) = (JobControl::new(), Cell::new(false));
    let grade = Grade::Preview;
    let access = Access {
        graph,
        grade,
        control: &control,
        previewed: &previewed,
        partial: None,
    };
    (access.ready(leaf), previewed.get())
}

/// A query that takes an input only where it is there is full with it, and a preview without.
#[test]
fn only_full_answers_are_ready() {
    let (graph, query) = (Graph::default(), leaf(70));

    assert_eq!(ready(&graph, &query), (None, false));
    ask(&graph, &query, Grade::Preview).unwrap();
    assert_eq!(
        ready(&graph, &query),
        (None, false),
        "a preview is not an answer that stays"
    );
    ask(&graph, &query, Grade::Full).unwrap();
    assert_eq!(ready(&graph, &query), (Some(70), false));
    assert_eq!(query.made.load(Ordering::SeqCst), 2);
}

/// A number that is counted up to, one step at a time from where the last count was left.
#[derive(Clone, Debug, PartialEq)]
struct CountTo(u32);

impl Query for CountTo {
    /// The count, and whether it is there.
    type Answer = (u32, bool);

    const IN_STEPS: bool = true;
    const REFINES: bool = true;

    fn name(&self) -> String {
        format!("count to {}", self.0)
    }

    fn is_whole(count: &(u32, bool)) -> bool {
        count.1
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<(u32, bool), Failure> {
        let count = inputs.graph().warm::<u32>();
        let mut count = count.lock().unwrap();
        *count += 1;
        inputs.show::<Self>(&(*count, false));
        Ok((*count, *count >= self.0))
    }
}

/// One step of a count with its grade, and the count that was shown on the way.
fn step(graph: &Graph, number: u32) -> (((u32, bool), Grade), u32) {
    let (query, control, mut shown) = (CountTo(number), JobControl::new(), 0);
    let answer = graph.step(&query, Grade::Full, &control, &mut |(count, _)| {
        shown = *count
    });
    (answer.unwrap(), shown)
}

#[test]
fn an_answer_in_steps_is_kept_once_it_is_whole() {
    let graph = Graph::default();
    assert_eq!(step(&graph, 3), (((1, false), Grade::Preview), 1));
    assert_eq!(graph.ready(&CountTo(3)), None, "a step is not kept");
    // Another query goes on from what the step has left.
    assert_eq!(step(&graph, 4), (((2, false), Grade::Preview), 2));
    assert_eq!(step(&graph, 3), (((3, true), Grade::Full), 3));
    assert_eq!(graph.ready(&CountTo(3)), Some((3, true)));
    // Who needs the whole answer takes all steps at once.
    let count = graph.full(&CountTo(7), &JobControl::new());
    assert_eq!(count.unwrap(), (7, true));
}
