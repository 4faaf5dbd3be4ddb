//! The set-up errors under which the displayed plan is shown.

use crate::state::results::Shown;
use crate::state::{State, Workspace};
use analysis::{MOST_SET_UP_MM, ShiftDirections};

/// Length of the shifts before the user or a protocol sets one, mm: the set-up margin of head and neck in the shipped protocols.
const USUAL_MM: f64 = 3.0;

/// Set-up errors, and whether they are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetUpErrors {
    pub are_shown: bool,
    pub shift_mm: f64,
    pub directions: ShiftDirections,
    /// Whether the slider of the length is held: previews follow it.
    pub is_dragged: bool,
    /// The scenario whose curves are drawn beside the bands, by its place in their list.
    pub scenario: Option<usize>,
}

impl Default for SetUpErrors {
    fn default() -> Self {
        Self {
            are_shown: false,
            shift_mm: USUAL_MM,
            directions: ShiftDirections::default(),
            is_dragged: false,
            scenario: None,
        }
    }
}

impl SetUpErrors {
    /// The errors that a protocol plans for, shown.
    pub fn of_protocol(shift_mm: f64) -> Self {
        Self {
            are_shown: true,
            shift_mm: shift_mm.clamp(0.0, MOST_SET_UP_MM),
            ..Self::default()
        }
    }
}

impl State {
    /// Whether the DVHs on view belong to the displayed plan, shown under set-up errors.
    pub fn shows_set_up_errors(&self) -> bool {
        self.set_up_errors.are_shown
            && self.workspace == Workspace::Plan
            && self.results.shown == Shown::Plan
            && !self.optimise.is_running()
            && self.optimisers_dose().is_none()
    }
}
