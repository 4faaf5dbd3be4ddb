//! X-rays registered with the CT: images, poses, the search, and the radiograph view.

pub mod command;
pub mod edits;
pub mod jobs;
pub mod panel;
pub mod state;
pub mod view;
