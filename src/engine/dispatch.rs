//! Dispatch of every job: a card where one was chosen, the CPU where the card fails, with a note in the receipt.

use super::dose::BeamDose;
use super::failure::Failure;
use super::wgpu::WgpuError;
use super::{Compute, DeviceError, cuda, wgpu};
use case::Receipt;
use std::sync::Arc;

/// The answer of a job, with its receipt.
pub(super) trait HasReceipt {
    fn receipt(&mut self) -> &mut Receipt;
}

impl HasReceipt for BeamDose {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// Answers on a device. Where a card of either kind fails, the CPU answers and the receipt says why.
///
/// # Errors
/// The job's own: no device has an answer, or it was cancelled.
pub(super) fn answer<A: HasReceipt, E, C: Into<cuda::Failure<E>>, W: Into<wgpu::Failure<E>>>(
    device: &Compute,
    on_cuda: impl FnOnce(&cuda::Device) -> Result<A, C>,
    on_wgpu: impl FnOnce(&wgpu::Device) -> Result<A, W>,
    on_cpu: impl FnOnce() -> Result<A, E>,
) -> Result<A, E> {
    let by_card = match device {
        Compute::Cpu => return on_cpu(),
        Compute::Cuda(card) => {
            on_cuda(card).map_err(|failure| failure.into().map_card(DeviceError::Cuda))
        }
        Compute::Wgpu(card) => {
            on_wgpu(card).map_err(|failure| failure.into().map_card(DeviceError::Wgpu))
        }
    };
    else_cpu(by_card, |why| {
        let mut answer = on_cpu()?;
        let receipt = answer.receipt();
        *receipt = Arc::unwrap_or_clone(receipt.instead_of_a_card(&why));
        Ok(answer)
    })
}

/// The form for graphics devices of a job that has none.
pub(super) fn no_form<A>(job: &'static str) -> impl FnOnce(&wgpu::Device) -> Result<A, WgpuError> {
    move |_| Err(WgpuError::NoForm { job })
}

/// The card's answer, or where the card failed the CPU's, which receives the reason.
///
/// # Errors
/// The job's own.
pub fn else_cpu<A, E, D, F: Into<Failure<E, D>>>(
    by_card: Result<A, F>,
    on_cpu: impl FnOnce(D) -> Result<A, E>,
) -> Result<A, E> {
    match by_card.map_err(F::into) {
        Ok(answer) => Ok(answer),
        Err(Failure::Job(error)) => Err(error),
        Err(Failure::Card(why)) => on_cpu(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cancelled, CudaError};

    #[test]
    fn only_a_card_at_fault_is_stood_in_for() {
        let ask = |by_card: Result<u8, CudaError>| {
            else_cpu::<u8, Cancelled, CudaError, _>(by_card, |_| Ok(2))
        };
        assert_eq!(ask(Ok(1)), Ok(1));
        assert_eq!(ask(Err(CudaError::NoCard)), Ok(2));
        assert_eq!(ask(Err(Cancelled.into())), Err(Cancelled));
    }
}
