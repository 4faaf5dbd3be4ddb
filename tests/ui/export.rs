//! The export of the case on show.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::command::Command;
use beamsight::app::feature::plan::command::PlanAction;
use egui_kittest::kittest::Queryable as _;
use std::fs;
use std::path::Path;

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).click();
    w.run_steps(3);
}

fn export_to(w: &mut Window, path: &Path) {
    press(w, "Save");
    w.get_by_label("File to save")
        .type_text(&path.display().to_string());
    w.run_steps(2);
    press(w, "Export…");
}

#[test]
fn a_case_is_exported_from_the_save_menu() {
    let mut w = window(small_case("export_case"));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let base = folder("export_out");
    fs::remove_dir_all(&base).expect("an empty folder");
    let out = folder("export_out").join("set");
    export_to(&mut w, &out);
    until(&mut w, "export", |app| app.is_settled() && out.is_dir());
    assert!(
        said(&w).contains("Exported") && said(&w).contains("files to"),
        "{}",
        said(&w)
    );
    let has = |name: &str| out.join(name).is_file();
    // The window has found the body.
    for name in ["CT0001.dcm", "RS.dcm", "RP.dcm", "RD.dcm", "RD-beam-1.dcm"] {
        assert!(has(name), "{name}");
    }

    // Without the dose of the plan, over the earlier one: asked first.
    press(&mut w, "Save");
    press(&mut w, "Dose of each plan");
    press(&mut w, "Anonymise");
    assert!(!w.state().state.export.dose_of_plan && w.state().state.export.anonymous);
    w.get_by_label("File to save").focus();
    w.run_steps(2);
    press(&mut w, "Export…");
    until(&mut w, "question", |app| !app.state.replacing.is_empty());
    press(&mut w, "Replace");
    until(&mut w, "second export", |app| {
        app.is_settled() && !has("RD.dcm")
    });
    assert!(has("RD-beam-1.dcm"), "{}", said(&w));
    let bytes = fs::read(out.join("RS.dcm")).expect("structures");
    assert!(bytes.windows(5).any(|window| window == b"ANON-"));

    // A folder with other files is not asked about: nothing of it is touched.
    fs::write(out.join("mine.txt"), "mine").expect("a file");
    press(&mut w, "Save");
    press(&mut w, "Export…");
    until(&mut w, "refusal", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("mine.txt"))
    });
    assert!(out.join("mine.txt").is_file() && w.state().state.replacing.is_empty());
}

#[test]
fn plans_that_leave_are_chosen_and_a_choice_follows_its_plan() {
    let mut w = window(small_case("export_plans"));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    for _ in 0..2 {
        w.state_mut().command(Command::Plans(PlanAction::Copy(0)));
        w.run_steps(2);
    }
    until(&mut w, "dose", |app| app.is_settled());
    press(&mut w, "Save");
    press(&mut w, "Export plan Test copy");
    press(&mut w, "Dose of each beam");
    press(&mut w, "Dose of each plan");
    assert_eq!(
        w.state()
            .state
            .export
            .plans_left_out
            .iter()
            .copied()
            .collect::<Vec<_>>(),
        [1]
    );
    w.get_by_label("Beam's eye").click();
    w.run_steps(3);
    // A plan before it goes: the choice is of the plan, not of its place.
    w.state_mut().command(Command::Plans(PlanAction::Remove(0)));
    w.run_steps(2);
    assert_eq!(
        w.state()
            .state
            .export
            .plans_left_out
            .iter()
            .copied()
            .collect::<Vec<_>>(),
        [0]
    );
    let base = folder("export_plans_out");
    fs::remove_dir_all(&base).expect("an empty folder");
    let out = folder("export_plans_out").join("set");
    export_to(&mut w, &out);
    until(&mut w, "export", |app| app.is_settled() && out.is_dir());
    let plans: Vec<String> = fs::read_dir(&out)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.starts_with("RP"))
        .collect();
    assert_eq!(plans.len(), 1, "{plans:?}");
    let bytes = fs::read(out.join(&plans[0])).expect("a plan");
    assert!(
        bytes.windows(11).any(|window| window == b"Test copy 2"),
        "the plan that stays in the choice"
    );
}
