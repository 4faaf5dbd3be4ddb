//! Options of the dose engines, worded once for verbs, Python and the window.

use super::plan_engine::{Engine, MOST_HISTORIES, MonteCarlo};
use case::DoseEngine;
use engine::histories::Until;
use engine::mc::ElectronCut;
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
    pub electron_cut: Option<ElectronCut>,
}

/// Options that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineOptionError {
    #[error(
        "{option} is an option of engines that sample histories ({}), not of {engine}",
        statistical_words()
    )]
    NotStatistical {
        option: &'static str,
        engine: DoseEngine,
    },
    #[error("{option} is an option of {owner}, not of {engine}")]
    OtherEngine {
        option: &'static str,
        owner: DoseEngine,
        engine: DoseEngine,
    },
    #[error("a run ends by histories or by uncertainty: give one of them")]
    TwoEnds,
}

fn statistical_words() -> String {
    DoseEngine::statistical()
        .map(DoseEngine::word)
        .collect::<Vec<_>>()
        .join(", ")
}

impl EngineOptions {
    /// The engine with its settings.
    ///
    /// # Errors
    /// An option of histories for an engine without them, or two ends of a run.
    pub fn engine(&self) -> Result<Engine, EngineOptionError> {
        match Engine::from(self.engine) {
            by_beam @ Engine::ByBeam(_) => match self.option_of_histories() {
                Some(option) => Err(EngineOptionError::NotStatistical {
                    option,
                    engine: self.engine,
                }),
                None => Ok(by_beam),
            },
            Engine::MonteCarlo(usual) => {
                self.check_owners()?;
                let until = match (self.histories, self.uncertainty_percent) {
                    (Some(_), Some(_)) => return Err(EngineOptionError::TwoEnds),
                    (Some(histories), None) => Until::Histories(histories),
                    (None, Some(percent)) => Until::Uncertainty {
                        percent,
                        most: MOST_HISTORIES,
                    },
                    (None, None) => usual.until,
                };
                Ok(Engine::MonteCarlo(MonteCarlo {
                    until,
                    seed: self.seed.unwrap_or(usual.seed),
                    directions: self.directions.unwrap_or(usual.directions),
                    variant: self.variant.unwrap_or(usual.variant),
                    electron_cut: self.electron_cut.unwrap_or(usual.electron_cut),
                    ..usual
                }))
            }
        }
    }

    /// Refuses an option that another engine with histories has.
    fn check_owners(&self) -> Result<(), EngineOptionError> {
        let owned = [
            (
                "directions",
                self.directions.is_some(),
                DoseEngine::MonteCarloConvolution,
            ),
            (
                "variant",
                self.variant.is_some(),
                DoseEngine::MonteCarloConvolution,
            ),
            (
                "electron-cut",
                self.electron_cut.is_some(),
                DoseEngine::MonteCarlo,
            ),
        ];
        let foreign =
            { owned.into_iter() }.find(|(_, is_set, owner)| *is_set && *owner != self.engine);
        match foreign {
            None => Ok(()),
            Some((option, _, owner)) => Err(EngineOptionError::OtherEngine {
                option,
                owner,
                engine: self.engine,
            }),
        }
    }

    /// Name of the first option set that only engines with histories have.
    fn option_of_histories(&self) -> Option<&'static str> {
        let options = [
            ("histories", self.histories.is_some()),
            ("uncertainty", self.uncertainty_percent.is_some()),
            ("seed", self.seed.is_some()),
            ("directions", self.directions.is_some()),
            ("variant", self.variant.is_some()),
            ("electron-cut", self.electron_cut.is_some()),
        ];
        options
            .into_iter()
            .find(|(_, is_set)| *is_set)
            .map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_histories_belong_to_engines_with_histories() {
        for engine in DoseEngine::ALL {
            let plain = EngineOptions {
                engine,
                ..EngineOptions::default()
            };
            assert_eq!(plain.engine().unwrap().kind(), engine);
            let to_percent = EngineOptions {
                uncertainty_percent: Some(2.0),
                ..plain
            };
            for options in [
                to_percent,
                EngineOptions {
                    histories: Some(1000),
                    ..plain
                },
                EngineOptions {
                    seed: Some(1),
                    ..plain
                },
            ] {
                assert_eq!(
                    options.engine().is_ok(),
                    engine.is_statistical(),
                    "{options:?}"
                );
            }
            let both = EngineOptions {
                histories: Some(1000),
                ..to_percent
            };
            assert!(both.engine().is_err());
        }
        for engine in DoseEngine::statistical() {
            let of_convolution = EngineOptions {
                engine,
                directions: Some(12),
                ..EngineOptions::default()
            };
            let is_convolution = engine == DoseEngine::MonteCarloConvolution;
            assert_eq!(of_convolution.engine().is_ok(), is_convolution);
            let of_transport = EngineOptions {
                engine,
                electron_cut: Some(ElectronCut::Kev100),
                ..EngineOptions::default()
            };
            assert_eq!(of_transport.engine().is_ok(), !is_convolution);
        }
        let error = EngineOptions {
            histories: Some(1),
            ..EngineOptions::default()
        }
        .engine()
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "histories is an option of engines that sample histories (mccs, mc), not of cccs"
        );
    }
}
