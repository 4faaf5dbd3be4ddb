//! The fluence against ray tracing from many source points, closed forms and published figures.

use super::{Fluence, FluenceError};
use crate::machine::{Electrons, Leaves};
use crate::{Exposure, Machine, exposures};
use case::{Bank, Beam, ControlPoint, FluenceMap, Jaws, Mlc, MlcAxis};
use glam::DVec3;
use std::sync::Arc;

mod moving;

fn machine(name: &str) -> Machine {
    Arc::unwrap_or_clone(Machine::resolve(name).expect("shipped"))
}

fn open(machine: &Machine, jaws: Jaws) -> Fluence {
    let b = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
    Fluence::new(machine, &b, &exposures(&b, 2.0)[0]).expect("a fluence")
}

/// A beam of still leaves.
fn shaped(machine: &Machine, jaws: Jaws, tips: impl Fn(f64) -> Bank) -> Beam {
    let mut b = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
    let mlc = machine.leaves.as_ref().expect("leaves").to_case();
    b.control_points[0].leaves_mm = mlc
        .boundaries_mm
        .windows(2)
        .map(|w| tips(0.5 * (w[0] + w[1])))
        .collect();
    b.mlc = Some(mlc);
    b
}

fn grid_of_points(reach_mm: i32, step_mm: i32) -> Vec<[f64; 2]> {
    points_along(reach_mm, step_mm)
        .flat_map(|x| points_along(reach_mm, step_mm).map(move |y| [x + 0.3, y - 0.2]))
        .collect()
}

fn points_along(reach_mm: i32, step_mm: i32) -> impl Iterator<Item = f64> {
    (-reach_mm..=reach_mm)
        .step_by(step_mm as usize)
        .map(f64::from)
}

fn fluence_of(machine: &Machine, beam: &Beam) -> Fluence {
    Fluence::new(machine, beam, &exposures(beam, 2.0)[0]).expect("a fluence")
}

/// Part of a Gaussian source at `plane_mm` that a point sees through jaws and leaves: ray by ray.
fn traced(
    m: &Machine,
    beam: &Beam,
    plane_mm: f64,
    sigma_mm: f64,
    iso_mm: [f64; 2],
    distance_mm: f64,
) -> f64 {
    let p = &beam.control_points[0];
    // Steps of the source plane well under the movement of a shutter edge there.
    let n = if plane_mm > 0.0 { 401 } else { 121 };
    let offsets: Vec<f64> = (0..n)
        .map(|i| (f64::from(i) / f64::from(n - 1) - 0.5) * 9.0 * sigma_mm)
        .collect();
    let point = iso_mm.map(|v| v * distance_mm / m.sad_mm);
    // Where the ray from a source point crosses a plane, scaled to the isocentre plane.
    let cross = |s: f64, axis: usize, plane: f64| {
        (s + (point[axis] - s) * (plane - plane_mm) / (distance_mm - plane_mm)) * m.sad_mm / plane
    };
    let (mut sum, mut total) = (0.0, 0.0);
    for &s in &offsets {
        let wx =
            gaussian(s, sigma_mm) * through_jaws(cross(s, 0, m.jaws.x_distance_mm), p.jaws.x, m);
        for &t in &offsets {
            total += gaussian(s, sigma_mm) * gaussian(t, sigma_mm);
            let open = wx
                * gaussian(t, sigma_mm)
                * through_jaws(cross(t, 1, m.jaws.y_distance_mm), p.jaws.y, m);
            let plane = m.leaves.as_ref().map_or(500.0, |l| l.distance_mm);
            sum += open * through_leaves(cross(s, 0, plane), cross(t, 1, plane), m, beam, p);
        }
    }
    sum / total
}

fn gaussian(s: f64, sigma_mm: f64) -> f64 {
    (-0.5 * (s / sigma_mm).powi(2)).exp()
}

fn through_jaws(x: f64, edges: [f64; 2], m: &Machine) -> f64 {
    if x > edges[0] && x < edges[1] {
        1.0
    } else {
        m.jaws.transmission
    }
}

