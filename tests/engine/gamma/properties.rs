//! Properties of gamma for any doses.

use super::phantom::{dose, even, everywhere, on_cpu, rough};
use beamsight::engine::gamma::{Criterion, Dims, GammaRequest, GammaResult, Normalisation, Subset};
use beamsight::geometry::{Grid, Mask, Volume};
use glam::DVec3;
use std::sync::Arc;

const USUAL: Criterion = Criterion {
    dose_percent: 3.0,
    dta_mm: 3.0,
    local: false,
};

fn grid() -> Arc<Grid> {
    even(DVec3::splat(-15.0), DVec3::new(1.5, 2.0, 2.5), [21, 16, 13])
}

fn pair() -> [Arc<Volume<f32>>; 2] {
    [rough(&grid(), 7, 0.4), rough(&grid(), 8, 0.4)]
}

fn bits(result: &GammaResult, n: usize) -> Vec<u32> {
    result.maps[n]
        .gamma
        .data()
        .iter()
        .map(|g| g.to_bits())
        .collect()
}

fn scaled(dose: &Volume<f32>, factor: f32) -> Arc<Volume<f32>> {
    Arc::new(Volume::new(
        Arc::clone(dose.grid()),
        dose.data().iter().map(|v| v * factor).collect(),
    ))
}

/// Doses and criterion scaled together: gamma is unchanged, to the bit for a factor of 2.
#[test]
fn scaling_doses_and_criterion_together() {
    let [a, b] = pair();
    let plain = on_cpu(&everywhere(&a, &b, &[USUAL]));
    let doubled = on_cpu(&everywhere(&scaled(&a, 2.0), &scaled(&b, 2.0), &[USUAL]));
    assert_eq!(bits(&plain, 0), bits(&doubled, 0));
    // Twice the dose under half the percent of a normalisation twice as high.
    let typed = |a, b, gy, percent| {
        let request = everywhere(a, b, &[Criterion::global(percent, 3.0)]);
        on_cpu(&GammaRequest {
            normalisation: Normalisation::Typed(gy),
            ..request
        })
    };
    let same = typed(&a, &b, 8.0, 1.5);
    assert_eq!(bits(&typed(&a, &b, 4.0, 3.0), 0), bits(&same, 0));
}

/// Distances scaled with the DTA, grid included.
#[test]
fn scaling_grid_and_dta_together() {
    let [a, b] = pair();
    let large = even(DVec3::splat(-30.0), DVec3::new(3.0, 4.0, 5.0), [21, 16, 13]);
    let on = |dose: &Volume<f32>| Arc::new(Volume::new(Arc::clone(&large), dose.data().to_vec()));
    let plain = on_cpu(&everywhere(&a, &b, &[USUAL]));
    let twice = on_cpu(&everywhere(
        &on(&a),
        &on(&b),
        &[Criterion::global(3.0, 6.0)],
    ));
    let (plain, twice) = (plain.maps[0].gamma.data(), twice.maps[0].gamma.data());
    let off = plain
        .iter()
        .zip(twice)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(off < 1e-6, "{off}");
}

/// A uniform offset with swapped doses: the normalisation is the other maximum.
#[test]
fn swapped_roles_differ_by_the_normalisation() {
    let (a, b) = (dose(&grid(), |_| 50.0), dose(&grid(), |_| 51.0));
    let there = on_cpu(&everywhere(&a, &b, &[USUAL])).maps[0]
        .gamma
        .at(3, 3, 3);
    let back = on_cpu(&everywhere(&b, &a, &[USUAL])).maps[0]
        .gamma
        .at(3, 3, 3);
    assert!(
        (there - 1.0 / 1.5).abs() < 1e-6 && (back - 1.0 / 1.53).abs() < 1e-6,
        "{there} {back}"
    );
    // With one normalisation both directions are equal here.
    let typed = |a, b| GammaRequest {
        normalisation: Normalisation::Typed(50.0),
        ..everywhere(a, b, &[USUAL])
    };
    assert_eq!(
        bits(&on_cpu(&typed(&a, &b)), 0),
        bits(&on_cpu(&typed(&b, &a)), 0)
    );
}

/// Larger criteria never increase gamma.
#[test]
fn gamma_falls_with_the_criterion() {
    let [a, b] = pair();
    let steps = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (3.0, 2.0), (3.0, 3.0)];
    let result = on_cpu(&everywhere(
        &a,
        &b,
        &steps.map(|(dose, dta)| Criterion::global(dose, dta)),
    ));
    for two in result.maps.windows(2) {
        let values = two[0].gamma.data().iter().zip(two[1].gamma.data());
        assert!(values.into_iter().all(|(a, b)| *b <= a * (1.0 + 1e-6)));
    }
}

