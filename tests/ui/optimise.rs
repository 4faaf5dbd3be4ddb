//! Live inverse planning: the button, handles on the DVH, weights and locks, and what a case that changes meanwhile gets.

use crate::harness::{Window, fill_in, folder, said, small_case, until, window};
use beamsight::app::command::{Command, NewShape};
use beamsight::app::feature::optimise::command::OptimiseAction;
use beamsight::app::feature::plan::command::PlanAction;
use beamsight::app::state::results::Settings;
use beamsight::app::state::roi::Shape;
use beamsight::app::{App, Options};
use beamsight::case::{Beam, DoseStatus, Edit, Goal, Jaws, Plan, Stage, Structure, StructureKind};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Pos2, Rect, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

const GOALS: [&str; 3] = [
    "PTV: D95% >= 95 %",
    "Cord: Dmax <= 1.2 Gy (priority 2)",
    "PTV: CI >= 0.5 (priority 3)",
];

/// Water with a target, an organ beside it and two beams, without maps.
pub fn planned(name: &str) -> Window {
    planned_with(small_case(name))
}

fn planned_with(options: Options) -> Window {
    let mut w = window(options);
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let optimise = &mut w.state_mut().state.optimise;
    (optimise.rows_mm, optimise.beamlet_mm) = (Some(5.0), 10.0);
    sphere(&mut w, "PTV", StructureKind::Ptv, DVec3::ZERO, 8.0);
    sphere(
        &mut w,
        "Cord",
        StructureKind::Organ,
        DVec3::new(13.0, 0.0, 0.0),
        5.0,
    );
    let mut plan = plan(w.state());
    plan.machine = "generic-6mv".to_owned();
    plan.prescription_gy = Some(2.0);
    plan.beams[0].mu = 200.0;
    plan.beams.push(Beam::fixed(
        "Left",
        2,
        90.0,
        DVec3::ZERO,
        Jaws::symmetric(20.0, 20.0),
        200.0,
    ));
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: plan,
        },
    );
    edit(
        &mut w,
        Edit::SetGoals(GOALS.map(|words| words.parse().expect("a goal")).to_vec()),
    );
    until(&mut w, "dose", |app| {
        app.is_settled() && status(app) == Some(DoseStatus::Final)
    });
    w
}

fn sphere(w: &mut Window, name: &str, kind: StructureKind, centre_mm: DVec3, radius_mm: f64) {
    w.state_mut().command(Command::AddShape(NewShape::Sphere));
    let case = w.state().state.case();
    let index = case.structures.structures.len() - 1;
    let value = Structure {
        name: name.to_owned(),
        kind,
        ..case.structures.structures[index].clone()
    };
    let number = value.number;
    edit(w, Edit::SetStructure { index, value });
    let shape = Shape::Sphere {
        centre_mm,
        radius_mm,
    };
    w.state_mut().command(Command::Reshape {
        structure: number,
        shape,
        gesture: None,
    });
}

pub fn edit(w: &mut Window, edit: Edit) {
    w.state_mut().command(Command::Edit {
        edit: edit.into(),
        gesture: None,
    });
}

pub fn plan(app: &App) -> Plan {
    (**app.state.plan().expect("a plan")).clone()
}

pub fn status(app: &App) -> Option<DoseStatus> {
    app.state.curves_status()
}

pub fn steps(app: &App) -> usize {
    app.state.history.done()
}

/// Beams with maps.
fn maps(app: &App) -> usize {
    plan(app)
        .beams
        .iter()
        .filter(|beam| beam.fluence.is_some())
        .count()
}

/// The goals as they are shown beside the DVHs.
pub fn show_goals(w: &mut Window) {
    if w.query_by_label("Metrics").is_none() {
        w.get_by_label_contains("Goals").click();
        w.run_steps(3);
    }
}

pub fn optimised(name: &str) -> Window {
    let mut w = planned(name);
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    w
}

/// Waits for the maps and their true dose.
pub fn at_rest(w: &mut Window) {
    w.run_steps(2);
    until(w, "end of the optimisation", |app| {
        !app.state.optimise.is_running() && app.is_settled()
    });
}

