//! Request for a pose search, its progress and its answer.

use super::evidence::Evidence;
use super::metric::Metric;
use super::standing::PoseStanding;
use super::view::View;
use case::Pose;
use engine::drr_gradient::AXES;
use geometry::Volume;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Optimiser of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Method {
    /// CMA-ES at the coarse levels, then the gradient method; Powell's where the metric has no gradient.
    #[default]
    Auto,
    /// CMA-ES at every level.
    Cma,
    /// Powell's BOBYQA at every level.
    Powell,
    /// Gauss-Newton steps by the DRR gradients at every level.
    Gradient,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Cma, Self::Powell, Self::Gradient];

    /// The argument of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cma => "cma",
            Self::Powell => "powell",
            Self::Gradient => "gradient",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.word() == word)
            .ok_or_else(|| "it is auto, cma, powell, gradient".to_owned())
    }
}

/// Request for a search.
#[derive(Clone, Debug)]
pub struct Request {
    /// Linear attenuation of the CT, 1/mm.
    pub attenuation: Arc<Volume<f32>>,
    /// One X-ray or two, which are registered together.
    pub views: Vec<View>,
    /// Centre of the poses' rotations, patient LPS, mm: the isocentre as a rule.
    pub centre_mm: DVec3,
    pub start: Pose,
    pub metric: Metric,
    pub method: Method,
    /// Greatest shift and rotation from the start.
    pub reach_mm: f64,
    pub reach_deg: f64,
    /// Numbers of the pose that are fixed.
    pub locked: [bool; AXES],
    /// Share of the pixels compared, above 0 to 1.
    pub share: f64,
    pub seed: u64,
}

impl Request {
    /// A search with the default settings.
    pub fn new(attenuation: Arc<Volume<f32>>, views: Vec<View>, centre_mm: DVec3) -> Self {
        Self {
            attenuation,
            views,
            centre_mm,
            start: Pose::default(),
            metric: Metric::default(),
            method: Method::default(),
            reach_mm: 40.0,
            reach_deg: 25.0,
            locked: [false; AXES],
            share: 1.0,
            seed: 1,
        }
    }
}

/// Progress of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The best pose so far.
    pub pose: Pose,
    /// Its metric at the current level.
    pub metric: f64,
    /// Side of the level's voxels, mm.
    pub side_mm: f64,
    pub drrs: usize,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug)]
pub struct Found {
    pub pose: Pose,
    /// The metric at the start and at the pose found, at the finest level.
    pub before: f64,
    pub after: f64,
    /// DRRs computed in the search; one with derivatives counts once.
    pub drrs: usize,
    /// Figures of the search, without its evidence.
    pub seconds: f64,
    /// Named phases, ms, the evidence the last.
    pub phases_ms: Vec<(String, f64)>,
    /// Numbers at the bound of the search: the true ones may lie beyond.
    pub at_bound: [bool; AXES],
    /// The device of the computation.
    pub device: String,
    pub evidence: Evidence,
    /// Why the pose is no match; empty for one.
    pub doubts: Vec<String>,
}

impl Found {
    /// Standing of the pose.
    pub fn standing(&self) -> PoseStanding {
        if self.doubts.is_empty() {
            return PoseStanding::Found {
                depth_mm: self.evidence.depth_mm,
            };
        }
        PoseStanding::NoMatch {
            why: self.doubts.join("; "),
        }
    }
}

/// The numbers of a pose in words, in their order.
pub const AXIS_WORDS: [&str; AXES] = ["tx", "ty", "tz", "rx", "ry", "rz"];
