//! Settings of the room view.

use crate::state::{State, Workspace};

/// Settings of the room view, which takes the place of the beam's-eye view.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    pub shown: bool,
    /// The isodose levels of the dose display whose surfaces are drawn, percent.
    pub isodoses_percent: Vec<f32>,
    pub body: bool,
    /// Organs are solid, not see-through.
    pub solid: bool,
    /// The gantry head and the couch top.
    pub machine: bool,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            shown: false,
            isodoses_percent: vec![95.0, 50.0],
            body: true,
            solid: false,
            machine: true,
        }
    }
}

impl Room {
    pub fn draws_isodose(&self, percent: f32) -> bool {
        self.isodoses_percent.contains(&percent)
    }

    /// Adds or removes the surface of an isodose level.
    pub fn set_isodose(&mut self, percent: f32, drawn: bool) {
        self.isodoses_percent.retain(|p| *p != percent);
        if drawn {
            self.isodoses_percent.push(percent);
        }
    }
}

impl State {
    /// Whether the room is on the screen, or in a report that waits for its surfaces.
    pub fn needs_room(&self) -> bool {
        self.report_waits.is_some() || (self.room.shown && self.workspace == Workspace::Plan)
    }
}
