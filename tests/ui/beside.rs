//! Densities of structures, bolus and couch, from the inspector and the menu: each one step, and in the dose.

use crate::harness::{Window, case_on_a_couch, click, fill_in, said, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::state::Selection;
use beamsight::case::{Density, DensityOverride, DoseStatus, Medium, Structure, StructureKind};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

fn is_partial(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Partial) && app.is_settled()
}

/// The small case with the body that is found in its CT as it opens.
fn with_body(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "body", |app| {
        is_final(app) && !of_kind(app, StructureKind::External).is_empty()
    });
    w
}

fn of_kind(app: &App, kind: StructureKind) -> Vec<&Structure> {
    app.state
        .case()
        .structures
        .structures
        .iter()
        .filter(|s| s.kind == kind)
        .collect()
}

fn gy(w: &Window) -> f64 {
    gy_at(w, DVec3::ZERO)
}

fn gy_at(w: &Window, mm: DVec3) -> f64 {
    let dose = w.state().state.results.shown_dose().expect("a dose");
    f64::from(dose.gy.trilinear(mm).expect("inside"))
}

fn last_step(w: &Window) -> String {
    w.state()
        .state
        .history
        .names()
        .last()
        .map_or(String::new(), |n| (*n).to_owned())
}

fn undo(w: &mut Window) {
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
}

#[test]
fn a_bolus_is_made_of_the_body_in_one_step_and_counts() {
    let mut w = with_body("beside_bolus");
    let bare = gy(&w);
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Bolus on the body").click();
    until(&mut w, "bolus", |app| {
        !of_kind(app, StructureKind::Bolus).is_empty() && is_final(app)
    });
    let [bolus] = of_kind(w.state(), StructureKind::Bolus)[..] else {
        panic!("one bolus")
    };
    assert_eq!(bolus.density, Some(DensityOverride::preset(Medium::Water)));
    assert_eq!(last_step(&w), "Add structure Bolus");
    let with_bolus = gy(&w);
    assert!(
        with_bolus < 0.995 * bare || with_bolus > 1.005 * bare,
        "{with_bolus} {bare}"
    );
    assert!(
        w.query_by_label_contains("bolus 'Bolus' is included")
            .is_none(),
        "said with the plan and the dose"
    );
    w.state_mut().command(Command::Select(Selection::Plan));
    w.run_steps(4);
    assert!(
        w.query_by_label_contains("bolus 'Bolus' is included: 1.00 g/cm³ (water)")
            .is_some()
    );
    // Switched off it is out of the dose, which lacks it then, and the density stays.
    let number = of_kind(w.state(), StructureKind::Bolus)[0].number;
    w.state_mut()
        .command(Command::Select(Selection::Structure(number)));
    w.run_steps(4);
    click(&mut w, "Density counts in dose");
    until(&mut w, "dose without", is_partial);
    assert!((gy(&w) - bare).abs() < 1e-6 * bare, "{} {bare}", gy(&w));
    undo(&mut w);
    until(&mut w, "dose with", is_final);
    assert!((gy(&w) - with_bolus).abs() < 1e-6 * bare);
    undo(&mut w);
    assert!(
        of_kind(w.state(), StructureKind::Bolus).is_empty(),
        "one step"
    );
}

#[test]
fn a_bolus_lies_under_the_field_of_a_beam() {
    let mut w = with_body("beside_field");
    w.state_mut().command(Command::Select(Selection::Beam(1)));
    w.run_steps(4);
    click(&mut w, "Bolus under this field");
    until(&mut w, "bolus", |app| {
        !of_kind(app, StructureKind::Bolus).is_empty() && is_final(app)
    });
    let bolus = of_kind(w.state(), StructureKind::Bolus)[0];
    let points = bolus.contours.iter().flat_map(|c| &c.points_mm);
    let (low, high) = points.fold((DVec3::MAX, DVec3::MIN), |(low, high), p| {
        (low.min(*p), high.max(*p))
    });
    // The beam comes from the front (-y); jaws of 20 mm and 10 mm more on each side, on the 40 mm cube's front.
    assert!(
        high.y < 0.0 && high.x < 20.5 && low.x > -20.5,
        "{low} {high}"
    );
}

