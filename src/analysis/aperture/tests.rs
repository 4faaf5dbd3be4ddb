use super::*;
use case::ControlPoint;
use geometry::{Grid, Hull, Margin, PatientPosition, sphere_contours};
use glam::DVec3;
use physics::Machine;

const SAD_MM: f64 = 1000.0;

/// Points on a sphere.
fn points_of(centre: DVec3, radius: f64) -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    (0..2000)
        .map(|n: i32| {
            let z = 1.0 - 2.0 * (f64::from(n) + 0.5) / 2000.0;
            let (r, angle) = ((1.0 - z * z).sqrt(), golden * f64::from(n));
            centre + radius * DVec3::new(r * angle.cos(), r * angle.sin(), z)
        })
        .collect()
}

fn hull(centre: DVec3, radius: f64) -> Hull {
    let grid = Grid::axis_aligned(DVec3::splat(-100.0), DVec3::ONE, [200; 3]).unwrap();
    let contours = sphere_contours(&grid, centre, radius);
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Hull::new(&contours, Some(&grid)).unwrap()
}

fn beam(gantry: f64, collimator: f64, couch: f64) -> Beam {
    let mut beam = Beam::fixed(
        "B",
        1,
        gantry,
        DVec3::ZERO,
        Jaws::symmetric(100.0, 100.0),
        100.0,
    );
    beam.control_points[0].collimator_deg = collimator;
    beam.control_points[0].couch_deg = couch;
    let leaves = Machine::resolve("generic-6mv")
        .unwrap()
        .leaves
        .clone()
        .unwrap();
    with_leaves(&beam, leaves.to_case())
}

fn fit(beam: &Beam, hull: &Hull, how: &FitSettings) -> Result<Beam, ApertureError> {
    fitted(beam, PatientPosition::Hfs, SAD_MM, hull, how)
}

/// Whether a point of the isocentre plane is open.
fn is_open(beam: &Beam, n: usize, point_mm: [f64; 2]) -> bool {
    let point = &beam.control_points[n];
    let within = |pair: [f64; 2], v: f64| v >= pair[0] && v <= pair[1];
    if !(within(point.jaws.x, point_mm[0]) && within(point.jaws.y, point_mm[1])) {
        return false;
    }
    let Some(mlc) = &beam.mlc else { return true };
    let travel = travel_of(mlc);
    let sides = mlc.boundaries_mm.windows(2).zip(&point.leaves_mm);
    { sides }.any(|(side, tips)| {
        within([side[0], side[1]], point_mm[1 - travel]) && within(*tips, point_mm[travel])
    })
}

/// Every point of the sphere (of the part that slabs of 1 mm hold: half a mm less), projected and moved by the margin in every direction, is open; and nothing farther from it than the
/// margin, the width of a leaf and the slabs' steps.
#[test]
fn a_fitted_field_holds_every_projected_point_with_its_margin() {
    let (centre, radius, margin) = (DVec3::new(12.0, -20.0, 9.0), 22.0, 6.0);
    let hull = hull(centre, radius);
    let points = points_of(centre, radius - 0.55);
    for axis in [MlcAxis::X, MlcAxis::Y] {
        for (gantry, collimator, couch) in
            [(0.0, 0.0, 0.0), (130.0, 40.0, 0.0), (60.0, 350.0, 30.0)]
        {
            let mut previous = beam(gantry, collimator, couch);
            previous.mlc.as_mut().unwrap().axis = axis;
            let how = FitSettings {
                margin: Margin::uniform(margin),
                ..FitSettings::default()
            };
            let fitted = fit(&previous, &hull, &how).unwrap();
            let frame = fitted.frame_at(&fitted.control_points[0], PatientPosition::Hfs, SAD_MM);
            let seen: Vec<[f64; 2]> = points
                .iter()
                .filter_map(|p| Some(frame.project(*p)?.0))
                .collect();
            for p in &seen {
                for n in 0..16 {
                    let (s, c) = (f64::from(n) * std::f64::consts::TAU / 16.0).sin_cos();
                    let grown_mm = [p[0] + margin * c, p[1] + margin * s];
                    assert!(
                        is_open(&fitted, 0, grown_mm),
                        "gantry {gantry}: {grown_mm:?} is closed"
                    );
                }
            }
            let far = margin + 5.0 * 2.0_f64.sqrt() + 1.5;
            for i in -60..60 {
                for j in -60..60 {
                    let point_mm = [f64::from(i), f64::from(j)];
                    let nearest = seen
                        .iter()
                        .map(|p| (p[0] - point_mm[0]).hypot(p[1] - point_mm[1]))
                        .fold(1e9, f64::min);
                    assert!(
                        nearest <= far || !is_open(&fitted, 0, point_mm),
                        "gantry {gantry}: {point_mm:?} is open"
                    );
                }
            }
        }
    }
}

