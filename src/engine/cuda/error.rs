//! Errors of a card. `dispatch` turns every one of them into an answer of the CPU with a note.

use crate::Cancelled;
use crate::failure;
use cudarc::driver::{DriverError, sys::CUresult};
use thiserror::Error;

/// Why a card gave no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CudaError {
    #[error(
        "no NVIDIA driver is installed (libcuda is not found); install the card's driver, or use --device cpu"
    )]
    NoDriver,
    #[error(
        "the NVIDIA driver is for CUDA {0}.{1}, and 12.0 or later is needed; update the driver, or use --device cpu"
    )]
    OldDriver(i32, i32),
    #[error("the NVIDIA driver finds no card; see nvidia-smi, or use --device cpu")]
    NoCard,
    #[error("there is no cuda:{asked}; this machine has {count}, counted from 0")]
    NoSuchCard { asked: usize, count: usize },
    #[error(
        "{device} has no memory for {asked_mib} MiB more ({free_mib} of {total_mib} MiB are free); close other programs \
         that use it, or use --device cpu"
    )]
    OutOfMemory {
        device: String,
        asked_mib: u64,
        free_mib: u64,
        total_mib: u64,
    },
    #[error("{what} is more than a card is given ({most}); use --device cpu")]
    TooLarge { what: String, most: String },
    #[error(
        "{device} failed while {doing}: {code}; look for NVRM in the system log, or use --device cpu"
    )]
    Failed {
        device: String,
        doing: String,
        code: String,
    },
    #[error(
        "kernel {kernel} is not called as it is declared: {what}; this is a bug, please report it"
    )]
    Call { kernel: String, what: String },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl CudaError {
    /// The driver's error for a call.
    pub(super) fn failed(device: &str, doing: &str, error: DriverError) -> Self {
        Self::Failed {
            device: device.to_owned(),
            doing: doing.to_owned(),
            code: words(error),
        }
    }
}

/// Why a card gave no answer to a job that fails with `E` on every device.
pub type Failure<E> = failure::Failure<E, CudaError>;

impl<E: From<Cancelled>> From<CudaError> for Failure<E> {
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::Cancelled(cancelled) => Self::Job(cancelled.into()),
            other => Self::Card(other),
        }
    }
}

/// Whether the driver had no memory left.
pub(crate) fn is_out_of_memory(error: DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

fn words(error: DriverError) -> String {
    let said = error
        .error_string()
        .ok()
        .and_then(|text| text.to_str().ok().map(str::to_owned));
    said.unwrap_or_else(|| format!("{:?}", error.0))
}
