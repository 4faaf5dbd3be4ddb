//! Names of patient, plan and day, and folders, with which file dialogs begin.

use crate::harness::{Window, folder, said, small_case, until, window};
use crate::synthetic::{Folder, fixed, plan, set, slice};
use beamsight::app::command::Command;
use beamsight::app::state::files::FileAction;
use beamsight::app::state::proposal::Ask;
use beamsight::app::{Options, Picked};
use beamsight::files::Layout;
use dicom_core::VR;
use dicom_dictionary_std::tags;
use eframe::App as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The questions of a window's dialogs, and the answer to the next.
#[derive(Clone, Default)]
struct Dialogs(Arc<Mutex<(Vec<Ask>, Option<PathBuf>)>>);

impl Dialogs {
    fn new(w: &mut Window) -> Self {
        let own = Self::default();
        let dialogs = own.clone();
        w.state_mut().set_dialog(Arc::new(move |ask| {
            let mut own = dialogs.0.lock().expect("the dialogs");
            own.0.push(ask.clone());
            own.1.take().map_or(Picked::Nothing, Picked::Path)
        }));
        own
    }

    /// The window's question for an action, which is answered by a path, or cancelled.
    fn asked(&self, w: &mut Window, action: FileAction, answer: Option<PathBuf>) -> Ask {
        let before = self.0.lock().expect("the dialogs").0.len();
        self.0.lock().expect("the dialogs").1 = answer;
        w.state_mut().command(Command::Pick(action));
        until(w, "dialog", |_| {
            self.0.lock().expect("the dialogs").0.len() > before
        });
        self.0.lock().expect("the dialogs").0[before].clone()
    }
}

fn study(name: &str) -> Folder {
    let study = Folder::new(name);
    for n in 1..=3 {
        let mut slice = slice(n, 3.0 * f64::from(n), 0);
        set(&mut slice, tags::PATIENT_NAME, VR::PN, "O/Neill^Jane");
        study.put(&format!("ct{n}.dcm"), &slice);
    }
    let mut plan = plan(vec![fixed("3", &[])]);
    set(&mut plan, tags::PATIENT_NAME, VR::PN, "O/Neill^Jane");
    study.put("rp.dcm", &plan);
    study
}

#[test]
fn a_file_is_named_by_patient_plan_and_day_and_its_kind_keeps_its_folder() {
    let study = study("ui-proposals");
    let state = folder("ui-proposals-state");
    let _ = std::fs::remove_dir_all(&state);
    let options = || Options {
        case: Some(study.0.display().to_string()),
        state_folder: Some(state.clone()),
        ..Options::default()
    };
    let is_outside = |ask: &Ask| {
        let folder = ask
            .folder
            .as_ref()
            .expect("a folder")
            .canonicalize()
            .expect("its path");
        folder.is_dir() && !folder.starts_with(study.0.canonicalize().expect("a path"))
    };
    let is_day = |day: &str| day.len() == 10 && day.split('-').map(str::len).eq([4, 2, 2]);
    let mut w = window(options());
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let dialogs = Dialogs::new(&mut w);
    for (action, ending) in [
        (FileAction::SavePlan, ".toml"),
        (FileAction::SaveSession, ".json"),
        (FileAction::SavePlanReport, ".pdf"),
        (FileAction::SaveDvhs, "_dvh.csv"),
        (FileAction::Export, ""),
    ] {
        let ask = dialogs.asked(&mut w, action, None);
        let name = ask.name.clone().expect("a name");
        let day = name
            .strip_prefix("O-Neill-Jane_PLAN_")
            .and_then(|rest| rest.strip_suffix(ending));
        assert!(day.is_some_and(is_day), "{name}");
        assert!(is_outside(&ask), "{ask:?}");
    }
    // What is not of one patient is not named by one.
    assert_eq!(
        dialogs
            .asked(&mut w, FileAction::SaveGoals, None)
            .name
            .as_deref(),
        Some("goals.toml")
    );
    assert_eq!(dialogs.asked(&mut w, FileAction::OpenFile, None).name, None);
    w.state_mut().state.export.anonymous = true;
    let name = dialogs
        .asked(&mut w, FileAction::Export, None)
        .name
        .expect("a name");
    assert!(
        name.strip_prefix("anonymous_").is_some_and(is_day),
        "{name}"
    );

    let plans = folder("ui-proposals-plans");
    let path = plans.join("plan.toml");
    let _ = std::fs::remove_file(&path);
    dialogs.asked(&mut w, FileAction::SavePlan, Some(path));
    until(&mut w, "file", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    assert_eq!(
        dialogs.asked(&mut w, FileAction::SavePlan, None).folder,
        Some(plans.clone())
    );
    assert_ne!(
        dialogs.asked(&mut w, FileAction::SaveSession, None).folder,
        Some(plans.clone())
    );
    w.state_mut().on_exit();
    drop(w);

    let mut w = window(options());
    until(&mut w, "case", |app| app.state.is_loaded());
    let dialogs = Dialogs::new(&mut w);
    assert_eq!(
        dialogs.asked(&mut w, FileAction::SavePlan, None).folder,
        Some(plans),
        "in the next run"
    );
    w.state_mut().on_exit();
    drop(w);

    // The last folder is that of the images by now.
    let mut layout = Layout::load(&state);
    layout.note_folder(FileAction::SavePlan.kind(), &study.0);
    layout.save(&state).expect("saved");
    let mut w = window(options());
    until(&mut w, "case", |app| app.state.is_loaded());
    let dialogs = Dialogs::new(&mut w);
    let ask = dialogs.asked(&mut w, FileAction::SavePlan, None);
    assert!(is_outside(&ask), "{ask:?}");
}

/// Work under way is named by what it does, not by a path.
#[test]
fn jobs_are_named_by_what_they_do() {
    let mut w = window(small_case("proposals_jobs"));
    until(&mut w, "dose", |app| app.is_settled());
    let path = folder("proposals_jobs_out").join("1795665.json");
    let _ = std::fs::remove_file(&path);
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "session", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    w.state_mut().open(&path.display().to_string());
    let opened = |app: &beamsight::app::App| app.state.origin.as_ref().map(|origin| origin.number);
    until(&mut w, "case", |app| opened(app) == Some(2));
    let names: Vec<String> = w
        .state()
        .state
        .jobs
        .finished
        .iter()
        .map(|job| job.name.to_string())
        .collect();
    for name in [
        "Opening cube.mha",
        "Dose of beam AP, final",
        "Saving the session as 1795665.json",
        "Opening 1795665.json (session)",
    ] {
        assert!(names.iter().any(|own| own == name), "{name}: {names:?}");
    }
    let is_of_path = |name: &String| name.contains(&Path::new("/").display().to_string());
    assert!(!names.iter().any(is_of_path), "{names:?}; {}", said(&w));
}
