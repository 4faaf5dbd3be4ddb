//! Dose engines by their words: one place for verbs, window and Python to ask for a dose.

use crate::dose::{BeamDose, DoseError, DoseRequest};
use crate::histories::{HistoriesDose, Next, OfPartsError, PartTally, RunPart};
use crate::mc::{Mc, McRequest};
use crate::mccs::{Mccs, MccsRequest};
use crate::{Compute, JobControl, cccs, mc, mccs, run_histories};
use case::{Beam, DoseEngine};
use physics::Machine;
use std::sync::Arc;

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
        DoseEngine::CollapsedCone | DoseEngine::MonteCarloConvolution | DoseEngine::MonteCarlo => {
            cccs::beam_dose(request, device, control)
        }
    }
}

/// Asks an engine that samples histories for the dose of a plan's beams together.
#[derive(Clone, Debug)]
pub enum PlanRequest {
    Mccs(MccsRequest),
    Mc(McRequest),
}

impl PlanRequest {
    pub fn beams(&self) -> &[(Beam, Arc<Machine>)] {
        match self {
            Self::Mccs(request) => &request.beams,
            Self::Mc(request) => &request.beams,
        }
    }

    /// Refuses beams and machines that no history could start from, without running any.
    ///
    /// # Errors
    /// [`DoseError`] with the beam or machine at fault, and what to do.
    pub fn check(&self) -> Result<(), DoseError> {
        match self {
            Self::Mccs(request) => mccs::check(request),
            Self::Mc(request) => mc::check(request),
        }
    }

    /// Runs histories until the request is met, as [`run_histories::refine_over`] has it.
    ///
    /// # Errors
    /// [`DoseError`]: what is wrong with beams, machines or grid, before any history is run; or the job was cancelled.
    pub fn refine_over(
        &self,
        devices: &[Compute],
        control: &JobControl,
        show: &mut dyn FnMut(&HistoriesDose) -> Next,
    ) -> Result<HistoriesDose, DoseError> {
        match self {
            Self::Mccs(request) => {
                run_histories::refine_over::<Mccs>(request, devices, control, show)
            }
            Self::Mc(request) => run_histories::refine_over::<Mc>(request, devices, control, show),
        }
    }

    /// The sums of a part of the histories.
    ///
    /// # Errors
    /// [`OfPartsError`]; among them more parts than the run has batches.
    pub fn part(
        &self,
        part: RunPart,
        devices: &[Compute],
        control: &JobControl,
    ) -> Result<PartTally, OfPartsError> {
        match self {
            Self::Mccs(request) => run_histories::part::<Mccs>(request, part, devices, control),
            Self::Mc(request) => run_histories::part::<Mc>(request, part, devices, control),
        }
    }

    /// The dose of all parts of the histories, as one run gives it, to the bit.
    ///
    /// # Errors
    /// [`OfPartsError`]; among them parts that are not all of this request's.
    pub fn dose_of_parts(
        &self,
        parts: &PartTally,
        device: &Compute,
        control: &JobControl,
    ) -> Result<HistoriesDose, OfPartsError> {
        match self {
            Self::Mccs(request) => {
                run_histories::dose_of_parts::<Mccs>(request, parts, device, control)
            }
            Self::Mc(request) => {
                run_histories::dose_of_parts::<Mc>(request, parts, device, control)
            }
        }
    }
}
