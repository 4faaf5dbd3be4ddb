//! What the case needs now and does not have is asked of the worker.

use super::inputs::{self, BeamInputs, PatientInputs, Shown, ShownInputs, UNIT_MU};
use super::monte_carlo::RunInputs;
use super::work::{self, Answer, DvhWork, RunWork, ShownWork};
use super::{Follow, ShownResult, Wanted, compare};
use crate::analysis::{Dvh, Part, body_of, contradiction, is_computed, mask_of};
use crate::app::App;
use crate::app::roi::fingerprint;
use crate::app::state::{State, Workspace};
use crate::case::{Beam, Dose, DoseStatus, Plan};
use crate::engine::Watch;
use crate::geometry::VolumeId;
use crate::physics::Machine;
use crate::worker::{Lane, Slot, Task, Worker};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl<I: Clone + PartialEq, R> Wanted<I, R> {
    /// Sets what is wanted; says whether the worker has to be asked for it, and notes that it will be.
    pub(super) fn wants(&mut self, inputs: I) -> bool {
        let ask = self.asked.as_ref() != Some(&inputs)
            && (self.asked.is_none() || self.have.as_ref().is_none_or(|(have, _)| *have != inputs));
        if ask {
            self.asked = Some(inputs.clone());
        }
        self.now = Some(inputs);
        ask
    }
}

impl App {
    /// Asks for everything that the case as it stands lacks. Cheap where nothing changed.
    pub(super) fn ask(&mut self) {
        // While something is dragged collapsed cone follows it; Monte Carlo begins where it rests.
        let moving = self.ctx.dragged_id().is_some();
        prints(&mut self.state);
        machines(&mut self.state);
        masks(&mut self.state, &self.worker);
        self.ask_register();
        if self.state.workspace == Workspace::Register {
            // No dose is on show: the processors belong to X-rays and DRRs.
            return;
        }
        patient(&mut self.state, &self.worker);
        if compare::plan_matters(&self.state) {
            beams(&mut self.state, &self.worker);
            run(&mut self.state, &self.worker, moving);
            shown(&mut self.state, &self.worker);
            dvhs(&mut self.state, &self.worker);
        }
        compare::ask(&mut self.state, &self.worker);
    }
}

/// Fingerprints of all structures, anew only when some structure changed.
fn prints(state: &mut State) {
    let set = &state.history.case().structures;
    let follow = &mut state.follow;
    if follow.printed.as_ref().is_none_or(|printed| !Arc::ptr_eq(printed, set)) {
        follow.printed = Some(set.clone());
        follow.prints = set.structures.iter().map(|s| (s.number, fingerprint(s))).collect();
    }
}

/// Small files that come with the program, or the user's own: read once each.
fn machines(state: &mut State) {
    let Some(plan) = state.plan().cloned() else { return };
    for beam in &plan.beams {
        let name = plan.machine_of(beam);
        if !state.follow.machines.contains_key(name) {
            let machine = Machine::resolve(name).ok();
            state.follow.machines.insert(name.to_owned(), machine);
        }
    }
}

fn masks(state: &mut State, worker: &Worker<Answer>) {
    let case = state.history.case();
    let masks = &mut state.follow.masks;
    let Some((grid, images)) = inputs::patient_grid(case) else {
        masks.clear();
        return;
    };
    let numbers: BTreeSet<u32> = case.structures.structures.iter().map(|s| s.number).collect();
    masks.retain(|number, _| numbers.contains(number));
    for structure in case.structures.structures.iter().filter(|s| !s.contours.is_empty()) {
        let number = structure.number;
        let Some(&print) = state.follow.prints.get(&number) else { continue };
        let inputs = (print, images);
        if masks.entry(number).or_default().wants(inputs) {
            let (grid, structure) = (grid.clone(), structure.clone());
            let task = Task::new(format!("Mask of {}", structure.name), move |watch| {
                let mask =
                    mask_of(&grid, &structure, watch).map_err(|e| format!("{}: {e}", structure.name))?;
                Ok::<_, String>(Answer::Mask { structure: number, inputs, mask: Arc::new(mask) })
            });
            worker.submit(Slot::Mask(number as usize), task);
        }
    }
}

