//! Fluence maps: against the aperture that they stand for, collapsed cone, and themselves.

use super::delivery::{both, mean};
use super::{request, run};
use crate::cccs::phantom::{block, machine};
use beamsight::case::{Beam, FluenceMap, Jaws, MlcAxis};
use beamsight::engine::histories::{HistoriesDose, RunLength, Until};
use beamsight::engine::mccs::MccsRequest;
use beamsight::physics::{Machine, Patient};
use glam::DVec3;
use std::sync::Arc;

fn water() -> Arc<Patient> {
    block(
        DVec3::new(-80.0, -50.0, -80.0),
        DVec3::splat(8.0),
        [20, 16, 20],
        |_| 1.0,
    )
}

/// Rows of 5 mm, those of the machine's inner leaves, and columns of 5 mm.
fn mapped(value: impl Fn(usize, usize) -> f32) -> Beam {
    let rows_mm: Vec<f64> = (-10..=10).map(|n| 5.0 * f64::from(n)).collect();
    let columns = 20;
    let values = (0..20 * columns)
        .map(|n| value(n / columns, n % columns))
        .collect();
    let map = FluenceMap {
        axis: MlcAxis::X,
        rows_mm,
        first_mm: -50.0,
        step_mm: 5.0,
        columns,
        values,
    };
    Beam {
        fluence: Some(map),
        ..Beam::fixed(
            "beam",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(80.0, 80.0),
            100.0,
        )
    }
}

fn asked(beam: &Beam, machine: &Arc<Machine>, seed: u64) -> MccsRequest {
    let histories = 400_000;
    let beams = vec![(beam.clone(), Arc::clone(machine))];
    let plain = request(&water(), beams, histories);
    in_batches(MccsRequest { seed, ..plain }, histories)
}

/// Fifty batches, so that the deviations are known to a few percent.
fn in_batches(request: MccsRequest, histories: u64) -> MccsRequest {
    MccsRequest {
        length: RunLength {
            until: Until::Histories(histories),
            batch: histories / 50,
            ..request.length
        },
        ..request
    }
}

/// Dose over dose above half the maximum of the second, and the mean of their squared difference over its variance.
fn ratio_and_chi_square(a: &HistoriesDose, b: &HistoriesDose) -> [f64; 2] {
    let most = b.gy.data().iter().copied().fold(0.0, f32::max);
    let (mut sums, mut chi, mut count) = ([0.0; 2], 0.0, 0.0);
    for i in (0..b.gy.data().len()).filter(|i| b.gy.data()[*i] > 0.5 * most) {
        let [x, y] = [a, b].map(|d| f64::from(d.gy.data()[i]));
        let variance: f64 = [a, b]
            .map(|d| f64::from(d.sigma_gy.data()[i]).powi(2))
            .iter()
            .sum();
        sums = [sums[0] + x, sums[1] + y];
        chi += (x - y).powi(2) / variance;
        count += 1.0;
    }
    [sums[0] / sums[1], chi / count]
}

fn same_within_noise(what: &str, a: &HistoriesDose, b: &HistoriesDose) {
    let [ratio, chi] = ratio_and_chi_square(a, b);
    println!("{what}: {ratio:.5}, chi-square per voxel {chi:.3}");
    assert!(
        (ratio - 1.0).abs() < 0.004 && (chi - 1.0).abs() < 0.15,
        "{what}: {ratio} {chi}"
    );
}

