//! A physicist's day, as the guide tells it: a plan from elsewhere is imported, checked, compared by gamma and reported, a CT is
//! registered with two X-rays, and a machine is fitted to measured data, by mouse and keys alone.
//!
//! The picture of each step lies in the folder of the tests' files.

use crate::cross::CROSS;
use crate::harness::{Window, click, fill_in, folder, said, until, window};
use crate::machine_fit::{SETTINGS, measured};
use crate::register::{body, pose};
use crate::registration::read_registration;
use crate::second_check::export_all;
use beamsight::analysis::Side;
use beamsight::app::feature::commission::state::TankFile;
use beamsight::app::feature::register::state::Search;
use beamsight::app::state::files::FileAction;
use beamsight::app::state::results::Standing;
use beamsight::app::{App, Options, Picked};
use beamsight::case::DoseStatus;
use beamsight::files::mha;
use beamsight::physics::{Machine, Parameter};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::Node;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// CT, plan and doses of its beams and of all on the phantom of the registration, as another system might have sent them.
fn from_elsewhere(base: &Path) -> PathBuf {
    let [image, plan] = ["body.mha", "plan.toml"].map(|name| base.join(name));
    mha::write(&image, &body()).expect("an image");
    // Fields that are as wide as the phantom's target.
    let text = CROSS.replace("Cross", "Elsewhere").replace("20.0", "25.0");
    fs::write(&plan, text).expect("a plan");
    export_all([image, plan], base.join("from-elsewhere"))
}

/// Selects a row of the tree: views write names of beams and plans, too.
fn select(w: &mut Window, row: &str) {
    w.get_by_role_and_label(Role::Button, row).click();
    w.run_steps(4);
}

/// Types a path into a field that stands beside its button.
fn write_to(w: &mut Window, field: &str, path: &Path, button: &str) {
    fill_in(w, field, path.to_str().expect("UTF-8"));
    click(w, button);
    until(w, "file", |app| path.exists() && app.is_settled());
}

fn picture(w: &mut Window, step: &str) {
    w.run_steps(4);
    let path = folder("day_physicist").join(format!("{step}.png"));
    w.render().expect("a picture").save(path).expect("saved");
}

fn import(w: &mut Window, folder: &Path) {
    click(w, "Open");
    fill_in(w, "Path to open", folder.to_str().expect("UTF-8"));
    until(w, "case", |app| app.state.is_loaded() && app.is_settled());
    let case = w.state().state.case();
    assert_eq!(
        (
            case.plans.len(),
            case.plans[0].beams.len(),
            case.doses.len()
        ),
        (1, 2, 3)
    );
    assert!(
        case.doses
            .iter()
            .all(|dose| dose.status == DoseStatus::Imported)
    );
    picture(w, "1-import");
}

fn check(w: &mut Window, report: &Path) {
    click(w, "Open");
    click(w, "Second check…");
    until(w, "machines", |app| app.state.check_to_ask().is_ok());
    click(w, "Run the check");
    until(w, "answer", |app| app.state.second_check.running.is_none());
    assert!(
        w.query_by_label("Within tolerance").is_some(),
        "{}",
        said(w)
    );
    picture(w, "2-check");
    click(w, "Save report as PDF…");
    until(w, "report", |app| report.exists() && app.is_settled());
    assert!(fs::read(report).expect("a report").starts_with(b"%PDF-"));
    click(w, "Close window");
}

/// The dose that came with the plan against the one that is computed here, then against one of a tenth more monitor units.
fn gamma(w: &mut Window, report: &Path) {
    click(w, "Compare");
    let sources = w.state().state.results.sources(w.state().state.case(), 0);
    let imported = sources
        .iter()
        .find(|(.., status)| *status == Some(DoseStatus::Imported))
        .expect("a dose");
    let (label, computed) = (imported.1.clone(), "Plan Elsewhere".to_owned());
    for (side, label) in [("Dose A", label), ("Dose B", computed)] {
        click(w, side);
        let entry = format!("{label}  (");
        w.get_all_by_label_contains(&entry)
            .last()
            .expect("an entry")
            .click();
        w.run_steps(4);
    }
    let passes = |app: &App| {
        let (result, _, standing) = app.state.results.gamma()?;
        (standing == Standing::Current).then(|| result.maps[0].counts.pass_rate_percent())
    };
    until(w, "gamma", |app| app.is_settled() && passes(app).is_some());
    let same = passes(w.state()).expect("a rate");
    assert!(same > 99.5, "{same}: {}", said(w));
    write_to(w, "Path of the report", report, "Write report");
    let figures: Value =
        serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    let said = &figures["gamma"]["criteria"][0]["pass_rate_percent"];
    assert_eq!(said.as_f64(), Some(same), "{figures}");
    picture(w, "3-gamma");
    // Ten percent more monitor units are not within 3 %/2 mm.
    click(w, "Plan");
    for (beam, mu) in [("AP", "110"), ("Left", "88")] {
        select(w, beam);
        let field = |w: &mut Window, act: fn(&Node<'_>, &str)| {
            act(
                &w.get_by_role_and_label(Role::SpinButton, "Monitor units"),
                mu,
            );
            w.run_steps(2);
        };
        field(w, |field, _| field.focus());
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        field(w, |field, mu| field.type_text(mu));
        w.key_press(Key::Enter);
        w.run_steps(3);
    }
    click(w, "Compare");
    let times = |app: &App| {
        let max_gy = |side| app.state.results.side_max_gy(side);
        Some(max_gy(Side::B)? / max_gy(Side::A)?)
    };
    until(w, "gamma of more", |app| {
        app.is_settled() && passes(app).is_some() && times(app).is_some_and(|times| times > 1.05)
    });
    let (rate, times) = (
        passes(w.state()).expect("a rate"),
        times(w.state()).expect("maxima"),
    );
    assert!((times - 1.1).abs() < 0.01 && rate < 90.0, "{times} {rate}");
    click(w, "Plan");
    (0..2).for_each(|_| click(w, "Undo"));
    until(w, "the plan as it came", App::is_settled);
}