#[test]
fn a_couch_is_two_structures_in_one_step_and_what_the_ct_lacks_is_said() {
    let mut w = with_body("beside_couch");
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Couch below the body").click();
    w.run_steps(3);
    assert_eq!(last_step(&w), "Add couch");
    let names: Vec<String> = of_kind(w.state(), StructureKind::Support)
        .iter()
        .map(|s| s.name.clone())
        .collect();
    assert_eq!(names, ["Couch shell", "Couch core"]);
    assert!(
        said(&w).contains("beyond the CT and are not counted"),
        "{}",
        said(&w)
    );
    until(&mut w, "dose", App::is_settled);
    // The CT ends 10 mm below the cube.
    let dose = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    assert_eq!(dose.status, DoseStatus::Partial);
    assert_eq!(
        dose.caveats,
        ["39 mm of a support beyond the CT not counted"],
        "shell and core are one couch"
    );
    // The inspector of the plan gives the reason beside the status, as the views do.
    let app = w.state();
    let plan = app.state.plan().expect("a plan");
    assert_eq!(app.state.results.plan_caveats(plan), dose.caveats);
    // Its top lies at the bottom of the cube, 20 mm below the isocentre; shell and core move together.
    let heights = |w: &Window| -> Vec<f64> {
        let all = of_kind(w.state(), StructureKind::Support);
        all.iter()
            .map(|s| {
                s.contours
                    .iter()
                    .flat_map(|c| &c.points_mm)
                    .map(|p| p.y)
                    .fold(f64::MAX, f64::min)
            })
            .collect()
    };
    let before = heights(&w);
    fill_in(&mut w, "Couch vertical", "-25");
    assert_eq!(last_step(&w), "Move couch");
    let moved: Vec<f64> = heights(&w)
        .iter()
        .zip(&before)
        .map(|(now, before)| now - before)
        .collect();
    assert!(
        moved.iter().all(|by| (by - moved[0]).abs() < 1e-9) && (heights(&w)[0] - 25.0).abs() < 1e-6,
        "{moved:?}"
    );
    undo(&mut w);
    assert_eq!(heights(&w), before);
    undo(&mut w);
    assert!(
        of_kind(w.state(), StructureKind::Support).is_empty(),
        "one step"
    );
    until(&mut w, "dose", is_final);
}

#[test]
fn a_density_is_one_click_and_one_step() {
    let mut w = with_body("beside_density");
    let bare = gy(&w);
    let number = of_kind(w.state(), StructureKind::External)[0].number;
    w.state_mut()
        .command(Command::Select(Selection::Structure(number)));
    w.run_steps(4);
    let density = |w: &Window| of_kind(w.state(), StructureKind::External)[0].density;
    click(&mut w, "Density of bone");
    let bone = DensityOverride {
        density: Density::MassGCm3(1.92),
        medium: Some(Medium::Bone),
        off: false,
    };
    assert_eq!(
        (density(&w), last_step(&w).starts_with("Change density of ")),
        (Some(bone), true)
    );
    until(&mut w, "dose in bone", is_final);
    assert!(gy(&w) < 0.95 * bare, "{} {bare}", gy(&w));
    click(&mut w, "electrons");
    let given = density(&w).expect("given").density;
    // 1.92 g/cm3 at Z/A 0.51478 over 0.55508 of water.
    assert!(
        matches!(given, Density::RelativeElectrons(e) if (e - 1.92 * 0.51478 / 0.55508).abs() < 1e-4),
        "{given:?}"
    );
    click(&mut w, "No density of its own");
    assert_eq!(density(&w), None);
    until(&mut w, "dose", is_final);
    assert!((gy(&w) - bare).abs() < 1e-6 * bare);
}

/// The cube with a sheet behind it that is no part of the body: said, and counted after one click.
#[test]
fn the_couch_of_a_ct_is_counted_by_one_click() {
    let mut w = window(case_on_a_couch("beside_ct_couch"));
    until(&mut w, "partial dose", |app| {
        is_partial(app) && !of_kind(app, StructureKind::External).is_empty()
    });
    w.get_by_label_contains("Beams pass matter outside the body");
    // Near the surface that the beam enters: 10 mm of water before it build the dose up.
    let near = |w: &Window| gy_at(w, DVec3::new(0.0, 5.0, 0.0));
    let bare = near(&w);
    click(&mut w, "Leave it out");
    until(&mut w, "dose without", is_final);
    let [couch] = of_kind(w.state(), StructureKind::Support)[..] else {
        panic!("one couch")
    };
    assert_eq!(couch.density, Some(DensityOverride::preset(Medium::Air)));
    assert!((near(&w) - bare).abs() < 1e-2 * bare, "{} {bare}", near(&w));
    assert!(w.query_by_label("Leave it out").is_none());
    click(&mut w, "Density as scanned");
    until(&mut w, "dose with it", is_final);
    assert!(
        near(&w) > 1.1 * bare,
        "through 10 mm of water: {} {bare}",
        near(&w)
    );
    undo(&mut w);
    undo(&mut w);
    until(&mut w, "partial dose", is_partial);
    click(&mut w, "Count it as scanned");
    until(&mut w, "dose with it", is_final);
    assert_eq!(last_step(&w), "Add structure CT couch");
    assert!(near(&w) > 1.1 * bare, "{} {bare}", near(&w));
}

#[test]
fn a_bolus_is_taken_off_for_a_beam_by_one_click() {
    let mut w = with_body("beside_bolus_beams");
    let bare = gy(&w);
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Bolus on the body").click();
    until(&mut w, "bolus", |app| {
        !of_kind(app, StructureKind::Bolus).is_empty() && is_final(app)
    });
    let on = gy(&w);
    assert!(on < bare);
    click(&mut w, "Bolus for AP");
    until(&mut w, "dose without", is_final);
    assert!((gy(&w) - bare).abs() < 1e-6 * bare, "{} {bare}", gy(&w));
    w.state_mut().command(Command::Select(Selection::Beam(1)));
    w.run_steps(4);
    click(&mut w, "Bolus for this beam");
    assert_eq!(last_step(&w), "Change boluses of AP");
    until(&mut w, "dose with", is_final);
    assert!((gy(&w) - on).abs() < 1e-6 * on, "{} {on}", gy(&w));
}
