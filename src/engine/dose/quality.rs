//! Quality of a beam-by-beam dose, and the mass that it is per.

use case::DoseStatus;
use serde::{Deserialize, Serialize};

/// How many directions the kernels are collapsed onto.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// 40 directions, for a quick answer while something moves.
    Preview,
    /// 48 directions.
    Fast,
    /// 128 directions.
    Standard,
    /// 384 directions, as Xiao 2012 uses.
    #[default]
    Full,
}

impl Quality {
    /// The qualities that a planner may choose.
    pub const NAMED: [Self; 3] = [Self::Fast, Self::Standard, Self::Full];

    pub fn directions(self) -> usize {
        match self {
            // Along 24 directions a preview is hardly faster: frames, sums, isodoses and DVHs take the rest of its time.
            Self::Preview => 40,
            Self::Fast => 48,
            Self::Standard => 128,
            Self::Full => 384,
        }
    }

    /// Steps of an arc at most, degrees: each is delivered from its middle. Edges of small fields show steps of 4 degrees
    /// (`assets/PHYSICS.md`, Assumed); an arc that has a control point each 2 degrees gets a step for each.
    pub fn arc_step_deg(self) -> f64 {
        match self {
            Self::Preview | Self::Fast | Self::Standard => 4.0,
            Self::Full => 2.5,
        }
    }

    /// Status of a dose of this quality.
    pub fn status(self) -> DoseStatus {
        match self {
            Self::Preview => DoseStatus::Preview,
            Self::Fast | Self::Standard => DoseStatus::Coarse,
            Self::Full => DoseStatus::Final,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Fast => "fast",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// The mass by which a voxel's energy is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoseTo {
    /// The voxel's own mass: dose to the medium that is there.
    #[default]
    Medium,
    /// The mass of the water that would attenuate the beam as the voxel does: dose to water.
    Water,
}

impl DoseTo {
    pub fn word(self) -> &'static str {
        match self {
            Self::Medium => "medium",
            Self::Water => "water",
        }
    }
}
