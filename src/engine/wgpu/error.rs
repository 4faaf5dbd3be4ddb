//! Errors of a graphics device. `dispatch` turns every one of them into an answer of the CPU with a note.

use crate::Cancelled;
use crate::failure;
use thiserror::Error;

/// Why a graphics device gave no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WgpuError {
    #[error(
        "no graphics device that computes is found (Vulkan, Metal or DirectX 12); install the card's driver, or use --device cpu"
    )]
    NoAdapter,
    #[error(
        "all graphics devices of this machine are programs on the CPU ({names}), which are slower than --device cpu; \
         name one to have it all the same, as --device wgpu:0"
    )]
    OnlySoftware { names: String },
    #[error("there is no wgpu:{asked}; this machine has {count}, counted from 0")]
    NoSuchAdapter { asked: usize, count: usize },
    #[error("{device} cannot be opened: {why}; update its driver, or use --device cpu")]
    Refused { device: String, why: String },
    #[error(
        "{device} has {has} {limit}, and computing needs {least}; update its driver, or use --device cpu"
    )]
    Lacks {
        device: String,
        limit: &'static str,
        least: u64,
        has: u64,
    },
    #[error(
        "{device} takes {most_mib} MiB {unit}, and {what} is {asked_mib} MiB; use coarser voxels, or --device cpu"
    )]
    TooLarge {
        device: String,
        what: String,
        unit: &'static str,
        asked_mib: u64,
        most_mib: u64,
    },
    #[error(
        "{device} takes {most} workgroups along an axis, and {kernel} needs {asked}; use --device cpu"
    )]
    TooWide {
        device: String,
        kernel: &'static str,
        asked: u32,
        most: u32,
    },
    #[error(
        "{device} has no memory for {what} ({asked_mib} MiB); close other programs that use it, or use --device cpu"
    )]
    OutOfMemory {
        device: String,
        what: String,
        asked_mib: u64,
    },
    #[error(
        "{device} was lost while {doing}: {why}; look for its driver's reset in the system log, or use --device cpu"
    )]
    Lost {
        device: String,
        doing: String,
        why: String,
    },
    #[error(
        "{device} refuses a call while {doing}: {why}; this is a bug, please report it, and use --device cpu"
    )]
    Invalid {
        device: String,
        doing: String,
        why: String,
    },
    #[error("{job} has no form for graphics devices")]
    NoForm { job: &'static str },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Why a graphics device gave no answer to a job that fails with `E` on every device.
pub type Failure<E> = failure::Failure<E, WgpuError>;

impl<E: From<Cancelled>> From<WgpuError> for Failure<E> {
    fn from(error: WgpuError) -> Self {
        match error {
            WgpuError::Cancelled(cancelled) => Self::Job(cancelled.into()),
            other => Self::Card(other),
        }
    }
}
