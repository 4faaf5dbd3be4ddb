//! Monte Carlo convolution/superposition: the dose of a plan's beams together.

use super::cuda::Failure;
use super::dispatch::else_cpu;
use super::jobs::cccs::DoseError;
pub use super::jobs::mccs::{BATCH, DIRECTIONS, FINAL_PERCENT, MccsDose, MccsRequest, Next, Until, Variant};
use super::jobs::mccs::{Job, Runner, Shared};
use super::wgpu::WgpuError;
use super::{Compute, JobControl, cpu, cuda};

/// As [`refine_over`], on one device.
///
/// # Errors
/// Those of [`refine_over`].
pub fn refine(
    request: &MccsRequest,
    device: &Compute,
    control: &JobControl,
    show: &mut dyn FnMut(&MccsDose) -> Next,
) -> Result<MccsDose, DoseError> {
    refine_over(request, std::slice::from_ref(device), control, show)
}

/// Runs histories until the request is met: on the CPU, or distributed over cards, whose number does not change a bit of
/// the dose. `show` is given the dose as it improves, from the calling thread; its answer stops the run and keeps the dose.
/// Where a card fails, the first of several runs all of it, else the CPU, and the receipt says why.
///
/// # Errors
/// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
pub fn refine_over(
    request: &MccsRequest,
    devices: &[Compute],
    control: &JobControl,
    show: &mut dyn FnMut(&MccsDose) -> Next,
) -> Result<MccsDose, DoseError> {
    let mut cards = devices.iter().filter_map(|device| match device {
        Compute::Cuda(card) => Some(cuda::mccs::Histories::new(card)),
        Compute::Cpu | Compute::Wgpu(_) => None,
    });
    let Some(first) = cards.next() else {
        let dose = run(request, &mut cpu::mccs::Histories::default(), control, show)?;
        if matches!(devices, [Compute::Wgpu(_), ..]) {
            let why = WgpuError::NoForm { job: "Monte Carlo" };
            return Ok(MccsDose { receipt: dose.receipt.instead_of_a_card(&why), ..dose });
        }
        return Ok(dose);
    };
    let by_cards: Result<_, Failure<_>> = run(request, &mut Shared::new(first, cards), control, show);
    else_cpu(by_cards, |why| {
        if devices.len() > 1 {
            let dose = refine(request, &devices[0], control, show)?;
            let why = format!("not shared by {} devices: {why}", devices.len());
            return Ok(MccsDose { receipt: dose.receipt.with_warning(why), ..dose });
        }
        let dose = run(request, &mut cpu::mccs::Histories::default(), control, show)?;
        Ok(MccsDose { receipt: dose.receipt.instead_of_a_card(&why), ..dose })
    })
}

/// All of a request by one runner. Monitor units are those of collapsed cone on the CPU, so that every runner has the same.
fn run<R: Runner>(
    request: &MccsRequest,
    runner: &mut R,
    control: &JobControl,
    show: &mut dyn FnMut(&MccsDose) -> Next,
) -> Result<MccsDose, R::Error> {
    Job::new(request, &|machine| cpu::cccs::monitor_unit(machine, control), control)?
        .refine(runner, control, show)
}

#[cfg(test)]
mod tests;