fn patient(state: &mut State, worker: &Worker<Answer>) {
    let case = state.history.case();
    let other = compare::plans_wanted(state.workspace, &state.compare, state.plan);
    let own = compare::plan_matters(state).then_some(state.plan);
    let follow = &mut state.follow;
    let mut plans = other.chain(own).filter_map(|p| case.plans.get(p));
    let computed = plans.any(|p| p.beams.iter().any(is_computed));
    let (Some(inputs), Some(ct), true) =
        (PatientInputs::of(case, &follow.settings, &follow.prints), &case.ct, computed)
    else {
        follow.patient.now = None;
        return;
    };
    if follow.patient.wants(inputs.clone()) {
        let (ct, body) = (ct.clone(), body_of(&case.structures).cloned());
        let task = Task::new("Densities of the patient", move |watch| {
            let patient = work::patient(&ct, &inputs.hu_table, body.as_ref(), watch)?;
            Ok::<_, String>(Answer::Patient(inputs, patient))
        });
        worker.submit(Slot::Patient, task);
    }
}

fn beams(state: &mut State, worker: &Worker<Answer>) {
    let case = state.history.case();
    let follow = &mut state.follow;
    let (Some(plan), Some(ct)) = (case.plans.get(state.plan), &case.ct) else {
        follow.beams.clear();
        return;
    };
    let numbers: BTreeSet<u32> = plan.beams.iter().filter(|b| is_computed(b)).map(|b| b.number).collect();
    for gone in follow.beams.keys().filter(|number| !numbers.contains(number)) {
        worker.cancel(Slot::BeamDose { plan: state.plan, beam: *gone as usize });
    }
    follow.beams.retain(|number, _| numbers.contains(number));
    let patient = follow.patient.current().cloned();
    let Some(patient_inputs) = follow.patient.now.clone() else { return };
    let preview = follow.engines.get(&state.plan).is_some_and(|e| e.monte_carlo);
    for beam in plan.beams.iter().filter(|b| is_computed(b)) {
        let wanted = follow.beams.entry(beam.number).or_default();
        let full = BeamInputs::of(&patient_inputs, plan, beam, &follow.settings);
        let has_full = wanted.have.as_ref().is_some_and(|(have, _)| *have == full);
        let now = BeamInputs { preview: preview && !has_full, ..full };
        if let Some(why) = contradiction(plan, beam, ct) {
            wanted.failure = Some((now.clone(), format!("Not computed: {why}.")));
            wanted.now = Some(now);
            continue;
        }
        let Some(patient) = &patient else {
            // Known to be wanted, so that what is there counts as stale; asked for once the densities are made.
            if let Some((_, why)) = &follow.patient.failure {
                wanted.failure = Some((now.clone(), why.clone()));
            }
            wanted.now = Some(now);
            continue;
        };
        if wanted.wants(now.clone()) {
            let slot = Slot::BeamDose { plan: state.plan, beam: beam.number as usize };
            let only_preview = now.preview;
            let preview = (beam.name.clone(), now, patient.clone());
            let full = preview.clone();
            let preview = move |watch: &Watch| work::beam(&preview.0, &preview.1, &preview.2, true, watch);
            let task = if only_preview {
                Task::new(format!("Preview of {}", beam.name), preview).quick()
            } else {
                Task::restartable(format!("Dose of {}", beam.name), move |watch| {
                    work::beam(&full.0, &full.1, &full.2, false, watch)
                })
                .after_preview(preview)
            };
            worker.submit(slot, task.on(Lane::Device));
        }
    }
}

