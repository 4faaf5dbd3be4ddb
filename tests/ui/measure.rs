//! Ruler, dose points, profile, and the crosshair in the DVH.

use crate::harness::{Window, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::measure::state::{Measured, Tool};
use beamsight::case::Edit;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Pos2, vec2};
use egui_kittest::kittest::Queryable as _;

fn opened(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", |app: &App| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w
}

fn take(w: &mut Window, tool: Tool) {
    w.get_by_label("Measure").click();
    w.run_steps(4);
    w.get_by_label(tool.name()).click();
    w.run_steps(4);
    assert_eq!(w.state().state.measures.tool, Some(tool));
}

fn drag(w: &mut Window, from: Pos2, to: Pos2) {
    w.drag_at(from);
    w.run_steps(2);
    w.hover_at(from.lerp(to, 0.5));
    w.run_steps(2);
    w.hover_at(to);
    w.run_steps(2);
    w.drop_at(to);
    w.run_steps(3);
}

fn axial(w: &Window) -> eframe::egui::Rect {
    w.get_by_role_and_label(Role::Image, "Axial").rect()
}

#[test]
fn rulers_measure_what_the_scale_says_and_are_deleted() {
    let mut w = opened("ruler");
    take(&mut w, Tool::Ruler);
    let centre = axial(&w).center() - vec2(0.0, 30.0);
    for points in [30.0, 60.0] {
        drag(
            &mut w,
            centre - vec2(points, 0.0),
            centre + vec2(points, 0.0),
        );
    }
    let lengths: Vec<f64> = w
        .state()
        .state
        .measures
        .items
        .iter()
        .map(|(_, item)| item.length_mm())
        .collect();
    assert_eq!(lengths.len(), 2, "both are kept");
    assert!(
        lengths[0] > 1.0 && (lengths[1] / lengths[0] - 2.0).abs() < 1e-3,
        "{lengths:?}"
    );
    // Its end is moved, and the number stays.
    drag(&mut w, centre + vec2(60.0, 0.0), centre + vec2(0.0, 0.0));
    let (number, item) = w.state().state.measures.items[1];
    assert!((item.length_mm() / lengths[0] - 1.0).abs() < 1e-3);
    w.get_by_label(&format!("Remove Ruler {number}")).click();
    w.run_steps(3);
    assert_eq!(w.state().state.measures.items.len(), 1);
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert_eq!(w.state().state.measures.tool, None);
}

