//! What makes or changes a structure by calculation.

use analysis::contouring::Operation;
use case::StructureKind;

/// A calculation that the user asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ContouringAction {
    /// ROI number of the structure that is worked on.
    pub structure: u32,
    pub operation: Operation,
    pub into: Destination,
}

/// Where the contours go.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// They replace those of the structure itself.
    Itself,
    New {
        name: String,
        kind: StructureKind,
    },
}