fn through_leaves(x: f64, y: f64, m: &Machine, beam: &Beam, p: &ControlPoint) -> f64 {
    let (Some(mlc), Some(l)) = (&beam.mlc, &m.leaves) else {
        return 1.0;
    };
    let scale = l.distance_mm / m.sad_mm;
    let half_joint = 0.5 * l.tongue_mm / scale;
    let row = mlc
        .boundaries_mm
        .windows(2)
        .position(|w| y >= w[0] && y < w[1]);
    let Some(row) = row else { return 1.0 };
    let (to_low, to_high) = (y - mlc.boundaries_mm[row], mlc.boundaries_mm[row + 1] - y);
    let neighbour = if to_low < half_joint && row > 0 {
        Some(row - 1)
    } else if to_high < half_joint && row + 2 < mlc.boundaries_mm.len() {
        Some(row + 1)
    } else {
        None
    };
    match neighbour {
        None => through_leaf(row, x, p, l, scale),
        Some(other) => {
            let (a, b) = (
                through_leaf(row, x, p, l, scale),
                through_leaf(other, x, p, l, scale),
            );
            let both_shut = a < 1.1 * l.transmission && b < 1.1 * l.transmission;
            if both_shut {
                l.interleaf_transmission
            } else {
                (a * b).sqrt()
            }
        }
    }
}

fn through_leaf(row: usize, x: f64, p: &ControlPoint, l: &Leaves, scale: f64) -> f64 {
    let [a, b] = p.leaves_mm[row];
    let behind = (a - x).max(x - b).max(0.0) * scale;
    let chord = (2.0
        * (2.0 * l.end_radius_mm * behind - behind * behind)
            .max(0.0)
            .sqrt())
    .min(l.thickness_mm);
    l.transmission.powf(if behind > 20.0 {
        1.0
    } else {
        chord / l.thickness_mm
    })
}

/// Only one of the two sources, uniform off the axis, so that fluence is the part of it that is seen.
fn with_only(mut m: Machine, extra_focal: bool) -> Machine {
    m.off_axis = super::Curve::constant(1.0);
    match (&mut m.extra_focal, extra_focal) {
        (Some(e), true) => e.share = 1.0,
        (source, _) => *source = None,
    }
    m
}

#[test]
fn the_point_machine_is_uniform_inside_the_jaws_and_nothing_outside() {
    let f = open(
        &machine("point-6mv"),
        Jaws {
            x: [-30.0, 50.0],
            y: [-50.0, 20.0],
        },
    );
    for (x, y, want) in [
        (0.0, 0.0, 1.0),
        (-29.9, 19.9, 1.0),
        (49.9, -49.9, 1.0),
        (-30.1, 0.0, 0.0),
        (0.0, 20.1, 0.0),
    ] {
        assert_eq!(f.at(x, y, 1000.0, 0.0), want, "{x} {y}");
    }
    // A footprint of 4 mm at 800 mm is 5 mm at the isocentre plane: 1 mm inside the edge, 3.5 of 5 mm are open.
    assert!((f.at(49.0, 0.0, 800.0, 4.0) - 0.7).abs() < 1e-12);
    assert_eq!(f.electrons_at(0.0, 0.0), 0.0);
}

#[test]
fn the_reference_field_is_1_on_the_axis() {
    for name in Machine::shipped() {
        let f = open(&machine(&name), Jaws::symmetric(100.0, 100.0));
        assert!((f.at(0.0, 0.0, 1000.0, 2.0) - 1.0).abs() < 1e-9, "{name}");
    }
    assert!(
        (open(&machine("generic-6mv"), Jaws::symmetric(100.0, 100.0)).electrons_at(0.0, 0.0) - 1.0)
            .abs()
            < 1e-9
    );
}

/// S_c(40) / S_c(10) is 1.04 to 1.05 at 6 MV, an assumed range (`assets/PHYSICS.md`); larger fields see more of the head.
#[test]
fn output_factors_in_air_rise_with_the_field() {
    let m = machine("generic-6mv");
    let sides = [20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 400.0];
    let factors: Vec<f64> = sides.iter().map(|&s| output(s, s, &m)).collect();
    assert!(factors.windows(2).all(|w| w[0] < w[1]), "{factors:?}");
    let ratio = factors[8] / factors[4];
    assert!((1.04..=1.05).contains(&ratio), "S_c(40)/S_c(10) = {ratio}");
    // Collimator exchange: the upper (Y) jaws hide more of the source than the lower ones.
    assert!(output(50.0, 300.0, &m) > output(300.0, 50.0, &m));
}

