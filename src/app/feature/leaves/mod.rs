//! Leaves that deliver fluence maps: what they keep of the maps, and the delivery figures.

pub mod edits;
pub mod panel;
pub mod state;
