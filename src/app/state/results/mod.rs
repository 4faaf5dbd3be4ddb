//! Results of the case: doses, masks, DVHs, gamma, each with its status.
//!
//! `needed.rs` lists the results that the current case needs, `standing.rs` derives the status of each displayed dose.
//! The other modules read.

mod compare;
mod gamma;
mod kept;
mod maps;
mod monte_carlo;
mod needed;
mod plans;
mod rays;
mod register;
mod room;
mod scenarios;
mod standing;
mod stated;

pub use kept::DosesToKeep;
pub use needed::{DISPLAYED, MAPS, ONLY, of_side};
pub use results::{
    Certainty, EndsAt, EngineChoice, GammaByStructure, GammaEstimate, Settings, Shown, Standing,
};
pub use room::{IsodoseSurface, NearHead};
pub use scenarios::ScenarioView;
pub use stated::Stated;

use super::State;
use super::slot::Slot;
use analysis::{Dvh, Ready, beams_left_out, generic_machines, is_computed};
use case::{Case, DoseStatus, Plan, Reservations, Structure, StructureKind};
use compare::SideState;
use geometry::Mask;
use maps::MapsState;
use physics::Machine;
use results::{
    BeamResult, Densities, DoseOfBeam, DoseOfPlan, DvhOf, JobTarget, MachineOf, MaskOf, Node,
    Results, RunOfPlan, Summed,
};
use standing::DisplayedDose;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Doses of all beams computed within this time need no preview, ms.
const QUICK_MS: f64 = 40.0;

/// The computed part of the state.
#[derive(Debug, Default)]
pub struct CaseResults {
    pub settings: Settings,
    pub shown: Shown,
    /// By plan index; plans without an entry use collapsed cone.
    pub engines: BTreeMap<usize, EngineChoice>,
    /// The plan, by index, of the beams, the run and the displayed dose.
    pub(crate) plan: usize,
    pub(crate) nodes: Results,
    /// Number of Monte Carlo runs begun.
    pub(crate) runs: u64,
    /// The number of the run that shall end early and keep its dose.
    keep: Arc<AtomicU64>,
    /// The displayed dose with its standing relative to the case.
    view: DisplayedDose,
    sides: [SideState; 2],
    maps: MapsState,
    /// Why A and B cannot be compared, or the remark on a comparable pair.
    pair: Option<Result<Option<String>, String>>,
    /// Why the displayed plan has no current dose.
    plan_failure: Option<String>,
    /// The displayed plan under set-up errors, where they are shown.
    scenarios: Option<ScenarioView>,
}

impl CaseResults {
    /// Volume of a structure inside the CT; `None` until it is computed.
    pub fn volume_cm3(&self, structure: u32) -> Option<f64> {
        self.mask_node(structure)?.current().map(|m| m.volume_cm3())
    }

    /// The volume before the last change of the contours.
    pub fn former_volume_cm3(&self, structure: u32) -> Option<f64> {
        self.mask_node(structure)?.latest().map(|m| m.volume_cm3())
    }

    /// The mask of a structure on the CT's grid; during a change, the previous one.
    pub fn mask(&self, structure: u32) -> Option<&Arc<Mask>> {
        self.mask_node(structure)?.latest()
    }

    /// Why a structure has no volume.
    pub fn mask_failure(&self, structure: u32) -> Option<&str> {
        self.mask_node(structure)?.failure()
    }

    /// Status of a beam's dose; `None` before it exists. Monte Carlo computes no dose by beam: all beams have the
    /// status of the plan.
    pub fn beam_status(&self, beam: u32) -> Option<DoseStatus> {
        match self.is_monte_carlo() {
            true => self.run_status(|| self.cone_status(beam)),
            false => self.cone_status(beam),
        }
    }

    /// Status of a beam's collapsed-cone dose.
    fn cone_status(&self, beam: u32) -> Option<DoseStatus> {
        let node = self.beam_node(beam)?;
        let computed = node.latest().map_or(DoseStatus::Failed, |r| r.dose.status);
        node.standing().map(|standing| standing.status(computed))
    }

    pub fn beam_failure(&self, beam: u32) -> Option<&str> {
        self.beam_node(beam)?.failure()
    }

