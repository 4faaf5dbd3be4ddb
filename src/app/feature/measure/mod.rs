//! Ruler, dose points and profiles.

pub mod command;
pub mod edits;
pub mod panel;
pub mod state;
pub mod view;
