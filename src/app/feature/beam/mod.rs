//! Beams: angles, collimation, apertures fitted to targets, arcs, monitor units.

pub mod command;
pub mod edits;
pub mod jobs;
pub mod panel;
pub mod state;