    /// Status of the displayed plan's dose: the worst of its beams, failed if it cannot be normalised, partial if beams
    /// are not computed; `None` before all beams have some dose.
    pub fn plan_status(&self, plan: &Plan) -> Option<DoseStatus> {
        let mut beams = plan.beams.iter().filter(|b| is_computed(b)).peekable();
        beams.peek()?;
        let reservations = plan.reservations();
        let own_status = match (&self.plan_failure, beams_left_out(plan)) {
            (Some(_), _) => DoseStatus::Failed,
            (None, Some(_)) => DoseStatus::Partial,
            (None, None) if !reservations.caveats.is_empty() => DoseStatus::Partial,
            (None, None) => DoseStatus::Final,
        };
        // The displayed sum may be older than the beams.
        let sum = self
            .view
            .dose
            .as_ref()
            .filter(|_| self.shown == Shown::Plan);
        let own_status = sum.map_or(own_status, |dose| own_status.worst(dose.status));
        beams
            .map(|b| self.beam_status(b.number))
            .try_fold(own_status, |worst, status| status.map(|s| worst.worst(s)))
    }

    /// Parts of the plan that its displayed dose does not count, a few words each: why it is partial.
    pub fn plan_caveats(&self, plan: &Plan) -> Vec<String> {
        self.plan_reservations(plan).caveats
    }

    /// Caveats and remarks on the plan and on what its displayed dose is made of.
    pub fn plan_reservations(&self, plan: &Plan) -> Reservations {
        let mut reservations = Reservations {
            caveats: beams_left_out(plan).into_iter().collect(),
            remarks: generic_machines(plan),
        };
        reservations.add(&plan.reservations());
        if let Some(dose) = self
            .view
            .dose
            .as_ref()
            .filter(|_| self.shown == Shown::Plan)
        {
            reservations.add(&Reservations {
                caveats: dose.caveats.clone(),
                remarks: dose.remarks.clone(),
            });
        }
        reservations
    }

    /// Status of the dose of a single beam: if the plan is normalised, no better than the plan's status.
    pub fn alone_status(&self, plan: &Plan, beam: u32) -> Option<DoseStatus> {
        let beam_status = self.beam_status(beam)?;
        let plan = plan
            .normalisation
            .as_ref()
            .map(|_| self.plan_status(plan).unwrap_or(DoseStatus::Stale));
        Some(plan.map_or(beam_status, |plan| beam_status.worst(plan)))
    }

    /// Why the displayed plan has no current dose.
    pub fn plan_failure(&self) -> Option<&str> {
        self.plan_failure.as_deref()
    }

    pub fn shown_status(&self) -> Option<DoseStatus> {
        self.shown_dose().map(|d| d.status)
    }

    pub fn shown_max_gy(&self) -> Option<f64> {
        self.shown_dose()
            .and(self.displayed()?.latest())
            .map(|r| r.max_gy)
    }

    /// The DVH of a structure in the displayed dose, possibly of an earlier state.
    pub fn dvh(&self, structure: u32) -> Option<&Arc<Dvh>> {
        self.dvh_of(DISPLAYED, structure)
    }

    /// Status of the DVHs: the status of the dose, or stale if they belong to an earlier dose.
    pub fn dvh_status(&self) -> Option<DoseStatus> {
        Some(self.status_with_dvhs(DISPLAYED, self.shown_status()?))
    }

    /// The status of a dose, or stale if DVHs of its group belong to an earlier dose.
    fn status_with_dvhs(&self, group: u8, status: DoseStatus) -> DoseStatus {
        let nodes = self
            .nodes
            .each::<DvhOf>()
            .filter(|((other, _), node)| *other == group && node.latest().is_some());
        let standings = nodes
            .filter_map(|(_, node)| node.standing())
            .filter(|s| *s != Standing::Failed);
        standings.fold(status, |worst, standing| {
            worst.worst(standing.status(DoseStatus::Final))
        })
    }

    /// Mass density of a CT number.
    pub fn density_g_cm3(&self, hu: f32) -> f64 {
        f64::from(self.settings.hu_table.at(hu).mass_density_g_cm3)
    }

