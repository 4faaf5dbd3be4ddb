//! Commands on the clinical goals. Goals are named by their place in the list of `State::goals`.

use case::Goal;

/// One command on the goals.
#[derive(Clone, Debug)]
pub enum GoalAction {
    /// Adds a usual goal of the selected structure, and opens it for editing.
    Add,
    /// Adds the goal of a text like `Cord: Dmax <= 45 Gy`; a text that is none is told beside its field.
    AddTyped(String),
    /// The text being typed.
    Draft(String),
    Set {
        index: usize,
        goal: Goal,
        /// A drag, whose changes undo together.
        gesture: Option<u64>,
    },
    /// Drags the handle of a goal in the DVH; without an index the goal is born with the drag.
    Drag {
        index: Option<usize>,
        goal: Goal,
        gesture: u64,
    },
    Remove(usize),
    /// Moves a goal before, or after, its neighbour in the order of priorities.
    Move {
        index: usize,
        up: bool,
    },
    RemoveAll,
    /// Adds the goals of a shipped template, by its word.
    Template(&'static str),
    /// Opens a goal for editing; `None` closes it.
    Open(Option<usize>),
    /// Shows the goals in place of the table of metrics where there is no room for both.
    InPlaceOfMetrics(bool),
    /// Shows the objectives that no goal stands for beside the goals of a plan that is optimised, in place of the table of metrics.
    ShowObjectives(bool),
}
