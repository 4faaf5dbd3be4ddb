//! Requests to the worker for results that are displayed and not yet computed.

use super::texture::TextureOf;
use super::{Answer, Requests, Worker};
use crate::feature::register::state::Search;
use crate::state::Workspace;
use crate::state::results::{DISPLAYED, MAPS, of_side};
use crate::state::slot::Slot;
use analysis::Side;
use results::{
    AttenuationOf, ClearanceOf, Densities, DoseOfBeam, DoseOfPlan, DvhOf, EstimateOfGamma, FiguresOfGamma,
    GammaOfPair, Grade, IsodoseOf, IsodosesOf, MachineOf, MaskOf, MetricAtPose, MetricOf, Query, RayOfBeam,
    ResultKey, Results, RunOfPlan, SurfaceOf,
};

impl Requests<'_> {
    /// Requests all missing results that the user looks at. Cheap if nothing changed.
    pub fn request(&mut self) {
        // During a drag collapsed cone follows it; Monte Carlo begins when the drag ends.
        let moving = self.ctx.dragged_id().is_some();
        self.state.results.leave_other_plan(self.state.plan);
        self.state.derive_standing();
        self.follow_optimise();
        self.follow_leaves();
        self.take_steps();
        self.request_results(moving);
    }

    fn request_results(&mut self, moving: bool) {
        let state = &mut *self.state;
        let (compares, own) = (state.workspace == Workspace::Compare, state.plan_matters());
        let run = state.results.is_monte_carlo();
        let is_quick = !run && state.results.is_quick();
        let room = state.needs_room();
        let results = &mut state.results.nodes;
        for place in results.removed() {
            self.worker.cancel(Slot::Result(place));
        }
        let isodoses = results.node::<IsodosesOf>((DISPLAYED, 0)).filter(|_| own).and_then(|node| node.now());
        let texture = isodoses.map(|of| TextureOf::new(of.clone(), self.gpu));
        results.entry((DISPLAYED, 0)).set(texture);
        let are_under_way = moving && self.worker.has_quick();
        if are_under_way && !self.worker.begin_wave(comes_first) {
            // A drag that outruns its answers: the beams of one state of the case are answered before the next state is
            // requested, its sum and DVHs before one more. Else each would be of another state, and none be seen.
            return;
        }
        if !(are_under_way && is_quick) {
            for place in results.take_superseded() {
                // A quick job still answers: else none would finish during a drag.
                self.worker.supersede(Slot::Result(place));
            }
        }
        results.evict_unused(are_under_way);
        results.begin_next_state(moving);
        let computed = results.each::<DoseOfBeam>().next().is_some();
        let worker = self.worker;
        let mut submit = Submitter { results, worker, behind: are_under_way };
        submit.all::<MachineOf>(DISPLAYED, Grade::Full);
        submit.full::<MaskOf>(DISPLAYED, true);
        if state.workspace == Workspace::Register {
            // No dose is displayed: the processors belong to X-rays and DRRs.
            submit.all::<AttenuationOf>(DISPLAYED, Grade::Full);
            if submit.has::<AttenuationOf>() {
                // Before a card's full work.
                submit.full::<MetricOf>(DISPLAYED, state.results.settings.device.is_for_cuda());
            }
            // A running metric job is never preempted by a newer pose: else none would finish during a drag.
            if submit.has::<MetricOf>() && !matches!(state.register.search, Search::Running(_)) {
                submit.all::<MetricAtPose>(DISPLAYED, Grade::Preview);
            }
            return;
        }
        if room {
            submit.all::<SurfaceOf>(DISPLAYED, Grade::Full);
            submit.all::<ClearanceOf>(DISPLAYED, Grade::Full);
        }
        if computed {
            submit.all::<Densities>(DISPLAYED, Grade::Full);
        }
        if own {
            submit.all::<RayOfBeam>(DISPLAYED, Grade::Full);
        }
        let sides = compares.then(|| Side::BOTH.map(of_side)).into_iter().flatten();
        let shown: Vec<u8> = sides.chain(own.then_some(DISPLAYED)).collect();
        if own && !is_quick {
            submit.all::<DoseOfBeam>(DISPLAYED, Grade::Preview);
        }
        // A preview is pointless for a result that is final as soon.
        for of in shown.iter().filter(|of| !is_quick || **of != DISPLAYED) {
            submit.all::<DoseOfPlan>(*of, Grade::Preview);
            submit.all::<TextureOf>(*of, Grade::Preview);
            submit.all::<DvhOf>(*of, Grade::Preview);
        }
        if room && !is_quick {
            submit.all::<IsodoseOf>(DISPLAYED, Grade::Preview);
        }
        if compares {
            submit.all::<EstimateOfGamma>(DISPLAYED, Grade::Preview);
        }
        if run && moving {
            return;
        }
        if moving && !is_quick && worker.has_quick() {
            // Threads that wait for a part of a DVH would take up parts of a full dose, and the DVH last as long as those.
            return;
        }
        if own && run {
            state.results.runs += u64::from(submit.all::<RunOfPlan>(DISPLAYED, Grade::Full));
        } else if own {
            submit.full::<DoseOfBeam>(DISPLAYED, is_quick);
        }
        for of in shown {
            submit.full::<DoseOfPlan>(of, is_quick && of == DISPLAYED);
            submit.full::<TextureOf>(of, is_quick && of == DISPLAYED);
            submit.full::<DvhOf>(of, is_quick && of == DISPLAYED);
        }
        if own && !moving {
            submit.all::<DoseOfPlan>(MAPS, Grade::Full);
            submit.all::<DvhOf>(MAPS, Grade::Full);
        }
        if room {
            submit.full::<IsodoseOf>(DISPLAYED, is_quick);
        }
        if compares {
            submit.all::<GammaOfPair>(DISPLAYED, Grade::Full);
            submit.all::<FiguresOfGamma>(DISPLAYED, Grade::Full);
        }
    }
}

