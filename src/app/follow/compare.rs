//! What the Compare workspace follows: the doses A and B, whether they can be compared, their DVHs.

use super::Follow;
use super::ask::missing_dvhs;
use super::standing::{OnView, with_standing};
use super::sum::{ask_sum, sum_work};
use super::work::{self, Answer};
use crate::analysis::{Dvh, check_pair, is_computed};
use crate::app::compare::{Compare, Side, Source};
use crate::app::state::{State, Workspace};
use crate::case::{Case, Dose, DoseStatus, Plan};
use crate::geometry::VolumeId;
use crate::results::{
    self, DvhAnswer, EngineChoice, Node, PatientInputs, Settings, Shown, Standing, SumInputs, Summed,
};
use crate::worker::{Lane, Slot, Task, Worker};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The computed side of the comparison.
#[derive(Debug, Default)]
pub struct Pair {
    sides: [SideState; 2],
    /// Doses of plans that are not on show, by index.
    plans: BTreeMap<usize, Node<OtherPlanInputs, (Arc<Dose>, f64)>>,
    /// Why A and B cannot be compared, or what to know where they can.
    check: Option<(PairKey, Result<Option<String>, String>)>,
}

/// Identities and frames of reference of both doses.
type PairKey = [(VolumeId, String, String); 2];

/// A or B.
#[derive(Debug, Default)]
struct SideState {
    /// What it is, and the plan on show where it belongs to that.
    source: Option<(Source, usize)>,
    sum: Node<SumInputs, Summed>,
    /// The dose as it stands to the case.
    view: OnView,
    /// By structure number; the inputs are the mask's and the dose's.
    dvhs: BTreeMap<u32, Node<(u64, VolumeId), Arc<Dvh>>>,
    /// The dose of the DVH job under way.
    dvh_asked: Option<VolumeId>,
}

/// What the dose of a plan that is not on show is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherPlanInputs {
    patient: PatientInputs,
    plan: Arc<Plan>,
    settings: Settings,
    engine: EngineChoice,
    /// Identity of the contours of the structure it is normalised to.
    normalised_to: Option<u64>,
}

impl Follow {
    /// The dose that is A or B, with the status it has now.
    pub fn side(&self, side: Side) -> Option<&Arc<Dose>> {
        self.pair.sides[side.index()].view.dose.as_ref()
    }

    /// Largest dose of A or B, Gy.
    pub fn side_max_gy(&self, side: Side) -> Option<f64> {
        let own = &self.pair.sides[side.index()];
        let (source, on_show) = own.source.filter(|_| own.view.dose.is_some())?;
        match source {
            Source::Plan(plan) if plan != on_show => Some(self.pair.plans.get(&plan)?.latest()?.1),
            _ => Some(own.sum.latest()?.max_gy),
        }
    }

    /// Why there is no dose A or B, or none that is up to date.
    pub fn side_failure(&self, side: Side) -> Option<&str> {
        self.pair.sides[side.index()].view.trouble.as_deref()
    }

    /// The DVH of a structure in A or B, be it of an earlier state.
    pub fn side_dvh(&self, side: Side, structure: u32) -> Option<&Arc<Dvh>> {
        self.pair.sides[side.index()].dvhs.get(&structure)?.latest()
    }

    /// Whether the DVHs of both sides belong to the doses on show.
    pub fn side_dvhs_current(&self) -> bool {
        self.pair.sides.iter().flat_map(|s| s.dvhs.values()).all(|d| d.now.is_none() || d.current().is_some())
    }

    /// Why A and B cannot be compared; `None` also where one of them is missing.
    pub fn pair_refusal(&self) -> Option<&str> {
        self.pair.check.as_ref()?.1.as_ref().err().map(String::as_str)
    }

    /// What to know of a pair that can be compared.
    pub fn pair_note(&self) -> Option<&str> {
        self.pair.check.as_ref()?.1.as_ref().ok()?.as_deref()
    }

    /// A and B, where both are there and can be compared.
    pub fn pair(&self) -> Option<[&Arc<Dose>; 2]> {
        let pair = [self.side(Side::A)?, self.side(Side::B)?];
        self.pair.check.as_ref().is_some_and(|(_, check)| check.is_ok()).then_some(pair)
    }

    /// What the comparison is worth: the worse of the two.
    pub fn pair_status(&self) -> Option<DoseStatus> {
        self.pair().map(|[a, b]| a.status.worst(b.status))
    }

