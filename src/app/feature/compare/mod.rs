//! Two doses compared: sides, gamma criteria, figures, and the views of a pair.

pub mod panel;
pub mod state;
pub mod view;
