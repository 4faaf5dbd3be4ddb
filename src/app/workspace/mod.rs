//! The workspaces: content of the middle of the window.

pub mod compare;
pub mod plan;
pub mod register;
pub mod room;
