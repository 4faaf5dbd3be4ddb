//! Radiographs through the public interface: closed forms, orders of convergence, and properties of every
//! integrator.

use beamsight::case::Pose;
use beamsight::engine::drr::{DrrRequest, Integrator, Pixels, Region, Spread, drr};
use beamsight::engine::path::reference::siddon;
use beamsight::engine::{Compute, JobControl};
use beamsight::geometry::{Grid, ImagingSetup, PatientPosition, Projection, Volume};
use glam::{DMat3, DVec3, EulerRot};
use std::sync::Arc;

const TRILINEAR: Integrator = Integrator::Trilinear { step_mm: None };

fn steps_of(mm: f64) -> Integrator {
    Integrator::Trilinear { step_mm: Some(mm) }
}

fn setup(gantry_deg: f64, couch_deg: f64) -> ImagingSetup {
    ImagingSetup {
        position: PatientPosition::Hfs,
        gantry_deg,
        couch_deg,
        isocentre_mm: DVec3::new(2.0, -3.0, 4.0),
        sad_mm: 1000.0,
        sid_mm: 1500.0,
        shift_mm: [0.0, 0.0],
        pixel_mm: [3.1, 3.3],
        columns: 53,
        rows: 47,
    }
}

fn request(
    attenuation: &Arc<Volume<f32>>,
    projection: Projection,
    integrator: Integrator,
) -> DrrRequest {
    DrrRequest {
        attenuation: Arc::clone(attenuation),
        projection,
        poses: vec![Pose::default()],
        pose_centre_mm: DVec3::ZERO,
        integrator,
        pixels: Pixels::All,
    }
}

fn integrals(request: &DrrRequest) -> Vec<f64> {
    let answer = drr(request, &Compute::Cpu, &JobControl::new()).expect("an image");
    answer.integrals.into_iter().map(f64::from).collect()
}

/// A volume about the origin, from a function of the position (patient axes).
fn volume(
    turn: DMat3,
    spacing: [f64; 2],
    size: [usize; 2],
    planes: &[f64],
    of: impl Fn(DVec3) -> f64,
) -> Arc<Volume<f32>> {
    let grid =
        |first| Grid::new(first, turn.x_axis, turn.y_axis, spacing, size, planes).expect("a grid");
    let grid = grid(-grid(DVec3::ZERO).middle_mm());
    let mut data = Vec::new();
    for k in 0..planes.len() {
        for j in 0..size[1] {
            data.extend((0..size[0]).map(|i| of(grid.centre_mm(i, j, k)) as f32));
        }
    }
    Arc::new(Volume::new(Arc::new(grid), data))
}

fn even(count: usize, mm: f64) -> Vec<f64> {
    (0..count).map(|k| k as f64 * mm).collect()
}

/// The chord of a box by planes with their normals (Cyrus and Beck), independent of the code's own clipping.
fn chord(grid: &Grid, from: DVec3, to: DVec3) -> f64 {
    let corners = grid.corners_mm();
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for axis in grid.axes() {
        let along: Vec<f64> = corners.iter().map(|c| c.dot(axis)).collect();
        let low = along.iter().copied().fold(f64::INFINITY, f64::min);
        let high = along.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (a, b) = (from.dot(axis), to.dot(axis));
        let cuts = [(low - a) / (b - a), (high - a) / (b - a)];
        enter = enter.max(cuts[0].min(cuts[1]));
        leave = leave.min(cuts[0].max(cuts[1]));
    }
    (leave - enter).max(0.0) * (to - from).length()
}

fn each_pixel(projection: &Projection) -> impl Iterator<Item = DVec3> {
    let (p, columns) = (*projection, projection.columns());
    (0..p.pixels()).map(move |n| p.pixel_mm((n % columns) as f64, (n / columns) as f64))
}

