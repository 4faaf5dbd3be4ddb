//! The first page: recent cases, news, and the tour.

pub mod panel;
pub mod state;
