//! Dose engines by their words: one place for verbs, window and Python to ask for a dose.

use crate::dose::{BeamDose, DoseError, DoseRequest};
use crate::{Compute, JobControl, cccs};
use case::DoseEngine;

/// Dose of a beam by `engine`; by [`DoseEngine::beam_engine`] of an engine that computes whole plans.
///
/// # Errors
/// [`DoseError`]: a beam that is no photon beam or delivers nothing, a grid that is uneven or lies outside the patient, or the job was
/// cancelled.
pub fn beam_dose(
    engine: DoseEngine,
    request: &DoseRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<BeamDose, DoseError> {
    match engine {
        DoseEngine::CollapsedCone | DoseEngine::MonteCarloConvolution => {
            cccs::beam_dose(request, device, control)
        }
    }
}
