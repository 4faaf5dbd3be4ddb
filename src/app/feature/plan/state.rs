//! Window state of the plans and their beams.

use crate::state::State;

/// How isocentres are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanTools {
    /// Each beam has its own isocentre; otherwise beams at one isocentre move together.
    pub own_isocentres: bool,
    /// The next click in a view places the isocentre of the selected beam.
    pub picks_isocentre: bool,
}

impl State {
    /// Whether the beams of the displayed plan have one isocentre and move together.
    pub fn shares_isocentre(&self) -> bool {
        !self.plan_tools.own_isocentres && self.plan().is_some_and(|p| p.shared_isocentre_mm().is_some())
    }

    /// The selected beam, by index, whose isocentre the next click in a view places.
    pub fn picks_isocentre_of(&self) -> Option<usize> {
        let (index, beam) = self.selected_beam().filter(|_| self.plan_tools.picks_isocentre)?;
        beam.read_only.is_none().then_some(index)
    }
}
