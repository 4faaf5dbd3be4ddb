//! The files that a case was read from: an export carries through from them what the case itself does not hold.

use super::{Dose, Plan, StructureSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Files of a case; empty where its objects have none, as in demos and `.mha` volumes.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub structures: Option<Source<StructureSet>>,
    pub plans: Vec<Source<Plan>>,
    pub doses: Vec<Source<Dose>>,
}

/// A file, and its object as it was read: an object of the case that equals it is unchanged.
#[derive(Clone, Debug)]
pub struct Source<T> {
    pub path: PathBuf,
    pub read: Arc<T>,
}

impl Sources {
    /// The file of a plan: found by its UID, or for a copy, which has none, by an unchanged beam.
    pub fn of_plan(&self, plan: &Plan) -> Option<&Source<Plan>> {
        match &plan.uid {
            Some(_) => self.plans.iter().find(|source| source.read.uid == plan.uid),
            None => self.plans.iter().find(|source| {
                plan.beams
                    .iter()
                    .any(|beam| source.read.beams.iter().any(|read| read.is_unchanged(beam)))
            }),
        }
    }
}
