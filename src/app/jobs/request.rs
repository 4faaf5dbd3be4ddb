//! Requests to the worker for results that are displayed and not yet computed.

use super::texture::TextureOf;
use super::{JobAnswer, Requests};
use crate::feature::register::state::Search;
use crate::state::results::{DISPLAYED, MAPS};
use crate::state::slot::Slot;
use crate::state::{State, Workspace};
use results::{DoseOfBeam, Grade, IsodosesOf, JobTarget, Priority, RunOfPlan, Shown};

impl Requests<'_> {
    /// Requests all missing results that the user looks at. Cheap if nothing changed.
    pub fn request(&mut self) {
        // During a drag collapsed cone follows it; Monte Carlo begins when the drag ends.
        let moving = self.ctx.dragged_id().is_some();
        self.state.results.leave_other_plan(self.state.plan);
        self.state.derive_standing();
        self.follow_inverse();
        self.take_steps();
        self.request_results(moving);
    }

    fn request_results(&mut self, moving: bool) {
        let demand = Demand::new(self.state, moving);
        let (results, worker) = (&mut self.state.results.nodes, self.worker);
        for place in results.removed() {
            worker.cancel(Slot::Result(place));
        }
        let isodoses = results
            .node::<IsodosesOf>((DISPLAYED, 0))
            .filter(|_| demand.shows_plan);
        let texture = isodoses
            .and_then(|node| node.now())
            .map(|isodoses| TextureOf::new(isodoses.clone(), self.gpu));
        results.entry((DISPLAYED, 0)).set(texture);
        let are_under_way = moving && worker.has_quick();
        if are_under_way && !worker.begin_wave(comes_first) {
            // A drag that outruns its answers: the beams of one state of the case are answered before the next state is
            // requested, its sum and DVHs before one more. Else each would be of another state, and none be seen.
            return;
        }
        if !(are_under_way && demand.is_quick) {
            for place in results.take_superseded() {
                // A quick job still answers: else none would finish during a drag.
                worker.supersede(Slot::Result(place));
            }
        }
        if demand.cuts_arcs {
            // Leaves of arcs would wait for the dose that they replace.
            for place in results.withdraw_full_doses(DISPLAYED) {
                worker.supersede(Slot::Result(place));
            }
        }
        results.evict_unused(are_under_way);
        results.begin_next_state(moving);
        let mut is_busy = None;
        for (priority, target) in results.jobs() {
            let waits = demand.waits(priority, target, || {
                *is_busy.get_or_insert_with(|| worker.has_quick())
            });
            if waits || !demand.wants(priority, target) {
                continue;
            }
            let is_quick = demand.is_quick_in_full(priority, target);
            let Some(task) = results.job(target, is_quick) else {
                continue;
            };
            let task = task.map(JobAnswer::Result);
            worker.submit(
                Slot::Result(target),
                if are_under_way { task.behind() } else { task },
            );
            self.state.results.runs += u64::from(target.is::<RunOfPlan>());
        }
    }
}

/// Whether the next state of a case waits for a job: not where it adds doses up or reads them.
fn comes_first(slot: Slot) -> bool {
    let Slot::Result(target) = slot else {
        return true;
    };
    !matches!(
        target.priority,
        Some(Priority::Doses(_) | Priority::Isodoses)
    )
}

/// The view of the user, on which it depends what is requested of the results that the case needs.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    /// X-rays and DRRs are on show, and no dose.
    registers: bool,
    /// A search computes the metric itself.
    searches: bool,
    /// A and B are on show.
    compares: bool,
    /// The displayed plan is on show, or is A or B.
    shows_plan: bool,
    has_beams: bool,
    /// The plan is computed by Monte Carlo.
    has_run: bool,
    /// Full doses are as quick as previews.
    is_quick: bool,
    moving: bool,
    /// The slider of the set-up error is held.
    follows_errors: bool,
    /// Leaves of the displayed plan's arcs are being made: its dose as it is is not waited for.
    cuts_arcs: bool,
}

impl Demand {
    fn new(state: &State, moving: bool) -> Self {
        let has_run = state.results.is_monte_carlo();
        Self {
            registers: state.workspace == Workspace::Register,
            searches: matches!(state.register.search, Search::Running(_)),
            compares: state.workspace == Workspace::Compare,
            shows_plan: state.plan_matters(),
            has_beams: state.results.nodes.each::<DoseOfBeam>().next().is_some(),
            has_run,
            is_quick: !has_run && state.results.is_quick(),
            moving,
            follows_errors: state.set_up_errors.is_dragged,
            cuts_arcs: state.is_cutting_arcs()
                && !matches!(state.results.shown, Shown::Imported(_)),
        }
    }

    /// Whether a result is requested now.
    fn wants(
        self,
        priority: Priority,
        JobTarget {
            at: (group, _),
            grade,
            ..
        }: JobTarget,
    ) -> bool {
        let is_on_show = match group {
            DISPLAYED => self.shows_plan,
            MAPS => grade == Grade::Full && !self.moving,
            _side => self.compares,
        };
        // A preview is pointless for a result that is final as soon.
        let is_useful = grade == Grade::Full || !self.is_quick || group != DISPLAYED;
        if self.cuts_arcs && group == DISPLAYED && priority.is_full_dose(grade) {
            return false;
        }
        match priority {
            Priority::Basis(_) | Priority::Inverse(_) => true,
            Priority::Register(_) => self.registers && (grade == Grade::Full || !self.searches),
            // The processors belong to X-rays and DRRs.
            _ if self.registers => false,
            Priority::Room(_) | Priority::Gamma(_) => true,
            Priority::Densities => self.has_beams,
            Priority::Rays | Priority::Run => is_on_show,
            Priority::Beams => {
                is_on_show && is_useful && (grade == Grade::Preview || !self.has_run)
            }
            Priority::Doses(_) => is_on_show && is_useful,
            Priority::Isodoses => is_useful,
            Priority::Scenarios if grade == Grade::Preview => self.follows_errors,
            Priority::Scenarios => !self.moving,
        }
    }

    /// Whether a full dose waits, during a drag: one of Monte Carlo for its end, others for quick jobs. Threads that wait for a
    /// part of a DVH would take up parts of a full dose, and the DVH last as long as those.
    fn waits(self, priority: Priority, target: JobTarget, is_busy: impl FnOnce() -> bool) -> bool {
        self.moving
            && !self.is_quick
            && priority.is_full_dose(target.grade)
            && (self.has_run || is_busy())
    }

    /// Whether a full result is as quick as its preview.
    fn is_quick_in_full(self, priority: Priority, target: JobTarget) -> bool {
        let is_dose = matches!(
            priority,
            Priority::Beams | Priority::Doses(_) | Priority::Isodoses
        );
        is_dose && self.is_quick && target.at.0 == DISPLAYED
    }
}

#[cfg(test)]
mod tests;