/// A leaf of width 5 whose sides are at y: the circle's chord there. Outermost at its inner side, innermost at its outer.
#[test]
fn leaf_edges_stand_at_the_chords_of_a_sphere() {
    let hull = hull(DVec3::ZERO, 30.0);
    let radius = 30.0 * SAD_MM / (SAD_MM * SAD_MM - 900.0_f64).sqrt() + 4.0;
    let chord = |y: f64| (radius * radius - y * y).sqrt();
    // The pair from y = 10 to 15: rows of 20 pairs of 10 and 5 mm from -200.
    let pair = 32;
    for (edge, read_at_mm) in [
        (LeafEdge::Outside, 10.0),
        (LeafEdge::Middle, 12.5),
        (LeafEdge::Inside, 15.0),
    ] {
        let how = FitSettings {
            margin: Margin::uniform(4.0),
            edge,
            ..FitSettings::default()
        };
        let fitted = fit(&beam(0.0, 0.0, 0.0), &hull, &how).unwrap();
        let mlc = fitted.mlc.as_ref().unwrap();
        assert_eq!(mlc.boundaries_mm[pair..pair + 2], [10.0, 15.0]);
        let [low, high] = fitted.control_points[0].leaves_mm[pair];
        assert!(
            (high - chord(read_at_mm)).abs() < 0.7 && (low + chord(read_at_mm)).abs() < 0.7,
            "{edge:?}: {low} {high}"
        );
    }
}

#[test]
fn leaves_outside_the_field_are_closed_behind_a_jaw() {
    let fitted = fit(
        &beam(0.0, 0.0, 0.0),
        &hull(DVec3::ZERO, 20.0),
        &FitSettings::default(),
    )
    .unwrap();
    let point = &fitted.control_points[0];
    for (side, tips) in fitted
        .mlc
        .as_ref()
        .unwrap()
        .boundaries_mm
        .windows(2)
        .zip(&point.leaves_mm)
    {
        let outside = side[1] <= point.jaws.y[0] || side[0] >= point.jaws.y[1];
        assert_eq!(outside, tips[0] == tips[1], "{side:?} {tips:?}");
        if outside {
            assert!(
                tips[0] < point.jaws.x[0] || tips[0] > point.jaws.x[1],
                "{tips:?} in the field"
            );
        }
    }
    assert_eq!(aperture_faults(&fitted, 9), Vec::<String>::new());
}

#[test]
fn jaws_stand_at_the_outline_or_round_the_leaves() {
    let (hull, margin) = (
        hull(DVec3::ZERO, 20.0),
        Margin {
            x_mm: [1.0, 2.0],
            y_mm: [3.0, 4.0],
        },
    );
    let radius = 20.0 * SAD_MM / (SAD_MM * SAD_MM - 400.0_f64).sqrt();
    let how = FitSettings {
        margin,
        ..FitSettings::default()
    };
    let jaws = fit(&beam(0.0, 0.0, 0.0), &hull, &how)
        .unwrap()
        .control_points[0]
        .jaws;
    for (got, by) in [
        (-jaws.x[0], 1.0),
        (jaws.x[1], 2.0),
        (-jaws.y[0], 3.0),
        (jaws.y[1], 4.0),
    ] {
        assert!((-0.6..0.6).contains(&(got - radius - by)), "{jaws:?}");
    }
    let round = fit(
        &beam(0.0, 0.0, 0.0),
        &hull,
        &FitSettings {
            jaws: JawRule::Leaves,
            ..how
        },
    )
    .unwrap();
    let jaws = round.control_points[0].jaws;
    // Leaf sides every 5 mm.
    assert_eq!(jaws.y, [-25.0, 25.0]);
}

