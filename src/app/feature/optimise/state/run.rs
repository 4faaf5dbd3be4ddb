//! A run of the optimisation: what it optimises, and how it ends.

use case::{Approval, Plan};
use results::OptimiseQuery;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identity of runs among the gestures.
const RUN_STEP: u64 = 0x6c65_6176_6573;

/// An optimisation that runs.
#[derive(Debug)]
pub struct Run {
    pub number: u64,
    /// The plan, by index and name: the run ends where another is on show.
    pub plan: (usize, String),
    /// The query of the step under way.
    pub requested: Option<OptimiseQuery>,
    /// Tells the step under way that another query waits.
    pub has_changed: Arc<AtomicBool>,
    /// The step of the history that the maps join: the step of a drag.
    pub step: Option<u64>,
    /// The plan had leaves, or they were to follow: new ones follow the maps.
    pub leaves_follow: bool,
    /// The record of review that the plan had when it began: one that is made meanwhile ends it.
    pub record: Option<Approval>,
    /// The plan as the last frame had it: one of another name is it as long as it delivers the same.
    pub last: Arc<Plan>,
    /// Beams whose columns of the influence matrix are computed, of all beams, while they are computed.
    pub columns: Option<[usize; 2]>,
}

/// Why a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    AtRest,
    /// A step has failed.
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

    /// Whether a step may be under way, which ends with the run.
    pub(crate) fn has_step_under_way(&self) -> bool {
        !matches!(self, Self::AtRest | Self::Failed)
    }

    /// Whether nothing of the run is shown any more.
    pub(crate) fn forgets(&self) -> bool {
        matches!(self, Self::TakenBack | Self::Undone | Self::Recorded)
    }
}

/// The step of the history for the maps and leaves of a run.
fn step_of_run(number: u64) -> u64 {
    RUN_STEP ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Run {
    pub(crate) fn new(
        number: u64,
        index: usize,
        plan: Arc<Plan>,
        step: Option<u64>,
        leaves_follow: bool,
    ) -> Self {
        Self {
            number,
            plan: (index, plan.name.clone()),
            requested: None,
            has_changed: Arc::default(),
            // Leaves join the step of their maps, which needs a name.
            step: step.or_else(|| leaves_follow.then(|| step_of_run(number))),
            leaves_follow,
            record: plan.approval.clone(),
            last: plan,
            columns: None,
        }
    }

    /// Whether a plan is the one that is optimised, by whatever name.
    pub(crate) fn is_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(plan, &self.last)
            || plan.name == self.plan.1
            || plan.delivered() == self.last.delivered()
    }

    /// Tells the step under way that other goals wait.
    pub(crate) fn raise_priority(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
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
