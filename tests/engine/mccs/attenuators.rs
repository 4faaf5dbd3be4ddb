//! Factors of trays and couch: every engine multiplies its dose by them, once.

use super::{request, run};
use crate::cccs::phantom::{block, dose, machine};
use beamsight::case::{Beam, FluenceMap, Jaws, MlcAxis};
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::engine::influence::{InfluenceRequest, beamlet_doses};
use beamsight::engine::{Compute, JobControl};
use beamsight::physics::{CouchFactor, Machine, Patient};
use glam::DVec3;
use std::sync::Arc;

const TRAY: f64 = 0.9;
const COUCH: f64 = 0.8;

/// A patient, a machine and a beam from below, without tray and couch and with both.
fn without_and_with() -> [(Arc<Patient>, Arc<Machine>, Beam); 2] {
    let water = block(DVec3::splat(-50.0), DVec3::splat(5.0), [20, 20, 20], |_| {
        1.0
    });
    let machine = machine("generic-6mv");
    let beam = Beam::fixed(
        "beam",
        1,
        180.0,
        DVec3::ZERO,
        Jaws::symmetric(40.0, 40.0),
        100.0,
    );
    let behind = Machine {
        trays: [("T1".to_owned(), TRAY)].into(),
        couch: Some(CouchFactor {
            factor: COUCH,
            gantry_deg: vec![[110.0, 250.0]],
        }),
        ..(*machine).clone()
    };
    let lacks_couch = Patient {
        has_couch: false,
        ..(*water).clone()
    };
    let with_tray = Beam {
        accessories: vec!["T1".to_owned()],
        ..beam.clone()
    };
    [
        (water, machine, beam),
        (Arc::new(lacks_couch), Arc::new(behind), with_tray),
    ]
}

fn cone((patient, machine, beam): &(Arc<Patient>, Arc<Machine>, Beam)) -> DoseRequest {
    DoseRequest {
        patient: Arc::clone(patient),
        machine: Arc::clone(machine),
        beam: beam.clone(),
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        quality: Quality::Fast,
        dose_to: DoseTo::Water,
    }
}

/// The greatest difference from the dose without them times both factors, as a part of the greatest dose.
fn greatest_difference(without: &[f32], with: &[f32]) -> f64 {
    let greatest = without.iter().copied().fold(0.0, f32::max);
    assert!(greatest > 0.0 && without.len() == with.len());
    let difference = |(a, b): (&f32, &f32)| (f64::from(*b) - TRAY * COUCH * f64::from(*a)).abs();
    without.iter().zip(with).map(difference).fold(0.0, f64::max)
        / (TRAY * COUCH * f64::from(greatest))
}

#[test]
fn collapsed_cone_has_both_factors() {
    let [without, with] = without_and_with().map(|case| dose(&cone(&case)));
    let most = greatest_difference(without.gy.data(), with.gy.data());
    assert!(most < 1e-6, "{most:e}");
    assert_ne!(without.receipt.digest, with.receipt.digest);
}

/// A patient whose voxels hold the couch, and another tray: neither factor counts, and the digests differ all the same.
#[test]
fn nothing_counts_twice_or_by_another_name() {
    let [(water, plain, beam), (_, behind, _)] = without_and_with();
    let other_tray = Beam {
        accessories: vec!["T2".to_owned()],
        ..beam.clone()
    };
    let without = dose(&cone(&(Arc::clone(&water), plain, beam)));
    let with = dose(&cone(&(water, behind, other_tray)));
    assert_eq!(without.gy.data(), with.gy.data());
    assert_ne!(without.receipt.digest, with.receipt.digest);
}

/// Optimised monitor units follow from these doses.
#[test]
fn beamlets_have_both_factors() {
    let columns = without_and_with().map(|(patient, machine, mut beam)| {
        beam.fluence = Some(FluenceMap {
            axis: MlcAxis::X,
            rows_mm: vec![-10.0, 0.0, 10.0],
            first_mm: -10.0,
            step_mm: 10.0,
            columns: 2,
            values: vec![0.0; 4],
        });
        let dose = cone(&(patient, machine, beam));
        let voxels = (0..dose.grid.len()).step_by(3).collect();
        let request = InfluenceRequest {
            dose,
            beamlets: (0..4).collect(),
            voxels,
        };
        let doses = beamlet_doses(&request, &Compute::Cpu, &JobControl::new()).expect("columns");
        doses.columns.gy().collect::<Vec<f32>>()
    });
    // A column is kept to 16 bits of its greatest dose.
    let most = greatest_difference(&columns[0], &columns[1]);
    assert!(most < 1e-4, "{most:e}");
}

/// The histories are the same, and each weighs less.
#[test]
fn monte_carlo_has_both_factors() {
    let [without, with] = without_and_with().map(|(patient, machine, beam)| {
        let request = request(&patient, vec![(beam, machine)], 200_000);
        run(&request)
    });
    let most = greatest_difference(without.gy.data(), with.gy.data());
    assert!(most < 1e-4, "{most:e}");
    assert_ne!(without.receipt.digest, with.receipt.digest);
}
