//! The list of dose engines: window, verbs, Python, files and receipts offer and name what stands here.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Dose engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DoseEngine {
    /// Collapsed-cone convolution/superposition (Xiao 2012).
    #[default]
    #[serde(rename = "cccs")]
    CollapsedCone,
    /// Monte Carlo convolution/superposition (Zhou 2010).
    #[serde(rename = "mccs")]
    MonteCarloConvolution,
    /// Monte Carlo with electrons.
    #[serde(rename = "mc")]
    MonteCarlo,
}

/// A word that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{word}' is no engine; the engines are {}", DoseEngine::ALL.map(DoseEngine::word).join(", "))]
pub struct NoSuchEngine {
    pub word: String,
}

impl DoseEngine {
    pub const ALL: [Self; 3] = [
        Self::CollapsedCone,
        Self::MonteCarloConvolution,
        Self::MonteCarlo,
    ];

    /// Word of the engine on the command line, in Python, files and receipts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CollapsedCone => "cccs",
            Self::MonteCarloConvolution => "mccs",
            Self::MonteCarlo => "mc",
        }
    }

    /// Name of the engine in the window and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CollapsedCone => "Collapsed cone",
            Self::MonteCarloConvolution => "Monte Carlo convolution",
            Self::MonteCarlo => "Monte Carlo with electrons",
        }
    }

    /// Engine of single beams: itself, or for an engine that computes whole plans the one that stands in until its first histories.
    #[must_use]
    pub const fn beam_engine(self) -> Self {
        if self.is_statistical() {
            Self::CollapsedCone
        } else {
            self
        }
    }

    /// Engines that sample histories, in the order of the list.
    pub fn statistical() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|engine| engine.is_statistical())
    }

    /// Whether the engine samples histories: its dose has a statistical uncertainty, refines on screen, and comes from one run of all
    /// beams of a plan. The others compute a plan beam by beam.
    pub const fn is_statistical(self) -> bool {
        match self {
            Self::CollapsedCone => false,
            Self::MonteCarloConvolution | Self::MonteCarlo => true,
        }
    }
}

impl fmt::Display for DoseEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for DoseEngine {
    type Err = NoSuchEngine;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|engine| engine.word() == word);
        named.ok_or_else(|| NoSuchEngine {
            word: word.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_has_one_word_for_verbs_and_files() {
        for engine in DoseEngine::ALL {
            assert_eq!(engine.word().parse(), Ok(engine));
            assert_eq!(
                serde_json::to_string(&engine).unwrap(),
                format!("\"{engine}\"")
            );
        }
        let error = "magic".parse::<DoseEngine>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "'magic' is no engine; the engines are cccs, mccs, mc"
        );
    }
}
