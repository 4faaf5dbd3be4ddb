//! Widgets, forms, plots, colours and fonts that panels and views are made of; no feature stands here.

mod colour;
mod drag;
mod form;
mod plot;
mod progress;
pub mod theme;
mod widget;

pub use colour::colour_button;
pub use drag::{Pointer, dragged_number};
pub use form::{choose_engine, field, fields, remarks, title};
pub use plot::{GRID, mark_text, marks, plot_line};
pub use progress::progress;
pub use widget::{
    REFUSED, angle, held, lasting_menu, number, refuses, row, section, small_menu, stated,
    status_chip, status_with_caveats, whole,
};
