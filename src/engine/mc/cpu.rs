//! Histories on the CPU, by the scalar transport of [`transport`].

use super::simulation::{LEAST_WEIGHT, Simulation, WEIGHT_UNITS};
use crate::dose::DoseTo;
use crate::histories::head::tables::ELECTRON;
use crate::histories::head::{ENGINE_PLACES, PLACE_DELIVERY, Particle};
use crate::histories::{Batch, CpuSimulation, Faults, contaminant};
use glam::DVec3;
use physics::Material;
use std::ops::Range;
use transport::philox::{Stream, unit};
use transport::tables::MaterialTables;
use transport::tables::charged::Column;
use transport::{Deposit, Histories, Kind, Scorer, World};

impl CpuSimulation for Simulation {
    const CHUNK: u64 = 256;

    fn voxels(&self) -> usize {
        self.lattice.voxels()
    }

    fn run(&self, batch: Batch, numbers: Range<u64>, quanta: &mut [u64]) -> Faults {
        let mut sums = LatticeSums {
            to_water: to_water(self),
            quanta,
            voxel: 0,
            waiting: 0,
        };
        let mut histories = Histories::new(self.world(), &mut sums);
        let mut electrons = Vec::new();
        for number in numbers {
            let stream = Stream::new(self.seed, batch.first + number);
            let particle = self.head.sample(stream, number, batch.histories);
            if particle.kind == ELECTRON {
                electrons.push(particle);
            } else if let Some(photon) = photon(&particle, stream) {
                histories.run(photon);
            }
        }
        let ledger = histories.ledger();
        sums.flush();
        for electron in &electrons {
            self.deposit_contaminant(electron, sums.quanta);
        }
        Faults {
            stuck: ledger.exhausted_particles,
            lost: ledger.refused_particles,
        }
    }
}

impl Simulation {
    fn deposit_contaminant(&self, electron: &Particle, quanta: &mut [u64]) {
        let row_at = self.electron_row_at[electron.bin as usize] as usize;
        let row = &self.electron_rows[row_at..][..contaminant::NODES];
        let densities = self.world().voxels().densities_g_cm3();
        contaminant::deposit(&self.lattice, densities, row, electron, quanta);
    }
}

/// Photon of a history with a whole number of units as its weight; none where the roulette takes it.
fn photon(particle: &Particle, stream: Stream) -> Option<transport::Particle> {
    let roulette = f64::from(unit(stream.words(PLACE_DELIVERY)[0]));
    let weight = whole_weight(f64::from(particle.weight) * WEIGHT_UNITS, roulette)?;
    let key = stream.words(ENGINE_PLACES);
    Some(transport::Particle {
        kind: Kind::Photon,
        energy_mev: transport::energy::quantised_mev(f64::from(particle.energy_mev)),
        position_cm: DVec3::from(particle.position_cm.map(f64::from)),
        direction: DVec3::from(particle.direction.map(f64::from)).normalize(),
        weight,
        key: u64::from(key[0]) | u64::from(key[1]) << 32,
    })
}

/// Whole number whose mean over `uniform` is a weight; small weights are [`LEAST_WEIGHT`] or none.
fn whole_weight(weight: f64, uniform: f64) -> Option<u64> {
    if !(weight > 0.0 && weight.is_finite()) {
        return None;
    }
    if weight < LEAST_WEIGHT {
        return (uniform * LEAST_WEIGHT < weight).then_some(LEAST_WEIGHT as u64);
    }
    Some((weight + uniform) as u64)
}

/// Tables of water, where dose to water is scored.
fn to_water(simulation: &Simulation) -> Option<ToWater<'_>> {
    let water = simulation.world().all_tables()[Material::Water as usize]?;
    (simulation.dose_to == DoseTo::Water).then_some(ToWater {
        world: simulation.world(),
        water,
    })
}

/// Ratio of stopping powers by which a deposit in a medium is one in water (Siebers et al., Phys. Med. Biol. 45, 983 (2000)).
struct ToWater<'a> {
    world: &'a World<'static>,
    water: &'a MaterialTables,
}

impl ToWater<'_> {
    fn ratio(&self, deposit: &Deposit) -> f64 {
        let Some(medium) = self.world.tables(deposit.voxel) else {
            return 1.0;
        };
        if medium.material == Material::Water {
            return 1.0;
        }
        stopping_power(self.water, deposit) / stopping_power(medium, deposit)
    }
}

/// Restricted stopping power of what left a deposit, MeV cm2/g.
fn stopping_power(tables: &MaterialTables, deposit: &Deposit) -> f64 {
    tables.charged_at(
        deposit.charge,
        deposit.middle_mev,
        Column::SoftStoppingPower,
    )
}

/// Sums of deposits in a lattice.
struct LatticeSums<'a> {
    quanta: &'a mut [u64],
    to_water: Option<ToWater<'a>>,
    /// Voxel whose last deposits wait to be added at once: a track leaves several in a voxel, and memory is what bounds it.
    voxel: usize,
    waiting: u64,
}

impl LatticeSums<'_> {
    /// Adds what waits.
    fn flush(&mut self) {
        self.quanta[self.voxel] += std::mem::take(&mut self.waiting);
    }
}

impl Scorer for LatticeSums<'_> {
    fn deposit(&mut self, deposit: &Deposit) {
        let quanta = match &self.to_water {
            None => deposit.quanta,
            Some(to_water) => (deposit.quanta as f64 * to_water.ratio(deposit)).round() as u64,
        };
        if deposit.voxel != self.voxel {
            self.flush();
            self.voxel = deposit.voxel;
        }
        self.waiting += quanta;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means over evenly spaced draws are the weights themselves.
    #[test]
    fn whole_weights_keep_their_mean() {
        for weight in [0.03, 1.0, 3.999, 4.0, 16.3, 1234.5678] {
            let count = 100_000;
            let sum: u64 = (0..count)
                .filter_map(|n| whole_weight(weight, (f64::from(n) + 0.5) / f64::from(count)))
                .sum();
            let mean = sum as f64 / f64::from(count);
            assert!((mean - weight).abs() < 1e-4, "{weight}: {mean}");
        }
        assert_eq!(whole_weight(0.0, 0.5), None);
        assert_eq!(whole_weight(f64::NAN, 0.5), None);
    }
}