fn register(w: &mut Window, out: &Path) {
    click(w, "Register");
    click(w, "Make up a pair to try it");
    until(w, "pair", |app| {
        app.state.register.images().len() == 2 && app.state.metric_value().is_some()
    });
    click(w, "Find pose");
    until(w, "end of the search", |app| {
        matches!(app.state.register.search(), Search::Ended(_))
    });
    picture(w, "4-register");
    click(w, "Accept");
    let hidden = w.state().state.register.hidden().expect("a made-up pair");
    let off_mm = (pose(w.state()).translation_mm - hidden.translation_mm).length();
    assert!(off_mm < 0.5, "{off_mm}");
    write_to(w, "Path of the registration", out, "Save registration");
    let centre_mm = w.state().state.register.centre_mm(w.state().state.case());
    let (read, here) = (read_registration(out), pose(w.state()));
    let at = centre_mm + glam::DVec3::new(40.0, -30.0, 20.0);
    let by = read.matrix.transform_point3(at) - here.apply(at, centre_mm);
    assert!(by.length() < 1e-3, "{by}");
}

/// The machine that the data are of has another spectrum and a larger focus than the one to start from.
fn commission(w: &mut Window, machine: &Path, points: &Path) {
    click(w, "Plan");
    click(w, "Open");
    click(w, "Machine…");
    let fit = &mut w.state_mut().state.machine_fit;
    // As coarse as the data are; fewer numbers take fewer doses.
    fit.chosen.settings = SETTINGS;
    let fitted = [Parameter::SpectrumSlope, Parameter::FocalX];
    fit.chosen.fixed = Parameter::ALL
        .into_iter()
        .filter(|p| !fitted.contains(p))
        .collect();
    for (button, count) in [("Add depth doses", 1), ("Add profiles", 1)] {
        click(w, button);
        until(w, "file", |app| {
            let files = &app.state.machine_fit.chosen.files;
            let list = if button == "Add profiles" {
                &files.profiles
            } else {
                &files.pdd
            };
            list.len() == count
        });
    }
    click(w, "Fit the machine");
    until(w, "fit", |app| {
        let fit = &app.state.machine_fit;
        fit.running.is_none() && fit.answer.is_some()
    });
    picture(w, "5-machine");
    click(w, "Save machine…");
    until(w, "machine", |app| machine.exists() && app.is_settled());
    let read = Machine::resolve(machine.to_str().expect("UTF-8")).expect("a machine");
    assert!(
        (read.focal_sigma_mm[0] - 1.8).abs() < 0.3,
        "{:?}",
        read.focal_sigma_mm
    );
    click(w, "Report of the comparison");
    until(w, "points", |app| points.exists() && app.is_settled());
    click(w, "Close window");
}

fn report(w: &mut Window, out: &Path) {
    click(w, "Plan");
    select(w, "Elsewhere");
    until(w, "dose", |app| {
        app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
    });
    click(w, "Report…");
    until(w, "report", |app| out.exists() && app.is_settled());
    assert!(fs::read(out).expect("a report").starts_with(b"%PDF-"));
    picture(w, "6-report");
}

#[test]
fn from_an_import_to_a_report() {
    let base = folder("day_physicist");
    let _ = fs::remove_dir_all(&base);
    let base = folder("day_physicist");
    let came = from_elsewhere(&base);
    let [pdd, profile] = measured(&base);
    let written = [
        "check.pdf",
        "gamma.json",
        "reg.dcm",
        "my.toml",
        "points.csv",
        "plan.pdf",
    ];
    let [check_pdf, gamma_json, reg, machine, points, plan_pdf] =
        written.map(|name| base.join(name));
    let mut w = window(Options {
        state_folder: Some(base.join("state")),
        ..Options::default()
    });
    w.set_size(vec2(1600.0, 1000.0));
    w.run_steps(4);
    let picks = [&check_pdf, &machine, &points, &plan_pdf].map(PathBuf::clone);
    w.state_mut().set_dialog(Arc::new(move |ask| {
        let [check_pdf, machine, points, plan_pdf] = &picks;
        let path = match ask.action {
            FileAction::OpenTank(TankFile::Pdd) => &pdd,
            FileAction::OpenTank(TankFile::Profiles) => &profile,
            FileAction::SaveCheckReport => check_pdf,
            FileAction::SaveMachine => machine,
            FileAction::SaveMachineReport => points,
            FileAction::SavePlanReport => plan_pdf,
            _ => return Picked::Nothing,
        };
        Picked::Path(path.clone())
    }));
    import(&mut w, &came);
    check(&mut w, &check_pdf);
    gamma(&mut w, &gamma_json);
    register(&mut w, &reg);
    commission(&mut w, &machine, &points);
    report(&mut w, &plan_pdf);
}
