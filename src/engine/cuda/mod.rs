//! NVIDIA cards through the driver library alone, which is loaded at the first request: without it the program runs on the CPU.
//!
//! * [`cards`] lists the cards; [`Device::open`] opens one and leaves it open.
//! * [`Device::lock`] is one job's hold on a card: memory from a pool that gives used blocks again, volumes kept by
//!   their identity, constants, launches checked against the kernels' declarations, copies, clocks.
//! * Kernels are `kernels/*.cu`; `python3 .ci/compile_kernels.py` makes the PTX that [`kernels`] embeds.
//! * Everything that can fail is a [`CudaError`]; no job panics for a driver's sake.

mod device;
mod download;
pub(crate) mod error;
pub(crate) mod grid;
mod handed;
pub(crate) mod head;
pub(crate) mod kernels;
pub(crate) mod memory;
mod on_card;
pub(crate) mod pages;
mod staging;
mod tally;
mod transfer;

pub use device::{Arg, Card, CardLock, Device, Shape, cards, int, opened};
pub use download::Download;
pub use error::{CudaError, Failure};
pub use handed::Handed;
pub use kernels::signature;
pub use memory::{Buffer, Resident};
pub(crate) use on_card::{CardSimulation, CardWork, OnCard};
pub(crate) use tally::CardTally;
pub use transfer::{Clock, ReadyEvent};
