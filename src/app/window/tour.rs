//! The tour: it opens a demo as the user would, and changes nothing but what is on show.

use super::App;
use crate::feature::start::state::{Stop, TOUR_CASE, Tour, TourAction};
use crate::state::Selection;

impl App {
    pub(super) fn tour(&mut self, action: TourAction) {
        match action {
            TourAction::Begin => {
                self.state.tour = Some(Tour { stop: Stop::Gantry });
                if self.state.is_tour_case() {
                    self.stop_at(Stop::Gantry);
                } else {
                    self.open(TOUR_CASE);
                }
            }
            TourAction::To(stop) => self.stop_at(stop),
            TourAction::Leave => self.state.tour = None,
        }
    }

    fn stop_at(&mut self, stop: Stop) {
        let state = &mut self.state;
        state.tour = Some(Tour { stop });
        state.workspace = stop.workspace();
        // Only a selected beam has a dial.
        if let (Stop::Gantry, Some(beam)) = (stop, state.plan().and_then(|plan| plan.beams.first()))
        {
            state.selection = Selection::Beam(beam.number);
        }
    }

    /// Begins the tour where it waits for the case that is now on show; over any other case it ends.
    pub(super) fn follow_tour(&mut self) {
        match self.state.tour {
            Some(_) if self.state.is_tour_case() => self.stop_at(Stop::Gantry),
            _ => self.state.tour = None,
        }
    }
}
