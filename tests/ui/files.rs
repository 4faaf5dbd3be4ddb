//! Files: several series in one folder, sessions, dialogs, remarks on a series, and bad input.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::state::State;
use beamsight::app::state::files::FileAction;
use beamsight::app::state::results::EngineChoice;
use beamsight::app::state::roi::Shape;
use beamsight::app::{Options, Picked};
use beamsight::case::{Case, Ct, derived_uid};
use beamsight::dicom::{Belonging, write_ct};
use beamsight::geometry::{Grid, PatientPosition, Volume};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Writes a small CT of a few planes into a folder of its own.
fn series(folder: &Path, description: &str, planes_mm: &[f64], hu: f32) {
    let grid = Grid::new(
        DVec3::splat(-20.0),
        DVec3::X,
        DVec3::Y,
        [5.0; 2],
        [9, 9],
        planes_mm,
    )
    .expect("a grid");
    let volume = Volume::new(Arc::new(grid.clone()), vec![hu; grid.len()]);
    let ct = Ct {
        hu: Arc::new(volume),
        position: PatientPosition::Hfs,
        series_uid: derived_uid(&format!("series {description}")),
        study_uid: derived_uid("study"),
        frame_of_reference_uid: derived_uid("frame"),
        description: description.to_owned(),
        plane_uids: planes_mm
            .iter()
            .map(|z| derived_uid(&format!("{description} {z}")))
            .collect(),
        files: Vec::new(),
        remarks: Vec::new(),
    };
    let mut case = Case {
        ct: Some(Arc::new(ct.clone())),
        ..Case::default()
    };
    case.patient.name = "Test^Series".to_owned();
    case.patient.id = "T1".to_owned();
    std::fs::create_dir_all(folder).expect("a folder");
    write_ct(folder, &ct, &Belonging::new(&case), &|_| true).expect("a series");
}

fn fresh(name: &str) -> std::path::PathBuf {
    let path = folder(name);
    std::fs::remove_dir_all(&path).expect("an empty folder");
    folder(name)
}

fn type_into(w: &mut Window, field: &str, text: &str) {
    w.get_by_label(field).focus();
    w.run_steps(2);
    w.get_by_label(field).type_text(text);
    w.run_steps(2);
}

