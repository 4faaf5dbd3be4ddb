//! The device of a job: the user's choice, resolved on this machine.

use super::Cancelled;
use super::cache::Cache;
use super::cuda::{self, CudaError};
use super::failure::Failure;
use super::wgpu::{self, WgpuError};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Device for a job, as a user says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The fastest by a measurement; all cards of CUDA where it is one and the work is worth it.
    #[default]
    Auto,
    Cpu,
    /// Every card: the beams of a plan, or the histories of Monte Carlo, are spread over them; another job has the first.
    AllCuda,
    /// The card of that number alone.
    Cuda(usize),
    /// Any graphics card, through Vulkan, Metal or DirectX 12: the preferred one, or one by its number.
    Wgpu(Option<usize>),
}

/// Why a device gave no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DeviceError {
    #[error(transparent)]
    Cuda(#[from] CudaError),
    #[error(transparent)]
    Wgpu(#[from] WgpuError),
    #[error("a case of {job} has no answer: {why}; this is a bug, please report it")]
    NoAnswer { job: &'static str, why: String },
    #[error(
        "the dose of a small phantom by {device} is {percent:.1} % of its maximum off the CPU's; run beamsight selftest, and \
         choose another device"
    )]
    Wrong { device: DeviceChoice, percent: f64 },
    #[error("{device} gives no dose of a small phantom ({why})")]
    Driver { device: DeviceChoice, why: String },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl DeviceError {
    /// A case of a bench or of the selftest that has no answer on any device.
    pub(super) fn case(job: &'static str, why: impl fmt::Display) -> Self {
        Self::NoAnswer {
            job,
            why: why.to_string(),
        }
    }
}

impl<E> From<DeviceError> for Failure<E, DeviceError> {
    fn from(error: DeviceError) -> Self {
        Self::Card(error)
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::AllCuda),
            "wgpu" => Ok(Self::Wgpu(None)),
            _ => {
                let numbered = word
                    .split_once(':')
                    .and_then(|(kind, number)| Some((kind, number.parse().ok()?)));
                match numbered {
                    Some(("cuda", ordinal)) => Ok(Self::Cuda(ordinal)),
                    Some(("wgpu", ordinal)) => Ok(Self::Wgpu(Some(ordinal))),
                    _ => Err("it is auto, cpu, cuda, cuda:N, wgpu or wgpu:N".to_owned()),
                }
            }
        }
    }
}

/// The word of `--device`.
impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::AllCuda => f.write_str("cuda"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
            Self::Wgpu(None) => f.write_str("wgpu"),
            Self::Wgpu(Some(n)) => write!(f, "wgpu:{n}"),
        }
    }
}

/// A device of this machine, ready.
#[derive(Clone, Debug)]
pub enum Compute {
    Cpu,
    Cuda(Arc<cuda::Device>),
    Wgpu(Arc<wgpu::Device>),
}

/// The error of [`card_failure`].
static FAILURE: OnceLock<DeviceError> = OnceLock::new();

/// The first reason in this run of the program why the CPU was taken although there is a card: by [`DeviceChoice::Auto`], or by a job
/// without a receipt to say so.
pub fn card_failure() -> Option<&'static DeviceError> {
    FAILURE.get()
}

/// Notes that a job runs without the card, for [`card_failure`].
pub fn note_card_failure(what: &str, error: impl Into<DeviceError>) {
    let error = error.into();
    tracing::warn!("{what} on the CPU: {error}");
    let _ = FAILURE.set(error);
}

/// Size of the engine's caches, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Caches of this process.
    pub host_bytes: usize,
    /// Caches of all cards.
    pub card_bytes: usize,
}

/// Present size of the engine's caches.
pub fn memory(cache: &Cache) -> Memory {
    let by_cuda: usize = cuda::opened().iter().map(|card| card.cached_bytes()).sum();
    let by_wgpu: usize = wgpu::opened().iter().map(|card| card.cached_bytes()).sum();
    Memory {
        host_bytes: cache.bytes(),
        card_bytes: by_cuda + by_wgpu,
    }
}

/// Gives all of [`memory`] back: for a case that is closed. Waits for the jobs that have cards, so it is no call for the window's
/// own thread.
pub fn empty_caches(cache: &Cache) {
    cache.empty();
    cuda::opened().iter().for_each(|card| card.empty());
    wgpu::opened().iter().for_each(|card| card.empty());
}

impl Compute {
    /// Refuses a graphics device for a job that has no form for it.
    ///
    /// # Errors
    /// [`WgpuError::NoForm`].
    pub(super) fn with_form(&self, job: &'static str) -> Result<&Self, DeviceError> {
        match self {
            Self::Wgpu(_) => Err(WgpuError::NoForm { job }.into()),
            Self::Cpu | Self::Cuda(_) => Ok(self),
        }
    }

    /// Whether a card computes, of either kind.
    pub fn is_card(&self) -> bool {
        !matches!(self, Self::Cpu)
    }
}

impl fmt::Display for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu ({} threads)", rayon::current_num_threads()),
            Self::Cuda(device) => device.card().fmt(f),
            Self::Wgpu(device) => device.adapter().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::Cuda(3)));
        assert_eq!("cuda".parse(), Ok(DeviceChoice::AllCuda));
        assert_eq!("cuda:0".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("wgpu".parse(), Ok(DeviceChoice::Wgpu(None)));
        assert_eq!("wgpu:2".parse(), Ok(DeviceChoice::Wgpu(Some(2))));
        for word in ["auto", "cpu", "cuda", "cuda:3", "wgpu", "wgpu:2"] {
            assert_eq!(
                word.parse::<DeviceChoice>()
                    .map(|choice| choice.to_string()),
                Ok(word.to_owned())
            );
        }
        assert!(
            "wgpu:".parse::<DeviceChoice>().is_err() && "wgpux".parse::<DeviceChoice>().is_err()
        );
        assert!(
            "cuda:x".parse::<DeviceChoice>().is_err() && "gpu".parse::<DeviceChoice>().is_err()
        );
    }
}