/// Asks for a run of the plan on show where it is computed by Monte Carlo.
fn run(state: &mut State, worker: &Worker<Answer>, moving: bool) {
    let case = state.history.case();
    let follow = &mut state.follow;
    let how = follow.engines.get(&state.plan).and_then(|e| e.how());
    let plan = case.plans.get(state.plan).filter(|p| p.beams.iter().any(is_computed));
    let wish = plan.zip(how).zip(case.ct.as_ref()).zip(follow.patient.now.clone());
    let Some((((plan, how), ct), patient)) = wish else {
        if std::mem::take(&mut follow.run.on) {
            stop_run(follow, worker);
            follow.run.wanted.now = None;
        }
        return;
    };
    follow.run.on = true;
    let now = RunInputs::of(&patient, plan, &follow.settings, how);
    if follow.run.wanted.asked.as_ref().is_some_and(|asked| *asked != now) {
        stop_run(follow, worker);
    }
    if follow.run.has_whole(&now) {
        let wanted = &mut follow.run.wanted;
        (wanted.asked, wanted.now) = (Some(now.clone()), Some(now));
        return;
    }
    let wanted = &mut follow.run.wanted;
    let contradicts = |beam: &Beam| Some(format!("Not computed: {}.", contradiction(plan, beam, ct)?));
    let wrong = plan.beams.iter().filter(|b| is_computed(b)).find_map(contradicts);
    if let Some(why) = wrong.or_else(|| follow.patient.failure.as_ref().map(|(_, why)| why.clone())) {
        wanted.failure = Some((now.clone(), why));
        wanted.now = Some(now);
        return;
    }
    let Some(ready) = follow.patient.current().filter(|_| !moving).cloned() else {
        wanted.now = Some(now);
        return;
    };
    if wanted.wants(now.clone()) {
        let keep = follow.run.begin();
        let (ct, structures) = (ct.clone(), case.structures.clone());
        let work = RunWork {
            inputs: now,
            ready,
            ct,
            structures,
            name: plan.name.clone(),
            number: follow.run.number,
        };
        let task = Task::refining(format!("Monte Carlo of {}", plan.name), move |watch, partial| {
            work::monte_carlo(&work, &keep, watch, partial)
        });
        worker.submit(Slot::MonteCarlo, task.on(Lane::Device));
    }
}

/// Ends a run that nobody waits for any more.
fn stop_run(follow: &mut Follow, worker: &Worker<Answer>) {
    worker.cancel(Slot::MonteCarlo);
    follow.run.wanted.asked = None;
}

/// The beams' doses as parts of the plan's. `None` before all have some dose, and where one has failed without any.
fn parts(follow: &Follow, plan: &Plan) -> Option<Vec<(u32, Part)>> {
    let part = |beam: &Beam| {
        let result = follow.beams.get(&beam.number)?.latest()?;
        let scale = f64::from(plan.fractions) * beam.mu / UNIT_MU;
        // What the dose is worth now, not when it was made.
        let mut status = follow.cone_status(beam.number)?;
        if follow.is_monte_carlo() {
            let worst = if follow.run_failure().is_some() { DoseStatus::Failed } else { DoseStatus::Preview };
            status = status.worst(worst);
        }
        let dose = if status == result.dose.status {
            result.dose.clone()
        } else {
            Arc::new(Dose { status, ..(*result.dose).clone() })
        };
        Some((beam.number, Part { dose, scale }))
    };
    plan.beams.iter().filter(|b| is_computed(b)).map(part).collect()
}

fn shown(state: &mut State, worker: &Worker<Answer>) {
    match shown_work(state, state.follow.shown) {
        SumWish::Nothing => {
            state.follow.on_show.now = None;
            if !matches!(state.follow.shown, Shown::Imported(_)) && nothing_to_show(state) {
                state.follow.on_show.have = None;
            }
        }
        SumWish::Cannot(inputs, why) => cannot(&mut state.follow.on_show, inputs, why),
        SumWish::Work(work) => sum(&mut state.follow.on_show, *work, Slot::Shown, worker),
    }
}

