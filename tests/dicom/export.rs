//! Exports of real cases and of random ones, read back by the program and beside their sources element by element.

use crate::common::conforms::assert_conforms;
use crate::common::opened::open;
use crate::common::patient_case;
use beamsight::case::{
    Approval, Beam, BeamDose, Case, Contour, ControlPoint, Density, DensityOverride, Dose,
    DoseStatus, Jaws, Medium, Mlc, MlcAxis, Plan, Rgb, Source, Sources, Stage, Structure,
    StructureKind, StructureSet, new_uid,
};
use beamsight::dicom::{
    Belonging, DoseBits, ExportOptions, ExportPart, Exported, PlanDoses, WriteError, export, load,
    read_dose, read_plan, read_structures, scan, write_dose, write_plan, write_structures,
};
use beamsight::files::demo;
use beamsight::geometry::{Grid, Volume};
use dicom_core::Tag;
use dicom_core::header::Header as _;
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;
use glam::DVec3;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PLAN_AND_STRUCTURES: [ExportPart; 2] = [ExportPart::Structures, ExportPart::Plan];

fn fresh(name: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let own = format!(
        "export-{name}-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(own);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn no_doses(_: &Case) -> Result<Vec<Option<PlanDoses>>, WriteError> {
    panic!("no dose is asked for")
}

fn exported(folder: &Path, case: &Case, parts: &[ExportPart]) -> Result<Exported, WriteError> {
    let options = ExportOptions {
        parts: parts.to_vec(),
        ..ExportOptions::default()
    };
    export(folder, case, &options, no_doses, &|_| true)
}

fn object(path: &Path) -> InMemDicomObject {
    dicom_object::open_file(path).unwrap().into_inner()
}

fn items(object: &InMemDicomObject, tag: Tag) -> Vec<InMemDicomObject> {
    object
        .get(tag)
        .and_then(|e| e.items())
        .unwrap_or_default()
        .to_vec()
}

fn text(object: &InMemDicomObject, tag: Tag) -> String {
    object
        .get(tag)
        .and_then(|e| e.to_str().ok())
        .map(|s| s.trim().to_owned())
        .unwrap_or_default()
}

/// Elements and values of an item in words, without those of its maker: value representations and padding may differ, as files have other
/// encodings.
fn words(item: &InMemDicomObject) -> Vec<String> {
    item.iter()
        .filter(|element| element.tag().group() % 2 == 0)
        .map(|element| match element.items() {
            Some(inner) => format!(
                "{}: {:?}",
                element.tag(),
                inner.iter().map(words).collect::<Vec<_>>()
            ),
            None => {
                let value = element
                    .to_str()
                    .map(|s| s.trim_end_matches(['\0', ' ']).to_owned());
                format!("{}: {}", element.tag(), value.unwrap_or_default())
            }
        })
        .collect()
}

fn edited(case: &Case, change: impl FnOnce(&mut Plan)) -> Case {
    let mut case = case.clone();
    change(Arc::make_mut(&mut case.plans[0]));
    case
}

fn turn(beam: &mut Beam, deg: f64) {
    beam.control_points
        .iter_mut()
        .for_each(|point| point.gantry_deg = (point.gantry_deg + deg).rem_euclid(360.0));
}

#[test]
fn what_was_not_changed_leaves_as_its_own_file() {
    for name in ["oncentra-phantom", "eclipse-rando-breast", "breast-imrt"] {
        let Some(case) = open(name) else { return };
        let folder = fresh(name);
        let written = exported(&folder, &case, &PLAN_AND_STRUCTURES).unwrap();
        assert!(
            written.files.iter().all(|file| file.unchanged),
            "{name}: {written:?}"
        );
        let bytes = |path: &Path| std::fs::read(path).unwrap();
        let structures = &case.sources.structures.as_ref().unwrap().path;
        assert!(bytes(&folder.join("RS.dcm")) == bytes(structures), "{name}");
        assert!(
            bytes(&folder.join("RP.dcm")) == bytes(&case.sources.plans[0].path),
            "{name}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// A plan that is approved here leaves so, unchanged it stays the file that it is, and a changed one leaves unapproved.
#[test]
fn an_approval_leaves_with_the_plan_that_it_was_given_to() {
    let Some(mut case) = open("oncentra-phantom") else {
        return;
    };
    let (by, at) = (
        "Grün, Jörg".to_owned(),
        "2026-11-26 21:43:03 UTC".to_owned(),
    );
    let approval = Approval {
        stage: Stage::Approved,
        by,
        at,
        reason: String::new(),
    };
    let approved = edited(&case, |plan| plan.approval = Some(approval.clone()));
    let folder = fresh("approved");
    exported(&folder, &approved, &PLAN_AND_STRUCTURES).unwrap();
    let path = folder.join("RP.dcm");
    assert_conforms(&path);
    let read = Arc::new(read_plan(&path, Some(case.plans[0].position)).unwrap());
    assert_eq!(read.approval, Some(approval));
    let source = Source {
        path: path.clone(),
        read: Arc::clone(&read),
    };
    case.sources = Arc::new(Sources {
        plans: vec![source],
        ..(*case.sources).clone()
    });
    case.plans = vec![read];
    for (mu, status) in [(0.0, "APPROVED"), (7.0, "UNAPPROVED")] {
        let folder = fresh("approved-again");
        exported(
            &folder,
            &edited(&case, |plan| plan.beams[0].mu += mu),
            &PLAN_AND_STRUCTURES,
        )
        .unwrap();
        assert_eq!(
            text(&object(&folder.join("RP.dcm")), tags::APPROVAL_STATUS),
            status
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A beam is turned and weighted: its item has what the source has apart from that, the others are the source's.
#[test]
fn a_changed_beam_leaves_with_all_that_the_case_does_not_hold() {
    for name in ["oncentra-phantom", "eclipse-rando-breast", "breast-imrt"] {
        let Some(case) = open(name) else { return };
        let changed = edited(&case, |plan| {
            turn(&mut plan.beams[0], 10.0);
            plan.beams[0].mu += 7.0;
        });
        let folder = fresh(name);
        let written = exported(&folder, &changed, &PLAN_AND_STRUCTURES).unwrap();
        assert!(
            !written
                .files
                .iter()
                .any(|file| file.name == "RP.dcm" && file.unchanged)
        );
        let path = folder.join("RP.dcm");
        assert_conforms(&path);
        let (now, source) = (object(&path), object(&case.sources.plans[0].path));
        let (beams, before) = (
            items(&now, tags::BEAM_SEQUENCE),
            items(&source, tags::BEAM_SEQUENCE),
        );
        assert_eq!(
            beams.len(),
            before.len(),
            "{name}: also beams that are not computed, and setup fields"
        );
        for (beam, before) in beams.iter().zip(&before).skip(1) {
            assert_eq!(words(beam), words(before), "{name}");
        }
        let gantry = |beam: &InMemDicomObject| -> f64 {
            let points = items(beam, tags::CONTROL_POINT_SEQUENCE);
            text(&points[0], tags::GANTRY_ANGLE).parse().unwrap()
        };
        assert_eq!(
            gantry(&beams[0]),
            (gantry(&before[0]) + 10.0).rem_euclid(360.0)
        );
        // Machine, devices, tolerances, setup, accessories: all that is no control point.
        let own = [
            tags::CONTROL_POINT_SEQUENCE,
            tags::FINAL_CUMULATIVE_METERSET_WEIGHT,
            tags::NUMBER_OF_CONTROL_POINTS,
        ];
        let rest = |beam: &InMemDicomObject| {
            let kept = beam.iter().filter(|element| !own.contains(&element.tag()));
            words(&InMemDicomObject::from_element_iter(kept.cloned()))
        };
        assert_eq!(rest(&beams[0]), rest(&before[0]), "{name}");
        assert_eq!(text(&now, tags::APPROVAL_STATUS), "UNAPPROVED");
        assert_ne!(
            text(&now, tags::SOP_INSTANCE_UID),
            text(&source, tags::SOP_INSTANCE_UID)
        );
        let from = &items(&now, tags::REFERENCED_RT_PLAN_SEQUENCE)[0];
        assert_eq!(
            text(from, tags::REFERENCED_SOP_INSTANCE_UID),
            text(&source, tags::SOP_INSTANCE_UID)
        );
        assert_eq!(text(from, tags::RT_PLAN_RELATIONSHIP), "PREDECESSOR");
        // A dose of the source is no dose of the changed beam.
        let group = &items(&now, tags::FRACTION_GROUP_SEQUENCE)[0];
        let reference = &items(group, tags::REFERENCED_BEAM_SEQUENCE)[0];
        assert!(reference.get(tags::BEAM_DOSE).is_none());
        let mu: f64 = text(reference, tags::BEAM_METERSET).parse().unwrap();
        assert!((mu - changed.plans[0].beams[0].mu).abs() < 1e-9);
        assert_eq!(
            words(&items(&now, tags::PATIENT_SETUP_SEQUENCE)[0]),
            words(&items(&source, tags::PATIENT_SETUP_SEQUENCE)[0])
        );
        // And it opens as it left.
        let read = read_plan(&path, None).unwrap();
        assert!(
            read.beams
                .iter()
                .zip(&changed.plans[0].beams)
                .all(|(a, b)| a.is_unchanged(b)),
            "{name}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn plans_of_other_systems_leave_changed() {
    let Some(folder) = patient_case("rtplans-dev") else {
        return;
    };
    let out = fresh("rtplans");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || !scan(&path, &|_| true).is_ok_and(|found| !found.plans.is_empty()) {
            continue;
        }
        let case = load(
            &scan(&path, &|_| true).unwrap(),
            Default::default(),
            &|_| true,
        )
        .unwrap();
        let place = out.join(case.plans[0].uid.clone().unwrap());
        std::fs::create_dir_all(&place).unwrap();
        let changed = edited(&case, |plan| {
            let computed = plan.beams.iter_mut().find(|beam| beam.read_only.is_none());
            computed.into_iter().for_each(|beam| beam.mu += 1.0);
        });
        match exported(&place, &changed, &[ExportPart::Plan]) {
            Ok(_) => assert_conforms(&place.join("RP.dcm")),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn changed_structures_leave_beside_those_that_were_not() {
    for name in ["oncentra-phantom", "eclipse-rando-breast", "lung1-001"] {
        let Some(case) = open(name) else { return };
        let mut changed = case.clone();
        let set = Arc::make_mut(&mut changed.structures);
        let index = set
            .structures
            .iter()
            .position(|s| !s.contours.is_empty())
            .unwrap();
        let moved = set.structures[index]
            .contours
            .iter()
            .map(|contour| Contour {
                points_mm: contour
                    .points_mm
                    .iter()
                    .map(|p| *p + DVec3::new(0.1 / 3.0, 0.0, 0.0))
                    .collect(),
                image_uid: contour.image_uid.clone(),
            });
        set.structures[index].contours = moved.collect();
        let folder = fresh(name);
        exported(&folder, &changed, &[ExportPart::Structures]).unwrap();
        let path = folder.join("RS.dcm");
        assert_conforms(&path);
        let (now, source) = (
            object(&path),
            object(&case.sources.structures.as_ref().unwrap().path),
        );
        let by_roi = |object: &InMemDicomObject, number: &str| {
            let all = items(object, tags::ROI_CONTOUR_SEQUENCE);
            all.into_iter()
                .find(|item| text(item, tags::REFERENCED_ROI_NUMBER) == number)
                .map(|item| words(&item))
        };
        for (n, structure) in case.structures.structures.iter().enumerate() {
            let number = structure.number.to_string();
            let same = by_roi(&now, &number) == by_roi(&source, &number);
            assert_eq!(same, n != index, "{name}: {}", structure.name);
        }
        assert_ne!(
            text(&now, tags::SOP_INSTANCE_UID),
            text(&source, tags::SOP_INSTANCE_UID)
        );
        let read = read_structures(&path).unwrap();
        let off = |a: &Structure, b: &Structure| {
            let pairs = a
                .contours
                .iter()
                .zip(&b.contours)
                .flat_map(|(a, b)| a.points_mm.iter().zip(&b.points_mm));
            pairs.map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max)
        };
        for (a, b) in read.structures.iter().zip(&changed.structures.structures) {
            assert!(
                a.contours.len() == b.contours.len() && off(a, b) < 1e-11,
                "{name}: {}",
                a.name
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Each refusal names what it is about, and leaves no file.
/// Systems choose plans by their labels of 16 letters.
#[test]
fn plans_of_one_export_have_labels_of_their_own() {
    let mut case = demo::build("water").unwrap();
    let names = [
        "Left breast tangents, open",
        "Left breast tangents, wedge",
        "Boost",
        "Boost",
    ];
    let plan = Plan::clone(&case.plans[0]);
    case.plans = names
        .iter()
        .map(|name| {
            Arc::new(Plan {
                name: (*name).to_owned(),
                uid: None,
                ..plan.clone()
            })
        })
        .collect();
    let folder = fresh("labels");
    exported(&folder, &case, &[ExportPart::Plan]).unwrap();
    let labels: Vec<[String; 2]> = (1..=4)
        .map(|n| {
            let path = folder.join(format!("RP-{n}.dcm"));
            assert_conforms(&path);
            assert_eq!(read_plan(&path, None).unwrap().name, names[n - 1]);
            let object = object(&path);
            [
                text(&object, tags::RT_PLAN_LABEL),
                text(&object, tags::RT_PLAN_NAME),
            ]
        })
        .collect();
    let wanted = ["Left breast tang", "Left breast ta-2", "Boost", "Boost-2"];
    assert_eq!(
        labels
            .iter()
            .map(|[label, _]| label.as_str())
            .collect::<Vec<_>>(),
        wanted
    );
    // Opened again and exported with one plan changed, each keeps its own.
    let again = load(
        &scan(&folder, &|_| true).unwrap(),
        Default::default(),
        &|_| true,
    )
    .unwrap();
    assert_eq!(again.plans.len(), 4, "{:?}", again.remarks);
    let changed = edited(&again, |plan| plan.beams[0].mu += 1.0);
    let second = fresh("labels-again");
    exported(&second, &changed, &[ExportPart::Plan]).unwrap();
    let mut kept: Vec<String> = (1..=4)
        .map(|n| {
            text(
                &object(&second.join(format!("RP-{n}.dcm"))),
                tags::RT_PLAN_LABEL,
            )
        })
        .collect();
    kept.sort();
    let mut all = wanted.map(str::to_owned);
    all.sort();
    assert_eq!(kept, all);
    [folder, second]
        .into_iter()
        .for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

/// An image that is no DICOM series states no patient, and systems refuse or mix objects of none.
#[test]
fn an_image_without_a_patient_leaves_as_one_of_its_own() {
    let folder = fresh("nameless");
    let path = folder.join("head 3.mha");
    let ct = demo::build("water").unwrap().ct.unwrap();
    beamsight::files::mha::write(&path, &ct.hu).unwrap();
    let word = beamsight::open::CaseWord::of_path(path);
    let case = beamsight::open::open(&word, Default::default(), &|_| true).unwrap();
    assert_eq!(case.patient, Default::default());
    let out = fresh("nameless-out");
    let written = exported(&out, &case, &[ExportPart::Ct]).unwrap();
    let patient = beamsight::dicom::read_patient(&out.join("CT0001.dcm")).unwrap();
    assert_eq!(patient.name, "head 3");
    assert!(patient.id.starts_with("BEAMSIGHT-"), "{patient:?}");
    assert!(
        written
            .remarks
            .iter()
            .any(|remark| remark.contains("head 3") && remark.contains(&patient.id))
    );
    [folder, out]
        .into_iter()
        .for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

#[test]
fn what_cannot_leave_is_refused_by_name() {
    let Some(case) = open("oncentra-phantom") else {
        return;
    };
    let refused = |case: &Case, words: &[&str]| {
        let folder = fresh("refused");
        let error = exported(&folder, case, &PLAN_AND_STRUCTURES)
            .unwrap_err()
            .to_string();
        for word in words {
            assert!(error.contains(word), "no '{word}' in: {error}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    };
    let electrons = case.plans[0]
        .beams
        .iter()
        .position(|beam| beam.read_only.is_some())
        .unwrap();
    refused(
        &edited(&case, |plan| plan.beams[electrons].mu += 1.0),
        &["B3_electrons", "only unchanged"],
    );
    refused(
        &edited(&case, |plan| plan.beams[0].mu = 0.0),
        &["B1_photons", "0 MU"],
    );
    let unknown = |plan: &mut Plan| plan.beams[0].machine = Some("linac-7".to_owned());
    refused(&edited(&case, unknown), &["B1_photons", "linac-7"]);
    refused(
        &edited(&case, |plan| {
            plan.beams.iter_mut().for_each(|beam| beam.off = true)
        }),
        &["no beams"],
    );
    let mut elsewhere = case.clone();
    Arc::make_mut(&mut elsewhere.structures).frame_of_reference_uid = "1.2.3".to_owned();
    refused(&elsewhere, &["another frame of reference", "1.2.3"]);

    // The source is another file by now.
    let mut other = case.clone();
    let sources = Arc::make_mut(&mut other.sources);
    let mut read = (*sources.plans[0].read).clone();
    read.beams[1].mu += 1.0;
    sources.plans[0].read = Arc::new(read);
    refused(&other, &["no longer the file that was opened"]);
}

/// Not a source, nor what was made here: parts without a source that no engine models are never lost silently.
#[test]
fn a_beam_with_parts_that_its_file_alone_has_needs_its_file() {
    let Some(case) = open("oncentra-phantom") else {
        return;
    };
    let mut lost = case.clone();
    lost.sources = Arc::default();
    let error = exported(&fresh("lost"), &lost, &[ExportPart::Plan])
        .unwrap_err()
        .to_string();
    assert!(error.contains("B3_electrons"), "{error}");
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        -400.0..400.0,
        (-4000_i32..4000).prop_map(f64::from),
        (-1e-6..1e-6)
    ]
}

fn point() -> impl Strategy<Value = DVec3> {
    [number(), number(), number()].prop_map(DVec3::from)
}

fn density() -> impl Strategy<Value = Option<DensityOverride>> {
    let value = prop_oneof![
        (0.0..25.0_f64).prop_map(Density::MassGCm3),
        (0.0..25.0_f64).prop_map(Density::RelativeElectrons),
        Just(Density::AsScanned),
    ];
    let medium = prop_oneof![
        Just(None),
        Just(Some(Medium::Water)),
        Just(Some(Medium::Titanium))
    ];
    let given = (value, medium, any::<bool>()).prop_map(|(density, medium, off)| {
        let medium = medium.filter(|_| density != Density::AsScanned);
        DensityOverride {
            density,
            medium,
            off,
        }
    });
    proptest::option::of(given)
}

fn structure(index: usize) -> impl Strategy<Value = Structure> {
    let contour = (
        proptest::collection::vec((number(), number()), 3..9),
        number(),
    )
        .prop_map(|(xy, z)| Contour {
            points_mm: xy.into_iter().map(|(x, y)| DVec3::new(x, y, z)).collect(),
            image_uid: None,
        });
    let contours = proptest::collection::vec(contour, 0..5);
    let kind = proptest::sample::select(StructureKind::ALL.to_vec());
    (
        contours,
        proptest::collection::vec(point(), 0..3),
        kind,
        any::<[u8; 3]>(),
        density(),
    )
        .prop_map(
            move |(contours, points_mm, kind, colour, density)| Structure {
                density,
                colour: Rgb(colour),
                contours: contours.into(),
                points_mm,
                ..Structure::new(format!("S{index}"), 3 * index as u32 + 1, kind)
            },
        )
}

fn beam(number: u32) -> impl Strategy<Value = Beam> {
    let pair = || (0.0..100.0_f64, 1.0..100.0_f64).prop_map(|(a, b)| [-a, b]);
    let control = (
        0.0..360.0_f64,
        pair(),
        pair(),
        proptest::collection::vec(pair(), 4),
    )
        .prop_map(|(collimator_deg, x, y, leaves_mm)| ControlPoint {
            meterset_weight: 1.0,
            gantry_deg: 0.0,
            collimator_deg,
            couch_deg: 0.0,
            jaws: Jaws { x, y },
            leaves_mm,
        });
    let controls = proptest::collection::vec(control, 1..5);
    (
        controls,
        0.0..360.0_f64,
        0.0..360.0_f64,
        point(),
        0.01..900.0_f64,
    )
        .prop_map(
            move |(mut points, gantry_deg, couch_deg, isocentre_mm, mu)| {
                let last = (points.len() - 1).max(1) as f64;
                let count = points.len();
                let collimator_deg = points[0].collimator_deg;
                for (n, point) in points.iter_mut().enumerate() {
                    // Turns stay short of half a circle.
                    point.gantry_deg = (gantry_deg + 11.3 * n as f64).rem_euclid(360.0);
                    (point.couch_deg, point.collimator_deg) = (couch_deg, collimator_deg);
                    point.meterset_weight = if count == 1 { 1.0 } else { n as f64 / last };
                }
                let mlc = Mlc {
                    axis: MlcAxis::X,
                    boundaries_mm: vec![-20.0, -10.0, 0.0, 10.0, 20.5],
                };
                Beam {
                    isocentre_mm,
                    mu,
                    mlc: Some(mlc),
                    control_points: points,
                    energy_mv: Some(6.0),
                    source_axis_mm: Some(1000.0),
                    ..Beam::fixed(
                        &format!("B{number}"),
                        number,
                        0.0,
                        DVec3::ZERO,
                        Jaws::symmetric(1.0, 1.0),
                        1.0,
                    )
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Positions of 16 characters: what was written is read to the last bit of that.
    #[test]
    fn structures_are_read_as_they_were_written(all in (structure(0), structure(1), structure(2))) {
        let set = StructureSet {
            label: "Set".to_owned(),
            structures: vec![all.0, all.1, all.2],
            uid: Some(new_uid()),
            ..StructureSet::default()
        };
        let held = beamsight::dicom::structures_as_written(&set);
        let folder = fresh("structures");
        let path = folder.join("RS.dcm");
        let belonging = Belonging::new(&Case::default());
        write_structures(&path, &held, None, &belonging).unwrap();
        let read = read_structures(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        // A file holds the densities that count, and none of a bolus.
        let held_ones = held.structures.iter().map(|s| {
            let density = s.counted_density().filter(|_| s.kind != StructureKind::Bolus);
            Structure { density, ..s.clone() }
        });
        // Corners at random may go round part of their area twice, which the reader remarks on.
        let read_ones = read.structures.iter().map(|s| Structure { remarks: Vec::new(), ..s.clone() });
        prop_assert_eq!(read_ones.collect::<Vec<_>>(), held_ones.collect::<Vec<_>>());
        let far = set.structures.iter().zip(&read.structures).flat_map(|(a, b)| {
            let points = |s: &Structure| s.contours.iter().flat_map(|c| c.points_mm.clone()).collect::<Vec<_>>();
            points(a).into_iter().zip(points(b)).collect::<Vec<_>>()
        });
        for (a, b) in far {
            prop_assert!((a - b).length() < 1e-9, "{} {}", a, b);
        }
    }

    #[test]
    fn plans_are_read_as_they_were_written(beams in (beam(1), beam(4)), gy in 1.0..80.0_f64, fractions in 1_u32..40) {
        let plan = Plan {
            prescription_gy: Some(gy),
            fractions,
            beams: vec![beams.0, beams.1],
            uid: Some(new_uid()),
            ..Plan::new("A plan of a long name", "generic-6mv")
        };
        let held = beamsight::dicom::plan_as_written(&plan);
        let folder = fresh("plans");
        let path = folder.join("RP.dcm");
        let case = demo::build("water").unwrap();
        let doses = [BeamDose { beam: 1, point_mm: DVec3::X, gy: 1.0 }];
        write_plan(&path, &held, &doses, &Belonging::new(&case)).unwrap();
        let read = read_plan(&path, None).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        prop_assert_eq!((read.fractions, read.prescription_gy), (held.fractions, held.prescription_gy));
        prop_assert_eq!((read.name.as_str(), read.beams.len()), ("A plan of a long name", 2));
        for ((read, held), beam) in read.beams.iter().zip(&held.beams).zip(&plan.beams) {
            prop_assert!(read.is_unchanged(held), "{:?} {:?}", read, held);
            prop_assert!(read.read_only.is_none() && (read.mu - beam.mu).abs() < 1e-10);
        }
    }

    /// Within half a step of the scaling: 16 and 32 bits.
    #[test]
    fn doses_are_read_as_they_were_written(
        values in proptest::collection::vec(0.0..80.0_f32, 24),
        origin in point(),
        sixteen in any::<bool>(),
    ) {
        let grid = Grid::new(origin, DVec3::X, DVec3::Y, [2.5, 1.5], [4, 3], &[0.0, 3.0]).unwrap();
        let dose = Dose {
            gy: Arc::new(Volume::new(Arc::new(grid), values)),
            status: DoseStatus::Final,
            label: String::new(),
            frame_of_reference_uid: String::new(),
            receipt: None,
            caveats: Vec::new(),
            remarks: Vec::new(),
            part: None,
        };
        let folder = fresh("doses");
        let path = folder.join("RD.dcm");
        let belonging = Belonging { plan_uid: Some(new_uid()), ..Belonging::new(&Case::default()) };
        let (bits, steps) = if sixteen { (DoseBits::Sixteen, 65_535.0) } else { (DoseBits::ThirtyTwo, 4_294_967_295.0) };
        write_dose(&path, &dose, &belonging, bits).unwrap();
        let (read, _) = read_dose(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let step = f64::from(dose.max_gy()) / steps;
        for (a, b) in read.gy.data().iter().zip(dose.gy.data()) {
            let off = (f64::from(*a) - f64::from(*b)).abs();
            prop_assert!(off <= 0.51 * step + f64::from(*b) * 1.2e-7, "{} {}", a, b);
        }
        prop_assert!((read.gy.grid().origin_mm() - dose.gy.grid().origin_mm()).length() < 1e-9);
        prop_assert_eq!(read.gy.grid().planes_mm(), dose.gy.grid().planes_mm());
    }
}