#[test]
fn a_dynamic_beam_is_fitted_at_every_control_point() {
    let mut arc = beam(0.0, 10.0, 0.0);
    let start = arc.control_points[0].clone();
    arc.control_points = (0..5)
        .map(|n| ControlPoint {
            gantry_deg: 40.0 * f64::from(n),
            meterset_weight: f64::from(n) / 4.0,
            ..start.clone()
        })
        .collect();
    let centre = DVec3::new(25.0, 10.0, 0.0);
    let fitted = fit(&arc, &hull(centre, 15.0), &FitSettings::default()).unwrap();
    for (n, point) in fitted.control_points.iter().enumerate() {
        let frame = fitted.frame_at(point, PatientPosition::Hfs, SAD_MM);
        for p in points_of(centre, 14.9) {
            assert!(
                is_open(&fitted, n, frame.project(p).unwrap().0),
                "control point {n}"
            );
        }
        assert_eq!(point.jaws, fitted.control_points[0].jaws);
        assert_eq!(point.gantry_deg, arc.control_points[n].gantry_deg);
    }
    assert_ne!(
        fitted.control_points[0].leaves_mm,
        fitted.control_points[2].leaves_mm
    );
}

/// No projected point of the shielded sphere is open, and pairs that do not meet it are as they were.
#[test]
fn a_shielded_sphere_is_covered_from_the_near_side() {
    let target = fit(
        &beam(0.0, 0.0, 0.0),
        &hull(DVec3::ZERO, 40.0),
        &FitSettings::default(),
    )
    .unwrap();
    let organ = DVec3::new(25.0, 0.0, 0.0);
    let shielded = shielded(
        &target,
        PatientPosition::Hfs,
        SAD_MM,
        &hull(organ, 10.0),
        3.0,
    )
    .unwrap();
    let frame = shielded.frame_at(&shielded.control_points[0], PatientPosition::Hfs, SAD_MM);
    for p in points_of(organ, 9.95) {
        let projected_mm = frame.project(p).unwrap().0;
        // Points just inside the tip along the leaf.
        assert!(
            !is_open(&shielded, 0, [projected_mm[0], projected_mm[1]]),
            "{projected_mm:?} is open"
        );
    }
    let (unshielded, after) = (&target.control_points[0], &shielded.control_points[0]);
    assert_eq!(unshielded.jaws, after.jaws);
    let mut closed = 0;
    for (old, new) in unshielded.leaves_mm.iter().zip(&after.leaves_mm) {
        assert_eq!(old[0], new[0], "the organ is nearer to the positive bank");
        closed += usize::from(new[1] < old[1]);
    }
    // 26 mm of 5 mm leaves.
    assert!((5..=8).contains(&closed), "{closed}");
    let away = hull(DVec3::new(90.0, 0.0, 0.0), 5.0);
    let none = super::shielded(&target, PatientPosition::Hfs, SAD_MM, &away, 3.0);
    assert_eq!(none, Err(ApertureError::NotInField));
    let shielded_all = super::shielded(
        &target,
        PatientPosition::Hfs,
        SAD_MM,
        &hull(DVec3::ZERO, 60.0),
        3.0,
    );
    assert_eq!(shielded_all, Err(ApertureError::ClosesAll(0)));
}

