//! The displayed plan under set-up errors: bands of the DVHs, and each goal in its worst scenario.

pub mod panel;
pub mod state;
