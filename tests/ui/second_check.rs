//! The second check: three clicks to a verdict, what makes it stale, and its report.

use crate::cross::write_cross;
use crate::harness::{Window, folder, said, until, window};
use beamsight::app::command::Command;
use beamsight::app::feature::check::state::{CheckAction, CheckDraft, CheckGoals};
use beamsight::app::{App, Options, Picked};
use beamsight::case::{Case, DoseEngine, Edit};
use beamsight::dicom::{DoseBits, ExportOptions, ExportPart};
use beamsight::engine::JobControl;
use beamsight::files::plan_toml;
use beamsight::open::{OpenOptions, open};
use beamsight::results::{DosesToExport, ExportHow, Settings, export_case};
use egui_kittest::kittest::Queryable as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A plan on a cube of water, exported with its doses: CT, plan and doses as they come from elsewhere. Made once.
fn exported() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let base = folder("second-check");
        export_all(write_cross(&base, 24, 22.0), base.join("out"))
    })
}

/// Exports image and plan with the doses of its beams and of all: CT, plan and doses in a folder of their own.
pub fn export_all([image, plan]: [PathBuf; 2], out: PathBuf) -> PathBuf {
    let word = image.display().to_string().parse().expect("a word");
    let mut case: Case = open(&word, OpenOptions::default(), &|_| true).expect("a case");
    case.plans = vec![Arc::new(
        plan_toml::read(&plan, Default::default()).expect("a plan"),
    )];
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("a folder");
    let parts = vec![ExportPart::Ct, ExportPart::Plan, ExportPart::Dose];
    let options = ExportOptions {
        parts,
        bits: DoseBits::ThirtyTwo,
        anonymise: None,
        imaging: None,
    };
    let settings = Settings::default();
    let how = ExportHow {
        doses: DosesToExport::Both,
        settings: &settings,
        engines: &[],
        xrays: None,
    };
    export_case(&out, &case, &options, how, &JobControl::new(), &|_| {}).expect("an export");
    out
}

/// A window with the exported plan, and an empty folder of what it remembers.
fn opened(name: &str) -> (Window, PathBuf) {
    let state_folder = folder(&format!("second-check-{name}"));
    let _ = fs::remove_dir_all(&state_folder);
    let case = Some(exported().display().to_string());
    let mut w = window(Options {
        case,
        state_folder: Some(state_folder.clone()),
        ..Options::default()
    });
    until(&mut w, "case", |app| app.state.is_loaded());
    (w, state_folder)
}

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).click();
    w.run_steps(3);
}

/// Opens the box, which looks up the machines of the plan.
fn open_box(w: &mut Window) {
    press(w, "Open");
    press(w, "Second check…");
    until(w, "machines", |app| app.state.check_to_ask().is_ok());
}

fn run(w: &mut Window) {
    press(w, "Run the check");
    until(w, "answer", |app| app.state.second_check.running.is_none());
}

fn draft(w: &mut Window, how: impl FnOnce(&mut CheckDraft)) {
    let mut draft = w.state().state.second_check.draft.clone();
    how(&mut draft);
    w.state_mut()
        .command(Command::SecondCheck(CheckAction::Draft(draft)));
    until(w, "machines", |app| app.state.check_to_ask().is_ok());
}

/// Texts on show that contain these words.
fn shown(w: &Window, text: &str) -> usize {
    w.query_all_by_label_contains(text).count()
}

fn change_beam(app: &mut App, how: impl FnOnce(&mut beamsight::case::Beam)) {
    let mut value = app.state.plan().expect("a plan").beams[0].clone();
    how(&mut value);
    app.command(Command::Edit {
        edit: Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        }
        .into(),
        gesture: None,
    });
}

