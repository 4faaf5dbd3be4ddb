//! Commands for plans and beams.

use case::{Stage, Template};
use glam::DVec3;

/// One command of the user. Beams are indices in the displayed plan.
#[derive(Debug)]
pub enum PlanAction {
    /// Copies a plan, by index, and displays the copy.
    Copy(usize),
    /// Deletes a plan, by index.
    Remove(usize),
    /// Records that the user has reviewed, approved or rejected a plan, by index, and why; `None` takes the record back.
    Record {
        plan: usize,
        stage: Option<Stage>,
        reason: String,
    },
    /// Compares the displayed plan (A) with a plan, by index (B).
    Compare(usize),
    /// Compares a plan, by index (B), with itself by collapsed cone (A), for which it is copied where no copy is there yet.
    CompareEngines(usize),
    /// Adds beams round the isocentre of the others, else the target, else the crosshair.
    Add(Template),
    CopyBeam(usize),
    /// Adds the opposing beam.
    Oppose(usize),
    /// Moves a beam to another place in the order.
    Reorder {
        beam: usize,
        to: usize,
    },
    /// Sets a beam's share of the monitor units, percent.
    Weight {
        beam: usize,
        percent: f64,
        gesture: Option<u64>,
    },
    /// Moves the isocentre, of all beams where they share it. Patient LPS, mm.
    Isocentre {
        beam: usize,
        mm: DVec3,
        gesture: Option<u64>,
    },
    /// All beams take this beam's isocentre and share it, or each has its own.
    ShareIsocentre {
        beam: usize,
        shared: bool,
    },
    /// A click in a view places the isocentre, or no longer does.
    PickIsocentre(bool),
}
