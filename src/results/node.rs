//! A requested result of the case, with the query it answers.

use super::graph::{Grade, Query};
use case::DoseStatus;

/// A result: the query of the current case, and the answer received so far.
#[derive(Debug)]
pub struct Node<Q: Query> {
    /// The query of the current case.
    now: Option<Q>,
    /// Query of the last state of a drag whose jobs were requested.
    previous_drag_query: Option<Q>,
    /// The last request to the worker, by grade; `None` where none stands.
    requests: [Option<Request<Q>>; 2],
    /// The answer on show, which stays until a later request is answered.
    have: Option<Have<Q>>,
}

#[derive(Debug)]
struct Request<Q> {
    query: Q,
    state: RequestState,
}

#[derive(Debug)]
enum RequestState {
    /// Under way, or answered.
    Made,
    Failed(String),
    /// The user has cancelled it: an answer still under way is dropped.
    Cancelled,
}

#[derive(Debug)]
struct Have<Q: Query> {
    query: Q,
    grade: Grade,
    answer: Q::Answer,
}

/// The standing of a result in the current case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Answers the current case.
    Current,
    /// A preview in place of the requested answer.
    Preview,
    /// Answers an earlier state.
    Stale,
    /// The query of the current case failed.
    Failed,
}

impl Standing {
    /// The status of a dose that was computed with this status.
    pub fn status(self, computed: DoseStatus) -> DoseStatus {
        match self {
            Self::Current => computed,
            Self::Preview => computed.worst(DoseStatus::Preview),
            Self::Stale => computed.worst(DoseStatus::Stale),
            Self::Failed => DoseStatus::Failed,
        }
    }
}

impl<Q: Query> Default for Node<Q> {
    fn default() -> Self {
        Self {
            now: None,
            previous_drag_query: None,
            requests: [None, None],
            have: None,
        }
    }
}

impl<Q: Query> Node<Q> {
    /// The query of the current case.
    pub fn now(&self) -> Option<&Q> {
        self.now.as_ref()
    }

    /// The result, if it belongs to the current case; possibly a preview.
    pub fn current(&self) -> Option<&Q::Answer> {
        self.have
            .as_ref()
            .filter(|have| Some(&have.query) == self.now.as_ref())
            .map(|have| &have.answer)
    }

    /// Any result, possibly of an earlier state.
    pub fn latest(&self) -> Option<&Q::Answer> {
        self.have.as_ref().map(|have| &have.answer)
    }

    /// Any result, with the query it answers.
    pub fn latest_with_query(&self) -> Option<(&Q, &Q::Answer)> {
        self.have.as_ref().map(|have| (&have.query, &have.answer))
    }

    /// Why the current case has no result.
    pub fn failure(&self) -> Option<&str> {
        [Grade::Preview, Grade::Full].into_iter().find_map(|grade| {
            match self.request_state(grade)? {
                RequestState::Failed(why) => Some(why.as_str()),
                _ => None,
            }
        })
    }

    /// The state of the request for the current query.
    fn request_state(&self, grade: Grade) -> Option<&RequestState> {
        let request = self.requests[grade as usize].as_ref()?;
        (Some(&request.query) == self.now.as_ref()).then_some(&request.state)
    }

    /// The standing of the result; `None` where there is neither a result nor a failure.
    pub fn standing(&self) -> Option<Standing> {
        if self.failure().is_some() {
            return Some(Standing::Failed);
        }
        let have = self.have.as_ref()?;
        Some(match have.grade {
            _ if Some(&have.query) != self.now.as_ref() => Standing::Stale,
            Grade::Preview => Standing::Preview,
            Grade::Full => Standing::Current,
        })
    }

    /// Sets the query of the current case.
    pub fn set(&mut self, query: Option<Q>) {
        self.now = query;
    }

