//! The jobs over a patient's voxels, each written once per device: `cpu/` is the reference.

pub mod cpu;
mod watch;

pub use watch::{Stopped, Watch};
