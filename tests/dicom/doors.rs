//! Every door for plans: session, `plan.toml`, RT plan, edits, doses. A plan with a fault passes none, a sound one all, and
//! is the same behind each.

use crate::common::synthetic::{
    Folder, control_point, device, item, numbers, plan as rt_plan, set, set_items,
};
use beamsight::analysis::{BodyChoice, Engine, is_computed};
use beamsight::case::{
    Beam, Case, Contour, Ct, DensityOverride, Edit, FluenceLimit, FluenceObjectives, History, Jaws,
    Medium, Mlc, MlcAxis, Normalisation, Plan, Rgb, Structure, StructureKind, StructureSet,
    UniformDose, turn_deg,
};
use beamsight::dicom::{DicomError, read_plan, write_plan};
use beamsight::engine::dose::{DoseTo, Quality};
use beamsight::engine::{DeviceChoice, JobControl};
use beamsight::files::plan_toml;
use beamsight::files::session::{self, Session};
use beamsight::geometry::{Grid, PatientPosition, Volume};
use beamsight::results::{PlanJob, compute_plan};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;
use glam::DVec3;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Makes a plan impossible.
type Spoil = fn(&mut Plan);

fn first(plan: &mut Plan) -> &mut Beam {
    &mut plan.beams[0]
}

fn with_weights(plan: &mut Plan, weights: &[f64]) {
    let points = &mut first(plan).control_points;
    let one = points[0].clone();
    *points = weights
        .iter()
        .map(|w| beamsight::case::ControlPoint {
            meterset_weight: *w,
            ..one.clone()
        })
        .collect();
    points[1].gantry_deg = (one.gantry_deg + 40.0).rem_euclid(360.0);
}

/// Faults that a file of every kind can have.
const FAULTS: &[(&str, Spoil)] = &[
    ("negative monitor units", |p| first(p).mu = -1.0),
    ("more monitor units than a counter has", |p| {
        first(p).mu = 1e300
    }),
    ("monitor units that are no number", |p| {
        first(p).mu = f64::NAN
    }),
    ("two beams of one number", |p| {
        p.beams.push(p.beams[0].clone())
    }),
    ("falling weights", |p| {
        with_weights(p, &[0.0, 1.0, 0.5, 1.0])
    }),
    ("weights that end early", |p| {
        with_weights(p, &[0.0, 0.5, 0.75])
    }),
    ("weights that begin late", |p| {
        with_weights(p, &[0.25, 0.5, 1.0])
    }),
    ("leaves without an MLC", |p| {
        first(p).mlc = None;
        first(p)
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm = vec![[-5.0, 5.0]; 3]);
    }),
    ("an MLC without leaves", |p| {
        first(p).mlc = Some(sides());
        first(p)
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm.clear());
    }),
    ("a pair of tips too few", |p| {
        first(p).mlc = Some(sides());
        first(p)
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm = vec![[-5.0, 5.0]; 2]);
    }),
    ("crossed leaves", |p| {
        first(p).mlc = Some(sides());
        first(p)
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm = vec![[5.0, -5.0]; 3]);
    }),
    ("leaf sides that fall", |p| {
        first(p).mlc = Some(Mlc {
            boundaries_mm: vec![-10.0, 0.0, -5.0, 10.0],
            ..sides()
        });
        first(p)
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm = vec![[-5.0, 5.0]; 3]);
    }),
    ("crossed jaws", |p| {
        first(p).control_points[0].jaws.x = [50.0, -50.0]
    }),
    ("a jaw beyond any machine", |p| {
        first(p).control_points[0].jaws.y[1] = 5000.0
    }),
    ("an angle beyond a turn", |p| {
        first(p).control_points[0].gantry_deg = 725.0
    }),
    ("an angle that is no number", |p| {
        first(p).control_points[0].couch_deg = f64::INFINITY
    }),
    ("an isocentre in another country", |p| {
        first(p).isocentre_mm.y = 1e9
    }),
    ("no control points", |p| first(p).control_points.clear()),
    ("half a circle at once", |p| {
        with_weights(p, &[0.0, 1.0]);
        let points = &mut first(p).control_points;
        points[1].gantry_deg = (points[0].gantry_deg + 180.0).rem_euclid(360.0);
    }),
    ("an energy of nothing", |p| first(p).energy_mv = Some(0.0)),
    ("no source-axis distance", |p| {
        first(p).source_axis_mm = Some(-1000.0)
    }),
    ("no fractions", |p| p.fractions = 0),
    ("a prescription of nothing", |p| {
        p.prescription_gy = Some(-2.0)
    }),
];

