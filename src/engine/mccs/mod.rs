//! Monte Carlo convolution/superposition: the dose of a plan's beams together.

mod alias;
pub mod bench;
mod check;
mod cpu;
mod cuda;
mod heads;
mod job;
mod part;
mod philox;
pub(crate) mod request;
mod rows;
pub(crate) mod selftest;
mod shared;
mod simulation;
mod tables;
pub(crate) mod tally;

use crate::cuda::Failure;
use crate::dispatch::else_cpu;
use crate::dose::DoseError;
use crate::wgpu::WgpuError;
use crate::{Compute, JobControl};
pub use job::FINAL_PERCENT;
use job::{Job, Runner};
pub use part::{OfPartsError, PartError, PartTally, RunPart};
pub use request::{BATCH, DIRECTIONS, MccsDose, MccsRequest, Next, Until, Variant};
use shared::Shared;

/// As [`refine_over`], on one device.
///
/// # Errors
/// Errors of [`refine_over`].
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
/// The first of several cards runs all of it where another fails, else the CPU does, and the receipt says why.
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
        Compute::Cuda(card) => Some(cuda::Histories::new(card)),
        Compute::Cpu | Compute::Wgpu(_) => None,
    });
    let Some(first) = cards.next() else {
        let dose = run(request, &mut cpu::Histories::default(), control, show)?;
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
        let dose = run(request, &mut cpu::Histories::default(), control, show)?;
        Ok(MccsDose { receipt: dose.receipt.instead_of_a_card(&why), ..dose })
    })
}

/// The sums of a part of a request's histories. Where a card fails, the CPU runs the part.
///
/// # Errors
/// [`OfPartsError`]; among them more parts than the run has batches.
pub fn part(
    request: &MccsRequest,
    part: RunPart,
    devices: &[Compute],
    control: &JobControl,
) -> Result<PartTally, OfPartsError> {
    let mut cards = devices.iter().filter_map(|device| match device {
        Compute::Cuda(card) => Some(cuda::Histories::new(card)),
        Compute::Cpu | Compute::Wgpu(_) => None,
    });
    let mut job = job(request, control)?;
    job.check_part(part)?;
    let Some(first) = cards.next() else {
        return Ok(job.part(part, &mut cpu::Histories::default(), control)?);
    };
    let by_cards: Result<_, Failure<_>> = job.part(part, &mut Shared::new(first, cards), control);
    Ok(else_cpu(by_cards, |why| {
        tracing::warn!("part {part} of the histories on the CPU: {why}");
        job.part(part, &mut cpu::Histories::default(), control)
    })?)
}

/// The dose of all parts of a request's histories, as one run gives it, to the bit: parts from cards are averaged on a card.
///
/// # Errors
/// [`OfPartsError`]; among them parts that are not all of this request's.
pub fn dose_of_parts(
    request: &MccsRequest,
    parts: &PartTally,
    device: &Compute,
    control: &JobControl,
) -> Result<MccsDose, OfPartsError> {
    let mut job = job(request, control)?;
    job.check_parts(parts)?;
    let dose = match device {
        Compute::Cuda(card) if parts.on_a_card() => {
            let by_card: Result<_, Failure<_>> = job.of_parts(parts, &mut cuda::Histories::new(card));
            else_cpu(by_card, |why| {
                let dose = job.of_parts(parts, &mut cpu::Histories::default())?;
                Ok(MccsDose { receipt: dose.receipt.instead_of_a_card(&why), ..dose })
            })
        }
        _ => job.of_parts(parts, &mut cpu::Histories::default()),
    };
    Ok(dose?)
}

/// Monitor units are those of collapsed cone on the CPU, so that every runner has the same.
fn job<'a>(request: &'a MccsRequest, control: &JobControl) -> Result<Job<'a>, DoseError> {
    Job::new(request, &|machine| crate::cccs::cpu::monitor_unit(machine, control), control)
}

/// All of a request by one runner.
fn run<R: Runner>(
    request: &MccsRequest,
    runner: &mut R,
    control: &JobControl,
    show: &mut dyn FnMut(&MccsDose) -> Next,
) -> Result<MccsDose, R::Error> {
    job(request, control)?.refine(runner, control, show)
}

#[cfg(test)]
mod tests;
