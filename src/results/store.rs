//! The window's results, by kind and place, and their delivery.

use super::graph::{Failure, Grade, Graph, Priority, Query};
use super::known_again::DosesOfOpened;
use super::node::Node;
use case::Receipt;
use engine::JobControl;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use worker::{Lane, Task};

/// The place of a result among results of its kind: the object it belongs to, and a number there.
pub type ResultKey = (u8, u32);

/// The place and the grade of a result: the target of a worker's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobTarget {
    kind: TypeId,
    pub at: ResultKey,
    pub grade: Grade,
    pub priority: Option<Priority>,
    /// Whether its job is listed with its receipt.
    pub listed: bool,
}

impl JobTarget {
    pub fn new<Q: Query>(key: ResultKey, grade: Grade) -> Self {
        let listed = Q::LISTED && grade == Grade::Full;
        Self {
            kind: TypeId::of::<Q>(),
            at: key,
            grade,
            priority: Q::PRIORITY,
            listed,
        }
    }

    pub fn is<Q: Query>(&self) -> bool {
        self.kind == TypeId::of::<Q>()
    }

    pub fn is_full(&self) -> bool {
        self.grade == Grade::Full
    }
}

/// The results of a case.
#[derive(Debug, Default)]
pub struct Results {
    graph: Arc<Graph>,
    nodes: BTreeMap<(TypeId, ResultKey), Box<dyn AnyNode>>,
    /// Places of removed nodes.
    left: Vec<JobTarget>,
}

/// A node of any kind of query.
trait AnyNode: Any + Debug + Send {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn outdate(&mut self);
    fn forget_failure(&mut self);
    fn cancel(&mut self, graph: &Graph);
    fn is_cancelled(&self) -> bool;
    fn take_superseded(&mut self) -> bool;
    fn withdraw_full_dose(&mut self) -> bool;
    fn evict_unused(&self, results: &Results, are_under_way: bool);
    fn begin_next_state(&mut self, moving: bool);
    fn place(&self, key: ResultKey, grade: Grade) -> JobTarget;
    fn grades(&self) -> &'static [Grade];
    fn job(
        &mut self,
        graph: &Arc<Graph>,
        target: JobTarget,
        is_quick: bool,
    ) -> Option<Task<Delivery>>;
}

impl<Q: Query> AnyNode for Node<Q> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn outdate(&mut self) {
        Self::outdate(self);
    }

    fn forget_failure(&mut self) {
        Self::forget_failure(self);
    }

    fn cancel(&mut self, graph: &Graph) {
        if let Some(query) = self.now() {
            graph.cancel_by_user(query);
        }
        Self::cancel(self);
    }

    fn is_cancelled(&self) -> bool {
        Self::is_cancelled(self)
    }

    fn take_superseded(&mut self) -> bool {
        Self::take_superseded(self)
    }

    fn withdraw_full_dose(&mut self) -> bool {
        Q::PRIORITY.is_some_and(|priority| priority.is_full_dose(Grade::Full)) && self.withdraw()
    }

    fn begin_next_state(&mut self, moving: bool) {
        Self::begin_next_state(self, moving);
    }

    fn evict_unused(&self, results: &Results, are_under_way: bool) {
        let wanted: Vec<&Q> = results
            .each::<Q>()
            .flat_map(|(_, node)| node.wanted(are_under_way))
            .collect();
        results.graph.retain(|query: &Q| wanted.contains(&query));
    }

    fn place(&self, key: ResultKey, grade: Grade) -> JobTarget {
        JobTarget::new::<Q>(key, grade)
    }

    fn grades(&self) -> &'static [Grade] {
        Q::GRADES
    }

    fn job(
        &mut self,
        graph: &Arc<Graph>,
        target: JobTarget,
        is_quick: bool,
    ) -> Option<Task<Delivery>> {
        if !self.now()?.may_begin(graph) {
            return None;
        }
        Some(job(
            self.request(target.grade)?,
            Arc::clone(graph),
            target,
            is_quick,
        ))
    }
}

