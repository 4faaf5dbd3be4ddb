//! Contours drawn by hand: the brush, its strokes, and the layer that shows them.

pub mod command;
pub mod edits;
pub mod panel;
pub mod state;
pub mod view;
