//! Dose follows the gantry, and shows its status.

use crate::harness::{cube_case, folder, said, small_case, until, window};
use beamsight::analysis::BodyChoice;
use beamsight::app::command::Command;
use beamsight::app::{App, Picked};
use beamsight::case::DoseStatus;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable as _;
use std::collections::HashSet;
use std::sync::Arc;

fn gantry(app: &App) -> f64 {
    app.state.plan().expect("a plan").beams[0].control_points[0].gantry_deg
}

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

/// Each frame has another angle, and the computation of one lasts several frames: what is shown meanwhile still follows.
#[test]
fn dose_and_dvh_follow_a_drag_that_never_rests() {
    let mut w = window(cube_case("drag", 72));
    until(&mut w, "final dose", is_final);
    let dial = w.get_by_role_and_label(Role::Slider, "Gantry").rect();
    let at = |degrees: f32| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        dial.center() + 0.3 * dial.width() * vec2(sin, -cos)
    };
    w.hover_at(at(0.0));
    w.run_steps(1);
    w.drag_at(at(0.0));
    w.run_steps(1);
    let (mut doses, mut dvhs, mut degrees) = (HashSet::new(), Vec::new(), 0.0);
    let second_layouts =
        |w: &crate::harness::Window| w.ctx.cumulative_pass_nr() - w.ctx.cumulative_frame_nr();
    let second_layouts_before = second_layouts(&w);
    while degrees < 24.0 || doses.len() < 6 || dvhs.len() < 6 {
        assert!(
            degrees < 20_000.0,
            "{} doses, {} DVHs",
            doses.len(),
            dvhs.len()
        );
        degrees += 1.0;
        w.hover_at(at(degrees));
        w.step();
        let behind = (gantry(w.state()) - f64::from(degrees) + 180.0).rem_euclid(360.0) - 180.0;
        assert!(
            behind.abs() < 1.0,
            "the dial waits: {behind} degrees behind at {degrees}"
        );
        let results = &w.state().state.results;
        doses.extend(results.shown_dose().map(|dose| dose.gy.id()));
        let dvh = results.dvh(1).cloned();
        dvhs.extend(dvh.filter(|dvh| dvhs.last().is_none_or(|last| !Arc::ptr_eq(last, dvh))));
    }
    assert!(
        (doses.len() as f32) < degrees,
        "the drag went on while a dose was computed"
    );
    // The gantry has turned before its frame is laid out, so that jobs begin beside the layout and nothing is laid out twice.
    let twice = second_layouts(&w) - second_layouts_before;
    assert!(
        (twice as f32) < 0.2 * degrees,
        "{twice} of {degrees} frames were laid out twice"
    );
    w.drop_at(at(degrees));
    until(&mut w, "final dose of the last angle", is_final);
    assert!((gantry(w.state()) - f64::from(degrees).rem_euclid(360.0)).abs() < 1.0);
}

#[test]
fn the_gantry_turns_by_keyboard_and_the_dose_goes_from_preview_to_final() {
    // Large enough that its preview is displayed for many frames.
    let mut w = window(cube_case("gantry", 40));
    until(&mut w, "final dose", is_final);
    assert_eq!(said(&w), "");
    let before = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    // The dial, by its name.
    w.get_by_role_and_label(Role::Slider, "Gantry").focus();
    w.run_steps(2);
    w.key_press(Key::ArrowRight);
    w.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
    // A computation of many frames: the displayed dose has the right status meanwhile.
    let mut between = 0;
    until(&mut w, "final dose after the turn", |app| {
        let own = app
            .state
            .results
            .shown_dose()
            .is_some_and(|d| d.gy.id() != before.gy.id());
        let finals = app.state.results.shown_status() == Some(DoseStatus::Final);
        assert!(
            gantry(app) == 0.0 || own || !finals,
            "the dose of gantry 0 is final at {}",
            gantry(app)
        );
        between += usize::from(!finals);
        gantry(app) == 11.0 && is_final(app)
    });
    assert!(between > 0, "no frame without a final dose");
    // The screen shows it too: in the tree, the inspector, the DVH and the status line.
    assert!(w.query_all_by_label("Dose status final").count() >= 2);
    let after = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    assert_ne!(before.gy.id(), after.gy.id());
    // The beam now enters from the patient's left (HFS, gantry 11: source towards +x): more dose to that side
    // in front.
    let at = |d: &beamsight::case::Dose, x: f64| {
        d.gy.trilinear(glam::DVec3::new(x, -26.25, 1.25))
            .expect("inside")
    };
    assert!(
        (at(&before, 8.75) / at(&before, -8.75) - 1.0).abs() < 0.05,
        "symmetric before"
    );
    assert!(at(&after, 8.75) > 1.3 * at(&after, -8.75), "turned after");
    // Undo reverts the ten degrees, then the one.
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert_ne!(gantry(w.state()), 11.0);
    let stale = w.state().state.results.shown_status();
    assert!(
        stale.is_some_and(|s| s != DoseStatus::Final),
        "an undone plan does not keep a final dose: {stale:?}"
    );
}

