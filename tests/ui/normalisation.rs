//! Normalisation of a plan from the inspector: the dose on show is the one asked for, or the plan says why not.

use crate::harness::{Window, fill_in, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::state::Selection;
use beamsight::case::{DoseStatus, Normalisation, NormalisedAt, NormalisedDose};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

/// The small case with its plan selected.
fn opened(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", is_final);
    w.state_mut().command(Command::Select(Selection::Plan));
    w.run_steps(4);
    w
}

fn click(w: &mut Window, label: &str) {
    w.get_by_label(label).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(label).click();
    w.run_steps(4);
}

fn normalisation(w: &Window) -> Option<Normalisation> {
    w.state()
        .state
        .plan()
        .expect("a plan")
        .normalisation
        .clone()
}

fn gy_at(w: &Window, mm: DVec3) -> f64 {
    let dose = w.state().state.results.shown_dose().expect("a dose");
    f64::from(dose.gy.trilinear(mm).expect("inside"))
}

#[test]
fn a_plan_is_normalised_to_the_isocentre_and_to_the_crosshair() {
    let mut w = opened("normalisation_point");
    click(&mut w, "Normalise the plan");
    click(&mut w, "to a point");
    let to = normalisation(&w).expect("normalised");
    assert_eq!(
        (to.at, to.dose),
        (NormalisedAt::Point(DVec3::ZERO), NormalisedDose::Gy(60.0))
    );
    until(&mut w, "normalised dose", is_final);
    assert!(
        (gy_at(&w, DVec3::ZERO) - 60.0).abs() < 0.01,
        "{}",
        gy_at(&w, DVec3::ZERO)
    );
    let state = &w.state().state;
    let factor = state
        .results
        .normalisation_factor()
        .expect("a factor")
        .value;
    let plan = state.plan().expect("a plan");
    assert_eq!(
        state
            .results
            .delivered_mu(plan, &plan.beams[0])
            .map(|mu| mu.value),
        Some(100.0 * factor)
    );
    assert!(
        state
            .shown_normalisation()
            .expect("words")
            .contains("the point 0.0, 0.0, 0.0 mm is 60.00 Gy")
    );
    let mm = DVec3::new(1.0, -6.0, 2.0);
    w.state_mut().command(Command::CentreOn(mm));
    w.run_steps(2);
    click(&mut w, "Normalise at the crosshair");
    fill_in(&mut w, "Normalised dose", "30");
    until(&mut w, "normalised dose", |app| {
        is_final(app) && !app.state.can_redo()
    });
    assert!((gy_at(&w, mm) - 30.0).abs() < 0.01, "{}", gy_at(&w, mm));
    let names: Vec<String> = w
        .state()
        .state
        .history
        .names()
        .iter()
        .map(|n| (*n).to_owned())
        .collect();
    assert!(
        names
            .iter()
            .rev()
            .take(3)
            .all(|name| name == "Change normalisation of plan Test"),
        "{names:?}"
    );
    for _ in 0..3 {
        w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        w.run_steps(3);
    }
    assert_eq!(normalisation(&w), None, "undone");
}

#[test]
fn what_cannot_be_normalised_is_said_and_shows_no_normalised_dose() {
    let mut w = opened("normalisation_refused");
    let plain = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .max_gy();
    w.state_mut()
        .command(Command::CentreOn(DVec3::new(500.0, 0.0, 0.0)));
    w.run_steps(2);
    click(&mut w, "Normalise the plan");
    click(&mut w, "to a point");
    click(&mut w, "Normalise at the crosshair");
    until(&mut w, "refusal", |app| {
        app.is_settled() && app.state.results.plan_failure().is_some()
    });
    let state = &w.state().state;
    let why = state.results.plan_failure().expect("a reason");
    assert!(why.contains("outside the dose grid"), "{why}");
    assert_eq!(
        state.results.plan_status(state.plan().expect("a plan")),
        Some(DoseStatus::Failed)
    );
    assert_eq!(state.results.normalisation_factor(), None);
    assert!(
        state
            .results
            .shown_dose()
            .is_none_or(|dose| dose.status == DoseStatus::Failed)
    );
    // Percent of a prescription that the plan does not have.
    click(&mut w, "Normalise the plan");
    click(&mut w, "to the maximum");
    until(&mut w, "dose", is_final);
    assert!(
        (w.state()
            .state
            .results
            .shown_dose()
            .expect("a dose")
            .max_gy()
            - 60.0)
            .abs()
            < 1e-3
    );
    click(&mut w, "% of prescription");
    until(&mut w, "refusal", |app| app.is_settled());
    let state = &w.state().state;
    let why = state.results.plan_failure().expect("a reason");
    assert!(
        why.contains("cannot be normalised") && why.contains("the plan has none"),
        "{why}"
    );
    assert_eq!(state.results.shown_status(), Some(DoseStatus::Failed));
    // A volume of a structure that is not there.
    click(&mut w, "Normalise the plan");
    click(&mut w, "to a volume of a structure");
    assert!(w.state().state.results.plan_failure().is_some());
    click(&mut w, "Normalise the plan");
    click(&mut w, "not: monitor units as typed");
    until(&mut w, "dose", is_final);
    assert_eq!(
        w.state()
            .state
            .results
            .shown_dose()
            .expect("a dose")
            .max_gy(),
        plain
    );
}
