//! Leaves that deliver fluence maps: their job, what they keep of the maps, and the delivery figures.

pub mod edits;
pub mod jobs;
pub mod panel;
pub mod state;
