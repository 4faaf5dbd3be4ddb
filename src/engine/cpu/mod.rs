//! The jobs on the CPU. Plain forms that read as the papers are in `reference`.

pub mod cccs;
mod columns;
pub mod drr;
pub mod drr_gradient;
pub mod gamma;
pub mod influence;
pub mod mccs;
pub mod path;