/// Notes why there is no sum for these inputs.
pub(super) fn cannot(wanted: &mut Wanted<ShownInputs, ShownResult>, inputs: ShownInputs, why: String) {
    wanted.now = Some(inputs.clone());
    wanted.failure = Some((inputs, why));
}

/// Asks for a sum, and sees to it that the one that is there says what it is worth now.
pub(super) fn sum(
    on_show: &mut Wanted<ShownInputs, ShownResult>,
    work: ShownWork,
    slot: Slot,
    worker: &Worker<Answer>,
) {
    let statuses = work.parts.iter().enumerate().filter(|(i, _)| work.only.is_none_or(|o| o == *i));
    let status = statuses.map(|(_, p)| p.dose.status).fold(DoseStatus::Final, DoseStatus::worst);
    let status = if matches!(work.inputs.what, Shown::Imported(_)) {
        work.parts.first().map_or(status, |p| p.dose.status)
    } else {
        status
    };
    let inputs = work.inputs.clone();
    let run = work.certainty.as_ref().map(|c| c.run);
    let busy = on_show.asked.is_some()
        && on_show.asked != on_show.have.as_ref().map(|(i, _)| i.clone())
        && on_show.failure.as_ref().map(|(i, _)| i) != on_show.asked.as_ref();
    // A sum under way is let finish: else, during a drag, none ever would.
    if busy {
        on_show.now = Some(inputs);
    } else if on_show.wants(inputs) {
        let task = Task::new("Sum of the beams", move |watch| {
            let result = work::shown(&work, watch)?;
            Ok::<_, String>(match slot {
                Slot::Side(side) => Answer::Side(side, work.inputs, result),
                _ => Answer::Shown(work.inputs, result),
            })
        });
        worker.submit(slot, task);
    }
    // The sum may belong to an earlier state, and its parts may have become stale since: it says so.
    let current = on_show.current().is_some();
    let run_on_show = on_show.latest().and_then(|r| r.certainty.as_ref()).map(|c| c.run);
    let behind = if run.is_some() && run == run_on_show { DoseStatus::Preview } else { DoseStatus::Stale };
    if let Some((_, result)) = &mut on_show.have {
        let status = if current { status } else { status.worst(behind) };
        if result.dose.status != status {
            result.dose = Arc::new(Dose { status, ..(*result.dose).clone() });
        }
    }
}

/// Whether there is no plan or no computed beam in it, so that an old sum means nothing.
fn nothing_to_show(state: &State) -> bool {
    state.plan().is_none_or(|p| !p.beams.iter().any(is_computed))
}

/// What has to be added for a dose on show.
pub(super) enum SumWish {
    /// There is none, or not yet.
    Nothing,
    Cannot(ShownInputs, String),
    Work(Box<ShownWork>),
}

/// What has to be added for a dose of the plan on show, or of a file.
pub(super) fn shown_work(state: &State, what: Shown) -> SumWish {
    try_shown_work(state, what).unwrap_or(SumWish::Nothing)
}

