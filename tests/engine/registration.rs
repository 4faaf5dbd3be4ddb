//! Poses found on simulated X-rays of the built-in chest, and refused input; registrations written and read
//! back.

use crate::common::conforms::assert_conforms;
use crate::common::registration::read_registration;
use beamsight::case::{Pose, Radiograph};
use beamsight::dicom::{Belonging, Registration, write_registration};
use beamsight::engine::{Compute, JobControl};
use beamsight::files::demo;
use beamsight::geometry::{Grid, ImagingSetup, PatientPosition, Volume};
use beamsight::registration::bench::{Bench, FAULTY, TRIALS};
use beamsight::registration::{
    Method, Metric, RegistrationError, Request, View, check_belongs, register, simulate,
};
use glam::DVec3;
use std::cell::RefCell;
use std::sync::Arc;

/// A few dense balls in a ball of water, 3 mm voxels: small and without symmetry.
fn balls() -> Arc<Volume<f32>> {
    let grid = Grid::axis_aligned(
        DVec3::new(-75.0, -60.0, -66.0),
        DVec3::splat(3.0),
        [51, 41, 45],
    )
    .expect("a grid");
    let solids = [
        (DVec3::ZERO, 55.0, 0.02),
        (DVec3::new(20.0, -10.0, 15.0), 12.0, 0.03),
        (DVec3::new(-25.0, 15.0, -5.0), 9.0, 0.03),
        (DVec3::new(5.0, 20.0, -25.0), 7.0, 0.04),
        (DVec3::new(-10.0, -25.0, 25.0), 8.0, -0.015),
    ];
    let [nx, ny, _] = grid.size();
    let at = |n: usize| {
        let p = grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny));
        let sum: f64 = solids
            .iter()
            .map(|(m, r, mu)| mu / (1.0 + (((p - *m).length() - r) / 1.5).exp()))
            .sum();
        sum.max(0.0) as f32
    };
    let values = (0..grid.len())
        .map(at)
        .map(|v| if v < 1e-3 { 0.0 } else { v })
        .collect();
    Arc::new(Volume::new(Arc::new(grid), values))
}

fn setup(gantry_deg: f64) -> ImagingSetup {
    let pixel_mm = [2.0; 2];
    ImagingSetup {
        pixel_mm,
        columns: 120,
        rows: 110,
        ..simulate::imager(gantry_deg, PatientPosition::Hfs, DVec3::ZERO)
    }
}

fn xray(gantry_deg: f64, pose: Pose) -> Radiograph {
    let exposure = simulate::Exposure {
        field_mm: [150.0, 140.0],
        ..simulate::Exposure::default()
    };
    simulate::xray(
        &balls(),
        setup(gantry_deg),
        pose,
        &exposure,
        &Compute::Cpu,
        &JobControl::new(),
    )
    .expect("an X-ray")
}

fn hidden() -> Pose {
    Pose::new([4.0, -3.0, 6.0], [3.0, -4.0, 2.0])
}

fn request(gantries: &[f64]) -> Request {
    let views = gantries
        .iter()
        .map(|g| View::new(Arc::new(xray(*g, hidden()))))
        .collect();
    Request::new(balls(), views, DVec3::ZERO)
}

fn find(request: &Request) -> Result<beamsight::registration::Found, RegistrationError> {
    register(request, &Compute::Cpu, &JobControl::new(), &|_| ())
}

/// The largest distance between the positions of points 40 mm about the centre at two poses.
fn off(a: &Pose, b: &Pose) -> f64 {
    let points = [DVec3::X, DVec3::Y, DVec3::Z].map(|v| v * 40.0);
    points
        .iter()
        .map(|p| (a.apply(*p, DVec3::ZERO) - b.apply(*p, DVec3::ZERO)).length())
        .fold(0.0, f64::max)
}

