//! The jobs over a patient's voxels, each written once per device: `cpu/` is the reference.

pub mod bench;
pub mod cccs;
pub mod cpu;
pub mod cuda;
mod device;
mod digest;
pub mod drr;
pub mod gamma;
pub mod mccs;
pub mod path;
mod phantom;
pub mod selftest;
pub mod slopes;
mod watch;

pub use cuda::CudaError;
pub use device::{Compute, Wish, card_trouble, note_card_trouble};
pub use watch::{Stopped, Watch};