fn try_shown_work(state: &State, what: Shown) -> Option<SumWish> {
    let case = state.history.case();
    if let Shown::Imported(index) = what {
        let dose = case.doses.get(index)?.clone();
        let inputs = ShownInputs { what, parts: vec![(dose.gy.id(), 1.0)], normalisation: None };
        let label = dose.label.clone();
        let parts = vec![Part { dose, scale: 1.0 }];
        let work =
            ShownWork { inputs, label, plan: None, parts, only: None, normalisation: None, certainty: None };
        return Some(SumWish::Work(Box::new(work)));
    }
    let plan = case.plans.get(state.plan)?;
    let run = state.follow.run_part(plan).filter(|_| what == Shown::Plan);
    let (parts, certainty) = match run {
        Some((part, certainty)) => (vec![(0, part)], Some(certainty)),
        None => (parts(&state.follow, plan)?, None),
    };
    if parts.is_empty() {
        return None;
    }
    let (label, only) = match what {
        Shown::Beam(number) => {
            let beam = plan.beams.iter().find(|b| b.number == number)?;
            (format!("Beam {}", beam.name), Some(parts.iter().position(|(n, _)| *n == number)?))
        }
        _ => (format!("Plan {}", plan.name), None),
    };
    let mut normalisation = None;
    let mut key = None;
    if let Some(wanted) = &plan.normalisation {
        let structure = case.structures.by_name(&wanted.structure);
        let mask = structure.and_then(|s| state.follow.masks.get(&s.number)?.current().cloned());
        let Some((structure, mask)) = structure.zip(mask) else {
            let why = match structure {
                None => {
                    format!("The plan is normalised to {}, which this case does not have.", wanted.structure)
                }
                Some(s) => match state.follow.mask_failure(s.number) {
                    Some(why) => format!("The plan cannot be normalised: {why}."),
                    None => return None,
                },
            };
            let ids = parts.iter().map(|(_, p)| (p.dose.gy.id(), p.scale)).collect();
            let inputs = ShownInputs { what, parts: ids, normalisation: Some((wanted.clone(), 0)) };
            return Some(SumWish::Cannot(inputs, why));
        };
        let print = state.follow.prints.get(&structure.number).copied().unwrap_or_default();
        key = Some((wanted.clone(), print));
        normalisation = Some((wanted.clone(), mask));
    }
    let ids = parts.iter().map(|(_, p)| (p.dose.gy.id(), p.scale)).collect();
    let parts = parts.into_iter().map(|(_, p)| p).collect();
    let inputs = ShownInputs { what, parts: ids, normalisation: key };
    Some(SumWish::Work(Box::new(ShownWork {
        inputs,
        label,
        plan: Some(plan.clone()),
        parts,
        only,
        normalisation,
        certainty,
    })))
}

fn dvhs(state: &mut State, worker: &Worker<Answer>) {
    let follow = &mut state.follow;
    let Some(dose) = follow.shown_dose().cloned() else {
        follow.dvhs.clear();
        return;
    };
    let mut known = std::mem::take(&mut follow.dvhs);
    let missing = missing_dvhs(state, &dose, &mut known);
    let follow = &mut state.follow;
    follow.dvhs = known;
    // DVHs under way are let finish: else, during a drag, none ever would.
    if missing.is_empty() || follow.dvh_asked.is_some() {
        return;
    }
    follow.dvh_asked = Some(dose.gy.id());
    let task = Task::new("DVH", move |watch| work::dvhs(&missing, &dose, watch).map(Answer::Dvhs));
    worker.submit(Slot::Dvh, task);
}

/// DVHs, by structure number, with the inputs they are made from: the mask's and the dose's.
type Dvhs = BTreeMap<u32, Wanted<(u64, VolumeId), Arc<Dvh>>>;

/// Notes which DVHs are wanted of a dose, and gives those to be made.
pub(super) fn missing_dvhs(state: &State, dose: &Dose, known: &mut Dvhs) -> Vec<DvhWork> {
    let set = &state.case().structures.structures;
    // Of the dose on show alone.
    let certainty = state
        .follow
        .certainty()
        .filter(|_| state.follow.shown_dose().is_some_and(|shown| shown.gy.id() == dose.gy.id()));
    let mut numbers = BTreeSet::new();
    let mut missing = Vec::new();
    for structure in set.iter().filter(|s| !state.hidden.contains(&s.number)) {
        let Some((mask_inputs, mask)) =
            state.follow.masks.get(&structure.number).and_then(|m| m.have.clone())
        else {
            continue;
        };
        numbers.insert(structure.number);
        let inputs = (mask_inputs.0, dose.gy.id());
        let wanted = known.entry(structure.number).or_default();
        wanted.now = Some(inputs);
        let failed = wanted.failure.as_ref().is_some_and(|(i, _)| *i == inputs);
        if wanted.current().is_none() && !failed {
            missing.push(DvhWork {
                structure: structure.number,
                inputs,
                mask,
                certainty: certainty.cloned(),
            });
        }
    }
    known.retain(|number, _| numbers.contains(number));
    missing
}
