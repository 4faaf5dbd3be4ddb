//! Runner of histories on all cores.

use super::Faults;
use super::run::{Runner, Simulation};
use super::tally::Tally;
use crate::dose::DoseError;
use crate::{Cancelled, JobControl};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the threads' own lattices, at most.
const MOST_BYTES: usize = 4 << 30;

/// Batch of a run.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Number of its first history in the run.
    pub first: u64,
    pub histories: u64,
}

/// A simulation whose histories a thread can run.
pub trait CpuSimulation: Simulation + Sync {
    /// Histories that a thread takes at a time, between which a run is cancelled.
    const CHUNK: u64;

    /// Voxels of the lattice.
    fn voxels(&self) -> usize;

    /// Runs the histories with these numbers in a batch, and adds their quanta to the lattice.
    fn run(&self, batch: Batch, numbers: Range<u64>, quanta: &mut [u64]) -> Faults;
}

/// Histories on all cores: the lattices that threads deposit in, and what batches have added up to.
pub struct OnCpu<S> {
    parts: Vec<Vec<u64>>,
    tally: Option<Tally>,
    faults: Faults,
    simulation: PhantomData<fn(&S)>,
}

impl<S> Default for OnCpu<S> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            tally: None,
            faults: Faults::default(),
            simulation: PhantomData,
        }
    }
}

impl<S: CpuSimulation> Runner for OnCpu<S> {
    type Simulation = S;
    type Error = DoseError;

    fn run(
        &mut self,
        run: &S,
        first: u64,
        histories: u64,
        control: &JobControl,
    ) -> Result<(), DoseError> {
        let voxels = run.voxels();
        if self.parts.is_empty() {
            let parts = rayon::current_num_threads()
                .min(MOST_BYTES / (8 * voxels))
                .max(1);
            self.parts = vec![vec![0; voxels]; parts];
        }
        let batch = Batch { first, histories };
        let next = AtomicU64::new(0);
        self.faults += self
            .parts
            .par_iter_mut()
            .with_max_len(1)
            .map(|quanta| {
                let mut faults = Faults::default();
                loop {
                    control.check()?;
                    let begin = next.fetch_add(S::CHUNK, Ordering::Relaxed);
                    if begin >= histories {
                        return Ok::<_, Cancelled>(faults);
                    }
                    faults += run.run(batch, begin..(begin + S::CHUNK).min(histories), quanta);
                }
            })
            .try_reduce(Faults::default, |a, b| Ok(a + b))?;
        self.tally
            .get_or_insert_with(|| Tally::new(voxels))
            .add(&mut self.parts, histories);
        Ok(())
    }

    fn take(&mut self) -> Result<Tally, DoseError> {
        Ok(self.tally.take().unwrap_or_else(|| Tally::new(0)))
    }

    fn add(&mut self, _: &S, tally: &Tally) -> Result<(), DoseError> {
        self.tally
            .get_or_insert_with(|| Tally::new(tally.sum.len()))
            .add_all(tally);
        Ok(())
    }

    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), DoseError> {
        Ok(self.tally.as_ref().map(Tally::means).unwrap_or_default())
    }

    fn device(&self) -> String {
        format!("cpu ({} threads)", rayon::current_num_threads())
    }

    fn faults(&self) -> Faults {
        self.faults
    }
}

#[cfg(test)]
impl<S: CpuSimulation> super::Sharing for OnCpu<S> {
    fn hand_over(&mut self, to: &mut Self) -> Result<(), DoseError> {
        let Some(from) = self.tally.take() else {
            return Ok(());
        };
        to.tally
            .get_or_insert_with(|| Tally::new(from.sum.len()))
            .add_all(&from);
        Ok(())
    }
}
