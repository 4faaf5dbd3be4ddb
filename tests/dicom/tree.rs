//! The reference tree of a folder, the choice between several objects, and objects of another patient.

use crate::common::synthetic::{
    Folder, dose, fixed, item, object, plan, refer_to_images, set, set_items, slice, structures,
};
use beamsight::case::Case;
use beamsight::dicom::{Choice, DicomError, Tree, load, scan};
use dicom_core::VR;
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use std::process::Command;

fn reference(class: &str, uid: &str) -> InMemDicomObject {
    item(&[
        (tags::REFERENCED_SOP_CLASS_UID, VR::UI, class),
        (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid),
    ])
}

fn of_plan(o: &mut InMemDicomObject, uid: &str) {
    set_items(
        o,
        tags::REFERENCED_RT_PLAN_SEQUENCE,
        vec![reference(uids::RT_PLAN_STORAGE, uid)],
    );
}

/// Three planes, a set on them and on a fourth, a plan on the set, its dose, the dose of a plan that is not there, and a
/// registration into a frame of which nothing is there.
fn folder() -> Folder {
    let folder = Folder::new("tree");
    for n in 1..=3 {
        folder.put(&format!("ct{n}.dcm"), &slice(n, 3.0 * f64::from(n), 0));
    }
    let mut own = structures();
    let images = (1..=4).map(|n| reference(uids::CT_IMAGE_STORAGE, &format!("1.2.3.300.{n}")));
    refer_to_images(&mut own, images.collect());
    // Some systems name the study with the class of the structure set.
    let mut frame = own
        .get(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE)
        .unwrap()
        .items()
        .unwrap()[0]
        .clone();
    let mut study = frame
        .get(tags::RT_REFERENCED_STUDY_SEQUENCE)
        .unwrap()
        .items()
        .unwrap()[0]
        .clone();
    set(
        &mut study,
        tags::REFERENCED_SOP_CLASS_UID,
        VR::UI,
        uids::RT_STRUCTURE_SET_STORAGE,
    );
    set(
        &mut study,
        tags::REFERENCED_SOP_INSTANCE_UID,
        VR::UI,
        "1.2.3.1",
    );
    set_items(&mut frame, tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    set_items(
        &mut own,
        tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE,
        vec![frame],
    );
    folder.put("rs.dcm", &own);
    let mut planned = plan(vec![fixed("3", &[])]);
    let of_set = vec![reference(uids::RT_STRUCTURE_SET_STORAGE, "1.2.3.400")];
    set_items(
        &mut planned,
        tags::REFERENCED_STRUCTURE_SET_SEQUENCE,
        of_set,
    );
    folder.put("rp.dcm", &planned);
    let mut given = dose(16, &[0.0, 3.0]);
    of_plan(&mut given, "1.2.3.500");
    folder.put("rd-1.dcm", &given);
    set(&mut given, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.601");
    of_plan(&mut given, "1.2.3.999");
    folder.put("rd-2.dcm", &given);
    let mut reg = object(uids::SPATIAL_REGISTRATION_STORAGE, "REG", "1.2.3.700");
    let frame = |uid: &str| item(&[(tags::FRAME_OF_REFERENCE_UID, VR::UI, uid)]);
    set_items(
        &mut reg,
        tags::REGISTRATION_SEQUENCE,
        vec![frame("1.2.3.100"), frame("1.2.3.101")],
    );
    folder.put("reg.dcm", &reg);
    folder
}

/// The same objects of another patient ID, and with other UIDs.
fn of_another(mut o: InMemDicomObject, uid: &str) -> InMemDicomObject {
    set(&mut o, tags::PATIENT_NAME, VR::PN, "Test^Two");
    set(&mut o, tags::PATIENT_ID, VR::LO, "T2");
    set(&mut o, tags::SOP_INSTANCE_UID, VR::UI, uid);
    o
}

fn partners(tree: &Tree, name: &str) -> Vec<(String, bool)> {
    let leaves = tree
        .patients
        .iter()
        .flat_map(|p| &p.studies)
        .flat_map(|s| &s.frames)
        .flat_map(|f| &f.objects);
    let leaf = leaves
        .into_iter()
        .find(|leaf| leaf.name == name)
        .unwrap_or_else(|| panic!("{name} in {tree}"));
    leaf.partners
        .iter()
        .map(|partner| (partner.text.clone(), partner.missing))
        .collect()
}

fn opened(folder: &Folder, choice: Choice) -> Result<Case, DicomError> {
    load(&scan(&folder.0, &|_| true).unwrap(), choice, &|_| true)
}

#[test]
fn each_object_tells_whom_it_names_and_who_is_missing() {
    let folder = folder();
    let tree = scan(&folder.0, &|_| true).unwrap().tree();
    let is = |name: &str, wanted: &[(&str, bool)]| {
        let wanted: Vec<(String, bool)> = wanted
            .iter()
            .map(|(text, m)| ((*text).to_owned(), *m))
            .collect();
        assert_eq!(partners(&tree, name), wanted, "{name}");
    };
    is("CT 1", &[]);
    is(
        "RTSTRUCT 1",
        &[("CT 1", false), ("1 CT image(s) that are not here", true)],
    );
    is("RTPLAN 1", &[("RTSTRUCT 1", false)]);
    is("RTDOSE 1", &[("RTPLAN 1", false)]);
    is("RTDOSE 2", &[("RTPLAN 1.2.3.999, which is not here", true)]);
    is(
        "REG 1",
        &[("frame of reference 1.2.3.101, which is not here", true)],
    );
    assert_eq!(tree.patients.len(), 1);
    assert_eq!(tree.patients[0].studies[0].frames.len(), 1);

    let info = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beamsight"));
        command
            .arg("info")
            .arg(&folder.0)
            .args(more)
            .output()
            .unwrap()
    };
    let text = String::from_utf8(info(&[]).stdout).unwrap();
    for line in [
        "patient Test^One (T1)",
        "study 1.2.3.1",
        "frame of reference 1.2.3.100",
        "rd-2.dcm",
        "which is not here",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let json: serde_json::Value = serde_json::from_slice(&info(&["--json"]).stdout).unwrap();
    let objects = json["tree"]["patients"][0]["studies"][0]["frames"][0]["objects"]
        .as_array()
        .unwrap();
    let dose = objects
        .iter()
        .find(|leaf| leaf["name"] == "RTDOSE 2")
        .unwrap();
    assert_eq!(dose["partners"][0]["missing"], true);
}

#[test]
fn one_of_several_plans_and_sets_is_chosen() {
    let folder = folder();
    let mut second = plan(vec![fixed("5", &[])]);
    set(&mut second, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.501");
    set(&mut second, tags::RT_PLAN_LABEL, VR::SH, "SECOND");
    folder.put("rp-2.dcm", &second);
    let names = |choice: Choice| -> Vec<String> {
        opened(&folder, choice)
            .unwrap()
            .plans
            .iter()
            .map(|plan| plan.name.clone())
            .collect()
    };
    assert_eq!(names(Choice::default()).len(), 2);
    let catalogue = scan(&folder.0, &|_| true).unwrap();
    let index = catalogue
        .plans
        .iter()
        .position(|entry| entry.label == "SECOND")
        .unwrap();
    assert_eq!(
        names(Choice {
            plan: Some(index),
            ..Choice::default()
        }),
        ["SECOND"]
    );
    let error = opened(
        &folder,
        Choice {
            plan: Some(2),
            ..Choice::default()
        },
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("plan number 2") && error.contains("it has 2"),
        "{error}"
    );
}

/// Never by itself: refused where it is chosen, named and a caveat where the user answers for it.
#[test]
fn objects_of_another_patient_are_taken_only_when_answered_for() {
    let folder = folder();
    let mut second = plan(vec![fixed("5", &[])]);
    set(&mut second, tags::RT_PLAN_LABEL, VR::SH, "OTHER");
    folder.put("x-rp.dcm", &of_another(second, "1.2.3.511"));
    let catalogue = scan(&folder.0, &|_| true).unwrap();
    let index = catalogue
        .plans
        .iter()
        .position(|entry| entry.label == "OTHER")
        .unwrap();
    let by_series = Choice {
        series: Some(0),
        ..Choice::default()
    };
    assert!(matches!(
        opened(&folder, Choice::default()),
        Err(DicomError::SeveralPatients { .. })
    ));
    let case = opened(&folder, by_series).unwrap();
    assert!(case.plans.iter().all(|plan| plan.name != "OTHER"));

    let chosen = Choice {
        plan: Some(index),
        ..by_series
    };
    let error = opened(&folder, chosen).unwrap_err().to_string();
    for word in [
        "x-rp.dcm",
        "T2 Test^Two",
        "T1 Test^One",
        "--accept-patient-mismatch",
    ] {
        assert!(error.contains(word), "{word} in {error}");
    }
    let case = opened(
        &folder,
        Choice {
            other_patients: true,
            ..chosen
        },
    )
    .unwrap();
    assert_eq!((case.patient.id.as_str(), case.plans.len()), ("T1", 1));
    let caveats = &case.plans[0].beams[0].not_modelled;
    assert!(
        caveats
            .iter()
            .any(|what| what.contains("another patient, T2")),
        "{caveats:?}"
    );
    assert!(
        case.remarks
            .iter()
            .any(|r| r.message.contains("accepted as asked")),
        "{:?}",
        case.remarks
    );
    // Whose plan is not of the images' frame stays out, accepted or not.
    let mut elsewhere = plan(vec![fixed("5", &[])]);
    set(
        &mut elsewhere,
        tags::FRAME_OF_REFERENCE_UID,
        VR::UI,
        "1.2.3.104",
    );
    folder.put("y-rp.dcm", &of_another(elsewhere, "1.2.3.512"));
    let case = opened(
        &folder,
        Choice {
            other_patients: true,
            ..Choice::default()
        },
    )
    .unwrap();
    assert_eq!(case.plans.len(), 2);
    // The patient's own plan has nothing of it.
    let own = case.plans.iter().find(|plan| plan.name == "PLAN").unwrap();
    assert!(own.beams.iter().all(|beam| beam.not_modelled.is_empty()));

    // On the command line, with what belongs to whom beside the refusal.
    let info = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beamsight"));
        command
            .arg("info")
            .arg(&folder.0)
            .args(more)
            .output()
            .unwrap()
    };
    let refused = info(&[]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success()
            && said.contains("patient Test^Two (T2)")
            && said.contains("mixes 2"),
        "{said}"
    );
    let taken = String::from_utf8(info(&["--accept-patient-mismatch"]).stdout).unwrap();
    assert!(taken.contains("accepted as asked"), "{taken}");
}

/// A plan of one patient is never shown on the images of another unasked, whichever images are the larger.
#[test]
fn a_chosen_plan_goes_with_images_of_its_own_patient() {
    let folder = folder();
    let mut second = plan(vec![fixed("5", &[])]);
    set(&mut second, tags::RT_PLAN_LABEL, VR::SH, "OTHER");
    folder.put("x-rp.dcm", &of_another(second, "1.2.3.511"));
    let catalogue = scan(&folder.0, &|_| true).unwrap();
    let index = catalogue
        .plans
        .iter()
        .position(|entry| entry.label == "OTHER")
        .unwrap();
    let case = opened(
        &folder,
        Choice {
            plan: Some(index),
            ..Choice::default()
        },
    );
    let case = case.expect("the plan alone");
    assert_eq!(
        (case.patient.id.as_str(), case.plans[0].name.as_str()),
        ("T2", "OTHER")
    );
    assert!(case.ct.is_none() && case.structures.structures.is_empty() && case.doses.is_empty());
}

/// The dose of a plan stands under it.
#[test]
fn doses_stand_under_their_plans() {
    let folder = folder();
    let tree = scan(&folder.0, &|_| true).unwrap().tree();
    let objects = &tree.patients[0].studies[0].frames[0].objects;
    let names: Vec<(&str, Option<&str>)> = objects
        .iter()
        .map(|leaf| (leaf.name.as_str(), leaf.under.as_deref()))
        .collect();
    let plan = names
        .iter()
        .position(|(name, _)| *name == "RTPLAN 1")
        .unwrap();
    assert_eq!(names[plan + 1], ("RTDOSE 1", Some("RTPLAN 1")), "{names:?}");
    // That of a plan which is not here stands by itself.
    assert!(names.contains(&("RTDOSE 2", None)), "{names:?}");
}
