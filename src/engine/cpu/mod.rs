//! The jobs on the CPU: the reference, readable as the papers.

pub mod cccs;
pub mod path;
