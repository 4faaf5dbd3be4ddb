//! Inverse planning: objectives, fluence maps, and the run of the optimiser.

pub mod command;
pub mod edits;
pub mod jobs;
pub mod panel;
pub mod state;
pub mod view;
