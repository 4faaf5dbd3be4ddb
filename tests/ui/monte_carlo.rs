//! Monte Carlo in the window: chosen in the plan's inspector, refined on screen, stopped, kept, cancelled.

use crate::harness::{Window, click, cube_case, said, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::compare::state::Source;
use beamsight::app::state::results::{EndsAt, EngineChoice};
use beamsight::app::state::{Selection, Workspace};
use beamsight::case::{DoseEngine, DoseStatus};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

fn status(app: &App) -> Option<DoseStatus> {
    app.state.results.shown_status()
}

fn is_final(app: &App) -> bool {
    status(app) == Some(DoseStatus::Final) && app.is_settled()
}

fn percent(app: &App) -> Option<f64> {
    app.state
        .results
        .certainty()
        .and_then(|c| c.uncertainty_percent)
}

fn is_running(app: &App) -> bool {
    app.state.jobs.live.iter().any(|job| job.slot.is_run())
}

fn choose(w: &mut Window, choice: EngineChoice) {
    let choice = EngineChoice {
        engine: DoseEngine::MonteCarloConvolution,
        ..choice
    };
    w.state_mut().command(Command::Engine { plan: 0, choice });
}

/// An end condition that no test reaches.
fn never() -> EngineChoice {
    EngineChoice {
        uncertainty_percent: 0.1,
        ..EngineChoice::default()
    }
}

#[test]
fn monte_carlo_is_chosen_by_name_and_refines_from_preview_to_final() {
    let mut w = window(cube_case("mc_choice", 16));
    until(&mut w, "collapsed-cone dose", is_final);
    let cone = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    w.state_mut().command(Command::Select(Selection::Plan));
    w.run_steps(2);
    assert!(
        w.query_by_label("Target uncertainty").is_none(),
        "a setting of the other engine"
    );
    w.get_by_role_and_label(Role::ComboBox, "Engine").click();
    w.run_steps(3);
    w.get_by_label("Monte Carlo convolution").click();
    let mut seen = Vec::new();
    until(&mut w, "Monte Carlo dose", |app| {
        seen.push((
            status(app),
            app.state.results.certainty().map(|c| c.histories),
        ));
        percent(app).is_some() && is_final(app)
    });
    assert_eq!(said(&w), "");
    w.get_by_role_and_label(Role::SpinButton, "Target uncertainty");
    assert!(
        w.query_by_label("Quality").is_none(),
        "directions of the other engine"
    );
    seen.dedup();
    // Collapsed cone is the preview, never the final dose of the plan; the run's own doses follow.
    let after = seen.iter().skip_while(|s| s.0 == Some(DoseStatus::Final));
    let after: Vec<_> = after.collect();
    assert!(
        after.iter().any(|s| s.0 == Some(DoseStatus::Preview)),
        "{seen:?}"
    );
    let finals = after
        .iter()
        .filter(|s| s.0 == Some(DoseStatus::Final))
        .count();
    assert_eq!(finals, 1, "final once, at the end: {seen:?}");
    let reached = percent(w.state()).expect("an uncertainty");
    assert!(
        reached <= 1.0 && reached > 0.3,
        "{reached} % for a wish of 1 %"
    );
    // The two engines agree in the beam; the cube's isocentre lies 4 cm deep.
    let run = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    for depth_mm in [-20.0, 0.0, 20.0] {
        let at = |d: &beamsight::case::Dose| {
            d.gy.trilinear(DVec3::new(1.25, depth_mm, 1.25))
                .expect("inside")
        };
        let ratio = at(&run) / at(&cone);
        assert!((ratio - 1.0).abs() < 0.05, "{depth_mm} mm: {ratio}");
    }
    // The DVH table has the structure's own uncertainty, near the whole plan's.
    let body = w.state().state.case().structures.structures[0].clone();
    let own = w
        .state()
        .state
        .results
        .structure_uncertainty_percent(body.number)
        .expect("an uncertainty");
    assert!(
        (own / reached - 1.0).abs() < 0.3,
        "body {own} %, plan {reached} %"
    );
    w.get_by_label("± %");
    // Back to collapsed cone: the beams' own dose is unchanged.
    w.state_mut().command(Command::Engine {
        plan: 0,
        choice: EngineChoice::default(),
    });
    until(&mut w, "collapsed cone again", |app| {
        percent(app).is_none() && is_final(app)
    });
    let again = w.state().state.results.shown_dose().expect("a dose");
    assert_eq!(cone.gy.data(), again.gy.data());
}

#[test]
fn a_run_can_be_stopped_and_kept_and_is_not_final_then() {
    let mut w = window(small_case("mc_keep"));
    until(&mut w, "dose", is_final);
    choose(&mut w, never());
    until(&mut w, "dose on the way", |app| percent(app).is_some());
    assert_eq!(status(w.state()), Some(DoseStatus::Preview));
    until(&mut w, "its job", is_running);
    w.get_by_label("Stop and keep").click();
    until(&mut w, "end of the run", |app| app.is_settled());
    assert_eq!(status(w.state()), Some(DoseStatus::Preview));
    let kept = percent(w.state()).expect("its uncertainty");
    assert!(kept > 0.1, "{kept} %");
    assert!(
        w.query_by_label_contains("so far").is_some(),
        "the status line names it"
    );
    // The run does not restart by itself, only on request.
    w.run_steps(10);
    assert!(w.state().is_settled());
    w.state_mut().command(Command::Recompute);
    w.run_steps(3);
    assert!(!w.state().is_settled());
    // A cancelled run loses its dose, and the earlier preview is back. The first run's dose stays displayed
    // until the second's first dose: only the job shows that it runs.
    until(&mut w, "the second run", is_running);
    w.get_by_label("Cancel Monte Carlo of plan Test").click();
    until(&mut w, "preview", |app| app.is_settled());
    assert_eq!(
        (percent(w.state()), status(w.state())),
        (None, Some(DoseStatus::Preview))
    );
    let said = "Go on with what was cancelled";
    assert!(w.query_by_label(said).is_some(), "why it stays a preview");
    w.state_mut().command(Command::Engine {
        plan: 0,
        choice: EngineChoice::default(),
    });
    until(&mut w, "collapsed cone", is_final);
    assert!(w.query_by_label(said).is_none());
}

#[test]
fn turning_the_gantry_begins_a_new_run_and_the_old_one_says_it_is_stale() {
    let mut w = window(cube_case("mc_gantry", 16));
    until(&mut w, "dose", is_final);
    choose(
        &mut w,
        EngineChoice {
            uncertainty_percent: 1.5,
            ..EngineChoice::default()
        },
    );
    until(&mut w, "Monte Carlo dose", |app| {
        percent(app).is_some() && is_final_or_coarse(app)
    });
    let before = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    w.get_by_role_and_label(Role::Slider, "Gantry").focus();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::SHIFT, Key::ArrowRight);
    w.run_steps(2);
    let mut seen = Vec::new();
    until(&mut w, "dose after the turn", |app| {
        seen.push(status(app));
        percent(app).is_some() && is_final_or_coarse(app)
    });
    assert!(seen.contains(&Some(DoseStatus::Preview)), "{seen:?}");
    let after = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    // As in the test of collapsed cone: more dose to the patient's left in front.
    let at = |d: &beamsight::case::Dose, x: f64| {
        d.gy.trilinear(DVec3::new(x, -26.25, 1.25)).expect("inside")
    };
    assert!(at(&after, 8.75) / at(&after, -8.75) > 1.2 * at(&before, 8.75) / at(&before, -8.75));
}

