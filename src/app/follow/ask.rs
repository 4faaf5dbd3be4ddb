//! What the case needs now and does not have is asked of the worker.

use super::sum::{ask_sum, sum_work};
use super::work::{self, Answer, RunWork};
use super::{Follow, compare};
use crate::analysis::{Dvh, contradiction, is_computed, mask_of};
use crate::app::App;
use crate::app::state::{State, Workspace};
use crate::case::{Beam, Dose};
use crate::engine::JobControl;
use crate::geometry::VolumeId;
use crate::physics::Machine;
use crate::results::{
    self, BeamInputs, DvhWork, Node, PatientInputs, RunInputs, Shown, Standing, Wanted, patient_grid,
};
use crate::worker::{Lane, Slot, Task, Worker};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl App {
    /// Asks for everything that the case as it stands lacks. Cheap where nothing changed.
    pub(in crate::app) fn ask(&mut self) {
        // While something is dragged collapsed cone follows it; Monte Carlo begins where it rests.
        let moving = self.ctx.dragged_id().is_some();
        leave_other_plan(&mut self.state, &self.worker);
        machines(&mut self.state);
        masks(&mut self.state, &self.worker);
        self.ask_register();
        if self.state.workspace == Workspace::Register {
            // No dose is on show: the processors belong to X-rays and DRRs.
            self.state.derive_standing();
            return;
        }
        let own = compare::plan_matters(&self.state);
        patient(&mut self.state, &self.worker);
        post(&self.state, own);
        if own {
            beams(&mut self.state, &self.worker);
            run(&mut self.state, &self.worker, moving);
            let work = sum_work(&self.state, self.state.follow.shown);
            ask_sum(&mut self.state.follow.on_show, work, Slot::Shown, &self.worker);
        }
        compare::ask_doses(&mut self.state, &self.worker);
        self.state.derive_standing();
        if own {
            dvhs(&mut self.state, &self.worker);
        }
        compare::ask_what_follows(&mut self.state, &self.worker);
    }
}

