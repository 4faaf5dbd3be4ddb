//! The Monte Carlo dose of a whole plan: one run for all its beams, among which the histories are shared.

use super::beam_job::{
    BeamJobError, Computation, DEFAULT_GRID_MM, Ready, is_computed, no_beams, remarks_in_patient,
};
use super::not_counted::NotCounted;
use super::plan_engine::MonteCarlo;
use super::plan_sum::caveats_of;
use super::remarks::status_with;
use case::{Beam, Dose, DoseEngine, DoseStatus, Plan};
use engine::dose::{DoseError, DoseTo, dose_grid};
use engine::histories::{HistoriesDose, Next, OfPartsError, PartTally, RunLength, RunPart, Until};
use engine::mc::McRequest;
use engine::mccs::{BATCH, MccsRequest};
use engine::{Compute, DeviceError, JobControl, PlanRequest};
use geometry::{Grid, Volume};
use physics::{Machine, Patient};
use serde::Serialize;
use std::sync::Arc;
use thiserror::Error;

/// From this number of histories on `auto` uses all cards: each has its own setup time.
const WORTH_ALL_CARDS: u64 = 100_000_000;

/// The statistical uncertainty of a Monte Carlo dose.
#[derive(Clone, Debug, Serialize)]
pub struct Certainty {
    /// One standard deviation of each voxel, Gy, of all fractions, scaled as the dose is.
    #[serde(skip)]
    pub sigma_gy: Arc<Volume<f32>>,
    /// Mean relative standard deviation where the dose is above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    pub histories: u64,
    pub batches: u64,
    pub histories_per_s: f64,
}

/// The dose of a run, one fraction, before any normalisation.
#[derive(Debug)]
pub struct RunDose {
    pub dose: Dose,
    pub certainty: Certainty,
}

/// Why a plan has no Monte Carlo dose.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("{}", no_beams(.0))]
    NoBeams(Box<Plan>),
    #[error("no run of histories is known for {}", .0.name())]
    Engine(DoseEngine),
    #[error("beam '{beam}': {source}")]
    Beam { beam: String, source: BeamJobError },
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error(transparent)]
    Parts(#[from] OfPartsError),
}

/// Beams in a patient, and the grid on which a run of histories has their dose.
#[derive(Clone, Debug)]
pub struct RunBeams {
    pub patient: Arc<Patient>,
    /// Each with its machine.
    pub beams: Vec<(Beam, Arc<Machine>)>,
    pub grid: Arc<Grid>,
    pub dose_to: DoseTo,
}

impl RunBeams {
    /// The request for their dose.
    ///
    /// # Errors
    /// [`RunError::Engine`]: an engine without histories.
    pub fn request(self, how: MonteCarlo) -> Result<PlanRequest, RunError> {
        let Self {
            patient,
            beams,
            grid,
            dose_to,
        } = self;
        let MonteCarlo {
            engine,
            until,
            seed,
            directions,
            variant,
            electron_cut,
            show_every,
        } = how;
        let length = RunLength {
            until,
            batch: BATCH,
            show_every,
        };
        match engine {
            // Histories of one engine must not bear the name of another.
            DoseEngine::CollapsedCone => Err(RunError::Engine(engine)),
            DoseEngine::MonteCarloConvolution => Ok(PlanRequest::Mccs(MccsRequest {
                patient,
                beams,
                grid,
                dose_to,
                length,
                seed,
                directions,
                variant,
            })),
            DoseEngine::MonteCarlo => Ok(PlanRequest::Mc(McRequest {
                patient,
                beams,
                grid,
                dose_to,
                length,
                seed,
                electron_cut,
            })),
        }
    }
}

/// The request for a plan's beams.
///
/// # Errors
/// An engine without histories, unknown machines and impossible grids.
pub fn plan_request(
    plan: &Plan,
    ready: &Ready,
    computation: Computation,
    how: MonteCarlo,
) -> Result<PlanRequest, RunError> {
    let mut beams = Vec::new();
    for beam in plan.beams.iter().filter(|b| is_computed(b)) {
        let machine = Machine::resolve(plan.machine_of(beam))
            .map_err(|e| RunError::of_beam(beam, BeamJobError::Machine(e)))?;
        beams.push((beam.clone(), machine));
    }
    let Some((first, _)) = beams.first() else {
        return Err(RunError::NoBeams(Box::new(plan.clone())));
    };
    let image = ready.patient().mass_density_g_cm3.grid();
    let grid = dose_grid(image, ready.corners_mm(), computation.grid_mm)
        .map_err(|e| RunError::of_beam(first, BeamJobError::Grid(e)))?;
    let run_beams = RunBeams {
        patient: Arc::clone(ready.patient()),
        beams,
        grid: Arc::new(grid),
        dose_to: computation.dose_to,
    };
    run_beams.request(how)
}

