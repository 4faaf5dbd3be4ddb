//! Commands of the measuring tools.

use crate::feature::measure::state::{Measured, Tool};

/// One command of the user.
#[derive(Debug)]
pub enum MeasureAction {
    /// Takes up a tool, or (`None`) puts it down.
    Tool(Option<Tool>),
    /// Sets an object by its number, or adds it.
    Set(u32, Measured),
    /// Ends a drag: lines too short to be meant are dropped.
    Release,
    Remove(u32),
    Clear,
}
