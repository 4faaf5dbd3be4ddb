//! The jobs on NVIDIA cards, through the driver alone, which is looked for when asked for: without one the program runs
//! on the CPU.
//!
//! * [`cards`] lists the cards; [`Device::open`] opens one and leaves it open.
//! * [`Device::lock`] is one job's hold on a card: memory from a pool that gives used blocks again, volumes kept by
//!   their identity, constants, launches checked against the kernels' declarations, copies, clocks.
//! * Kernels are `kernels/*.cu`; `python3 .ci/compile_kernels.py` makes the PTX that [`kernels`] embeds.
//! * Everything that can fail is a [`CudaError`]; no job panics for a driver's sake.

pub mod cccs;
mod device;
mod download;
pub mod drr;
pub mod drr_gradient;
mod error;
pub mod gamma;
mod grid;
pub mod influence;
mod kernels;
pub mod mccs;
mod memory;
mod pages;
pub mod path;
mod similarity;
mod staging;
mod transfer;

pub use device::{Arg, Card, CardLock, Device, Shape, cards, int, opened};
pub use error::{CudaError, Failure};
pub use kernels::signature;
pub use memory::{Buffer, Resident};
pub use transfer::{Clock, ReadyEvent};