    /// Whether a dose of the pair is not that of the case as it stands: what is found from them is not either.
    pub(super) fn pair_is_behind(&self) -> bool {
        self.pair_status().is_some_and(|s| matches!(s, DoseStatus::Stale | DoseStatus::Failed))
    }

    /// The doses that can be A or B, with their labels and what they are worth.
    pub fn sources(&self, case: &Case, on_show: usize) -> Vec<(Source, String, Option<DoseStatus>)> {
        let mut sources = Vec::new();
        for (index, plan) in case.plans.iter().enumerate().filter(|(_, p)| p.beams.iter().any(is_computed)) {
            let status = if index == on_show {
                self.plan_status(plan)
            } else {
                let wanted = self.pair.plans.get(&index);
                wanted.and_then(|w| Some(w.standing()?.status(w.latest()?.0.status)))
            };
            sources.push((Source::Plan(index), format!("Plan {}", plan.name), status));
            if index == on_show && plan.beams.len() > 1 && !self.is_monte_carlo() {
                sources.extend(plan.beams.iter().filter(|b| is_computed(b)).map(|beam| {
                    let label = format!("Beam {} of {}", beam.name, plan.name);
                    (Source::Beam(beam.number), label, self.alone_status(plan, beam.number))
                }));
            }
        }
        let doses = case.doses.iter().enumerate();
        sources.extend(doses.map(|(n, d)| (Source::Dose(n), label_of(case, n), Some(d.status))));
        sources
    }

    /// Slots whose jobs belong to the case on show.
    pub(super) fn pair_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let plans = self.pair.plans.keys().map(|p| Slot::OtherPlan(*p));
        plans
            .chain([0, 1].into_iter().flat_map(|n| [Slot::Side(n), Slot::SideDvh(n)]))
            .chain([Slot::Gamma, Slot::GammaFigures])
    }

    pub(super) fn take_side(&mut self, side: usize, inputs: SumInputs, result: Summed) {
        self.pair.sides[side].sum.answered(inputs, result);
    }

    pub(super) fn take_other_plan(&mut self, plan: usize, inputs: OtherPlanInputs, dose: (Arc<Dose>, f64)) {
        if let Some(wanted) = self.pair.plans.get_mut(&plan) {
            wanted.answered(inputs, dose);
        }
    }

    pub(super) fn take_side_dvhs(&mut self, side: usize, of: Option<VolumeId>, answers: Vec<DvhAnswer>) {
        super::take::take_dvhs(&mut self.pair.sides[side].dvhs, of, answers);
    }

    pub(super) fn set_side_views(&mut self, views: [OnView; 2]) {
        for (side, view) in self.pair.sides.iter_mut().zip(views) {
            side.view = view;
        }
    }

    /// The dose of the DVH job of a side; with `end` that job is over.
    pub(super) fn side_dvh_asked(&mut self, side: usize, end: bool) -> Option<VolumeId> {
        let asked = &mut self.pair.sides[side].dvh_asked;
        if end { asked.take() } else { *asked }
    }

    pub(super) fn side_failed(&mut self, slot: Slot, why: &str) {
        match slot {
            Slot::Side(side) => self.pair.sides[side].sum.failed(why),
            Slot::OtherPlan(plan) => {
                if let Some(wanted) = self.pair.plans.get_mut(&plan) {
                    wanted.failed(why);
                }
            }
            _ => {}
        }
    }

    pub(super) fn forget_pair_failures(&mut self) {
        self.pair.plans.values_mut().for_each(Node::forget_failure);
        for side in &mut self.pair.sides {
            side.sum.forget_failure();
            side.dvhs.values_mut().for_each(Node::forget_failure);
        }
    }
}

impl State {
    /// 100 % of the comparison in Gy, and its name: one for A and B, after the prescription of A's plan or the maximum
    /// of A.
    pub fn compare_reference(&self) -> Option<(f64, &'static str)> {
        let prescription = |source: Option<Source>| match source {
            Some(Source::Plan(plan)) => self.case().plans.get(plan)?.prescription_gy,
            _ => None,
        };
        let [a, b] = self.compare.sides;
        let own = prescription(a).or_else(|| prescription(b));
        let prescription = own.or_else(|| self.plan().and_then(|p| p.prescription_gy));
        let resolved = self.dose_display.reference.resolve(prescription, self.follow.side_max_gy(Side::A));
        resolved.map(|(gy, name)| (gy, if name == "maximum" { "maximum of A" } else { name }))
    }
}

