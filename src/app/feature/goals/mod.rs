//! Clinical goals: the editor, templates, and the scorecard.

pub mod command;
pub mod edits;
pub mod panel;
pub mod state;
