//! Request and answer of a beam-by-beam engine.

use super::error::DoseError;
use super::quality::{DoseTo, Quality};
use case::{Beam, DoseStatus, Radiation, Receipt};
use geometry::{BeamFrame, Grid, Volume};
use physics::{Exposure, Machine, Patient};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Asks for the dose of one beam.
#[derive(Clone, Debug)]
pub struct DoseRequest {
    pub patient: Arc<Patient>,
    pub machine: Arc<Machine>,
    pub beam: Beam,
    /// Grid of the dose: evenly spaced, any orientation.
    pub grid: Arc<Grid>,
    pub quality: Quality,
    pub dose_to: DoseTo,
}

/// The answer to a [`DoseRequest`].
#[derive(Clone, Debug)]
pub struct BeamDose {
    /// Gy for the beam's monitor units (one fraction), on the grid of the request. Gy cm2 per photon fluence times
    /// the monitor units where the machine has no calibration in MU.
    pub gy: Arc<Volume<f32>>,
    pub status: DoseStatus,
    pub receipt: Arc<Receipt>,
}

/// Refuses beams that are no photon beams or deliver nothing.
///
/// # Errors
/// [`DoseError::Beam`].
pub fn check(beam: &Beam) -> Result<(), DoseError> {
    let refuse = |why: &str| {
        Err(DoseError::Beam {
            beam: beam.name.clone(),
            why: why.to_owned(),
        })
    };
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

/// Equal requests have equal digests: the volumes by identity, the rest by value.
pub fn digest(request: &DoseRequest) -> String {
    let mut hasher = DefaultHasher::new();
    let DoseRequest {
        patient,
        machine,
        beam,
        grid,
        quality,
        dose_to,
    } = request;
    let Patient {
        mass_density_g_cm3,
        material,
        has_couch,
        ..
    } = &**patient;
    let voxels = format!(
        "{:?} {:?} {has_couch}",
        mass_density_g_cm3.id(),
        material.id()
    );
    format!("{voxels} {machine:?} {beam:?} {grid:?} {quality:?} {dose_to:?}").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
