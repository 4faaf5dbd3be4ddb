//! The Monte Carlo dose of the plan on show: how it is wished for, what a run is made from, how sure its dose is.

use super::Follow;
use crate::analysis::{Part, is_computed};
use crate::case::{Dose, DoseStatus, Plan};
use crate::results::{Certainty, Node, RunInputs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A dose of a run, for one fraction, as it stands after so many histories.
#[derive(Clone, Debug)]
pub struct RunResult {
    pub dose: Arc<Dose>,
    pub certainty: Arc<Certainty>,
}

/// The run of the plan on show.
#[derive(Debug, Default)]
pub struct Run {
    /// Whether the plan on show is computed by Monte Carlo.
    pub on: bool,
    pub wanted: Node<RunInputs, RunResult>,
    /// Ends the run under way and keeps its dose.
    keep: Arc<AtomicBool>,
    /// Number of the run asked for last.
    pub number: u64,
    /// Answers still on their way are not taken: the user has no use for them.
    dropped: bool,
}

impl Run {
    /// A fresh handle for a run that is about to begin.
    pub fn begin(&mut self) -> Arc<AtomicBool> {
        self.dropped = false;
        self.number += 1;
        self.keep = Arc::default();
        Arc::clone(&self.keep)
    }

    pub fn take(&mut self, inputs: RunInputs, result: RunResult) {
        if !self.dropped {
            self.wanted.answered(inputs, result);
        }
    }

    /// Whether there is a dose for these inputs that no run would make better.
    pub fn has_whole(&self, inputs: &RunInputs) -> bool {
        let have = self.wanted.have.as_ref().filter(|(have, _)| have == inputs);
        have.is_some_and(|(_, result)| result.dose.status != DoseStatus::Preview)
    }

    /// What the dose of the plan is worth; `None` before there is any.
    fn status(&self) -> Option<DoseStatus> {
        let own = self.wanted.latest().map_or(DoseStatus::Failed, |r| r.dose.status);
        self.wanted.standing().map(|standing| standing.status(own))
    }
}

impl Follow {
    /// Whether the plan on show is computed by Monte Carlo.
    pub fn is_monte_carlo(&self) -> bool {
        self.run.on
    }

    /// How sure the dose on show is, where it is a Monte Carlo dose.
    pub fn certainty(&self) -> Option<&Arc<Certainty>> {
        self.shown_dose().and(self.on_show.latest())?.certainty.as_ref()
    }

    /// How sure the run under way is by now.
    pub fn run_certainty(&self) -> Option<&Arc<Certainty>> {
        self.run.wanted.current().map(|r| &r.certainty)
    }

    /// Why there is no Monte Carlo dose.
    pub fn run_failure(&self) -> Option<&str> {
        self.run.wanted.failure().filter(|_| self.run.on)
    }

    /// Mean relative standard deviation in a structure, percent, where the dose on show is a Monte Carlo dose.
    pub fn structure_uncertainty_percent(&self, structure: u32) -> Option<f64> {
        self.certainty()?;
        self.uncertainties.get(&structure)?.1
    }

    /// Ends the run under way; its dose stays as it is.
    pub(in crate::app) fn keep_run(&self) {
        self.run.keep.store(true, Ordering::Relaxed);
    }

    /// The user has cancelled the run: its dose goes.
    pub(in crate::app) fn drop_run(&mut self) {
        self.run.dropped = true;
        self.run.wanted.have = None;
    }

    /// What the Monte Carlo dose is worth; a collapsed-cone dose that stands in for it is a preview.
    pub(super) fn run_status(&self, stand_in: impl FnOnce() -> Option<DoseStatus>) -> Option<DoseStatus> {
        self.run.status().or_else(|| stand_in().map(|s| s.worst(DoseStatus::Preview)))
    }

    /// The Monte Carlo dose as the only part of the plan's, with what it answers. `None` where there is none, or one of an
    /// earlier state and a preview of the present one can stand in for it.
    pub(super) fn run_part(&self, plan: &Plan) -> Option<(&RunInputs, Part, Arc<Certainty>)> {
        let (inputs, result) = self.run.wanted.have.as_ref().filter(|_| self.run.on)?;
        let near = self.run.wanted.now.as_ref().is_some_and(|now| now.same_dose(inputs));
        let mut beams = plan.beams.iter().filter(|b| is_computed(b));
        if !near && beams.all(|b| self.beams.get(&b.number).is_some_and(|w| w.current().is_some())) {
            return None;
        }
        let part = Part { dose: Arc::clone(&result.dose), scale: f64::from(plan.fractions) };
        Some((inputs, part, Arc::clone(&result.certainty)))
    }
}
