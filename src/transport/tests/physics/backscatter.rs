//! Electrons that a thick absorber sends back.

use super::common::{electron, key, tables, with_cut_off};
use glam::DVec3;
use physics::Material;
use rayon::prelude::*;
use transport::energy::quantised_mev;
use transport::{Deposit, Histories, Scorer, Settings, VoxelGrid, Voxels, World};

struct Nothing;

impl Scorer for Nothing {
    fn deposit(&mut self, _: &Deposit) {}
}

/// Share of electrons at normal incidence that come back with more than the cut-off of 50 keV.
fn coefficient(material: Material, energy_mev: f64, step_loss: f64, electrons: u64) -> f64 {
    let grid = VoxelGrid {
        shape: [1; 3],
        origin_cm: DVec3::new(-50.0, -50.0, 0.0),
        spacing_cm: DVec3::splat(100.0),
        periodic: [false; 3],
    };
    let density = particles::Medium::of(material).density_g_cm3 as f32;
    let voxels = Voxels::new(grid, vec![material], vec![density]).expect("one voxel");
    let settings = Settings {
        step_loss,
        ..with_cut_off(0.05)
    };
    let world = World::new(&voxels, tables(), settings).expect("a world");
    let back: u64 = (0..electrons)
        .into_par_iter()
        .map(|number| {
            let mut nothing = Nothing;
            let mut histories = Histories::new(&world, &mut nothing).without_secondary_photons();
            let start = DVec3::new(0.0, 0.0, -1.0);
            let particle = electron(quantised_mev(energy_mev), start, DVec3::Z, key(3, number));
            histories.run(particle);
            histories.escaped_charged()
        })
        .sum();
    back as f64 / electrons as f64
}

/// Measured at 1 MeV, normal incidence: carbon 0.02, aluminium 0.08 to 0.09, copper 0.2 (Tabata, Ito, Okabe, Nucl. Instrum. Methods
/// 94, 509 (1971), as an empirical formula). Aluminium within a fifth of it, and order by the atomic number.
#[test]
fn backscatter_grows_with_the_atomic_number() {
    let [water, aluminium, titanium] = [Material::Water, Material::Aluminium, Material::Titanium]
        .map(|material| coefficient(material, 1.0, 0.1, 8_000));
    println!("water {water:.4}, aluminium {aluminium:.4}, titanium {titanium:.4}");
    assert!((0.018..0.035).contains(&water), "{water}");
    assert!((0.07..0.11).contains(&aluminium), "{aluminium}");
    assert!((0.14..0.20).contains(&titanium), "{titanium}");
}

#[test]
#[ignore = "a minute: figures of step losses"]
fn backscatter_at_all_step_losses() {
    for material in [Material::Water, Material::Aluminium, Material::Titanium] {
        for step_loss in [0.2, 0.1, 0.05, 0.025] {
            let value = coefficient(material, 1.0, step_loss, 200_000);
            println!("{} step loss {step_loss}: {value:.4}", material.name());
        }
    }
}