/// Faults that RT plans cannot express.
const FAULTS_OF_OURS: &[(&str, Spoil)] = &[
    ("no machine", |p| p.machine = " ".to_owned()),
    ("a normalisation to nothing", |p| {
        p.normalisation = Some(Normalisation::to_named("PTV", 95.0, 0.0))
    }),
    ("a normalisation of more than all", |p| {
        p.normalisation = Some(Normalisation::to_named("PTV", 195.0, 50.0));
    }),
    ("a fall-off that is no number", |p| {
        p.objectives.fall_off.percent_per_mm = f64::NAN
    }),
    ("a weight below nothing", |p| {
        p.objectives.monitor_units = -1.0
    }),
    ("a dose throughout that no course has", |p| {
        p.objectives = objectives();
        p.objectives.uniform[0].dose_gy = 1e9;
    }),
    ("a dose rate of nothing", |p| {
        first(p).dose_rate_mu_min = Some(0.0)
    }),
    ("a bound of the fluence without a map", |p| {
        first(p).fluence_limits = vec![FluenceLimit {
            beamlet: 0,
            mu: 1.0,
        }];
    }),
];

/// Objectives other than the usual ones.
fn objectives() -> FluenceObjectives {
    let uniform = UniformDose {
        structure: "PTV".to_owned(),
        number: None,
        dose_gy: 50.0,
        weight: 2.0,
    };
    FluenceObjectives {
        uniform: vec![uniform],
        ..FluenceObjectives::default()
    }
}

fn sides() -> Mlc {
    Mlc {
        axis: MlcAxis::X,
        boundaries_mm: vec![-10.0, -2.5, 2.5, 10.0],
    }
}

/// Numbers with one decimal, which all kinds of files hold exactly.
fn tenths(low: i32, high: i32) -> impl Strategy<Value = f64> {
    (low * 10..=high * 10).prop_map(|n| f64::from(n) / 10.0)
}

fn pair() -> impl Strategy<Value = [f64; 2]> {
    (tenths(-200, 150), tenths(0, 50))
        .prop_map(|(low, wide)| [low, ((low + wide) * 10.0).round() / 10.0])
}

/// Steps that the gantry turns by, with the monitor units that are delivered in each; none for a static beam.
fn steps() -> impl Strategy<Value = Vec<(f64, u32)>> {
    let turn = prop_oneof![tenths(1, 170), tenths(-170, -1)];
    prop::collection::vec((turn, 0..4_u32), 0..5)
}

