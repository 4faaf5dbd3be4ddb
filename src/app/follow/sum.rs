//! The dose on show: which doses at hand are added for it, and when that is asked for.

use super::work::Answer;
use crate::app::state::State;
use crate::results::{AtHand, Node, Shown, SumInputs, SumWork, Summed, sum, sum_work as work_of};
use crate::worker::{Slot, Task, Worker};

/// What has to be added for a dose of the plan on show, or of a file; `None` where there is nothing to add yet.
pub(super) fn sum_work(state: &State, what: Shown) -> Option<SumWork> {
    let (case, follow) = (state.history.case(), &state.follow);
    let plan = case.plans.get(state.plan);
    let run = plan.and_then(|plan| follow.run_part(plan)).filter(|_| what == Shown::Plan);
    let at_hand = AtHand {
        run: run.map(|(inputs, part, certainty)| (inputs.clone(), part, certainty)),
        beam: &|number| follow.beams.get(&number)?.have.as_ref(),
        mask: &|number| follow.masks.get(&number)?.current(),
    };
    work_of(case, state.plan, what, at_hand)
}

/// Asks for a sum, unless one is under way: that is let finish, else during a drag none ever would.
pub(super) fn ask_sum(
    wanted: &mut Node<SumInputs, Summed>,
    work: Option<SumWork>,
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
        let task = Task::new("Sum of the beams", move |control| {
            let result = sum(&work, control)?;
            Ok::<_, String>(match slot {
                Slot::Side(side) => Answer::Side(side, work.inputs, result),
                _ => Answer::Shown(work.inputs, result),
            })
        });
        worker.submit(slot, task);
    }
}