/// Whether the dose of the plan on show is looked at: not where two other doses are compared, which need not wait for
/// it.
pub(super) fn plan_matters(state: &State) -> bool {
    let own = |source: &Source| match source {
        Source::Plan(plan) => *plan == state.plan,
        Source::Beam(_) => true,
        Source::Dose(_) => false,
    };
    state.workspace != Workspace::Compare || state.compare.sides.iter().flatten().any(own)
}

/// Plans beside the one on show whose doses are wanted.
pub(super) fn plans_wanted(
    workspace: Workspace,
    compare: &Compare,
    on_show: usize,
) -> impl Iterator<Item = usize> + use<> {
    let sides = if workspace == Workspace::Compare { compare.sides } else { [None; 2] };
    sides.into_iter().filter_map(move |source| match source {
        Some(Source::Plan(plan)) if plan != on_show => Some(plan),
        _ => None,
    })
}

/// Asks for the doses that are A and B.
pub(super) fn ask_doses(state: &mut State, worker: &Worker<Answer>) {
    if state.workspace == Workspace::Compare {
        other_plans(state, worker);
        for side in Side::BOTH {
            sum_of_side(state, side, worker);
        }
    }
}

/// Asks for what follows from A and B: their DVHs and gamma.
pub(super) fn ask_what_follows(state: &mut State, worker: &Worker<Answer>) {
    if state.workspace != Workspace::Compare {
        return;
    }
    check(&mut state.follow);
    for side in Side::BOTH {
        dvhs(state, side, worker);
    }
    super::gamma::ask(state, worker);
}

fn other_plans(state: &mut State, worker: &Worker<Answer>) {
    let wanted: Vec<usize> = plans_wanted(state.workspace, &state.compare, state.plan).collect();
    for gone in state.follow.pair.plans.keys().filter(|p| !wanted.contains(p)) {
        worker.cancel(Slot::OtherPlan(*gone));
    }
    state.follow.pair.plans.retain(|plan, _| wanted.contains(plan));
    for index in wanted {
        let inputs = state.other_plan_inputs(index);
        let case = state.history.case();
        let follow = &mut state.follow;
        let entry = follow.pair.plans.entry(index).or_default();
        let (Some(inputs), Some(ct)) = (inputs, &case.ct) else {
            entry.now = None;
            continue;
        };
        let Some(ready) = follow.patient.current().cloned() else {
            if let Some((_, why)) = &follow.patient.failure {
                entry.failure = Some((inputs.clone(), why.clone()));
            }
            entry.now = Some(inputs);
            continue;
        };
        if entry.wants(inputs.clone()) {
            let (ct, structures) = (ct.clone(), case.structures.clone());
            let name = format!("Dose of plan {}", inputs.plan.name);
            let task = Task::restartable(name, move |control| {
                let OtherPlanInputs { plan, settings, engine, .. } = &inputs;
                let dose = work::other_plan(&ct, &structures, plan, settings, *engine, &ready, control)?;
                Ok::<_, String>(Answer::OtherPlan(index, Box::new(inputs.clone()), dose))
            });
            worker.submit(Slot::OtherPlan(index), task.on(Lane::Device));
        }
    }
}

fn sum_of_side(state: &mut State, side: Side, worker: &Worker<Answer>) {
    let source = state.compare.sides[side.index()];
    let key = source.map(|s| (s, state.plan));
    let own = &mut state.follow.pair.sides[side.index()];
    if own.source != key {
        worker.cancel(Slot::Side(side.index()));
        worker.cancel(Slot::SideDvh(side.index()));
        *own = SideState { source: key, ..SideState::default() };
    }
    if let Some(what) = state.shown_of(source) {
        let work = sum_work(state, what);
        let own = &mut state.follow.pair.sides[side.index()];
        ask_sum(&mut own.sum, work, Slot::Side(side.index()), worker);
    }
}

impl OtherPlanInputs {
    /// `patient` is the patient as the case gives it now.
    fn of(state: &State, plan: usize, patient: PatientInputs) -> Option<Self> {
        let (case, follow) = (state.case(), &state.follow);
        let plan_now = case.plans.get(plan)?;
        let structure = plan_now.normalisation.as_ref().and_then(|n| case.structures.normalised_to(n).ok());
        Some(Self {
            patient,
            plan: plan_now.clone(),
            settings: follow.settings.clone(),
            engine: follow.engines.get(&plan).copied().unwrap_or_default(),
            normalised_to: structure.map(|s| s.contours.id()),
        })
    }
}

