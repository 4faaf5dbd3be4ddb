//! Any graphics card, for the live jobs, in WGSL through wgpu (Vulkan, Metal, DirectX 12).
//!
//! Kernels are `kernels/engine_*.wgsl`: plain forms of the algorithms of the CPU in single precision,
//! without what only some cards have. Sums are of integers or in a fixed order, so that equal runs have equal bits.
//!
//! * [`adapters`] lists the devices; [`Device::open`] opens one and leaves it open.
//! * [`Device::session`] is one job's hold on it: memory checked against the device's limits, dispatches cut into slabs ([`pace`])
//!   because drivers reset a device that is long in one, clocks, copies.
//! * Everything that can fail is a [`WgpuError`]: errors and the loss of a device arrive in [`faults`] and end the job.

mod adapter;
mod buffer;
mod clock;
mod device;
mod error;
mod faults;
pub(crate) mod kernel;
mod needs;
mod pace;
mod session;

pub use adapter::{Adapter, adapters, listed};
pub use buffer::{Bound, Buffer};
pub use device::{Device, opened};
pub use error::{Failure, WgpuError};
pub use kernel::Kernel;
pub use session::Session;
