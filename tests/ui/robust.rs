//! The plan on show under set-up errors: bands and worst figures are those of moved isocentres, and go with the plan.

use crate::harness::{Window, until};
use crate::optimise::{edit, plan, planned, show_goals, status};
use beamsight::analysis::{Dvh, RIGID, Scenario, ShiftDirections};
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::Source;
use beamsight::app::feature::register::command::RegisterAction;
use beamsight::app::feature::robust::state::SetUpErrors;
use beamsight::app::state::Workspace;
use beamsight::app::state::results::Shown;
use beamsight::case::{DoseStatus, Edit, Pose};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use std::sync::Arc;

fn errors(w: &Window) -> SetUpErrors {
    w.state().state.set_up_errors
}

/// Waits for all scenarios of the errors as they are set.
fn answered(w: &mut Window) {
    w.run_steps(2);
    until(w, "scenarios", |app| {
        let errors = app.state.set_up_errors;
        let wanted = errors.directions.scenarios(errors.shift_mm);
        app.state.results.scenarios().is_some_and(|view| {
            let answered = view.answers().iter().map(|answer| answer.scenario);
            view.status == Some(DoseStatus::Final) && answered.eq(wanted)
        })
    });
}

fn mean_gy(w: &Window, name: &str, scenario: Scenario) -> f64 {
    let state = &w.state().state;
    let structure = state.case().structures.by_name(name).expect("a structure");
    let view = state.results.scenarios().expect("scenarios");
    let answer = view.answers().iter().find(|a| a.scenario == scenario);
    let answer = answer.expect("the scenario is answered");
    answer
        .figures
        .dvh(structure.number)
        .map_or(f64::NAN, Dvh::mean_gy)
}

fn shown_mean_gy(w: &Window, name: &str) -> f64 {
    let state = &w.state().state;
    let structure = state.case().structures.by_name(name).expect("a structure");
    let dvh = state.results.dvh(structure.number).expect("a DVH");
    dvh.mean_gy()
}

#[test]
fn set_up_errors_are_moved_isocentres_and_go_with_the_plan() {
    let mut w = planned("robust");
    w.get_by_label("Set-up errors").click();
    answered(&mut w);
    let left = Scenario::along_axes(3.0)[1];
    assert_eq!(left.to_string(), "isocentre 3.0 mm left");
    assert_eq!(
        mean_gy(&w, "Cord", Scenario::NOMINAL),
        shown_mean_gy(&w, "Cord")
    );
    let shifted_gy = mean_gy(&w, "Cord", left);
    // The cord lies to the left of the target: beams shifted there give it more.
    assert!(shifted_gy > 1.1 * shown_mean_gy(&w, "Cord"));
    show_goals(&mut w);
    w.run_steps(2);
    let view = w.state().state.results.scenarios().expect("scenarios");
    let cord = view.goal(1).expect("the goal of the cord");
    let worst_gy = cord.worst.answer.as_ref().expect("a value").value;
    assert!(w.query_by_label("worst").is_some());
    assert!(
        w.query_by_label(&format!("{worst_gy:.2} Gy")).is_some(),
        "the goal has its worst value beside it"
    );
    assert_eq!(view.answers()[cord.scenario].scenario, left);
    let planned = plan(w.state());

    // The same errors of a plan that was moved by hand.
    let mut moved = planned.clone();
    for beam in &mut moved.beams {
        beam.isocentre_mm += left.shift_mm;
    }
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: moved,
        },
    );
    // What was known of the plan of before is not shown beside the curves of this one.
    w.run_steps(1);
    let view = w.state().state.results.scenarios().expect("scenarios");
    assert!(view.answers().is_empty() && view.bands.is_empty() && view.status.is_none());
    answered(&mut w);
    assert_eq!(shown_mean_gy(&w, "Cord"), shifted_gy);

    w.get_by_label("27 scenarios").click();
    answered(&mut w);
    let view = w.state().state.results.scenarios().expect("scenarios");
    assert_eq!((view.answers().len(), view.count), (27, 27));
    w.get_by_label("Scenario isocentre 3.0 mm right").click();
    w.run_steps(2);
    assert_eq!(errors(&w).scenario, Some(2));

    // By keys, down to no error.
    for _ in 0..6 {
        w.get_by_role_and_label(Role::Slider, "Length of the set-up error")
            .focus();
        w.run_steps(1);
        w.key_press(Key::ArrowLeft);
        w.run_steps(2);
    }
    answered(&mut w);
    assert_eq!(errors(&w).shift_mm, 0.0);
    assert!(
        w.query_by_label("Scenario isocentre 3.0 mm right")
            .is_none()
    );
    w.get_by_label("Set-up errors").click();
    w.run_steps(2);
    assert!(w.state().state.results.scenarios().is_none());
    assert_eq!(status(w.state()), Some(DoseStatus::Final));
}

