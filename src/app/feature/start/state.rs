//! The tour: six stops at widgets of the window, over a demo.

use crate::state::{State, Workspace};

/// The case that the tour is taken on, which no user owns.
pub const TOUR_CASE: &str = "demo:thorax";

/// One command of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TourAction {
    /// Opens the demo, and stops at the first widget.
    Begin,
    /// Goes on or back to a stop.
    To(Stop),
    Leave,
}

/// How far the tour has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tour {
    pub stop: Stop,
}

/// A stop of the tour, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    Gantry,
    Goals,
    Optimise,
    Compare,
    Register,
    Save,
}

impl Stop {
    pub const ALL: [Self; 6] = [
        Self::Gantry,
        Self::Goals,
        Self::Optimise,
        Self::Compare,
        Self::Register,
        Self::Save,
    ];

    pub fn heading(self) -> &'static str {
        match self {
            Self::Gantry => "Turn the gantry",
            Self::Goals => "Read the DVH, set goals",
            Self::Optimise => "Optimise and make leaves",
            Self::Compare => "Compare two doses",
            Self::Register => "Register X-rays",
            Self::Save => "Save, report, export",
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Gantry => {
                "Drag the dial: the dose follows as a preview, and is computed in full when the dial rests. The status of the dose \
                 stands in every view."
            }
            Self::Goals => {
                "The curves follow each change. Templates under Goals add published limits; a click on a curve makes a goal of that \
                 point."
            }
            Self::Optimise => {
                "Optimise finds a fluence map for each beam. Goals are then handles on the DVH: drag one, and curves and maps follow. \
                 Make deliverable cuts the maps into leaves."
            }
            Self::Compare => {
                "Any two doses of the case as A and B: side by side, their difference, gamma, both DVHs. Choose them here."
            }
            Self::Register => {
                "X-rays beside radiographs computed from the CT. Make up a pair to try it, then search for the pose of the patient."
            }
            Self::Save => {
                "Save keeps a plan, a session or a DICOM export. The report of a plan as PDF is in the plan's own panel, that of a \
                 comparison under Compare."
            }
        }
    }

    /// The workspace whose widget it points at.
    pub fn workspace(self) -> Workspace {
        match self {
            Self::Gantry | Self::Goals | Self::Optimise | Self::Save => Workspace::Plan,
            Self::Compare => Workspace::Compare,
            Self::Register => Workspace::Register,
        }
    }

    /// Its place in the tour, from 0.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|stop| *stop == self).unwrap_or(0)
    }

    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self.index() + 1).copied()
    }

    pub fn previous(self) -> Option<Self> {
        self.index().checked_sub(1).map(|n| Self::ALL[n])
    }
}

impl State {
    /// Whether the case on show is the demo that the tour is taken on.
    pub fn is_tour_case(&self) -> bool {
        self.is_loaded() && { self.origin.as_ref() }
            .is_some_and(|origin| origin.session.is_none() && origin.word.to_string() == TOUR_CASE)
    }

    /// The stop on show: none over a case of the user's own.
    pub fn tour_stop(&self) -> Option<Stop> {
        self.tour
            .map(|tour| tour.stop)
            .filter(|_| self.is_tour_case())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use open::CaseWord;

    #[test]
    fn the_tour_goes_on_and_back_through_each_stop() {
        let on: Vec<Stop> = std::iter::successors(Some(Stop::Gantry), |stop| stop.next()).collect();
        assert_eq!(on, Stop::ALL);
        let back: Vec<Stop> =
            std::iter::successors(Some(Stop::Save), |stop| stop.previous()).collect();
        assert!(back.iter().eq(on.iter().rev()));
        assert!(TOUR_CASE.parse::<CaseWord>().is_ok());
    }
}
