//! Unsaved work, and the question before it is lost.

use super::State;
use crate::feature::open::state::{Opened, Opening};
use case::{Goal, Plan, Pose, StructureSet};
use physics::HuTable;
use std::sync::Arc;

/// The user's work on a case, as a snapshot: cheap to make and to compare. Two are equal if they share their parts, so
/// that an undo back to the saved work is no change.
#[derive(Clone, Debug)]
pub struct Work {
    plans: Vec<Arc<Plan>>,
    structures: Arc<StructureSet>,
    hu_table: Arc<HuTable>,
    /// Pose of the Register workspace.
    pose: Pose,
    goals: Option<Arc<[Goal]>>,
}

impl Work {
    pub fn new(state: &State) -> Self {
        let case = state.case();
        Self {
            plans: case.plans.clone(),
            structures: Arc::clone(&case.structures),
            hu_table: Arc::clone(&state.results.settings.hu_table),
            pose: *state.register.poses.now(),
            goals: case.goals.clone(),
        }
    }

    /// With the maps of an optimisation that has not ended.
    pub fn to_keep(state: &State) -> Self {
        Self {
            plans: state.case_with_published().plans,
            ..Self::new(state)
        }
    }
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            plans,
            structures,
            hu_table,
            pose,
            goals,
        } = self;
        plans.len() == other.plans.len()
            && plans
                .iter()
                .zip(&other.plans)
                .all(|(a, b)| Arc::ptr_eq(a, b))
            && Arc::ptr_eq(structures, &other.structures)
            && (Arc::ptr_eq(hu_table, &other.hu_table) || *hu_table == other.hu_table)
            && *pose == other.pose
            && *goals == other.goals
    }
}

impl State {
    /// Whether there is work that no session file holds: compares it with the work last opened or saved.
    pub fn is_unsaved(&self) -> bool {
        self.is_loaded()
            && self
                .saved
                .as_ref()
                .is_none_or(|saved| *saved != Work::new(self))
    }
}

/// Action that would lose unsaved work.
#[derive(Debug)]
pub enum Then {
    Close,
    Open(Box<Opening>),
    /// Shows a case that is already read; the work changed during the reading.
    Show(Box<Opened>),
}

/// The question before work is lost.
#[derive(Debug)]
pub struct Question {
    pub then: Then,
    /// The user chose to save first, and the saving runs.
    pub saving: bool,
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Save,
    Discard,
    Cancel,
}