/// Whether the next state of a case waits for a job: not where it adds doses up or reads them.
fn comes_first(slot: Slot) -> bool {
    let Slot::Result(place) = slot else { return true };
    let reads = place.is::<DvhOf>() || place.is::<TextureOf>() || place.is::<IsodoseOf>();
    !(place.is::<DoseOfPlan>() || reads)
}

/// Submits requests to the worker.
struct Submitter<'a> {
    results: &'a mut Results,
    worker: &'a Worker,
    /// Jobs of the state before are under way.
    behind: bool,
}

impl Submitter<'_> {
    /// Requests all missing results of one kind for a side; returns whether there were any.
    fn all<Q: Query>(&mut self, of: u8, grade: Grade) -> bool {
        self.submit::<Q>(of, grade, grade == Grade::Preview)
    }

    /// Requests full results, submitted like previews if they are as quick.
    fn full<Q: Query>(&mut self, of: u8, is_quick: bool) {
        self.submit::<Q>(of, Grade::Full, is_quick);
    }

    /// Whether there is a result of a kind for the case as it stands.
    fn has<Q: Query>(&self) -> bool {
        self.results.each::<Q>().any(|(_, node)| node.current().is_some())
    }

    fn submit<Q: Query>(&mut self, of: u8, grade: Grade, is_quick: bool) -> bool {
        let at: Vec<ResultKey> = self.results.each::<Q>().map(|(at, _)| at).filter(|at| at.0 == of).collect();
        let mut asked = false;
        for at in at {
            if let Some((place, task)) = self.results.job::<Q, Answer>(at, grade, is_quick, Answer::Result) {
                let task = if self.behind { task.behind() } else { task };
                self.worker.submit(Slot::Result(place), task);
                asked = true;
            }
        }
        asked
    }
}
