//! The C-shape of TG-119 optimised as the guide tells it, by mouse and keys alone.
//!
//! The picture of each step lies in the folder of the tests' files; those of `assets/guide/optimise` are made of them. The grids are
//! coarse: the steps are looked at, not the dose.

use crate::harness::{Window, fill_in, folder, until, window};
use crate::optimise::{at_rest, no_button, show_goals, status, steps, take};
use beamsight::app::command::Command;
use beamsight::app::state::results::Settings;
use beamsight::app::state::{Selection, ViewKind, Workspace};
use beamsight::app::{App, Options};
use beamsight::case::{DoseStatus, Edit};
use beamsight::engine::dose::Quality;
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;

fn picture(w: &mut Window, step: &str) {
    w.run_steps(4);
    w.render()
        .expect("a picture")
        .save(folder("optimise_guide").join(format!("{step}.png")))
        .expect("saved");
}

fn click(w: &mut Window, label: &str) {
    w.get_by_label(label).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(label).click();
    w.run_steps(4);
}

/// Waits for the maps and their true dose.
fn true_dose(w: &mut Window) {
    at_rest(w);
    until(w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
}

fn begun() -> Window {
    let mut w = window(Options {
        case: Some("demo:tg119".to_owned()),
        ..Options::default()
    });
    w.set_size(vec2(1600.0, 1000.0));
    until(&mut w, "case", |app| app.state.is_loaded());
    let settings = Settings {
        grid_mm: 5.0,
        quality: Quality::Fast,
        ..w.state().state.results.settings.clone()
    };
    w.state_mut().command(Command::Compute(settings));
    let optimise = &mut w.state_mut().state.optimise;
    (optimise.rows_mm, optimise.beamlet_mm) = (Some(8.0), 10.0);
    // Five of nine fields.
    let mut plan = (**w.state().state.plan().expect("a plan")).clone();
    plan.name = "C-shape".to_owned();
    plan.beams = plan.beams.into_iter().step_by(2).collect();
    w.state_mut().command(Command::Edit {
        edit: Edit::SetPlan {
            plan: 0,
            value: plan,
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "dose", App::is_settled);
    w
}

#[test]
fn from_goals_to_a_map_that_is_compared_with_the_plan_before() {
    let mut w = begun();
    show_goals(&mut w);
    click(&mut w, "Templates");
    click(&mut w, "TG-119, C-shape (easier)");
    until(&mut w, "goals", |app| {
        app.state.goals().iter().any(|g| g.structure == "Core") && app.is_settled()
    });
    click(&mut w, "Dismiss");
    picture(&mut w, "1-goals");
    // All that the goals miss, percent and Gy alike.
    let missed = |app: &App| -> f64 {
        let margins = app
            .state
            .scorecard()
            .into_iter()
            .filter_map(|row| Some(row.answer.ok()?.margin));
        margins.map(|margin| margin.min(0.0)).sum()
    };
    let before = missed(w.state());
    click(&mut w, "Optimise");
    until(&mut w, "the optimiser's dose", |app| {
        app.state.optimisers_dose().is_some()
    });
    picture(&mut w, "2-optimiser");
    true_dose(&mut w);
    let first = w.state().state.plan().expect("a plan").beams[0].number;
    w.state_mut()
        .command(Command::Select(Selection::Beam(first)));
    picture(&mut w, "3-fluence");
    let after = missed(w.state());
    assert!(
        after > before,
        "{before}, then {after}: {:?}",
        w.state().state.scorecard()
    );
    // A handle.
    let done = steps(w.state());
    let core = w
        .state()
        .state
        .goals()
        .into_iter()
        .find(|goal| goal.structure == "Core")
        .expect("its goal");
    let goal = core.short_text();
    let from = w.get_by_label(&format!("Handle {goal}")).rect().center();
    take(&mut w, from);
    for part in 1..=3 {
        w.hover_at(from - vec2(2.0 * part as f32, 0.0));
        w.run_steps(2);
    }
    until(&mut w, "the optimiser's dose", |app| {
        app.state.optimisers_dose().is_some()
    });
    picture(&mut w, "4-handle");
    no_button(&mut w, from - vec2(6.0, 0.0));
    true_dose(&mut w);
    assert_eq!(steps(w.state()), done + 1);
    // Objectives beside the goals.
    click(&mut w, "Add objective");
    let target = w.state().state.goals()[0].structure.clone();
    w.get_by_label(&format!("Uniform dose in {target}")).click();
    w.run_steps(4);
    true_dose(&mut w);
    w.get_by_label("Remove Monitor units").scroll_to_me();
    picture(&mut w, "5-objectives");
    // A limit.
    click(&mut w, "Brush limits");
    fill_in(&mut w, "Limit of the brush", "20");
    w.state_mut()
        .command(Command::ToggleMaximise(ViewKind::Bev));
    w.run_steps(4);
    let middle = w.get_by_label(ViewKind::Bev.name()).rect().center();
    take(&mut w, middle + vec2(-10.0, -70.0));
    for part in 1..=4 {
        w.hover_at(middle + vec2(-10.0, -70.0 + 35.0 * part as f32));
        w.run_steps(2);
    }
    picture(&mut w, "6-limit");
    no_button(&mut w, middle + vec2(-10.0, 70.0));
    true_dose(&mut w);
    let plan = w.state().state.plan().expect("a plan").clone();
    assert!(!plan.beams[0].fluence_limits.is_empty());
    w.state_mut()
        .command(Command::ToggleMaximise(ViewKind::Bev));
    w.run_steps(4);
    // Leaves, in a window of either size.
    click(&mut w, "Make deliverable");
    until(&mut w, "leaves", |app| {
        app.state.plan().is_some_and(|plan| plan.is_cut()) && app.is_settled()
    });
    until(&mut w, "doses on the way", |app| {
        let stages = app.state.stages().expect("doses");
        stages.stages.iter().all(|stage| stage.status.is_some()) && app.is_settled()
    });
    w.state_mut().command(Command::Select(Selection::Plan));
    picture(&mut w, "7-leaves");
    w.set_size(vec2(1280.0, 720.0));
    picture(&mut w, "7-leaves-smaller");
    show_goals(&mut w);
    picture(&mut w, "7-leaves-small");
    w.set_size(vec2(1600.0, 1000.0));
    w.run_steps(4);
    // The plan before, which is the one before the last drag, stroke or click.
    click(&mut w, "Compare with before");
    until(&mut w, "both doses", |app| {
        app.is_settled() && app.state.results.pair().is_some()
    });
    assert_eq!(w.state().state.workspace, Workspace::Compare);
    picture(&mut w, "8-compare");
}
