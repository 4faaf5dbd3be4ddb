//! Electrons and positrons, process by process.

use super::common::{Steps, boundless, electron, key, tables};
use glam::DVec3;
use particles::bremsstrahlung::Bremsstrahlung;
use particles::goudsmit_saunderson::{Moments, SingleScattering};
use particles::hard::{annihilation, bhabha, moller};
use particles::stopping::{collision_mev_cm2_g, csda_range_g_cm2};
use particles::{Charge, Medium};
use physics::Material;
use transport::draws::Draws;
use transport::energy::quantised_mev;
use transport::tables::charged::Column;
use transport::tables::{MaterialTables, Thresholds, bremsstrahlung};
use transport::{Histories, Kind, Particle, Settings, World};

fn table_of(material: Material) -> &'static MaterialTables {
    let table = tables().iter().find(|table| table.material == material);
    table.expect("a table of every material")
}

/// k dsigma/dk as the table has it, over its greatest value.
fn photon_shape(table: &MaterialTables, energy_mev: f64, photon_mev: f64) -> f64 {
    bremsstrahlung::acceptance(&table.bremsstrahlung, energy_mev, photon_mev / energy_mev)
}

/// Simpson's rule in the logarithm.
fn integral(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
    let steps = 2000;
    let width = (high / low).ln() / f64::from(steps);
    (0..=steps)
        .map(|step| {
            let place = low * (width * f64::from(step)).exp();
            let weight = match step {
                0 => 1.0,
                _ if step == steps => 1.0,
                _ if step % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * width / 3.0 * place * function(place)
        })
        .sum()
}

/// Losses of the table, with losses to collisions and photons above the thresholds integrated, are the unrestricted stopping
/// powers: hard collisions from Moller's and Bhabha's densities, hard photons from the table's own shape.
#[test]
fn soft_and_hard_losses_are_the_whole() {
    let Thresholds {
        electron_mev,
        photon_mev,
    } = Thresholds::STANDARD;
    for material in [
        Material::Water,
        Material::Lung,
        Material::CorticalBone,
        Material::Titanium,
    ] {
        let medium = Medium::of(material);
        let photons = Bremsstrahlung::of(medium);
        let table = table_of(material);
        for charge in Charge::BOTH {
            for energy_mev in [1.0, 3.0, 6.0, 15.0] {
                let hard_collisions = match charge {
                    Charge::Electron => integral(electron_mev, energy_mev / 2.0, |w| {
                        w * moller::differential_cm2_mev_g(&medium, energy_mev, w)
                    }),
                    Charge::Positron => integral(electron_mev, energy_mev, |w| {
                        w * bhabha::differential_cm2_mev_g(&medium, energy_mev, w)
                    }),
                };
                let mean_photon_mev = integral(photon_mev, energy_mev, |k| {
                    photon_shape(table, energy_mev, k)
                }) / integral(photon_mev, energy_mev, |k| {
                    photon_shape(table, energy_mev, k) / k
                });
                let hard_photons =
                    mean_photon_mev * table.charged_at(charge, energy_mev, Column::Bremsstrahlung);
                let soft = table.charged_at(charge, energy_mev, Column::SoftStoppingPower);
                let total = collision_mev_cm2_g(&medium, charge, energy_mev)
                    + photons.spectrum(charge, energy_mev).radiative_mev_cm2_g();
                let deviation = (soft + hard_collisions + hard_photons) / total - 1.0;
                // Radiative losses of titanium at 15 MeV are a third; their table holds to 1 %.
                assert!(
                    deviation.abs() < 2e-3,
                    "{} {charge:?} {energy_mev} MeV: {deviation:e}",
                    material.name()
                );
            }
        }
    }
}

/// Bremsstrahlung cannot become more likely while an electron slows down, which the rate along a step relies on.
#[test]
fn bremsstrahlung_falls_with_the_energy() {
    for table in tables() {
        for charge in Charge::BOTH {
            let mut previous = 0.0;
            for step in 0..=1000 {
                let energy_mev = 0.02 * 1500_f64.powf(f64::from(step) / 1000.0);
                let value = table.charged_at(charge, energy_mev, Column::Bremsstrahlung);
                assert!(
                    value >= previous * (1.0 - 2e-3),
                    "{} {charge:?} {energy_mev} MeV: {value} after {previous}",
                    table.material.name()
                );
                previous = value;
            }
        }
    }
}

/// Path of an electron whose only losses are continuous, hinges included: thresholds above its energy. The range from 1.9 MeV
/// to the cut-off is the difference of CSDA ranges.
#[test]
fn tracks_without_hard_events_are_as_long_as_the_range() {
    let thresholds = Thresholds {
        electron_mev: 2.0,
        photon_mev: 2.0,
    };
    for material in [Material::Water, Material::Titanium] {
        let tables = [table_of(material).for_thresholds(thresholds)];
        let voxels = boundless(material);
        let settings = Settings {
            cut_off_mev: 0.05,
            gas_cut_off_mev: 0.05,
            ..Settings::for_thresholds(thresholds)
        };
        let world = World::new(&voxels, &tables, settings).expect("a world");
        let mut steps = Steps::default();
        let mut histories = Histories::new(&world, &mut steps);
        let electrons = 50;
        for number in 0..electrons {
            let start = DVec3::splat(1.0);
            histories.run(electron(
                quantised_mev(1.9),
                start,
                DVec3::Z,
                key(1, number),
            ));
        }
        let length_cm = steps.length_cm / electrons as f64;
        let medium = Medium::of(material);
        let photons = Bremsstrahlung::of(medium);
        let [from, to] =
            [1.9, 0.05].map(|energy| csda_range_g_cm2(&photons, Charge::Electron, energy));
        let expected_cm = (from - to) / medium.density_g_cm3;
        let deviation = length_cm / expected_cm - 1.0;
        assert!(deviation.abs() < 3e-3, "{}: {deviation:e}", material.name());
    }
}

/// Means of P_1, P_2 and P_3 of hinges against exp(-K G_l/G_1) of the moments, at energies and paths between the nodes.
#[test]
fn hinges_have_the_moments_of_goudsmit_and_saunderson() {
    let draws_of_one = 200_000;
    for material in [Material::Water, Material::Titanium] {
        let medium = Medium::of(material);
        let angles = &table_of(material).angles;
        for energy_mev in [0.25_f64, 1.3, 7.0] {
            let cut_mev = Thresholds::STANDARD.electron_mev;
            let scattering = SingleScattering::new(&medium, Charge::Electron, energy_mev, cut_mev);
            let moments = Moments::new(&scattering);
            for path in [0.004, 0.03, 0.3, 1.1] {
                let mut draws = Draws::with_key(17);
                let mut sums = [0.0; 3];
                for _ in 0..draws_of_one {
                    let cos = 1.0 - angles.one_minus_cos(energy_mev.ln(), path, &mut draws);
                    sums[0] += cos;
                    sums[1] += 1.5 * cos * cos - 0.5;
                    sums[2] += cos * (2.5 * cos * cos - 1.5);
                }
                for (index, sum) in sums.iter().enumerate() {
                    let deficit = 1.0 - sum / f64::from(draws_of_one);
                    let expected = 1.0 - moments.mean_legendre(index + 1, path);
                    // Paths drawn by lot between nodes lie under the chord of 1 - exp(-K) by up to 0.7 % at K near 1.
                    let deviation = deficit / expected - 1.0;
                    let tolerance = if path < 0.01 { 0.04 } else { 0.02 };
                    assert!(
                        deviation.abs() < tolerance,
                        "{} {energy_mev} MeV K {path} P{}: {deviation}",
                        material.name(),
                        index + 1
                    );
                }
            }
        }
    }
}

/// Deflections beyond 90 and 150 degrees in a short path are as frequent as in one scattering.
#[test]
fn large_angles_are_those_of_single_scattering() {
    let path = 0.02;
    for material in [Material::Water, Material::Aluminium, Material::Titanium] {
        let medium = Medium::of(material);
        let cut_mev = Thresholds::STANDARD.electron_mev;
        let scattering = SingleScattering::new(&medium, Charge::Electron, 1.0, cut_mev);
        let kappa = Moments::first_cm2_g(&scattering);
        let count = 2_000_000;
        let mut draws = Draws::with_key(23);
        let mut beyond = [0_u32; 2];
        for _ in 0..count {
            let deflection = table_of(material)
                .angles
                .one_minus_cos(0.0, path, &mut draws);
            beyond[0] += u32::from(deflection > 1.0);
            beyond[1] += u32::from(deflection > 1.0 + 30_f64.to_radians().cos());
        }
        let limits = [1.0, 1.0 + 30_f64.to_radians().cos()];
        for (count_beyond, limit) in beyond.into_iter().zip(limits) {
            let expected = path * scattering.beyond_cm2_g(limit) / kappa;
            let value = f64::from(count_beyond) / f64::from(count);
            let error = (expected / f64::from(count)).sqrt();
            // 9 %: at this path several scatterings add to one (measured beside the exact series of `particles`).
            assert!(
                (value - expected).abs() < 0.09 * expected + 4.0 * error,
                "{} beyond {limit}: {value:e} for {expected:e}",
                material.name()
            );
        }
    }
}

/// Positrons that end in water: the share that annihilates in flight, by energy balance. At rest each gives two photons of m, so
/// that photons take away 2 m; in flight they take kinetic energy too.
#[test]
fn positrons_annihilate_in_flight_as_often_as_heitler_has_it() {
    let start_mev = 3.0;
    let cut_off_mev = 0.2;
    let table = table_of(Material::Water);
    // Probability of annihilation while losing energy continuously from the start to the cut-off, hard events being rare.
    let thresholds = Thresholds {
        electron_mev: 3.5,
        photon_mev: 3.5,
    };
    let soft_tables = [table_of(Material::Water).for_thresholds(thresholds)];
    let medium = Medium::of(Material::Water);
    let survival = (-integral(cut_off_mev, start_mev, |energy| {
        annihilation::cross_section_cm2_g(&medium, energy)
            / soft_tables[0].charged_at(Charge::Positron, energy, Column::SoftStoppingPower)
    }))
    .exp();
    let voxels = boundless(Material::Water);
    let settings = Settings {
        cut_off_mev,
        gas_cut_off_mev: cut_off_mev,
        ..Settings::for_thresholds(thresholds)
    };
    let world = World::new(&voxels, &soft_tables, settings).expect("a world");
    let count = 40_000_u64;
    let mut in_flight = 0_u32;
    for number in 0..count {
        let mut steps = Steps::default();
        let mut histories = Histories::new(&world, &mut steps).without_secondary_photons();
        histories.run(Particle {
            kind: Kind::Charged(Charge::Positron),
            energy_mev: start_mev,
            position_cm: DVec3::ZERO,
            direction: DVec3::Z,
            weight: 1,
            key: key(29, number),
        });
        assert!(histories.ledger().is_closed());
        let deposited_mev = transport::energy::mev_of_quanta(histories.ledger().deposited);
        in_flight += u32::from(deposited_mev < start_mev - 0.9 * cut_off_mev);
    }
    let value = f64::from(in_flight) / count as f64;
    let error = (survival * (1.0 - survival) / count as f64).sqrt();
    assert!(
        (value - (1.0 - survival)).abs() < 4.0 * error + 0.002 * value,
        "{value} for {}",
        1.0 - survival
    );
    assert!(table.collision_bound_cm2_g[1] > table.collision_bound_cm2_g[0]);
}