#[test]
fn monitor_units_scale_the_dose_without_a_computation() {
    let mut w = window(small_case("mu"));
    until(&mut w, "final dose", is_final);
    let max = |app: &App| app.state.results.shown_max_gy().expect("a dose");
    let (before, receipts) = (max(w.state()), w.state().state.jobs.finished.len());
    let plan = w.state().state.plan().expect("a plan").clone();
    let mut beam = plan.beams[0].clone();
    beam.mu = 250.0;
    let edit = beamsight::case::Edit::SetBeam {
        plan: 0,
        beam: 0,
        value: beam,
    };
    w.state_mut()
        .state
        .history
        .apply(edit, None)
        .expect("an edit");
    until(&mut w, "scaled dose", |app| {
        is_final(app) && max(app) > 1.01 * before
    });
    assert!((max(w.state()) / before - 2.5).abs() < 1e-5);
    assert_eq!(
        w.state().state.jobs.finished.len(),
        receipts,
        "nothing was computed"
    );
}

/// The body is an input of a dose; without the chosen structure there is no dose.
#[test]
fn the_body_is_a_choice_that_the_dose_follows() {
    let mut w = window(small_case("body"));
    until(&mut w, "final dose", is_final);
    let remarks = &w.state().state.case().remarks;
    assert!(
        remarks
            .iter()
            .any(|r| r.message.contains("made from the CT")),
        "{remarks:?}"
    );
    let made = |app: &App| app.state.jobs.finished.len();
    let choose = |w: &mut crate::harness::Window, body| {
        let settings = beamsight::app::state::results::Settings {
            body,
            ..w.state().state.results.settings.clone()
        };
        w.state_mut().command(Command::Compute(settings));
        w.run_steps(1);
    };
    let before = made(w.state());
    choose(&mut w, BodyChoice::Everything);
    assert_ne!(
        w.state().state.results.shown_status(),
        Some(DoseStatus::Final),
        "another patient"
    );
    until(&mut w, "dose in everything", |app| {
        is_final(app) && made(app) > before
    });
    assert!(w.state().state.results.body_remarks()[0].contains("everything in the image counts"));
    choose(&mut w, BodyChoice::Structure(99));
    until(&mut w, "failure", |app| {
        app.state.results.shown_status() == Some(DoseStatus::Failed) && app.is_settled()
    });
    assert!(said(&w).contains("number 99"), "{}", said(&w));
}

/// The DVH is drawn either way, and saved as CSV with the status of the dose.
#[test]
fn dvhs_switch_to_differential_and_are_saved() {
    let mut w = window(small_case("dvh_curves"));
    until(&mut w, "final dose", is_final);
    w.state_mut()
        .command(Command::AddShape(beamsight::app::command::NewShape::Sphere));
    until(&mut w, "DVH", |app| {
        app.state.results.dvh_status() == Some(DoseStatus::Final) && app.is_settled()
    });
    let kinds = |w: &crate::harness::Window| w.state().state.dvh_display.differential;
    assert!(!kinds(&w));
    w.get_by_label("Differential").click();
    w.run_steps(3);
    assert!(kinds(&w));
    w.get_by_label("Cumulative").click();
    w.run_steps(3);
    assert!(!kinds(&w));
    let out = folder("dvh_curves").join("curves");
    let written = out.with_extension("csv");
    let _ = std::fs::remove_file(&written);
    w.state_mut()
        .set_dialog(Arc::new(move |_| Picked::Path(out.clone())));
    w.get_by_label("Save the DVHs as CSV").click();
    until(&mut w, "file", |app| written.is_file() && app.is_settled());
    let csv = std::fs::read_to_string(&written).expect("text");
    let head = csv.lines().next().expect("a heading");
    assert!(
        head.starts_with("\"dose (Gy), final") && head.contains("(% per Gy)"),
        "{head}"
    );
}
