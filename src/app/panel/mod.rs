//! The panels round the views. Each reads the [`State`](super::state::State) and pushes
//! [`Command`](super::command::Command)s; no panel changes the state itself.

pub mod about;
pub mod guide;
mod history;
pub mod inspector;
pub mod jobs;
mod log;
pub mod notices;
pub mod removal;
pub mod replace;
pub mod status;
pub mod toolbar;
pub mod tree;
pub mod unsaved;