    /// A machine by its name or path; `None` if it cannot be read.
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        let mut nodes = self.nodes.each::<MachineOf>().map(|(_, node)| node);
        let node = nodes.find(|node| node.now().is_some_and(|query| query.name == name))?;
        node.current().map(|machine| &**machine)
    }

    /// Source-axis distance of a machine, mm; 1000 if the machine cannot be read.
    pub fn sad_mm(&self, machine: &str) -> f64 {
        self.machine(machine).map_or(1000.0, |m| m.sad_mm)
    }

    /// Remarks on the body of the dose calculation.
    pub fn body_remarks(&self) -> &[String] {
        self.densities()
            .and_then(Node::current)
            .map(Ready::remarks)
            .unwrap_or_default()
    }

    /// Remarks on HU beyond the table.
    pub fn hu_remarks(&self) -> &[String] {
        self.densities()
            .and_then(Node::current)
            .map(Ready::hu_remarks)
            .unwrap_or_default()
    }

    /// The device of the dose calculation.
    pub fn device_name(&self) -> String {
        let run = self
            .run()
            .filter(|_| self.is_monte_carlo())
            .and_then(Node::latest);
        let run = run.and_then(|r| r.dose.receipt.clone());
        let mut beams = self
            .nodes
            .each::<DoseOfBeam>()
            .filter_map(|(_, node)| node.latest());
        let computed = run.or_else(|| beams.find_map(|r| r.dose.receipt.clone()));
        computed.map_or_else(|| "CPU".to_owned(), |receipt| receipt.device.clone())
    }

    /// The doses that can be displayed, with labels and statuses.
    pub fn choices(
        &self,
        case: &Case,
        plan: Option<&Arc<Plan>>,
    ) -> Vec<(Shown, String, Option<DoseStatus>)> {
        let mut choices = Vec::new();
        if let Some(plan) = plan.filter(|p| !p.beams.is_empty()) {
            choices.push((
                Shown::Plan,
                format!("Plan {}", plan.name),
                self.plan_status(plan),
            ));
            if plan.beams.len() > 1 && !self.is_monte_carlo() {
                for beam in plan.beams.iter().filter(|b| is_computed(b)) {
                    let label = format!("Beam {}", beam.name);
                    choices.push((
                        Shown::Beam(beam.number),
                        label,
                        self.alone_status(plan, beam.number),
                    ));
                }
            }
        }
        if let (Shown::Point(..), Some(dose)) = (self.shown, self.shown_dose()) {
            choices.push((self.shown, dose.label.clone(), Some(dose.status)));
        }
        for (index, dose) in case.doses.iter().enumerate() {
            choices.push((
                Shown::Imported(index),
                dose.label.clone(),
                Some(dose.status),
            ));
        }
        choices
    }

    /// Forgets failures and cancellations, so that the results are requested again.
    pub fn forget_failures(&mut self) {
        self.keep.store(0, Ordering::Relaxed);
        self.nodes.forget_failures();
    }

    /// Marks a result as cancelled by the user.
    pub fn cancelled(&mut self, place: JobTarget) {
        self.nodes.cancelled(place);
    }

    /// Forgets all results, because another case is loaded. Returns the slots of jobs that may still run for the old
    /// one.
    #[must_use]
    pub fn reset(&mut self, plan: usize) -> Vec<Slot> {
        let results = self.nodes.places().map(Slot::Result);
        let slots = results.chain([Slot::Body, Slot::Contouring]).collect();
        *self = Self {
            settings: self.settings.clone(),
            plan,
            ..Self::default()
        };
        slots
    }

    /// Whether the full doses of the beams that have changed are so fast that previews would only delay them.
    pub fn is_quick(&self) -> bool {
        let beams: Vec<_> = self
            .nodes
            .each::<DoseOfBeam>()
            .map(|(_, node)| node)
            .collect();
        let changed = beams
            .iter()
            .filter(|node| node.current().filter(is_full).is_none());
        let durations_ms = changed.map(|node| {
            let receipt = node
                .latest()
                .filter(is_full)
                .and_then(|beam| beam.dose.receipt.as_ref());
            receipt.map_or(f64::INFINITY, |receipt| receipt.total_ms())
        });
        !beams.is_empty() && durations_ms.sum::<f64>() <= QUICK_MS
    }

    fn densities(&self) -> Option<&Node<Densities>> {
        self.nodes.node(ONLY)
    }

    fn mask_node(&self, structure: u32) -> Option<&Node<MaskOf>> {
        self.nodes.node((DISPLAYED, structure))
    }

    fn beam_node(&self, beam: u32) -> Option<&Node<DoseOfBeam>> {
        self.nodes.node((DISPLAYED, beam))
    }

    fn run(&self) -> Option<&Node<RunOfPlan>> {
        self.nodes.node(ONLY)
    }

    /// Whether the displayed dose is not whole because the user has cancelled it, or a dose that it is made of.
    pub fn is_shown_cancelled(&self) -> bool {
        let is_cancelled = self.displayed().is_some_and(Node::is_cancelled)
            || self.run().is_some_and(Node::is_cancelled)
            || self
                .nodes
                .each::<DoseOfBeam>()
                .any(|(_, beam)| beam.is_cancelled());
        is_cancelled && self.view.standing != Some(Standing::Current)
    }

    /// Whether any result of the case was cancelled or ended by the user.
    pub fn is_any_cancelled(&self) -> bool {
        self.nodes.has_cancelled() || self.is_run_kept()
    }

    fn displayed(&self) -> Option<&Node<DoseOfPlan>> {
        self.nodes.node(ONLY)
    }

    fn dvh_of(&self, group: u8, structure: u32) -> Option<&Arc<Dvh>> {
        // A table does not mix rows of two engines: rows of the former engine wait until the one on show has answered.
        let by_run = self
            .nodes
            .node::<DoseOfPlan>((group, 0))?
            .latest()?
            .certainty
            .is_some();
        let answer = self.nodes.node::<DvhOf>((group, structure))?.latest()?;
        (answer.is_monte_carlo == by_run).then_some(&answer.dvh)
    }

    /// The displayed sum, possibly of an earlier state.
    fn summed(&self) -> Option<&Summed> {
        self.displayed()?.latest()
    }
}

