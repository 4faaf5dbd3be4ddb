//! The second check of a plan: what is asked, its run, and its answer.

pub mod jobs;
pub mod panel;
pub mod state;
