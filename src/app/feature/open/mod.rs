//! Opening: what a folder holds, questions about its patients, and its references.

pub mod jobs;
pub mod panel;
pub mod state;
