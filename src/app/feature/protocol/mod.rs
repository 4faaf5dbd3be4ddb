//! Plans by protocol: a box with what a protocol finds in the case, and one button that makes the plan.

pub mod edits;
pub mod jobs;
pub mod panel;
pub mod state;
