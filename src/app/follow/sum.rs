//! The dose on show: which doses at hand are added for it, and what that sum answers.

use super::work::{self, Answer, ShownWork};
use super::{Follow, ShownResult};
use crate::analysis::{Part, is_computed};
use crate::app::state::State;
use crate::case::{Beam, Plan};
use crate::results::{BeamInputs, DoseInputs, Node, Shown, Source, SumInputs, times};
use crate::worker::{Slot, Task, Worker};

/// A beam's dose at hand: its number, what it answers, and its part of the sum.
type BeamPart = (u32, BeamInputs, Part);

/// The doses at hand of the beams that a dose on show hangs on. `None` before all have some dose, and where one has failed
/// without any.
fn parts_at_hand(follow: &Follow, plan: &Plan, only: Option<u32>) -> Option<Vec<BeamPart>> {
    let counts = |b: &&Beam| plan.normalisation.is_some() || only.is_none_or(|n| n == b.number);
    let part = |beam: &Beam| {
        let (inputs, result) = follow.beams.get(&beam.number)?.have.as_ref()?;
        let answers = BeamInputs { preview: false, ..inputs.clone() };
        Some((beam.number, answers, Part { dose: result.dose.clone(), scale: times(plan, beam) }))
    };
    plan.beams.iter().filter(|b| is_computed(b)).filter(counts).map(part).collect()
}

/// What has to be added for a dose of the plan on show, or of a file; `None` where there is nothing to add yet.
pub(super) fn sum_work(state: &State, what: Shown) -> Option<ShownWork> {
    let case = state.history.case();
    if let Shown::Imported(index) = what {
        let dose = case.doses.get(index)?.clone();
        let id = dose.gy.id();
        return Some(ShownWork {
            inputs: SumInputs { what, answers: DoseInputs::Imported(id), parts: vec![(id, 1.0)] },
            label: dose.label.clone(),
            plan: None,
            parts: vec![Part { dose, scale: 1.0 }],
            only: None,
            normalisation: None,
            certainty: None,
        });
    }
    let follow = &state.follow;
    let plan = case.plans.get(state.plan)?;
    let only = match what {
        Shown::Beam(number) => Some(number),
        _ => None,
    };
    let run = follow.run_part(plan).filter(|_| what == Shown::Plan);
    let (numbers, parts, source, certainty) = match run {
        Some((inputs, part, certainty)) => {
            let source = Source::MonteCarlo(Box::new(inputs.clone()), plan.fractions);
            (Vec::new(), vec![part], source, Some(certainty))
        }
        None => {
            let (mut numbers, mut parts, mut made_from) = (Vec::new(), Vec::new(), Vec::new());
            for (number, answers, part) in parts_at_hand(follow, plan, only)? {
                numbers.push(number);
                made_from.push((answers, part.scale));
                parts.push(part);
            }
            (numbers, parts, Source::CollapsedCone(made_from), None)
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
            let mask = follow.masks.get(&structure.number)?.current()?.clone();
            Some((wanted.clone(), mask))
        }
        None => None,
    };
    let answers = DoseInputs::computed(case, plan, only, source, &follow.prints);
    let ids = parts.iter().map(|p| (p.dose.gy.id(), p.scale)).collect();
    Some(ShownWork {
        inputs: SumInputs { what, answers, parts: ids },
        label,
        plan: Some(plan.clone()),
        parts,
        only: only_part,
        normalisation,
        certainty,
    })
}

/// Asks for a sum, unless one is under way: that is let finish, else during a drag none ever would.
pub(super) fn ask_sum(
    wanted: &mut Node<SumInputs, ShownResult>,
    work: Option<ShownWork>,
    slot: Slot,
    worker: &Worker<Answer>,
) {
    let Some(work) = work else {
        wanted.now = None;
        return;
    };
    let inputs = work.inputs.clone();
    let busy = wanted.asked.is_some()
        && wanted.asked.as_ref() != wanted.have.as_ref().map(|(i, _)| i)
        && wanted.failure.as_ref().map(|(i, _)| i) != wanted.asked.as_ref();
    if busy {
        wanted.now = Some(inputs);
    } else if wanted.wants(inputs) {
        let task = Task::new("Sum of the beams", move |watch| {
            let result = work::shown(&work, watch)?;
            Ok::<_, String>(match slot {
                Slot::Side(side) => Answer::Side(side, work.inputs, result),
                _ => Answer::Shown(work.inputs, result),
            })
        });
        worker.submit(slot, task);
    }
}