fn is_full(beam: &&BeamResult) -> bool {
    beam.dose.status != DoseStatus::Preview
}

impl State {
    /// The visible structures that have a DVH in the displayed dose, in the order of the tree.
    pub fn shown_dvhs(&self) -> Vec<(&Structure, &Dvh)> {
        let shown = self
            .case()
            .structures
            .structures
            .iter()
            .filter(|s| !self.hidden.contains(&s.number));
        let mut dvhs: Vec<(&Structure, &Dvh)> = shown
            .filter_map(|s| Some((s, &**self.results.dvh(s.number)?)))
            .collect();
        dvhs.sort_by_key(|(s, _)| s.kind.min(StructureKind::Organ));
        dvhs
    }

    /// The normalisation of the displayed dose in words, where it is one of the plan as it is: "Normalised: D95% of 'PTV'
    /// is 57.00 Gy".
    pub fn shown_normalisation(&self) -> Option<String> {
        let of_plan = matches!(self.results.shown, Shown::Plan | Shown::Beam(_));
        let plan = self
            .plan()
            .filter(|_| of_plan && self.results.shown_dose().is_some())?;
        let to = plan.normalisation.as_ref()?;
        Some(match self.results.normalisation_factor() {
            Some(factor) if factor.is_provisional() => format!("Not normalised yet: {to}"),
            Some(factor) => {
                format!(
                    "Normalised: {to}, monitor units × {}",
                    factor.worded(4, "", "")
                )
            }
            None => format!("Not normalised: {to}"),
        })
    }

    /// 100 % of the displayed dose in Gy, and its name.
    pub fn reference(&self) -> Option<(f64, &'static str)> {
        let prescription = self.plan().and_then(|p| p.prescription_gy);
        self.dose_display
            .reference
            .resolve(prescription, self.results.shown_max_gy())
    }
}

/// A machine in words: a shipped one's name, a file's name without its folder.
pub fn machine_label(machine: &str) -> &str {
    Path::new(machine)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or(machine)
}

impl State {
    /// The machines to choose from: shipped, named by the plans, or fitted and saved here.
    pub fn machine_names(&self) -> Vec<String> {
        let mut names = Machine::shipped();
        let plans = self.case().plans.iter();
        let of_plans = plans.flat_map(|plan| {
            plan.beams
                .iter()
                .map(|b| plan.machine_of(b))
                .chain([&*plan.machine])
        });
        let saved = self
            .machine_fit
            .answer
            .as_ref()
            .and_then(|answer| answer.saved.as_ref()?.to_str());
        for name in of_plans
            .chain(saved)
            .chain([&*self.machine_fit.chosen.machine])
        {
            if !name.is_empty() && !names.iter().any(|listed| listed == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}