#[test]
fn what_does_not_fit_is_said() {
    let hull = hull(DVec3::new(0.0, 0.0, 60.0), 30.0);
    let far = Beam {
        isocentre_mm: DVec3::new(0.0, 0.0, -160.0),
        ..beam(0.0, 0.0, 0.0)
    };
    let why = fit(&far, &hull, &FitSettings::default())
        .unwrap_err()
        .to_string();
    assert!(why.contains("jaw Y2") && why.contains("200 mm"), "{why}");
    let mut narrow = beam(0.0, 0.0, 0.0);
    narrow.mlc.as_mut().unwrap().boundaries_mm = vec![-40.0, 0.0, 40.0];
    let why = fit(&narrow, &hull, &FitSettings::default())
        .unwrap_err()
        .to_string();
    assert!(why.contains("turn the collimator"), "{why}");
    let read_only = Beam {
        read_only: Some("electrons".to_owned()),
        ..beam(0.0, 0.0, 0.0)
    };
    assert!(fit(&read_only, &hull, &FitSettings::default()).is_err());
}

#[test]
fn a_leaf_stops_at_its_opposite_and_a_jaw_at_the_reach() {
    let mut point = beam(0.0, 0.0, 0.0).control_points[0].clone();
    let leaf = AperturePart::Leaf { pair: 30, bank: 0 };
    move_part(&mut point, leaf, 70.0);
    assert_eq!(point.leaves_mm[30], [50.0, 50.0]);
    move_part(&mut point, leaf, -500.0);
    assert_eq!(point.leaves_mm[30][0], -REACH_MM);
    let jaw = AperturePart::Jaw { axis: 1, side: 1 };
    move_part(&mut point, jaw, 500.0);
    assert_eq!(point.jaws.y, [-50.0, REACH_MM]);
    move_part(&mut point, jaw, -80.0);
    assert_eq!(point.jaws.y, [-50.0, -49.0]);
}

/// A path from (0, -10) to (20, 10) crosses the middles -7.5, -2.5, 2.5, 7.5 at x of 2.5, 7.5, 12.5, 17.5.
#[test]
fn a_brush_sets_the_tips_to_its_path() {
    let previous = beam(0.0, 0.0, 0.0);
    let mut point = previous.control_points[0].clone();
    brushed(
        &mut point,
        previous.mlc.as_ref().unwrap(),
        1,
        [0.0, -10.0],
        [20.0, 10.0],
    );
    let tips: Vec<f64> = point.leaves_mm[28..32].iter().map(|tips| tips[1]).collect();
    for (tip, want) in tips.iter().zip([2.5, 7.5, 12.5, 17.5]) {
        assert!((tip - want).abs() < 1e-9, "{tips:?}");
    }
    assert!(point.leaves_mm.iter().all(|tips| tips[0] <= tips[1]));
    let changed = point
        .leaves_mm
        .iter()
        .zip(&previous.control_points[0].leaves_mm)
        .filter(|(a, b)| a != b);
    // Those that it touches at their sides as well.
    assert!((4..=6).contains(&changed.count()));
}

#[test]
fn a_step_moves_with_both_of_its_ends() {
    let start = beam(0.0, 0.0, 0.0).control_points[0].clone();
    let mut points = vec![start; 4];
    points[2].leaves_mm[3][0] -= 1.0;
    points[3].leaves_mm[3][0] -= 1.0;
    for (n, point) in points.iter_mut().enumerate() {
        point.meterset_weight = n as f64 / 3.0;
    }
    assert_eq!(segment_of(&points, 0), 0..2);
    assert_eq!(segment_of(&points, 3), 2..4);
    assert_eq!(segment_of(&points, 9), 0..0);
}

#[test]
fn faults_name_the_control_point_and_the_leaf() {
    let mut faulty = beam(0.0, 0.0, 0.0);
    faulty.control_points.push(faulty.control_points[0].clone());
    faulty.control_points[1].leaves_mm[11] = [4.0, 0.0];
    faulty.control_points[1].jaws.x[1] = 250.0;
    let said = aperture_faults(&faulty, 9).join(" ");
    assert!(
        said.contains("Control point 2: the leaves of pair 12 cross by 4.0 mm"),
        "{said}"
    );
    assert!(
        said.contains("Control point 2: jaw X2 at 250.0 mm"),
        "{said}"
    );
}