/// Waits until the optimiser has published.
fn published(w: &mut Window) {
    until(w, "the optimiser's dose", |app| {
        app.state.optimisers_dose().is_some()
    });
}

/// Waits until a running optimisation has published, from the middle of its run.
fn begun(w: &mut Window) {
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    until(w, "the optimiser's dose", |app| {
        app.state.optimise.is_running() && app.state.optimisers_dose().is_some()
    });
}

pub fn mean(app: &App, name: &str) -> f64 {
    let curves = app.state.curves_on_view();
    curves
        .iter()
        .find(|(s, _)| s.name == name)
        .expect("a curve")
        .1
        .mean_gy()
}

fn middle(w: &Window, label: &str) -> Pos2 {
    w.get_by_label(label).rect().center()
}

pub fn no_button(w: &mut Window, at: Pos2) {
    w.drop_at(at);
    w.run_steps(3);
}

/// Takes what is there with the pointer, to drag it.
pub fn take(w: &mut Window, at: Pos2) {
    w.hover_at(at);
    w.run_steps(2);
    w.drag_at(at);
    w.run_steps(2);
}

/// In a window of a common size each goal shows its weight as a number, the verdict in a word, and the objectives beside it.
#[test]
fn weights_objectives_and_verdicts_are_in_sight() {
    let mut w = optimised("optimise_in_sight");
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    for size in [vec2(1600.0, 1000.0), vec2(1024.0, 700.0)] {
        w.set_size(size);
        w.run_steps(3);
        show_goals(&mut w);
        let window = Rect::from_min_size(Pos2::ZERO, size);
        for name in [
            "Weight of PTV: D95% >= 95 %",
            "Weight of Cord: Dmax <= 1.2 Gy",
        ] {
            let field = w.get_by_role_and_label(Role::SpinButton, name).rect();
            assert!(
                field.width() >= 36.0 && window.contains_rect(field),
                "{name}: {field:?}"
            );
        }
    }
    w.set_size(vec2(1600.0, 1000.0));
    w.run_steps(3);
    let window = Rect::from_min_size(Pos2::ZERO, vec2(1600.0, 1000.0));
    for name in [
        "Weight of Fall-off round targets",
        "Weight of Monitor units",
    ] {
        let field = w.get_by_label(name).rect();
        assert!(window.contains_rect(field), "{name}: {field:?}");
    }
    assert!(
        w.query_all_by_label_contains("? undecided").count() >= 1,
        "the dose of maps decides nothing, in a word"
    );
    // Switched off they leave their place to the table of metrics.
    w.get_by_label("Objectives").click();
    w.run_steps(3);
    assert!(w.query_by_label("doses in Gy").is_some());
}

/// Numbers beside the optimiser's dose are of it, or say that they are not.
#[test]
fn numbers_of_another_dose_do_not_stand_beside_the_optimisers() {
    let mut w = optimised("optimise_beside");
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    assert!(
        w.query_all_by_label_contains("crosshair ").count() >= 1,
        "the dose of the curves"
    );
    assert!(w.state().state.goal_share(0).is_some() && w.state().state.other_shares().is_some());
    let beam = plan(w.state()).beams[0].clone();
    assert_eq!(
        w.state().state.status_of_beam_on_view(&beam),
        None,
        "the map is the plan's"
    );
    // Shares are of the goals and of the plan that they were found for.
    let other = Plan {
        name: "Other".to_owned(),
        ..plan(w.state())
    };
    let other = Plan {
        beams: vec![other.beams[0].clone()],
        ..other
    };
    edit(&mut w, Edit::AddPlan(other));
    w.state_mut().command(Command::ShowPlan(1));
    w.run_steps(2);
    assert!(w.state().state.goal_share(0).is_none() && w.state().state.other_shares().is_none());
    w.state_mut().command(Command::ShowPlan(0));
    at_rest(&mut w);
    assert!(w.state().state.goal_share(0).is_some());
    // While a run goes on, the crosshair's dose would be of the maps before, and the views say whose map they show.
    let mut goals = w.state().state.goals();
    goals[1] = goals[1].clone().with_limit(0.4);
    edit(&mut w, Edit::SetGoals(goals));
    until(&mut w, "the optimiser's dose", |app| {
        app.state.optimise.is_running() && app.state.optimisers_dose().is_some()
    });
    assert_eq!(w.query_all_by_label_contains("crosshair ").count(), 0);
    assert_eq!(
        w.state().state.status_of_beam_on_view(&beam),
        Some(DoseStatus::Preview)
    );
}

