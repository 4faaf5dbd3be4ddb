//! Structures of all sizes in doses whose DVH is a closed form: a sphere and a cylinder in a linear gradient, a Gaussian round a
//! sphere.

use super::super::*;
use geometry::Grid;
use glam::DVec3;
use std::f64::consts::{PI, TAU};

/// Samples a function at the voxels of a grid of `spacing_mm` that covers 80 mm round the origin; no voxel is
/// centred there.
fn dose(spacing_mm: f64, gy: impl Fn(DVec3) -> f64) -> Volume<f32> {
    let n = (80.0 / spacing_mm) as usize;
    let origin = DVec3::new(-0.5, -0.37, -0.43) * spacing_mm * n as f64;
    let grid = Grid::axis_aligned(origin, DVec3::splat(spacing_mm), [n; 3]).unwrap();
    let data = (0..grid.len())
        .map(|i| gy(grid.centre_mm(i % n, i / n % n, i / (n * n))) as f32)
        .collect();
    Volume::new(Arc::new(grid), data)
}

/// A structure with a circle of `radius_mm(z)` about the z axis on every plane of a CT, 40 mm each way.
fn round(voxel_mm: [f64; 3], radius_mm: impl Fn(f64) -> Option<f64>) -> Mask {
    let size = voxel_mm.map(|mm| (40.0 / mm) as usize);
    let spacing = DVec3::from(voxel_mm);
    let origin = DVec3::new(-19.9, -20.3, -20.0 + 0.31 * voxel_mm[2]);
    let grid = Arc::new(Grid::axis_aligned(origin, spacing, size).unwrap());
    let planes = (0..size[2]).map(|k| origin.z + voxel_mm[2] * k as f64);
    let contours: Vec<Vec<DVec3>> = planes
        .filter_map(|z| {
            let radius = radius_mm(z)?;
            Some(
                (0..180)
                    .map(|n: u32| {
                        let (s, c) = (TAU * f64::from(n) / 180.0).sin_cos();
                        DVec3::new(radius * c, radius * s, z)
                    })
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(&grid, &contours, &|_| true).unwrap()
}

fn sphere(voxel_mm: [f64; 3], radius_mm: f64) -> Mask {
    round(voxel_mm, |z: f64| {
        Some((radius_mm * radius_mm - z * z).sqrt()).filter(|r| *r > 0.0)
    })
}

fn dvh(mask: &Mask, dose: &Volume<f32>) -> Dvh {
    let isodoses = Isodoses::count(dose, &JobControl::new()).unwrap();
    Dvh::new(mask, dose, &JobControl::new())
        .unwrap()
        .with_isodoses(Arc::new(isodoses))
}

/// The argument at which a falling function passes `wanted`.
fn solved(low: f64, high: f64, wanted: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if falling(middle) > wanted {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// Share of a sphere beyond `x`, both over its radius.
fn cap(x: f64) -> f64 {
    let x = x.clamp(-1.0, 1.0);
    (1.0 - x).powi(2) * (2.0 + x) / 4.0
}

/// Share of a disc beyond `x`, both over its radius.
fn segment(x: f64) -> f64 {
    let x = x.clamp(-1.0, 1.0);
    (x.acos() - x * (1.0 - x * x).sqrt()) / PI
}

const PERCENTS: [f64; 7] = [2.0, 5.0, 25.0, 50.0, 75.0, 95.0, 98.0];

/// The greatest differences from a closed form `dose_gy(percent)`: of D at several volumes, of the mean and of the ends.
fn worst(d: &Dvh, dose_gy: impl Fn(f64) -> f64) -> [f64; 3] {
    let worst_gy = PERCENTS
        .iter()
        .map(|percent| (d.dose_at_percent(*percent) - dose_gy(*percent)).abs())
        .fold(0.0, f64::max);
    let steps = 2000;
    let mean = (0..steps)
        .map(|n| dose_gy(100.0 * (f64::from(n) + 0.5) / f64::from(steps)))
        .sum::<f64>();
    let ends = (d.max_gy() - dose_gy(0.0))
        .abs()
        .max((d.min_gy() - dose_gy(100.0)).abs());
    [
        worst_gy,
        (d.mean_gy() - mean / f64::from(steps)).abs(),
        ends,
    ]
}

/// Voxels of the CT that a structure is drawn on, mm: across 1, 2 and 3 mm planes, and voxels of a dose.
const VOXELS_MM: [[f64; 3]; 4] = [
    [1.0, 1.0, 1.0],
    [0.98, 0.98, 2.0],
    [0.98, 0.98, 3.0],
    [2.5, 2.5, 2.5],
];

/// A gradient of 1 Gy a mm: differences in Gy are distances in mm. Along the planes the structure is known to
/// a part of a voxel; across them only by its drawn planes, with an error that is a share of their distance.
#[test]
fn a_sphere_in_a_linear_gradient() {
    for direction in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE.normalize()] {
        for voxel_mm in VOXELS_MM {
            // From 0.03 to 24 cm3. A sphere drawn on one plane is indistinguishable from a disc.
            for radius in [1.93, 3.0, 5.0, 10.0, 18.0]
                .into_iter()
                .filter(|r| 2.0 * r > 1.5 * voxel_mm[2])
            {
                let d = dvh(
                    &sphere(voxel_mm, radius),
                    &dose(2.5, |p| 100.0 + p.dot(direction)),
                );
                let [worst_mm, mean, ends] = worst(&d, |percent: f64| {
                    solved(100.0 - radius, 100.0 + radius, percent, |gy: f64| {
                        100.0 * cap((gy - 100.0) / radius)
                    })
                });
                let [flat, across] = [direction.with_z(0.0).length(), direction.z.abs()];
                let within = 0.24 * flat + 0.5 * across * voxel_mm[2];
                let what = format!(
                    "{voxel_mm:?} along {direction:.1}, radius {radius}: {worst_mm:.3} {mean:.3} {ends:.3}"
                );
                assert!(worst_mm <= within + 0.03, "D(v): {what}");
                assert!(
                    mean <= 0.08 + 0.37 * across * (voxel_mm[2] - 1.0),
                    "mean: {what}"
                );
                assert!(
                    ends <= 0.5 * flat + 0.62 * across * voxel_mm[2],
                    "least or greatest: {what}"
                );
            }
        }
    }
}

/// A sphere about `centre` drawn on all planes of a separate grid, whose axes may be oblique.
fn sphere_on(axes: [DVec3; 2], voxel_mm: [f64; 3], radius_mm: f64, centre: DVec3) -> Mask {
    let half = radius_mm + 6.0;
    let [nx, ny, nz] = voxel_mm.map(|mm| (2.0 * half / mm) as usize);
    let normal = axes[0].cross(axes[1]);
    let origin = -(axes[0] + axes[1] + normal) * half + 0.31 * voxel_mm[2] * normal;
    let planes: Vec<f64> = (0..nz).map(|k| voxel_mm[2] * k as f64).collect();
    let grid = Grid::new(
        origin,
        axes[0],
        axes[1],
        [voxel_mm[0], voxel_mm[1]],
        [nx, ny],
        &planes,
    )
    .unwrap();
    let middle = grid.local_from_patient(centre);
    let contours: Vec<Vec<DVec3>> = planes
        .iter()
        .filter_map(|z| {
            let radius = Some(radius_mm * radius_mm - (z - middle.z).powi(2))
                .filter(|r| *r > 0.0)?
                .sqrt();
            Some(
                (0..360)
                    .map(|n: u32| {
                        let (s, c) = (TAU * f64::from(n) / 360.0).sin_cos();
                        grid.patient_from_local(DVec3::new(
                            middle.x + radius * c,
                            middle.y + radius * s,
                            *z,
                        ))
                    })
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(&Arc::new(grid), &contours, &|_| true).unwrap()
}

/// A dose on a grid of `spacing_mm` that covers `half_mm` each way, no voxel of which is centred in the origin.
fn wide_dose(spacing_mm: f64, half_mm: f64, gy: impl Fn(DVec3) -> f64) -> Volume<f32> {
    let n = (2.0 * half_mm / spacing_mm) as usize;
    let origin = DVec3::new(-0.5, -0.497, -0.493) * spacing_mm * n as f64;
    on_voxels_of(
        &Arc::new(Grid::axis_aligned(origin, DVec3::splat(spacing_mm), [n; 3]).unwrap()),
        gy,
    )
}

fn on_voxels_of(grid: &Arc<Grid>, gy: impl Fn(DVec3) -> f64) -> Volume<f32> {
    let [nx, ny, _] = grid.size();
    Volume::new(
        Arc::clone(grid),
        (0..grid.len())
            .map(|n| gy(grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny))) as f32)
            .collect(),
    )
}

/// The greatest differences in mm of D and V from the closed form of a sphere in a linear gradient of 1 Gy a mm: at the ends (D98, D95,
/// D5, D2) and between. Holds that the curve falls and keeps to its ends.
fn off_a_sphere(d: &Dvh, radius_mm: f64, middle_gy: f64) -> [f64; 2] {
    let off = |percent: f64| {
        let gy = middle_gy + radius_mm * solved(-1.0, 1.0, percent / 100.0, cap);
        // Percent of the volume a mm across the sphere there.
        let per_mm = 75.0 / radius_mm * (1.0 - ((gy - middle_gy) / radius_mm).powi(2));
        let got = d.dose_at_percent(percent);
        assert!((d.min_gy()..=d.max_gy()).contains(&got));
        // Beyond a least or greatest dose that was read V is all or nothing.
        let read = (d.min_gy()..d.max_gy()).contains(&gy);
        let volume_mm = if read {
            (d.percent_at(gy) - percent).abs() / per_mm
        } else {
            0.0
        };
        assert!(
            volume_mm < (got - gy).abs() + 0.3,
            "V({gy}) of D{percent}: {volume_mm}"
        );
        (got - gy).abs()
    };
    let curve = d.cumulative();
    assert!(
        curve
            .windows(2)
            .all(|w| w[1][0] > w[0][0] && w[1][1] <= w[0][1] + 1e-9)
    );
    assert!(d.min_gy() <= d.mean_gy() && d.mean_gy() <= d.max_gy());
    let worst = |percents: &[f64]| percents.iter().map(|p| off(*p)).fold(0.0, f64::max);
    [
        worst(&[98.0, 95.0, 5.0, 2.0]),
        worst(&[80.0, 63.0, 50.0, 35.0, 20.0]),
    ]
}

const OFF_CENTRE: [DVec3; 2] = [DVec3::ZERO, DVec3::new(0.4, 0.1, -0.35)];

/// From 0.5 to 270 cm3, read up to eight times along the sides of a voxel or once: no stairs. Thick planes bound a sphere of
/// few of them: where it ends between two is not drawn.
#[test]
fn spheres_of_all_sizes_in_a_linear_gradient_have_no_stairs() {
    let directions = [
        DVec3::X,
        DVec3::new(1.0, 1.0, 0.0).normalize(),
        DVec3::ONE.normalize(),
        DVec3::Z,
    ];
    for voxel_mm in [
        [1.0, 1.0, 1.0],
        [0.98, 0.98, 2.0],
        [2.0, 2.0, 2.0],
        [0.98, 0.98, 3.0],
        [3.0, 3.0, 3.0],
    ] {
        for radius in [5.0, 8.0, 15.0, 20.0, 30.0, 40.0] {
            for (direction, centre) in directions
                .into_iter()
                .flat_map(|d| OFF_CENTRE.map(|c| (d, c)))
            {
                let mask = sphere_on([DVec3::X, DVec3::Y], voxel_mm, radius, centre);
                let d = dvh(
                    &mask,
                    &wide_dose(2.5, radius + 8.0, |p| 100.0 + p.dot(direction)),
                );
                let [ends, between] = off_a_sphere(&d, radius, 100.0 + centre.dot(direction));
                let what = format!(
                    "{voxel_mm:?} along {direction:.1}, radius {radius}: {ends:.3} {between:.3}"
                );
                let planes = 2.0 * radius / voxel_mm[2];
                let few: f64 = if planes < 8.0 { 0.2 } else { 0.1 };
                if direction == DVec3::Z && voxel_mm[2] > 1.0 {
                    // The ends are off by a share of the planes' distance that falls with their number.
                    let bound = (2.0 * voxel_mm[2] / planes).min(0.35 * voxel_mm[2]);
                    assert!(
                        ends <= bound.max(0.2) && between <= few.max(1.4 / planes),
                        "{what}"
                    );
                } else {
                    let few = if direction.z > 0.0 && planes < 8.0 {
                        0.26
                    } else {
                        few
                    };
                    assert!(ends <= few && between <= few, "{what}");
                }
            }
        }
    }
}

/// Read once a voxel on the voxels of the dose, where those at the surface are read in their middle, too.
#[test]
fn spheres_on_the_voxels_of_the_dose_have_no_stairs() {
    for (mm, ends_mm, between_mm) in [(1.0, 0.09, 0.08), (2.0, 0.26, 0.15), (3.0, 0.5, 0.25)] {
        for direction in [
            DVec3::X,
            DVec3::new(1.0, 1.0, 0.0).normalize(),
            DVec3::new(0.9, 0.3, 0.2),
        ] {
            let direction = direction.normalize();
            for (radius, centre) in [15.0, 30.0]
                .into_iter()
                .flat_map(|r| OFF_CENTRE.map(|c| (r, c)))
            {
                let mask = sphere_on([DVec3::X, DVec3::Y], [mm; 3], radius, centre);
                let d = dvh(
                    &mask,
                    &on_voxels_of(mask.grid(), |p| 100.0 + p.dot(direction)),
                );
                let [ends, between] = off_a_sphere(&d, radius, 100.0 + centre.dot(direction));
                assert!(
                    ends <= ends_mm && between <= between_mm,
                    "{mm} mm along {direction:.1}, radius {radius}: {ends:.3} {between:.3}"
                );
            }
        }
    }
}

/// Oblique planes are read by positions.
#[test]
fn a_sphere_on_oblique_planes_has_no_stairs() {
    let (s, c) = 0.4_f64.sin_cos();
    let axes = [DVec3::X, DVec3::new(0.0, c, s)];
    for radius in [8.0, 30.0] {
        let mask = sphere_on(axes, [1.0; 3], radius, DVec3::ZERO);
        for direction in [DVec3::X, DVec3::Y, DVec3::Z] {
            let d = dvh(
                &mask,
                &wide_dose(2.5, radius + 12.0, |p| 100.0 + p.dot(direction)),
            );
            let [ends, between] = off_a_sphere(&d, radius, 100.0);
            assert!(
                ends <= 0.1 && between <= 0.1,
                "along {direction}, radius {radius}: {ends} {between}"
            );
        }
    }
}

/// A voxel of the dose that no sample of the structure meets.
#[test]
fn the_peak_of_the_dose_grid_is_the_greatest_dose() {
    let gy = |p: DVec3| p.distance(DVec3::new(0.0, 1.4, -2.6));
    let grid =
        Grid::axis_aligned(DVec3::new(-50.0, -48.6, -52.6), DVec3::splat(2.5), [41; 3]).unwrap();
    let (s, c) = 0.4_f64.sin_cos();
    for axes in [[DVec3::X, DVec3::Y], [DVec3::X, DVec3::new(0.0, c, s)]] {
        let mask = sphere_on(axes, [1.0; 3], 30.0, DVec3::ZERO);
        let [peak, trough] =
            [-1.0, 1.0].map(|sign| on_voxels_of(&Arc::new(grid.clone()), |p| 60.0 + sign * gy(p)));
        assert_eq!(dvh(&mask, &peak).max_gy(), 60.0);
        assert_eq!(dvh(&mask, &peak).dose_at_percent(0.0), 60.0);
        assert_eq!(dvh(&mask, &trough).min_gy(), 60.0);
    }
}

/// Whole voxels of the dose, as data sets publish structures: each has one dose.
#[test]
fn a_list_of_voxels_of_the_dose_has_their_doses() {
    let grid =
        Arc::new(Grid::axis_aligned(DVec3::splat(-19.0), DVec3::splat(2.0), [20; 3]).unwrap());
    let contours: Vec<_> = (5..15)
        .map(|k: i32| {
            [(-10.0, -10.0), (10.0, -10.0), (10.0, 10.0), (-10.0, 10.0)]
                .map(|(x, y)| DVec3::new(x, y, f64::from(2 * k - 19)))
        })
        .collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(|c| c.as_slice()).collect();
    let mask = Mask::from_contours(&grid, &contours, &|_| true).unwrap();
    assert!(mask.has_whole_voxels_only());
    let d = dvh(&mask, &on_voxels_of(&grid, |p| 20.0 + p.x));
    // Voxels at -9, -7, ... 9 mm.
    for (gy, percent) in [(11.5, 90.0), (12.5, 90.0), (20.5, 50.0), (28.5, 10.0)] {
        assert!(
            (d.percent_at(gy) - percent).abs() < 1e-9,
            "{gy} Gy: {}",
            d.percent_at(gy)
        );
    }
}

/// Drawn on all its planes, the cylinder is exact along them.
#[test]
fn a_cylinder_in_a_linear_gradient() {
    for voxel_mm in VOXELS_MM {
        for radius in [2.0, 4.0, 10.0] {
            let mask = round(voxel_mm, |z| (z.abs() < 10.0).then_some(radius));
            let d = dvh(&mask, &dose(2.5, |p| 100.0 + p.x));
            let [worst_mm, mean, ends] = worst(&d, |percent: f64| {
                solved(100.0 - radius, 100.0 + radius, percent, |gy: f64| {
                    100.0 * segment((gy - 100.0) / radius)
                })
            });
            let what = format!("{voxel_mm:?}, radius {radius}: {worst_mm:.3} {mean:.3} {ends:.3}");
            assert!(
                worst_mm <= 0.18 && mean <= 0.01 && ends <= 0.3 * voxel_mm[0],
                "{what}"
            );
        }
    }
}

/// 60 Gy in the middle, 8 or 15 mm wide. On a dose grid of 2.5 mm linear interpolation cuts a peak of that
/// width by 2.4 % and 0.8 %: no reading restores that.
#[test]
fn a_gaussian_round_a_sphere() {
    for (sigma, grid, within, mean_within) in [
        (8.0, 1.0, 0.018, 0.006),
        (8.0, 2.5, 0.037, 0.025),
        (15.0, 2.5, 0.012, 0.008),
    ] {
        let gaussian = |r: f64| 60.0 * (-r * r / (2.0 * sigma * sigma)).exp();
        let dose = dose(grid, |p| gaussian(p.length()));
        for voxel_mm in [VOXELS_MM[0], VOXELS_MM[1], VOXELS_MM[3]] {
            for radius in [3.0, 5.0, 10.0] {
                let d = dvh(&sphere(voxel_mm, radius), &dose);
                let [worst_mm, mean, _] = worst(&d, |percent: f64| {
                    gaussian(radius * (percent / 100.0).cbrt())
                });
                let what = format!(
                    "{voxel_mm:?}, radius {radius}, {sigma} mm on {grid} mm: {worst_mm:.3} {mean:.3}"
                );
                assert!(
                    worst_mm <= 60.0 * within && mean <= 60.0 * mean_within,
                    "{what}"
                );
                // The hottest 0.03 cm3 fill a sphere of 1.93 mm, 2 cm3 one of 7.82 mm.
                for (cm3, sphere_radius_mm) in [(0.03, 1.928), (2.0, 7.816)] {
                    if radius > sphere_radius_mm {
                        let got = d.dose_at_cm3(cm3);
                        assert!(
                            (got - gaussian(sphere_radius_mm)).abs() <= 60.0 * within,
                            "D{cm3}cc {got}, {what}"
                        );
                    }
                }
            }
        }
    }
}

/// The isodose of a Gaussian dose is a sphere: its volume has the closed form for a few voxels and for
/// many. Linear interpolation cuts a narrow peak, by a share of (spacing / width)^2.
#[test]
fn an_isodose_has_the_volume_of_its_sphere() {
    for sigma in [4.0, 8.0, 15.0] {
        let gaussian = |r: f64| 60.0 * (-r * r / (2.0 * sigma * sigma)).exp();
        let d = dvh(
            &sphere(VOXELS_MM[0], 5.0),
            &dose(1.0, |p| gaussian(p.length())),
        );
        for share in [0.3, 0.5, 0.8] {
            let radius = sigma * (-2.0 * f64::ln(share)).sqrt();
            let want = 4.0 / 3.0 * PI * radius.powi(3) / 1000.0;
            let got = d.isodose_cm3(60.0 * share).unwrap();
            assert!(
                (got / want - 1.0).abs() < 0.01 + 1.7 / (sigma * sigma),
                "{share} of {sigma} mm: {got} cm3 for {want}"
            );
        }
        assert_eq!(
            d.isodose_cm3(10.0),
            None,
            "a sixth of the greatest dose is not counted"
        );
        assert_eq!(d.isodose_cm3(61.0), Some(0.0));
    }
}