    /// The current query, if it has to be requested from the worker; it is then noted as requested.
    pub fn request(&mut self, grade: Grade) -> Option<Q> {
        let current = self.now.as_ref()?;
        let is_final = self
            .have
            .as_ref()
            .is_some_and(|have| have.query == *current && have.grade == Grade::Full);
        if is_final || self.request_state(grade).is_some() || self.failure().is_some() {
            return None;
        }
        let query = current.clone();
        self.requests[grade as usize] = Some(Request {
            query: query.clone(),
            state: RequestState::Made,
        });
        Some(query)
    }

    /// Queries whose answers are of use: the current one, and the previous state's while jobs for it are under way.
    pub fn wanted(&self, are_under_way: bool) -> impl Iterator<Item = &Q> {
        self.now
            .iter()
            .chain(self.previous_drag_query.as_ref().filter(|_| are_under_way))
    }

    /// The jobs of the current state are about to be requested; during a drag the next state's may be requested before they end.
    pub fn begin_next_state(&mut self, moving: bool) {
        self.previous_drag_query = if moving { self.now.clone() } else { None };
    }

    /// Receives an answer unless there is a better one.
    pub fn receive(&mut self, query: Q, grade: Grade, answer: Q::Answer) {
        let is_now = Some(&query) == self.now.as_ref();
        let better = self.have.as_ref().is_some_and(|have| {
            Some(&have.query) == self.now.as_ref() && (!is_now || have.grade > grade)
        });
        if better {
            return;
        }
        for request in self
            .requests
            .iter_mut()
            .flatten()
            .filter(|request| request.query == query)
        {
            match request.state {
                RequestState::Cancelled => return,
                RequestState::Failed(_) => request.state = RequestState::Made,
                RequestState::Made => {}
            }
        }
        self.have = Some(Have {
            query,
            grade,
            answer,
        });
    }

    /// Records that the worker could not answer a request, unless a later one was made.
    pub fn fail(&mut self, query: Q, grade: Grade, why: String) {
        let request = self.requests[grade as usize]
            .as_mut()
            .filter(|request| request.query == query);
        if let Some(request) = request {
            request.state = RequestState::Failed(why);
        }
    }

    /// A step towards the answer has ended: the next is requested.
    pub fn request_next_step(&mut self, query: &Q) {
        let request = &mut self.requests[Grade::Full as usize];
        request.take_if(|request| {
            request.query == *query && matches!(request.state, RequestState::Made)
        });
    }

    /// An input of a preview has improved: the preview is requested again.
    pub fn outdate(&mut self) {
        if self
            .have
            .as_ref()
            .is_some_and(|have| have.grade == Grade::Preview)
        {
            self.requests[Grade::Preview as usize] = None;
        }
    }

    /// The result counts as a preview: a better one is requested.
    fn mark_as_preview(&mut self) {
        if let Some(have) = &mut self.have {
            have.grade = Grade::Preview;
        }
        self.requests[Grade::Full as usize] = None;
    }

    /// The user has cancelled its job. Partial answers of a refining result are dropped, too.
    pub fn cancel(&mut self) {
        if let Some(query) = self.now.clone() {
            self.requests[Grade::Full as usize] = Some(Request {
                query,
                state: RequestState::Cancelled,
            });
        }
        if Q::REFINES {
            self.have = None;
        }
    }

