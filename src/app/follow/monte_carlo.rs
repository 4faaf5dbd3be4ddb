//! The Monte Carlo dose of the plan on show: how it is wished for, what a run is made from, how sure its dose is.

use super::inputs::{PatientInputs, Settings};
use super::{Follow, Wanted};
use crate::analysis::{Engine, MonteCarlo, Part, Spread, is_computed};
use crate::case::{Beam, Dose, DoseStatus, Plan};
use crate::engine::cccs::Quality;
use crate::engine::mccs::Until;
use crate::geometry::PatientPosition;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long to wait between two doses on the way.
const SHOW_EVERY: Duration = Duration::from_millis(200);
/// No run that ends at an uncertainty takes more histories.
const MOST_HISTORIES: u64 = 100_000_000_000;

/// What a plan is computed with. What is set for Monte Carlo stays while the other engine is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineChoice {
    /// Monte Carlo convolution, not collapsed cone.
    pub monte_carlo: bool,
    pub ends_at: EndsAt,
    /// Mean relative standard deviation where the dose is above half its maximum.
    pub uncertainty_percent: f64,
    pub histories_million: f64,
    pub seed: u64,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndsAt {
    #[default]
    Uncertainty,
    Histories,
}

impl Default for EngineChoice {
    fn default() -> Self {
        Self {
            monte_carlo: false,
            ends_at: EndsAt::default(),
            uncertainty_percent: 1.0,
            histories_million: 50.0,
            seed: 1,
        }
    }
}

impl EngineChoice {
    /// Bounds of [`Self::uncertainty_percent`].
    pub const UNCERTAINTY_PERCENT: std::ops::RangeInclusive<f64> = 0.1..=10.0;
    /// Bounds of [`Self::histories_million`].
    pub const HISTORIES_MILLION: std::ops::RangeInclusive<f64> = 0.01..=100_000.0;

    /// A choice read from a file, with what is out of bounds as it is by default.
    pub fn sound(self) -> Self {
        let Self { uncertainty_percent, histories_million, .. } = Self::default();
        let within = |range: &std::ops::RangeInclusive<f64>, value: f64, otherwise: f64| {
            if range.contains(&value) { value } else { otherwise }
        };
        Self {
            uncertainty_percent: within(
                &Self::UNCERTAINTY_PERCENT,
                self.uncertainty_percent,
                uncertainty_percent,
            ),
            histories_million: within(&Self::HISTORIES_MILLION, self.histories_million, histories_million),
            ..self
        }
    }

    /// How Monte Carlo is run, where it is chosen.
    pub(super) fn how(&self) -> Option<MonteCarlo> {
        let until = match self.ends_at {
            EndsAt::Uncertainty => {
                Until::Uncertainty { percent: self.uncertainty_percent, most: MOST_HISTORIES }
            }
            EndsAt::Histories => Until::Histories((self.histories_million * 1e6).round() as u64),
        };
        let how = MonteCarlo { until, seed: self.seed, show_every: SHOW_EVERY, ..MonteCarlo::default() };
        self.monte_carlo.then_some(how)
    }

    pub(super) fn engine(&self) -> Engine {
        self.how().map_or(Engine::Cccs, Engine::Mccs)
    }
}

/// What a run is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInputs {
    pub patient: PatientInputs,
    /// The computed beams, without what does not bear on the dose, each with its machine.
    pub beams: Vec<Beam>,
    pub position: PatientPosition,
    pub settings: Settings,
    pub how: MonteCarlo,
}

impl RunInputs {
    pub fn of(patient: &PatientInputs, plan: &Plan, settings: &Settings, how: MonteCarlo) -> Self {
        let bare = |beam: &Beam| {
            let machine = Some(plan.machine_of(beam).to_owned());
            Beam { name: String::new(), machine, ..beam.clone() }
        };
        Self {
            patient: patient.clone(),
            beams: plan.beams.iter().filter(|b| is_computed(b)).map(bare).collect(),
            position: plan.position,
            // Directions of collapsed cone are nothing to it.
            settings: Settings { quality: Quality::default(), ..settings.clone() },
            how,
        }
    }

    /// Whether a run from these would end in the same dose but for the noise.
    fn same_dose(&self, other: &Self) -> bool {
        Self { how: other.how, ..self.clone() } == *other
    }
}

/// A dose of a run, for one fraction, as it stands after so many histories.
#[derive(Clone, Debug)]
pub struct RunResult {
    pub dose: Arc<Dose>,
    pub certainty: Arc<Certainty>,
}

/// How sure a Monte Carlo dose is.
#[derive(Clone, Debug)]
pub struct Certainty {
    /// Which run of this session.
    pub run: u64,
    pub spread: Spread,
    /// Mean relative standard deviation where the dose is above half its maximum; none before the second batch.
    pub uncertainty_percent: Option<f64>,
    pub histories: u64,
}

impl Certainty {
    /// One standard deviation: `± 1.7 %`.
    pub fn percent_words(&self) -> String {
        match self.uncertainty_percent {
            Some(percent) if percent < 0.995 => format!("± {percent:.2} %"),
            Some(percent) => format!("± {percent:.1} %"),
            None => "uncertainty not known yet".to_owned(),
        }
    }

    /// `12 million histories`.
    pub fn histories_words(&self) -> String {
        let million = self.histories as f64 * 1e-6;
        let digits = if million < 10.0 { 2 } else { 0 };
        format!("{million:.digits$} million histories")
    }
}

/// The run of the plan on show.
#[derive(Debug, Default)]
pub struct Run {
    /// Whether the plan on show is computed by Monte Carlo.
    pub on: bool,
    pub wanted: Wanted<RunInputs, RunResult>,
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
        if self.wanted.asked.as_ref() == Some(&inputs) && !self.dropped {
            self.wanted.failure = None;
            self.wanted.have = Some((inputs, result));
        }
    }

    /// Whether there is a dose for these inputs that no run would make better.
    pub fn has_whole(&self, inputs: &RunInputs) -> bool {
        let have = self.wanted.have.as_ref().filter(|(have, _)| have == inputs);
        have.is_some_and(|(_, result)| result.dose.status != DoseStatus::Preview)
    }

    /// What the dose of the plan is worth; `None` before there is any.
    fn status(&self) -> Option<DoseStatus> {
        if self.wanted.failure().is_some() {
            return Some(DoseStatus::Failed);
        }
        match (self.wanted.current(), self.wanted.latest()) {
            (Some(result), _) => Some(result.dose.status),
            (None, Some(_)) => Some(DoseStatus::Stale),
            (None, None) => None,
        }
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

    /// The Monte Carlo dose as the only part of the plan's. `None` where there is none, or one of an earlier state and a preview
    /// of the present one can stand in for it.
    pub(super) fn run_part(&self, plan: &Plan) -> Option<(Part, Arc<Certainty>)> {
        let (inputs, result) = self.run.wanted.have.as_ref().filter(|_| self.run.on)?;
        let status = self.run.status()?;
        let near = self.run.wanted.now.as_ref().is_some_and(|now| now.same_dose(inputs));
        let mut beams = plan.beams.iter().filter(|b| is_computed(b));
        if !near && beams.all(|b| self.beams.get(&b.number).is_some_and(|w| w.current().is_some())) {
            return None;
        }
        let dose = if status == result.dose.status {
            Arc::clone(&result.dose)
        } else {
            Arc::new(Dose { status, ..(*result.dose).clone() })
        };
        Some((Part { dose, scale: f64::from(plan.fractions) }, Arc::clone(&result.certainty)))
    }
}
