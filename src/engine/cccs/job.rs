//! Exposures of a beam in turn, and the answer of collapsed cone with its receipt, on every device.

use super::beam::Field;
use super::calibrate::MonitorUnit;
use super::fluences::fluence;
use crate::JobControl;
use crate::dose::medium::Medium;
use crate::dose::{BeamDose, Clock, DoseError, DoseRequest, frame_of, receipt};
use geometry::Volume;
use physics::{Fluence, exposures};
use std::sync::Arc;

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

/// The answer: `gy` on the grid of the request, computed by `device` on `medium` from the dose of `fields` fields.
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
