//! A result with the inputs it answers.

use crate::case::DoseStatus;

/// A result that is wanted for certain inputs.
#[derive(Debug)]
pub struct Node<I, R> {
    /// What the case gives now.
    pub now: Option<I>,
    /// What was last asked of the worker.
    pub asked: Option<I>,
    pub have: Option<(I, R)>,
    /// Why the worker could not, for these inputs.
    pub failure: Option<(I, String)>,
}

/// How a result stands to the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Answers the case as it stands.
    Current,
    /// A quick answer that stands in for the one asked for.
    StandIn,
    /// Answers an earlier state.
    Stale,
    /// The case as it stands cannot be answered.
    Failed,
}

impl Standing {
    /// What a dose computed as `own` is worth.
    pub fn status(self, own: DoseStatus) -> DoseStatus {
        match self {
            Self::Current => own,
            Self::StandIn => own.worst(DoseStatus::Preview),
            Self::Stale => own.worst(DoseStatus::Stale),
            Self::Failed => DoseStatus::Failed,
        }
    }
}

impl<I, R> Default for Node<I, R> {
    fn default() -> Self {
        Self { now: None, asked: None, have: None, failure: None }
    }
}

impl<I: PartialEq, R> Node<I, R> {
    /// The result, where it belongs to the case as it stands.
    pub fn current(&self) -> Option<&R> {
        self.have.as_ref().filter(|(inputs, _)| Some(inputs) == self.now.as_ref()).map(|(_, r)| r)
    }

    /// Any result, be it of an earlier state.
    pub fn latest(&self) -> Option<&R> {
        self.have.as_ref().map(|(_, r)| r)
    }

    /// Why there is no result for the case as it stands.
    pub fn failure(&self) -> Option<&str> {
        let (inputs, why) = self.failure.as_ref()?;
        (Some(inputs) == self.now.as_ref()).then_some(why.as_str())
    }

    /// How the result stands to the case; `None` where there is neither a result nor a failure.
    pub fn standing(&self) -> Option<Standing> {
        match (self.failure(), self.current(), self.latest()) {
            (Some(_), ..) => Some(Standing::Failed),
            (None, Some(_), _) => Some(Standing::Current),
            (None, None, Some(_)) => Some(Standing::Stale),
            (None, None, None) => None,
        }
    }

    /// What was cancelled or failed may be asked for again.
    pub fn forget_failure(&mut self) {
        self.asked = None;
        self.failure = None;
    }
}

impl<I: Clone + PartialEq, R> Node<I, R> {
    /// Sets what is wanted; says whether the worker has to be asked for it, and notes that it will be.
    pub fn wants(&mut self, inputs: I) -> bool {
        let ask = self.asked.as_ref() != Some(&inputs)
            && (self.asked.is_none() || self.have.as_ref().is_none_or(|(have, _)| *have != inputs));
        if ask {
            self.asked = Some(inputs.clone());
        }
        self.now = Some(inputs);
        ask
    }

    /// Whether there is nothing to find out about these inputs: they were asked for last, or are known to fail.
    pub fn is_settled_for(&self, inputs: &I) -> bool {
        self.asked.as_ref() == Some(inputs) || self.failure.as_ref().is_some_and(|(i, _)| i == inputs)
    }

    /// Takes a result over where it is what was asked for last; says whether.
    pub fn answered(&mut self, inputs: I, result: R) -> bool {
        let is_asked = self.asked.as_ref() == Some(&inputs);
        if is_asked {
            self.failure = None;
            self.have = Some((inputs, result));
        }
        is_asked
    }

    /// The request made last has failed.
    pub fn failed(&mut self, why: &str) {
        if let Some(inputs) = self.asked.clone() {
            self.failure = Some((inputs, why.to_owned()));
        }
    }
}
