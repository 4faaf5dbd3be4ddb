//! Which doses at hand make the dose on show, and what that sum answers.

use super::{BeamInputs, BeamResult, Certainty, DoseInputs, RunInputs, Shown, Source, SumInputs, SumWork};
use crate::analysis::{Part, is_computed, times};
use crate::case::{Beam, Case};
use crate::geometry::Mask;
use std::sync::Arc;

/// The results that a sum is made of.
pub struct AtHand<'a> {
    /// The dose of a run, where the plan is computed by one.
    pub run: Option<(RunInputs, Part, Arc<Certainty>)>,
    /// By beam number.
    pub beam: &'a dyn Fn(u32) -> Option<&'a (BeamInputs, BeamResult)>,
    /// By structure number, of the contours as they stand.
    pub mask: &'a dyn Fn(u32) -> Option<&'a Arc<Mask>>,
}

/// What has to be added for a dose of a plan, or of a file; `None` before all it hangs on have some dose.
pub fn sum_work(case: &Case, plan: usize, what: Shown, at_hand: AtHand<'_>) -> Option<SumWork> {
    if let Shown::Imported(index) = what {
        let dose = case.doses.get(index)?.clone();
        let id = dose.gy.id();
        return Some(SumWork {
            inputs: SumInputs { what, answers: DoseInputs::Imported(id), parts: vec![(id, 1.0)] },
            label: dose.label.clone(),
            plan: None,
            parts: vec![Part { dose, scale: 1.0 }],
            only: None,
            normalisation: None,
            certainty: None,
        });
    }
    let plan = case.plans.get(plan)?;
    let only = match what {
        Shown::Beam(number) => Some(number),
        _ => None,
    };
    let (mut numbers, mut parts, mut made_from) = (Vec::new(), Vec::new(), Vec::new());
    let (source, certainty) = match at_hand.run {
        Some((inputs, part, certainty)) => {
            parts.push(part);
            (Source::MonteCarlo(Box::new(inputs), plan.fractions), Some(certainty))
        }
        None => {
            // A beam by itself hangs on the others only through the normalisation.
            let counts = |b: &&Beam| plan.normalisation.is_some() || only.is_none_or(|n| n == b.number);
            for beam in plan.beams.iter().filter(|b| is_computed(b)).filter(counts) {
                let (inputs, result) = (at_hand.beam)(beam.number)?;
                let part = Part { dose: result.dose.clone(), scale: times(plan, beam) };
                numbers.push(beam.number);
                made_from.push((BeamInputs { preview: false, ..inputs.clone() }, part.scale));
                parts.push(part);
            }
            (Source::CollapsedCone(made_from), None)
        }
    };
    if parts.is_empty() {
        return None;
    }
    let (label, only_part) = match only {
        Some(number) => {
            let beam = plan.beams.iter().find(|b| b.number == number)?;
            (format!("Beam {}", beam.name), Some(numbers.iter().position(|n| *n == number)?))
        }
        None => (format!("Plan {}", plan.name), None),
    };
    let normalisation = match &plan.normalisation {
        Some(wanted) => {
            let structure = case.structures.normalised_to(wanted).ok()?;
            Some((wanted.clone(), Arc::clone((at_hand.mask)(structure.number)?)))
        }
        None => None,
    };
    let answers = DoseInputs::computed(case, plan, only, source);
    let ids = parts.iter().map(|p| (p.dose.gy.id(), p.scale)).collect();
    Some(SumWork {
        inputs: SumInputs { what, answers, parts: ids },
        label,
        plan: Some(plan.clone()),
        parts,
        only: only_part,
        normalisation,
        certainty,
    })
}