#[test]
fn a_scenario_that_leaves_the_ct_is_told() {
    let mut w = planned("robust outside");
    let mut planned = plan(w.state());
    for beam in &mut planned.beams {
        // The CT ends at -30 mm.
        beam.isocentre_mm.z = -25.0;
    }
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: planned,
        },
    );
    let mm = SetUpErrors {
        are_shown: true,
        shift_mm: 6.0,
        directions: ShiftDirections::Axes,
        ..SetUpErrors::default()
    };
    w.state_mut().command(Command::SetUpErrors(mm));
    until(&mut w, "a refusal", |app| {
        let scenarios = app.state.results.scenarios();
        scenarios.is_some_and(|view| view.failure.is_some())
    });
    let view = w.state().state.results.scenarios().expect("scenarios");
    let why = view.failure.clone().unwrap_or_default();
    assert!(
        why.contains("6.0 mm inferior: the isocentre of beam") && why.contains("leaves the CT"),
        "{why}"
    );
    assert_ne!(view.status, Some(DoseStatus::Final));
    w.run_steps(2);
    assert!(w.query_by_label_contains("leaves the CT").is_some());
}

#[test]
fn the_dose_at_a_pose_is_that_of_the_beams_moved_the_other_way() {
    let mut w = planned("dose at pose");
    w.state_mut()
        .command(Command::Workspace(Workspace::Register));
    w.run_steps(3);
    w.get_by_label("Make up a pair to try it").click();
    w.run_steps(2);
    until(&mut w, "two X-rays", |app| {
        app.state.register.images().len() == 2 && app.is_settled()
    });
    let button = "Dose at this pose";
    assert!(w.get_by_label(button).accesskit_node().is_disabled());
    let pose = Pose::new([-4.0, 0.0, 0.0], [0.0; 3]);
    let moved = RegisterAction::Move {
        pose,
        gesture: None,
    };
    w.state_mut().command(Command::Register(moved));
    w.run_steps(3);
    w.get_by_label(button).click();
    w.run_steps(2);
    until(&mut w, "the dose of the day", |app| {
        !app.state.case().doses.is_empty() && app.is_settled()
    });
    let state = &w.state().state;
    assert_eq!(state.workspace, Workspace::Compare);
    let dose = Arc::clone(&state.case().doses[0]);
    assert_eq!(dose.status, DoseStatus::Partial);
    assert_eq!(dose.caveats, [RIGID]);
    assert!(
        dose.label.ends_with("pose -4.0,0.0,0.0,0.0,0.0,0.0"),
        "{}",
        dose.label
    );
    assert_eq!(
        state.compare.sides,
        [Some(Source::Plan(0)), Some(Source::Dose(0))]
    );

    let mut by_hand = plan(w.state());
    for beam in &mut by_hand.beams {
        beam.isocentre_mm.x += 4.0;
    }
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: by_hand,
        },
    );
    w.state_mut().command(Command::Workspace(Workspace::Plan));
    w.run_steps(2);
    until(&mut w, "dose", |app| {
        app.is_settled() && app.state.results.shown_status() == Some(DoseStatus::Final)
    });
    let shown = w.state().state.results.shown_dose().expect("a dose");
    assert_eq!(shown.gy.data(), dose.gy.data());

    // A dose of the case on show does not say which monitor units the plan delivers.
    w.state_mut().command(Command::ShowDose(Shown::Imported(0)));
    w.state_mut()
        .command(Command::Workspace(Workspace::Register));
    w.run_steps(3);
    until(&mut w, "the other dose", |app| app.is_settled());
    assert!(w.get_by_label(button).accesskit_node().is_disabled());
}