fn any_beam() -> impl Strategy<Value = Beam> {
    let place = (tenths(-300, 300), tenths(-300, 300), tenths(-900, 900));
    let angles = (tenths(0, 359), tenths(0, 359), tenths(0, 359));
    let shape = (
        pair(),
        pair(),
        prop::option::of(prop::collection::vec(pair(), 3)),
    );
    let rate = prop::option::of((1..=2400).prop_map(f64::from));
    (tenths(0, 5000), place, angles, shape, steps(), rate).prop_map(
        |(mu, (x, y, z), angles, (jx, jy, leaves), steps, rate)| {
            let jaws = Jaws { x: jx, y: jy };
            let mut beam = Beam::fixed("", 1, angles.0, DVec3::new(x, y, z), jaws, mu);
            (beam.energy_mv, beam.source_axis_mm, beam.dose_rate_mu_min) =
                (Some(6.0), Some(1000.0), rate);
            beam.mlc = leaves.is_some().then(sides);
            let start = &mut beam.control_points[0];
            (start.collimator_deg, start.couch_deg) = (angles.1, angles.2);
            start.leaves_mm = leaves.unwrap_or_default();
            let total: u32 = steps.iter().map(|(_, share)| share).sum();
            // Eighths are exact in every file; the last step has the rest.
            let mut weight = 0.0;
            for (n, (turn, share)) in steps.iter().enumerate() {
                let mut next = beam.control_points[n].clone();
                weight += f64::from(*share) / 16.0;
                next.meterset_weight = if n + 1 == steps.len() || total == 0 {
                    1.0
                } else {
                    weight
                };
                next.gantry_deg =
                    ((next.gantry_deg + turn).rem_euclid(360.0) * 10.0).round() / 10.0 % 360.0;
                beam.control_points.push(next);
            }
            if !steps.is_empty() {
                beam.control_points[0].meterset_weight = 0.0;
            }
            beam
        },
    )
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let beams = prop::collection::vec(any_beam(), 1..4);
    (beams, 1..=40_u32, prop::option::of(tenths(1, 80))).prop_map(
        |(mut beams, fractions, prescription_gy)| {
            for (n, beam) in beams.iter_mut().enumerate() {
                (beam.name, beam.number) = (format!("Beam {n}"), n as u32 + 1);
            }
            Plan {
                beams,
                fractions,
                prescription_gy,
                ..Plan::new("Doors", "generic-6mv")
            }
        },
    )
}

/// A session of a plan, as it stands on disk; numbers that JSON has not are `null`.
fn session_value(plan: &Plan) -> Value {
    let case = Case {
        plans: vec![Arc::new(plan.clone())],
        ..Case::default()
    };
    let session = Session::new(&case, "demo:water", &StructureSet::default(), Value::Null);
    serde_json::to_value(session).unwrap()
}

fn through_session(folder: &Path, value: &Value) -> Result<Plan, String> {
    let path = folder.join("s.json");
    std::fs::write(&path, value.to_string()).unwrap();
    session::read(&path)
        .map(|session| session.plans[0].clone())
        .map_err(|e| e.to_string())
}

