//! What a dose on show answers.

use super::inputs::{BeamInputs, patient_grid};
use super::monte_carlo::RunInputs;
use super::shared::Shared;
use crate::analysis::beams_left_out;
use crate::case::{Case, Normalisation, Plan};
use crate::geometry::VolumeId;

/// All of a case and its settings that bears on a dose on show: equal inputs give equal doses.
#[derive(Clone, Debug, PartialEq)]
pub enum DoseInputs {
    /// A dose of the case itself.
    Imported(VolumeId),
    Computed {
        /// Of this beam alone, by number; of the whole plan where there is none.
        only: Option<u32>,
        source: Source,
        /// Treatment beams that are not computed.
        left_out: Option<String>,
        normalisation: Option<NormalisedTo>,
    },
}

/// What the beams' doses are made from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Beam doses, each with the times it counts.
    CollapsedCone(Vec<(Shared<BeamInputs>, f64)>),
    /// One run for all beams, and the fractions.
    MonteCarlo(Shared<RunInputs>, u32),
}

/// A normalisation with the structure it is to.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalisedTo {
    wanted: Normalisation,
    /// Identity of the structure's contours and the images they lie on; `None` where there is no such structure.
    structure: Option<(u64, VolumeId)>,
}

impl NormalisedTo {
    fn of(case: &Case, wanted: &Normalisation) -> Self {
        let structure = case.structures.normalised_to(wanted).ok();
        let print = structure.map(|s| s.contours.id());
        // The name is for people: a structure renamed is the same structure.
        let name = if structure.is_some() { String::new() } else { wanted.structure.clone() };
        Self {
            wanted: Normalisation { structure: name, number: structure.map(|s| s.number), ..wanted.clone() },
            structure: print.zip(patient_grid(case).map(|(_, id)| id)),
        }
    }
}

impl DoseInputs {
    /// What the sum of these beam doses answers, with what the case as it stands says of the plan.
    pub fn computed(case: &Case, plan: &Plan, only: Option<u32>, source: Source) -> Self {
        let normalisation = plan.normalisation.as_ref().map(|n| NormalisedTo::of(case, n));
        Self::Computed { only, source, left_out: beams_left_out(plan), normalisation }
    }
}