#[test]
fn three_clicks_give_a_verdict_that_goes_stale_with_what_it_is_of() {
    let (mut w, _) = opened("verdict");
    open_box(&mut w);
    assert!(w.query_by_label("Answer").is_none());
    run(&mut w);
    let answer = w
        .state()
        .state
        .second_check
        .answer
        .as_ref()
        .expect("an answer");
    assert_eq!(
        answer.check.judgement.reasons,
        Vec::<String>::new(),
        "{}",
        said(&w)
    );
    assert_eq!(answer.check.beams.len(), 2);
    let gamma = answer.check.beams[0]
        .agreement
        .as_ref()
        .and_then(|a| a.gamma)
        .expect("gamma of a beam");
    assert!(
        gamma.points > 500 && gamma.points == gamma.passing && gamma.outside == 0,
        "{gamma:?}"
    );
    assert_eq!((shown(&w, "Within tolerance"), shown(&w, "STALE")), (1, 0));
    assert!(shown(&w, "beam 'Left'") >= 1 && shown(&w, "model generic-6mv (generic)") == 1);

    // The report is that of the verb.
    let pdf = folder("second-check-verdict-report").join("check.pdf");
    let _ = fs::remove_file(&pdf);
    let chosen = pdf.clone();
    w.state_mut()
        .set_dialog(Arc::new(move |_| Picked::Path(chosen.clone())));
    press(&mut w, "Save report as PDF…");
    until(&mut w, "report", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    assert!(fs::read(&pdf).expect("a report").starts_with(b"%PDF-1."));

    // A changed plan has no dose of its file; undone it is the plan that was checked.
    change_beam(w.state_mut(), |beam| beam.mu *= 1.1);
    w.run_steps(3);
    assert_eq!(shown(&w, "STALE"), 1);
    assert!(shown(&w, "has been changed here") >= 1);
    assert!(w.state().state.check_to_ask().is_err());
    w.state_mut().command(Command::Undo);
    w.run_steps(3);
    assert_eq!(shown(&w, "STALE"), 0);
    // Which model a beam has elsewhere in the window is nothing of the file.
    change_beam(w.state_mut(), |beam| {
        beam.machine = Some("generic-6mv-hd120".to_owned())
    });
    w.run_steps(3);
    assert_eq!(shown(&w, "STALE"), 0);

    w.state_mut().command(Command::Undo);
    type Change = fn(&mut CheckDraft);
    let changes: [(Change, &str); 3] = [
        (|draft| draft.gamma = [2.0, 2.0], "the criterion of gamma"),
        (
            |draft| draft.engine = DoseEngine::MonteCarloConvolution,
            "the engine",
        ),
        (|draft| draft.goals = CheckGoals::None, "the goals"),
    ];
    for (how, says) in changes {
        let before = w.state().state.second_check.draft.clone();
        draft(&mut w, how);
        w.run_steps(3);
        assert_eq!(shown(&w, &format!("Changed since: {says}.")), 1, "{says}");
        draft(&mut w, |draft| *draft = before);
        w.run_steps(3);
        assert_eq!(shown(&w, "STALE"), 0, "{says}");
    }

    // With another case it goes.
    w.state_mut().open("demo:water");
    until(&mut w, "demo", |app| {
        app.state.case().source == "demo:water"
    });
    assert!(w.state().state.second_check.answer.is_none());
    assert_eq!(
        (
            shown(&w, "Within tolerance"),
            shown(&w, "is of no file of DICOM")
        ),
        (0, 1)
    );
}

/// The treatment machine's output is another: what is computed here differs by as much, and the model is remembered.
#[test]
fn a_machine_of_another_output_is_not_within_tolerance() {
    let (mut w, state_folder) = opened("machine");
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/machines/generic-6mv.toml"),
    );
    let text = text.expect("a machine");
    assert!(text.contains("gy_per_mu = 0.01"));
    let model = folder("second-check-model").join("strong-6mv.toml");
    fs::write(
        &model,
        text.replace("gy_per_mu = 0.01", "gy_per_mu = 0.011"),
    )
    .expect("a model");
    open_box(&mut w);
    let models = w
        .state()
        .state
        .second_check
        .models
        .clone()
        .expect("models")
        .expect("models");
    let (machine, quality) = (models[0].machine.clone(), models[0].quality.clone());
    let chosen = model.clone();
    w.state_mut()
        .set_dialog(Arc::new(move |_| Picked::Path(chosen.clone())));
    w.state_mut()
        .command(Command::SecondCheck(CheckAction::PickFile(
            machine.clone(),
            quality.clone(),
        )));
    until(&mut w, "model", |app| {
        app.state
            .check_to_ask()
            .is_ok_and(|ask| ask.models[0].model.ends_with("strong-6mv.toml"))
    });
    run(&mut w);
    assert_eq!(shown(&w, "NOT within tolerance"), 1, "{}", said(&w));
    assert!(shown(&w, "differs by +10.0 %") >= 2);
    if !machine.is_empty() {
        let kept =
            fs::read_to_string(state_folder.join("machines.toml")).expect("remembered machines");
        assert!(
            kept.contains(&machine) && kept.contains("strong-6mv.toml"),
            "{kept}"
        );
    }

    // Another energy is another machine: not judged, and never passed.
    draft(&mut w, |draft| {
        draft.picked.choose(&machine, &quality, "generic-10mv")
    });
    run(&mut w);
    assert_eq!(
        (
            shown(&w, "Could not be judged"),
            shown(&w, "ithin tolerance")
        ),
        (1, 0)
    );
    assert!(shown(&w, "Beam 'AP' is not judged: the plan asks for 6 MV") == 1);
    assert!(w.query_all_by_label("not judged").count() >= 2);
}

#[test]
fn a_check_is_cancelled() {
    let (mut w, _) = opened("cancel");
    open_box(&mut w);
    draft(&mut w, |draft| {
        draft.engine = DoseEngine::MonteCarloConvolution
    });
    press(&mut w, "Run the check");
    assert!(w.query_by_label("Run the check").is_none());
    let is_live = |app: &App| {
        app.state
            .jobs
            .live
            .iter()
            .any(|job| job.slot == beamsight::app::state::slot::Slot::SecondCheck)
    };
    until(&mut w, "start", is_live);
    press(&mut w, "Cancel the check");
    until(&mut w, "end", |app| {
        app.state.second_check.running.is_none() && !is_live(app)
    });
    assert!(w.state().state.second_check.answer.is_none());
    assert!(w.query_by_label("Run the check").is_some() && w.query_by_label("Answer").is_none());
    assert!(
        said(&w).contains("There is no result. Press 'Check' to go on."),
        "{}",
        said(&w)
    );
}