impl RunError {
    fn of_beam(beam: &Beam, source: BeamJobError) -> Self {
        Self::Beam {
            beam: beam.name.clone(),
            source,
        }
    }
}

/// The sums of a part of a plan's histories.
///
/// # Errors
/// [`RunError`].
pub fn part_of_plan(
    plan: &Plan,
    ready: &Ready,
    computation: Computation,
    how: MonteCarlo,
    part: RunPart,
    control: &JobControl,
) -> Result<PartTally, RunError> {
    let request = plan_request(plan, ready, computation, how)?;
    Ok(request.part(part, &devices(computation, how)?, control)?)
}

fn devices(computation: Computation, how: MonteCarlo) -> Result<Vec<Compute>, DeviceError> {
    let many = matches!(how.until, Until::Histories(n) if n >= WORTH_ALL_CARDS);
    computation.device.resolve_all(many)
}

/// The dose of a plan, by the histories of `parts` where they are given; `show` gets every intermediate answer.
///
/// # Errors
/// [`RunError`].
pub fn run_of_plan(
    plan: &Plan,
    ready: &Ready,
    computation: Computation,
    how: MonteCarlo,
    parts: Option<&PartTally>,
    control: &JobControl,
    show: &mut dyn FnMut(&HistoriesDose) -> Next,
) -> Result<RunDose, RunError> {
    let request = plan_request(plan, ready, computation, how)?;
    let answer = match parts {
        Some(parts) => {
            request.dose_of_parts(parts, &computation.device.resolve_for_cuda()?, control)?
        }
        None => request.refine_over(&devices(computation, how)?, control, show)?,
    };
    let not_counted: Vec<NotCounted> = { request.beams().iter() }
        .map(|(beam, machine)| NotCounted::of_beam(ready, beam, machine.sad_mm))
        .collect();
    let warnings =
        request
            .beams()
            .iter()
            .zip(&not_counted)
            .flat_map(|((beam, machine), not_counted)| {
                let remarks = remarks_in_patient(beam, machine, ready.patient()).into_iter();
                let remarks = remarks.chain(not_counted.remarks.iter().cloned());
                remarks.map(|w| format!("beam '{}': {w}", beam.name))
            });
    let caveats: Vec<Vec<String>> = request
        .beams()
        .iter()
        .map(|(beam, machine)| super::beam_caveats(beam, machine))
        .collect();
    let of_patient = ready.reservations().caveats.clone();
    let of_field = not_counted.iter().map(|losses| &losses.caveats);
    let caveats = caveats_of(caveats.iter().chain([&of_patient]).chain(of_field));
    let mut receipt = Arc::unwrap_or_clone(answer.receipt);
    receipt.warnings.extend(warnings);
    let seconds = receipt
        .phases_ms
        .iter()
        .find(|(phase, _)| phase == "histories")
        .map_or(0.0, |p| p.1 * 1e-3);
    let is_coarse = computation.grid_mm > DEFAULT_GRID_MM;
    let on_this_grid = if is_coarse {
        DoseStatus::Coarse
    } else {
        DoseStatus::Final
    };
    let mut dose = Dose {
        gy: answer.gy,
        status: answer
            .status
            .worst(on_this_grid)
            .worst(status_with(&caveats)),
        label: plan.name.clone(),
        frame_of_reference_uid: ready.frame_of_reference_uid().to_owned(),
        receipt: Some(Arc::new(receipt)),
        caveats,
        remarks: ready.reservations().remarks.clone(),
        part: None,
    };
    dose.remark(
        not_counted
            .iter()
            .flat_map(|losses| losses.beside.iter().copied()),
    );
    let certainty = Certainty {
        sigma_gy: answer.sigma_gy,
        uncertainty_percent: answer.uncertainty_percent,
        histories: answer.histories,
        batches: answer.batches,
        histories_per_s: answer.histories as f64 / seconds.max(1e-9),
    };
    Ok(RunDose { dose, certainty })
}

/// Scales a volume by a factor.
pub fn scaled(volume: &Arc<Volume<f32>>, factor: f32) -> Arc<Volume<f32>> {
    if factor == 1.0 {
        return Arc::clone(volume);
    }
    let values = volume.data().iter().map(|v| v * factor).collect();
    Arc::new(Volume::new(Arc::clone(volume.grid()), values))
}
