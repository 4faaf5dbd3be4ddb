//! The CT: its table of HU, and what lies beyond the table.

pub mod panel;
pub mod state;
