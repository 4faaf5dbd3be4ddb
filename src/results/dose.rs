//! The inputs of a displayed dose.

use super::inputs::{BeamInputs, patient_grid};
use super::monte_carlo::RunInputs;
use super::shared::Shared;
use analysis::{beams_left_out, generic_machines};
use case::{Case, Normalisation, NormalisedDose, Plan, Reservations};
use geometry::VolumeId;

/// All parts of a case and its settings that affect a displayed dose: equal inputs give equal doses.
#[derive(Clone, Debug, PartialEq)]
pub enum DoseInputs {
    /// A dose of the case itself.
    Imported(VolumeId),
    Computed {
        /// The number of a single beam; `None` for the whole plan.
        only: Option<u32>,
        source: Source,
        /// Treatment beams that are not computed.
        left_out: Option<String>,
        /// Caveats and remarks on the case and the plan.
        reservations: Reservations,
        normalisation: Option<NormalisedTo>,
    },
}

/// The inputs of the beams' doses.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Beam doses, each with its weight.
    CollapsedCone(Vec<(Shared<BeamInputs>, f64)>),
    /// One run for all beams, and the fractions.
    MonteCarlo(Shared<RunInputs>, u32),
}

/// A normalisation with its structure.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalisedTo {
    wanted: Normalisation,
    /// The dose to normalise to, Gy; `None` where the plan's prescription says none.
    gy: Option<f64>,
    /// Identity of the structure's contours and of their images; `None` where the structure is missing.
    structure: Option<(u64, VolumeId)>,
}

impl NormalisedTo {
    fn new(case: &Case, plan: &Plan, wanted: &Normalisation) -> Self {
        let structure = case.structures.normalised_to(wanted).and_then(Result::ok);
        let print = structure.map(|s| s.contours.id());
        // Names do not count: a renamed structure is the same structure.
        let mut same = structure.map_or_else(
            || wanted.clone(),
            |s| wanted.of_structure("", Some(s.number)),
        );
        let gy = wanted.wanted_gy(plan.prescription_gy).ok();
        // Nor does whether the dose was given in percent.
        same.dose = gy.map_or(same.dose, NormalisedDose::Gy);
        Self {
            wanted: same,
            gy,
            structure: print.zip(patient_grid(case).map(|(_, id)| id)),
        }
    }
}

/// Caveats and remarks on a case that stand with the doses of its plan: a structure of which not all was read scales the plan that is
/// normalised to it.
pub(super) fn reservations_of(case: &Case, plan: &Plan) -> Reservations {
    let mut reservations = case.reservations();
    reservations.add(&Reservations {
        caveats: Vec::new(),
        remarks: generic_machines(plan),
    });
    let to = plan
        .normalisation
        .as_ref()
        .and_then(|to| case.structures.normalised_to(to));
    if let Some(Ok(structure)) = to {
        reservations.add(&structure.reservations());
    }
    reservations
}

impl DoseInputs {
    /// The inputs of the sum of these beam doses, with the current caveats of the plan.
    pub fn computed(case: &Case, plan: &Plan, only: Option<u32>, source: Source) -> Self {
        let normalisation = plan
            .normalisation
            .as_ref()
            .map(|n| NormalisedTo::new(case, plan, n));
        let mut reservations = reservations_of(case, plan);
        reservations.add(&plan.reservations());
        Self::Computed {
            only,
            source,
            left_out: beams_left_out(plan),
            reservations,
            normalisation,
        }
    }
}
