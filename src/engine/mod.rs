//! The jobs over a patient's voxels, each written once per device: `cpu/` is the reference.

pub mod cccs;
pub mod cpu;
pub mod path;
mod watch;

pub use watch::{Stopped, Watch};
