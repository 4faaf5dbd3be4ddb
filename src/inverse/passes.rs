//! Passes of an optimisation: solutions of a few evaluations, after each of which the handles of goals move.
//!
//! Goals are constraints, and wishes are minimised beside them from the first evaluation on. The dose level of a goal's objective moves
//! by what its figure is off by, which is the method of multipliers (Hestenes, J. Optim. Theory Appl. 4 (1969) 303): it takes the
//! multiplier that holds the figure against the wishes. A goal that cannot be met has its handle at the end of its reach.

use super::handles::{HandleAim, HandleDoses, Handles, move_handles};
use super::hot_spots;
use super::objective::Objective;
use super::optimiser::Optimiser;

/// Evaluations of the first solution, from uniform maps, and of each later one.
const FIRST_EVALUATIONS: u64 = 120;
const EVALUATIONS: u64 = 40;

/// Solutions between two true doses while figures still move.
const SOLUTIONS_PER_TRUE_DOSE: usize = 4;

/// Maximum number of solutions.
const MOST_SOLUTIONS: usize = 40;

/// A solution that lowers the objective by less than this fraction leaves it at rest once all goals hold. Wishes go on to fall by some
/// 0.5 Gy in a hundred evaluations, so that rest is a rule and not an optimum.
const LEAST_GAIN: f64 = 0.02;

/// The same while a goal of the first priority cannot be met: it goes on to come nearer for hundreds of evaluations.
const LEAST_GAIN_UNMET: f64 = 0.003;

/// Solutions after which a handle at the end of its reach is a sign: figures are far off before.
const SOLUTIONS_BEFORE_RAISE: usize = 2;

/// Margin by which figures are aimed beyond their goals, fraction of the reference dose: wishes pull them back to the limits.
const MARGIN: f64 = 0.002;

/// The true dose has converged if it moves by less in the targets, fraction of the reference dose.
const AT_REST: f64 = 0.001;

/// Solutions so far, and the objective after the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    solutions: usize,
    /// Solutions at the last true dose.
    corrected: usize,
    objective: f64,
    /// All goals that can be met hold, and the objective hardly falls.
    is_settled: bool,
}

/// The step after a solution or a true dose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    Solve,
    Correct,
    Judge,
    Rest,
}

impl Passes {
    /// Evaluations of the next solution.
    pub fn evaluations(&self) -> u64 {
        if self.solutions == 0 {
            FIRST_EVALUATIONS
        } else {
            EVALUATIONS
        }
    }

    fn is_last(&self) -> bool {
        self.solutions >= MOST_SOLUTIONS
    }

    /// Whether hot spots that the next true dose finds may become rows.
    pub fn may_hold_hot_spots(&self) -> bool {
        self.solutions >= SOLUTIONS_PER_TRUE_DOSE && !self.is_last()
    }
}

impl Optimiser {
    /// The objectives with their handles moved by the current doses, and whether goals hold. The lower bounds of fluences move with the
    /// monitor units.
    fn with_moved_handles(&mut self) -> (Vec<Objective>, Handles) {
        self.raise_floor();
        let doses = HandleDoses {
            rows_gy: &self.doses_gy(),
            dvh_offset_gy: &self.dvh_offset_gy,
        };
        let aim = HandleAim {
            reference_gy: self.reference_gy,
            margin: MARGIN,
            raises: self.passes.solutions >= SOLUTIONS_BEFORE_RAISE,
        };
        let mut objectives = self.objectives.clone();
        let mut handles = move_handles(&mut objectives, self.rows(), doses, aim);
        let limits = hot_spots::outside_limits(&self.setup, self.asked(), self.reference_gy);
        handles.are_held &= !hot_spots::raise(&mut objectives, self.rows(), doses.rows_gy, limits);
        (objectives, handles)
    }

    /// After a solution: moves the handles, or asks for a true dose, which moves them.
    pub(super) fn after_solution(&mut self) -> NextStep {
        let gain = 1.0 - self.objective / self.passes.objective;
        self.passes.objective = self.objective;
        self.passes.solutions += 1;
        if self.dvh_offset_gy.is_empty() {
            return NextStep::Correct;
        }
        let (moved, Handles { are_held, .. }) = self.with_moved_handles();
        let is_unmet = moved
            .iter()
            .any(|o| o.asked.is_some() && o.raised > 1.0 && o.weight >= 1.0);
        let least_gain = if is_unmet {
            LEAST_GAIN_UNMET
        } else {
            LEAST_GAIN
        };
        self.passes.is_settled = are_held && gain.abs() < least_gain;
        let uncorrected = self.passes.solutions - self.passes.corrected;
        let is_due = uncorrected >= SOLUTIONS_PER_TRUE_DOSE;
        if self.passes.is_settled || self.passes.is_last() || is_due {
            NextStep::Correct
        } else {
            self.objectives = moved;
            NextStep::Solve
        }
    }

    /// After a true dose that moved by a fraction of the reference dose in the targets.
    pub(super) fn after_true_dose(&mut self, moved: f64) -> NextStep {
        self.passes.corrected = self.passes.solutions;
        let has_converged = self.passes.is_settled && moved < AT_REST;
        let next = if self.is_judged {
            NextStep::Rest
        } else {
            NextStep::Judge
        };
        self.next_if_held(has_converged, next)
    }

    /// After the dose that the plan is judged by.
    pub(super) fn after_judged_dose(&mut self) -> NextStep {
        self.next_if_held(true, NextStep::Rest)
    }

    /// `next` with the levels at which the fluences were found, if goals hold and the doses have converged; else another solution.
    fn next_if_held(&mut self, has_converged: bool, next: NextStep) -> NextStep {
        let (moved, Handles { are_held, .. }) = self.with_moved_handles();
        if self.passes.is_last() || has_converged && are_held {
            next
        } else {
            self.objectives = moved;
            NextStep::Solve
        }
    }
}
