//! The window. Its layers (ARCHITECTURE.md): the [`state`] at the bottom, [`command`]s that change it, the jobs that
//! compute its results, views, panels and workspaces that read it, and [`window`], which runs a frame.

pub mod command;
mod edits;
pub mod feature;
pub mod frames;
pub mod gather;
pub mod jobs;
mod keys;
mod kit;
pub mod panel;
mod picture;
pub mod render;
mod run;
pub mod state;
pub mod view;
pub mod window;
pub mod workspace;

pub use picture::{Compared, Shot, ShotError, picture};
pub use run::{RunError, has_display, run};
pub use window::{
    App, CompareOptions, Dialog, DoseWord, OneView, Options, Picked, RegisterOptions,
};
