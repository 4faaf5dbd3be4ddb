//! Anonymous exports: no byte of what identified is left, and what was computed on is as it was.

use crate::common::conforms::{assert_conforms, faults};
use crate::common::opened::open;
use crate::common::synthetic::{
    Folder, fixed, item, plan, refer_to_images, roi, set, set_items, slice, structures,
};
use beamsight::case::Case;
use beamsight::dicom::{
    Anonymise, ExportOptions, ExportPart, PlanDoses, WriteError, export, load, scan,
};
use dicom_core::header::Header as _;
use dicom_core::{Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Words planted in the files, at several depths.
const IDENTIFYING: [&str; 21] = [
    "Beeblebrox",
    "Zaphod",
    "QX-778812",
    "19420611",
    "Magrathea",
    "Prefect",
    "Slartibartfast",
    "ACC-4711",
    "20310405",
    "secretvalue",
    "ACME",
    "Milliways",
    "1.9.7777",
    "overlaytext",
    "Arthur",
    "20310406",
    "Showa-17",
    "ORDER-881",
    "ORDER-882",
    "vogsphere.example",
    "Linac-Betelgeuse",
];

/// Version of a table of codes.
const VERSION: &str = "20040115";

const PARTS: [ExportPart; 3] = [ExportPart::Ct, ExportPart::Structures, ExportPart::Plan];

fn no_doses(_: &Case) -> Result<Vec<Option<PlanDoses>>, WriteError> {
    panic!("no dose is asked for")
}

fn opened(folder: &Path) -> Case {
    load(
        &scan(folder, &|_| true).unwrap(),
        Default::default(),
        &|_| true,
    )
    .unwrap()
}

fn exported(case: &Case, how: Anonymise) -> Folder {
    let out = Folder::new("anonymous");
    let parts = PARTS.into_iter().filter(|part| part.is_in(case)).collect();
    let options = ExportOptions {
        parts,
        anonymise: Some(how),
        ..ExportOptions::default()
    };
    let written = export(&out.0, case, &options, no_doses, &|_| true).unwrap();
    assert!(written.files.iter().all(|file| !file.unchanged));
    assert!(
        written
            .remarks
            .iter()
            .any(|remark| remark.contains("burned into pixels")),
        "{:?}",
        written.remarks
    );
    out
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

fn object(path: &Path) -> InMemDicomObject {
    dicom_object::open_file(path).unwrap().into_inner()
}

fn text(object: &InMemDicomObject, tag: Tag) -> String {
    let text = object
        .get(tag)
        .and_then(|e| e.to_str().ok())
        .unwrap_or_default();
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
        .to_owned()
}

fn is_in(bytes: &[u8], word: &str) -> bool {
    let small = |b: &[u8]| b.to_ascii_lowercase();
    small(bytes)
        .windows(word.len())
        .any(|window| window == small(word.as_bytes()))
}

/// All elements at any depth.
fn every(object: &InMemDicomObject, see: &mut dyn FnMut(&dicom_object::mem::InMemElement)) {
    for element in object {
        see(element);
        element
            .items()
            .unwrap_or_default()
            .iter()
            .for_each(|item| every(item, see));
    }
}

/// UIDs of the tests' own kind, which no well-known one contains.
fn with_other_uids(object: &InMemDicomObject) -> InMemDicomObject {
    let mut other = InMemDicomObject::new_empty();
    for element in object {
        match element.items() {
            Some(items) => set_items(
                &mut other,
                element.tag(),
                items.iter().map(with_other_uids).collect(),
            ),
            None if element.vr() == VR::UI => {
                let uid = element.to_str().unwrap().replace("1.2.3.", "1.9.7777.");
                set(&mut other, element.tag(), VR::UI, &uid);
            }
            None => {
                other.put(element.clone());
            }
        }
    }
    other
}

fn identified(mut o: InMemDicomObject) -> InMemDicomObject {
    let private = Tag(0x0009, 0x1001);
    for (tag, vr, value) in [
        (tags::PATIENT_NAME, VR::PN, "Beeblebrox^Zaphod"),
        (tags::PATIENT_ID, VR::LO, "QX-778812"),
        (tags::PATIENT_BIRTH_DATE, VR::DA, "19420611"),
        (tags::INSTITUTION_NAME, VR::LO, "Magrathea Clinic"),
        (tags::STATION_NAME, VR::SH, "Milliways"),
        (tags::REFERRING_PHYSICIAN_NAME, VR::PN, "Prefect^Ford"),
        (tags::OPERATORS_NAME, VR::PN, "Slartibartfast"),
        (tags::ACCESSION_NUMBER, VR::SH, "ACC-4711"),
        (tags::STUDY_DATE, VR::DA, "20310405"),
        (tags::STUDY_TIME, VR::TM, "101112"),
        (tags::INSTANCE_CREATION_DATE, VR::DA, "20310406"),
        (tags::STUDY_DESCRIPTION, VR::LO, "Left arm of Zaphod"),
        (tags::SERIES_DESCRIPTION, VR::LO, "Beeblebrox 3 mm"),
        // Not in the table, and kept otherwise.
        (tags::MANUFACTURER, VR::LO, "Magrathea Scanners"),
        (Tag(0x0009, 0x0010), VR::LO, "ACME"),
        (private, VR::LO, "secretvalue"),
        (Tag(0x6000, 0x0022), VR::LO, "overlaytext"),
        (Tag(0x6000, 0x4000), VR::LT, "overlaytext"),
        (
            tags::PATIENT_BIRTH_DATE_IN_ALTERNATIVE_CALENDAR,
            VR::LO,
            "Showa-17-06-11",
        ),
        (
            tags::PATIENT_DEATH_DATE_IN_ALTERNATIVE_CALENDAR,
            VR::LO,
            "Showa-17-06-12",
        ),
        (Tag(0x0040, 0x1006), VR::SH, "ORDER-881"),
        (Tag(0x0040, 0x2007), VR::SH, "ORDER-882"),
        (tags::RETRIEVE_URL, VR::UR, "https://vogsphere.example/1"),
        (tags::RADIATION_MACHINE_NAME, VR::SH, "Linac-Betelgeuse"),
        (tags::DEVICE_ID, VR::LO, "Linac-Betelgeuse"),
        (tags::BURNED_IN_ANNOTATION, VR::CS, "YES"),
    ] {
        set(&mut o, tag, vr, value);
    }
    let deeper = item(&[
        (tags::PERSON_NAME, VR::PN, "Arthur"),
        (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, "1.2.3.300.1"),
        (
            tags::REFERENCED_SOP_CLASS_UID,
            VR::UI,
            uids::CT_IMAGE_STORAGE,
        ),
        (Tag(0x0011, 0x0010), VR::LO, "ACME"),
        (Tag(0x0011, 0x1001), VR::LO, "secretvalue"),
        (tags::CODE_MEANING, VR::LO, "seen by Prefect"),
        (tags::CONTEXT_GROUP_VERSION, VR::DT, VERSION),
    ]);
    let mut outer = item(&[(
        tags::REFERENCED_SOP_CLASS_UID,
        VR::UI,
        uids::CT_IMAGE_STORAGE,
    )]);
    set(
        &mut outer,
        tags::REFERENCED_SOP_INSTANCE_UID,
        VR::UI,
        "1.2.3.300.2",
    );
    set_items(
        &mut outer,
        tags::PURPOSE_OF_REFERENCE_CODE_SEQUENCE,
        vec![deeper],
    );
    set_items(&mut o, tags::REFERENCED_IMAGE_SEQUENCE, vec![outer]);
    with_other_uids(&o)
}

/// A patient of three planes, one big endian, one deflated, a structure set and a plan.
fn patient() -> (Folder, Case) {
    let folder = Folder::new("identified");
    let syntaxes = [
        uids::EXPLICIT_VR_LITTLE_ENDIAN,
        // Explicit VR big endian: retired, still found in archives.
        "1.2.840.10008.1.2.2",
        uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
    ];
    for (n, syntax) in (0_u32..).zip(syntaxes) {
        let plane = identified(slice(n + 1, 3.0 * f64::from(n), 10 * n as u16));
        folder.put_as(&format!("{n}.dcm"), &plane, syntax);
    }
    let mut set_of = structures();
    let image = |n: u32| {
        let uid = format!("1.2.3.300.{n}");
        item(&[
            (
                tags::REFERENCED_SOP_CLASS_UID,
                VR::UI,
                uids::CT_IMAGE_STORAGE,
            ),
            (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, &uid),
        ])
    };
    refer_to_images(&mut set_of, (1..4).map(image).collect());
    let names = ["Heart", "Zaphod boost", "arm 1942"];
    let rois = names
        .iter()
        .zip(["7", "8", "9"])
        .map(|(name, number)| roi(number, name))
        .collect();
    set_items(&mut set_of, tags::STRUCTURE_SET_ROI_SEQUENCE, rois);
    set(&mut set_of, tags::STRUCTURE_SET_LABEL, VR::SH, "Zaphod 1");
    set(&mut set_of, tags::STRUCTURE_SET_DATE, VR::DA, "20310405");
    folder.put("rs.dcm", &identified(set_of));
    let machine = [(tags::TREATMENT_MACHINE_NAME, VR::SH, "Milliways")];
    let mut planned = plan(vec![fixed("3", &machine)]);
    set(&mut planned, tags::RT_PLAN_LABEL, VR::SH, "Zaphod 2");
    set(&mut planned, tags::RT_PLAN_NAME, VR::LO, "Left arm");
    set(&mut planned, tags::RT_PLAN_DATE, VR::DA, "20310405");
    let reference = item(&[
        (
            tags::REFERENCED_SOP_CLASS_UID,
            VR::UI,
            uids::RT_STRUCTURE_SET_STORAGE,
        ),
        (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, "1.2.3.400"),
    ]);
    set_items(
        &mut planned,
        tags::REFERENCED_STRUCTURE_SET_SEQUENCE,
        vec![reference],
    );
    folder.put("rp.dcm", &identified(planned));
    let case = opened(&folder.0);
    assert_eq!(
        (case.plans.len(), case.structures.structures.len()),
        (1, 3),
        "{:?}",
        case.remarks
    );
    (folder, case)
}

#[test]
fn no_byte_of_what_identifies_is_left() {
    let (_source, case) = patient();
    for how in [
        Anonymise::default(),
        Anonymise {
            shift_days: Some(-10),
        },
    ] {
        let out = exported(&case, how);
        let (mut own, mut referenced, mut versions) = (BTreeSet::new(), BTreeSet::new(), 0);
        for path in files(&out.0) {
            let bytes = std::fs::read(&path).unwrap();
            for word in IDENTIFYING {
                assert!(!is_in(&bytes, word), "{word} in {}", path.display());
            }
            let object = object(&path);
            own.insert(text(&object, tags::SOP_INSTANCE_UID));
            every(&object, &mut |element| {
                assert_eq!(element.tag().group() % 2, 0, "{}", element.tag());
                if element.tag() == tags::CONTEXT_GROUP_VERSION {
                    // A version is no date of a patient's.
                    assert_eq!(element.to_str().unwrap().trim(), VERSION);
                    versions += 1;
                }
                if element.tag() == tags::REFERENCED_SOP_INSTANCE_UID {
                    referenced.insert(element.to_str().unwrap().trim_matches('\0').to_owned());
                }
            });
            let said = |tag| text(&object, tag);
            assert_eq!(said(tags::PATIENT_IDENTITY_REMOVED), "YES");
            let codes = object
                .get(tags::DEIDENTIFICATION_METHOD_CODE_SEQUENCE)
                .unwrap()
                .items()
                .unwrap();
            let codes: Vec<String> = codes
                .iter()
                .map(|code| text(code, tags::CODE_VALUE))
                .collect();
            // CID 7050.
            let (dates, wanted): (_, &[&str]) = match how.shift_days {
                None => (["", ""], &["113100", "113105"]),
                Some(_) => (["20310326", "101112"], &["113100", "113105", "113107"]),
            };
            assert_eq!(codes, wanted);
            assert_eq!([said(tags::STUDY_DATE), said(tags::STUDY_TIME)], dates);
            assert_eq!(said(tags::PATIENT_BIRTH_DATE), "");
        }
        assert!(
            versions > 0,
            "versions of tables are kept, dates moved or removed"
        );
        assert!(
            referenced.len() > 3 && referenced.is_subset(&own),
            "{referenced:?} {own:?}"
        );
    }
}

/// Files that say that their pixels show text are named.
#[test]
fn burned_in_annotations_name_their_files() {
    let (_source, case) = patient();
    let out = Folder::new("burned-in");
    let parts = vec![ExportPart::Ct, ExportPart::Plan];
    let options = ExportOptions {
        parts,
        anonymise: Some(Anonymise::default()),
        ..ExportOptions::default()
    };
    let written = export(&out.0, &case, &options, no_doses, &|_| true).unwrap();
    let named = written
        .remarks
        .iter()
        .find(|remark| remark.contains("BurnedInAnnotation"));
    let named = named.unwrap_or_else(|| panic!("{:?}", written.remarks));
    assert!(named.starts_with("CT0001.dcm and "), "{named}");
    let demo = beamsight::files::demo::build("tg119").unwrap();
    let out = Folder::new("burned-in-not");
    let options = ExportOptions {
        parts: vec![ExportPart::Structures],
        ..options
    };
    let written = export(&out.0, &demo, &options, no_doses, &|_| true).unwrap();
    assert!(
        written
            .remarks
            .iter()
            .all(|remark| !remark.contains("BurnedInAnnotation"))
    );
}

/// Images and geometry as they were, references among them too; names of the field stay and the others become numbers.
#[test]
fn an_anonymous_case_opens_as_it_was() {
    let (_source, case) = patient();
    let out = exported(&case, Anonymise::default());
    let back = opened(&out.0);
    let (read, ct) = (back.ct.as_ref().unwrap(), case.ct.as_ref().unwrap());
    assert_eq!(read.hu.data(), ct.hu.data());
    assert_eq!(read.hu.grid().corners_mm(), ct.hu.grid().corners_mm());
    let names: Vec<&str> = back
        .structures
        .structures
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(names, ["Heart", "ROI_8", "ROI_9"]);
    for (a, b) in back
        .structures
        .structures
        .iter()
        .zip(&case.structures.structures)
    {
        assert!(
            a.contours
                .iter()
                .zip(b.contours.iter())
                .all(|(a, b)| a.points_mm == b.points_mm)
        );
    }
    let (plan, was) = (&back.plans[0], &case.plans[0]);
    assert_eq!(
        (plan.name.as_str(), plan.beams[0].name.as_str()),
        ("Plan", "Beam 3")
    );
    assert_eq!(
        (plan.mu(), plan.fractions, plan.prescription_gy),
        (was.mu(), was.fractions, was.prescription_gy)
    );
    assert_eq!(plan.beams[0].control_points, was.beams[0].control_points);
    assert!(back.patient.id.starts_with("ANON-") && back.patient.name == back.patient.id);
}

/// Objects of our own conform.
#[test]
fn a_demo_leaves_anonymous_and_conforms() {
    let mut case = beamsight::files::demo::build("tg119").unwrap();
    // A normalised plan leaves with the monitor units of its dose, which is not computed here.
    std::sync::Arc::make_mut(&mut case.plans[0]).normalisation = None;
    let out = exported(&case, Anonymise::default());
    for name in ["CT0001.dcm", "RS.dcm", "RP.dcm"] {
        assert_conforms(&out.0.join(name));
    }
    assert!(opened(&out.0).structures.structures.len() == case.structures.structures.len());
}

#[test]
fn two_exports_of_a_patient_have_nothing_in_common() {
    let (_source, case) = patient();
    let uids = |out: &Folder| {
        let mut found = BTreeSet::new();
        for path in files(&out.0) {
            let object = object(&path);
            found.insert(text(&object, tags::PATIENT_ID));
            every(&object, &mut |element| {
                let uid = element
                    .to_str()
                    .map(|uid| uid.trim_matches('\0').to_owned())
                    .unwrap_or_default();
                if element.vr() == VR::UI && !uid.starts_with("1.2.840.10008.") {
                    found.insert(uid);
                }
            });
        }
        found
    };
    let [a, b] = [
        exported(&case, Anonymise::default()),
        exported(&case, Anonymise::default()),
    ];
    let (a, b) = (uids(&a), uids(&b));
    assert!(a.len() > 5 && a.is_disjoint(&b), "{:?}", a.intersection(&b));
}

/// Real files: their standard's errors stay theirs, and none is added.
#[test]
fn real_cases_leave_anonymous_without_new_errors() {
    for name in ["eclipse-rando-breast", "oncentra-phantom", "breast-imrt"] {
        let Some(case) = open(name) else { return };
        let out = exported(
            &case,
            Anonymise {
                shift_days: Some(100),
            },
        );
        let sources = |kind: &str| -> Option<PathBuf> {
            match kind {
                "CT" => case.ct.as_ref()?.files.first().cloned(),
                "RS" => Some(case.sources.structures.as_ref()?.path.clone()),
                _ => Some(case.sources.plans[0].path.clone()),
            }
        };
        for file in ["CT0001.dcm", "RS.dcm", "RP.dcm"] {
            let (path, Some(source)) = (out.0.join(file), sources(&file[..2])) else {
                continue;
            };
            let (Some(now), Some(before)) = (faults(&path), faults(&source)) else {
                return;
            };
            let added: Vec<&String> = now.iter().filter(|fault| !before.contains(fault)).collect();
            assert!(added.is_empty(), "{name} {file}: {added:#?}");
            let [object, was] = [object(&path), object(&source)];
            for tag in [
                tags::PATIENT_ID,
                tags::SOP_INSTANCE_UID,
                tags::STUDY_INSTANCE_UID,
                tags::FRAME_OF_REFERENCE_UID,
            ] {
                assert!(
                    text(&was, tag).is_empty() || text(&object, tag) != text(&was, tag),
                    "{name} {file} {tag}"
                );
            }
        }
    }
}
