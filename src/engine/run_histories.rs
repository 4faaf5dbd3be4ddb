//! Runs of histories of any engine on devices: a card or several where they were chosen, the CPU where they fail.

use crate::cuda::{self, Failure};
use crate::dispatch::else_cpu;
use crate::dose::DoseError;
use crate::histories::{
    HistoriesDose, Next, OfPartsError, PartTally, Run, RunPart, Runner, Shared, Sharing, Simulation,
};
use crate::wgpu::WgpuError;
use crate::{Compute, JobControl};

/// Kind of device that runs histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOn {
    Cpu,
    Card,
}

/// An engine that samples histories.
pub trait HistoriesEngine {
    type Request;
    type Simulation: Simulation;
    type OnCpu: Runner<Simulation = Self::Simulation, Error = DoseError> + Default;
    type OnCard<'a>: Sharing<Simulation = Self::Simulation, Error = Failure<DoseError>>;

    fn on_card(card: &cuda::Device) -> Self::OnCard<'_>;

    /// Run of a request.
    ///
    /// # Errors
    /// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run.
    fn run_of(
        request: &Self::Request,
        runs_on: RunsOn,
        control: &JobControl,
    ) -> Result<Run<Self::Simulation>, DoseError>;
}

/// As [`refine_over`], on one device.
///
/// # Errors
/// Errors of [`refine_over`].
pub fn refine<E: HistoriesEngine>(
    request: &E::Request,
    device: &Compute,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    refine_over::<E>(request, std::slice::from_ref(device), control, show)
}

/// Runs histories until the request is met: on the CPU, or distributed over cards, whose number does not change a bit of
/// the dose. `show` is given the dose as it improves, from the calling thread; its answer stops the run and keeps the dose.
/// The first of several cards runs all of it where another fails, else the CPU does, and the receipt says why.
///
/// # Errors
/// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
pub fn refine_over<E: HistoriesEngine>(
    request: &E::Request,
    devices: &[Compute],
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    let mut cards = cards::<E>(devices);
    let Some(first) = cards.next() else {
        let dose = on_cpu::<E>(request, control, show)?;
        if matches!(devices, [Compute::Wgpu(_), ..]) {
            let why = WgpuError::NoForm { job: "Monte Carlo" };
            return Ok(HistoriesDose {
                receipt: dose.receipt.instead_of_a_card(&why),
                ..dose
            });
        }
        return Ok(dose);
    };
    let by_cards: Result<_, Failure<_>> = E::run_of(request, RunsOn::Card, control)?.refine(
        &mut Shared::new(first, cards),
        control,
        show,
    );
    else_cpu(by_cards, |why| {
        if devices.len() > 1 {
            let dose = refine::<E>(request, &devices[0], control, show)?;
            let why = format!("not shared by {} devices: {why}", devices.len());
            return Ok(HistoriesDose {
                receipt: dose.receipt.with_warning(why),
                ..dose
            });
        }
        let dose = on_cpu::<E>(request, control, show)?;
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
pub fn part<E: HistoriesEngine>(
    request: &E::Request,
    part: RunPart,
    devices: &[Compute],
    control: &JobControl,
) -> Result<PartTally, OfPartsError> {
    let mut cards = cards::<E>(devices);
    let Some(first) = cards.next() else {
        return part_on_cpu::<E>(request, part, control);
    };
    let mut run = E::run_of(request, RunsOn::Card, control)?;
    run.check_part(part)?;
    let by_cards: Result<_, Failure<DoseError>> =
        run.part(part, &mut Shared::new(first, cards), control);
    match by_cards {
        Ok(tally) => Ok(tally),
        Err(Failure::Job(error)) => Err(error.into()),
        Err(Failure::Card(why)) => {
            tracing::warn!("part {part} of the histories on the CPU: {why}");
            part_on_cpu::<E>(request, part, control)
        }
    }
}

fn part_on_cpu<E: HistoriesEngine>(
    request: &E::Request,
    part: RunPart,
    control: &JobControl,
) -> Result<PartTally, OfPartsError> {
    let mut run = E::run_of(request, RunsOn::Cpu, control)?;
    run.check_part(part)?;
    Ok(run.part(part, &mut E::OnCpu::default(), control)?)
}

/// The dose of all parts of a request's histories, as one run gives it, to the bit: parts from cards are averaged on a card.
///
/// # Errors
/// [`OfPartsError`]; among them parts that are not all of this request's.
pub fn dose_of_parts<E: HistoriesEngine>(
    request: &E::Request,
    parts: &PartTally,
    device: &Compute,
    control: &JobControl,
) -> Result<HistoriesDose, OfPartsError> {
    let ran_on = if parts.on_a_card() {
        RunsOn::Card
    } else {
        RunsOn::Cpu
    };
    let mut run = E::run_of(request, ran_on, control)?;
    run.check_parts(parts)?;
    let dose = match device {
        Compute::Cuda(card) if ran_on == RunsOn::Card => {
            let by_card: Result<_, Failure<_>> = run.of_parts(parts, &mut E::on_card(card));
            else_cpu(by_card, |why| {
                let dose = run.of_parts(parts, &mut E::OnCpu::default())?;
                Ok(HistoriesDose {
                    receipt: dose.receipt.instead_of_a_card(&why),
                    ..dose
                })
            })
        }
        _ => run.of_parts(parts, &mut E::OnCpu::default()),
    };
    Ok(dose?)
}

fn cards<'a, E: HistoriesEngine + 'a>(
    devices: &'a [Compute],
) -> impl Iterator<Item = E::OnCard<'a>> {
    devices.iter().filter_map(|device| match device {
        Compute::Cuda(card) => Some(E::on_card(card)),
        Compute::Cpu | Compute::Wgpu(_) => None,
    })
}

fn on_cpu<E: HistoriesEngine>(
    request: &E::Request,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<HistoriesDose, DoseError> {
    E::run_of(request, RunsOn::Cpu, control)?.refine(&mut E::OnCpu::default(), control, show)
}
