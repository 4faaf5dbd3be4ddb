//! The Monte Carlo dose of a plan: its settings, the inputs of a run, and its uncertainty.

use super::inputs::{PatientInputs, Settings};
use analysis::{Engine, MOST_HISTORIES, MonteCarlo, Spread, is_computed, percent_words};
use case::{Beam, DoseEngine, Plan};
use engine::dose::Quality;
use engine::histories::Until;
use engine::mc::ElectronCut;
use geometry::PatientPosition;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// Time between two intermediate doses.
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// The engine of a plan, and its Monte Carlo settings, which stay while another engine is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineChoice {
    #[serde(alias = "monte_carlo", deserialize_with = "stored_engine")]
    pub engine: DoseEngine,
    pub ends_at: EndsAt,
    /// Mean relative standard deviation where the dose is above half its maximum.
    pub uncertainty_percent: f64,
    pub histories_million: f64,
    pub seed: u64,
    /// Energy at which electrons end in the engine that transports them.
    pub electron_cut: ElectronCut,
}

/// The end condition of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndsAt {
    #[default]
    Uncertainty,
    Histories,
}

/// Engine of a stored choice: its word, or the flag that took its place in sessions until November 2026.
fn stored_engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DoseEngine, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Engine(DoseEngine),
        IsMonteCarlo(bool),
    }
    Ok(match Stored::deserialize(deserializer)? {
        Stored::Engine(engine) => engine,
        Stored::IsMonteCarlo(true) => DoseEngine::MonteCarloConvolution,
        Stored::IsMonteCarlo(false) => DoseEngine::CollapsedCone,
    })
}

impl Default for EngineChoice {
    fn default() -> Self {
        Self {
            engine: DoseEngine::default(),
            ends_at: EndsAt::default(),
            uncertainty_percent: 1.0,
            histories_million: 50.0,
            seed: 1,
            electron_cut: ElectronCut::default(),
        }
    }
}

impl EngineChoice {
    /// Bounds of [`Self::uncertainty_percent`].
    pub const UNCERTAINTY_PERCENT: std::ops::RangeInclusive<f64> = 0.1..=10.0;
    /// Bounds of [`Self::histories_million`].
    pub const HISTORIES_MILLION: std::ops::RangeInclusive<f64> = 0.01..=100_000.0;

    /// A choice read from a file; values out of bounds become the defaults.
    pub fn sound(self) -> Self {
        let Self {
            uncertainty_percent,
            histories_million,
            ..
        } = Self::default();

        Self {
            uncertainty_percent: within_or(
                &Self::UNCERTAINTY_PERCENT,
                self.uncertainty_percent,
                uncertainty_percent,
            ),
            histories_million: within_or(
                &Self::HISTORIES_MILLION,
                self.histories_million,
                histories_million,
            ),
            ..self
        }
    }

    /// The Monte Carlo settings, where that engine is chosen.
    pub fn how(&self) -> Option<MonteCarlo> {
        let until = match self.ends_at {
            EndsAt::Uncertainty => Until::Uncertainty {
                percent: self.uncertainty_percent,
                most: MOST_HISTORIES,
            },
            EndsAt::Histories => Until::Histories((self.histories_million * 1e6).round() as u64),
        };
        let how = MonteCarlo {
            engine: self.engine,
            until,
            seed: self.seed,
            electron_cut: self.electron_cut,
            show_every: SHOW_EVERY,
            ..MonteCarlo::default()
        };
        self.engine.is_statistical().then_some(how)
    }

    pub fn engine(&self) -> Engine {
        self.how()
            .map_or(Engine::ByBeam(self.engine), Engine::MonteCarlo)
    }
}

fn within_or(range: &std::ops::RangeInclusive<f64>, value: f64, default: f64) -> f64 {
    if range.contains(&value) {
        value
    } else {
        default
    }
}

/// Inputs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInputs {
    pub patient: PatientInputs,
    /// The computed beams, without attributes that do not affect the dose, each with its machine.
    pub beams: Vec<Beam>,
    pub position: PatientPosition,
    pub settings: Settings,
    pub how: MonteCarlo,
}

impl RunInputs {
    pub fn new(patient: &PatientInputs, plan: &Plan, settings: &Settings, how: MonteCarlo) -> Self {
        Self {
            patient: patient.clone(),
            beams: plan
                .beams
                .iter()
                .filter(|b| is_computed(b))
                .map(|b| plan.delivered_beam(b))
                .collect(),
            position: plan.position,
            // Directions of collapsed cone do not affect a Monte Carlo run.
            settings: Settings {
                quality: Quality::default(),
                ..settings.clone()
            },
            how,
        }
    }

    /// Whether a run with these inputs would give the same dose but for the noise.
    pub fn same_dose(&self, other: &Self) -> bool {
        Self {
            how: other.how,
            ..self.clone()
        } == *other
    }
}

/// The statistical uncertainty of a Monte Carlo dose.
#[derive(Clone, Debug)]
pub struct Certainty {
    pub spread: Spread,
    /// Mean relative standard deviation where the dose is above half its maximum; none before the second batch.
    pub uncertainty_percent: Option<f64>,
    pub histories: u64,
}

impl Certainty {
    /// One standard deviation: `± 1.7 %`.
    pub fn percent_words(&self) -> String {
        self.uncertainty_percent
            .map_or("uncertainty not known yet".to_owned(), percent_words)
    }

    /// `12 million histories`.
    pub fn histories_words(&self) -> String {
        let million = self.histories as f64 * 1e-6;
        let digits = if million < 10.0 { 2 } else { 0 };
        format!("{million:.digits$} million histories")
    }
}
