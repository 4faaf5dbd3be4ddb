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
    /// The last query requested from the worker, by grade.
    asked: [Option<Q>; 2],
    have: Option<Have<Q>>,
    /// The query that failed, and why.
    failure: Option<(Q, String)>,
    /// The query cancelled by the user: answers still under way are dropped.
    cancelled: Option<Q>,
}

#[derive(Debug)]
struct Have<Q: Query> {
    query: Q,
    grade: Grade,
    answer: Q::Answer,
    /// One of its inputs has improved.
    outdated: bool,
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
    /// The status of a dose computed as `own`.
    pub fn status(self, own: DoseStatus) -> DoseStatus {
        match self {
            Self::Current => own,
            Self::Preview => own.worst(DoseStatus::Preview),
            Self::Stale => own.worst(DoseStatus::Stale),
            Self::Failed => DoseStatus::Failed,
        }
    }
}

impl<Q: Query> Default for Node<Q> {
    fn default() -> Self {
        Self {
            now: None,
            previous_drag_query: None,
            asked: [None, None],
            have: None,
            failure: None,
            cancelled: None,
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
        self.have.as_ref().filter(|have| Some(&have.query) == self.now.as_ref()).map(|have| &have.answer)
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
        let (query, why) = self.failure.as_ref()?;
        (Some(query) == self.now.as_ref()).then_some(why.as_str())
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
    pub fn set(&mut self, now: Option<Q>) {
        self.now = now;
    }

    /// The current query, if it has to be requested from the worker; it is then noted as requested.
    pub fn request(&mut self, grade: Grade) -> Option<Q> {
        let now = self.now.as_ref()?;
        let have = self.have.as_ref().filter(|have| have.query == *now);
        let enough = have.is_some_and(|have| match grade {
            Grade::Preview => !have.outdated,
            Grade::Full => have.grade == Grade::Full,
        });
        let asked = &mut self.asked[grade as usize];
        if enough
            || self.failure.as_ref().is_some_and(|(query, _)| query == now)
            || asked.as_ref() == Some(now)
        {
            return None;
        }
        *asked = Some(now.clone());
        if grade == Grade::Full {
            // The case has returned to a cancelled query: its answer is requested again.
            self.cancelled = None;
        }
        asked.clone()
    }

    /// Queries whose answers are of use: the current one, and that of the state before while jobs for it are under way.
    pub fn wanted(&self, are_under_way: bool) -> impl Iterator<Item = &Q> {
        self.now.iter().chain(self.previous_drag_query.as_ref().filter(|_| are_under_way))
    }

    /// The jobs of the current state are about to be requested: during a drag those of the next may be, too, before they end.
    pub fn begin_next_state(&mut self, moving: bool) {
        self.previous_drag_query = if moving { self.now.clone() } else { None };
    }

    /// Receives an answer unless there is a better one.
    pub fn receive(&mut self, query: Q, grade: Grade, answer: Q::Answer) {
        let is_now = Some(&query) == self.now.as_ref();
        let better = self
            .have
            .as_ref()
            .is_some_and(|have| Some(&have.query) == self.now.as_ref() && (!is_now || have.grade > grade));
        if !better && self.cancelled.as_ref() != Some(&query) {
            self.failure = self.failure.take().filter(|(failed, _)| *failed != query);
            self.have = Some(Have { query, grade, answer, outdated: false });
        }
    }

    /// Records that the worker could not answer a query.
    pub fn fail(&mut self, query: Q, why: String) {
        self.failure = Some((query, why));
    }

    /// An input of a preview has improved: the preview is requested again.
    pub fn outdate(&mut self) {
        if let Some(have) = self.have.as_mut().filter(|have| have.grade == Grade::Preview) {
            have.outdated = true;
            self.asked[Grade::Preview as usize] = None;
        }
    }

    /// The result counts as a preview: a better one is requested.
    fn mark_as_preview(&mut self) {
        if let Some(have) = &mut self.have {
            have.grade = Grade::Preview;
        }
        self.asked[Grade::Full as usize] = None;
    }

    /// The user has cancelled its job. Partial answers of a refining result are dropped, too.
    pub fn cancel(&mut self) {
        self.cancelled = self.now.clone();
        if Q::REFINES {
            self.have = None;
        }
    }

    /// Whether the user has cancelled the query of the current case.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_some() && self.cancelled == self.now
    }

    /// Whether its full job answers an earlier query; the job then counts as not requested.
    pub fn take_superseded(&mut self) -> bool {
        let asked = &mut self.asked[Grade::Full as usize];
        let left = asked.is_some() && *asked != self.now;
        if left {
            *asked = None;
        }
        left
    }

    /// Allows cancelled or failed queries to be requested again.
    pub fn forget_failure(&mut self) {
        self.asked = [None, None];
        self.failure = None;
        self.cancelled = None;
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
        assert!(node.wanted(true).eq(&[Leaf(2)]), "at rest nothing of it is held");
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
        assert_eq!(node.current(), None, "an answer that was on its way is not taken");
        node.set(Some(Leaf(2)));
        assert!(!node.is_cancelled(), "another state");
        assert!(node.take_superseded());
        assert_eq!(node.request(Grade::Full), Some(Leaf(2)));
        node.set(Some(Leaf(1)));
        assert!(node.take_superseded());
        assert_eq!(node.request(Grade::Full), Some(Leaf(1)), "an undo asks again");
        node.receive(Leaf(1), Grade::Full, 1);
        assert_eq!((node.current(), node.standing()), (Some(&1), Some(Standing::Current)));
    }
}
