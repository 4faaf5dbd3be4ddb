//! Monte Carlo with electrons: request.

use crate::dose::DoseTo;
use crate::histories::{RunLength, Until, digest_of_request};
use case::Beam;
use geometry::Grid;
use physics::{Machine, Patient};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use transport::tables::Thresholds;

/// Kinetic energy at which electrons end, which is the threshold above which they are produced: one of those for which there are
/// tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ElectronCut {
    /// 200 keV, bremsstrahlung from 50 keV on: voxels of a few mm.
    #[default]
    #[serde(rename = "200")]
    Kev200,
    /// 100 keV, bremsstrahlung from 20 keV on: surfaces and small voxels.
    #[serde(rename = "100")]
    Kev100,
}

impl ElectronCut {
    pub const ALL: [Self; 2] = [Self::Kev200, Self::Kev100];

    pub fn kev(self) -> u32 {
        match self {
            Self::Kev200 => 200,
            Self::Kev100 => 100,
        }
    }

    /// Cut-off of an energy in keV; none between the two that have tables.
    pub fn of_kev(kev: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|cut| cut.kev() == kev)
    }

    pub(super) fn thresholds(self) -> Thresholds {
        match self {
            Self::Kev200 => Thresholds::STANDARD,
            Self::Kev100 => Thresholds::FINE,
        }
    }
}

/// Asks for the dose of a plan's beams together: histories are distributed over beams and control points by their photons.
#[derive(Clone, Debug)]
pub struct McRequest {
    pub patient: Arc<Patient>,
    pub beams: Vec<(Beam, Arc<Machine>)>,
    /// Grid of the dose: evenly spaced, any orientation.
    pub grid: Arc<Grid>,
    pub dose_to: DoseTo,
    /// Its batch is the engine's own, by device.
    pub length: RunLength,
    /// Equal seeds give equal doses, whatever the number of threads or cards.
    pub seed: u64,
    pub electron_cut: ElectronCut,
}

impl McRequest {
    /// Run of a number of histories on the grid of the patient, without intermediate doses.
    pub fn of_histories(
        patient: &Arc<Patient>,
        beams: Vec<(Beam, Arc<Machine>)>,
        histories: u64,
    ) -> Self {
        Self {
            patient: Arc::clone(patient),
            beams,
            grid: Arc::clone(patient.mass_density_g_cm3.grid()),
            dose_to: DoseTo::Medium,
            length: RunLength {
                until: Until::Histories(histories),
                batch: 1,
                show_every: Duration::MAX,
            },
            seed: 1,
            electron_cut: ElectronCut::default(),
        }
    }

    /// Equal requests have equal digests: the volumes by identity, the rest by value.
    pub fn digest(&self) -> String {
        let McRequest {
            patient,
            beams,
            grid,
            dose_to,
            length,
            seed,
            electron_cut,
        } = self;
        let settings = (dose_to, length.until, seed, electron_cut);
        digest_of_request(patient, beams, grid, settings)
    }
}
