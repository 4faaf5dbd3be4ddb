//! The Monte Carlo dose of a whole plan: one run for all its beams, histories shared out over them.

use super::beam_job::{BeamJobError, DEFAULT_GRID_MM, Ready, is_computed};
use super::isocentre_remark;
use super::outside::outside_caveat;
use super::plan_job::{PlanDose, PlanJob, PlanJobError};
use super::plan_sum::caveats_of;
use crate::case::{Beam, Dose, DoseStatus};
use crate::engine::JobControl;
use crate::engine::cccs::{DoseError, dose_grid};
use crate::engine::mccs::{BATCH, DIRECTIONS, MccsDose, MccsRequest, Next, Until, Variant, refine_over};
use crate::geometry::Volume;
use crate::physics::Machine;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// From so many histories on `auto` takes all cards: each sets itself up first.
const WORTH_ALL_CARDS: u64 = 100_000_000;

/// How long and how histories are run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarlo {
    pub until: Until,
    pub seed: u64,
    /// Directions that a photon is split over.
    pub directions: u32,
    pub variant: Variant,
    /// How long to wait between two answers on the way.
    pub show_every: Duration,
}

impl Default for MonteCarlo {
    fn default() -> Self {
        Self {
            until: Until::Uncertainty { percent: 1.0, most: 1_000_000_000 },
            seed: 1,
            directions: DIRECTIONS,
            variant: Variant::Own,
            show_every: Duration::from_millis(300),
        }
    }
}

/// How sure a Monte Carlo dose is.
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

/// The request for a plan's beams.
///
/// # Errors
/// Machines there are none of, and grids that cannot be.
pub fn mccs_request(job: &PlanJob, ready: &Ready, how: MonteCarlo) -> Result<MccsRequest, PlanJobError> {
    let fault = |beam: &Beam, source: BeamJobError| PlanJobError::Beam { beam: beam.name.clone(), source };
    let mut beams = Vec::new();
    for beam in job.plan.beams.iter().filter(|b| is_computed(b)) {
        let machine =
            Machine::resolve(job.plan.machine_of(beam)).map_err(|e| fault(beam, BeamJobError::Machine(e)))?;
        beams.push((beam.clone(), machine));
    }
    let Some((first, _)) = beams.first() else { return Err(PlanJobError::no_beams(&job.plan)) };
    let image = ready.patient().mass_density_g_cm3.grid();
    let grid =
        dose_grid(image, ready.corners_mm(), job.grid_mm).map_err(|e| fault(first, BeamJobError::Grid(e)))?;
    let MonteCarlo { until, seed, directions, variant, show_every } = how;
    Ok(MccsRequest {
        patient: Arc::clone(ready.patient()),
        beams,
        grid: Arc::new(grid),
        dose_to: job.dose_to,
        until,
        seed,
        directions,
        batch: BATCH,
        variant,
        show_every,
    })
}

/// The dose of a plan, one fraction, before any normalisation; `show` is given every answer on the way.
///
/// # Errors
/// [`PlanJobError`].
pub fn mccs_of_plan(
    job: &PlanJob,
    ready: &Ready,
    how: MonteCarlo,
    control: &JobControl,
    show: &mut dyn FnMut(&MccsDose) -> Next,
) -> Result<PlanDose, PlanJobError> {
    let request = mccs_request(job, ready, how)?;
    let many = matches!(how.until, Until::Histories(n) if n >= WORTH_ALL_CARDS);
    let devices = job.device.resolve_all(many)?;
    let answer = refine_over(&request, &devices, control, show).map_err(|error| match error {
        DoseError::Cancelled(stopped) => PlanJobError::Cancelled(stopped),
        error => PlanJobError::Dose(error),
    })?;
    let image = ready.patient().mass_density_g_cm3.grid();
    let warnings = request.beams.iter().flat_map(|(beam, machine)| {
        let remarks = super::beam_remarks(beam, machine).into_iter().chain(isocentre_remark(image, beam));
        remarks.map(|w| format!("beam '{}': {w}", beam.name))
    });
    let caveats: Vec<Vec<String>> =
        request.beams.iter().map(|(beam, machine)| super::beam_caveats(beam, machine)).collect();
    let outside: Vec<String> = request
        .beams
        .iter()
        .filter_map(|(beam, machine)| outside_caveat(ready, beam, machine.sad_mm))
        .collect();
    let counted = if outside.is_empty() { DoseStatus::Final } else { DoseStatus::Partial };
    let mut receipt = Arc::unwrap_or_clone(answer.receipt);
    receipt.warnings.extend(warnings);
    let warnings = receipt.warnings.clone();
    let seconds =
        receipt.phases_ms.iter().find(|(phase, _)| phase == "histories").map_or(0.0, |p| p.1 * 1e-3);
    let receipt = Arc::new(receipt);
    let on_this_grid = if job.grid_mm > DEFAULT_GRID_MM { DoseStatus::Coarse } else { DoseStatus::Final };
    let dose = Dose {
        gy: answer.gy,
        status: answer.status.worst(on_this_grid).worst(counted),
        label: job.plan.name.clone(),
        frame_of_reference_uid: ready.frame_of_reference_uid().to_owned(),
        receipt: Some(Arc::clone(&receipt)),
        caveats: caveats_of(caveats.iter().chain([&outside])),
    };
    let certainty = Certainty {
        sigma_gy: answer.sigma_gy,
        uncertainty_percent: answer.uncertainty_percent,
        histories: answer.histories,
        batches: answer.batches,
        histories_per_s: answer.histories as f64 / seconds.max(1e-9),
    };
    let (receipts, certainty) = (vec![receipt], Some(certainty));
    Ok(PlanDose { dose, factor: 1.0, receipts, warnings, certainty, beam_doses: Vec::new() })
}

/// All values times a factor.
pub fn scaled(volume: &Arc<Volume<f32>>, factor: f32) -> Arc<Volume<f32>> {
    if factor == 1.0 {
        return Arc::clone(volume);
    }
    let values = volume.data().iter().map(|v| v * factor).collect();
    Arc::new(Volume::new(Arc::clone(volume.grid()), values))
}