#[test]
fn optimise_gives_the_plan_maps_in_one_step_and_undo_takes_them_back() {
    let mut w = planned("optimise_button");
    let (before, done) = (plan(w.state()), steps(w.state()));
    let curve = mean(w.state(), "Cord");
    show_goals(&mut w);
    w.get_by_label("Optimise").click();
    published(&mut w);
    // The optimiser's dose is a preview, says so, and decides nothing; the case is as it was.
    let state = &w.state().state;
    assert_eq!(status(w.state()), Some(DoseStatus::Preview));
    assert_eq!(
        state.results.shown_status(),
        Some(DoseStatus::Final),
        "the dose of the case is no other"
    );
    assert!(
        state
            .reservation_on_view()
            .expect("a word")
            .contains("optimiser's dose")
    );
    assert!(
        state
            .scorecard_on_view()
            .iter()
            .all(|row| row.is_undecided())
    );
    assert_eq!(plan(w.state()), before);
    assert!(w.query_all_by_label("optimiser's dose").count() >= 1);
    at_rest(&mut w);
    let state = &w.state().state;
    assert_eq!((maps(w.state()), steps(w.state())), (2, done + 1));
    assert_eq!(state.history.names().last(), Some(&"Optimise plan Test"));
    assert!(
        state.optimisers_dose().is_none(),
        "the true dose of the maps is shown"
    );
    assert_eq!(status(w.state()), Some(DoseStatus::Partial));
    let caveats = &state.results.shown_dose().expect("a dose").caveats;
    assert!(
        caveats.iter().any(|c| c.contains("not deliverable")),
        "{caveats:?}"
    );
    let ptv = state
        .curves_on_view()
        .into_iter()
        .find(|(s, _)| s.name == "PTV")
        .expect("PTV")
        .1
        .clone();
    assert!(
        ptv.dose_at_percent(95.0) > 1.8,
        "{}",
        ptv.dose_at_percent(95.0)
    );
    assert!(
        mean(w.state(), "Cord") < curve,
        "the organ is spared: {} of {curve}",
        mean(w.state(), "Cord")
    );
    // Goals say their share, or why they are only judged.
    assert!(state.goal_share(0).expect("an answer").is_ok());
    assert!(
        state
            .goal_share(2)
            .expect("an answer")
            .as_ref()
            .is_err_and(|why| why.contains("CI"))
    );
    assert!(w.query_all_by_label_contains("judged only").count() >= 1);
    w.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::Z);
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
    until(&mut w, "dose of before", |app| {
        status(app) == Some(DoseStatus::Final)
    });
}

#[test]
fn the_optimisers_dose_is_that_of_its_maps() {
    let mut w = planned("optimise_truth");
    // The rows' grid, on which the optimiser holds itself to the true dose.
    let settings = Settings {
        grid_mm: 5.0,
        ..w.state().state.results.settings.clone()
    };
    w.state_mut().command(Command::Compute(settings));
    begun(&mut w);
    let mut last = None;
    until(&mut w, "the last answer", |app| {
        if let Some(now) = app.state.optimisers_dose().filter(|now| now.is_at_rest()) {
            last = Some(now.dvhs.clone());
        }
        !app.state.optimise.is_running()
    });
    at_rest(&mut w);
    let state = &w.state().state;
    for (number, dvh) in last.expect("an answer at rest") {
        let structure = state
            .case()
            .structures
            .by_number(number)
            .expect("a structure");
        let truth = state.results.dvh(number).expect("a true DVH");
        let off = (dvh.mean_gy() - truth.mean_gy()).abs();
        assert!(
            off < 0.05,
            "{}: {} of {}",
            structure.name,
            dvh.mean_gy(),
            truth.mean_gy()
        );
    }
}