/// Doses of a plan that is no longer on show go: beams of two plans share numbers, and no sum may mix them.
fn leave_other_plan(state: &mut State, worker: &Worker<Answer>) {
    let follow = &mut state.follow;
    let left = std::mem::replace(&mut follow.plan, state.plan);
    if left != state.plan {
        for number in follow.beams.keys() {
            worker.cancel(Slot::BeamDose { plan: left, beam: *number as usize });
        }
        follow.beams.clear();
        follow.board = Arc::default();
        stop_run(follow, worker);
        follow.drop_run();
        follow.on_show = Node::default();
        follow.dvhs.clear();
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
    let Some((grid, images)) = patient_grid(case) else {
        masks.clear();
        return;
    };
    let drawn = case.structures.structures.iter().filter(|s| !s.contours.is_empty());
    let numbers: BTreeSet<u32> = drawn.map(|s| s.number).collect();
    masks.retain(|number, _| numbers.contains(number));
    for structure in case.structures.structures.iter().filter(|s| !s.contours.is_empty()) {
        let number = structure.number;
        let inputs = (structure.contours.id(), images);
        if masks.entry(number).or_default().wants(inputs) {
            let (grid, structure) = (grid.clone(), structure.clone());
            let task = Task::new(format!("Mask of {}", structure.name), move |control| {
                let mask =
                    mask_of(&grid, &structure, control).map_err(|e| format!("{}: {e}", structure.name))?;
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
    let (Some(inputs), Some(ct), true) = (PatientInputs::of(case, &follow.settings), &case.ct, computed)
    else {
        follow.patient.now = None;
        return;
    };
    if follow.patient.wants(inputs.clone()) {
        let (ct, set) = (ct.clone(), case.structures.clone());
        let task = Task::new("Densities of the patient", move |control| {
            let patient = results::patient(&ct, &inputs.hu_table, &set, inputs.choice, control)?;
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
        if wanted.is_settled_for(&now) {
            wanted.now = Some(now);
            continue;
        }
        if let Some(why) = contradiction(plan, beam, ct) {
            wanted.failure = Some((now.clone(), format!("Not computed: {why}.")));
            wanted.now = Some(now);
            continue;
        }
        let Some(patient) = patient.clone() else {
            // Known to be wanted, so that what is there counts as stale; asked for once the densities are made.
            if let Some(why) = follow.patient.failure() {
                wanted.failure = Some((now.clone(), why.to_owned()));
            }
            wanted.now = Some(now);
            continue;
        };
        if wanted.wants(now.clone()) {
            let slot = Slot::BeamDose { plan: state.plan, beam: beam.number as usize };
            let only_preview = now.preview;
            let (name, board) = (beam.name.clone(), Arc::clone(&follow.board));
            let job = Arc::new(move |preview: bool, control: &JobControl| {
                work::beam_and_what_follows(&name, &now, &patient, preview, &board, control)
            });
            let quick = Arc::clone(&job);
            let preview = move |control: &JobControl| quick(true, control);
            let task = if only_preview {
                Task::new(format!("Preview of {}", beam.name), preview).quick()
            } else {
                Task::restartable(format!("Dose of {}", beam.name), move |control| job(false, control))
                    .after_preview(preview)
            };
            worker.submit(slot, task.on(Lane::Device));
        }
    }
}

/// Says what hangs on the beams: the jobs that compute them make it as well.
fn post(state: &State, own: bool) {
    let follow = &state.follow;
    let of_beams = own && !follow.run.on && !matches!(follow.shown, Shown::Imported(_));
    let wanted = || {
        let case = state.case().clone();
        let current = |(number, mask): (&u32, &Node<_, Arc<_>>)| Some((*number, Arc::clone(mask.current()?)));
        let shown = case.structures.structures.iter().filter(|s| !state.hidden.contains(&s.number));
        let dvhs = shown.map(|s| (s.number, s.contours.id())).collect();
        let masks = follow.masks.iter().filter_map(current).collect();
        Wanted { case, plan: state.plan, what: follow.shown, masks, dvhs }
    };
    follow.board.post(of_beams.then(wanted));
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
    if wanted.is_settled_for(&now) {
        wanted.now = Some(now);
        return;
    }
    let contradicts = |beam: &Beam| Some(format!("Not computed: {}.", contradiction(plan, beam, ct)?));
    let wrong = plan.beams.iter().filter(|b| is_computed(b)).find_map(contradicts);
    if let Some(why) = wrong.or_else(|| follow.patient.failure().map(str::to_owned)) {
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
        let task = Task::refining(format!("Monte Carlo of {}", plan.name), move |control, partial| {
            work::monte_carlo(&work, &keep, control, partial)
        });
        worker.submit(Slot::MonteCarlo, task.on(Lane::Device));
    }
}

/// Ends a run that nobody waits for any more.
fn stop_run(follow: &mut Follow, worker: &Worker<Answer>) {
    worker.cancel(Slot::MonteCarlo);
    follow.run.wanted.asked = None;
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
    let task = Task::new("DVH", move |control| results::dvhs(&missing, &dose, control).map(Answer::Dvhs));
    worker.submit(Slot::Dvh, task);
}

/// DVHs, by structure number, with the inputs they are made from: the mask's and the dose's.
type Dvhs = BTreeMap<u32, Node<(u64, VolumeId), Arc<Dvh>>>;

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
        let Some(mask) = state.follow.masks.get(&structure.number) else { continue };
        numbers.insert(structure.number);
        let inputs = (structure.contours.id(), dose.gy.id());
        let wanted = known.entry(structure.number).or_default();
        wanted.now = Some(inputs);
        if let Some(mask) = mask.current().filter(|_| wanted.standing().is_none_or(|s| s == Standing::Stale))
        {
            missing.push(DvhWork {
                structure: structure.number,
                inputs,
                mask: mask.clone(),
                certainty: certainty.cloned(),
            });
        }
    }
    known.retain(|number, _| numbers.contains(number));
    missing
}
