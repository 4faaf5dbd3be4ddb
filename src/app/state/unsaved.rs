//! Unsaved work: what it is, and the question before it would be lost.

use super::State;
use super::opening::{Opened, Opening};
use crate::analysis::Goal;
use crate::case::{Plan, Pose, StructureSet};
use crate::physics::HuTable;
use std::sync::Arc;

/// What the user made of a case, as it stands: cheap to take and to compare. Two are equal where they share their parts,
/// so that an undo back to what was saved is no change.
#[derive(Clone, Debug)]
pub struct Work {
    plans: Vec<Arc<Plan>>,
    structures: Arc<StructureSet>,
    hu_table: Arc<HuTable>,
    /// Of the Register workspace.
    pose: Pose,
    /// Of the Compare workspace.
    goals: Vec<Goal>,
}

impl Work {
    pub fn of(state: &State) -> Self {
        let case = state.case();
        Self {
            plans: case.plans.clone(),
            structures: Arc::clone(&case.structures),
            hu_table: Arc::clone(&state.results.settings.hu_table),
            pose: *state.register.poses.now(),
            goals: state.compare.goals.clone(),
        }
    }
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        let Self { plans, structures, hu_table, pose, goals } = self;
        plans.len() == other.plans.len()
            && plans.iter().zip(&other.plans).all(|(a, b)| Arc::ptr_eq(a, b))
            && Arc::ptr_eq(structures, &other.structures)
            && (Arc::ptr_eq(hu_table, &other.hu_table) || *hu_table == other.hu_table)
            && *pose == other.pose
            && *goals == other.goals
    }
}

impl State {
    /// Whether there is work that no session file holds: a comparison with what was opened or saved last.
    pub fn is_unsaved(&self) -> bool {
        self.is_loaded() && self.saved.as_ref().is_none_or(|saved| *saved != Work::of(self))
    }
}

/// What would lose unsaved work.
#[derive(Debug)]
pub enum Then {
    Close,
    Open(Box<Opening>),
    /// A case that is read by now; the work changed while it was.
    Show(Box<Opened>),
}

/// Asked before work is lost.
#[derive(Debug)]
pub struct Question {
    pub then: Then,
    /// The user wants it saved first, and that is under way.
    pub saving: bool,
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Save,
    Discard,
    Cancel,
}