/// Chords of a uniform box, exact to 1e-6, by fine steps to 2e-4; oblique grids, uneven planes, every patient
/// position.
#[test]
fn chords_of_a_box() {
    let oblique = DMat3::from_euler(EulerRot::ZYX, 0.4, -0.3, 0.2);
    let uneven = [0.0, 2.0, 5.5, 6.5, 11.0, 13.0, 19.0, 20.0, 24.0];
    for (turn, planes) in [(DMat3::IDENTITY, even(24, 2.5)), (oblique, uneven.to_vec())] {
        let solid = volume(turn, [2.0, 1.5], [40, 44], &planes, |_| 0.02);
        for position in PatientPosition::ALL {
            let p = ImagingSetup {
                position,
                ..setup(37.0, 21.0)
            }
            .projection()
            .expect("a geometry");
            let want: Vec<f64> = each_pixel(&p)
                .map(|to| 0.02_f32 as f64 * chord(solid.grid(), p.source_mm(), to))
                .collect();
            let most = want.iter().copied().fold(0.0, f64::max);
            assert!(most > 0.5, "{position}: the box is in view");
            for (integrator, off) in [(Integrator::Exact, 1e-6), (steps_of(0.1), 2e-4)] {
                for (got, want) in integrals(&request(&solid, p, integrator)).iter().zip(&want) {
                    assert!(
                        (got - want).abs() <= off * most,
                        "{position} {integrator:?}: {got} for {want}"
                    );
                }
            }
        }
    }
}

/// The exact integrator against Siddon's sorted planes, on values that are all different.
#[test]
fn the_exact_sum_is_that_of_sorted_planes() {
    let turn = DMat3::from_euler(EulerRot::XYZ, 0.7, 0.2, -0.5);
    let planes = [0.0, 2.0, 5.5, 6.5, 11.0, 13.0, 19.0, 20.0, 24.0, 31.0];
    let hash = |p: DVec3| {
        0.03 * ((p.x * 12.9 + p.y * 78.2 + p.z * 37.7).sin() * 43758.5)
            .fract()
            .abs()
    };
    let volume = volume(turn, [2.1, 3.3], [37, 29], &planes, hash);
    for (gantry, couch) in [(0.0, 0.0), (45.0, 0.0), (90.0, 30.0), (211.0, 300.0)] {
        let p = setup(gantry, couch).projection().expect("a geometry");
        for (got, to) in integrals(&request(&volume, p, Integrator::Exact))
            .iter()
            .zip(each_pixel(&p))
        {
            let want = siddon(&volume, p.source_mm(), to);
            assert!(
                (got - want).abs() <= 1e-6 * want.max(1.0),
                "{gantry}: {got} for {want}"
            );
        }
    }
}

/// Trilinear interpolation reproduces attenuation that is linear in space: along a ray between the centres
/// the midpoint of a step is its mean, for any step.
#[test]
fn linear_attenuation_is_exact_at_any_step() {
    let mu = |p: DVec3| 0.02 + 1e-4 * p.x - 2e-4 * p.y + 1.5e-4 * p.z;
    let grid = volume(DMat3::IDENTITY, [2.0, 2.0], [60, 60], &even(60, 2.0), mu);
    // Source and image lie inside the volume: no ray crosses its border.
    let p = Projection::new(
        DVec3::new(-31.0, -40.0, 12.0),
        DVec3::new(20.0, 35.0, -20.0),
        DVec3::new(3.0, 1.0, 0.0),
        DVec3::new(0.0, 0.0, 2.0),
        [7, 9],
    )
    .expect("a geometry");
    for step in [0.3, 1.0, 7.0, 500.0] {
        for (got, to) in integrals(&request(&grid, p, steps_of(step)))
            .iter()
            .zip(each_pixel(&p))
        {
            let want = mu(p.source_mm().lerp(to, 0.5)) * (to - p.source_mm()).length();
            assert!((got - want).abs() < 2e-6 * want, "{step}: {got} for {want}");
        }
    }
}

