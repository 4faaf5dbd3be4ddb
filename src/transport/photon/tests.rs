use super::*;
use crate::tables::Thresholds;
use crate::test_worlds::{Nothing, cubes, particle, tables};
use crate::voxels::Voxels;
use crate::world::{Settings, World};
use particles::constants::ELECTRON_MASS_MEV;
use particles::photon::CrossSections;
use particles::photon::compton::Electrons;
use physics::Material;

/// Rays through a checkerboard of water and titanium: photons that pass uncollided are exp(-sum of mu times length), which
/// Woodcock's flights never compute.
#[test]
fn flights_through_a_checkerboard_are_exponential() {
    flights_are_exponential(&cubes([6, 6, 6], |[x, y, z]| match (x + y + z) % 2 {
        0 => Material::Water,
        _ => Material::Titanium,
    }));
}

/// The same through a plate in water, where flights go from box to box: light before it, heavy in it, light behind it and beside it.
#[test]
fn flights_through_boxes_are_exponential() {
    let voxels = cubes([9, 7, 11], |[x, _, z]| match (x, z) {
        (0..6, 4..6) => Material::Titanium,
        _ => Material::Water,
    });
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    let world = World::new(&voxels, tables(), settings).expect("a world");
    let boxes = &world.majorants().blocks().expect("blocks").boxes;
    assert!(boxes.iter().any(|b| b.is_heavy == 1) && boxes.iter().any(|b| b.is_heavy == 0));
    flights_are_exponential(&voxels);
}

fn flights_are_exponential(voxels: &Voxels) {
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    let world = World::new(voxels, tables(), settings).expect("a world");
    let mut nothing = Nothing;
    let histories = Histories::new(&world, &mut nothing);
    for (photon_mev, direction) in [
        (0.06, DVec3::Z),
        (1.0, DVec3::new(0.3, 0.2, 1.0).normalize()),
        (6.0, DVec3::ONE.normalize()),
    ] {
        let start = DVec3::new(0.3, 0.6, 0.0);
        let optical_depth = optical_depth(&world, start, direction, photon_mev);
        let count = 200_000_u64;
        let mut passed = 0_u32;
        for key in 0..count {
            let mut flight = Flight {
                photon: Particle {
                    position_cm: start,
                    direction,
                    ..particle(Kind::Photon, photon_mev, key)
                },
                cell: [0; 3],
                draws: Draws::with_key(key),
                electron_weight: 1,
                is_real: true,
            };
            passed += u32::from(histories.fly(&mut flight).is_none());
        }
        let expected = (-optical_depth).exp();
        let value = f64::from(passed) / count as f64;
        let error = 4.0 * (expected / count as f64).sqrt();
        assert!(
            (value - expected).abs() < error,
            "{photon_mev} MeV: {value} for {expected}"
        );
    }
}

/// Sum of attenuation times length, from small steps and XCOM.
fn optical_depth(world: &World, start: DVec3, direction: DVec3, photon_mev: f64) -> f64 {
    let step_cm = 1e-4;
    let attenuation_cm2_g =
        Material::ALL.map(|material| CrossSections::of(material).at(photon_mev).total_cm2_g());
    let mut sum = 0.0;
    let mut position = start + direction * (0.5 * step_cm);
    while let Some(cell) = world.voxels().grid().cell_of(position) {
        let voxel = world.voxels().index(cell);
        let material = world.voxels().material(voxel);
        sum += attenuation_cm2_g[material as usize] * world.voxels().density_g_cm3(voxel) * step_cm;
        position += direction * step_cm;
    }
    sum
}

/// Attenuation and shares of the table against XCOM between the nodes.
#[test]
fn the_table_is_that_of_xcom() {
    for table in tables() {
        let cross_sections = CrossSections::of(table.material);
        for photon_mev in [0.0123_f64, 0.047, 0.31, 1.13, 1.7, 5.3, 17.0] {
            let processes = cross_sections.at(photon_mev);
            let total = processes.total_cm2_g();
            let compton = process_share(table, photon_mev, photon::Column::Compton);
            let with_pairs = process_share(table, photon_mev, photon::Column::WithPairs);
            let with_photoelectric =
                process_share(table, photon_mev, photon::Column::WithPhotoelectric);
            let name = table.material.name();
            let deviation = table.attenuation_cm2_g(photon_mev) / total - 1.0;
            assert!(
                deviation.abs() < 1.5e-3,
                "{name} {photon_mev}: {deviation:e}"
            );
            let pairs = processes.pair_cm2_g + processes.triplet_cm2_g;
            for (share, expected) in [
                (compton, processes.compton_cm2_g / total),
                (with_pairs - compton, pairs / total),
                (
                    with_photoelectric - with_pairs,
                    processes.photoelectric_cm2_g / total,
                ),
                (1.0 - with_photoelectric, processes.rayleigh_cm2_g / total),
            ] {
                assert!(
                    (share - expected).abs() < 5e-4,
                    "{name} {photon_mev}: {share} for {expected}"
                );
            }
        }
    }
}

