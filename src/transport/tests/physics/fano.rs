//! Fano's theorem (Radiation Research 1, 237 (1954)): where electrons start in proportion to the mass, the dose is one number,
//! whatever the densities are.

use super::common::{electron, key, tables, with_cut_off};
use glam::DVec3;
use physics::Material;
use rayon::prelude::*;
use transport::draws::Draws;
use transport::energy::{QUANTUM_MEV, quantised_mev};
use transport::run::Estimate;
use transport::tables::Thresholds;
use transport::{Deposit, Histories, Scorer, Settings, VoxelGrid, Voxels, World, isotropic};

const BATCHES: u64 = 16;
/// Voxels along z, and those in the middle that have the other density.
const VOXELS: usize = 16;
const MIDDLE: std::ops::Range<usize> = 4..12;
const SPACING_CM: f64 = 0.25;

struct Sums(Vec<f64>);

impl Scorer for Sums {
    fn deposit(&mut self, deposit: &Deposit) {
        self.0[deposit.voxel] += deposit.quanta as f64 * QUANTUM_MEV;
    }
}

fn slab(density_g_cm3: f32) -> Voxels {
    let grid = VoxelGrid {
        shape: [1, 1, VOXELS],
        origin_cm: DVec3::ZERO,
        spacing_cm: DVec3::new(10.0, 10.0, SPACING_CM),
        periodic: [true; 3],
    };
    let densities = (0..VOXELS)
        .map(|voxel| {
            if MIDDLE.contains(&voxel) {
                density_g_cm3
            } else {
                1.0
            }
        })
        .collect();
    Voxels::new(grid, vec![Material::Water; VOXELS], densities).expect("a slab")
}

/// Doses of the voxels over the energy that started per mass, less one, with their standard errors.
fn deviations(
    voxels: &Voxels,
    settings: Settings,
    energy_mev: f64,
    electrons: u64,
) -> Vec<Estimate> {
    let world = World::new(voxels, tables(), settings).expect("a world");
    let mass_g: Vec<f64> = (0..VOXELS).map(|voxel| voxels.mass_g(voxel)).collect();
    let total_g: f64 = mass_g.iter().sum();
    let mut below = 0.0;
    let cumulative: Vec<f64> = mass_g
        .iter()
        .map(|mass| {
            below += mass / total_g;
            below
        })
        .collect();
    let per_batch = electrons / BATCHES;
    // Photons take energy away in proportion to the mass as well: what is left of the energy is the mean over all voxels.
    let batches: Vec<Vec<f64>> = (0..BATCHES)
        .into_par_iter()
        .map(|batch| {
            let mut sums = Sums(vec![0.0; VOXELS]);
            let mut histories = Histories::new(&world, &mut sums).without_secondary_photons();
            let mut draws = Draws::with_key(batch);
            for number in 0..per_batch {
                let place = (number as f64 + draws.uniform()) / per_batch as f64;
                let voxel = cumulative
                    .partition_point(|&edge| edge <= place)
                    .min(VOXELS - 1);
                let z = SPACING_CM * (voxel as f64 + draws.uniform());
                let direction = isotropic(draws.uniform(), draws.azimuth());
                let position = DVec3::new(5.0, 5.0, z);
                histories.run(electron(
                    quantised_mev(energy_mev),
                    position,
                    direction,
                    key(batch, number),
                ));
            }
            assert!(histories.ledger().is_closed());
            assert_eq!(histories.ledger().exhausted_particles, 0);
            let deposited = histories.ledger().deposited as f64 * QUANTUM_MEV;
            sums.0
                .iter()
                .zip(&mass_g)
                .map(|(sum, mass)| sum / mass / (deposited / total_g) - 1.0)
                .collect()
        })
        .collect();
    // Both halves of the slab are mirror images.
    (0..VOXELS / 2)
        .map(|voxel| {
            let values = batches
                .iter()
                .map(|batch| 0.5 * (batch[voxel] + batch[VOXELS - 1 - voxel]));
            Estimate::of_batches(values)
        })
        .collect()
}

fn report(name: &str, deviations: &[Estimate]) {
    let texts: Vec<String> = deviations
        .iter()
        .map(|dose| format!("{:+.2}({:.2})", 100.0 * dose.mean, 100.0 * dose.sigma))
        .collect();
    println!("{name}: {}", texts.join(" "));
}

fn check(name: &str, deviations: &[Estimate], tolerance: f64) {
    report(name, deviations);
    for (voxel, dose) in deviations.iter().enumerate() {
        assert!(
            dose.mean.abs() < tolerance + 4.0 * dose.sigma,
            "{name}, voxel {voxel}: {dose:?}"
        );
    }
}

/// Settings as they ship, whose cut-off depends on the neighbourhood.
fn shipped() -> Settings {
    Settings::for_thresholds(Thresholds::STANDARD)
}

#[test]
fn doses_do_not_depend_on_the_density() {
    for density in [0.26, 0.01, 0.0012, 3.0] {
        let voxels = slab(density);
        let deviations = deviations(&voxels, shipped(), 1.0, 40_000);
        check(&format!("{density} g/cm3"), &deviations, 0.01);
    }
}

#[test]
#[ignore = "minutes: figures of all settings"]
fn doses_at_all_settings() {
    let cases = [
        ("shipped", shipped()),
        ("200 keV everywhere", with_cut_off(0.2)),
        (
            "shipped, step loss 0.1",
            Settings {
                step_loss: 0.1,
                ..shipped()
            },
        ),
    ];
    for (name, settings) in cases {
        for density in [0.01, 0.0012, 0.26, 3.0] {
            let deviations = deviations(&slab(density), settings, 1.0, 4_000_000);
            report(&format!("{density} g/cm3, {name}"), &deviations);
        }
    }
}