/// `plan.toml` written by hand, whatever the plan.
fn toml_text(plan: &Plan) -> String {
    let mut text = format!(
        "name = {:?}\nmachine = {:?}\nfractions = {}\n",
        plan.name, plan.machine, plan.fractions
    );
    plan.prescription_gy
        .iter()
        .for_each(|gy| text += &format!("prescription_gy = {gy:?}\n"));
    if let Some(to) = &plan.normalisation {
        let of = serde_json::to_value(to).unwrap();
        let (share, gy) = (&of["volume_percent"], &of["dose_gy"]);
        text += &format!(
            "normalisation = {{ structure = \"PTV\", volume_percent = {share}, dose_gy = {gy} }}\n"
        );
    }
    if !plan.objectives.is_usual() {
        let of = toml::Value::try_from(&plan.objectives).unwrap();
        text += &format!("objectives = {of}\n");
    }
    let setting = |p: &beamsight::case::ControlPoint| {
        let angles = format!(
            "gantry_deg = {:?}\ncollimator_deg = {:?}\ncouch_deg = {:?}\n",
            p.gantry_deg, p.collimator_deg, p.couch_deg
        );
        let leaves = format!("leaves_mm = {:?}\n", p.leaves_mm);
        format!(
            "{angles}jaws_mm = {{ x = {:?}, y = {:?} }}\n{leaves}",
            p.jaws.x, p.jaws.y
        )
    };
    for beam in &plan.beams {
        let iso = beam.isocentre_mm.to_array();
        text += &format!(
            "[[beam]]\nname = {:?}\nnumber = {}\nmu = {:?}\n",
            beam.name, beam.number, beam.mu
        );
        text += &format!("isocentre_mm = {iso:?}\n");
        beam.energy_mv
            .iter()
            .for_each(|mv| text += &format!("energy_mv = {mv:?}\n"));
        beam.source_axis_mm
            .iter()
            .for_each(|mm| text += &format!("source_axis_mm = {mm:?}\n"));
        beam.dose_rate_mu_min
            .iter()
            .for_each(|rate| text += &format!("dose_rate_mu_min = {rate:?}\n"));
        beam.mlc.iter().for_each(|mlc| {
            text += &format!(
                "mlc = {{ axis = \"x\", boundaries_mm = {:?} }}\n",
                mlc.boundaries_mm
            );
        });
        for limit in &beam.fluence_limits {
            let limit = toml::Value::try_from(limit).unwrap();
            text += &format!("fluence_limits = [{limit}]\n");
        }
        let Some(start) = beam.start() else {
            // No key says that there are none: without a setting a beam is incomplete.
            continue;
        };
        text += &setting(start);
        for (n, point) in beam
            .control_points
            .iter()
            .enumerate()
            .filter(|_| beam.control_points.len() > 1)
        {
            text += &format!(
                "[[beam.control_point]]\nmeterset_weight = {:?}\n",
                point.meterset_weight
            );
            text += &setting(point);
            if let Some(next) = beam.control_points.get(n + 1) {
                let way = if turn_deg(point.gantry_deg, next.gantry_deg) > 0.0 {
                    "cw"
                } else {
                    "cc"
                };
                text += &format!("gantry_direction = \"{way}\"\n");
            }
        }
    }
    text.replace("NaN", "nan")
}

fn through_toml(text: &str) -> Result<Plan, String> {
    plan_toml::parse(text, Path::new("plan.toml"), PatientPosition::Hfs).map_err(|e| e.to_string())
}

/// An RT plan of the plan, whatever it is.
fn rt_object(plan: &Plan) -> InMemDicomObject {
    let beams: Vec<InMemDicomObject> = plan.beams.iter().map(rt_beam).collect();
    let mut object = rt_plan(beams);
    set(&mut object, tags::RT_PLAN_LABEL, VR::SH, &plan.name);
    let mut group = item(&[(
        tags::NUMBER_OF_FRACTIONS_PLANNED,
        VR::IS,
        &plan.fractions.to_string(),
    )]);
    let meterset = |beam: &Beam| {
        item(&[
            (
                tags::REFERENCED_BEAM_NUMBER,
                VR::IS,
                &beam.number.to_string(),
            ),
            (tags::BEAM_METERSET, VR::DS, &beam.mu.to_string()),
        ])
    };
    set_items(
        &mut group,
        tags::REFERENCED_BEAM_SEQUENCE,
        plan.beams.iter().map(meterset).collect(),
    );
    set_items(&mut object, tags::FRACTION_GROUP_SEQUENCE, vec![group]);
    let target = |gy: f64| {
        item(&[
            (tags::DOSE_REFERENCE_TYPE, VR::CS, "TARGET"),
            (tags::TARGET_PRESCRIPTION_DOSE, VR::DS, &gy.to_string()),
        ])
    };
    set_items(
        &mut object,
        tags::DOSE_REFERENCE_SEQUENCE,
        plan.prescription_gy.into_iter().map(target).collect(),
    );
    object
}

