//! Monte Carlo with electrons: photons, electrons and positrons transported one by one through a plan's patient
//! ([`transport`] has the physics, `assets/PHYSICS.md` its sources).

mod check;
mod cpu;
mod cuda;
mod patient_world;
pub(crate) mod request;
pub(crate) mod selftest;
mod simulation;

use crate::dose::{Clock, DoseError};
use crate::histories::{DoseGrid, HistoriesDose, Next, OnCpu, Run, RunLength};
use crate::run_histories::{self, HistoriesEngine, RunsOn};
use crate::{Compute, JobControl};
pub(crate) use check::check;
use patient_world::SPLITTING;
pub use request::{ElectronCut, McRequest};
use simulation::Simulation;
use std::sync::Arc;

impl RunsOn {
    /// Histories of a batch: a fraction of a second of two cores, beside which the sums of all voxels are soon added up, or what fills a
    /// card.
    fn batch(self) -> u64 {
        match self {
            Self::Cpu => 1 << 15,
            // Each generation ends by its longest track: two chunks of 8.4e6 histories times the splitting share their generations.
            Self::Card => (1 << 24) / SPLITTING,
        }
    }
}

/// Runs of [`McRequest`].
pub(crate) struct Mc;

impl HistoriesEngine for Mc {
    type Request = McRequest;
    type Simulation = Simulation;
    type OnCpu = OnCpu<Simulation>;
    type OnCard<'a> = cuda::Histories<'a>;

    fn on_card(card: &crate::cuda::Device) -> cuda::Histories<'_> {
        cuda::Histories::new(card)
    }

    /// Run with the monitor units of collapsed cone on the CPU, as for every engine.
    fn run_of(
        request: &McRequest,
        runs_on: RunsOn,
        control: &JobControl,
    ) -> Result<Run<Simulation>, DoseError> {
        let mut clock = Clock::start();
        let simulation = Simulation::new(
            request,
            &|machine| crate::cccs::cpu::monitor_unit(machine, control),
            control,
        )?;
        clock.phase("tables");
        let dose_grid = DoseGrid {
            grid: Arc::clone(&request.grid),
            dose_to: request.dose_to,
        };
        let length = RunLength {
            batch: runs_on.batch(),
            ..request.length
        };
        Ok(Run::new(
            simulation,
            length,
            dose_grid,
            request.digest(),
            clock,
        ))
    }
}

/// Dose of a request on a device, as [`run_histories::refine_over`] has it.
///
/// # Errors
/// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
pub fn refine(
    request: &McRequest,
    device: &Compute,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    run_histories::refine::<Mc>(request, device, control, show)
}

/// Dose of a request on devices, as [`run_histories::refine_over`] has it.
///
/// # Errors
/// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
pub fn refine_over(
    request: &McRequest,
    devices: &[Compute],
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    run_histories::refine_over::<Mc>(request, devices, control, show)
}

#[cfg(test)]
mod tests;
