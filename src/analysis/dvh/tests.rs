//! DVHs against closed forms: boxes and spheres in analytic doses.

mod closed_forms;

use super::samples::{MaskedDose, Sampling};
use super::sums::Sums;
use super::*;
use crate::Normalising;
use crate::PlanFigures;
use case::{Dose, DoseStatus, Normalisation, Plan};
use geometry::Grid;
use glam::DVec3;
use std::f64::consts::PI;
use std::sync::Arc;

fn volume(
    origin: DVec3,
    spacing: DVec3,
    size: [usize; 3],
    gy: impl Fn(DVec3) -> f64,
) -> Volume<f32> {
    let grid = Grid::axis_aligned(origin, spacing, size).unwrap();
    let mut data = Vec::with_capacity(grid.len());
    for k in 0..size[2] {
        for j in 0..size[1] {
            data.extend((0..size[0]).map(|i| gy(grid.centre_mm(i, j, k)) as f32));
        }
    }
    Volume::new(Arc::new(grid), data)
}

/// A mask of axis-aligned rectangles on every plane of a grid of `spacing`, between `low` and `high` (x, y, mm);
/// planes at `z`.
fn box_mask(spacing: f64, low: [f64; 2], high: [f64; 2], planes_mm: &[f64]) -> Mask {
    let origin = DVec3::new(
        low[0] - 20.0 + spacing / 2.0,
        low[1] - 20.0 + spacing / 2.0,
        0.0,
    );
    let size = [0, 1].map(|a| ((high[a] - low[a] + 40.0) / spacing).ceil() as usize);
    let grid =
        Arc::new(Grid::new(origin, DVec3::X, DVec3::Y, [spacing; 2], size, planes_mm).unwrap());
    mask(
        &grid,
        planes_mm
            .iter()
            .map(|z| {
                let corners = [
                    [low[0], low[1]],
                    [high[0], low[1]],
                    [high[0], high[1]],
                    [low[0], high[1]],
                ];
                corners.map(|[x, y]| DVec3::new(x, y, *z)).to_vec()
            })
            .collect(),
    )
}

fn mask(grid: &Arc<Grid>, contours: Vec<Vec<DVec3>>) -> Mask {
    let slices: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &slices, &|_| true).unwrap()
}

fn dvh(mask: &Mask, dose: &Volume<f32>) -> Dvh {
    Dvh::new(mask, dose, &JobControl::new()).unwrap()
}

fn close(got: f64, want: f64, within: f64) {
    assert!(
        (got - want).abs() <= within,
        "{got} is not {want} to {within}"
    );
}

/// Ten planes 2 mm apart.
fn planes() -> Vec<f64> {
    (0..10).map(|k| 2.0 * f64::from(k)).collect()
}

#[test]
fn a_linear_dose_over_a_box_has_a_straight_dvh() {
    // 40 x 20 x 20 mm; dose 10 to 50 Gy along x, on a grid that is neither the mask's nor aligned with its voxels.
    let mask = box_mask(2.0, [0.0, 0.0], [40.0, 20.0], &planes());
    let dose = volume(
        DVec3::new(-9.3, -8.1, -7.7),
        DVec3::new(2.3, 2.7, 2.9),
        [26, 15, 13],
        |p: DVec3| 10.0 + p.x,
    );
    let d = dvh(&mask, &dose);
    close(d.volume_cm3(), 16.0, 1e-9);
    assert_eq!(d.outside_percent(), 0.0);
    close(d.mean_gy(), 30.0, 1e-4);
    // The outermost samples lie an eighth of a voxel (2 mm in 4 samples: 0.25 mm) inside the faces.
    close(d.min_gy(), 10.25, 1e-4);
    close(d.max_gy(), 49.75, 1e-4);
    // Not at volumes where all samples of one x are counted and none of the next: D has a step there.
    for percent in [2.1, 5.3, 33.3, 50.4, 80.7, 95.1, 98.3] {
        let want = 50.0 - 0.4 * percent;
        close(d.dose_at_percent(percent), want, 0.26);
        close(
            d.dose_at_cm3(0.16 * percent),
            d.dose_at_percent(percent),
            1e-9,
        );
        close(d.percent_at(want), percent, 0.66);
        close(d.cm3_at(want), 0.16 * d.percent_at(want), 1e-9);
    }
    close(d.percent_at(10.0), 100.0, 1e-12);
    close(d.percent_at(50.1), 0.0, 1e-12);
    close(d.dose_at_percent(100.0), d.min_gy(), 1e-9);
    close(d.dose_at_percent(0.0), d.max_gy(), 1e-9);
    close(d.dose_at_cm3(1000.0), d.min_gy(), 1e-9);
}