#[test]
fn every_metric_and_method_finds_a_hidden_pose_in_two_views() {
    let usual = request(&[0.0, 90.0]);
    for metric in Metric::ALL {
        for method in Method::ALL {
            // Each metric with the default method, each method with the default metric.
            if metric != Metric::default() && method != Method::default() {
                continue;
            }
            let found = find(&Request {
                metric,
                method,
                ..usual.clone()
            })
            .expect("a pose");
            let mm = off(&found.pose, &hidden());
            // Ranks of all pixels depend on a round body's outline more than on its inside: turns affect them
            // least.
            let within = if metric == Metric::RankCorrelation {
                5.0
            } else {
                1.0
            };
            assert!(
                mm < within,
                "{metric} {method}: {mm} mm off, {}",
                found.pose
            );
            assert!(found.after > found.before, "{metric} {method}");
            assert_eq!(found.at_bound, [false; 6]);
            if metric == Metric::default() {
                assert!(
                    found.standing().is_match(),
                    "{method}: {:?} {:?}",
                    found.doubts,
                    found.evidence
                );
            }
        }
    }
}

/// An X-ray that says another gantry angle than it was taken at: the pose of both is that of neither.
#[test]
fn two_xrays_that_contradict_each_other_are_no_match() {
    let good = request(&[0.0, 90.0]);
    let taken = xray(90.0, hidden());
    for wrong_deg in [15.0, -15.0, 8.0] {
        let setup = setup(90.0 + wrong_deg);
        let projection = setup.projection().expect("a geometry");
        let wrong = Radiograph {
            setup: Some(setup),
            projection,
            ..taken.clone()
        };
        let views = vec![good.views[0].clone(), View::new(Arc::new(wrong))];
        let found = find(&Request {
            views,
            ..good.clone()
        })
        .expect("a pose");
        assert!(
            !found.standing().is_match(),
            "{wrong_deg}: {:?}",
            found.evidence
        );
        // Alone each finds the patient as it says he lies: turned by its error, about the axis of the gantry.
        let alone = found.evidence.images[1]
            .alone
            .expect("another image is there");
        let turned = alone.pose.rotation_deg.z - hidden().rotation_deg.z;
        assert!(
            (turned.abs() - wrong_deg.abs()).abs() < 2.0,
            "{wrong_deg}: {turned} {alone:?}"
        );
        assert!(
            found.doubts.iter().any(|why| why.contains("alone finds")),
            "{:?}",
            found.doubts
        );
    }
}

/// Two opposite X-rays see as little along their beams as one does, and locked shifts have no depth to be told.
#[test]
fn the_depth_is_said_where_no_xray_sees_it() {
    let depth = |request: &Request| find(request).expect("a pose").evidence.depth_mm;
    let across = depth(&request(&[0.0, 90.0])).expect("free");
    let along = depth(&request(&[0.0])).expect("free");
    let opposite = depth(&request(&[0.0, 180.0])).expect("free");
    println!("±{across} mm, one ±{along}, opposite ±{opposite}");
    assert!(
        across < 2.0 && along > 2.0 * across && opposite > 2.0 * across,
        "{across} {along} {opposite}"
    );
    let found = find(&request(&[0.0])).expect("a pose");
    assert!(
        !found.standing().is_match() || found.standing().words().contains("across the beam"),
        "{:?}",
        found.doubts
    );
    let locked = [false, true, false, false, false, false];
    let start = Pose::new([0.0, hidden().translation_mm.y, 0.0], [0.0; 3]);
    assert_eq!(
        depth(&Request {
            locked,
            start,
            ..request(&[0.0])
        }),
        None
    );
}

#[test]
fn one_view_finds_what_lies_across_it() {
    let found = find(&request(&[0.0])).expect("a pose");
    let d = found.pose.translation_mm - hidden().translation_mm;
    // One view is insensitive along its beam, which is y at gantry 0.
    assert!(d.x.abs() < 0.7 && d.z.abs() < 0.7, "{d}");
}

#[test]
fn the_same_seed_leads_the_same_way_and_part_of_the_pixels_is_enough() {
    let part = Request {
        share: 0.05,
        seed: 3,
        ..request(&[0.0, 90.0])
    };
    let first = find(&part).expect("a pose");
    assert_eq!(find(&part).expect("a pose").pose, first.pose);
    assert!(off(&first.pose, &hidden()) < 1.5, "{}", first.pose);
    let whole = find(&Request { share: 1.0, ..part }).expect("a pose");
    assert_ne!(whole.pose, first.pose);
}