fn output(x: f64, y: f64, m: &Machine) -> f64 {
    open(m, Jaws::symmetric(x, y)).at(0.0, 0.0, 1000.0, 1.0)
}

/// A Gaussian spot of sigma s through an edge at c: at the isocentre the 20-80 % width is 2 x 0.8416 s (SAD/c - 1).
#[test]
fn the_penumbra_in_air_is_that_of_a_gaussian_spot() {
    let m = with_only(machine("generic-6mv"), false);
    let f = open(&m, Jaws::symmetric(100.0, 100.0));
    for (axis, edge_mm) in [(0, m.jaws.x_distance_mm), (1, m.jaws.y_distance_mm)] {
        for distance in [900.0, 1000.0, 1200.0] {
            let value = |x: f64| {
                if axis == 0 {
                    f.at(x, 0.0, distance, 0.0)
                } else {
                    f.at(0.0, x, distance, 0.0)
                }
            };
            let (inside, outside) = (value(0.0), value(80.0));
            assert!(
                (outside / inside - m.jaws.transmission).abs() < 1e-6,
                "jaw transmission"
            );
            let level = |share: f64| {
                let (mut low, mut high) = (30.0, 80.0);
                for _ in 0..60 {
                    let x = 0.5 * (low + high);
                    if value(x) > outside + share * (inside - outside) {
                        low = x
                    } else {
                        high = x
                    }
                }
                low
            };
            assert!(
                (level(0.5) - 50.0).abs() < 1e-3,
                "half at the geometric edge: {}",
                level(0.5)
            );
            let want = 2.0
                * 0.841_621
                * m.focal_sigma_mm[axis]
                * 1000.0
                * (1.0 / edge_mm - 1.0 / distance);
            let got = level(0.2) - level(0.8);
            assert!(
                (got / want - 1.0).abs() < 2e-3,
                "{axis} {distance}: {got} against {want}"
            );
        }
    }
}

#[test]
fn two_half_fields_make_the_whole() {
    let m = machine("generic-6mv");
    let closed = Jaws {
        x: [0.0, 0.0],
        y: [-60.0, 60.0],
    };
    let [a, b, open_field, none] = [
        jaws_from(-60.0, 0.0),
        jaws_from(0.0, 60.0),
        jaws_from(-60.0, 60.0),
        closed,
    ]
    .map(|j| open(&m, j));
    for x in [-70.0, -20.0, -1.0, 0.0, 0.5, 33.0, 61.0] {
        for d in [900.0, 1100.0] {
            let sum = a.at(x, 7.0, d, 2.5) + b.at(x, 7.0, d, 2.5) - none.at(x, 7.0, d, 2.5);
            let want = open_field.at(x, 7.0, d, 2.5);
            assert!((sum - want).abs() < 1e-5, "{x} {d}: {sum} against {want}");
        }
    }
}

fn jaws_from(low: f64, high: f64) -> Jaws {
    Jaws {
        x: [low, high],
        y: [-60.0, 60.0],
    }
}

/// Leaves in a slanted shape, within wide jaws and within jaws that cut into it.
#[test]
fn the_focal_spot_through_leaves_agrees_with_ray_tracing() {
    let m = with_only(machine("generic-6mv"), false);
    // Where a jaw's edge falls on a leaf's, the two shadows are treated as independent beyond their common blur: that
    // moves such an edge by up to 0.15 mm.
    for (jaws, tolerance) in [
        (Jaws::symmetric(140.0, 140.0), 0.03),
        (
            Jaws {
                x: [-21.0, 30.0],
                y: [-15.0, 20.0],
            },
            0.06,
        ),
    ] {
        let b = shaped(&m, jaws, |y| {
            if y.abs() < 30.0 {
                [-25.0 + 0.4 * y, 28.0 + 0.2 * y]
            } else {
                [0.0, 0.0]
            }
        });
        let f = fluence_of(&m, &b);
        for (x, y, d) in [
            (0.0, 2.5, 1000.0),
            (-25.0, 2.5, 1000.0),
            (-24.2, 2.5, 1000.0),
            (27.0, 7.5, 900.0),
            (29.9, 7.5, 1100.0),
            (5.0, 30.0, 1000.0),
            (5.0, 20.4, 1000.0),
            (-20.5, -14.6, 1000.0),
            (40.0, 12.5, 1000.0),
            (10.0, 45.0, 1000.0),
        ] {
            let want = traced(&m, &b, 0.0, m.focal_sigma_mm[0], [x, y], d);
            let got = f.at(x, y, d, 0.5);
            assert!(
                (got - want).abs() < tolerance,
                "({x}, {y}) at {d}, {jaws:?}: {got} against {want}"
            );
        }
    }
}