/// Mean energy of the electrons of Klein and Nishina's free scattering, as a share of the photon's: the known values.
#[test]
fn compton_electrons_have_klein_and_nishinas_mean() {
    let table = compton::table(Electrons::Free);
    for (photon_mev, mean_share) in [
        (0.1, 0.13800),
        (0.5, 0.34137),
        (1.0, 0.44004),
        (2.0, 0.53084),
        (6.0, 0.64400),
        (15.0, 0.71004),
    ] {
        let count = 100_000;
        let sum: f64 = (0..count)
            .map(|index| (f64::from(index) + 0.5) / f64::from(count))
            .map(|uniform| 1.0 - compton::share(&table, photon_mev, uniform))
            .sum();
        let deviation = sum / f64::from(count) / mean_share - 1.0;
        assert!(deviation.abs() < 1.5e-3, "{photon_mev} MeV: {deviation:e}");
    }
}

/// Photons of a process keep the energy in quanta, and a Compton electron and its photon the momentum.
#[test]
fn compton_scattering_conserves_momentum() {
    let voxels = cubes([1; 3], |_| Material::Water);
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    let world = World::new(&voxels, tables(), settings).expect("a world");
    let table = &tables()[Material::Water as usize];
    let mut compared = 0;
    for key in 0..500 {
        let mut nothing = Nothing;
        let mut histories = Histories::new(&world, &mut nothing);
        let mut flight = Flight {
            photon: particle(Kind::Photon, 4.0, key),
            cell: [0; 3],
            draws: Draws::with_key(key),
            electron_weight: 1,
            is_real: true,
        };
        histories.scatter_compton(&mut flight, table);
        let Some(electron) = histories.stack.pop().map(|waiting| waiting.particle) else {
            continue;
        };
        assert_eq!(electron.energy_mev + flight.photon.energy_mev, 4.0);
        let momentum_mev =
            (electron.energy_mev * (electron.energy_mev + 2.0 * ELECTRON_MASS_MEV)).sqrt();
        let after =
            electron.direction * momentum_mev + flight.photon.direction * flight.photon.energy_mev;
        assert!((after - DVec3::Z * 4.0).length() < 1e-5, "{after}");
        compared += 1;
    }
    assert!(compared > 400);
}

/// Electron and positron of a pair share the kinetic energy, evenly in the mean.
#[test]
fn pairs_share_the_energy_evenly() {
    let voxels = cubes([1; 3], |_| Material::Water);
    let settings = Settings::for_thresholds(Thresholds::STANDARD);
    let world = World::new(&voxels, tables(), settings).expect("a world");
    let photon_mev = 6.0;
    let kinetic_mev = photon_mev - 2.0 * rest_energy_mev();
    let count = 20_000;
    let [mut sum, mut squares] = [0.0; 2];
    for key in 0..count {
        let mut nothing = Nothing;
        let mut histories = Histories::new(&world, &mut nothing);
        let mut flight = Flight {
            photon: particle(Kind::Photon, photon_mev, key),
            cell: [0; 3],
            draws: Draws::with_key(key),
            electron_weight: 1,
            is_real: true,
        };
        assert!(histories.produce_pair(&mut flight) == Fate::Over);
        // The positron was pushed last.
        let positron = histories.stack.pop().expect("a positron").particle;
        assert_eq!(positron.kind, Kind::Charged(Charge::Positron));
        let electron_mev = histories
            .stack
            .pop()
            .map_or(kinetic_mev - positron.energy_mev, |w| w.particle.energy_mev);
        assert_eq!(positron.energy_mev + electron_mev, kinetic_mev);
        sum += positron.energy_mev;
        squares += positron.energy_mev.powi(2);
    }
    let mean = sum / count as f64;
    let error = ((squares / count as f64 - mean * mean) / count as f64).sqrt();
    assert!((mean - kinetic_mev / 2.0).abs() < 4.0 * error, "{mean}");
}
