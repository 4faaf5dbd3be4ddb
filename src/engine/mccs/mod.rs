//! Monte Carlo convolution/superposition: the dose of a plan's beams together.

pub mod bench;
mod check;
mod cpu;
mod cuda;
pub(crate) mod request;
mod rows;
pub(crate) mod selftest;
mod simulation;
mod tables;

use crate::cuda::Failure;
use crate::dispatch::else_cpu;
use crate::dose::{Clock, DoseError};
use crate::histories::{
    DoseGrid, HistoriesDose, Next, OfPartsError, PartTally, Run, RunPart, Runner, Shared,
};
use crate::wgpu::WgpuError;
use crate::{Compute, JobControl};
pub use request::{BATCH, DIRECTIONS, MccsRequest, Variant};
use simulation::Simulation;
use std::sync::Arc;

/// As [`refine_over`], on one device.
///
/// # Errors
/// Errors of [`refine_over`].
pub fn refine(
    request: &MccsRequest,
    device: &Compute,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
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
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    let mut cards = devices.iter().filter_map(|device| match device {
        Compute::Cuda(card) => Some(cuda::Histories::new(card)),
        Compute::Cpu | Compute::Wgpu(_) => None,
    });
    let Some(first) = cards.next() else {
        let dose = run(request, &mut cpu::Histories::default(), control, show)?;
        if matches!(devices, [Compute::Wgpu(_), ..]) {
            let why = WgpuError::NoForm { job: "Monte Carlo" };
            return Ok(HistoriesDose {
                receipt: dose.receipt.instead_of_a_card(&why),
                ..dose
            });
        }
        return Ok(dose);
    };
    let by_cards: Result<_, Failure<_>> =
        run(request, &mut Shared::new(first, cards), control, show);
    else_cpu(by_cards, |why| {
        if devices.len() > 1 {
            let dose = refine(request, &devices[0], control, show)?;
            let why = format!("not shared by {} devices: {why}", devices.len());
            return Ok(HistoriesDose {
                receipt: dose.receipt.with_warning(why),
                ..dose
            });
        }
        let dose = run(request, &mut cpu::Histories::default(), control, show)?;
        Ok(HistoriesDose {
            receipt: dose.receipt.instead_of_a_card(&why),
            ..dose
        })
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
    let mut run = run_of(request, control)?;
    run.check_part(part)?;
    let Some(first) = cards.next() else {
        return Ok(run.part(part, &mut cpu::Histories::default(), control)?);
    };
    let by_cards: Result<_, Failure<_>> = run.part(part, &mut Shared::new(first, cards), control);
    Ok(else_cpu(by_cards, |why| {
        tracing::warn!("part {part} of the histories on the CPU: {why}");
        run.part(part, &mut cpu::Histories::default(), control)
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
) -> Result<HistoriesDose, OfPartsError> {
    let mut run = run_of(request, control)?;
    run.check_parts(parts)?;
    let dose = match device {
        Compute::Cuda(card) if parts.on_a_card() => {
            let by_card: Result<_, Failure<_>> =
                run.of_parts(parts, &mut cuda::Histories::new(card));
            else_cpu(by_card, |why| {
                let dose = run.of_parts(parts, &mut cpu::Histories::default())?;
                Ok(HistoriesDose {
                    receipt: dose.receipt.instead_of_a_card(&why),
                    ..dose
                })
            })
        }
        _ => run.of_parts(parts, &mut cpu::Histories::default()),
    };
    Ok(dose?)
}

/// Run of a request. Monitor units are those of collapsed cone on the CPU, so that every runner has the same.
fn run_of(request: &MccsRequest, control: &JobControl) -> Result<Run<Simulation>, DoseError> {
    let mut clock = Clock::start();
    let monitor_unit = |machine: &_| crate::cccs::cpu::monitor_unit(machine, control);
    let simulation = Simulation::new(request, &monitor_unit, control)?;
    clock.phase("tables");
    let dose_grid = DoseGrid {
        grid: Arc::clone(&request.grid),
        dose_to: request.dose_to,
    };
    Ok(Run::new(
        simulation,
        request.length,
        dose_grid,
        request.digest(),
        clock,
    ))
}

/// All of a request by one runner.
fn run<R: Runner<Simulation = Simulation>>(
    request: &MccsRequest,
    runner: &mut R,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, R::Error> {
    run_of(request, control)?.refine(runner, control, show)
}

#[cfg(test)]
mod tests;
