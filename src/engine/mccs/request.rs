//! Monte Carlo convolution/superposition: request and answer.
//!
//! Zhou, Yu, Chen and Hu, "GPU-accelerated Monte Carlo convolution/superposition implementation for dose calculation", Med.
//! Phys. 37, 5593 (2010). Photons are drawn from the sources, followed through the head as weights and to their first interaction
//! in the patient; from there their energy is spread along sampled directions by cumulative kernels. Machine, medium and
//! monitor unit are shared with [`cccs`](crate::cccs).

use crate::dose::DoseTo;
use crate::histories::{RunLength, Until, digest_of_request};
use case::Beam;
use geometry::Grid;
use physics::{Machine, Patient};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How it is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Energies by their share of the energy, directions by equal energy, few of them followed beyond the primary's range.
    #[default]
    Own,
    /// As Zhou 2010: energies by their share of the photons, directions even over the sphere, all followed to the end.
    Paper,
}

/// Directions that a photon is split over, as in the paper.
pub const DIRECTIONS: u32 = 6;
/// Histories of a batch: a quarter of the paper's.
pub const BATCH: u64 = 168_000;

/// Asks for the dose of a plan's beams together: histories are distributed over beams and control points by their photons.
#[derive(Clone, Debug)]
pub struct MccsRequest {
    pub patient: Arc<Patient>,
    pub beams: Vec<(Beam, Arc<Machine>)>,
    /// Grid of the dose: evenly spaced, any orientation.
    pub grid: Arc<Grid>,
    pub dose_to: DoseTo,
    pub length: RunLength,
    /// Equal seeds give equal doses, whatever the number of threads or cards.
    pub seed: u64,
    /// Directions that a photon is split over, 1 to 24.
    pub directions: u32,
    pub variant: Variant,
}

impl MccsRequest {
    /// A run of `histories` histories on the grid of the patient, without intermediate doses.
    pub fn of_histories(
        patient: &Arc<Patient>,
        beams: Vec<(Beam, Arc<Machine>)>,
        histories: u64,
        batch: u64,
    ) -> Self {
        Self {
            patient: Arc::clone(patient),
            beams,
            grid: Arc::clone(patient.mass_density_g_cm3.grid()),
            dose_to: DoseTo::Medium,
            length: RunLength {
                until: Until::Histories(histories),
                batch,
                show_every: Duration::MAX,
            },
            seed: 1,
            directions: DIRECTIONS,
            variant: Variant::Own,
        }
    }

    /// Equal requests have equal digests: the volumes by identity, the rest by value.
    pub fn digest(&self) -> String {
        let MccsRequest {
            patient,
            beams,
            grid,
            dose_to,
            length,
            seed,
            directions,
            variant,
        } = self;
        // Doses on the way do not change the last one.
        let RunLength { until, batch, .. } = length;
        let settings = (dose_to, until, batch, seed, directions, variant);
        digest_of_request(patient, beams, grid, settings)
    }
}