#[test]
fn esc_takes_a_run_back_and_stop_keeps_what_it_found() {
    let mut w = planned("optimise_esc");
    let (before, done) = (plan(w.state()), steps(w.state()));
    begun(&mut w);
    w.key_press(Key::Escape);
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
    assert!(w.state().state.optimisers_dose().is_none());
    assert_eq!(status(w.state()), Some(DoseStatus::Final));
    begun(&mut w);
    show_goals(&mut w);
    w.get_by_label("Stop optimising").click();
    at_rest(&mut w);
    assert!(
        said(&w).contains("has the fluences found so far. Press 'Optimise' to go on."),
        "{}",
        said(&w)
    );
    assert_eq!((maps(w.state()), steps(w.state())), (2, done + 1));
}

#[test]
fn a_case_that_changes_meanwhile_never_gets_maps_of_another() {
    let mut w = planned("optimise_edits");
    // A beam that is deleted gets none, and the others get those without it.
    begun(&mut w);
    edit(&mut w, Edit::RemoveBeam { plan: 0, beam: 1 });
    at_rest(&mut w);
    let now = plan(w.state());
    assert_eq!((now.beams.len(), maps(w.state())), (1, 1), "{}", said(&w));
    let alone = w
        .state()
        .state
        .optimise
        .view()
        .latest()
        .expect("an answer")
        .beams
        .len();
    assert_eq!(alone, 1, "the answer is of one beam");
    w.state_mut().command(Command::Undo);
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    assert_eq!(
        (plan(w.state()).beams.len(), maps(w.state())),
        (2, 0),
        "undone is undone"
    );
    // A structure that is renamed.
    begun(&mut w);
    let set = w.state().state.case().structures.clone();
    let index = set
        .structures
        .iter()
        .position(|s| s.name == "Cord")
        .expect("an organ");
    let value = Structure {
        name: "Spinal cord".to_owned(),
        ..set.structures[index].clone()
    };
    edit(&mut w, Edit::SetStructure { index, value });
    at_rest(&mut w);
    assert_eq!(maps(w.state()), 2);
    assert_eq!(w.state().state.goals()[1].structure, "Spinal cord");
    w.state_mut().command(Command::Undo);
    // What is known already is there at once.
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    w.run_steps(3);
    assert!(!w.state().state.optimise.is_running());
    assert_eq!(maps(w.state()), 2);
    w.state_mut().command(Command::Undo);
    // Undo during a run for other goals takes the run back, and nothing else.
    let mut goals = w.state().state.goals();
    goals[1] = goals[1].clone().with_limit(1.1);
    edit(&mut w, Edit::SetGoals(goals));
    let before = (plan(w.state()), steps(w.state()));
    begun(&mut w);
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), before);
    // Another plan on show ends the run; the plan that it answers gets its maps, the other none.
    let other = Plan {
        name: "Other".to_owned(),
        beams: vec![plan(w.state()).beams[0].clone()],
        ..plan(w.state())
    };
    edit(&mut w, Edit::AddPlan(other));
    begun(&mut w);
    w.state_mut().command(Command::ShowPlan(1));
    at_rest(&mut w);
    let of = |app: &App, at: usize| -> usize {
        app.state.case().plans[at]
            .beams
            .iter()
            .filter(|beam| beam.fluence.is_some())
            .count()
    };
    assert_eq!((of(w.state(), 0), of(w.state(), 1)), (2, 0));
    // Without a target there is nothing to optimise, and it says so.
    w.state_mut().command(Command::ShowPlan(0));
    begun(&mut w);
    let set = w.state().state.case().structures.clone();
    let index = set
        .structures
        .iter()
        .position(|s| s.name == "PTV")
        .expect("a target");
    w.state_mut().command(Command::RemoveStructure {
        number: set.structures[index].number,
        sure: true,
    });
    at_rest(&mut w);
    assert!(said(&w).contains("there is no target"), "{}", said(&w));
}

