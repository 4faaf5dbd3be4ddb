//! The device of a job: the user's choice, resolved on this machine.

use super::Cancelled;
use super::cache::Cache;
use super::cuda::{self, CudaError};
use super::jobs::failure::Failure;
use super::wgpu::{self, WgpuError};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// Where to compute, as a user says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A card where there is one, else the CPU; all cards where the work is worth it.
    #[default]
    Auto,
    Cpu,
    /// Every card: the beams of a plan, or the histories of Monte Carlo, are spread over them; another job has the first.
    Cards,
    /// The card of that number alone.
    Cuda(usize),
    /// Any graphics card, through Vulkan, Metal or DirectX 12: the preferred one, or that of a number.
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
    Case { job: &'static str, why: String },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl DeviceError {
    /// A case of a bench or of the selftest that has no answer on any device.
    pub(super) fn case(job: &'static str, why: impl fmt::Display) -> Self {
        Self::Case { job, why: why.to_string() }
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
            "cuda" => Ok(Self::Cards),
            "wgpu" => Ok(Self::Wgpu(None)),
            _ => {
                let numbered = |kind: &str| word.strip_prefix(kind)?.strip_prefix(':')?.parse().ok();
                let cuda = numbered("cuda").map(Self::Cuda);
                cuda.or_else(|| numbered("wgpu").map(|n| Self::Wgpu(Some(n))))
                    .ok_or_else(|| "it is auto, cpu, cuda, cuda:N, wgpu or wgpu:N".to_owned())
            }
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

/// The error of [`card_trouble`].
static TROUBLE: OnceLock<DeviceError> = OnceLock::new();

/// The first reason in this run of the program why the CPU was taken although there is a card: by [`DeviceChoice::Auto`], or by a job
/// without a receipt to say so.
pub fn card_trouble() -> Option<&'static DeviceError> {
    TROUBLE.get()
}

/// Notes that a job runs without the card, for [`card_trouble`].
pub fn note_card_trouble(what: &str, error: impl Into<DeviceError>) {
    let error = error.into();
    tracing::warn!("{what} on the CPU: {error}");
    let _ = TROUBLE.set(error);
}

/// Size of the engine's caches, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Of this process.
    pub host_bytes: usize,
    /// Of all cards.
    pub card_bytes: usize,
}

/// Present size of the engine's caches.
pub fn memory(cache: &Cache) -> Memory {
    let by_cuda: usize = cuda::opened().iter().map(|card| card.cached_bytes()).sum();
    let by_wgpu: usize = wgpu::opened().iter().map(|card| card.cached_bytes()).sum();
    Memory { host_bytes: cache.bytes(), card_bytes: by_cuda + by_wgpu }
}

/// Gives all of [`memory`] back: for a case that is closed. Waits for the jobs that have cards, so it is no call for the window's
/// own thread.
pub fn empty_caches(cache: &Cache) {
    cache.empty();
    cuda::opened().iter().for_each(|card| card.empty());
    wgpu::opened().iter().for_each(|card| card.empty());
}

impl DeviceChoice {
    /// The device that will compute. Opens a card at the first asking, which takes some tenths of a second.
    ///
    /// # Errors
    /// Where a card is asked for and there is none of that number, or it cannot be opened. `Auto` then takes the CPU.
    pub fn resolve(self) -> Result<Compute, DeviceError> {
        match self {
            Self::Cpu => Ok(Compute::Cpu),
            Self::Cards => Ok(Compute::Cuda(cuda::Device::open(0)?)),
            Self::Cuda(ordinal) => Ok(Compute::Cuda(cuda::Device::open(ordinal)?)),
            Self::Wgpu(ordinal) => Ok(Compute::Wgpu(wgpu::Device::open(ordinal)?)),
            Self::Auto => Ok(match cuda::Device::open(0) {
                Ok(device) => Compute::Cuda(device),
                Err(error @ (CudaError::NoDriver | CudaError::NoCard)) => {
                    tracing::info!("computing on the CPU: {error}");
                    Compute::Cpu
                }
                Err(error) => {
                    note_card_trouble("computing", error);
                    Compute::Cpu
                }
            }),
        }
    }

    /// Whether doses are computed by a card, of either kind; no card is opened.
    pub fn is_for_a_card(self) -> bool {
        self.is_for_cuda() || matches!(self, Self::Wgpu(_))
    }

    /// Whether the jobs that only CUDA has a form of are computed by a card; no card is opened.
    pub fn is_for_cuda(self) -> bool {
        let wants = matches!(self, Self::Auto | Self::Cards | Self::Cuda(_));
        wants && cuda::cards().is_ok_and(|cards| !cards.is_empty())
    }

    /// The devices of [`Self::spread_if`], ready.
    ///
    /// # Errors
    /// As [`Self::resolve`]. `Auto` makes do with less where not every card can be opened.
    pub fn resolve_all(self, many: bool) -> Result<Vec<Compute>, DeviceError> {
        let all: Result<Vec<_>, _> = self.spread_if(many).into_iter().map(Self::resolve).collect();
        if self == Self::Auto && all.is_err() { self.resolve().map(|one| vec![one]) } else { all }
    }

    /// As [`Self::spread`], but `Auto` is one device where the work is not `many` jobs.
    pub fn spread_if(self, many: bool) -> Vec<Self> {
        if self == Self::Auto && !many { vec![self] } else { self.spread() }
    }

    /// The same wish for each device over which jobs that do not depend on each other are spread; one or more.
    pub fn spread(self) -> Vec<Self> {
        match (self, cuda::cards()) {
            (Self::Auto | Self::Cards, Ok(cards)) if cards.len() > 1 => {
                cards.iter().map(|card| Self::Cuda(card.ordinal)).collect()
            }
            _ => vec![self],
        }
    }
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
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cards));
        assert_eq!("cuda:0".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("wgpu".parse(), Ok(DeviceChoice::Wgpu(None)));
        assert_eq!("wgpu:2".parse(), Ok(DeviceChoice::Wgpu(Some(2))));
        assert!("wgpu:".parse::<DeviceChoice>().is_err() && "wgpux".parse::<DeviceChoice>().is_err());
        assert!("cuda:x".parse::<DeviceChoice>().is_err() && "gpu".parse::<DeviceChoice>().is_err());
    }

    #[test]
    fn what_names_one_device_is_not_spread() {
        for one in [DeviceChoice::Cpu, DeviceChoice::Cuda(1), DeviceChoice::Wgpu(None)] {
            assert_eq!(one.spread(), [one]);
        }
        let cards = cuda::cards().map_or(0, <[cuda::Card]>::len);
        assert_eq!(DeviceChoice::Cards.spread().len(), cards.max(1));
        assert_eq!(DeviceChoice::Auto.spread().len(), cards.max(1));
        assert_eq!(DeviceChoice::Cards.spread_if(false).len(), cards.max(1));
        assert_eq!(DeviceChoice::Auto.spread_if(false), [DeviceChoice::Auto]);
    }

    #[test]
    fn auto_always_finds_a_device() {
        assert!(DeviceChoice::Auto.resolve().is_ok());
        assert!(DeviceChoice::Auto.resolve_all(true).is_ok_and(|all| !all.is_empty()));
        assert!(matches!(DeviceChoice::Cpu.resolve_all(true).as_deref(), Ok([Compute::Cpu])));
        assert!(matches!(DeviceChoice::Cpu.resolve(), Ok(Compute::Cpu)));
        let absent = DeviceChoice::Cuda(1000).resolve().expect_err("no machine has so many");
        assert!(
            absent.to_string().contains("--device cpu") || absent.to_string().contains("this machine has")
        );
    }
}
