//! The jobs over a patient's voxels: a folder each, written once per device (`cpu` is the reference). ARCHITECTURE.md has the floors.

mod automatic;
pub mod bench;
mod cache;
pub mod cccs;
pub mod cuda;
mod device;
mod digest;
mod dispatch;
pub mod dose;
pub mod drr;
pub mod drr_gradient;
mod engines;
mod failure;
pub mod gamma;
pub mod histories;
mod in_turn;
pub mod influence;
mod job_control;
mod kernel_size;
mod lanes;
pub mod large_pages;
pub mod mc;
pub mod mccs;
pub mod path;
pub mod phantom;
mod random;
mod run_histories;
pub mod selftest;
pub mod wgpu;

pub use automatic::{Measured, automatic_order};
pub use cache::Cache;
pub use cuda::CudaError;
pub use device::{
    Compute, DeviceChoice, DeviceError, Memory, card_failure, empty_caches, memory,
    note_card_failure,
};
pub use digest::Digest;
pub use dispatch::else_cpu;
pub use engines::{PlanRequest, beam_dose};
pub use job_control::{Cancelled, JobControl};
pub use random::Random;
pub use wgpu::WgpuError;

#[cfg(test)]
#[path = "../../tests/common/skip.rs"]
mod skip;

/// Every kernel for graphics devices, by job.
#[cfg(test)]
pub(crate) const WGSL_KERNELS: [&[&wgpu::Kernel]; 4] = [
    cccs::wgpu::KERNELS,
    gamma::wgpu::KERNELS,
    influence::wgpu::KERNELS,
    path::wgpu::KERNELS,
];
