//! The panels round the views. Each reads the [`State`](super::state::State) and pushes
//! [`Command`](super::command::Command)s; no panel changes the state itself.

pub mod about;
mod around;
mod beyond;
pub mod check;
mod colour;
pub mod compare;
pub mod dvh;
pub mod first_page;
pub mod goals;
mod guide;
mod history;
pub mod inspector;
pub mod jobs;
mod log;
pub mod machine_fit;
pub mod measure;
pub mod network;
pub mod notices;
mod outside;
pub mod patients;
pub mod plans;
mod plot;
mod progress;
mod recent;
pub mod references;
pub mod register;
pub mod removal;
pub mod replace;
pub mod status;
pub mod toolbar;
pub mod tour;
pub mod tree;
pub mod unsaved;
mod widget;

pub use beyond::hu_remarks;
pub use colour::colour_button;
pub use plot::plot_line;
pub use progress::progress;
pub use recent::recent;
pub use widget::{
    REFUSED, angle, held, lasting_menu, number, refuses, row, section, small_menu, stated, status_chip,
    status_with_caveats,
};