impl State {
    fn other_plan_inputs(&self, plan: usize) -> Option<OtherPlanInputs> {
        let follow = &self.follow;
        let patient = PatientInputs::of(self.case(), &follow.settings)?;
        OtherPlanInputs::of(self, plan, patient)
    }

    /// What a side is of the plan on show or of a file; `None` where it is the dose of another plan, or nothing.
    fn shown_of(&self, source: Option<Source>) -> Option<Shown> {
        match source? {
            Source::Plan(plan) => (plan == self.plan).then_some(Shown::Plan),
            Source::Beam(beam) => Some(Shown::Beam(beam)),
            Source::Dose(dose) => Some(Shown::Imported(dose)),
        }
    }

    /// A side as it stands to the case.
    pub(super) fn view_of_side(&self, side: Side) -> OnView {
        let source = self.compare.sides[side.index()];
        let own = &self.follow.pair.sides[side.index()];
        if own.source != source.map(|s| (s, self.plan)) {
            return OnView::default();
        }
        let Some(what) = self.shown_of(source) else {
            let Some(Source::Plan(plan)) = source else { return OnView::default() };
            return self.view_of_other_plan(plan);
        };
        let mut view = self.view_of(what, &own.sum);
        if let (Shown::Imported(n), Some(dose)) = (what, &mut view.dose) {
            *dose = with_standing(dose, Standing::Current, Some(label_of(self.case(), n)));
        }
        view
    }

    fn view_of_other_plan(&self, plan: usize) -> OnView {
        let now = self.other_plan_inputs(plan);
        let Some(node) = self.follow.pair.plans.get(&plan) else { return OnView::default() };
        let trouble = node.failure.as_ref().filter(|(inputs, _)| Some(inputs) == now.as_ref());
        let trouble = trouble.map(|(_, why)| why.clone());
        let Some((inputs, (dose, _))) = &node.have else { return OnView { trouble, ..OnView::default() } };
        let standing = match (&now, &trouble) {
            (Some(now), _) if inputs == now => Standing::Current,
            (_, Some(_)) => Standing::Failed,
            _ => Standing::Stale,
        };
        let label = self.case().plans.get(plan).map(|p| format!("Plan {}", p.name));
        OnView { dose: Some(with_standing(dose, standing, label)), standing: Some(standing), trouble }
    }
}

/// The label of a dose of the case, with its number where others are called the same.
fn label_of(case: &Case, index: usize) -> String {
    let Some(dose) = case.doses.get(index) else { return String::new() };
    let same = case.doses.iter().filter(|d| d.label == dose.label).count();
    if same > 1 { format!("{} [{}]", dose.label, index + 1) } else { dose.label.clone() }
}

/// Whether A and B can be compared; found once for a pair.
fn check(follow: &mut Follow) {
    let (Some(a), Some(b)) = (follow.side(Side::A), follow.side(Side::B)) else {
        follow.pair.check = None;
        return;
    };
    let key = [a, b].map(|d| (d.gy.id(), d.frame_of_reference_uid.clone(), d.label.clone()));
    if follow.pair.check.as_ref().is_none_or(|(of, _)| *of != key) {
        let mut check = check_pair(a, b).map_err(|e| format!("A and B cannot be compared: {e}."));
        if a.gy.id() == b.gy.id() {
            check = Ok(Some("A and B are the same dose.".to_owned()));
        }
        follow.pair.check = Some((key, check));
    }
}

fn dvhs(state: &mut State, side: Side, worker: &Worker<Answer>) {
    let n = side.index();
    let Some(dose) = state.follow.side(side).cloned() else {
        state.follow.pair.sides[n].dvhs.clear();
        return;
    };
    let mut known = std::mem::take(&mut state.follow.pair.sides[n].dvhs);
    let missing = missing_dvhs(state, &dose, &mut known);
    let own = &mut state.follow.pair.sides[n];
    own.dvhs = known;
    // DVHs under way are let finish: else, during a drag, none ever would.
    if missing.is_empty() || own.dvh_asked.is_some() {
        return;
    }
    own.dvh_asked = Some(dose.gy.id());
    let task = Task::new(format!("DVH of {}", side.name()), move |control| {
        results::dvhs(&missing, &dose, control).map(|answers| Answer::SideDvhs(n, answers))
    });
    worker.submit(Slot::SideDvh(n), task);
}
