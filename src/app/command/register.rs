//! What the panels and views of the Register workspace ask for.

use crate::app::state::register::{Display, GeometryDraft, Reading, Region};
use crate::case::Pose;
use crate::registration::{Method, Metric};
use std::path::PathBuf;

/// One thing the user asked for.
#[derive(Debug)]
pub enum RegisterAction {
    OpenImage(PathBuf),
    /// How the DRRs read HU.
    Reading(Reading),
    /// Changes what is said of an X-ray that waits for its geometry; `None` drops it.
    Draft(Option<Box<GeometryDraft>>),
    /// Opens that X-ray with what is said.
    UseGeometry(Box<GeometryDraft>),
    /// Two X-rays made up from the CT, the patient in a pose that is not told.
    MakeUp,
    RemoveImage(usize),
    /// Where the patient is; locked numbers stay. Moves of one `gesture` undo together.
    Move {
        pose: Pose,
        gesture: Option<u64>,
    },
    /// Back to where the plan has the patient.
    Reset,
    Lock {
        axis: usize,
        locked: bool,
    },
    Step(f64),
    Display(Display),
    Metric(Metric),
    Method(Method),
    /// Begins or ends marking the region.
    Mark(bool),
    /// What the metric looks at in an image; `None` of it: all.
    Region {
        image: usize,
        region: Option<Region>,
    },
    /// Looks for the pose.
    Find,
    Stop,
    Accept,
    Reject,
}
