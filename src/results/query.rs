//! Queries: keys of results, with the order of the jobs that answer them.

use super::graph::{Access, Failure, Graph};
use super::store::ResultKey;
use case::Receipt;
use std::fmt::Debug;
use std::sync::Arc;
use worker::Lane;

/// The key of a result, with all its inputs: equal queries have equal answers.
pub trait Query: Clone + PartialEq + Debug + Send + Sync + 'static {
    type Answer: Clone + Debug + Send + Sync + 'static;

    /// Turn of its jobs in the window; `None` for one that others alone ask for.
    const PRIORITY: Option<Priority> = None;
    /// Grades at which the window asks for it.
    const GRADES: &'static [Grade] = &[Grade::Full];
    /// Whether the window lists its job with the receipt.
    const LISTED: bool = false;
    /// Whether a failure gives a notice in the window; not where a panel reports it.
    const NOTICED: bool = true;
    /// Whether its jobs run beside each other: there are many, each small.
    const RUNS_IN_PARALLEL: bool = false;
    /// Whether a quick job interrupts its job on a device, which then begins again.
    const RESTARTABLE: bool = true;
    /// Whether it publishes partial answers.
    const REFINES: bool = false;
    /// Whether [`Self::answer`] takes one step towards an answer that [`Self::is_whole`]: the window runs other jobs between two steps.
    const IN_STEPS: bool = false;

    /// The result, in words.
    fn name(&self) -> String;

    /// Its job of a grade, in words.
    fn job_name(&self, grade: Grade) -> String {
        match grade {
            Grade::Preview => format!("{}, preview", self.name()),
            Grade::Full => self.name(),
        }
    }

    /// The lane of its job.
    fn lane(&self, _grade: Grade) -> Lane {
        Lane::Host
    }

    /// Whether its full job is as quick as a preview.
    fn is_quick(&self) -> bool {
        false
    }

    /// Whether its job may begin; not where it would compute inputs that have jobs of their own.
    fn may_begin(&self, _graph: &Graph) -> bool {
        true
    }

    /// The receipt of its job.
    fn receipt(_answer: &Self::Answer) -> Option<Arc<Receipt>> {
        None
    }

    /// Whether the answer is final: a new request would not improve it.
    fn is_whole(_answer: &Self::Answer) -> bool {
        true
    }

    /// Computes the answer from the answers of other queries.
    ///
    /// # Errors
    /// [`Failure`].
    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure>;
}

/// The required grade of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Quick, while a control moves; answers that depend on it are previews too.
    Preview,
    Full,
}

/// Turn of a query's jobs, first to last. Queries of one turn are ordered by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Machines and masks: parts of all other results.
    Basis(u8),
    /// X-rays and their DRRs.
    Register(u8),
    /// Surfaces of structures, and distances between them.
    Room(u8),
    Densities,
    Rays,
    /// Optima of fluences, then leaves: the user waits for them before their doses.
    Inverse(u8),
    Run,
    Beams,
    /// Sums of beams and their readings, one dose after another.
    Doses(u8),
    Isodoses,
    Gamma(u8),
    /// Doses of the plan under set-up errors.
    Scenarios,
}

impl Priority {
    /// Sort key among the jobs of a frame.
    pub(super) fn order(self, grade: Grade, key: ResultKey) -> impl Ord + use<> {
        let (group, number) = key;
        let turn = if matches!(self, Self::Doses(_)) {
            Self::Doses(0)
        } else {
            self
        };
        (self.is_full_dose(grade), turn, group, self, number)
    }

    /// Whether a job computes a dose, or what is made of one, to the end: all previews of a frame come before it.
    pub fn is_full_dose(self, grade: Grade) -> bool {
        self >= Self::Run && grade == Grade::Full
    }
}