/// The job that answers a query.
fn job<Q: Query>(query: Q, graph: Arc<Graph>, place: JobTarget, is_quick: bool) -> Task<Delivery> {
    let grade = place.grade;
    let is_quick = is_quick || grade == Grade::Preview || query.is_quick();
    let (name, lane) = (query.job_name(grade), query.lane(grade));
    let work = move |control: &JobControl, partial: &mut dyn FnMut(Delivery)| {
        let answer = graph.step(&query, grade, control, &mut |answer| {
            partial(delivery(
                &query,
                &graph,
                place,
                Ok((answer.clone(), Grade::Preview)),
                true,
            ));
        });
        if let Err(Failure::Cancelled(cancelled)) = &answer {
            return Err(*cancelled);
        }
        Ok(delivery(&query, &graph, place, answer, false))
    };
    let task = if is_quick {
        Task::new(name, move |control| work(control, &mut |_| {})).quick()
    } else if Q::REFINES {
        Task::refining(name, work)
    } else if lane == Lane::Host || !Q::RESTARTABLE {
        // A job that previews depend on as well is not interrupted.
        Task::new(name, move |control| work(control, &mut |_| {}))
    } else {
        Task::restartable(name, move |control| work(control, &mut |_| {}))
    };
    let task = if Q::RUNS_IN_PARALLEL {
        task.side_by_side()
    } else {
        task
    };
    task.on(lane)
}

/// The delivery of an answer, or of a refining query's answer so far.
fn delivery<Q: Query>(
    query: &Q,
    graph: &Arc<Graph>,
    place: JobTarget,
    answer: Result<(Q::Answer, Grade), Failure>,
    is_partial: bool,
) -> Delivery {
    let query = query.clone();
    Delivery {
        graph: Arc::clone(graph),
        place,
        // Dependent queries are answered from partial answers, not from steps.
        outdates: is_partial && !Q::IN_STEPS,
        is_step: Q::IN_STEPS && matches!(&answer, Ok((answer, _)) if !Q::is_whole(answer)),
        failure: match &answer {
            Err(Failure::Here(why)) => Some((why.clone(), Q::NOTICED)),
            Err(Failure::Below(why)) => Some((why.clone(), false)),
            _ => None,
        },
        receipt: answer
            .as_ref()
            .ok()
            .and_then(|(answer, _)| Q::receipt(answer)),
        take: Box::new(move |results: &mut Results| match answer {
            Ok((answer, grade)) => {
                let node = results.entry::<Q>(place.at);
                if !is_partial && Q::IN_STEPS && grade < place.grade {
                    node.request_next_step(&query);
                }
                node.receive(query, grade, answer);
            }
            Err(Failure::Here(why) | Failure::Below(why)) => {
                results.entry::<Q>(place.at).fail(query, place.grade, why);
            }
            Err(Failure::Cancelled(_) | Failure::CancelledByUser) => {}
        }),
    }
}

/// The outcome of a job.
pub struct Delivery {
    /// The graph of the case that was open when the job began.
    graph: Arc<Graph>,
    pub place: JobTarget,
    /// Dependent queries have a better input.
    outdates: bool,
    /// A step towards an answer, which comes with the last.
    pub is_step: bool,
    /// Why there is no answer, and whether that gives a notice.
    pub failure: Option<(String, bool)>,
    pub receipt: Option<Arc<Receipt>>,
    take: Box<dyn FnOnce(&mut Results) + Send>,
}

impl Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery")
            .field("place", &self.place)
            .field("failure", &self.failure)
            .finish()
    }
}

impl Results {
    /// Doses that were kept with the case.
    pub fn set_doses_of_opened(&self, doses: Arc<DosesOfOpened>) {
        self.graph.set_doses_of_opened(doses);
    }

