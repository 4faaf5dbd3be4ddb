//! The window.

pub mod display;
pub mod theme;
