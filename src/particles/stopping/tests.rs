use super::*;
use crate::hard::moller;
use crate::test_data::{assert_relative, electron_name, shared_rows, shared_text};
use physics::Material;

/// Against the project's tables, which another program made: five digits of the stopping powers and ranges.
#[test]
fn stopping_powers_and_ranges_are_those_of_the_tables() {
    for material in Material::ALL {
        let Some(rows) = shared_rows(&format!(
            "electrons/stopping_{}.csv",
            electron_name(material)
        )) else {
            return;
        };
        let medium = Medium::of(material);
        let bremsstrahlung = Bremsstrahlung::of(medium);
        for row in &rows {
            let place = format!("{} at {} MeV", material.name(), row[0]);
            let values = Charge::BOTH.map(|charge| Quantities::at(&bremsstrahlung, charge, row[0]));
            let tables = [[row[1], row[2], row[4]], [row[7], row[8], row[9]]];
            for (value, table) in values.iter().zip(tables) {
                assert_relative(
                    value.collision,
                    table[0],
                    1e-4,
                    &format!("collision, {place}"),
                );
                assert_relative(
                    value.radiative,
                    table[1],
                    3e-3,
                    &format!("radiative, {place}"),
                );
                let tolerance = if row[0] < 0.05 { 0.01 } else { 1e-3 };
                assert_relative(
                    value.range_g_cm2,
                    table[2],
                    tolerance,
                    &format!("range, {place}"),
                );
            }
        }
    }
}

/// ESTAR: a standard reference, from its own binding energies and integration.
#[test]
fn stopping_powers_and_ranges_are_those_of_estar() {
    let Some(text) = shared_text("electrons/estar_check.csv") else {
        return;
    };
    let mut compared = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let Some(material) = Material::from_name(fields[0]) else {
            continue;
        };
        let number = |index: usize| fields[index].parse::<f64>().unwrap();
        let bremsstrahlung = Bremsstrahlung::of(Medium::of(material));
        let value = Quantities::at(&bremsstrahlung, Charge::Electron, number(1));
        assert_relative(
            value.collision,
            number(2),
            7e-4,
            &format!("collision, {line}"),
        );
        assert_relative(
            value.radiative,
            number(3),
            9.3e-3,
            &format!("radiative, {line}"),
        );
        assert_relative(
            value.range_g_cm2,
            number(5),
            2.6e-3,
            &format!("range, {line}"),
        );
        compared += 1;
    }
    assert_eq!(compared, 32);
}

struct Quantities {
    collision: f64,
    radiative: f64,
    range_g_cm2: f64,
}

impl Quantities {
    fn at(bremsstrahlung: &Bremsstrahlung, charge: Charge, energy_mev: f64) -> Self {
        Self {
            collision: collision_mev_cm2_g(bremsstrahlung.medium(), charge, energy_mev),
            radiative: bremsstrahlung
                .spectrum(charge, energy_mev)
                .radiative_mev_cm2_g(),
            range_g_cm2: csda_range_g_cm2(bremsstrahlung, charge, energy_mev),
        }
    }
}

/// Losses below the cut and the mean loss of discrete collisions above it are one stopping power, at any cut.
#[test]
fn restricted_losses_and_hard_moller_losses_sum_to_the_unrestricted() {
    for material in [Material::Water, Material::Titanium] {
        let medium = Medium::of(material);
        for energy_mev in [1.0, 3.0, 6.0] {
            for cut_mev in [0.1, 0.2] {
                let hard = integrate(
                    &geometric_panels(cut_mev, energy_mev / 2.0, 1.5),
                    |transfer_mev: f64| {
                        transfer_mev
                            * moller::differential_cm2_mev_g(&medium, energy_mev, transfer_mev)
                    },
                );
                let soft =
                    restricted_collision_mev_cm2_g(&medium, Charge::Electron, energy_mev, cut_mev);
                let total = collision_mev_cm2_g(&medium, Charge::Electron, energy_mev);
                assert_relative(
                    soft + hard,
                    total,
                    1e-9,
                    &format!("{energy_mev} MeV, cut {cut_mev}"),
                );
            }
        }
    }
}

#[test]
fn restricted_losses_and_hard_bhabha_losses_sum_to_the_unrestricted() {
    let medium = Medium::of(Material::Water);
    for energy_mev in [1.0, 3.0, 6.0] {
        let hard = integrate(
            &geometric_panels(0.2, energy_mev, 1.5),
            |transfer_mev: f64| {
                transfer_mev
                    * crate::hard::bhabha::differential_cm2_mev_g(&medium, energy_mev, transfer_mev)
            },
        );
        let soft = restricted_collision_mev_cm2_g(&medium, Charge::Positron, energy_mev, 0.2);
        let total = collision_mev_cm2_g(&medium, Charge::Positron, energy_mev);
        assert_relative(soft + hard, total, 1e-9, &format!("{energy_mev} MeV"));
    }
}

/// At the greatest transfer the restricted formula is the unrestricted one.
#[test]
fn restricted_and_unrestricted_meet_at_the_greatest_transfer() {
    let medium = Medium::of(Material::Water);
    for charge in Charge::BOTH {
        let cut_mev = charge.maximum_transfer_mev(2.0) * (1.0 - 1e-9);
        let restricted = restricted_collision_mev_cm2_g(&medium, charge, 2.0, cut_mev);
        assert_relative(
            restricted,
            collision_mev_cm2_g(&medium, charge, 2.0),
            1e-7,
            &format!("{charge:?}"),
        );
    }
}
