//! The statistical uncertainty of the dose, and equality of equal runs.

use super::{request, run};
use crate::cccs::phantom::{block, machine};
use beamsight::case::{Beam, DoseStatus, FluenceMap, Jaws, MlcAxis};
use beamsight::engine::histories::{HistoriesDose, Next, RunLength, Until};
use beamsight::engine::mccs::{MccsRequest, refine};
use beamsight::engine::{Compute, JobControl};
use glam::DVec3;
use std::time::Duration;

fn small(histories: u64) -> MccsRequest {
    let water = block(DVec3::splat(-80.0), DVec3::splat(8.0), [20; 3], |_| 1.0);
    let beam = |gantry: f64| {
        Beam::fixed(
            "beam",
            1,
            gantry,
            DVec3::ZERO,
            Jaws::symmetric(60.0, 60.0),
            100.0,
        )
    };
    let machine = machine("generic-6mv");
    request(
        &water,
        vec![(beam(0.0), machine.clone()), (beam(130.0), machine)],
        histories,
    )
}

#[test]
fn the_stated_deviation_is_the_spread() {
    deviation_is_spread(small(60_000));
}

/// Beamlets that differ by ten, narrower than the cells through which histories are drawn: histories of unequal weight.
#[test]
fn the_stated_deviation_of_a_map_is_the_spread() {
    let mut asked = small(60_000);
    for (beam, _) in &mut asked.beams {
        let values = (0..16 * 32)
            .map(|n| if n % 2 == n / 32 % 2 { 1.0 } else { 0.1 })
            .collect();
        let rows_mm = (-8..=8).map(|n| 4.0 * f64::from(n)).collect();
        let (axis, columns) = (MlcAxis::X, 32);
        beam.fluence = Some(FluenceMap {
            axis,
            rows_mm,
            first_mm: -32.0,
            step_mm: 2.0,
            columns,
            values,
        });
    }
    deviation_is_spread(asked);
}

/// Ten runs with different seeds: their spread is the stated standard deviation, within 10 %.
fn deviation_is_spread(asked: MccsRequest) {
    let runs: Vec<HistoriesDose> = (1..=10)
        .map(|seed| {
            run(&MccsRequest {
                seed,
                length: RunLength {
                    batch: 2_000,
                    ..asked.length
                },
                ..asked.clone()
            })
        })
        .collect();
    let most = runs[0].gy.data().iter().copied().fold(0.0, f32::max);
    let (mut stated, mut spread, mut voxels) = (0.0, 0.0, 0);
    for i in 0..runs[0].gy.data().len() {
        let doses: Vec<f64> = runs.iter().map(|r| f64::from(r.gy.data()[i])).collect();
        let mean = doses.iter().sum::<f64>() / 10.0;
        if mean < 0.5 * f64::from(most) {
            continue;
        }
        spread += doses.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 9.0;
        stated += runs
            .iter()
            .map(|r| f64::from(r.sigma_gy.data()[i]).powi(2))
            .sum::<f64>()
            / 10.0;
        voxels += 1;
    }
    let ratio = (stated / spread).sqrt();
    println!(
        "{voxels} voxels: stated over spread {ratio:.3}; {:?} %",
        runs[0].uncertainty_percent
    );
    assert!(voxels > 100 && (ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn the_same_for_any_number_of_threads_and_however_often_it_is_looked_at() {
    let asked = small(30_000);
    let bits = |dose: &HistoriesDose| -> Vec<u32> {
        dose.gy
            .data()
            .iter()
            .chain(dose.sigma_gy.data())
            .map(|v| v.to_bits())
            .collect()
    };
    let want = bits(&run(&asked));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        let often = MccsRequest {
            length: RunLength {
                show_every: Duration::ZERO,
                ..asked.length
            },
            ..asked.clone()
        };
        assert!(
            bits(&pool.install(|| run(&often))) == want,
            "{threads} threads"
        );
    }
    assert!(
        bits(&run(&MccsRequest {
            seed: 2,
            ..asked.clone()
        })) != want
    );
}

#[test]
fn it_refines_until_the_wish_is_met_or_it_is_kept() {
    let until = Until::Uncertainty {
        percent: 8.0,
        most: 10_000_000,
    };
    let asked = MccsRequest {
        length: RunLength {
            until,
            batch: 4_000,
            show_every: Duration::ZERO,
        },
        ..small(0)
    };
    let mut seen = Vec::new();
    let dose = refine(&asked, &Compute::Cpu, &JobControl::new(), &mut |dose| {
        seen.push((dose.histories, dose.uncertainty_percent, dose.status));
        Next::GoOn
    })
    .expect("a dose");
    // What was asked for is met; a dose that leaves has 2 % at most.
    assert_eq!(dose.status, DoseStatus::Coarse);
    assert!(
        dose.uncertainty_percent
            .is_some_and(|u| u <= 8.0 && u > 6.0),
        "{:?}",
        dose.uncertainty_percent
    );
    assert!(seen.iter().all(|s| s.2 == DoseStatus::Preview) && seen.len() >= 9);
    assert_eq!((seen[0].0, seen[0].1), (4_000, None));
    let kept = refine(&asked, &Compute::Cpu, &JobControl::new(), &mut |dose| {
        if dose.batches >= 3 {
            Next::Keep
        } else {
            Next::GoOn
        }
    })
    .expect("a dose");
    assert_eq!((kept.histories, kept.status), (12_000, DoseStatus::Preview));
    let control = JobControl::new();
    control.cancel();
    let stopped =
        refine(&asked, &Compute::Cpu, &control, &mut |_| Next::GoOn).expect_err("cancelled");
    assert_eq!(stopped.to_string(), "cancelled");
    // A dose of few histories is not final.
    assert_eq!(run(&small(2_000)).status, DoseStatus::Coarse);
}
