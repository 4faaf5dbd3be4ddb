//! The window.

pub mod display;
pub mod offscreen;
pub mod render;
pub mod theme;
pub mod view;