    /// Whether the user has cancelled the query of the current case.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self.request_state(Grade::Full),
            Some(RequestState::Cancelled)
        )
    }

    /// Whether its full job answers an earlier query; the job then counts as not requested.
    pub fn take_superseded(&mut self) -> bool {
        let is_left = self.requests[Grade::Full as usize].is_some()
            && self.request_state(Grade::Full).is_none();
        if is_left {
            self.requests[Grade::Full as usize] = None;
        }
        is_left
    }

    /// Takes the request of its full answer back, where that is not there: the job then counts as not requested. Whether there was one.
    pub fn withdraw(&mut self) -> bool {
        let is_answered = { self.have.as_ref() }.is_some_and(|have| {
            Some(&have.query) == self.now.as_ref() && have.grade == Grade::Full
        });
        let is_under_way =
            matches!(self.request_state(Grade::Full), Some(RequestState::Made)) && !is_answered;
        if is_under_way {
            self.requests[Grade::Full as usize] = None;
        }
        is_under_way
    }

    /// Allows cancelled or failed queries to be requested again.
    pub fn forget_failure(&mut self) {
        self.requests = [None, None];
        if self.latest().is_some_and(|answer| !Q::is_whole(answer)) {
            self.mark_as_preview();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Access, Failure};

    /// A number that answers itself.
    #[derive(Clone, Debug, PartialEq)]
    struct Leaf(u32);

    impl Query for Leaf {
        type Answer = u32;

        fn name(&self) -> String {
            format!("leaf {}", self.0)
        }

        fn answer(&self, _: &Access<'_>) -> Result<u32, Failure> {
            Ok(self.0)
        }
    }

    /// A sum of the state before would compute its beams again.
    #[test]
    fn answers_to_what_is_under_way_are_wanted() {
        let mut node = Node::default();
        node.set(Some(Leaf(1)));
        node.begin_next_state(true);
        node.set(Some(Leaf(2)));
        assert!(node.wanted(true).eq(&[Leaf(2), Leaf(1)]));
        assert!(node.wanted(false).eq(&[Leaf(2)]));
        node.begin_next_state(false);
        assert!(
            node.wanted(true).eq(&[Leaf(2)]),
            "at rest nothing of it is held"
        );
    }

    #[test]
    fn what_was_cancelled_is_taken_once_the_case_comes_back_to_it() {
        let mut node = Node::default();
        node.set(Some(Leaf(1)));
        assert_eq!(node.request(Grade::Full), Some(Leaf(1)));
        node.cancel();
        assert_eq!(node.request(Grade::Full), None, "cancelled is cancelled");
        assert!(node.is_cancelled());
        node.receive(Leaf(1), Grade::Full, 1);
        assert_eq!(
            node.current(),
            None,
            "an answer that was on its way is not taken"
        );
        node.set(Some(Leaf(2)));
        assert!(!node.is_cancelled(), "another state");
        assert!(node.take_superseded());
        assert_eq!(node.request(Grade::Full), Some(Leaf(2)));
        node.set(Some(Leaf(1)));
        assert!(node.take_superseded());
        assert_eq!(
            node.request(Grade::Full),
            Some(Leaf(1)),
            "an undo asks again"
        );
        node.receive(Leaf(1), Grade::Full, 1);
        assert_eq!(
            (node.current(), node.standing()),
            (Some(&1), Some(Standing::Current))
        );
    }

    #[test]
    fn a_late_failure_leaves_the_request_that_came_after() {
        let mut node = Node::default();
        for number in [1, 2] {
            node.set(Some(Leaf(number)));
            assert_eq!(node.request(Grade::Preview), Some(Leaf(number)));
        }
        node.fail(Leaf(1), Grade::Preview, "too late".to_owned());
        assert_eq!((node.request(Grade::Preview), node.failure()), (None, None));
        node.fail(Leaf(2), Grade::Preview, "no leaf".to_owned());
        assert_eq!(
            (node.failure(), node.standing()),
            (Some("no leaf"), Some(Standing::Failed))
        );
        assert_eq!(node.request(Grade::Full), None, "it would fail likewise");
        node.forget_failure();
        assert_eq!(node.request(Grade::Full), Some(Leaf(2)));
        node.receive(Leaf(2), Grade::Full, 2);
        assert_eq!((node.request(Grade::Preview), node.failure()), (None, None));
    }

    #[test]
    fn an_outdated_preview_is_requested_again() {
        let mut node = Node::default();
        node.set(Some(Leaf(1)));
        assert_eq!(node.request(Grade::Preview), Some(Leaf(1)));
        node.receive(Leaf(1), Grade::Preview, 0);
        assert_eq!(
            (node.request(Grade::Preview), node.standing()),
            (None, Some(Standing::Preview))
        );
        node.outdate();
        assert_eq!(node.request(Grade::Preview), Some(Leaf(1)));
        assert_eq!(
            node.current(),
            Some(&0),
            "on show until the better one is there"
        );
    }
}
