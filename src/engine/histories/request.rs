//! End of a run of histories, and its dose.

use case::{DoseStatus, Receipt};
use geometry::Volume;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// At this number.
    Histories(u64),
    /// When the mean relative standard deviation of the voxels with more than half the greatest dose is this, percent, but at
    /// `most` histories.
    Uncertainty { percent: f64, most: u64 },
}

/// Length of a run, and how often its dose is shown.
#[derive(Clone, Copy, Debug)]
pub struct RunLength {
    pub until: Until,
    /// Histories of a batch, at most; there are ten batches at least.
    pub batch: u64,
    /// Time between two intermediate doses.
    pub show_every: Duration,
}

/// A dose as it stands after so many histories.
#[derive(Clone, Debug)]
pub struct HistoriesDose {
    /// Gy for the beams' monitor units (one fraction), on the grid of the request.
    pub gy: Arc<Volume<f32>>,
    /// One standard deviation of each voxel's dose, Gy.
    pub sigma_gy: Arc<Volume<f32>>,
    /// Mean relative standard deviation where the dose is above half its maximum, percent; none before the second batch.
    pub uncertainty_percent: Option<f64>,
    pub histories: u64,
    pub batches: u64,
    /// Preview until the request is met; then final, or coarse where that leaves more than 2 % of uncertainty.
    pub status: DoseStatus,
    pub receipt: Arc<Receipt>,
}

/// Continuation after an intermediate dose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    GoOn,
    /// Stop, with the present dose as the answer.
    Keep,
}
