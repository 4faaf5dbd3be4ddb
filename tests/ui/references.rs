//! The reference tree of a folder, another plan of it, and objects of another patient.

use crate::harness::{Window, folder, said, until, window};
use crate::synthetic::{Folder, dose, fixed, item, plan, set, set_items, slice, structures};
use beamsight::app::Options;
use beamsight::app::command::Command;
use beamsight::results::Shown;
use dicom_core::VR;
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use egui_kittest::kittest::Queryable as _;
use std::fs;
use std::path::Path;

fn reference(class: &str, uid: &str) -> InMemDicomObject {
    item(&[
        (tags::REFERENCED_SOP_CLASS_UID, VR::UI, class),
        (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid),
    ])
}

/// A CT, a structure set, two plans, the dose of the second, and one of a plan that is not there.
fn study(name: &str) -> Folder {
    let folder = Folder::new(name);
    for n in 1..=3 {
        folder.put(&format!("ct{n}.dcm"), &slice(n, 3.0 * f64::from(n), 0));
    }
    folder.put("rs.dcm", &structures());
    folder.put("rp-1.dcm", &plan(vec![fixed("3", &[])]));
    let mut second = plan(vec![fixed("5", &[])]);
    set(&mut second, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.501");
    set(&mut second, tags::RT_PLAN_LABEL, VR::SH, "SECOND");
    folder.put("rp-2.dcm", &second);
    for (n, of) in [(1, "1.2.3.501"), (2, "1.2.3.999")] {
        let mut given = dose(16, &[0.0, 3.0]);
        set(
            &mut given,
            tags::SOP_INSTANCE_UID,
            VR::UI,
            &format!("1.2.3.60{n}"),
        );
        set_items(
            &mut given,
            tags::REFERENCED_RT_PLAN_SEQUENCE,
            vec![reference(uids::RT_PLAN_STORAGE, of)],
        );
        folder.put(&format!("rd-{n}.dcm"), &given);
    }
    folder
}

fn opened(folder: &Path) -> Window {
    window(Options {
        case: Some(folder.display().to_string()),
        ..Options::default()
    })
}

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).click();
    w.run_steps(3);
}

fn plans(w: &Window) -> Vec<String> {
    w.state()
        .state
        .case()
        .plans
        .iter()
        .map(|plan| plan.name.clone())
        .collect()
}

#[test]
fn the_references_show_what_is_missing_and_open_another_plan() {
    let study = study("ui-references");
    let mut w = opened(&study.0);
    until(&mut w, "case", |app| app.state.is_loaded());
    assert_eq!(plans(&w), ["PLAN", "SECOND"]);
    press(&mut w, "References…");
    assert_eq!(
        w.query_all_by_label_contains("missing: RTPLAN 1.2.3.999")
            .count(),
        1
    );
    assert_eq!(w.query_all_by_label_contains("names RTPLAN 2").count(), 1);
    assert!(w.query_by_label("Open RTPLAN 2").is_none(), "both are open");
    // The plan on show is the first; the other is shown without opening anything.
    press(&mut w, "Show RTPLAN 2");
    assert_eq!(w.state().state.plan, 1);
    let before = w.state().state.results.shown;
    press(&mut w, "Show RTDOSE 2");
    let state = &w.state().state;
    assert!(matches!(state.results.shown, Shown::Imported(_)) && state.results.shown != before);

    // Of a case that was opened with one plan the other is opened in its place.
    let folder = state.folder().expect("a folder").clone();
    let alone = beamsight::dicom::Choice {
        plan: Some(0),
        ..folder.choice
    };
    w.state_mut().command(Command::OpenChoice(alone));
    until(&mut w, "plan alone", |app| {
        app.state.case().plans.len() == 1
    });
    assert_eq!(plans(&w), ["PLAN"]);
    press(&mut w, "Open RTPLAN 2");
    until(&mut w, "other plan", |app| {
        app.state
            .case()
            .plans
            .iter()
            .all(|plan| plan.name == "SECOND")
    });
    assert_eq!(plans(&w), ["SECOND"]);
    assert!(
        w.query_by_label("Open RTPLAN 1").is_some() && w.query_by_label("Open RTPLAN 2").is_none()
    );

    // The session opens what was chosen.
    let path = crate::harness::folder("ui-references-session").join("chosen.json");
    let _ = fs::remove_file(&path);
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "session", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    let mut again = opened(&path);
    until(&mut again, "session", |app| app.state.is_loaded());
    assert_eq!(plans(&again), ["SECOND"]);
    assert_eq!(
        again.state().state.folder().expect("a folder").choice.plan,
        Some(1)
    );
}

/// The plan of another patient ID is opened only after an answer, which the session and the plan keep.
#[test]
fn objects_of_another_patient_are_asked_about() {
    let study = study("ui-strangers");
    let mut other = plan(vec![fixed("7", &[])]);
    set(&mut other, tags::RT_PLAN_LABEL, VR::SH, "OTHER");
    set(&mut other, tags::PATIENT_NAME, VR::PN, "Test^Two");
    set(&mut other, tags::PATIENT_ID, VR::LO, "T2");
    set(&mut other, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.511");
    study.put("x-rp.dcm", &other);
    let mut w = opened(&study.0);
    until(&mut w, "question", |app| app.state.patients.is_some());
    assert_eq!(
        w.query_all_by_label_contains("objects of 2 patient IDs")
            .count(),
        1
    );
    assert!(w.query_by_label("Open Test Two (T2) alone").is_some());
    press(&mut w, "Open nothing");
    w.run_steps(5);
    assert!(!w.state().state.is_loaded() && w.state().state.patients.is_none());

    w.state_mut().open(&study.0.display().to_string());
    until(&mut w, "question", |app| app.state.patients.is_some());
    press(&mut w, "Open Test One (T1) alone");
    until(&mut w, "case", |app| app.state.is_loaded());
    assert_eq!(
        (plans(&w), w.state().state.case().patient.id.as_str()),
        (vec!["PLAN".into(), "SECOND".into()], "T1")
    );

    w.state_mut().open(&study.0.display().to_string());
    until(&mut w, "question", |app| app.state.patients.is_some());
    press(&mut w, "They are one patient: open together");
    until(&mut w, "case", |app| app.state.case().plans.len() == 3);
    assert!(said(&w).contains("accepted as asked"), "{}", said(&w));
    let case = w.state().state.case();
    let other = case
        .plans
        .iter()
        .find(|plan| plan.name == "OTHER")
        .expect("the plan");
    assert!(
        other.beams[0]
            .not_modelled
            .iter()
            .any(|what| what.contains("another patient, T2"))
    );
    assert_eq!(case.patient.id, "T1");

    let path = folder("ui-strangers-session").join("together.json");
    let _ = fs::remove_file(&path);
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "session", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    let text = fs::read_to_string(&path).expect("a session");
    assert!(
        text.contains("accepted_patients") && text.contains("\"T2\""),
        "{text}"
    );
    let mut again = opened(&path);
    until(&mut again, "session", |app| app.state.is_loaded());
    assert!(
        again
            .state()
            .state
            .folder()
            .expect("a folder")
            .choice
            .other_patients
    );
    assert!(
        said(&again).contains("accepted as asked"),
        "{}",
        said(&again)
    );
}
