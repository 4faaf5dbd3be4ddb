//! A batch of histories over threads.

use super::deposit::{Numbers, deposit, deposit_electrons, ray};
use super::flight::{entry, interactions};
use crate::dose::DoseError;
use crate::histories::Runner;
use crate::histories::Tally;
use crate::histories::head::PLACE_DELIVERY;
use crate::histories::head::tables::ELECTRON;
use crate::mccs::request::Variant;
use crate::mccs::simulation::Simulation;
use crate::{Cancelled, JobControl};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use transport::philox::{Stream, unit};

/// Histories that a thread takes at a time.
const CHUNK: u64 = 1024;
/// Bytes of the threads' own lattices, at most.
const MOST_BYTES: usize = 4 << 30;

/// The lattices that threads deposit in, and what batches have added up to.
#[derive(Default)]
pub struct Histories {
    parts: Vec<Vec<u64>>,
    tally: Option<Tally>,
}

impl Runner for Histories {
    type Simulation = Simulation;
    type Error = DoseError;

    fn run(
        &mut self,
        run: &Simulation,
        first: u64,
        batch: u64,
        control: &JobControl,
    ) -> Result<(), DoseError> {
        let voxels = run.lattice.voxels();
        if self.parts.is_empty() {
            let parts = rayon::current_num_threads()
                .min(MOST_BYTES / (8 * voxels))
                .max(1);
            self.parts = vec![vec![0; voxels]; parts];
        }
        let next = AtomicU64::new(0);
        self.parts
            .par_iter_mut()
            .with_max_len(1)
            .try_for_each(|quanta| {
                loop {
                    control.check()?;
                    let begin = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if begin >= batch {
                        return Ok::<_, Cancelled>(());
                    }
                    for n in begin..(begin + CHUNK).min(batch) {
                        history(run, first + n, n, batch, quanta);
                    }
                }
            })?;
        self.tally
            .get_or_insert_with(|| Tally::new(voxels))
            .add(&mut self.parts, batch);
        Ok(())
    }

    fn take(&mut self) -> Result<Tally, DoseError> {
        Ok(self.tally.take().unwrap_or_else(|| Tally::new(0)))
    }

    fn add(&mut self, _: &Simulation, tally: &Tally) -> Result<(), DoseError> {
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
}

#[cfg(test)]
impl crate::histories::Sharing for Histories {
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

/// One history from source to rest.
fn history(run: &Simulation, number: u64, n: u64, batch: u64, quanta: &mut [u64]) {
    let stream = Stream::new(run.seed, number);
    let particle = run.head.sample(stream, n, batch);
    if particle.weight <= 0.0 {
        return;
    }
    let kernel = &run.kernels[particle.bin as usize];
    if particle.kind == ELECTRON {
        if let Some(from) = entry(run, &particle) {
            deposit_electrons(run, kernel, from, &particle, quanta);
        }
        return;
    }
    let xi = unit(stream.words(PLACE_DELIVERY)[0]);
    let n = run.directions;
    let mut numbers = Numbers::new(stream);
    match run.variant {
        // A direction from each of as many places along the photon's way.
        Variant::Own => interactions(run, &particle, &kernel.mu, [n as f32, xi], |k, at| {
            deposit(
                run,
                kernel,
                at,
                &ray(run, kernel, &particle, &mut numbers, k),
                quanta,
            );
        }),
        // All directions from one place.
        Variant::Paper => interactions(run, &particle, &kernel.mu, [1.0, xi], |_, at| {
            (0..n).for_each(|k| {
                deposit(
                    run,
                    kernel,
                    at,
                    &ray(run, kernel, &particle, &mut numbers, k),
                    quanta,
                );
            });
        }),
    }
}