/// Between eight centres trilinear attenuation is a cubic along a ray: the error of midpoint sums falls
/// fourfold for each halving of the step. A single cell, so that there are no kinks.
#[test]
fn the_error_falls_fourfold_per_halved_step() {
    let corner =
        |p: DVec3| 0.02 * (1.0 + 0.9 * (p.x * p.y * p.z).signum() + 0.5 * (p.x * p.y).signum());
    let cell = volume(
        DMat3::IDENTITY,
        [100.0, 100.0],
        [2, 2],
        &[0.0, 100.0],
        corner,
    );
    let p = Projection::new(
        DVec3::new(-48.0, -45.0, -49.0),
        DVec3::new(40.0, 42.0, 44.0),
        DVec3::new(2.0, 0.0, 0.0),
        DVec3::new(0.0, 1.0, -1.0),
        [4, 4],
    )
    .expect("a geometry");
    // Three Gauss points integrate polynomials up to the fifth degree.
    let exact: Vec<f64> = each_pixel(&p)
        .map(|to| {
            let at = |t: f64| f64::from(cell.trilinear(p.source_mm().lerp(to, t)).expect("inside"));
            let off = 0.5 * 0.6_f64.sqrt();
            (at(0.5 - off) * 5.0 + at(0.5) * 8.0 + at(0.5 + off) * 5.0) / 18.0
                * (to - p.source_mm()).length()
        })
        .collect();
    for n in 0..exact.len() {
        let length = (each_pixel(&p).nth(n).expect("a pixel") - p.source_mm()).length();
        let error = |steps: f64| {
            let all = request(&cell, p, steps_of(length / steps));
            (integrals(&DrrRequest {
                pixels: Pixels::List(Arc::new(vec![n as u32])),
                ..all
            })[0]
                - exact[n])
                .abs()
        };
        for steps in [4.0, 8.0, 16.0] {
            let ratio = error(steps) / error(2.0 * steps);
            assert!(
                (3.8..4.2).contains(&ratio),
                "pixel {n}, {steps} steps: {ratio}"
            );
        }
    }
}

/// On a path of 10.5 steps the half step is neither left out nor counted whole.
#[test]
fn what_is_left_of_the_last_step_counts() {
    let slab = volume(
        DMat3::IDENTITY,
        [1.0, 1.0],
        [21, 21],
        &even(21, 1.0),
        |_| 0.05,
    );
    let p = Projection::new(
        DVec3::Y * -500.0,
        DVec3::Y * 500.0,
        DVec3::X * 0.1,
        DVec3::Z * 0.1,
        [2, 2],
    )
    .expect("a geometry");
    for step in [2.0, 20.0 / 10.5, 4.2, 6.9, 20.9, 21.0, 21.1, 900.0] {
        let got = integrals(&request(&slab, p, steps_of(step)))[0];
        assert!((got - 1.05).abs() < 1e-6, "{step}: {got}");
    }
}

fn speckled() -> Arc<Volume<f32>> {
    let hash = |p: DVec3| {
        0.03 * ((p.x * 12.9 + p.y * 78.2 + p.z * 37.7).sin() * 43758.5)
            .fract()
            .abs()
    };
    let of = move |p: DVec3| if p.length() < 38.0 { hash(p) } else { 0.0 };
    volume(
        DMat3::from_euler(EulerRot::ZYX, 0.1, -0.2, 0.3),
        [1.7, 1.3],
        [55, 70],
        &even(41, 2.2),
        of,
    )
}

#[test]
fn source_and_pixel_swapped_give_the_same() {
    let volume = speckled();
    let p = setup(63.0, 12.0).projection().expect("a geometry");
    for integrator in [Integrator::Exact, TRILINEAR, steps_of(1.9)] {
        let all = integrals(&request(&volume, p, integrator));
        for (n, to) in each_pixel(&p).enumerate().step_by(37) {
            let back = Projection::new(
                to,
                p.source_mm(),
                p.column_step_mm(),
                p.row_step_mm(),
                [1, 1],
            )
            .expect("a geometry");
            let got = integrals(&request(&volume, back, integrator))[0];
            assert!(
                (got - all[n]).abs() < 2e-6 * all[n].max(0.1),
                "{integrator:?} {n}: {got} for {}",
                all[n]
            );
        }
    }
}

