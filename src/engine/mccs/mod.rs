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

use crate::dose::{Clock, DoseError};
use crate::histories::{DoseGrid, HistoriesDose, Next, Run};
use crate::run_histories::{self, HistoriesEngine, RunsOn};
use crate::{Compute, JobControl};
pub(crate) use check::check;
pub use request::{BATCH, DIRECTIONS, MccsRequest, Variant};
use simulation::Simulation;
use std::sync::Arc;

/// Runs of [`MccsRequest`].
pub(crate) struct Mccs;

impl HistoriesEngine for Mccs {
    type Request = MccsRequest;
    type Simulation = Simulation;
    type OnCpu = cpu::Histories;
    type OnCard<'a> = cuda::Histories<'a>;

    fn on_card(card: &crate::cuda::Device) -> cuda::Histories<'_> {
        cuda::Histories::new(card)
    }

    /// Monitor units come from collapsed cone on the CPU, so that every runner has the same.
    fn run_of(
        request: &MccsRequest,
        _: RunsOn,
        control: &JobControl,
    ) -> Result<Run<Simulation>, DoseError> {
        let mut clock = Clock::start();
        let simulation = Simulation::new(
            request,
            &|machine: &_| crate::cccs::cpu::monitor_unit(machine, control),
            control,
        )?;
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
}

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
    run_histories::refine::<Mccs>(request, device, control, show)
}

/// Dose of a request on devices, as [`run_histories::refine_over`] has it.
///
/// # Errors
/// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
pub fn refine_over(
    request: &MccsRequest,
    devices: &[Compute],
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    run_histories::refine_over::<Mccs>(request, devices, control, show)
}

#[cfg(test)]
mod tests;
