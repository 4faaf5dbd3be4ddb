//! Phases of inverse planning, and how each ends.

use case::{Approval, Plan};
use results::{LeavesOf, Optimum};
use std::sync::Arc;
use std::time::Instant;

/// Identity of runs among the gestures.
const RUN_STEP: u64 = 0x6c65_6176_6573;

/// Inverse planning of the plan on show: what the user waits for. Answers and their standing are results of the case.
#[derive(Debug, Default)]
pub enum Phase {
    #[default]
    Idle,
    /// Maps are searched, and follow the case.
    Maps(Run),
    /// Leaves wait for the plan to rest.
    BeforeLeaves(LeavesToFollow),
    /// Leaves are made.
    Leaves(Box<LeavesRun>),
}

/// A search for the maps of a plan.
#[derive(Debug)]
pub struct Run {
    /// The plan, by index and name: the run ends where another is on show.
    pub plan: (usize, String),
    /// The step of the history that the maps join: the step of a drag.
    pub step: Option<u64>,
    /// The plan had leaves, or they were to follow: new ones follow the maps.
    pub leaves_follow: bool,
    /// The record of review that the plan had when it began: one that is made meanwhile ends it.
    pub record: Option<Approval>,
    /// The plan as the last frame had it: one of another name is it as long as it delivers the same.
    pub last: Arc<Plan>,
    /// The answer that was there when it began, of other goals or beams: it is none of this run.
    pub previous: Option<Arc<Optimum>>,
}

/// Newer maps of a plan that had leaves, or newer goals of arcs.
#[derive(Debug)]
pub struct LeavesToFollow {
    pub plan: (usize, Arc<Plan>),
    /// The step of the history that the maps are in.
    pub step: Option<u64>,
    /// Time of the last change; leaves follow a while after it.
    pub since: Instant,
}

/// Leaves of a plan that are made.
#[derive(Debug)]
pub struct LeavesRun {
    /// The plan, by index, as it was.
    pub plan: (usize, Arc<Plan>),
    pub query: LeavesOf,
    /// The step of the history that the leaves join, with newer maps.
    pub step: Option<u64>,
    /// Digest of the goals and beams that they are made for.
    pub goals: Option<String>,
}

/// Why a phase ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    AtRest,
    /// A job has failed.
    Failed,
    /// An input is missing, in words for the user.
    Impossible(String),
    /// By the user, or since another plan is displayed.
    Stopped,
    /// By the user, with the drag that it answers.
    TakenBack,
    Undone,
    /// The plan was reviewed meanwhile: it stays as it was looked at.
    Recorded,
}

impl RunEnd {
    /// Whether the plan gets the maps found so far.
    pub(crate) fn uses_maps(&self) -> bool {
        match self {
            Self::AtRest | Self::Impossible(_) | Self::Stopped | Self::Undone => true,
            Self::Failed | Self::TakenBack | Self::Recorded => false,
        }
    }

    /// Whether leaves follow the maps, where the plan had some.
    pub(crate) fn lets_leaves_follow(&self) -> bool {
        self.uses_maps() && *self != Self::Undone
    }

    /// Whether nothing of the run is shown any more.
    pub(crate) fn forgets(&self) -> bool {
        matches!(self, Self::TakenBack | Self::Undone | Self::Recorded)
    }
}

impl Phase {
    pub(crate) fn run(&self) -> Option<&Run> {
        match self {
            Self::Maps(run) => Some(run),
            _ => None,
        }
    }

    pub(crate) fn leaves(&self) -> Option<&LeavesRun> {
        match self {
            Self::Leaves(leaves) => Some(leaves),
            _ => None,
        }
    }

    /// Whether leaves are to follow newer maps or goals by themselves, or do.
    pub(crate) fn are_leaves_to_follow(&self) -> bool {
        match self {
            Self::BeforeLeaves(_) => true,
            Self::Leaves(leaves) => leaves.step.is_some(),
            Self::Idle | Self::Maps(_) => false,
        }
    }

    /// Whether leaves are, or are to be, made of a plan.
    pub(crate) fn has_leaves(&self) -> bool {
        match self {
            Self::Maps(run) => run.leaves_follow,
            phase => phase.are_leaves_to_follow(),
        }
    }
}

/// The step of the history for the maps and leaves of a run.
fn step_of_run(number: u64) -> u64 {
    RUN_STEP ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Run {
    /// Run of a plan; its number tells its step of the history from others.
    pub(crate) fn new(
        number: u64,
        index: usize,
        plan: Arc<Plan>,
        step: Option<u64>,
        leaves_follow: bool,
    ) -> Self {
        Self {
            plan: (index, plan.name.clone()),
            // Leaves join the step of their maps, which needs a name.
            step: step.or_else(|| leaves_follow.then(|| step_of_run(number))),
            leaves_follow,
            record: plan.approval.clone(),
            last: plan,
            previous: None,
        }
    }

    /// Whether a plan is the one that is optimised, by whatever name.
    pub(crate) fn is_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(plan, &self.last)
            || plan.name == self.plan.1
            || plan.delivered() == self.last.delivered()
    }

    /// Whether an answer is of this run.
    pub(crate) fn has_found(&self, optimum: &Arc<Optimum>) -> bool {
        !{ self.previous.as_ref() }.is_some_and(|previous| Arc::ptr_eq(previous, optimum))
    }

    pub(crate) fn stopped_words(&self, has_answer: bool) -> String {
        let has = if has_answer {
            "has the fluences found so far"
        } else {
            "is as it was"
        };
        let plan = &self.plan.1;
        format!("Cancelled: optimising {plan}. The plan {has}. Press 'Optimise' to go on.")
    }

    pub(crate) fn taken_back_words(&self) -> String {
        let plan = &self.plan.1;
        format!("Taken back: optimising {plan}. The plan is as it was. Press 'Optimise' to go on.")
    }

    pub(crate) fn undone_words(&self, has_maps: bool) -> String {
        let outcome = if has_maps {
            "Redo brings the fluences found so far."
        } else {
            "It had found none yet."
        };
        format!("Undone: optimising {}. {outcome}", self.plan.1)
    }

    pub(crate) fn recorded_words(&self, record: &str) -> String {
        let plan = &self.plan.1;
        format!("Ended: optimising {plan}, which is {record}. The plan stays as it was looked at.")
    }
}

impl LeavesRun {
    pub(crate) fn stopped_words(&self) -> String {
        let plan = &self.plan.1.name;
        format!(
            "Cancelled: leaves of {plan}. The plan is as it was. Press 'Make deliverable' to go on."
        )
    }
}