fn is_final_or_coarse(app: &App) -> bool {
    matches!(status(app), Some(DoseStatus::Final | DoseStatus::Coarse)) && app.is_settled()
}

#[test]
fn what_is_wrong_is_said_and_the_dose_is_failed() {
    let mut w = window(small_case("mc_wrong"));
    until(&mut w, "dose", is_final);
    let plan = w.state().state.plan().expect("a plan").clone();
    let mut beam = plan.beams[0].clone();
    beam.isocentre_mm = DVec3::new(2000.0, 0.0, 0.0);
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
    let few = EngineChoice {
        ends_at: EndsAt::Histories,
        histories_million: 0.2,
        ..EngineChoice::default()
    };
    choose(&mut w, few);
    w.state_mut().command(Command::Select(Selection::Plan));
    until(&mut w, "refusal", |app| {
        app.state.results.run_failure().is_some() && app.is_settled()
    });
    assert_ne!(status(w.state()), Some(DoseStatus::Final));
    let plan = w.state().state.plan().expect("a plan").clone();
    assert_eq!(
        w.state().state.results.plan_status(&plan),
        Some(DoseStatus::Failed)
    );
}

/// The engine that transports electrons, and one click to what kernels scaled by density make of the same plan: a copy, once.
#[test]
fn one_click_shows_where_density_scaling_fails() {
    let mut w = window(small_case("mc_electrons"));
    until(&mut w, "collapsed-cone dose", is_final);
    let choice = EngineChoice {
        engine: DoseEngine::MonteCarlo,
        ends_at: EndsAt::Histories,
        histories_million: 0.02,
        ..EngineChoice::default()
    };
    w.state_mut().command(Command::Engine { plan: 0, choice });
    w.state_mut().command(Command::Select(Selection::Plan));
    until(&mut w, "Monte Carlo dose", |app| {
        percent(app).is_some() && app.is_settled()
    });
    let receipt_job = {
        let dose = w.state().state.results.shown_dose().expect("a dose");
        // Few histories: a dose of this spread is no final one.
        assert_eq!(dose.status, DoseStatus::Coarse);
        dose.receipt.as_ref().expect("a receipt").job.clone()
    };
    assert_eq!(receipt_job, "mc");
    click(&mut w, "Difference to collapsed cone");
    until(&mut w, "two doses", App::is_settled);
    let state = &w.state().state;
    assert_eq!(state.workspace, Workspace::Compare);
    assert_eq!(
        state.compare.sides,
        [Some(Source::Plan(1)), Some(Source::Plan(0))]
    );
    assert_eq!(state.case().plans.len(), 2);
    assert_eq!(state.results.engine_of(1).engine, DoseEngine::CollapsedCone);
    // A second click finds the copy; undo takes it back as one step.
    w.state_mut().command(Command::Workspace(Workspace::Plan));
    w.run_steps(3);
    click(&mut w, "Difference to collapsed cone");
    assert_eq!(w.state().state.case().plans.len(), 2);
    w.state_mut().command(Command::Undo);
    w.run_steps(3);
    assert_eq!(w.state().state.case().plans.len(), 1);
    assert_eq!(said(&w), "");
}
