//! What follows an edit: doses, masks, DVHs, each with what it is worth.
//!
//! Every result is kept with the inputs it was made from. A result whose inputs are not those of the case as it
//! stands is stale, and is shown as that until the new one is there. What is missing is asked of the worker, whose
//! slots see to it that the latest request wins.

mod ask;
mod compare;
mod gamma;
mod monte_carlo;
mod standing;
mod sum;
mod take;
pub(super) mod work;

pub use crate::results::{Certainty, EndsAt, EngineChoice, Settings, Shown};
pub use gamma::{Freshness, GammaAnswer};
pub(in crate::app) use take::is_worth_a_line;
pub use work::{Answer, Opened, session_of};

use super::state::State;
use crate::analysis::{Dvh, Ready, UNIT_MU, beams_left_out, is_computed};
use crate::case::{Case, DoseStatus, Plan};
use crate::geometry::{Mask, VolumeId};
use crate::physics::Machine;
use crate::results::{BeamInputs, BeamResult, Board, Node, PatientInputs, Standing, SumInputs, Summed};
use crate::worker::{Slot, Worker};
use compare::Pair;
use gamma::GammaState;
use monte_carlo::Run;
use standing::OnView;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The computed side of the state.
#[derive(Debug, Default)]
pub struct Follow {
    pub settings: Settings,
    pub shown: Shown,
    /// By index of the plan; collapsed cone where there is none.
    pub engines: BTreeMap<usize, EngineChoice>,
    /// The plan, by index, that beams, run and sum are of.
    plan: usize,
    run: Run,
    pair: Pair,
    gamma: GammaState,
    patient: Node<PatientInputs, Ready>,
    /// By beam number.
    beams: BTreeMap<u32, Node<BeamInputs, BeamResult>>,
    /// Shared with the jobs that compute beams.
    board: Arc<Board>,
    on_show: Node<SumInputs, Summed>,
    /// The dose on show as it stands to the case.
    view: OnView,
    /// Why the plan on show has no dose of its own.
    plan_trouble: Option<String>,
    /// By structure number; the inputs are the identity of the contours and the CT they lie on.
    masks: BTreeMap<u32, Node<(u64, VolumeId), Arc<Mask>>>,
    /// By structure number; the inputs are the mask's and the dose's.
    dvhs: BTreeMap<u32, Node<(u64, VolumeId), Arc<Dvh>>>,
    /// Of DVHs of a Monte Carlo dose, by structure number: the run, and the structure's mean relative standard deviation,
    /// percent.
    uncertainties: BTreeMap<u32, (u64, Option<f64>)>,
    /// The dose of the DVH job under way.
    dvh_asked: Option<VolumeId>,
    /// By name, as far as they could be read.
    machines: BTreeMap<String, Option<Arc<Machine>>>,
}

impl Follow {
    /// Volume of a structure inside the CT; `None` while it is being found.
    pub fn volume_cm3(&self, structure: u32) -> Option<f64> {
        self.masks.get(&structure)?.current().map(|m| m.volume_cm3())
    }

    /// The volume as it was before the contours changed last.
    pub fn former_volume_cm3(&self, structure: u32) -> Option<f64> {
        self.masks.get(&structure)?.latest().map(|m| m.volume_cm3())
    }

    /// The mask of a structure on the CT's grid; while it changes, that of a moment ago.
    pub fn mask(&self, structure: u32) -> Option<&Arc<Mask>> {
        self.masks.get(&structure)?.latest()
    }

    /// Why a structure has no volume.
    pub fn mask_failure(&self, structure: u32) -> Option<&str> {
        self.masks.get(&structure)?.failure()
    }

    /// What a beam's dose is worth; `None` before there is any. By Monte Carlo no beam has a dose of its own: all are worth
    /// what the plan is.
    pub fn beam_status(&self, beam: u32) -> Option<DoseStatus> {
        match self.run.on {
            true => self.run_status(|| self.cone_status(beam)),
            false => self.cone_status(beam),
        }
    }