#[test]
fn some_pixels_are_those_of_the_whole_image_bit_for_bit() {
    let volume = speckled();
    let p = setup(150.0, 0.0).projection().expect("a geometry");
    let region = Region {
        column: 9,
        row: 4,
        columns: 31,
        rows: 40,
    };
    let subset = |region, count, spread| Pixels::Subset {
        region,
        count,
        spread,
        seed: 3,
    };
    let parts = [
        Pixels::Region(region),
        subset(Some(region), 77, Spread::Random),
        subset(None, 53 * 47, Spread::Random),
        // Subsets of 1.1 % to all pixels.
        subset(None, 53 * 47 * 11 / 1000, Spread::LowDiscrepancy),
        subset(Some(region), 500, Spread::LowDiscrepancy),
        subset(None, 53 * 47, Spread::LowDiscrepancy),
        Pixels::List(Arc::new(vec![2490, 0, 77, 77, 1200])),
    ];
    for integrator in [Integrator::Exact, TRILINEAR, steps_of(0.77)] {
        let whole = drr(
            &request(&volume, p, integrator),
            &Compute::Cpu,
            &JobControl::new(),
        )
        .expect("an image");
        for pixels in &parts {
            let some = DrrRequest {
                pixels: pixels.clone(),
                ..request(&volume, p, integrator)
            };
            let some = drr(&some, &Compute::Cpu, &JobControl::new()).expect("an image");
            assert_eq!(some.indices.len(), some.integrals.len());
            for (&pixel, got) in some.indices.iter().zip(&some.integrals) {
                assert_eq!(
                    got.to_bits(),
                    whole.integrals[pixel as usize].to_bits(),
                    "{pixels:?} {pixel}"
                );
            }
        }
    }
}

/// A pose moves the patient: the picture is that of the volume moved the same way, with source and image
/// fixed.
#[test]
fn a_pose_is_the_patient_moved() {
    let p = setup(25.0, 10.0).projection().expect("a geometry");
    let volume = speckled();
    let centre = DVec3::new(5.0, -3.0, 8.0);
    let pose = Pose::new([6.0, -9.0, 4.0], [11.0, -7.0, 19.0]);
    let grid = volume.grid();
    let turned = |v: DVec3| pose.rotation() * v;
    let moved = Grid::new(
        pose.apply(grid.origin_mm(), centre),
        turned(grid.axes()[0]),
        turned(grid.axes()[1]),
        grid.spacing_xy_mm(),
        [grid.size()[0], grid.size()[1]],
        grid.planes_mm(),
    )
    .expect("a grid");
    let moved = Arc::new(Volume::new(Arc::new(moved), volume.data().to_vec()));
    for integrator in [Integrator::Exact, TRILINEAR] {
        let posed = DrrRequest {
            poses: vec![Pose::default(), pose],
            pose_centre_mm: centre,
            ..request(&volume, p, integrator)
        };
        let [posed, want] = [
            integrals(&posed),
            integrals(&request(&moved, p, integrator)),
        ];
        let most = want.iter().copied().fold(0.0, f64::max);
        for (got, want) in posed[p.pixels()..].iter().zip(&want) {
            assert!((got - want).abs() < 1e-5 * most, "{got} for {want}");
        }
        assert!(
            posed[..p.pixels()]
                .iter()
                .zip(&want)
                .any(|(a, b)| (a - b).abs() > 0.1 * most),
            "it moved at all"
        );
    }
}