#[test]
fn locked_numbers_stay_and_bounds_are_told() {
    let start = Pose::new([0.0, 0.0, 0.0], [3.0, -4.0, 2.0]);
    let locked = [false, false, false, true, true, true];
    let found = find(&Request {
        start,
        locked,
        ..request(&[0.0, 90.0])
    })
    .expect("a pose");
    assert_eq!(found.pose.rotation_deg, start.rotation_deg);
    assert!(off(&found.pose, &hidden()) < 0.5, "{}", found.pose);
    // The hidden tz is 6.
    let found = find(&Request {
        start,
        locked,
        reach_mm: 4.5,
        ..request(&[0.0, 90.0])
    })
    .expect("a pose");
    assert!(
        found.at_bound[2] && found.pose.translation_mm.z <= 4.5 + 1e-9,
        "{:?}",
        found.at_bound
    );
}

#[test]
fn the_way_is_told_and_can_be_stopped() {
    let steps = RefCell::new(Vec::new());
    let request = request(&[0.0, 90.0]);
    let found = register(&request, &Compute::Cpu, &JobControl::new(), &|s| {
        steps.borrow_mut().push(*s)
    })
    .expect("a pose");
    let steps = steps.into_inner();
    assert!(steps.len() > 10);
    assert!(
        steps
            .windows(2)
            .all(|w| w[1].drrs >= w[0].drrs && w[1].side_mm <= w[0].side_mm)
    );
    assert!(off(&steps.last().expect("some").pose, &found.pose) < 1e-6);
    let control = JobControl::new();
    let stop = control.clone();
    let stopped = register(&request, &Compute::Cpu, &control, &|_| stop.cancel());
    assert!(matches!(stopped, Err(RegistrationError::Cancelled(_))));
}

fn refused(request: &Request) -> RegistrationError {
    find(request).expect_err("it cannot be answered")
}

#[test]
fn what_cannot_be_matched_is_refused_by_name() {
    use RegistrationError as E;
    let good = request(&[0.0]);
    let with = |radiograph: Radiograph| Request {
        views: vec![View::new(Arc::new(radiograph))],
        ..good.clone()
    };
    let one = || (*good.views[0].radiograph).clone();
    let away = |mm: f64| Pose::new([0.0, mm, 0.0], [0.0; 3]);
    assert!(matches!(
        refused(&Request {
            start: away(-1200.0),
            ..good.clone()
        }),
        E::BehindSource { .. }
    ));
    assert!(matches!(
        refused(&Request {
            start: away(-1000.0),
            ..good.clone()
        }),
        E::SourceInside { .. }
    ));
    assert!(matches!(
        refused(&Request {
            start: away(500.0),
            ..good.clone()
        }),
        E::DetectorInside { .. }
    ));
    assert!(matches!(
        refused(&Request {
            start: away(700.0),
            ..good.clone()
        }),
        E::DetectorInside { .. }
    ));
    let aside = Pose::new([300.0, 0.0, 0.0], [0.0; 3]);
    assert!(matches!(
        refused(&Request {
            start: aside,
            ..good.clone()
        }),
        E::NotSeen { .. }
    ));
    let nothing = vec![false; 120 * 110];
    let masked = Radiograph {
        open: Some(Arc::new(nothing)),
        ..one()
    };
    assert!(matches!(refused(&with(masked)), E::NothingCounts { .. }));
    let flat = Radiograph {
        values: Arc::new(vec![7.0; 120 * 110]),
        ..one()
    };
    assert!(matches!(refused(&with(flat)), E::Flat { .. }));
    let short = Radiograph {
        values: Arc::new(vec![7.0; 5]),
        ..one()
    };
    assert!(matches!(refused(&with(short)), E::Size { .. }));
    assert_eq!(
        refused(&Request {
            views: Vec::new(),
            ..good.clone()
        }),
        E::NoImage
    );
    assert_eq!(
        refused(&Request {
            locked: [true; 6],
            ..good.clone()
        }),
        E::AllLocked
    );
    let slopeless = Request {
        metric: Metric::MutualInformation,
        method: Method::Gradient,
        ..good.clone()
    };
    assert!(matches!(refused(&slopeless), E::NoSlopes { .. }));
    for share in [0.0, 1.5, f64::NAN] {
        assert!(matches!(
            refused(&Request {
                share,
                ..good.clone()
            }),
            E::Setting { .. }
        ));
    }
    let mut other = one();
    other.patient.id = "B".to_owned();
    other.frame_of_reference_uid = "1.2.3".to_owned();
    assert!(matches!(
        check_belongs(&other, "A", "1.2.3"),
        Err(E::OtherPatient { .. })
    ));
    assert!(matches!(
        check_belongs(&other, "B", "1.2.4"),
        Err(E::OtherFrame { .. })
    ));
    assert!(check_belongs(&other, "B", "").is_ok() && check_belongs(&one(), "A", "1.2.4").is_ok());
}

