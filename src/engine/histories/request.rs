//! End of a run of histories, and its dose.

use case::{Beam, DoseStatus, Receipt};
use geometry::{Grid, Volume};
use physics::{Machine, Patient};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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

/// Dose as it stands after a number of histories.
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
    /// Whether too many particles were lost or stuck for the dose to be final.
    pub is_spoilt: bool,
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

/// Digest of a request for histories, of which `settings` are all others: volumes count by identity, the rest by value.
pub(crate) fn digest_of_request(
    patient: &Patient,
    beams: &[(Beam, Arc<Machine>)],
    grid: &Grid,
    settings: impl Debug,
) -> String {
    let mut hasher = DefaultHasher::new();
    let Patient {
        mass_density_g_cm3,
        material,
        has_couch,
        ..
    } = patient;
    let voxels = format!(
        "{:?} {:?} {has_couch}",
        mass_density_g_cm3.id(),
        material.id()
    );
    format!("{voxels} {beams:?} {grid:?} {settings:?}").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Dose and deviation of every voxel, to the bit.
pub(crate) fn bits(dose: &HistoriesDose) -> Vec<u32> {
    { dose.gy.data().iter() }
        .chain(dose.sigma_gy.data())
        .map(|value| value.to_bits())
        .collect()
}
