//! Plans of the case: list, normalisation, and approval.

pub mod command;
pub mod edits;
pub mod panel;
pub mod state;
