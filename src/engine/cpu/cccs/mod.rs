//! Collapsed-cone convolution/superposition on the CPU: the reference.

pub mod angles;
pub mod block;
mod lanes;
pub mod superpose;
pub mod transport;
pub mod walk;