/// Jaws alone and a map of 1 that reaches beyond them; leaves without leakage, joints or rounded ends, and a map of the beamlets that
/// they leave open.
#[test]
fn an_open_map_is_its_aperture() {
    let real = machine("generic-6mv");
    let open = mapped(|_, _| 1.0);
    let by_jaws = Beam {
        fluence: None,
        ..open.clone()
    };
    same_within_noise(
        "jaws",
        &run(&asked(&open, &real, 1)),
        &run(&asked(&by_jaws, &real, 2)),
    );
    let mut ideal = (*real).clone();
    let leaves = ideal.leaves.as_mut().expect("leaves");
    (
        leaves.transmission,
        leaves.interleaf_transmission,
        leaves.tongue_mm,
    ) = (0.0, 0.0, 0.0);
    leaves.end_radius_mm = 0.0;
    let (mlc, ideal) = (leaves.to_case(), Arc::new(ideal));
    // Open columns of a row.
    let opening = |row: usize| [4 + row % 3, 17 - row % 5];
    let shape = mapped(|row, column| {
        f32::from(u8::from(
            (opening(row)[0]..opening(row)[1]).contains(&column),
        ))
    });
    let mut by_leaves = Beam {
        fluence: None,
        ..shape.clone()
    };
    by_leaves.control_points[0].leaves_mm = { mlc.boundaries_mm.windows(2) }
        .map(|side| {
            let row = (0.2 * side[0]).round() as i32 + 10;
            let open = usize::try_from(row).map_or([0, 0], opening);
            open.map(|column| 5.0 * column as f64 - 50.0)
        })
        .collect();
    by_leaves.mlc = Some(mlc);
    same_within_noise(
        "leaves",
        &run(&asked(&shape, &ideal, 1)),
        &run(&asked(&by_leaves, &ideal, 2)),
    );
}

/// Steps from strip to strip, along the leaves and across them, a strip that is closed, and the shadow of the jaws.
#[test]
fn a_modulated_map_as_in_collapsed_cone() {
    let water = block(
        DVec3::new(-80.0, -50.0, -80.0),
        DVec3::splat(4.0),
        [40, 38, 40],
        |_| 1.0,
    );
    for axis in [MlcAxis::X, MlcAxis::Y] {
        let strips = [0.4, 1.0, 0.0, 2.0];
        let mut beam = mapped(|row, column| strips[column / 5] * if row < 10 { 1.0 } else { 0.5 });
        beam.fluence.as_mut().expect("a map").axis = axis;
        beam.control_points[0].jaws = Jaws::symmetric(100.0, 100.0);
        let [got, cone] = both(&request(
            &water,
            vec![(beam, machine("generic-6mv"))],
            6_000_000,
        ));
        for (from, until, bound) in [
            (-43.0, -33.0, 0.01),
            (-19.0, -5.0, 0.01),
            (8.0, 17.0, 0.04),
            (33.0, 43.0, 0.01),
            (60.0, 75.0, 0.04),
        ] {
            for (low, high) in [(-43.0, -7.0), (7.0, 43.0)] {
                // u along x, or along z of the patient, as v is the other.
                let place = |u: f64, v: f64, y: f64| match axis {
                    MlcAxis::X => DVec3::new(u, y, v),
                    MlcAxis::Y => DVec3::new(v, y, u),
                };
                let (low, high) = (place(from, low, -20.0), place(until, high, 80.0));
                let (a, b) = (mean(&got, low, high), mean(&cone, low, high));
                println!(
                    "{axis:?} {from} to {until} mm: {a:.5} Gy, collapsed cone {b:.5}: {:.4}",
                    a / b
                );
                assert!(
                    (a / b - 1.0).abs() < bound,
                    "{axis:?} {from} to {until} mm: {}",
                    a / b
                );
            }
        }
    }
}

/// Twice the map is twice the dose, digit for digit; the maps of a sum have the doses of a sum.
#[test]
fn dose_is_linear_in_the_map() {
    let machine = machine("generic-6mv");
    let one = |row: usize, column: usize| ((row * 7 + column * 3) % 11) as f32 * 0.1;
    let other = |row: usize, column: usize| if (row + column) % 4 < 2 { 1.5 } else { 0.0 };
    let dose = |beam: &Beam, seed: u64| run(&asked(beam, &machine, seed));
    let single = dose(&mapped(one), 1);
    let double = dose(&mapped(|row, column| 2.0 * one(row, column)), 1);
    let doubled = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .all(|(a, b)| (2.0 * a).to_bits() == b.to_bits())
    };
    assert!(doubled(single.gy.data(), double.gy.data()));
    assert!(doubled(single.sigma_gy.data(), double.sigma_gy.data()));
    // Two beams at once stand for one of the sum.
    let of_both = mapped(|row, column| one(row, column) + other(row, column));
    // The ratio of two doses is known to 0.12 % then.
    let histories = 1_600_000;
    let sum = run(&in_batches(asked(&of_both, &machine, 2), histories));
    let mut apart = asked(&mapped(one), &machine, 3);
    apart.beams.push((mapped(other), Arc::clone(&machine)));
    same_within_noise("sum", &run(&in_batches(apart, histories)), &sum);
}