#[test]
fn a_dose_point_follows_the_dose_on_show() {
    let mut w = opened("dose_point");
    take(&mut w, Tool::DosePoint);
    let at = axial(&w).center() + vec2(4.0, -12.0);
    w.hover_at(at);
    w.run_steps(1);
    w.drag_at(at);
    w.drop_at(at);
    w.run_steps(4);
    let place = match w.state().state.measures.items.as_slice() {
        [(_, Measured::Point(place))] => *place,
        other => panic!("{other:?}"),
    };
    let said = |w: &Window| {
        let dose = w.state().state.results.shown_dose().expect("a dose");
        let gy = dose.gy.trilinear(place).expect("inside the dose");
        (
            gy,
            w.query_by_label_contains(&format!("{gy:.3} Gy ("))
                .is_some(),
        )
    };
    let (before, shown) = said(&w);
    assert!(before > 0.0 && shown, "{before} Gy");
    // Twice the monitor units, twice the dose.
    let mut value = w.state().state.plan().expect("a plan").beams[0].clone();
    value.mu *= 2.0;
    w.state_mut().command(Command::Edit {
        edit: Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "dose again", App::is_settled);
    let (after, shown) = said(&w);
    assert!(
        (after / before - 2.0).abs() < 1e-3 && shown,
        "{before} {after}"
    );
}

#[test]
fn a_profile_is_plotted_and_replaced_by_the_next() {
    let mut w = opened("profile");
    take(&mut w, Tool::Profile);
    let centre = axial(&w).center() - vec2(0.0, 30.0);
    drag(&mut w, centre - vec2(40.0, 0.0), centre + vec2(40.0, 0.0));
    assert!(w.query_by_label("Dose profile").is_some());
    let first = w.state().state.measures.profile().expect("a line");
    drag(
        &mut w,
        centre - vec2(50.0, 10.0),
        centre + vec2(50.0, -10.0),
    );
    assert_eq!(w.state().state.measures.items.len(), 1);
    assert_ne!(w.state().state.measures.profile(), Some(first));
    w.get_by_label("Close measurements").click();
    w.run_steps(3);
    assert!(w.query_by_label("Dose profile").is_none() && w.state().state.measures.tool.is_none());
}

#[test]
fn the_dose_at_the_crosshair_stands_in_the_dvh() {
    let w = opened("crosshair_dvh");
    let state = &w.state().state;
    let gy = state
        .results
        .shown_dose()
        .and_then(|d| d.gy.trilinear(state.crosshair_mm))
        .expect("a dose there");
    assert!(w.query_by_label(&format!("crosshair {gy:.2} Gy")).is_some());
}

#[test]
fn the_question_mark_lists_the_zoom() {
    let mut w = opened("question_mark");
    w.key_press(Key::Questionmark);
    w.run_steps(3);
    w.get_by_label("Keys").click();
    w.run_steps(6);
    assert!(
        w.query_by_label("zoom a view").is_some(),
        "the help has every gesture"
    );
}

/// Long words are cut in the panel: it stays as wide as it was, and the views where they were.
#[test]
fn a_long_name_does_not_widen_the_inspector() {
    let mut w = opened("long_name");
    let before = axial(&w);
    let mut beam = w.state().state.plan().expect("a plan").beams[0].clone();
    beam.name = "a very long name of a beam ".repeat(8);
    beam.read_only = Some("it has a very long reason ".repeat(8));
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value: beam,
        },
        None,
    );
    w.run_steps(8);
    assert_eq!(axial(&w), before);
}

/// Each tool is one key away, and what was measured is there again when the session is opened.
#[test]
fn tools_are_one_key_away_and_a_session_keeps_what_was_measured() {
    let mut w = opened("measure_keys");
    for (key, tool) in [
        (Key::R, Tool::Ruler),
        (Key::Q, Tool::DosePoint),
        (Key::T, Tool::Profile),
    ] {
        w.key_press(key);
        w.run_steps(2);
        assert_eq!(w.state().state.measures.tool, Some(tool));
    }
    w.key_press(Key::T);
    w.run_steps(2);
    assert_eq!(
        w.state().state.measures.tool,
        None,
        "the same key puts it down"
    );
    w.key_press(Key::R);
    w.run_steps(2);
    let centre = axial(&w).center() - vec2(0.0, 30.0);
    drag(&mut w, centre - vec2(40.0, 0.0), centre + vec2(40.0, 0.0));
    w.key_press(Key::T);
    w.run_steps(2);
    drag(
        &mut w,
        centre - vec2(50.0, 10.0),
        centre + vec2(50.0, -10.0),
    );
    let items = w.state().state.measures.items.clone();
    assert_eq!(items.len(), 2);
    let path = crate::harness::folder("measure_keys").join("session.json");
    let _ = std::fs::remove_file(&path);
    w.state_mut().command(Command::SaveSession(path.clone()));
    until(&mut w, "session", |app| path.exists() && app.is_settled());
    let mut again = window(beamsight::app::Options {
        case: Some(path.display().to_string()),
        ..beamsight::app::Options::default()
    });
    until(&mut again, "dose", |app: &App| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    assert_eq!(again.state().state.measures.items, items);
    assert!(
        again
            .query_by_label(&format!("Ruler {}", items[0].0))
            .is_some(),
        "and listed"
    );
}