#[test]
fn the_extra_focal_source_agrees_with_ray_tracing() {
    let m = with_only(machine("generic-6mv"), true);
    let e = m.extra_focal.expect("a source");
    let scale = 1.0
        / traced(
            &m,
            &shaped(&m, Jaws::symmetric(100.0, 100.0), |_| [-200.0, 200.0]),
            e.distance_mm,
            e.sigma_mm,
            [0.0, 0.0],
            1000.0,
        );
    for (jaws, half) in [
        (Jaws::symmetric(100.0, 100.0), 200.0),
        (Jaws::symmetric(140.0, 140.0), 25.0),
        (
            Jaws {
                x: [-21.0, 60.0],
                y: [-15.0, 40.0],
            },
            30.0,
        ),
    ] {
        let b = shaped(&m, jaws, |y| {
            if y.abs() < half {
                [-half, half]
            } else {
                [0.0, 0.0]
            }
        });
        let f = fluence_of(&m, &b);
        for (x, y, d) in [
            (0.0, 0.0, 1000.0),
            (30.0, -10.0, 1000.0),
            (70.0, 20.0, 1100.0),
            (-20.0, 40.0, 850.0),
            (5.0, 2.0, 900.0),
        ] {
            let want = scale
                * traced(&m, &b, e.distance_mm, e.sigma_mm, [x, y], d)
                * ((m.sad_mm - e.distance_mm) / (d - e.distance_mm) * d / m.sad_mm).powi(2);
            let got = f.at(x, y, d, 2.5);
            // The source gives 8 % of the fluence: 0.02 of it is 0.15 % of the dose.
            assert!(
                (got - want).abs() < 0.02 * scale,
                "({x}, {y}) at {d}, {jaws:?}: {got} against {want}"
            );
        }
    }
}

/// Without leaves in the field the pictures agree with the closed form.
#[test]
fn wide_open_leaves_change_nothing() {
    let m = machine("generic-6mv");
    let jaws = Jaws {
        x: [-40.0, 70.0],
        y: [-60.0, 30.0],
    };
    let (through, plain) = (
        fluence_of(&m, &shaped(&m, jaws, |_| [-200.0, 200.0])),
        open(&m, jaws),
    );
    for (x, y) in [
        (0.0, 0.0),
        (-40.0, 0.0),
        (-39.0, 29.0),
        (65.0, -55.0),
        (71.0, 0.0),
        (90.0, 10.0),
    ] {
        for d in [850.0, 1000.0, 1150.0] {
            let (a, b) = (through.at(x, y, d, 2.5), plain.at(x, y, d, 2.5));
            assert!((a - b).abs() < 0.012, "({x}, {y}) at {d}: {a} against {b}");
        }
        let (a, b) = (through.electrons_at(x, y), plain.electrons_at(x, y));
        assert!(
            (a - b).abs() < 0.02,
            "electrons at ({x}, {y}): {a} against {b}"
        );
    }
}

