//! The jobs on the CPU: the reference, readable as the papers.

pub mod cccs;
mod columns;
pub mod drr;
pub mod gamma;
pub mod mccs;
pub mod path;
pub mod slopes;