#[test]
fn a_handle_is_dragged_the_plan_follows_and_one_undo_takes_both_back() {
    let mut w = optimised("optimise_handle");
    show_goals(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    let (before, done) = (plan(w.state()), steps(w.state()));
    let cord = mean(w.state(), "Cord");
    let name = "Handle Cord: Dmax <= 1.2 Gy";
    let from = middle(&w, name);
    take(&mut w, from);
    for part in 1..=5 {
        w.hover_at(from - vec2(8.0 * part as f32, 0.0));
        w.run_steps(2);
    }
    let limit = w.state().state.goals()[1].limit();
    assert!(limit < 1.15, "the limit follows the handle: {limit}");
    assert_eq!(steps(w.state()), done + 1, "a drag is one step");
    // While it lasts the optimiser's dose follows, the curve of before stays as a ghost, and goals that turn say so.
    published(&mut w);
    assert_eq!(status(w.state()), Some(DoseStatus::Preview));
    let ghosts = w.state().state.ghost_curves();
    let ghost = ghosts
        .iter()
        .find(|(s, _)| s.name == "Cord")
        .expect("a ghost")
        .1
        .mean_gy();
    assert!((ghost - cord).abs() < 1e-9);
    until(&mut w, "a goal that the drag turns", |app| {
        let state = &app.state;
        state
            .scorecard_on_view()
            .iter()
            .any(|row| state.is_turned_by_drag(row))
    });
    assert!(w.query_all_by_label("unmet by this drag").count() >= 1);
    let at = from - vec2(40.0, 0.0);
    no_button(&mut w, at);
    assert_eq!(
        w.query_all_by_label("unmet by this drag").count(),
        0,
        "while it lasts"
    );
    at_rest(&mut w);
    assert_eq!(steps(w.state()), done + 1, "its maps are in the same step");
    assert_ne!(plan(w.state()), before, "other maps");
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    assert!(
        mean(w.state(), "Cord") < cord,
        "{} of {cord}",
        mean(w.state(), "Cord")
    );
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    assert_eq!((plan(w.state()), steps(w.state())), (before.clone(), done));
    assert_eq!(w.state().state.goals()[1].limit(), 1.2);
    // Esc while it is dragged brings limit and maps back.
    let from = middle(&w, name);
    take(&mut w, from);
    w.hover_at(from - vec2(30.0, 0.0));
    w.run_steps(2);
    assert!(w.state().state.goals()[1].limit() < 1.2);
    w.key_press(Key::Escape);
    w.run_steps(2);
    w.hover_at(from - vec2(35.0, 0.0));
    w.run_steps(2);
    no_button(&mut w, from - vec2(35.0, 0.0));
    at_rest(&mut w);
    assert_eq!(w.state().state.goals()[1].limit(), 1.2);
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
}

#[test]
fn a_goal_is_born_where_a_curve_is_taken() {
    let mut w = optimised("optimise_born");
    show_goals(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    // Between two handles of known places lies the plane of the plot.
    let [low, high] =
        ["Handle Cord: Dmax <= 1.2 Gy", "Handle PTV: D95% >= 95 %"].map(|name| middle(&w, name));
    let per_gy = (high.x - low.x) / (0.95 * 2.0 - 1.2);
    let per_percent = (high.y - low.y) / 95.0;
    let curves = w.state().state.curves_on_view();
    let cord = curves
        .iter()
        .find(|(s, _)| s.name == "Cord")
        .expect("a curve")
        .1;
    let gy = cord.dose_at_percent(50.0);
    let from = Pos2::new(
        low.x + per_gy * (gy as f32 - 1.2),
        low.y + per_percent * 50.0,
    );
    let done = steps(w.state());
    take(&mut w, from);
    for part in 1..=4 {
        w.hover_at(from - vec2(6.0 * part as f32, 0.0));
        w.run_steps(2);
    }
    let goals = w.state().state.goals();
    assert_eq!(goals.len(), 4, "{goals:?}");
    assert!(goals[3].to_string().starts_with("Cord: D5"), "{}", goals[3]);
    let want = gy - 24.0 / f64::from(per_gy);
    assert!(
        (goals[3].limit() - want).abs() < 0.1,
        "{} for {want}",
        goals[3].limit()
    );
    no_button(&mut w, from - vec2(24.0, 0.0));
    at_rest(&mut w);
    assert_eq!(steps(w.state()), done + 1);
    w.state_mut().command(Command::Undo);
    w.run_steps(2);
    assert_eq!(w.state().state.goals().len(), 3);
}

#[test]
fn a_lock_keeps_a_goal_and_weights_are_kept_with_the_goals() {
    let mut w = planned("optimise_lock");
    let goals =
        ["PTV: D95% >= 95 %", "Cord: Dmean <= 0.5 Gy"].map(|words| words.parse().expect("a goal"));
    edit(&mut w, Edit::SetGoals(goals.to_vec()));
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    at_rest(&mut w);
    show_goals(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    let cord = |app: &App| mean(app, "Cord");
    let done = steps(w.state());
    w.get_by_label("Lock Cord: Dmean <= 0.5 Gy").click();
    at_rest(&mut w);
    assert_eq!(
        steps(w.state()),
        done + 1,
        "a lock and its maps are one step"
    );
    let kept = w.state().state.goals()[1].kept().expect("a kept value");
    // The target asks for more; the locked organ does not get it.
    let mut goals = w.state().state.goals();
    goals[0] = goals[0].clone().with_limit(110.0).with_weight(Some(30.0));
    edit(&mut w, Edit::SetGoals(goals.clone()));
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    let locked = cord(w.state());
    assert!(locked < kept + 0.02, "{locked} for {kept}");
    goals[1] = goals[1].clone().with_kept(None);
    edit(&mut w, Edit::SetGoals(goals));
    at_rest(&mut w);
    until(&mut w, "true dose", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
    assert!(
        cord(w.state()) > locked + 0.01,
        "{} without the lock, {locked} with it",
        cord(w.state())
    );
    // A weight is typed: one step, with the maps that answer it.
    let done = steps(w.state());
    fill_in(&mut w, "Weight of Cord: Dmean <= 0.5 Gy", "12");
    at_rest(&mut w);
    assert_eq!(w.state().state.goals()[1].weight(), 12.0);
    assert_eq!(steps(w.state()), done + 1);
    // One beyond the range is refused in words and changes nothing.
    fill_in(&mut w, "Weight of Cord: Dmean <= 0.5 Gy", "500");
    assert!(
        w.query_by_label_contains("500 refused: 0.01 to 100")
            .is_some()
    );
    assert_eq!(
        (w.state().state.goals()[1].weight(), steps(w.state())),
        (12.0, done + 1)
    );
    let read: Goal = w.state().state.goals()[0]
        .to_string()
        .parse()
        .expect("a goal");
    assert_eq!(read.weight(), 30.0);
}

#[test]
fn a_turned_beam_of_an_optimised_plan_is_optimised_again_and_columns_of_others_stay() {
    let mut w = optimised("optimise_gantry");
    let (before, done) = (plan(w.state()), steps(w.state()));
    w.state_mut().command(Command::Gantry {
        beam: 1,
        gantry_deg: 120.0,
        gesture: None,
    });
    w.run_steps(2);
    assert!(
        w.state().state.optimise.is_running(),
        "the plan follows its beams"
    );
    until(&mut w, "end of the optimisation", |app| {
        // Of two beams the first has its columns already.
        assert_ne!(app.state.optimise.view().share_done(), Some(0.5));
        !app.state.optimise.is_running() && app.is_settled()
    });
    let after = plan(w.state());
    assert_eq!(after.beams[1].control_points[0].gantry_deg, 120.0);
    assert_ne!(after.beams[1].fluence, before.beams[1].fluence);
    w.state_mut().command(Command::Undo);
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    assert_eq!(
        (plan(w.state()), steps(w.state())),
        (before, done),
        "undone, and not optimised again"
    );
}

fn record(w: &mut Window, stage: Stage) {
    let reason = "looked at".to_owned();
    w.state_mut().command(Command::Plans(PlanAction::Record {
        plan: 0,
        stage: Some(stage),
        reason,
    }));
    w.run_steps(5);
}

fn limit_of_cord(w: &mut Window, gy: f64) {
    let goals = [
        GOALS[0].to_owned(),
        format!("Cord: Dmax <= {gy} Gy (priority 2)"),
        GOALS[2].to_owned(),
    ];
    edit(
        w,
        Edit::SetGoals(goals.map(|words| words.parse().expect("a goal")).to_vec()),
    );
    w.run_steps(2);
}

/// No run begins on a plan that was looked at, whatever the goals; one that is looked at during a run keeps what it was.
#[test]
fn a_reviewed_or_approved_plan_stays_as_it_was_looked_at() {
    let mut w = optimised("optimise_approved");
    for stage in [Stage::Reviewed, Stage::Approved] {
        record(&mut w, stage);
        let before = plan(w.state());
        assert!(
            !w.state().state.optimise.is_running(),
            "{stage}: {}",
            said(&w)
        );
        limit_of_cord(&mut w, if stage == Stage::Approved { 1.1 } else { 1.0 });
        assert!(
            !w.state().state.optimise.is_running(),
            "{stage}: {}",
            said(&w)
        );
        assert!(w.state().state.optimise.goals_are_newer());
        assert_eq!(plan(w.state()), before);
        assert_ne!(status(w.state()), Some(DoseStatus::Preview));
    }
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::Start));
    w.run_steps(3);
    assert!(!w.state().state.optimise.is_running());
    assert!(
        said(&w).contains("Not optimised") && said(&w).contains("read-only"),
        "{}",
        said(&w)
    );
    w.state_mut().command(Command::Plans(PlanAction::Record {
        plan: 0,
        stage: None,
        reason: String::new(),
    }));
    at_rest(&mut w);
    begun(&mut w);
    record(&mut w, Stage::Reviewed);
    assert!(!w.state().state.optimise.is_running(), "{}", said(&w));
    assert!(plan(w.state()).approval.is_some());
    assert!(w.state().state.optimisers_dose().is_none());
}

/// Undo during a run brings the plan back as it was, and redo what the run had found.
#[test]
fn undo_during_a_run_loses_nothing_that_it_found() {
    let mut w = planned("optimise_undo_run");
    begun(&mut w);
    w.state_mut().command(Command::Undo);
    at_rest(&mut w);
    assert_eq!(maps(w.state()), 0);
    w.state_mut().command(Command::Redo);
    at_rest(&mut w);
    assert_eq!(maps(w.state()), 2, "{}", said(&w));
}

/// The mark that a plan follows its goals is kept with it: through a rename, a deletion that is undone, and a switch of its own.
#[test]
fn a_plan_follows_its_goals_by_whatever_name() {
    let mut w = optimised("optimise_follows");
    assert!(plan(w.state()).follows_goals && !w.state().state.optimise.goals_are_newer());
    let renamed = Plan {
        name: "Renamed".to_owned(),
        ..plan(w.state())
    };
    edit(
        &mut w,
        Edit::SetPlan {
            plan: 0,
            value: renamed,
        },
    );
    limit_of_cord(&mut w, 1.1);
    assert!(w.state().state.optimise.is_running(), "after a rename");
    at_rest(&mut w);
    assert!(!w.state().state.optimise.goals_are_newer());
    let other = Plan {
        name: "Other".to_owned(),
        ..planned_beams(&w)
    };
    edit(&mut w, Edit::AddPlan(other));
    edit(&mut w, Edit::RemovePlan { plan: 0 });
    w.run_steps(3);
    w.state_mut().command(Command::Undo);
    w.state_mut().command(Command::ShowPlan(0));
    w.run_steps(3);
    limit_of_cord(&mut w, 1.0);
    assert!(
        w.state().state.optimise.is_running(),
        "after a deletion was undone"
    );
    at_rest(&mut w);
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::FollowGoals(false)));
    limit_of_cord(&mut w, 0.9);
    let state = &w.state().state;
    assert!(
        !state.optimise.is_running() && state.optimise.goals_are_newer(),
        "the switch"
    );
    show_goals(&mut w);
    assert!(w.query_by_label("goals are newer than maps").is_some());
    w.state_mut()
        .command(Command::Optimise(OptimiseAction::FollowGoals(true)));
    w.run_steps(5);
    assert!(w.state().state.optimise.is_running(), "it catches up");
    at_rest(&mut w);
    assert!(!w.state().state.optimise.goals_are_newer());
}

