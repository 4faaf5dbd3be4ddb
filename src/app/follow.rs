//! What follows an edit: doses, masks, DVHs, each with what it is worth.

use super::state::State;
use crate::case::{Case, Dose, DoseStatus, Plan};
use std::sync::Arc;

/// How doses are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub grid_mm: f64,
    /// Name of a shipped table.
    pub hu_table: String,
}

/// Machines one can choose.
pub fn machine_names() -> Vec<String> {
    vec!["generic-6mv".to_owned()]
}

/// HU tables one can choose.
pub fn hu_table_names() -> Vec<String> {
    vec!["generic".to_owned()]
}

/// Which dose the views show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// The sum of all beams.
    #[default]
    Plan,
    /// By beam number.
    Beam(u32),
    /// By index among the case's doses.
    Imported(usize),
}

/// The computed side of the state.
#[derive(Debug)]
pub struct Follow {
    pub settings: Settings,
    pub shown: Shown,
}

impl Default for Follow {
    fn default() -> Self {
        Self { settings: Settings { grid_mm: 2.5, hu_table: "generic".to_owned() }, shown: Shown::Plan }
    }
}

impl Follow {
    pub fn volume_cm3(&self, _structure: u32) -> Option<f64> {
        None
    }

    pub fn beam_status(&self, _beam: u32) -> Option<DoseStatus> {
        None
    }

    pub fn beam_max_gy(&self, _beam: u32) -> Option<f64> {
        None
    }

    pub fn beam_failure(&self, _beam: u32) -> Option<&str> {
        None
    }

    pub fn plan_status(&self, _plan: &Plan) -> Option<DoseStatus> {
        None
    }

    pub fn shown_dose(&self) -> Option<&Arc<Dose>> {
        None
    }

    pub fn shown_status(&self) -> Option<DoseStatus> {
        self.shown_dose().map(|d| d.status)
    }

    pub fn shown_max_gy(&self) -> Option<f64> {
        None
    }

    pub fn density_g_cm3(&self, _hu: f32) -> Option<f64> {
        None
    }

    /// Source-axis distance of a machine, mm; 1000 where the machine cannot be read.
    pub fn sad_mm(&self, _machine: &str) -> f64 {
        1000.0
    }

    pub fn device_name(&self) -> &'static str {
        "CPU"
    }

    /// The doses one can show, with their labels and what they are worth.
    pub fn choices(&self, case: &Case, plan: Option<&Arc<Plan>>) -> Vec<(Shown, String, Option<DoseStatus>)> {
        let mut choices = Vec::new();
        if let Some(plan) = plan.filter(|p| !p.beams.is_empty()) {
            choices.push((Shown::Plan, format!("Plan {}", plan.name), self.plan_status(plan)));
        }
        for (index, dose) in case.doses.iter().enumerate() {
            choices.push((Shown::Imported(index), dose.label.clone(), Some(dose.status)));
        }
        choices
    }
}

impl super::App {
    /// Takes the worker's reports over and asks for what is missing now.
    pub(super) fn follow(&mut self) {
        for _report in self.worker.drain() {}
    }
}

impl State {
    /// 100 % of the dose on show in Gy, and its name.
    pub fn reference(&self) -> Option<(f64, &'static str)> {
        let prescription = self.plan().and_then(|p| p.prescription_gy);
        self.dose_display.reference.resolve(prescription, self.follow.shown_max_gy())
    }
}
