//! The dose job of a beam on every device: checks, exposures in turn, the answer with its receipt.

use super::beam::Field;
use super::calibrate::MonitorUnit;
use super::fluences::fluence;
use super::medium::Medium;
use super::request::{BeamDose, DoseError, DoseRequest};
use crate::JobControl;
use case::{Beam, Radiation, Receipt};
use geometry::{BeamFrame, Volume};
use physics::{Exposure, Fluence, Patient, exposures};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Instant;

/// Refuses beams that are no photon beams or deliver nothing.
///
/// # Errors
/// [`DoseError::Beam`].
pub fn check(beam: &Beam) -> Result<(), DoseError> {
    let refuse = |why: &str| Err(DoseError::Beam { beam: beam.name.clone(), why: why.to_owned() });
    if let Some(why) = &beam.read_only {
        return refuse(why);
    }
    if beam.radiation != Radiation::Photon {
        return refuse("only photon beams are computed");
    }
    if !(beam.mu.is_finite() && beam.mu >= 0.0) {
        return refuse("its monitor units are not a number of zero or more");
    }
    if beam.control_points.is_empty() {
        return refuse("it has no control point, so no monitor units to deliver");
    }
    if !beam.isocentre_mm.is_finite() {
        return refuse("its isocentre is not a position");
    }
    Ok(())
}

/// Calls `add` with the fields of a beam in turn, each with its photons per cm2 on the axis at the isocentre; returns their number.
///
/// # Errors
/// A beam without fluence, a cancelled job, and what `add` returns.
pub fn each_field<E: From<DoseError>>(
    request: &DoseRequest,
    per_mu: &MonitorUnit,
    control: &JobControl,
    mut add: impl FnMut(&Field<'_>, f32) -> Result<(), E>,
) -> Result<usize, E> {
    let shares = exposures(&request.beam, request.quality.arc_step_deg());
    for (n, exposure) in shares.iter().enumerate() {
        let frame = frame_of(request, exposure);
        // An arc has too many to keep.
        let fluence = if shares.len() == 1 {
            fluence(request, exposure, control)
        } else {
            Fluence::new(&request.machine, &request.beam, exposure).map(Arc::new)
        };
        let fluence = fluence.map_err(DoseError::from)?;
        let field = Field {
            machine: &request.machine,
            frame: &frame,
            fluence: &fluence,
            electrons_gy: per_mu.electrons_gy,
        };
        control.check().map_err(DoseError::from)?;
        let mu = exposure.transmitted_mu(&request.machine, &request.beam, &request.patient);
        add(&field, (mu * per_mu.fluence) as f32)?;
        control.report((n + 1) as f32 / shares.len() as f32);
    }
    Ok(shares.len())
}

/// Frame of the beam during an exposure.
pub fn frame_of(request: &DoseRequest, exposure: &Exposure<'_>) -> BeamFrame {
    BeamFrame::new(
        request.patient.position,
        exposure.gantry_deg,
        exposure.collimator_deg,
        exposure.couch_deg,
        request.beam.isocentre_mm,
        request.machine.sad_mm,
    )
}

/// The answer: `gy` on the grid of the request, computed on `medium` from so many fields by `device`.
pub fn answer(
    request: &DoseRequest,
    digest: String,
    medium: &Medium,
    fields: usize,
    gy: Vec<f32>,
    device: String,
    clock: Clock,
) -> BeamDose {
    let work = (medium.grid.len() * request.quality.directions() * fields) as u64;
    BeamDose {
        gy: Arc::new(Volume::new(Arc::clone(&request.grid), gy)),
        status: request.quality.status(),
        receipt: receipt("cccs", digest, device, clock, work),
    }
}

/// The receipt of a job over the voxels of a beam.
pub fn receipt(job: &str, digest: String, device: String, clock: Clock, work: u64) -> Arc<Receipt> {
    Arc::new(Receipt {
        job: job.to_owned(),
        digest,
        device,
        phases_ms: clock.phases_ms,
        warnings: Vec::new(),
        work,
    })
}

/// Equal requests have equal digests: the volumes by identity, the rest by value.
pub fn digest(request: &DoseRequest) -> String {
    let mut hasher = DefaultHasher::new();
    let DoseRequest { patient, machine, beam, grid, quality, dose_to } = request;
    let Patient { mass_density_g_cm3, material, has_couch, .. } = &**patient;
    let voxels = format!("{:?} {:?} {has_couch}", mass_density_g_cm3.id(), material.id());
    format!("{voxels} {machine:?} {beam:?} {grid:?} {quality:?} {dose_to:?}").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Wall times of the phases of a job; a repeated phase adds up.
pub struct Clock {
    last: Instant,
    phases_ms: Vec<(String, f64)>,
}

impl Clock {
    pub fn start() -> Self {
        Self { last: Instant::now(), phases_ms: Vec::new() }
    }

    pub fn phase(&mut self, name: &str) {
        let ms = self.last.elapsed().as_secs_f64() * 1000.0;
        self.add(name, ms);
        self.last = Instant::now();
    }

    pub fn phases_ms(&self) -> &[(String, f64)] {
        &self.phases_ms
    }

    /// Adds phases that a card has timed by its events.
    pub fn take(&mut self, phases: Vec<(String, f64)>) {
        phases.iter().for_each(|(name, ms)| self.add(name, *ms));
        self.last = Instant::now();
    }

    fn add(&mut self, name: &str, ms: f64) {
        add_phase(&mut self.phases_ms, name, ms);
    }
}

/// Adds to the time of a phase, new or not.
pub fn add_phase(phases_ms: &mut Vec<(String, f64)>, name: &str, ms: f64) {
    match phases_ms.iter_mut().find(|(n, _)| n == name) {
        Some((_, sum)) => *sum += ms,
        None => phases_ms.push((name.to_owned(), ms)),
    }
}
