//! Options of the dose engines, worded once for verbs, Python and the window.

use super::mccs_job::{Engine, MOST_HISTORIES, MonteCarlo};
use case::DoseEngine;
use engine::histories::Until;
use engine::mccs::Variant;
use thiserror::Error;

/// Options of a dose engine, as a verb or Python has them; `None`: the engine's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineOptions {
    pub engine: DoseEngine,
    pub histories: Option<u64>,
    /// Mean relative standard deviation where the dose is above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    pub seed: Option<u64>,
    /// Directions that a photon is split over.
    pub directions: Option<u32>,
    pub variant: Option<Variant>,
}

/// Options that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineOptionError {
    #[error("{option} is an option of engines that sample histories ({}), not of {engine}", with_histories())]
    NotStatistical { option: &'static str, engine: DoseEngine },
    #[error("a run ends by histories or by uncertainty: give one of them")]
    TwoEnds,
}

fn with_histories() -> String {
    let engines: Vec<_> =
        DoseEngine::ALL.into_iter().filter(|engine| engine.is_statistical()).map(DoseEngine::word).collect();
    engines.join(", ")
}

impl EngineOptions {
    /// The engine with its settings.
    ///
    /// # Errors
    /// An end of a run for an engine without histories, or two ends.
    pub fn engine(&self) -> Result<Engine, EngineOptionError> {
        let ends =
            [("histories", self.histories.is_some()), ("uncertainty", self.uncertainty_percent.is_some())];
        match Engine::from(self.engine) {
            by_beam @ Engine::ByBeam(_) => match ends.into_iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => Err(EngineOptionError::NotStatistical { option, engine: self.engine }),
                None => Ok(by_beam),
            },
            Engine::Mccs(usual) => {
                let until = match (self.histories, self.uncertainty_percent) {
                    (Some(_), Some(_)) => return Err(EngineOptionError::TwoEnds),
                    (Some(histories), None) => Until::Histories(histories),
                    (None, Some(percent)) => Until::Uncertainty { percent, most: MOST_HISTORIES },
                    (None, None) => usual.until,
                };
                Ok(Engine::Mccs(MonteCarlo {
                    until,
                    seed: self.seed.unwrap_or(usual.seed),
                    directions: self.directions.unwrap_or(usual.directions),
                    variant: self.variant.unwrap_or(usual.variant),
                    ..usual
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_run_belong_to_engines_with_histories() {
        for engine in DoseEngine::ALL {
            let plain = EngineOptions { engine, ..EngineOptions::default() };
            assert_eq!(plain.engine().unwrap().kind(), engine);
            let to_percent = EngineOptions { uncertainty_percent: Some(2.0), ..plain };
            let of_histories = EngineOptions { histories: Some(1000), ..plain };
            assert_eq!(to_percent.engine().is_ok(), engine.is_statistical());
            assert_eq!(of_histories.engine().is_ok(), engine.is_statistical());
            let both = EngineOptions { histories: Some(1000), ..to_percent };
            assert!(both.engine().is_err());
        }
        let error = EngineOptions { histories: Some(1), ..EngineOptions::default() }.engine().unwrap_err();
        assert_eq!(
            error.to_string(),
            "histories is an option of engines that sample histories (mccs), not of cccs"
        );
    }
}