/// A bead shifted to the left (+x) by 10 mm appears 15 mm to the right of the picture's middle at gantry 0,
/// one shifted to the head 15 mm above it.
#[test]
fn a_shifted_bead_is_seen_where_the_conventions_say() {
    let bead = volume(DMat3::IDENTITY, [0.5, 0.5], [41, 41], &even(41, 0.5), |p| {
        f64::from(u8::from(p.length() < 0.1))
    });
    let p = ImagingSetup {
        isocentre_mm: DVec3::ZERO,
        pixel_mm: [0.25, 0.25],
        columns: 201,
        rows: 201,
        ..setup(0.0, 0.0)
    };
    let projection = p.projection().expect("a geometry");
    for (pose, seen) in [
        (Pose::default(), [100.0, 100.0]),
        (Pose::new([10.0, 0.0, 0.0], [0.0; 3]), [160.0, 100.0]),
        (Pose::new([0.0, 0.0, 10.0], [0.0; 3]), [100.0, 40.0]),
    ] {
        let all = integrals(&DrrRequest {
            poses: vec![pose],
            ..request(&bead, projection, TRILINEAR)
        });
        let sum: f64 = all.iter().sum();
        let centre = |of: fn(usize) -> usize| {
            all.iter()
                .enumerate()
                .map(|(n, v)| v * of(n) as f64)
                .sum::<f64>()
                / sum
        };
        let got = [centre(|n| n % 201), centre(|n| n / 201)];
        assert!(
            (got[0] - seen[0]).abs() < 0.01 && (got[1] - seen[1]).abs() < 0.01,
            "{pose}: {got:?} for {seen:?}"
        );
    }
}

#[test]
fn what_cannot_be_asked_for_is_said() {
    let volume = speckled();
    let p = setup(0.0, 0.0).projection().expect("a geometry");
    let good = request(&volume, p, Integrator::Exact);
    let error = |request: DrrRequest| {
        drr(&request, &Compute::Cpu, &JobControl::new())
            .expect_err("refused")
            .to_string()
    };
    assert!(
        error(DrrRequest {
            poses: Vec::new(),
            ..good.clone()
        })
        .contains("pose")
    );
    assert!(
        error(DrrRequest {
            poses: vec![Pose::new([f64::NAN; 3], [0.0; 3])],
            ..good.clone()
        })
        .contains("finite")
    );
    assert!(
        error(DrrRequest {
            integrator: steps_of(0.0),
            ..good.clone()
        })
        .contains("step")
    );
    assert!(
        error(DrrRequest {
            integrator: steps_of(1e-9),
            ..good.clone()
        })
        .contains("step")
    );
    let region = Region {
        column: 53,
        row: 0,
        columns: 1,
        rows: 1,
    };
    assert!(
        error(DrrRequest {
            pixels: Pixels::Region(region),
            ..good.clone()
        })
        .contains("53 x 47")
    );
    let control = JobControl::new();
    control.cancel();
    assert!(drr(&good, &Compute::Cpu, &control).is_err());
}

/// A volume behind the source or beyond the image is not visible, and the receipt states it.
#[test]
fn a_volume_out_of_sight_is_remarked_on() {
    let volume = speckled();
    let p = setup(0.0, 0.0).projection().expect("a geometry");
    for (pose, words) in [
        ([0.0, -1200.0, 0.0], "behind the source"),
        ([0.0, 900.0, 0.0], "beyond the image"),
        ([0.0, 500.0, 0.0], "cuts through"),
        ([0.0, -1000.0, 0.0], "reaches behind the source"),
    ] {
        for integrator in [Integrator::Exact, TRILINEAR] {
            let request = DrrRequest {
                poses: vec![Pose::new(pose, [0.0; 3])],
                ..request(&volume, p, integrator)
            };
            let answer = drr(&request, &Compute::Cpu, &JobControl::new()).expect("an image");
            assert!(
                answer.receipt.warnings.iter().any(|w| w.contains(words)),
                "{:?}",
                answer.receipt.warnings
            );
            let seen = answer.integrals.iter().any(|&v| v > 0.0);
            assert_eq!(
                seen,
                !answer
                    .receipt
                    .warnings
                    .iter()
                    .any(|w| w.contains("nothing is seen"))
            );
            assert!(answer.integrals.iter().all(|v| v.is_finite()));
        }
    }
}