/// Leaves that travel along y: the field turned by 90 degrees, jaw planes exchanged with it.
#[test]
fn leaves_along_y_are_leaves_along_x_turned() {
    let m = with_only(machine("generic-6mv"), false);
    let along_x = shaped(
        &m,
        Jaws {
            x: [-50.0, 60.0],
            y: [-70.0, 80.0],
        },
        slanted_tips,
    );
    let mut along_y = shaped(
        &m,
        Jaws {
            x: [-70.0, 80.0],
            y: [-50.0, 60.0],
        },
        slanted_tips,
    );
    along_y.mlc.as_mut().expect("leaves").axis = MlcAxis::Y;
    let mut turned = m.clone();
    std::mem::swap(
        &mut turned.jaws.x_distance_mm,
        &mut turned.jaws.y_distance_mm,
    );
    let (a, b) = (fluence_of(&m, &along_x), fluence_of(&turned, &along_y));
    for (u, v) in [(0.0, 0.0), (-30.0, 5.0), (19.0, -38.0), (55.0, 71.0)] {
        assert!(
            (a.at(u, v, 1000.0, 2.0) - b.at(v, u, 1000.0, 2.0)).abs() < 1e-6,
            "{u} {v}"
        );
    }
}

fn slanted_tips(y: f64) -> [f64; 2] {
    if y.abs() < 40.0 {
        [-30.0 + 0.3 * y, 20.0]
    } else {
        [0.0, 0.0]
    }
}

/// Step and shoot, and the same with the gantry between: units are kept whichever way they are grouped.
#[test]
fn control_points_are_averaged_by_their_units() {
    let m = machine("generic-6mv");
    let (narrow, wide) = (still_field(10.0, &m), still_field(40.0, &m));
    let mut steps = narrow.clone();
    // 30 % of the units narrow, a leap without units, 70 % wide.
    steps.control_points = vec![
        first_point_at(0.0, &narrow),
        first_point_at(0.3, &narrow),
        first_point_at(0.3, &wide),
        first_point_at(1.0, &wide),
    ];
    let (n, w, s) = (
        fluence_of(&m, &narrow),
        fluence_of(&m, &wide),
        fluence_of(&m, &steps),
    );
    for x in [0.0, 9.8, 25.0, 40.0, 48.0] {
        let want = 0.3 * n.at(x, 3.0, 1000.0, 2.5) + 0.7 * w.at(x, 3.0, 1000.0, 2.5);
        assert!((s.at(x, 3.0, 1000.0, 2.5) - want).abs() < 1e-5, "{x}");
    }
}

fn still_field(half: f64, m: &Machine) -> Beam {
    shaped(m, Jaws::symmetric(100.0, 100.0), |_| [-half, half])
}

fn first_point_at(w: f64, b: &Beam) -> ControlPoint {
    ControlPoint {
        meterset_weight: w,
        ..b.control_points[0].clone()
    }
}

/// Surface dose rises from about 10 to 28 % between 5 x 5 and 20 x 20 at 6 MV (Apipunyasopon 2013), most of it by electrons;
/// they are spent at their range and past the depth of maximum matter no more.
#[test]
fn electrons_grow_with_the_field_and_stop_at_their_range() {
    let m = machine("generic-6mv");
    let e = m.electrons.expect("electrons");
    let rise = surface_electrons(200.0, &m, &e) - surface_electrons(50.0, &m, &e);
    assert!((0.10..0.18).contains(&rise), "{rise}");
    assert_eq!(
        (e.at_depth(0.0), e.at_depth(e.range_mm), e.at_depth(100.0)),
        (1.0, 0.0, 0.0)
    );
    let depths: Vec<f64> = (0..23).map(|d| e.at_depth(f64::from(d))).collect();
    assert!(depths.windows(2).all(|w| w[1] < w[0]), "{depths:?}");
    assert!(e.surface_share * e.at_depth(15.0) < 0.01);
}

fn surface_electrons(side: f64, m: &Machine, e: &Electrons) -> f64 {
    e.surface_share * open(m, Jaws::symmetric(side, side)).electrons_at(0.0, 0.0)
}

