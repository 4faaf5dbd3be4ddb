//! A treatment machine, for the views.

use super::graph::{Access, Failure, Priority, Query};
use physics::Machine;
use std::sync::Arc;

/// A machine by its name or path: a small file, read once, and again where one has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineOf {
    pub name: String,
    /// [`Settings::machine_changes`](super::Settings::machine_changes).
    pub changes: u32,
}

impl Query for MachineOf {
    type Answer = Arc<Machine>;

    const PRIORITY: Option<Priority> = Some(Priority::Basis(0));

    /// The beam that needs the machine reports the failure.
    const NOTICED: bool = false;

    fn name(&self) -> String {
        format!("Reading machine {}", self.name)
    }

    fn answer(&self, _: &Access<'_>) -> Result<Arc<Machine>, Failure> {
        Machine::resolve(&self.name).map_err(Failure::here)
    }
}
