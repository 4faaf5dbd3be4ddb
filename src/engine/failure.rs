//! Why a device gave no answer, whatever kind of device.

use crate::Cancelled;
use crate::dose::DoseError;
use crate::gamma::GammaError;

/// Why a device whose errors are `D` gave no answer to a job that fails with `E` on every device.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure<E, D> {
    /// No device has one: the request is at fault, or it was cancelled.
    Job(E),
    /// The card is at fault: the CPU has one.
    Card(D),
}

impl<E, D> Failure<E, D> {
    /// The same with another type of the device's error.
    pub fn map_card<F>(self, into: impl FnOnce(D) -> F) -> Failure<E, F> {
        match self {
            Self::Job(error) => Failure::Job(error),
            Self::Card(error) => Failure::Card(into(error)),
        }
    }
}

impl<E: From<Cancelled>, D> From<Cancelled> for Failure<E, D> {
    fn from(cancelled: Cancelled) -> Self {
        Self::Job(cancelled.into())
    }
}

impl<D> From<DoseError> for Failure<DoseError, D> {
    fn from(error: DoseError) -> Self {
        Self::Job(error)
    }
}

impl<D> From<GammaError> for Failure<GammaError, D> {
    fn from(error: GammaError) -> Self {
        Self::Job(error)
    }
}