#[test]
fn horn_and_softening_have_their_shape() {
    for name in ["generic-6mv", "generic-10mv", "generic-15mv"] {
        let m = machine(name);
        let f = open(&m, Jaws::symmetric(400.0, 400.0));
        let profile: Vec<f64> = (0..16)
            .map(|n| f.at(f64::from(n) * 10.0, 0.0, 1000.0, 2.0))
            .collect();
        assert!(
            profile.windows(2).all(|w| w[1] > w[0]),
            "{name}: {profile:?}"
        );
        // 4 to 8 % at 15 cm in a plane (`assets/PHYSICS.md`), where the slant takes 1 / (1 + 0.15^2).
        let horn = profile[15] / profile[0] / (1.0 + 0.15 * 0.15);
        assert!((1.04..1.08).contains(&horn), "{name}: {horn}");
        let soft: Vec<f64> = (0..15).map(|t| m.softening(f64::from(t))).collect();
        assert!(
            soft.windows(2).all(|w| w[1] > w[0]) && soft[0] == 1.0,
            "{name}: {soft:?}"
        );
        // Tailor 1998: 12 % more attenuation at 10 degrees.
        assert!((soft[10] - 1.126).abs() < 0.001, "{name}: {}", soft[10]);
    }
    let f = open(&machine("generic-6mv-fff"), Jaws::symmetric(400.0, 400.0));
    let profile: Vec<f64> = (0..20)
        .map(|n| f.at(f64::from(n) * 10.0, 0.0, 1000.0, 2.0))
        .collect();
    assert!(
        profile.windows(2).all(|w| w[1] < w[0]) && profile[10] / profile[0] < 0.85,
        "FFF: {profile:?}"
    );
}

#[test]
fn beams_that_do_not_fit_say_so() {
    let m = machine("generic-6mv");
    let good = shaped(&m, Jaws::symmetric(100.0, 100.0), |_| [-10.0, 10.0]);
    assert!(matches!(
        fault_of(&machine("point-6mv"), &good),
        Some(FluenceError::NoLeaves { .. })
    ));
    let mut b = good.clone();
    b.control_points[0].leaves_mm.pop();
    assert!(matches!(
        fault_of(&m, &b),
        Some(FluenceError::LeafCount {
            found: 59,
            want: 60,
            ..
        })
    ));
    let mut b = good.clone();
    b.control_points[0].leaves_mm[3][1] = f64::NAN;
    assert!(matches!(
        fault_of(&m, &b),
        Some(FluenceError::NotFinite { .. })
    ));
    let mut b = good.clone();
    b.control_points[0].jaws.x[0] = f64::INFINITY;
    assert!(matches!(
        fault_of(&m, &b),
        Some(FluenceError::NotFinite { .. })
    ));
    let mut b = good;
    if let Some(mlc) = &mut b.mlc {
        mlc.boundaries_mm[4] = 500.0;
    }
    assert!(matches!(
        fault_of(&m, &b),
        Some(FluenceError::LeafBoundaries { .. })
    ));
    let mut b = shaped(&m, Jaws::symmetric(100.0, 100.0), |_| [-10.0, 10.0]);
    let mut long = m.clone();
    if let (Some(mlc), Some(leaves)) = (&mut b.mlc, &mut long.leaves) {
        mlc.boundaries_mm = (-30..=30).map(|n| 1.8 * f64::from(n)).collect();
        leaves.tongue_mm = 1.0;
    }
    assert!(matches!(
        fault_of(&long, &b),
        Some(FluenceError::Joints { pair: 1, .. })
    ));
    assert_eq!(fault_of(&m, &b), None, "joints of 0.8 mm fit");
    let empty = Exposure {
        gantry_deg: 0.0,
        collimator_deg: 0.0,
        couch_deg: 0.0,
        share: 0.0,
        segments: Vec::new(),
    };
    let plain = Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws::symmetric(10.0, 10.0), 1.0);
    assert!(matches!(
        Fluence::new(&m, &plain, &empty),
        Err(FluenceError::Nothing { .. })
    ));
}

fn fault_of(m: &Machine, b: &Beam) -> Option<FluenceError> {
    Fluence::new(
        m,
        b,
        &exposures(
            &shaped(&machine("generic-6mv"), Jaws::symmetric(9.0, 9.0), |_| {
                [0.0, 0.0]
            }),
            2.0,
        )[0],
    )
    .err()
}

