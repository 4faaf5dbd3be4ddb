//! What a dose on show answers, and what it is worth.

use super::{BeamInputs, EngineChoice, PatientInputs, RunInputs, Settings, Shown, Standing, patient_grid};
use crate::analysis::{beams_left_out, is_computed, times};
use crate::case::{Beam, Case, Normalisation, Plan};
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

/// What a sum on show is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct SumInputs {
    pub what: Shown,
    pub answers: DoseInputs,
    /// The doses at hand with the times each counts: a preview and the full answer to the same question differ here.
    pub parts: Vec<(VolumeId, f64)>,
}

/// What the beams' doses are made from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Beam doses, each with the times it counts.
    CollapsedCone(Vec<(BeamInputs, f64)>),
    /// One run for all beams, and the fractions.
    MonteCarlo(Box<RunInputs>, u32),
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
    /// What the case as it stands gives for a dose on show; `None` where there is nothing to compute or show.
    pub fn of(
        case: &Case,
        plan: usize,
        what: Shown,
        settings: &Settings,
        engine: EngineChoice,
    ) -> Option<Self> {
        if let Shown::Imported(index) = what {
            return Some(Self::Imported(case.doses.get(index)?.gy.id()));
        }
        let plan = case.plans.get(plan)?;
        let patient = PatientInputs::of(case, settings)?;
        let only = match what {
            Shown::Beam(number) => Some(number),
            _ => None,
        };
        let source = match engine.how() {
            Some(how) => {
                let run = RunInputs::of(&patient, plan, settings, how);
                if run.beams.is_empty() {
                    return None;
                }
                Source::MonteCarlo(Box::new(run), plan.fractions)
            }
            None => {
                // A beam by itself hangs on the others only through the normalisation.
                let counts = |b: &&Beam| plan.normalisation.is_some() || only.is_none_or(|n| n == b.number);
                let beams = plan.beams.iter().filter(|b| is_computed(b)).filter(counts);
                let part = |b: &Beam| (BeamInputs::of(&patient, plan, b, settings), times(plan, b));
                let parts: Vec<_> = beams.map(part).collect();
                if parts.is_empty() || only.is_some_and(|n| parts.iter().all(|(i, _)| i.beam.number != n)) {
                    return None;
                }
                Source::CollapsedCone(parts)
            }
        };
        Some(Self::computed(case, plan, only, source))
    }

    /// What a sum of these beam doses answers. `source` says what the doses at hand were made from, be it of an earlier
    /// state; the rest is the case's as it stands, with which the sum is made.
    pub fn computed(case: &Case, plan: &Plan, only: Option<u32>, source: Source) -> Self {
        let normalisation = plan.normalisation.as_ref().map(|n| NormalisedTo::of(case, n));
        Self::Computed { only, source, left_out: beams_left_out(plan), normalisation }
    }
}

/// How a dose that answers `have` stands to a case that gives `now`. `stand_in` is what the case gives for the quick engine,
/// where that may stand in for the one asked for; `fails` where the case as it stands cannot be answered.
pub fn standing_of(
    have: &DoseInputs,
    now: Option<&DoseInputs>,
    stand_in: Option<&DoseInputs>,
    fails: bool,
) -> Standing {
    if Some(have) == now {
        Standing::Current
    } else if fails {
        Standing::Failed
    } else if Some(have) == stand_in {
        Standing::StandIn
    } else {
        Standing::Stale
    }
}
