//! Commands of the optimisation.

use sequence::Technique;

/// One command of the optimisation of the plan on show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimiseAction {
    Start,
    /// Ends the run; the plan gets the fluences found so far.
    Stop,
    /// Ends the run, and takes back the drag that began it.
    TakeBack,
    /// Compares the plan as it was before its fluence maps (A), which is added to the plans, with the plan (B).
    CompareBefore,
    /// Cuts the maps into leaves.
    MakeDeliverable,
    /// Ends the cut: the plan keeps its maps.
    KeepMaps,
    SetTechnique(Technique),
    /// Lets the maps follow newer goals by themselves, or leaves them as they are.
    FollowGoals(bool),
    /// Shows the curve of monitor units, or hides it.
    ShowCurve(bool),
    /// Shows the doses on the way to leaves in place of the goals' rows.
    ShowStages(bool),
}
