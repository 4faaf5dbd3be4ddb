//! Commands of the panels and views of the Register workspace.

use crate::feature::register::state::{AttenuationChoice, Display, GeometryDraft, Region};
use case::Pose;
use registration::{Method, Metric};
use std::path::PathBuf;

/// One command of the user.
#[derive(Debug)]
pub enum RegisterAction {
    OpenImage(PathBuf),
    /// Sets how the DRRs convert HU to attenuation.
    Attenuation(AttenuationChoice),
    /// Changes the geometry draft of an X-ray that lacks its geometry; `None` drops the draft.
    Draft(Option<Box<GeometryDraft>>),
    /// Opens that X-ray with the drafted geometry.
    UseGeometry(Box<GeometryDraft>),
    /// Answers whether the first X-ray of another patient ID is of the case's patient.
    IsOfPatient(bool),
    /// Makes up two X-rays from the CT, with the patient in a hidden pose.
    MakeUp,
    RemoveImage(usize),
    /// Moves the patient; locked numbers stay. Moves of one `gesture` undo together.
    Move {
        pose: Pose,
        gesture: Option<u64>,
    },
    /// Resets the pose to the planned one.
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
    /// Restricts the metric to a region of an image; `None`: the whole image.
    Region {
        image: usize,
        region: Option<Region>,
    },
    /// Starts the search for the pose.
    Find,
    Stop,
    Accept,
    Reject,
    /// Computes the dose of the displayed plan in the shown pose, and compares it with the plan.
    DoseAtPose,
}
