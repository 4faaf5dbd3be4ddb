//! Structures: contours made of others, densities, bolus, and couch.

pub mod edits;
pub mod panel;
pub mod state;