#[test]
fn a_sphere_in_a_radial_dose_follows_the_cube_root() {
    // Radius 30 mm; dose 60 - r Gy, so V(D) is the share of the sphere within r = 60 - D.
    let grid = Grid::axis_aligned(DVec3::splat(-39.5), DVec3::splat(1.0), [80; 3]).unwrap();
    let contours = (0..80)
        .filter(|k| (f64::from(*k) - 39.5).abs() < 30.0)
        .map(|k: i32| {
            let z = f64::from(k) - 39.5;
            let r = (900.0 - z * z).max(0.0).sqrt();
            (0..180)
                .map(|n: i32| (2.0 * PI * f64::from(n) / 180.0).sin_cos())
                .map(|(s, c)| DVec3::new(r * c, r * s, z))
                .collect::<Vec<_>>()
        })
        .collect();
    let mask = mask(&Arc::new(grid), contours);
    let dose = volume(DVec3::splat(-42.0), DVec3::splat(1.4), [61; 3], |p| {
        60.0 - p.length()
    });
    let d = dvh(&mask, &dose);
    close(d.volume_cm3(), 4.0 / 3.0 * PI * 27.0, 0.15);
    // Mean distance from the centre is 3/4 of the radius.
    close(d.mean_gy(), 60.0 - 22.5, 0.03);
    for percent in [5.0_f64, 20.0, 50.0, 80.0, 95.0] {
        let r = 30.0 * (percent / 100.0).cbrt();
        close(d.dose_at_percent(percent), 60.0 - r, 0.06);
        close(d.percent_at(60.0 - r), percent, 0.5);
    }
}

#[test]
fn what_lies_outside_the_dose_grid_is_stated_and_not_counted_as_zero() {
    // The dose grid ends 10 mm into a box of 40 mm: a quarter is inside, at 5 Gy.
    let mask = box_mask(1.0, [0.0, 0.0], [40.0, 20.0], &planes());
    let dose = volume(
        DVec3::new(-19.0, -19.0, -9.0),
        DVec3::splat(2.0),
        [15, 30, 20],
        |_| 5.0,
    );
    let d = dvh(&mask, &dose);
    close(d.outside_percent(), 75.0, 1e-9);
    close(d.min_gy(), 5.0, 0.0);
    close(d.mean_gy(), 5.0, 0.0);
    close(d.percent_at(5.0), 100.0, 0.0);
    close(d.percent_at(5.001), 0.0, 0.0);
    assert_eq!(
        d.remarks(),
        ["75.0 % of the volume lie outside the dose grid and are not counted"]
    );
    let far = volume(DVec3::splat(500.0), DVec3::splat(2.0), [5; 3], |_| 5.0);
    assert_eq!(
        Dvh::new(&mask, &far, &JobControl::new()),
        Err(DvhError::Outside)
    );
}

#[test]
fn values_that_are_no_numbers_are_named_and_not_counted() {
    let mask = box_mask(2.0, [0.0, 0.0], [40.0, 20.0], &planes());
    // Planes half-way between voxel centres at x = 20: all voxels in contact with a NaN are broken.
    let d = dvh(
        &mask,
        &volume(
            DVec3::new(-19.0, -19.0, -9.0),
            DVec3::splat(2.0),
            [40, 40, 20],
            |p: DVec3| if p.x > 20.0 { f64::NAN } else { 3.0 },
        ),
    );
    close(d.not_a_number_percent(), 52.5, 2.6);
    close(d.mean_gy(), 3.0, 0.0);
    assert!(d.remarks()[0].contains("not a number"), "{:?}", d.remarks());
    let broken = volume(
        DVec3::new(-19.0, -19.0, -9.0),
        DVec3::splat(2.0),
        [40, 40, 20],
        |_| f64::NAN,
    );
    assert_eq!(
        Dvh::new(&mask, &broken, &JobControl::new()),
        Err(DvhError::NotANumber)
    );
}

