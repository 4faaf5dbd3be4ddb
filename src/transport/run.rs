//! Runs of histories on all cores, in batches.

use crate::draws::Draws;
use crate::energy::mev_of_quanta;
use crate::history::Histories;
use crate::ledger::Ledger;
use crate::particle::{Deposit, Kind, Particle, Scorer};
use crate::world::World;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Histories that a thread takes at a time.
const CHUNK: u64 = 2048;

/// Particle as a source emits it.
#[derive(Clone, Copy, Debug)]
pub struct Emission {
    pub kind: Kind,
    /// MeV; taken to the nearest quantum.
    pub energy_mev: f64,
    pub position_cm: DVec3,
    /// Unit vector.
    pub direction: DVec3,
}

/// Source of the first particles of histories.
pub trait Source: Sync {
    fn emit(&self, draws: &mut Draws) -> Emission;
}

/// How many histories, and which.
#[derive(Clone, Copy, Debug)]
pub struct RunLength {
    pub seed: u64,
    pub batches: u64,
    pub histories_per_batch: u64,
}

/// Energies in voxels, with their spread over batches.
#[derive(Clone, Debug)]
pub struct Tally {
    pub length: RunLength,
    pub ledger: Ledger,
    /// MeV a history, of each voxel in each batch.
    by_batch: Vec<Vec<f32>>,
}

/// Mean with its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: f64,
    pub sigma: f64,
}

/// Sums of a run, integers in shared memory: their order does not matter.
struct SharedSums<'a>(&'a [AtomicU64]);

impl Scorer for SharedSums<'_> {
    fn deposit(&mut self, deposit: &Deposit) {
        self.0[deposit.voxel].fetch_add(deposit.quanta, Ordering::Relaxed);
    }
}

/// Runs histories of a source. The result depends on the seed and the histories alone.
pub fn run(world: &World, source: &impl Source, length: RunLength) -> Tally {
    let sums: Vec<AtomicU64> = (0..world.voxels().count())
        .map(|_| AtomicU64::new(0))
        .collect();
    let mut ledger = Ledger::default();
    let mut by_batch = Vec::new();
    for batch in 0..length.batches {
        let first = batch * length.histories_per_batch;
        let last = first + length.histories_per_batch;
        let chunks: Vec<u64> = (first..last).step_by(CHUNK as usize).collect();
        let ledgers: Vec<Ledger> = chunks
            .into_par_iter()
            .map(|start| {
                let mut shared = SharedSums(&sums);
                let mut histories = Histories::new(world, &mut shared);
                for history in start..last.min(start + CHUNK) {
                    histories.run(source_particle(source, length.seed, history));
                }
                histories.ledger()
            })
            .collect();
        ledgers.into_iter().for_each(|part| ledger += part);
        let scale = 1.0 / (length.histories_per_batch as f64 * world.settings().splitting as f64);
        by_batch.push(
            sums.iter()
                .map(|sum| (mev_of_quanta(sum.swap(0, Ordering::Relaxed)) * scale) as f32)
                .collect(),
        );
    }
    Tally {
        length,
        ledger,
        by_batch,
    }
}

/// First particle of a history.
pub fn source_particle(source: &impl Source, seed: u64, history: u64) -> Particle {
    let mut draws = Draws::of_history(seed, history);
    let Emission {
        kind,
        energy_mev,
        position_cm,
        direction,
    } = source.emit(&mut draws);
    Particle {
        kind,
        energy_mev: crate::energy::quantised_mev(energy_mev),
        position_cm,
        direction,
        weight: 1,
        key: draws.key_of_secondary(),
    }
}

impl Tally {
    /// Energy a history in a group of voxels, MeV: batches carry the correlation between them.
    pub fn energy_mev(&self, voxels: &[usize]) -> Estimate {
        let sums = self
            .by_batch
            .iter()
            .map(|batch| voxels.iter().map(|&voxel| f64::from(batch[voxel])).sum());
        Estimate::of_batches(sums)
    }
}

impl Estimate {
    /// Mean of batches and its standard error.
    pub fn of_batches(batches: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = batches.collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            sigma: (squares / (count * (count - 1.0).max(1.0))).sqrt(),
        }
    }
}
