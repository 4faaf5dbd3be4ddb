//! Calculations that make or change a structure.

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

/// Structure that receives the contours.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// The structure itself, whose contours they replace.
    Itself,
    /// The structure and these others, by ROI number, each changed in the same way; those in which there is nothing to change stay.
    Each(Vec<u32>),
    New {
        name: String,
        kind: StructureKind,
    },
}