#[test]
fn tiny_structures_are_flagged() {
    let mask = box_mask(1.0, [0.0, 0.0], [5.0, 5.0], &planes());
    let d = dvh(
        &mask,
        &volume(DVec3::splat(-30.0), DVec3::splat(5.0), [20; 3], |_| 1.0),
    );
    close(d.volume_cm3(), 0.5, 1e-9);
    assert_eq!(d.remarks(), ["0.50 cm3 only: too small for a reliable DVH"]);
}

#[test]
fn uneven_planes_count_by_their_thickness() {
    // Planes at 0, 2, 4, 10: thicknesses 2, 2, 4, 6 mm; the dose is the plane's z.
    let mask = box_mask(2.0, [0.0, 0.0], [20.0, 20.0], &[0.0, 2.0, 4.0, 10.0]);
    close(mask.volume_cm3(), 0.4 * 14.0, 1e-9);
    let dose = volume(DVec3::splat(-30.0), DVec3::splat(1.0), [80; 3], |p| {
        p.z + 10.0
    });
    let d = dvh(&mask, &dose);
    // From z = -1 to 13: mean 6.
    close(d.mean_gy(), 16.0, 1e-4);
    close(d.dose_at_percent(50.0), 16.0, 0.8);
}

/// Planes 75 mm apart (as in the phantom of Oncentra's files): the dose of the middle one falls to zero in
/// both neighbours, so it is half of that half-way to them.
#[test]
fn the_greatest_dose_of_thick_planes_stands_in_them() {
    let mask = box_mask(1.0, [0.0, 0.0], [50.0, 50.0], &[-75.0, 0.0, 75.0]);
    let dose = volume(
        DVec3::new(-10.0, -10.0, -75.0),
        DVec3::new(5.0, 5.0, 75.0),
        [15, 15, 3],
        |p: DVec3| if p.z.abs() < 1.0 { 6.0 } else { 0.0 },
    );
    let d = dvh(&mask, &dose);
    close(d.max_gy(), 6.0, 1e-6);
    // A third of the volume has 3 to 6 Gy, evenly; two sixths 0 to 3; the rims beyond the outer planes have
    // those planes' dose, zero.
    close(d.mean_gy(), 2.0, 0.01);
    close(d.percent_at(4.5), 100.0 / 6.0, 1.2);
    close(d.percent_at(1.5), 50.0, 1.2);
}

#[test]
fn the_curves_hold_the_volume() {
    let mask = box_mask(2.0, [0.0, 0.0], [40.0, 20.0], &planes());
    let dose = volume(
        DVec3::new(-9.3, -8.1, -7.7),
        DVec3::new(2.3, 2.7, 2.9),
        [26, 15, 13],
        |p| 20.0 + 5.0 * (p.x / 9.0).sin() + p.y / 3.0,
    );
    let d = dvh(&mask, &dose);
    let curve = d.cumulative();
    assert_eq!(curve[0], [0.0, 100.0]);
    assert!(
        curve
            .windows(2)
            .all(|w| w[1][0] > w[0][0] && w[1][1] <= w[0][1] + 1e-12)
    );
    close(curve[curve.len() - 1][1], 0.0, 1e-12);
    // The area under the cumulative curve is the mean dose.
    let area: f64 = curve
        .windows(2)
        .map(|w| (w[1][0] - w[0][0]) * (w[0][1] + w[1][1]) / 200.0)
        .sum();
    close(area, d.mean_gy(), 0.01);
    let differential = d.differential();
    let width = differential[1][0] - differential[0][0];
    close(
        differential.iter().map(|p| p[1] * width).sum::<f64>(),
        100.0,
        1e-6,
    );
}

#[test]
fn equal_for_any_number_of_threads_and_stops_when_told() {
    let mask = box_mask(1.0, [0.0, 0.0], [40.0, 20.0], &planes());
    let dose = volume(DVec3::splat(-10.0), DVec3::splat(2.3), [30; 3], |p| {
        9.0 + p.x.sin() + p.y / 7.0
    });
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let many = rayon::ThreadPoolBuilder::new()
        .num_threads(5)
        .build()
        .unwrap();
    assert_eq!(
        one.install(|| dvh(&mask, &dose)),
        many.install(|| dvh(&mask, &dose))
    );
    let control = JobControl::new();
    control.cancel();
    assert_eq!(
        Dvh::new(&mask, &dose, &control),
        Err(DvhError::Cancelled(Cancelled))
    );
}

