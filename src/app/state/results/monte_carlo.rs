//! The Monte Carlo dose of the displayed plan: its status and its uncertainty.

use super::CaseResults;
use super::needed::DISPLAYED;
use crate::state::{About, NoticeKind, State};
use case::DoseStatus;
use results::{Certainty, DvhOf, EngineChoice, Node, RunOfPlan, Settings};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl State {
    /// Ends the current Monte Carlo run and keeps its dose, which stays a preview.
    pub fn keep_run(&mut self) {
        self.results.keep_run();
        let Some(certainty) = self.results.run_certainty() else {
            return;
        };
        let certainty = certainty.percent_words();
        let text = format!(
            "Stopped: the Monte Carlo dose of {certainty} is kept as a preview. 'Compute again' begins it anew."
        );
        self.notices
            .add_about(About::CancelledResult, NoticeKind::Info, text);
    }
}

impl CaseResults {
    /// Engine that a plan, by index, chooses.
    pub fn engine_of(&self, plan: usize) -> EngineChoice {
        self.engines.get(&plan).copied().unwrap_or_default()
    }

    /// Settings of the doses of a plan, by index, with its engine.
    pub fn settings_of(&self, plan: usize) -> Settings {
        self.settings.by(self.engine_of(plan).engine)
    }

    /// Whether the displayed plan is computed by Monte Carlo.
    pub fn is_monte_carlo(&self) -> bool {
        self.run().is_some_and(|node| node.now().is_some())
    }

    /// Uncertainty of the displayed dose, if it is a Monte Carlo dose.
    pub fn certainty(&self) -> Option<&Arc<Certainty>> {
        self.shown_dose().and(self.summed())?.certainty.as_ref()
    }

    /// Uncertainty of the current run so far.
    pub fn run_certainty(&self) -> Option<&Arc<Certainty>> {
        self.run()?.current().map(|r| &r.certainty)
    }

    /// Why there is no Monte Carlo dose.
    pub fn run_failure(&self) -> Option<&str> {
        self.run()?.failure()
    }

    /// Mean relative standard deviation in a structure, percent, if the displayed dose is a Monte Carlo dose.
    pub fn structure_uncertainty_percent(&self, structure: u32) -> Option<f64> {
        self.certainty()?;
        self.nodes
            .node::<DvhOf>((DISPLAYED, structure))?
            .latest()?
            .uncertainty_percent
    }

    /// Ends the current run and keeps its dose.
    fn keep_run(&self) {
        let number = self.run().and_then(Node::now).map(RunOfPlan::number);
        self.keep
            .store(number.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Whether the user has ended the current run and kept its dose.
    pub fn is_run_kept(&self) -> bool {
        let number = self.run().and_then(Node::now).map(RunOfPlan::number);
        number.is_some_and(|number| number == self.keep.load(Ordering::Relaxed))
    }

    /// Status of the Monte Carlo dose; a collapsed-cone dose in its place is a preview.
    pub(super) fn run_status(
        &self,
        stand_in: impl FnOnce() -> Option<DoseStatus>,
    ) -> Option<DoseStatus> {
        let node = self.run();
        let status = node
            .and_then(Node::latest)
            .map_or(DoseStatus::Failed, |r| r.dose.status);
        let status = node
            .and_then(Node::standing)
            .map(|standing| standing.status(status));
        status.or_else(|| stand_in().map(|s| s.worst(DoseStatus::Preview)))
    }
}