/// The plan on show with its beams as they were before any maps.
fn planned_beams(w: &Window) -> Plan {
    let mut plan = plan(w.state());
    plan.beams.iter_mut().for_each(|beam| beam.fluence = None);
    Plan {
        answered_goals: None,
        follows_goals: false,
        ..plan
    }
}

#[test]
fn maps_of_a_run_that_is_killed_are_in_the_recovery() {
    let state = folder("optimise_killed_state");
    std::fs::remove_dir_all(&state).expect("an empty folder");
    std::fs::create_dir_all(&state).expect("a folder");
    let mut w = planned_with(Options {
        state_folder: Some(state.clone()),
        ..small_case("optimise_killed")
    });
    // A goal that no fluence meets, and fine rows: the run goes on until the window is killed.
    let optimise = &mut w.state_mut().state.optimise;
    (optimise.rows_mm, optimise.beamlet_mm) = (Some(0.6), 2.5);
    let mut goals = w.state().state.goals();
    goals.push("Cord: D90% <= 0.01 Gy".parse().expect("a goal"));
    edit(&mut w, Edit::SetGoals(goals));
    begun(&mut w);
    until(&mut w, "maps in the autosave", |_| {
        let files = std::fs::read_dir(state.join("unsaved"))
            .into_iter()
            .flatten()
            .flatten();
        let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        texts.any(|text| text.contains("\"fluence\":{"))
    });
    assert_eq!(maps(w.state()), 0, "the case has none yet");
    // Dropped without closing, as after a kill.
    drop(w);
    let mut again = window(Options {
        state_folder: Some(state),
        ..Options::default()
    });
    until(&mut again, "offer", |app| !app.state.recoverable.is_empty());
    again.get_by_label("Recover cube.mha").click();
    until(&mut again, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(maps(again.state()), 2);
    assert_eq!(again.state().state.goals().len(), 4);
    until(&mut again, "dose of the maps", |app| {
        status(app) == Some(DoseStatus::Partial)
    });
}

/// The curve is of the plan as it is: five points in idle time, of which a click takes one; another goal takes it away.
#[test]
fn a_point_of_the_curve_of_monitor_units_is_taken_by_a_click() {
    let mut w = optimised("optimise_curve");
    show_goals(&mut w);
    let points = |app: &App| {
        let curve = app.state.monitor_unit_curve()?.expect("no failure");
        let points = { curve.iter() }.map(|point| (point.weight, point.delivery.figures.mu));
        Some(points.collect::<Vec<_>>())
    };
    assert_eq!(points(w.state()), None);
    w.get_by_label("Curve of monitor units").scroll_to_me();
    w.run_steps(3);
    w.get_by_label("Curve of monitor units").click();
    until(&mut w, "five points", |app| {
        points(app).is_some_and(|points| points.len() == 5)
    });
    let curve = points(w.state()).expect("points");
    assert!(
        curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 > 0.98 * b.1),
        "{curve:?}"
    );
    w.run_steps(2);
    let done = steps(w.state());
    w.get_by_label_contains("at weight 3").scroll_to_me();
    w.run_steps(3);
    w.get_by_label_contains("at weight 3").click();
    w.run_steps(2);
    assert_eq!(plan(w.state()).objectives.monitor_units, 3.0);
    assert!(w.state().state.optimise.is_running(), "maps follow");
    assert_eq!(points(w.state()), None, "the curve is of maps before");
    at_rest(&mut w);
    assert_eq!(steps(w.state()), done + 1, "weight and maps are one step");
    until(&mut w, "five points again", |app| {
        points(app).is_some_and(|points| points.len() == 5)
    });
    limit_of_cord(&mut w, 1.1);
    assert_eq!(points(w.state()), None);
}