/// The bench's own measure, on the chest: every start within 20 mm and 15 degrees finds its pose.
#[test]
fn the_built_in_chest_is_found_from_random_starts() {
    let case = demo::build("thorax").expect("built in");
    let control = JobControl::new();
    let ct = case.ct.expect("it has a CT");
    let bench = Bench::new(&ct, &Compute::Cpu, &control).expect("a bench");
    let line = bench
        .run(TRIALS[0], 4, &Compute::Cpu, &control, &|_| ())
        .expect("runs");
    assert!(
        line.runs.iter().all(|r| r.start_mm > 5.0),
        "{:?}",
        line.runs
    );
    assert_eq!(
        line.found_from(0.0, f64::INFINITY),
        [4, 4],
        "{:?}",
        line.runs
    );
    assert!(line.percentile(0.5, |r| r.end_mm) < 0.2, "{:?}", line.runs);
    assert_eq!(line.matches(), 4, "{:?}", line.runs);
    for trial in FAULTY.into_iter().filter(|trial| {
        ["wrong-gantry", "negative-one", "mirrored", "mirrored-one"].contains(&trial.name)
    }) {
        let line = bench
            .run(trial, 4, &Compute::Cpu, &control, &|_| ())
            .expect("runs");
        assert_eq!(line.matches(), 0, "{}: {:?}", trial.name, line.runs);
    }
}

/// The object is read by its items: the matrix maps landmarks of the CT to their positions at the pose.
#[test]
fn a_registration_object_comes_back_and_maps_landmarks() {
    let case = demo::build("tg119").expect("built in");
    let ct = case.ct.clone().expect("it has a CT");
    let belonging = Belonging::new(&case);
    let centre = DVec3::new(10.0, -20.0, 30.0);
    let pose = Pose::new([12.5, -3.25, 7.0], [5.0, -10.0, 15.0]);
    let registration = Registration {
        source_frame_uid: belonging.frame_of_reference_uid.clone(),
        registered_frame_uid: "2.25.77".to_owned(),
        matrix: pose.matrix(centre),
        label: "Registration".to_owned(),
        description: "CT to X-ray".to_owned(),
    };
    let path = std::env::temp_dir().join(format!("beamsight-reg-{}.dcm", std::process::id()));
    write_registration(&path, &registration, &ct, &belonging).expect("written");
    let back = read_registration(&path);
    assert_eq!(back.source_frame_uid, registration.source_frame_uid);
    assert_eq!(back.registered_frame_uid, "2.25.77");
    for landmark in [DVec3::ZERO, DVec3::new(100.0, 50.0, -80.0), centre] {
        let got = back.matrix.transform_point3(landmark);
        assert!(
            (got - pose.apply(landmark, centre)).length() < 1e-6,
            "{landmark} to {got}"
        );
    }
    assert!(
        (Pose::from_matrix(back.matrix, centre)
            .expect("rigid")
            .rotation_deg
            - pose.rotation_deg)
            .length()
            < 1e-6
    );
    assert_conforms(&path);
    let own = Registration {
        registered_frame_uid: registration.source_frame_uid.clone(),
        ..registration
    };
    assert!(write_registration(&path, &own, &ct, &belonging).is_err());
    std::fs::remove_file(path).expect("it was written");
}