    /// Answers of this case, for jobs that are no query.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub fn node<Q: Query>(&self, key: ResultKey) -> Option<&Node<Q>> {
        self.nodes
            .get(&(TypeId::of::<Q>(), key))?
            .as_any()
            .downcast_ref()
    }

    /// The node at a place; a new one where it is missing.
    pub fn entry<Q: Query>(&mut self, key: ResultKey) -> &mut Node<Q> {
        let node = self
            .nodes
            .entry((TypeId::of::<Q>(), key))
            .or_insert_with(|| Box::new(Node::<Q>::default()));
        node.as_any_mut()
            .downcast_mut()
            .expect("nodes lie under the type of their query")
    }

    /// All nodes of a kind.
    pub fn each<Q: Query>(&self) -> impl Iterator<Item = (ResultKey, &Node<Q>)> {
        let kind = TypeId::of::<Q>();
        let nodes = self
            .nodes
            .range((kind, (0, 0))..=(kind, (u8::MAX, u32::MAX)));
        nodes.filter_map(|((_, key), node)| Some((*key, node.as_any().downcast_ref()?)))
    }

    /// Removes the unused nodes of a kind.
    pub fn keep_only<Q: Query>(&mut self, keep: impl Fn(ResultKey) -> bool) {
        let gone: Vec<ResultKey> = self
            .each::<Q>()
            .map(|(key, _)| key)
            .filter(|key| !keep(*key))
            .collect();
        for key in gone {
            self.nodes.remove(&(TypeId::of::<Q>(), key));
            self.left
                .extend([Grade::Preview, Grade::Full].map(|grade| JobTarget::new::<Q>(key, grade)));
        }
    }

    /// Removes all nodes of a kind with their answers: the case has nothing left that they could be made of.
    pub fn forget<Q: Query>(&mut self) {
        self.keep_only::<Q>(|_| false);
        // A kind without nodes has none that say which of its answers are of use.
        self.graph.retain(|_: &Q| false);
    }

    /// Removes answers without a use from the graph: where jobs of the state before are under way, not what they are made of.
    pub fn evict_unused(&self, are_under_way: bool) {
        let mut last = None;
        for ((kind, _), node) in &self.nodes {
            if last.replace(kind) != Some(kind) {
                node.evict_unused(self, are_under_way);
            }
        }
    }

    /// The jobs of the current state are about to be requested; `moving`: during a drag.
    pub fn begin_next_state(&mut self, moving: bool) {
        self.nodes
            .values_mut()
            .for_each(|node| node.begin_next_state(moving));
    }

    /// Places of removed nodes: their jobs have nobody to answer to.
    pub fn removed(&mut self) -> Vec<JobTarget> {
        std::mem::take(&mut self.left)
    }

    /// Places whose full job answers an earlier query.
    pub fn take_superseded(&mut self) -> Vec<JobTarget> {
        let superseded = self.nodes.iter_mut().filter_map(|(&(_, key), node)| {
            node.take_superseded().then(|| node.place(key, Grade::Full))
        });
        superseded.collect()
    }

    /// Places of full doses of a group, and of what is made of them, that are under way and not wanted for now: they count as not
    /// requested.
    pub fn withdraw_full_doses(&mut self, group: u8) -> Vec<JobTarget> {
        let of_group = self.nodes.iter_mut().filter(|((_, key), _)| key.0 == group);
        let withdrawn = of_group.filter_map(|(&(_, key), node)| {
            node.withdraw_full_dose()
                .then(|| node.place(key, Grade::Full))
        });
        withdrawn.collect()
    }

    /// The jobs that nodes may request, in the order of their priorities.
    pub fn jobs(&self) -> Vec<(Priority, JobTarget)> {
        let targets = self.nodes.iter().flat_map(|(&(_, key), node)| {
            node.grades()
                .iter()
                .map(move |grade| node.place(key, *grade))
        });
        let mut jobs: Vec<_> = targets
            .filter_map(|target| Some((target.priority?, target)))
            .collect();
        jobs.sort_by_key(|(priority, target)| priority.order(target.grade, target.at));
        jobs
    }

    /// A job, where it has to be requested; it is then noted as requested. A quick job precedes other work and is not
    /// interrupted.
    pub fn job(&mut self, target: JobTarget, is_quick: bool) -> Option<Task<Delivery>> {
        let node = self.nodes.get_mut(&(target.kind, target.at))?;
        node.job(&self.graph, target, is_quick)
    }

    /// Receives the outcome of a job, unless it is of another case.
    pub fn receive(&mut self, delivery: Delivery) {
        if !Arc::ptr_eq(&delivery.graph, &self.graph)
            || !self
                .nodes
                .contains_key(&(delivery.place.kind, delivery.place.at))
        {
            return;
        }
        let outdates = delivery.outdates;
        (delivery.take)(self);
        if outdates {
            self.outdate();
        }
    }

    /// The user has cancelled a job: its result is not computed until it is requested again.
    pub fn cancelled(&mut self, place: JobTarget) {
        if let Some(node) = self
            .nodes
            .get_mut(&(place.kind, place.at))
            .filter(|_| place.grade == Grade::Full)
        {
            node.cancel(&self.graph);
            self.outdate();
        }
    }

    /// Requests a result that has failed or was cancelled once more, and all that it needs of its kind.
    pub fn retry<Q: Query>(&mut self, key: ResultKey) {
        self.graph.forget_failures_of::<Q>();
        self.entry::<Q>(key).forget_failure();
    }

    /// Whether the user has cancelled a result of the current case.
    pub fn has_cancelled(&self) -> bool {
        self.nodes.values().any(|node| node.is_cancelled())
    }

    /// Outdates previews: one of their inputs has improved or was removed.
    fn outdate(&mut self) {
        self.nodes.values_mut().for_each(|node| node.outdate());
    }

    /// Requests cancelled or failed results again.
    pub fn forget_failures(&mut self) {
        self.graph.forget_failures();
        self.nodes
            .values_mut()
            .for_each(|node| node.forget_failure());
    }

    /// Places of all jobs that may be under way.
    pub fn places(&self) -> impl Iterator<Item = JobTarget> + '_ {
        self.nodes.iter().flat_map(|(&(_, key), node)| {
            [Grade::Preview, Grade::Full].map(|grade| node.place(key, grade))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Access;
    use super::super::query::Priority;
    use super::*;

    const ONLY: ResultKey = (0, 0);

    /// An answer in three steps.
    #[derive(Clone, Debug, PartialEq)]
    struct ThreeSteps;

    impl Query for ThreeSteps {
        type Answer = u32;

        const PRIORITY: Option<Priority> = Some(Priority::Inverse(0));
        const IN_STEPS: bool = true;

        fn name(&self) -> String {
            "three steps".to_owned()
        }

        fn is_whole(steps: &u32) -> bool {
            *steps == 3
        }

        fn answer(&self, inputs: &Access<'_>) -> Result<u32, Failure> {
            let steps = inputs.graph().warm::<u32>();
            let mut steps = steps.lock().expect("steps");
            *steps += 1;
            Ok(*steps)
        }
    }

    /// Runs the job of the node, where it requests one. Whether the answer is whole.
    fn run_job(results: &mut Results) -> Option<bool> {
        let target = JobTarget::new::<ThreeSteps>(ONLY, Grade::Full);
        let query = results.entry::<ThreeSteps>(ONLY).request(Grade::Full)?;
        let graph = Arc::clone(&results.graph);
        let answer = graph.step(&query, Grade::Full, &JobControl::new(), &mut |_| {});
        let delivery = delivery(&query, &graph, target, answer, false);
        let is_whole = !delivery.is_step;
        results.receive(delivery);
        Some(is_whole)
    }

    #[test]
    fn a_node_requests_one_step_after_another_until_the_answer_is_whole() {
        let mut results = Results::default();
        results.entry(ONLY).set(Some(ThreeSteps));
        assert_eq!(run_job(&mut results), Some(false));
        assert_eq!(run_job(&mut results), Some(false));
        // Nothing is requested while the case needs nothing.
        results.entry::<ThreeSteps>(ONLY).set(None);
        assert_eq!(run_job(&mut results), None);
        results.entry(ONLY).set(Some(ThreeSteps));
        assert_eq!(run_job(&mut results), Some(true));
        assert_eq!(run_job(&mut results), None);
        let node = results.node::<ThreeSteps>(ONLY).expect("a node");
        assert_eq!(node.current(), Some(&3));
    }
}
