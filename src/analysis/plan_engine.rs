//! Dose engine of a plan with its settings.

use case::DoseEngine;
use engine::histories::Until;
use engine::mc::ElectronCut;
use engine::mccs::{DIRECTIONS, Variant};
use std::time::Duration;

/// Most histories of a run, whichever way it ends.
pub const MOST_HISTORIES: u64 = 100_000_000_000;

/// Dose engine of a plan with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Engine {
    /// An engine that computes beam by beam.
    ByBeam(DoseEngine),
    /// An engine that samples histories of all beams together.
    MonteCarlo(MonteCarlo),
}

impl Default for Engine {
    fn default() -> Self {
        Self::from(DoseEngine::default())
    }
}

/// Engine with its usual settings.
impl From<DoseEngine> for Engine {
    fn from(engine: DoseEngine) -> Self {
        if engine.is_statistical() {
            Self::MonteCarlo(MonteCarlo {
                engine,
                ..MonteCarlo::default()
            })
        } else {
            Self::ByBeam(engine)
        }
    }
}

impl Engine {
    pub const COLLAPSED_CONE: Self = Self::ByBeam(DoseEngine::CollapsedCone);

    /// The engine without its settings.
    pub fn kind(&self) -> DoseEngine {
        match self {
            Self::ByBeam(engine) => *engine,
            Self::MonteCarlo(run) => run.engine,
        }
    }

    /// Settings of the run, of an engine that samples histories.
    pub fn monte_carlo(&self) -> Option<MonteCarlo> {
        match self {
            Self::ByBeam(_) => None,
            Self::MonteCarlo(run) => Some(*run),
        }
    }

    /// Whether the doses of single beams are known.
    pub fn is_by_beam(&self) -> bool {
        self.monte_carlo().is_none()
    }

    /// The engine with what tells its doses apart, in a sentence about one: `Monte Carlo with electrons, electrons to 200 keV`.
    pub fn method(&self) -> String {
        match self {
            Self::ByBeam(engine) => engine.name().to_lowercase(),
            Self::MonteCarlo(run) if run.engine == DoseEngine::MonteCarlo => format!(
                "{}, electrons to {} keV",
                run.engine.name(),
                run.electron_cut.kev()
            ),
            Self::MonteCarlo(run) => run.engine.name().to_owned(),
        }
    }

    /// The engine with another time between two intermediate answers, where it has such.
    pub fn show_every(self, show_every: Duration) -> Self {
        match self {
            Self::ByBeam(_) => self,
            Self::MonteCarlo(run) => Self::MonteCarlo(MonteCarlo { show_every, ..run }),
        }
    }
}

/// The settings of a Monte Carlo run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarlo {
    /// Engine that samples the histories.
    pub engine: DoseEngine,
    pub until: Until,
    pub seed: u64,
    /// Directions that a photon is split over, of Monte Carlo convolution.
    pub directions: u32,
    /// Sampling of Monte Carlo convolution.
    pub variant: Variant,
    /// Energy at which electrons end in Monte Carlo with electrons.
    pub electron_cut: ElectronCut,
    /// Time between two intermediate answers.
    pub show_every: Duration,
}

impl MonteCarlo {
    /// A run to an uncertainty.
    pub fn to_percent(percent: f64) -> Self {
        Self {
            until: Until::Uncertainty {
                percent,
                most: MOST_HISTORIES,
            },
            ..Self::default()
        }
    }
}

impl Default for MonteCarlo {
    fn default() -> Self {
        Self {
            engine: DoseEngine::MonteCarloConvolution,
            until: Until::Uncertainty {
                percent: 1.0,
                most: MOST_HISTORIES,
            },
            seed: 1,
            directions: DIRECTIONS,
            variant: Variant::Own,
            electron_cut: ElectronCut::default(),
            show_every: Duration::from_millis(300),
        }
    }
}