fn rt_beam(beam: &Beam) -> InMemDicomObject {
    let number = |value: f64| value.to_string();
    let mut object = item(&[
        (tags::BEAM_NUMBER, VR::IS, &beam.number.to_string()),
        (tags::BEAM_NAME, VR::LO, &beam.name),
        (tags::RADIATION_TYPE, VR::CS, "PHOTON"),
        (tags::TREATMENT_MACHINE_NAME, VR::SH, "generic-6mv"),
        (
            tags::SOURCE_AXIS_DISTANCE,
            VR::DS,
            &number(beam.source_axis_mm.unwrap_or(1000.0)),
        ),
        (tags::FINAL_CUMULATIVE_METERSET_WEIGHT, VR::DS, "1"),
    ]);
    let kind = |kind| item(&[(tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind)]);
    let mut devices = vec![kind("ASYMX"), kind("ASYMY")];
    devices.extend(beam.mlc.as_ref().map(|mlc| {
        item(&[
            (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, "MLCX"),
            (
                tags::LEAF_POSITION_BOUNDARIES,
                VR::DS,
                &numbers(&mlc.boundaries_mm),
            ),
        ])
    }));
    set_items(&mut object, tags::BEAM_LIMITING_DEVICE_SEQUENCE, devices);
    let mut points = beam.control_points.clone();
    if let [only] = &points[..] {
        points.insert(
            0,
            beamsight::case::ControlPoint {
                meterset_weight: 0.0,
                ..only.clone()
            },
        );
    }
    let made = points.iter().enumerate().map(|(n, p)| {
        let next = points
            .get(n + 1)
            .map_or(0.0, |next| turn_deg(p.gantry_deg, next.gantry_deg));
        let way = if next > 0.0 {
            "CW"
        } else if next < 0.0 {
            "CC"
        } else {
            "NONE"
        };
        let mut devices = vec![device("ASYMX", &p.jaws.x), device("ASYMY", &p.jaws.y)];
        if !p.leaves_mm.is_empty() {
            let bank = |side: usize| p.leaves_mm.iter().map(move |pair| pair[side]);
            devices.push(device("MLCX", &bank(0).chain(bank(1)).collect::<Vec<_>>()));
        }
        let mut made = control_point(
            &[
                (
                    tags::CUMULATIVE_METERSET_WEIGHT,
                    VR::DS,
                    &number(p.meterset_weight),
                ),
                (
                    tags::NOMINAL_BEAM_ENERGY,
                    VR::DS,
                    &number(beam.energy_mv.unwrap_or(6.0)),
                ),
                (tags::GANTRY_ANGLE, VR::DS, &number(p.gantry_deg)),
                (tags::GANTRY_ROTATION_DIRECTION, VR::CS, way),
                (
                    tags::BEAM_LIMITING_DEVICE_ANGLE,
                    VR::DS,
                    &number(p.collimator_deg),
                ),
                (tags::PATIENT_SUPPORT_ANGLE, VR::DS, &number(p.couch_deg)),
                (
                    tags::ISOCENTER_POSITION,
                    VR::DS,
                    &numbers(&beam.isocentre_mm.to_array()),
                ),
            ],
            devices,
        );
        if let Some(rate) = beam.dose_rate_mu_min.filter(|_| n == 0) {
            set(&mut made, tags::DOSE_RATE_SET, VR::DS, &number(rate));
        }
        made
    });
    set_items(&mut object, tags::CONTROL_POINT_SEQUENCE, made.collect());
    object
}

fn ct() -> Arc<Ct> {
    let grid = Grid::axis_aligned(DVec3::splat(-1000.0), DVec3::splat(500.0), [5, 5, 5]).unwrap();
    let hu = Volume::new(Arc::new(grid), vec![0.0; 125]);
    Arc::new(Ct::unnamed(Arc::new(hu), PatientPosition::Hfs))
}

fn why_no_dose(plan: &Plan) -> String {
    let job = PlanJob {
        ct: ct(),
        structures: Arc::default(),
        remarks: Vec::new(),
        plan: plan.clone(),
        body: BodyChoice::Everything,
        hu_table: "matrad-default".to_owned(),
        grid_mm: 10.0,
        quality: Quality::Preview,
        dose_to: DoseTo::default(),
        device: DeviceChoice::Cpu,
        engine: Engine::COLLAPSED_CONE,
        parts: None,
    };
    compute_plan(&job, &JobControl::default(), &|_| {})
        .map(|_| ())
        .expect_err("a dose")
        .to_string()
}