    /// What a beam's collapsed-cone dose is worth.
    fn cone_status(&self, beam: u32) -> Option<DoseStatus> {
        let node = self.beams.get(&beam)?;
        let own = node.latest().map_or(DoseStatus::Failed, |r| r.dose.status);
        node.standing().map(|standing| standing.status(own))
    }

    /// Largest dose of a beam in one fraction of the plan as it stands, Gy; `None` where the normalisation is not known.
    pub fn beam_max_gy(&self, plan: &Plan, beam: &crate::case::Beam) -> Option<f64> {
        let result = self.beams.get(&beam.number).filter(|_| !self.run.on)?.latest()?;
        let mu = match plan.normalisation {
            Some(_) => self.delivered_mu(beam)?.0,
            None => beam.mu,
        };
        Some(result.max_gy * mu / UNIT_MU)
    }

    pub fn beam_failure(&self, beam: u32) -> Option<&str> {
        self.beams.get(&beam)?.failure()
    }

    /// What the dose of the plan on show is worth: the worst of its beams, failed where it cannot be normalised, partial
    /// where beams are not computed; `None` before all beams have some dose.
    pub fn plan_status(&self, plan: &Plan) -> Option<DoseStatus> {
        let mut beams = plan.beams.iter().filter(|b| is_computed(b)).peekable();
        beams.peek()?;
        let whole = match (&self.plan_trouble, beams_left_out(plan)) {
            (Some(_), _) => DoseStatus::Failed,
            (None, Some(_)) => DoseStatus::Partial,
            (None, None) => DoseStatus::Final,
        };
        // The sum on show may be behind the beams.
        let sum = self.view.dose.as_ref().filter(|_| self.shown == Shown::Plan);
        let whole = sum.map_or(whole, |dose| whole.worst(dose.status));
        beams
            .map(|b| self.beam_status(b.number))
            .try_fold(whole, |worst, status| status.map(|s| worst.worst(s)))
    }

    /// What the dose of a beam by itself is worth: where the plan is normalised, no more than the plan.
    pub(super) fn alone_status(&self, plan: &Plan, beam: u32) -> Option<DoseStatus> {
        let own = self.beam_status(beam)?;
        let plan = plan.normalisation.as_ref().map(|_| self.plan_status(plan).unwrap_or(DoseStatus::Stale));
        Some(plan.map_or(own, |plan| own.worst(plan)))
    }

    /// Why the plan on show has no dose of its own.
    pub fn plan_trouble(&self) -> Option<&str> {
        self.plan_trouble.as_deref()
    }

    pub fn shown_status(&self) -> Option<DoseStatus> {
        self.shown_dose().map(|d| d.status)
    }

    pub fn shown_max_gy(&self) -> Option<f64> {
        self.shown_dose().and(self.on_show.latest()).map(|r| r.max_gy)
    }

    /// What a beam delivers in a fraction: its monitor units times what the plan's normalisation asks for. `None`
    /// before that is known; of an earlier state of the plan where it is stale.
    pub fn delivered_mu(&self, beam: &crate::case::Beam) -> Option<(f64, Standing)> {
        self.normalisation_factor().map(|(factor, standing)| (beam.mu * factor, standing))
    }

    /// The DVH of a structure in the dose on show, be it of an earlier state.
    pub fn dvh(&self, structure: u32) -> Option<&Arc<Dvh>> {
        self.dvhs.get(&structure)?.latest()
    }

    /// What the DVHs are worth: the status of the dose, stale where they have not caught up with it.
    pub fn dvh_status(&self) -> Option<DoseStatus> {
        let status = self.shown_status()?;
        let behind =
            || self.dvhs.iter().filter(|(_, d)| d.now.is_some() && d.have.is_some() && d.current().is_none());
        let worth = behind().map(|(number, _)| match self.certainty() {
            // A moment behind a run that goes on.
            Some(c) if self.uncertainties.get(number).is_some_and(|(run, _)| *run == c.run) => {
                DoseStatus::Preview
            }
            _ => DoseStatus::Stale,
        });
        Some(worth.fold(status, DoseStatus::worst))
    }

