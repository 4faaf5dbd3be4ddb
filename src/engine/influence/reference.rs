//! The influence of beamlets by its definition: the dose of one beamlet after another.

use crate::dose::{BeamDose, DoseError, DoseRequest};
use crate::influence::request::InfluenceRequest;

/// The request for the dose of a map with `value` in each requested beamlet.
pub fn with_values(request: &InfluenceRequest, value: impl Fn(usize) -> f32) -> DoseRequest {
    let mut dose = request.dose.clone();
    if let Some(map) = &mut dose.beam.fluence {
        map.values.fill(0.0);
        request
            .beamlets
            .iter()
            .for_each(|beamlet| map.values[*beamlet] = value(*beamlet));
    }
    dose
}

/// The dose of a map at the sampled voxels, Gy, by the form of the dose that is given.
pub fn at_voxels(
    request: &InfluenceRequest,
    value: impl Fn(usize) -> f32,
    dose: impl FnOnce(&DoseRequest) -> Result<BeamDose, DoseError>,
) -> Result<Vec<f64>, DoseError> {
    let dose = dose(&with_values(request, value))?.gy;
    Ok(request
        .voxels
        .iter()
        .map(|voxel| f64::from(dose.data()[*voxel]))
        .collect())
}
