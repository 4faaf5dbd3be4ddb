//! Accounts of energy, the same result in any order, and splitting that changes no mean.

use super::common::{Beam, tables, with_cut_off};
use glam::DVec3;
use particles::Charge;
use physics::Material;
use transport::run::{Estimate, RunLength, Tally, run};
use transport::tables::Thresholds;
use transport::{Kind, Settings, VoxelGrid, Voxels, World};

/// Water with aluminium, lung, gas and vacuum in it.
fn mixed() -> Voxels {
    let grid = VoxelGrid {
        shape: [8; 3],
        origin_cm: DVec3::new(-4.0, -4.0, 0.0),
        spacing_cm: DVec3::ONE,
        periodic: [false; 3],
    };
    let mut materials = vec![Material::Water; 512];
    let mut densities = vec![1.0; 512];
    for (place, (material, density)) in [
        (2, (Material::Aluminium, 2.7)),
        (3, (Material::Lung, 0.26)),
        (4, (Material::Air, 0.0012)),
        (5, (Material::Titanium, 4.54)),
        (6, (Material::Water, 0.0)),
    ] {
        materials[place * 64..place * 64 + 64].fill(material);
        densities[place * 64..place * 64 + 64].fill(density);
    }
    Voxels::new(grid, materials, densities).expect("voxels")
}

const LENGTH: RunLength = RunLength {
    seed: 9,
    batches: 2,
    histories_per_batch: 5_000,
};

fn run_of(kind: Kind, energy_mev: f64, length: RunLength, settings: Settings) -> Tally {
    let voxels = mixed();
    let world = World::new(&voxels, tables(), settings).expect("a world");
    run(&world, &Beam { kind, energy_mev }, length)
}

/// Photons, electrons and positrons: what comes in is deposited or leaves, to the last quantum, and a vacuum holds nothing.
#[test]
fn every_quantum_is_accounted_for() {
    for kind in [
        Kind::Photon,
        Kind::Charged(Charge::Electron),
        Kind::Charged(Charge::Positron),
    ] {
        for energy_mev in [0.3, 15.0] {
            let settings = Settings::for_thresholds(Thresholds::STANDARD);
            let tally = run_of(kind, energy_mev, LENGTH, settings);
            assert!(tally.ledger.is_closed(), "{kind:?}: {:?}", tally.ledger);
            assert_eq!(tally.ledger.exhausted_particles, 0);
            assert!(tally.ledger.deposited > 0 && tally.ledger.escaped > 0);
            let vacuum: Vec<usize> = (6 * 64..7 * 64).collect();
            assert_eq!(tally.energy_mev(&vacuum).mean, 0.0);
        }
    }
}

/// A source beyond the tables is counted, not transported by the last values of the tables.
#[test]
fn energies_beyond_the_tables_are_refused() {
    for energy_mev in [33.0, f64::NAN, -1.0] {
        let tally = run_of(Kind::Photon, energy_mev, LENGTH, with_cut_off(0.2));
        assert_eq!(tally.ledger.refused_particles, 10_000);
        assert_eq!(tally.ledger.incident, 0);
        assert_eq!(tally.energy_mev(&[0]).mean, 0.0);
    }
}

fn run_on_threads(threads: usize) -> Tally {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads");
    pool.install(|| run_of(Kind::Photon, 6.0, LENGTH, with_cut_off(0.2)))
}

#[test]
fn a_result_depends_on_neither_threads_nor_order() {
    let [alone, together] = [1, 3].map(run_on_threads);
    assert_eq!(alone.ledger, together.ledger);
    for voxel in 0..512 {
        let [alone, together] = [&alone, &together].map(|tally| tally.energy_mev(&[voxel]).mean);
        assert_eq!(alone.to_bits(), together.to_bits());
    }
}

fn run_split(splitting: u64) -> Tally {
    let length = RunLength {
        seed: splitting,
        batches: 20,
        histories_per_batch: 2_000,
    };
    let settings = Settings {
        splitting,
        ..with_cut_off(0.2)
    };
    run_of(Kind::Photon, 6.0, length, settings)
}

/// Energy of the whole and of layers with 5 and 16 virtual collisions for a real one, against none: within four standard errors.
#[test]
fn splitting_keeps_the_mean() {
    let analogue = run_split(1);
    for splitting in [5, 16] {
        let tally = run_split(splitting);
        for layer in [0, 1, 2, 3, 5, 7] {
            let voxels: Vec<usize> = (layer * 64..layer * 64 + 64).collect();
            let [expected, value] = [&analogue, &tally].map(|tally| tally.energy_mev(&voxels));
            assert_alike(
                value,
                expected,
                &format!("splitting {splitting}, layer {layer}"),
            );
        }
        let all_voxels: Vec<usize> = (0..512).collect();
        let [expected, value] = [&analogue, &tally].map(|tally| tally.energy_mev(&all_voxels));
        assert_alike(value, expected, &format!("splitting {splitting}"));
    }
}

#[track_caller]
fn assert_alike(value: Estimate, expected: Estimate, place: &str) {
    let error = value.sigma.hypot(expected.sigma);
    assert!(
        (value.mean - expected.mean).abs() < 4.0 * error,
        "{place}: {value:?} for {expected:?}"
    );
}