/// The same plan with neither UID nor remarks.
fn bare(plan: Plan) -> Plan {
    Plan {
        uid: None,
        remarks: Vec::new(),
        ..plan
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sound_plan_is_the_same_behind_every_door(plan in any_plan()) {
        prop_assert_eq!(plan.fault(), None);
        let folder = Folder::new("doors");
        prop_assert_eq!(through_session(&folder.0, &session_value(&plan)), Ok(plan.clone()));
        prop_assert_eq!(through_toml(&toml_text(&plan)), Ok(plan.clone()));
        prop_assert_eq!(through_toml(&plan_toml::to_text(&plan).unwrap()), Ok(plan.clone()));
        let read = read_plan(&folder.put("rp.dcm", &rt_object(&plan)), None).unwrap();
        prop_assert_eq!(bare(read), plan.clone());
        let mut history = History::default();
        history.apply(Edit::AddPlan(plan.clone()), None).unwrap();
        prop_assert_eq!(&*history.case().plans[0], &plan);
    }

    #[test]
    fn no_fault_passes_any_door(sound in any_plan()) {
        let folder = Folder::new("doors");
        for (n, (what, spoil)) in FAULTS.iter().chain(FAULTS_OF_OURS).enumerate() {
            let mut plan = sound.clone();
            spoil(&mut plan);
            let Some(fault) = plan.fault() else { panic!("{what} is no fault: {plan:?}") };
            let words = fault.to_string();
            // Behind the plan and the beam, which files name in their own way.
            let essence = words.rsplit_once("': ").unwrap().1;
            let read = through_session(&folder.0, &session_value(&plan));
            let said = read.expect_err(what);
            prop_assert!(said.contains(&words) || said.contains("null"), "{}: {}", what, said);

            let said = through_toml(&toml_text(&plan)).expect_err(what);
            let own_words = said.contains("missing field") || said.contains("gantry turns");
            prop_assert!(said.contains(essence) || own_words, "{}: {} / {}", what, said, essence);
            prop_assert!(plan_toml::to_text(&plan).is_err(), "{} is written", what);

            let mut history = History::default();
            history.apply(Edit::AddPlan(sound.clone()), None).unwrap();
            let said = history.apply(Edit::SetPlan { plan: 0, value: plan.clone() }, None).unwrap_err().to_string();
            prop_assert_eq!(&said, &words);
            prop_assert!(history.apply(Edit::AddPlan(plan.clone()), None).is_err(), "{}", what);
            prop_assert_eq!(&*history.case().plans[0], &sound);

            let said = why_no_dose(&plan);
            prop_assert!(said.contains(&words), "{}: {}", what, said);
            let path = folder.0.join("written.dcm");
            prop_assert!(write_plan(&path, &plan, &[], &Default::default()).is_err() && !path.exists(), "{}", what);

            if n >= FAULTS.len() {
                continue;
            }
            match read_plan(&folder.put("rp.dcm", &rt_object(&plan)), None) {
                Err(DicomError::Contradiction { .. } | DicomError::Unsupported { .. }) => {}
                Err(other) => panic!("{what}: {other}"),
                // What is read has no fault: its beam is not computed, or a word says what was taken instead.
                Ok(read) => {
                    prop_assert_eq!(read.fault(), None, "{}", what);
                    let refused = read.beams.iter().any(|b| !is_computed(b) || !b.not_modelled.is_empty());
                    let warned = read.remarks.iter().any(|r| r.message.contains("passed over"));
                    prop_assert!(refused || warned, "{}: {:?}", what, read);
                }
            }
        }
    }
}

/// All that a session may hold, with a key more in one of its tables at a time, and a number more in one of its pairs and
/// places: nothing is passed over.
#[test]
fn what_a_file_has_too_much_is_refused_wherever_it_stands() {
    let folder = Folder::new("doors");
    let mut plan = Plan::new("P", "generic-6mv");
    plan.normalisation = Some(Normalisation::to_named("PTV", 95.0, 50.0));
    plan.beams = vec![Beam::fixed(
        "A",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(100.0, 80.0),
        100.0,
    )];
    let beam = first(&mut plan);
    beam.mlc = Some(sides());
    beam.control_points[0].leaves_mm = vec![[-5.0, 5.0]; 3];
    plan.objectives = objectives();
    let mut session = session_value(&plan);
    let structure = Structure {
        colour: Rgb([1, 2, 3]),
        contours: vec![Contour {
            points_mm: vec![DVec3::X, DVec3::Y, DVec3::ZERO],
            image_uid: None,
        }]
        .into(),
        points_mm: vec![DVec3::X],
        density: Some(DensityOverride::preset(Medium::Water)),
        ..Structure::new("PTV", 1, StructureKind::Bolus)
    };
    session["structures"] = serde_json::to_value(vec![structure]).unwrap();
    session["chosen"] = serde_json::json!({"plan_uid": "1.2"});
    assert_eq!(through_session(&folder.0, &session), Ok(plan.clone()));
    let tried = with_too_much(&session, &|spoilt| {
        let said = through_session(&folder.0, spoilt).expect_err(&spoilt.to_string());
        assert!(said.contains("s.json"), "{said}");
    });
    assert_eq!(
        tried.0, 17,
        "session, choice, its patient and what plan and structures were made for, plan, normalisation, three of objectives, beam, MLC, \
         control point, jaws, structure, contour, density"
    );
    assert!(tried.1 > 10, "{tried:?}");

    let table: toml::Table = toml::from_str(&toml_text(&plan)).unwrap();
    let value = serde_json::to_value(table).unwrap();
    let text = |value: &Value| toml::to_string(value).unwrap();
    assert_eq!(through_toml(&text(&value)).as_ref(), Ok(&plan));
    let tried = with_too_much(&value, &|spoilt| {
        through_toml(&text(spoilt)).expect_err(&text(spoilt));
    });
    assert_eq!(
        tried.0, 8,
        "plan, normalisation, three of objectives, beam, jaws, MLC"
    );
    assert!(tried.1 >= 7, "{tried:?}");
}

/// Calls `refused` with each table that has a key more, and each array of numbers that has one more; returns how many.
fn with_too_much(whole: &Value, refused: &dyn Fn(&Value)) -> (usize, usize) {
    fn places(value: &Value, at: String, tables: &mut Vec<String>, arrays: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                map.iter()
                    .for_each(|(key, v)| places(v, format!("{at}/{key}"), tables, arrays));
                tables.push(at);
            }
            Value::Array(list) => {
                list.iter()
                    .enumerate()
                    .for_each(|(n, v)| places(v, format!("{at}/{n}"), tables, arrays));
                if list.first().is_some_and(Value::is_number) {
                    arrays.push(at);
                }
            }
            _ => {}
        }
    }
    let (mut tables, mut arrays) = (Vec::new(), Vec::new());
    places(whole, String::new(), &mut tables, &mut arrays);
    for (n, at) in tables.iter().chain(&arrays).enumerate() {
        let mut spoilt = whole.clone();
        let place = spoilt.pointer_mut(at).unwrap();
        match place {
            Value::Object(map) if n < tables.len() => {
                drop(map.insert("wedge_deg".to_owned(), Value::from(30)))
            }
            Value::Array(list) => list.push(Value::from(7.5_f64)),
            _ => unreachable!("a table or an array"),
        }
        refused(&spoilt);
    }
    (tables.len(), arrays.len())
}
