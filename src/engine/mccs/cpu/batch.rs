//! Histories of a batch, one after another.

use super::deposit::{Numbers, deposit, deposit_electrons, ray};
use super::flight::{entry, interactions};
use crate::histories::head::PLACE_DELIVERY;
use crate::histories::head::tables::ELECTRON;
use crate::histories::{Batch, CpuSimulation, Faults};
use crate::mccs::request::Variant;
use crate::mccs::simulation::Simulation;
use std::ops::Range;
use transport::philox::{Stream, unit};

impl CpuSimulation for Simulation {
    const CHUNK: u64 = 1024;

    fn voxels(&self) -> usize {
        self.lattice.voxels()
    }

    fn run(&self, batch: Batch, numbers: Range<u64>, quanta: &mut [u64]) -> Faults {
        for n in numbers {
            history(self, batch.first + n, n, batch.histories, quanta);
        }
        Faults::default()
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
        Variant::Own => interactions(run, &particle, &kernel.mu, [n as f32, xi], |k, place| {
            deposit(
                run,
                kernel,
                place,
                &ray(run, kernel, &particle, &mut numbers, k),
                quanta,
            );
        }),
        // All directions from one place.
        Variant::Paper => interactions(run, &particle, &kernel.mu, [1.0, xi], |_, place| {
            (0..n).for_each(|k| {
                deposit(
                    run,
                    kernel,
                    place,
                    &ray(run, kernel, &particle, &mut numbers, k),
                    quanta,
                );
            });
        }),
    }
}