#[test]
fn parts_have_the_bits_of_the_whole() {
    let [a, b] = pair();
    let two = [
        USUAL,
        Criterion {
            local: true,
            ..Criterion::global(2.0, 2.0)
        },
    ];
    let whole = on_cpu(&GammaRequest {
        threshold_percent: 20.0,
        ..everywhere(&a, &b, &two)
    });
    // Several criteria in one pass give the results of separate ones.
    for (n, one) in two.iter().enumerate() {
        let alone = on_cpu(&GammaRequest {
            threshold_percent: 20.0,
            ..everywhere(&a, &b, &[*one])
        });
        assert_eq!(bits(&whole, n), bits(&alone, 0));
    }
    // A random subset has the requested number of points.
    let subset = |seed| {
        let subset = Some(Subset { count: 100, seed });
        on_cpu(&GammaRequest {
            threshold_percent: 20.0,
            subset,
            ..everywhere(&a, &b, &two)
        })
    };
    let (part, again, other) = (subset(3), subset(3), subset(4));
    assert_eq!(part.maps[0].counts.points(), 100);
    assert_eq!(bits(&part, 0), bits(&again, 0));
    assert_ne!(bits(&part, 0), bits(&other, 0));
    for n in 0..2 {
        let known = part.maps[n]
            .gamma
            .data()
            .iter()
            .zip(whole.maps[n].gamma.data())
            .filter(|(g, _)| !g.is_nan());
        assert!(
            known.clone().count() == 100
                && known.into_iter().all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
    // One thread or several.
    let request = GammaRequest {
        threshold_percent: 20.0,
        ..everywhere(&a, &b, &two)
    };
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .install(|| on_cpu(&request));
    assert_eq!(bits(&one, 1), bits(&whole, 1));
}

#[test]
fn a_maximum_gamma_caps_and_changes_nothing_below() {
    let [a, b] = pair();
    let free = on_cpu(&everywhere(&a, &b, &[USUAL]));
    let capped = on_cpu(&GammaRequest {
        max_gamma: Some(0.5),
        ..everywhere(&a, &b, &[USUAL])
    });
    let values = free.maps[0]
        .gamma
        .data()
        .iter()
        .zip(capped.maps[0].gamma.data());
    let mut reached = 0;
    for (free, capped) in values {
        assert_eq!(*capped, free.min(0.5));
        reached += usize::from(*capped == 0.5);
    }
    assert!(reached > 0);
}

/// Doses that have nothing to do with each other: points are given up by the dose range of whole blocks of cells, and the others
/// have their values to the bit.
#[test]
fn points_given_up_at_once_are_those_that_have_more_gamma_than_the_limit() {
    let a = rough(&grid(), 7, 0.4);
    let fine = even(DVec3::splat(-14.1), DVec3::new(1.3, 0.9, 2.1), [23, 33, 14]);
    let steep = |on: &Arc<Grid>| dose(on, |p| (1.0 + 0.4 * p.x + 0.1 * p.y - 0.3 * p.z).max(0.0));
    let high = |on: &Arc<Grid>| scaled(&rough(on, 9, 0.3), 100.0);
    for b in [steep(&grid()), steep(&fine), high(&grid()), high(&fine)] {
        for dims in [Dims::Volume, Dims::Slices] {
            for criterion in [
                USUAL,
                Criterion::global(10.0, 4.0),
                Criterion {
                    local: true,
                    ..USUAL
                },
            ] {
                let free = on_cpu(&GammaRequest {
                    dims,
                    ..everywhere(&a, &b, &[criterion])
                });
                for most in [0.5, 1.1, 2.0, 3.0_f32] {
                    let max_gamma = Some(most);
                    let capped = on_cpu(&GammaRequest {
                        dims,
                        max_gamma,
                        ..everywhere(&a, &b, &[criterion])
                    });
                    let values = free.maps[0]
                        .gamma
                        .data()
                        .iter()
                        .zip(capped.maps[0].gamma.data());
                    for (free, capped) in values.filter(|(free, _)| !free.is_nan()) {
                        assert_eq!(*capped, free.min(most), "{criterion}, {dims:?}, {most}");
                    }
                }
            }
        }
    }
}

/// Threshold and region select the voxels with a gamma; the threshold is of the reference.
#[test]
fn threshold_and_region_choose_the_points() {
    let [a, b] = pair();
    let most = a.data().iter().copied().fold(0.0, f32::max);
    let circle = |z: f64| -> Vec<DVec3> {
        (0..60)
            .map(|n| f64::from(n) * 0.104_72)
            .map(|t| DVec3::new(8.0 * t.cos(), 8.0 * t.sin(), z))
            .collect()
    };
    let contours: Vec<Vec<DVec3>> = (-4..=4).map(|n| circle(2.5 * f64::from(n))).collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    let region = Arc::new(Mask::from_contours(a.grid(), &contours, &|_| true).unwrap());
    for region in [None, Some(region)] {
        let request = everywhere(&a, &b, &[USUAL]);
        let request = GammaRequest {
            threshold_percent: 40.0,
            region: region.clone(),
            ..request
        };
        let result = on_cpu(&request);
        let mut points = 0;
        for (n, gamma) in result.maps[0].gamma.data().iter().enumerate() {
            let (i, j, k) = (n % 21, n / 21 % 16, n / (21 * 16));
            let inside = region
                .as_ref()
                .is_none_or(|mask| mask.coverage_at(i, j, k) >= 0.5);
            let wanted = inside && f64::from(a.data()[n]) >= 0.4 * f64::from(most);
            assert_eq!(!gamma.is_nan(), wanted, "voxel {i} {j} {k}");
            points += usize::from(wanted);
        }
        assert!(points > 50 && result.maps[0].counts.analysed == points);
        assert_eq!(result.receipt.work as usize, points);
    }
}

/// Points outside the evaluated dose have no gamma and do not pass.
#[test]
fn outside_the_evaluated_dose() {
    let a = dose(&grid(), |_| 2.0);
    let part = even(
        DVec3::new(-15.0, -15.0, -5.0),
        DVec3::new(1.5, 2.0, 2.5),
        [21, 16, 5],
    );
    let result = on_cpu(&everywhere(&a, &dose(&part, |_| 2.0), &[USUAL]));
    let counts = result.maps[0].counts;
    assert_eq!(
        (counts.analysed, counts.passing, counts.outside),
        (21 * 16 * 5, 21 * 16 * 5, 21 * 16 * 8)
    );
    for (n, gamma) in result.maps[0].gamma.data().iter().enumerate() {
        let inside = (4..9).contains(&(n / (21 * 16)));
        assert_eq!(gamma.is_nan(), !inside, "voxel {n}");
    }
}

/// A local criterion is undefined at a point without dose.
#[test]
fn local_gamma_at_no_dose_is_undefined() {
    let a = dose(&grid(), |p| if p.x < 0.0 { 0.0 } else { 2.0 });
    let b = dose(&grid(), |p| if p.x < 0.0 { 0.0 } else { 2.02 });
    let result = on_cpu(&everywhere(
        &a,
        &b,
        &[Criterion {
            local: true,
            ..USUAL
        }],
    ));
    let counts = result.maps[0].counts;
    assert_eq!(
        counts.undefined,
        a.data().iter().filter(|v| **v == 0.0).count()
    );
    assert_eq!(counts.analysed + counts.undefined, a.data().len());
}

#[test]
fn the_sign_is_that_of_the_evaluated_dose() {
    let a = dose(&grid(), |_| 50.0);
    let b = dose(&grid(), |p| if p.x < 0.0 { 49.0 } else { 51.0 });
    let request = everywhere(&a, &b, &[USUAL]);
    let signed = on_cpu(&request).maps[0].signed(&request);
    assert!(signed.at(2, 5, 5) < -0.6 && signed.at(18, 5, 5) > 0.6);
}

/// Two planar doses are compared in their plane, for any requested dimensions.
#[test]
fn planar_doses() {
    let plane = |z: f64| {
        Arc::new(
            Grid::axis_aligned(DVec3::new(-10.0, -10.0, z), DVec3::splat(2.0), [11, 11, 1])
                .unwrap(),
        )
    };
    let slope = DVec3::new(0.03, 0.04, 0.0);
    let (a, b) = (
        dose(&plane(3.0), |p| 2.0 + slope.dot(p)),
        dose(&plane(3.0), |p| 2.06 + slope.dot(p)),
    );
    for dims in [Dims::Plane, Dims::Slices, Dims::Volume] {
        let result = on_cpu(&GammaRequest {
            dims,
            ..everywhere(&a, &b, &[USUAL])
        });
        let unit_gy = 0.03 * result.normalisation_gy;
        let g = 0.05 * 3.0 / unit_gy;
        let want = 0.06 / unit_gy / (1.0_f64 + g * g).sqrt();
        let got = f64::from(result.maps[0].gamma.at(5, 5, 0));
        assert!(
            result.flat && (got - want).abs() < 1e-4,
            "{dims:?}: {got} for {want}"
        );
    }
}