    /// Mass density of a CT number.
    pub fn density_g_cm3(&self, hu: f32) -> f64 {
        f64::from(self.settings.hu_table.at(hu).mass_density_g_cm3)
    }

    /// A machine by its name or path; `None` where it cannot be read.
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.get(name)?.as_deref()
    }

    /// Source-axis distance of a machine, mm; 1000 where the machine cannot be read.
    pub fn sad_mm(&self, machine: &str) -> f64 {
        self.machine(machine).map_or(1000.0, |m| m.sad_mm)
    }

    /// What to know about the body that doses are computed in.
    pub fn body_remarks(&self) -> &[String] {
        self.patient.current().map(Ready::remarks).unwrap_or_default()
    }

    /// Where doses are computed.
    pub fn device_name(&self) -> String {
        let run = self.run.wanted.latest().filter(|_| self.run.on).and_then(|r| r.dose.receipt.clone());
        let beams = || self.beams.values().filter_map(|b| b.latest()).find_map(|r| r.dose.receipt.clone());
        let computed = run.or_else(beams);
        computed.map_or_else(|| "CPU".to_owned(), |receipt| receipt.device.clone())
    }

    /// The doses one can show, with their labels and what they are worth.
    pub fn choices(&self, case: &Case, plan: Option<&Arc<Plan>>) -> Vec<(Shown, String, Option<DoseStatus>)> {
        let mut choices = Vec::new();
        if let Some(plan) = plan.filter(|p| !p.beams.is_empty()) {
            choices.push((Shown::Plan, format!("Plan {}", plan.name), self.plan_status(plan)));
            if plan.beams.len() > 1 && !self.run.on {
                for beam in plan.beams.iter().filter(|b| is_computed(b)) {
                    let label = format!("Beam {}", beam.name);
                    choices.push((Shown::Beam(beam.number), label, self.alone_status(plan, beam.number)));
                }
            }
        }
        for (index, dose) in case.doses.iter().enumerate() {
            choices.push((Shown::Imported(index), dose.label.clone(), Some(dose.status)));
        }
        choices
    }

    /// What was cancelled or failed is asked for again.
    pub(super) fn forget_failures(&mut self) {
        self.patient.forget_failure();
        self.on_show.forget_failure();
        self.run.wanted.forget_failure();
        self.beams.values_mut().for_each(Node::forget_failure);
        self.masks.values_mut().for_each(Node::forget_failure);
        self.dvhs.values_mut().for_each(Node::forget_failure);
        self.forget_pair_failures();
        self.forget_gamma_failures();
    }

    /// Forgets all results: another case is on show. What was under way for the old one is cancelled.
    pub(super) fn reset(&mut self, plan: usize, worker: &Worker<Answer>) {
        let beams = self.beams.keys().map(|n| Slot::BeamDose { plan, beam: *n as usize });
        let masks = self.masks.keys().map(|n| Slot::Mask(*n as usize));
        for slot in beams.chain(masks).chain(self.pair_slots()).chain([
            Slot::Patient,
            Slot::MonteCarlo,
            Slot::Shown,
            Slot::Dvh,
            Slot::Body,
        ]) {
            worker.cancel(slot);
        }
        *self = Self { settings: self.settings.clone(), plan, ..Self::default() };
    }
}

impl State {
    /// 100 % of the dose on show in Gy, and its name.
    pub fn reference(&self) -> Option<(f64, &'static str)> {
        let prescription = self.plan().and_then(|p| p.prescription_gy);
        self.dose_display.reference.resolve(prescription, self.follow.shown_max_gy())
    }
}

/// Machines one can choose.
pub fn machine_names() -> Vec<String> {
    Machine::shipped()
}