/// Jaws closed or crossed, jaws far beyond the machine: small or large numbers, never a panic.
#[test]
fn odd_jaws_are_survived() {
    let m = machine("generic-6mv");
    for jaws in [
        Jaws {
            x: [0.0, 0.0],
            y: [0.0, 0.0],
        },
        Jaws {
            x: [50.0, -50.0],
            y: [-50.0, 50.0],
        },
        Jaws {
            x: [-1e9, 1e9],
            y: [-1e9, 1e9],
        },
    ] {
        for f in [
            open(&m, jaws),
            fluence_of(&m, &shaped(&m, jaws, |_| [10.0, -10.0])),
        ] {
            for x in [0.0, 1e5, -3e3] {
                let v = f.at(x, 0.5 * x, 1000.0, 2.0);
                assert!(
                    v.is_finite() && (0.0..2.0).contains(&v),
                    "{jaws:?} at {x}: {v}"
                );
            }
        }
    }
}

/// A map of 1 everywhere is the field of jaws with leaves wide open, up to the leaves' own leakage and joints.
#[test]
fn a_map_of_open_beamlets_is_an_open_field() {
    let machine = machine("generic-6mv");
    let jaws = Jaws::symmetric(60.0, 60.0);
    let open = open(&machine, jaws);
    let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0);
    beam.fluence = Some(whole_map(1.0));
    let mapped = fluence_of(&machine, &beam);
    for point in grid_of_points(40, 8) {
        let (want, got) = (
            open.at(point[0], point[1], 1000.0, 2.0),
            mapped.at(point[0], point[1], 1000.0, 2.0),
        );
        assert!((want - got).abs() < 0.01, "{point:?}: {got} for {want}");
    }
}

fn whole_map(value: f32) -> FluenceMap {
    let rows_mm: Vec<f64> = (-16..=16).map(|n| 5.0 * f64::from(n)).collect();
    let values = vec![value; 32 * 32];
    FluenceMap {
        axis: MlcAxis::X,
        rows_mm,
        first_mm: -80.0,
        step_mm: 5.0,
        columns: 32,
        values,
    }
}

/// The fluence of a map is the sum of its beamlets' fluences, and twice the map is twice the fluence.
#[test]
fn fluence_is_linear_in_the_map() {
    let machine = machine("generic-6mv");
    let full_map = fluence_of_values(&wanted_value, &machine);
    let twice = fluence_of_values(&|n| 2.0 * wanted_value(n), &machine);
    let beamlets: Vec<Fluence> = (0..16)
        .map(|b| fluence_of_values(&|n| f32::from(u8::from(n == b)), &machine))
        .collect();
    for point in grid_of_points(36, 6) {
        for distance_mm in [900.0, 1000.0, 1150.0] {
            let primary = |f: &Fluence| f.at(point[0], point[1], distance_mm, 2.5);
            let sum: f64 = beamlets
                .iter()
                .enumerate()
                .map(|(n, f)| f64::from(wanted_value(n)) * primary(f))
                .sum();
            assert!(
                (primary(&full_map) - sum).abs() < 1e-5,
                "{point:?} at {distance_mm}: {} for {sum}",
                primary(&full_map)
            );
            assert!(
                (primary(&twice) - 2.0 * primary(&full_map)).abs() < 1e-5,
                "{point:?}"
            );
        }
    }
}

fn fluence_of_values(values: &dyn Fn(usize) -> f32, machine: &Machine) -> Fluence {
    let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws::symmetric(50.0, 50.0), 100.0);
    let mut map = FluenceMap {
        axis: MlcAxis::Y,
        rows_mm: vec![-25.0, -15.0, -5.0, 5.0, 10.0],
        first_mm: -12.0,
        step_mm: 6.0,
        columns: 4,
        values: vec![0.0; 16],
    };
    map.values
        .iter_mut()
        .enumerate()
        .for_each(|(n, value)| *value = values(n));
    beam.fluence = Some(map);
    fluence_of(machine, &beam)
}

fn wanted_value(n: usize) -> f32 {
    0.1 + 0.3 * (n % 5) as f32
}

#[test]
fn a_map_asks_for_a_machine_with_leaves() {
    let machine = machine("point-6mv");
    let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws::symmetric(60.0, 60.0), 100.0);
    beam.fluence = Some(whole_map(1.0));
    let refused = Fluence::new(&machine, &beam, &exposures(&beam, 2.0)[0]);
    assert!(
        matches!(refused, Err(FluenceError::NoLeaves { .. })),
        "{machine:?}"
    );
}