#[test]
fn several_series_of_one_folder_are_listed_and_the_user_chooses() {
    let folder = fresh("two_series");
    series(
        &folder.join("a"),
        "Arterial",
        &[0.0, 5.0, 10.0, 15.0, 20.0],
        -1000.0,
    );
    series(&folder.join("b"), "Venous", &[0.0, 5.0, 10.0], 40.0);
    let mut w = window(Options {
        case: Some(folder.display().to_string()),
        ..Options::default()
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let displayed = |w: &Window| {
        w.state()
            .state
            .case()
            .ct
            .as_ref()
            .expect("a CT")
            .description
            .clone()
    };
    // Both are listed; the larger is displayed.
    assert_eq!(displayed(&w), "Arterial");
    for name in ["Arterial", "Venous"] {
        assert!(
            w.query_all_by_label(name).count() >= 1,
            "{name} in the tree"
        );
    }
    w.get_by_label("Venous").click();
    until(&mut w, "other series", |app| {
        app.is_settled()
            && app
                .state
                .case()
                .ct
                .as_ref()
                .is_some_and(|ct| ct.description == "Venous")
    });
    assert_eq!(
        w.state()
            .state
            .case()
            .ct
            .as_ref()
            .expect("a CT")
            .hu
            .grid()
            .size()[2],
        3
    );
    w.get_by_label("Arterial").click();
    until(&mut w, "first series again", |app| {
        app.state
            .case()
            .ct
            .as_ref()
            .is_some_and(|ct| ct.description == "Arterial")
    });
    assert_eq!(said(&w), "");
}

/// The phases of a 4D CT under one series UID are listed like series, and each can be opened.
#[test]
fn the_phases_of_a_series_are_listed_and_the_user_chooses() {
    let folder = fresh("two_phases");
    for (phase, planes) in [
        ("1", &[0.0, 5.0, 10.0, 15.0][..]),
        ("2", &[0.0, 5.0, 10.0, 15.0][..]),
    ] {
        let place = folder.join(phase);
        series(
            &place,
            "Thorax",
            planes,
            100.0 * phase.parse::<f32>().expect("a number"),
        );
        for file in std::fs::read_dir(&place).expect("a folder") {
            let path = file.expect("a file").path();
            let mut object = dicom_object::open_file(&path).expect("DICOM");
            let uid = derived_uid(&path.display().to_string());
            object.put_str(tags::TEMPORAL_POSITION_IDENTIFIER, VR::IS, phase);
            object.put_str(tags::SOP_INSTANCE_UID, VR::UI, uid.clone());
            object.update_meta(|meta| meta.media_storage_sop_instance_uid = uid);
            object.write_to_file(&path).expect("written");
        }
    }
    let mut w = window(Options {
        case: Some(folder.display().to_string()),
        ..Options::default()
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let hu = |w: &Window| w.state().state.case().ct.as_ref().expect("a CT").hu.data()[0];
    assert_eq!(hu(&w), 100.0);
    w.query_all_by_label_contains("temporal position 2")
        .next()
        .expect("the other phase")
        .click();
    until(&mut w, "other phase", |app| {
        app.is_settled()
            && app
                .state
                .case()
                .ct
                .as_ref()
                .is_some_and(|ct| ct.hu.data()[0] == 200.0)
    });
    assert!(
        w.query_all_by_label_contains("temporal position 1").count() >= 1,
        "the way back"
    );
    assert_eq!(said(&w), "");
}

#[test]
fn what_is_unusual_about_a_series_is_listed_with_its_files() {
    let folder = fresh("uneven_series");
    series(&folder, "Uneven", &[0.0, 5.0, 10.0, 20.0, 25.0], 0.0);
    let mut w = window(Options {
        case: Some(folder.display().to_string()),
        ..Options::default()
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    // Without a plan the series is selected: its panel is displayed at once.
    w.get_by_label("About this series");
    let remarks = w
        .state()
        .state
        .case()
        .ct
        .as_ref()
        .expect("a CT")
        .remarks
        .clone();
    assert!(!remarks.is_empty(), "uneven planes are remarked on");
    for remark in &remarks {
        assert!(
            w.query_all_by_label(&remark.message).count() >= 1,
            "'{}' on the screen",
            remark.message
        );
    }
    let uneven = remarks
        .iter()
        .find(|r| !r.files.is_empty())
        .expect("a remark that names files");
    let title = if uneven.files.len() == 1 {
        "1 file".to_owned()
    } else {
        format!("{} files", uneven.files.len())
    };
    w.get_all_by_label(&title)
        .next()
        .expect("the list of files")
        .click();
    w.run_steps(3);
    assert!(
        w.query_all_by_label(&uneven.files[0]).count() >= 1,
        "{} named",
        uneven.files[0]
    );
    assert!(
        w.query_by_label_contains("uneven, 5.000 to 10.000 mm")
            .is_some(),
        "the planes as they are"
    );
}

#[test]
fn a_session_saved_from_the_window_opens_as_it_was_left() {
    let folder = fresh("session");
    let mut w = window(small_case("session_case"));
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    until(&mut w, "volume", |app| {
        app.state.results.volume_cm3(2).is_some()
    });
    w.get_by_label("Lung").click();
    w.get_by_label("Show BODY").click();
    w.run_steps(2);
    w.get_by_label("AP").click();
    w.run_steps(3);
    w.get_by_role_and_label(Role::Slider, "Gantry").focus();
    w.run_steps(2);
    w.key_press(Key::ArrowRight);
    w.run_steps(3);
    w.get_by_label("Save").click();
    w.run_steps(3);
    type_into(
        &mut w,
        "File to save",
        &folder.join("mine").display().to_string(),
    );
    let engine = EngineChoice {
        uncertainty_percent: 0.7,
        seed: 5,
        ..EngineChoice::default()
    };
    w.state_mut().command(Command::Engine {
        plan: 0,
        choice: engine,
    });
    w.get_by_label("Save session").click();
    until(&mut w, "saved session", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    let path = folder.join("mine.json");
    assert!(path.is_file(), "with the ending it is opened by");

    let mut again = window(Options::default());
    again.run_steps(3);
    again.get_by_label("Open").click();
    again.run_steps(3);
    type_into(&mut again, "Path to open", &path.display().to_string());
    again.key_press(Key::Enter);
    until(&mut again, "session", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(said(&again), "");
    let (left, found) = (&w.state().state, &again.state().state);
    let points = |s: &State| -> Vec<DVec3> {
        let contours = s
            .case()
            .structures
            .structures
            .iter()
            .flat_map(|s| &s.contours);
        contours.flat_map(|c| c.points_mm.iter().copied()).collect()
    };
    let (was, is) = (points(left), points(found));
    assert!(
        was.len() > 200 && was.len() == is.len(),
        "{} points, {} found",
        was.len(),
        is.len()
    );
    assert!(
        was.iter().zip(&is).all(|(a, b)| a.distance(*b) < 1e-9),
        "the same contours"
    );
    assert_eq!(
        found.plan().expect("a plan").beams,
        left.plan().expect("a plan").beams
    );
    assert_eq!(
        found.plan().expect("a plan").beams[0].control_points[0].gantry_deg,
        1.0
    );
    assert_eq!(
        (found.window, found.crosshair_mm),
        (left.window, left.crosshair_mm)
    );
    assert_eq!(found.hidden, left.hidden);
    assert_eq!(found.results.engines, [(0, engine)].into());
    // The sphere can still be dragged.
    let sphere = found
        .case()
        .structures
        .structures
        .iter()
        .find(|s| s.number == 2)
        .expect("the sphere");
    assert!(matches!(
        found.shapes.shape_of(sphere),
        Some(Shape::Sphere {
            radius_mm: 20.0,
            ..
        })
    ));
}

#[test]
fn dialogs_answer_and_where_there_is_none_the_window_has_its_own() {
    let case = small_case("dialogs").case.expect("a case");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let out = fresh("dialogs_out").join("plan");
    let answer = out.clone();
    let mut w = window(Options::default());
    w.state_mut().set_dialog(Arc::new(move |ask| {
        log.lock().expect("a log").push(ask.action);
        match ask.action {
            FileAction::OpenFile => Picked::Path(case.clone().into()),
            FileAction::SavePlan => Picked::Path(answer.clone()),
            FileAction::SaveSession => Picked::Nothing,
            _ => Picked::NoDialog,
        }
    }));
    w.run_steps(2);
    w.get_by_label("Open").click();
    w.run_steps(3);
    w.get_by_label("File…").click();
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w.get_by_label("New plan").click();
    w.run_steps(3);
    w.get_by_label("Add beam").click();
    w.run_steps(3);
    w.get_by_label("Save").click();
    w.run_steps(3);
    w.get_by_label("Save plan").click();
    until(&mut w, "saved plan", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    assert!(out.with_extension("toml").is_file());
    w.get_all_by_label("Dismiss")
        .next()
        .expect("a button")
        .click();
    w.run_steps(3);
    w.get_by_label("Save").click();
    w.run_steps(3);
    w.get_by_label("Save session").click();
    w.run_steps(3);
    until(&mut w, "rest", App::is_settled);
    assert_eq!(said(&w), "", "a dialog that was closed says nothing");
    w.get_by_label("Open").click();
    w.run_steps(3);
    w.get_by_label("Folder…").click();
    w.run_steps(2);
    until(&mut w, "rest", App::is_settled);
    assert!(
        w.query_by_label("Open a folder in Beamsight").is_some(),
        "the window's own browser"
    );
    let asked = asked.lock().expect("a log").clone();
    assert_eq!(
        asked,
        [
            FileAction::OpenFile,
            FileAction::SavePlan,
            FileAction::SaveSession,
            FileAction::OpenFolder
        ]
    );
}

#[test]
fn bad_input_is_a_notice_that_names_the_file_and_what_was_loaded_stays() {
    let mut w = window(small_case("bad_files"));
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    let source = w.state().state.case().source.clone();
    let photos = fresh("photos");
    std::fs::write(
        photos.join("holiday.jpg"),
        [0xff, 0xd8, 0xff, 0xe0, 1, 2, 3],
    )
    .expect("a photo");
    let truncated = fresh("truncated");
    series(&truncated, "Cut", &[0.0, 5.0, 10.0], 0.0);
    for file in std::fs::read_dir(&truncated).expect("files").flatten() {
        let bytes = std::fs::read(file.path()).expect("a file");
        std::fs::write(file.path(), &bytes[..bytes.len() / 3]).expect("a cut file");
    }
    let mixed = fresh("mixed");
    series(&mixed.join("a"), "One", &[0.0, 5.0], 0.0);
    let other = mixed.join("b");
    series(&other, "Two", &[0.0, 5.0], 0.0);
    // The second series gets another patient ID of equal length, so that the file stays valid.
    for file in std::fs::read_dir(&other).expect("files").flatten() {
        let mut bytes = std::fs::read(file.path()).expect("a file");
        let id: Vec<usize> = bytes
            .windows(2)
            .enumerate()
            .filter(|(_, w)| w == b"T1")
            .map(|(n, _)| n)
            .collect();
        id.into_iter().for_each(|n| bytes[n + 1] = b'2');
        std::fs::write(file.path(), bytes).expect("a file");
    }
    let session = fresh("broken_session").join("broken.json");
    std::fs::write(&session, "{").expect("a file");
    for (word, says) in [
        (photos, "photos"),
        (truncated, "truncated"),
        (session, "broken.json"),
        ("no-such.mha".into(), "no-such.mha"),
    ] {
        w.state_mut().open(&word.display().to_string());
        until(&mut w, says, |app| {
            app.state.notices.iter().any(|n| n.text.contains(says))
        });
        let state = &w.state().state;
        assert_eq!(state.case().source, source, "{says}: what was loaded stays");
        assert!(
            state.results.shown_dose().is_some(),
            "{says}: with its dose"
        );
        w.get_all_by_label("Dismiss")
            .next()
            .expect("a button")
            .click();
        w.run_steps(3);
        assert_eq!(said(&w), "", "{says}: dismissed");
    }
    // Whose objects a folder of two patients is opened for is a question.
    w.state_mut().open(&mixed.display().to_string());
    until(&mut w, "question", |app| app.state.patients.is_some());
    w.get_by_label("Open nothing").click();
    w.run_steps(3);
    let state = &w.state().state;
    assert!(
        state.patients.is_none()
            && state.case().source == source
            && state.results.shown_dose().is_some()
    );
    // Saving to a write-protected place.
    w.get_by_label("Save").click();
    w.run_steps(3);
    type_into(&mut w, "File to save", "/no/such/folder/plan.toml");
    w.get_by_label("Save plan").click();
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("/no/such/folder"))
    });
}

#[test]
fn a_plan_beside_its_ct_is_not_computed_and_says_why() {
    let mut options = small_case("beside");
    let plan = options.plan.take().expect("a plan");
    let text = std::fs::read_to_string(&plan).expect("its text");
    let beside = plan.with_file_name("beside.toml");
    std::fs::write(
        &beside,
        text.replace(
            "isocentre_mm = [0.0, 0.0, 0.0]",
            "isocentre_mm = [0.0, 0.0, 900.0]",
        ),
    )
    .expect("a plan");
    options.plan = Some(beside);
    let mut w = window(options);
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert!(w.state().state.results.shown_dose().is_none());
    assert!(
        w.query_all_by_label_contains("lies outside the CT").count() >= 1,
        "the inspector says why"
    );
}
