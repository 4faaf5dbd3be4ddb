//! A machine fitted to measured data, and the machines' files.

pub mod edits;
pub mod panel;
pub mod state;