#[test]
fn normalising_gives_the_structure_what_was_asked() {
    let mask = box_mask(2.0, [0.0, 0.0], [40.0, 20.0], &planes());
    let grid = (
        DVec3::new(-9.3, -8.1, -7.7),
        DVec3::new(2.3, 2.7, 2.9),
        [26, 15, 13],
    );
    let previous = volume(grid.0, grid.1, grid.2, |p| 10.0 + p.x);
    let to = Normalisation::to_named("PTV", 95.0, 60.0);
    let normalising = Normalising {
        to: &to,
        gy: 60.0,
        mask: Some(&mask),
        sampling: Sampling::Full,
    };
    let factor = normalising.factor(&previous, &JobControl::new()).unwrap();
    let gy = volume(grid.0, grid.1, grid.2, |p| factor * (10.0 + p.x));
    let after = dvh(&mask, &gy);
    close(after.dose_at_percent(95.0), 60.0, 1e-3);
    let dose = Dose {
        gy: Arc::new(gy),
        status: DoseStatus::Coarse,
        label: "sum".into(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let words =
        PlanFigures::new(&Plan::new("P", "generic-6mv"), &dose, Some(("PTV", &after))).to_string();
    assert!(
        words.contains("D95 60.00") && words.contains("dose coarse"),
        "{words}"
    );
    let none = volume(grid.0, grid.1, grid.2, |_| 0.0);
    assert!(normalising.factor(&none, &JobControl::new()).is_err());
}

/// SampledDose by rows and by positions gives the same DVH, for even and uneven planes and a dose that covers
/// only a part.
#[test]
fn rows_are_read_as_places_are() {
    for planes in [planes(), vec![0.0, 1.0, 4.0, 6.5, 7.0, 11.0, 13.0]] {
        let mask = box_mask(2.0, [0.0, 0.0], [41.0, 23.0], &planes);
        let mut dose = volume(
            DVec3::new(7.3, -8.1, -7.7),
            DVec3::new(2.3, 2.7, 2.9),
            [26, 15, 13],
            |p: DVec3| 20.0 + 9.0 * (0.21 * p.x).sin() * (0.17 * p.y).cos() + 0.3 * p.z,
        );
        if planes.len() == 7 {
            let z = [-5.0, -3.0, 0.5, 1.0, 6.0, 9.0, 20.0];
            let grid = Grid::new(
                DVec3::new(7.3, -8.1, 0.0),
                DVec3::X,
                DVec3::Y,
                [2.3, 2.7],
                [26, 15],
                &z,
            );
            let data = dose.data()[..26 * 15 * 7].to_vec();
            dose = Volume::new(Arc::new(grid.unwrap()), data);
        }
        let by_row = dvh(&mask, &dose);
        let mut source = MaskedDose::new(&mask, &dose, Sampling::Full);
        assert!(source.columns.take().is_some(), "axes agree");
        let mut sums = Sums::default();
        (0..mask.size()[2]).for_each(|k| sums.add(&source.sums(k)));
        close(by_row.outside_cm3, sums.outside_cm3, 1e-9);
        assert!(by_row.outside_percent() > 5.0);
        close(by_row.mean_gy(), sums.gy_cm3 / sums.inside_cm3, 1e-5);
        close(by_row.min_gy(), f64::from(sums.min_gy), 1e-4);
        close(by_row.max_gy(), f64::from(sums.max_gy), 1e-4);
    }
}

/// The body of a planning CT, ten million voxels of about 1 x 1 x 3 mm, in a dose of 2.5 mm: the figures are
/// the same for any number of threads.
#[test]
fn a_whole_body_is_the_same_on_one_thread() {
    let planes: Vec<f64> = (0..134).map(|k| 3.0 * f64::from(k)).collect();
    let mask = box_mask(0.9766, [-170.0, -120.0], [170.0, 110.0], &planes);
    let dose = volume(
        DVec3::new(-180.0, -130.0, -10.0),
        DVec3::splat(2.5),
        [145, 106, 170],
        |p: DVec3| 60.0 * (-p.length_squared() / 8000.0).exp() + 0.01 * p.y + 2.0,
    );
    let full = dvh(&mask, &dose);
    assert!(mask.size().iter().product::<usize>() > 10_000_000);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    assert_eq!(one.install(|| dvh(&mask, &dose)), full);
}

/// Strokes on a large structure, in its box and beyond, that change its least and greatest dose or not: the DVH made of
/// the planes before is the one made from scratch, to the bit.
#[test]
fn a_redrawn_dvh_is_the_dvh_to_the_bit() {
    let grid =
        Arc::new(Grid::axis_aligned(DVec3::splat(-60.0), DVec3::splat(1.0), [120; 3]).unwrap());
    let square = |half: f64, z: f64, x_mm: f64| {
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        corners
            .map(|(x, y)| DVec3::new(x_mm + half * x, half * y, z))
            .to_vec()
    };
    let body: Vec<Vec<DVec3>> = (0..110)
        .map(|k| square(50.3, f64::from(k) - 58.0, 0.4))
        .collect();
    let changed = |k: usize, with: Vec<DVec3>| {
        let mut contours = body.clone();
        contours.insert(k, with);
        Arc::new(mask(&grid, contours))
    };
    let masks = [
        Arc::new(mask(&grid, body.clone())),
        changed(50, square(3.0, -8.0, 0.0)),
        changed(50, square(3.0, -8.0, 54.0)),
        changed(58, square(2.0, 0.0, 1.0)),
        changed(109, square(20.0, 52.0, 5.0)),
    ];
    let dose = volume(DVec3::splat(-58.3), DVec3::splat(2.5), [46; 3], |p| {
        60.0 - 0.5 * p.length()
    });
    let mut planes = None;
    for mask in masks.iter().chain([&masks[0]]) {
        let (redrawn, kept) =
            Dvh::redrawn(mask, &dose, planes.as_ref(), &JobControl::new()).unwrap();
        assert!(redrawn == dvh(mask, &dose));
        assert!(kept.is_some(), "large enough");
        planes = kept;
    }
    // Planes of another dose tell nothing.
    let other = volume(DVec3::splat(-58.3), DVec3::splat(2.5), [46; 3], |p| {
        40.0 + 0.1 * p.x
    });
    let (redrawn, _) =
        Dvh::redrawn(&masks[0], &other, planes.as_ref(), &JobControl::new()).unwrap();
    assert!(redrawn == dvh(&masks[0], &other));
}

/// The DVHs of a preview against the DVHs of all samples, in a dose with a penumbra: a ball of few voxels, one of many, and a body
/// of which one row in many is read.
#[test]
fn a_preview_reads_fewer_samples_of_the_same_structure() {
    let ball = |x_mm: f64, radius_mm: f64| {
        let grid =
            Arc::new(Grid::axis_aligned(DVec3::splat(-60.0), DVec3::splat(2.0), [61; 3]).unwrap());
        mask(
            &grid,
            geometry::sphere_contours(&grid, DVec3::new(x_mm, 0.0, 0.0), radius_mm),
        )
    };
    let planes: Vec<f64> = (0..80).map(|k| 1.5 * f64::from(k) - 60.0).collect();
    let body = box_mask(0.8, [-60.0, -50.0], [60.0, 50.0], &planes);
    assert!(body.covered() > 1_000_000);
    let gy = |p: DVec3| 60.0 / (1.0 + ((p.x.hypot(p.y) - 25.0) / 4.0).exp()) + 0.01 * p.z;
    let dose = volume(DVec3::splat(-70.0), DVec3::splat(7.0), [21; 3], gy);
    for (mask, most_percent) in [(ball(25.0, 12.0), 1.0), (ball(0.0, 40.0), 1.0), (body, 0.1)] {
        let full = dvh(&mask, &dose);
        let few = Dvh::sampled(&mask, &dose, Sampling::Preview, &JobControl::new()).unwrap();
        assert!(few != full, "fewer samples");
        close(
            few.volume_cm3(),
            mask.volume_cm3(),
            1e-6 * mask.volume_cm3(),
        );
        close(few.mean_gy(), full.mean_gy(), 0.3);
        for gy in [5.0, 20.0, 40.0, 55.0] {
            close(few.percent_at(gy), full.percent_at(gy), most_percent);
        }
        let source = |sampling| MaskedDose::new(&mask, &dose, sampling);
        let [few, full] = [Sampling::Preview, Sampling::Full].map(|s| {
            let source = source(s);
            (0..mask.size()[2])
                .map(|k| source.samples(k).len())
                .sum::<usize>()
        });
        assert!(
            few < full && (2_000..=250_000).contains(&few),
            "{few} of {full}"
        );
    }
}

/// On uneven, oblique planes, beside a voxel without a number and at the edges: the volume of the samples that reach a dose, each
/// read by itself.
#[test]
fn isodoses_are_those_of_samples_read_one_by_one() {
    const SIZE: [usize; 3] = [7, 6, 5];
    const PER_AXIS: usize = 8;
    let (s, c) = 0.3_f64.sin_cos();
    let axes = [DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0)];
    let origin = DVec3::new(5.0, -3.0, 1.0);
    let planes = [0.0, 2.0, 3.0, 6.0, 7.5];
    let grid = Arc::new(
        Grid::new(
            origin,
            axes[0],
            axes[1],
            [2.0, 3.0],
            [SIZE[0], SIZE[1]],
            &planes,
        )
        .unwrap(),
    );
    let mut gy: Vec<f32> = (0..grid.len())
        .map(|n| 1.0 + (n * 7919 % 101) as f32 / 10.0)
        .collect();
    gy[100] = f32::NAN;
    let dose = Volume::new(Arc::clone(&grid), gy);
    let isodoses = Isodoses::count(&dose, &JobControl::new()).unwrap();
    let threshold_gy = 0.25 * dose.greatest();
    let edges = grid.edges_mm(2);
    let mut samples: Vec<(f32, f64)> = Vec::new();
    for n in (0..grid.len()).filter(|n| dose.data()[*n] >= threshold_gy) {
        let (i, j, k) = (n % SIZE[0], n / SIZE[0] % SIZE[1], n / (SIZE[0] * SIZE[1]));
        for s in 0..PER_AXIS.pow(3) {
            let part = |s: usize| (s % PER_AXIS) as f64 / PER_AXIS as f64 + 0.5 / PER_AXIS as f64;
            let x = (i as f64 - 0.5 + part(s)) * 2.0;
            let y = (j as f64 - 0.5 + part(s / PER_AXIS)) * 3.0;
            let z = edges[k] + (edges[k + 1] - edges[k]) * part(s / (PER_AXIS * PER_AXIS));
            let inside = [x.clamp(0.0, 12.0), y.clamp(0.0, 15.0), z.clamp(0.0, 7.5)];
            let place = grid.patient_from_local(DVec3::from(inside));
            let cm3 = grid.voxel_cm3(k) / PER_AXIS.pow(3) as f64;
            samples.extend(
                dose.trilinear(place)
                    .filter(|gy| gy.is_finite())
                    .map(|gy| (gy, cm3)),
            );
        }
    }
    // At the edges of bins, where nothing is interpolated.
    let [low, high] = [threshold_gy, dose.greatest()].map(f64::from);
    for n in [1, 400, 1000, 2000, 3500] {
        let level = low + (high - low) * f64::from(n) / BINS as f64;
        let reach = samples.iter().filter(|(gy, _)| f64::from(*gy) >= level);
        close(
            isodoses.cm3_at(level).unwrap(),
            reach.map(|(_, cm3)| cm3).sum(),
            1e-4,
        );
    }
}

/// A thousand points of evenly spread doses have the curve of the even distribution, whatever their order; half of the volume may
/// lie on one of them.
#[test]
fn points_have_the_dvh_of_their_volumes() {
    let even = (0..1000).map(|n| (10.0 + 0.01 * ((n * 37) % 1000) as f32, 0.02));
    let dvh = Dvh::of_points(even).unwrap();
    assert!((dvh.volume_cm3() - 20.0).abs() < 1e-3 && (dvh.mean_gy() - 14.995).abs() < 1e-3);
    for percent in [5.0, 50.0, 90.0] {
        let want = 20.0 - 0.1 * percent;
        assert!(
            (dvh.dose_at_percent(percent) - want).abs() < 0.02,
            "D{percent} {want}"
        );
    }
    let uneven = [(1.0, 3.0), (f32::NAN, 9.0), (2.0, 1.0), (3.0, 2.0)];
    let dvh = Dvh::of_points(uneven.into_iter()).unwrap();
    assert!((dvh.volume_cm3() - 6.0).abs() < 1e-9 && (dvh.mean_gy() - 11.0 / 6.0).abs() < 1e-9);
    assert!(Dvh::of_points(std::iter::empty()).is_none());
}
