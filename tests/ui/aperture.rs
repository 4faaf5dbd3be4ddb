//! Apertures: fitted to a structure, jaws and leaves dragged and brushed in the beam's-eye view, control points shown.

use crate::harness::{Window, fill_in, said, small_case, until, window};
use beamsight::analysis::with_leaves;
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::beam::command::ApertureAction;
use beamsight::app::state::Selection;
use beamsight::case::{Beam, ControlPoint, Edit, StructureKind};
use beamsight::physics::Machine;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers, Pos2, Rect, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;

/// Half side of the beam's-eye view of a small field, mm.
const SHOWN_MM: f32 = 130.0;

/// The cube of water with its field of 2 cm x 2 cm on a machine with leaves, the beam selected.
fn case(name: &str) -> Window {
    let options = small_case(name);
    let path = options.plan.clone().expect("a plan");
    let text = std::fs::read_to_string(&path)
        .expect("a plan")
        .replace("point-6mv", "generic-6mv");
    std::fs::write(path, text).expect("a plan");
    let mut w = window(options);
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w.state_mut().state.selection = Selection::Beam(1);
    settled(&mut w);
    w
}

/// With a sphere of radius 20 mm at the isocentre, to fit to.
fn with_sphere(name: &str, kind: StructureKind) -> Window {
    let mut w = case(name);
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    settled(&mut w);
    let state = &mut w.state_mut().state;
    let (index, structure) = state.selected_structure().expect("the sphere");
    let (number, value) = (
        structure.number,
        beamsight::case::Structure {
            kind,
            ..structure.clone()
        },
    );
    state.edit(Edit::SetStructure { index, value }, None);
    state.aperture.structure = Some(number);
    state.selection = Selection::Beam(1);
    settled(&mut w);
    w
}

fn settled(w: &mut Window) {
    w.run_steps(3);
    until(w, "end of work", App::is_settled);
}

fn beam(w: &Window) -> &Beam {
    w.state().state.selected_beam().expect("a beam").1
}

fn point(w: &Window) -> &ControlPoint {
    beam(w).start().expect("a control point")
}

fn add_leaves(w: &mut Window) {
    let leaves = Machine::resolve("generic-6mv")
        .expect("a machine")
        .leaves
        .clone()
        .expect("leaves");
    let value = with_leaves(beam(w), leaves.to_case());
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    settled(w);
}

fn undo(w: &mut Window) {
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settled(w);
}

fn bev(w: &Window) -> Rect {
    w.get_by_label("Beam's eye").rect()
}

/// Screen position of a point of the isocentre plane.
fn at(w: &Window, x_mm: f32, y_mm: f32) -> Pos2 {
    let rect = bev(w);
    let scale = rect.width().min(rect.height()) / (2.0 * SHOWN_MM);
    rect.center() + vec2(x_mm, -y_mm) * scale
}

fn drag(w: &mut Window, from: Pos2, to: Pos2) {
    w.hover_at(from);
    w.run_steps(2);
    w.drag_at(from);
    w.run_steps(2);
    let way: Vec2 = to - from;
    for part in 1..=4 {
        w.hover_at(from + way * (part as f32 / 4.0));
        w.run_steps(1);
    }
    w.drop_at(to);
    settled(w);
}

/// A sphere of radius r at the isocentre is seen with r SAD / sqrt(SAD² - r²).
#[test]
fn a_beam_is_fitted_to_a_structure_with_one_click() {
    let mut w = with_sphere("aperture_fit", StructureKind::Other);
    w.get_by_label("Fit").click();
    settled(&mut w);
    let want = 20.0 * 1000.0 / (1e6_f64 - 400.0).sqrt() + 5.0;
    // The planes of the case stand for 5 mm each: along y the slabs end up to half of that beyond the sphere.
    let jaws = point(&w).jaws;
    for (jaw, most) in [
        (-jaws.x[0], 0.6),
        (jaws.x[1], 0.6),
        (-jaws.y[0], 3.1),
        (jaws.y[1], 3.1),
    ] {
        assert!(
            jaw > want - 0.3 && jaw < want + most,
            "{jaws:?}, not {want}"
        );
    }
    undo(&mut w);
    assert_eq!(point(&w).jaws.x, [-10.0, 10.0]);
    w.get_by_label("Add MLC").click();
    w.run_steps(3);
    w.get_by_label_contains("millennium120").click();
    settled(&mut w);
    assert_eq!(point(&w).leaves_mm.len(), 60);
    w.get_by_label("Fit").click();
    settled(&mut w);
    let open: Vec<&[f64; 2]> = point(&w)
        .leaves_mm
        .iter()
        .filter(|tips| tips[1] > tips[0])
        .collect();
    assert!((10..=12).contains(&open.len()), "{} pairs open", open.len());
    assert!(
        open.iter()
            .all(|tips| tips[0] > -want - 1.0 && tips[1] < want + 1.0)
    );
    assert_eq!(said(&w), "");
    assert!(w.state().state.results.shown_dose().is_some());
}

#[test]
fn a_new_beam_fits_the_target_at_once() {
    let mut w = with_sphere("aperture_new", StructureKind::Ptv);
    w.state_mut()
        .state
        .add_beams(beamsight::case::Template::One);
    settled(&mut w);
    let jaws = point(&w).jaws;
    assert!(
        (jaws.x[1] - 25.0).abs() < 0.8 && (jaws.x[0] + 25.0).abs() < 0.8,
        "{jaws:?}"
    );
    assert_eq!(
        beam(&w).mlc.as_ref().map(|m| m.boundaries_mm.len()),
        Some(61)
    );
    assert!(
        point(&w)
            .leaves_mm
            .iter()
            .filter(|tips| tips[1] > tips[0])
            .count()
            >= 10
    );
}

#[test]
fn a_jaw_is_dragged_by_its_edge_as_one_step() {
    let mut w = case("aperture_jaw");
    let (from, to) = (at(&w, 10.0, 4.0), at(&w, 35.0, 4.0));
    drag(&mut w, from, to);
    let jaws = point(&w).jaws;
    assert!(
        (jaws.x[1] - 35.0).abs() < 1.5 && jaws.x[0] == -10.0 && jaws.y == [-10.0, 10.0],
        "{jaws:?}"
    );
    // Never past its opposite.
    let (from, to) = (at(&w, -10.0, 4.0), at(&w, 100.0, 4.0));
    drag(&mut w, from, to);
    let closed = point(&w).jaws;
    assert!(
        (closed.x[1] - closed.x[0] - 1.0).abs() < 1e-9 && closed.x[1] == jaws.x[1],
        "{closed:?}"
    );
    undo(&mut w);
    assert_eq!(point(&w).jaws, jaws);
    undo(&mut w);
    assert_eq!(point(&w).jaws.x, [-10.0, 10.0]);
}

#[test]
fn leaves_are_dragged_one_by_one_and_brushed() {
    let mut w = case("aperture_leaves");
    let wide = beamsight::case::Jaws::symmetric(100.0, 100.0);
    let mut value = beam(&w).clone();
    value.control_points[0].jaws = wide;
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    add_leaves(&mut w);
    // Off the jaw first: the pair from 5 to 10 mm, by number.
    let mut value = beam(&w).clone();
    value.control_points[0].leaves_mm[31] = [-30.0, 30.0];
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    settled(&mut w);
    let before = point(&w).leaves_mm.clone();
    let (from, to) = (at(&w, 30.0, 7.5), at(&w, 12.0, 7.5));
    drag(&mut w, from, to);
    let tips = point(&w).leaves_mm[31];
    assert!((tips[1] - 12.0).abs() < 1.5 && tips[0] == -30.0, "{tips:?}");
    let others = point(&w)
        .leaves_mm
        .iter()
        .zip(&before)
        .filter(|(a, b)| a != b)
        .count();
    assert_eq!(others, 1);
    undo(&mut w);
    assert_eq!(point(&w).leaves_mm, before);
    // Brushed upwards at x = 20: the positive bank follows, from y = -20 to 20.
    w.get_by_label("Brush leaves").click();
    w.run_steps(2);
    let (from, to) = (at(&w, 20.0, -20.0), at(&w, 20.0, 20.0));
    drag(&mut w, from, to);
    let tips = &point(&w).leaves_mm;
    for (pair, tips) in tips.iter().enumerate().take(33).skip(27) {
        assert!((tips[1] - 20.0).abs() < 1.5, "pair {}: {tips:?}", pair + 1);
        assert_eq!(tips[0], before[pair][0]);
    }
    undo(&mut w);
    assert_eq!(point(&w).leaves_mm, before);
    assert_eq!(point(&w).leaves_mm[31][1], 30.0);
}

/// Makes an arc of the beam: four control points, 10 degrees apart.
fn make_arc(w: &mut Window) {
    let mut value = beam(w).clone();
    let start = value.control_points[0].clone();
    value.control_points = (0..4)
        .map(|n| ControlPoint {
            gantry_deg: 10.0 * f64::from(n),
            meterset_weight: f64::from(n) / 3.0,
            ..start.clone()
        })
        .collect();
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    settled(w);
}

#[test]
fn the_dial_turns_an_arc_from_the_control_point_on_show_as_a_view_does() {
    let mut w = case("aperture_dial");
    make_arc(&mut w);
    let number = beam(&w).number;
    w.state_mut()
        .command(Command::Aperture(ApertureAction::Show {
            beam: number,
            point: 2,
            plays: false,
        }));
    w.run_steps(3);
    let angles = |w: &Window| {
        beam(w)
            .control_points
            .iter()
            .map(|p| p.gantry_deg)
            .collect::<Vec<_>>()
    };
    let dial = w.get_by_role_and_label(Role::Slider, "Gantry").rect();
    let on_dial = |degrees: f32| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        dial.center() + 0.3 * dial.width() * vec2(sin, -cos)
    };
    w.hover_at(on_dial(20.0));
    w.run_steps(1);
    w.drag_at(on_dial(20.0));
    w.run_steps(1);
    assert_eq!(
        angles(&w),
        [0.0, 10.0, 20.0, 30.0],
        "pressed where it stands, it stays"
    );
    w.hover_at(on_dial(60.0));
    w.run_steps(1);
    w.hover_at(on_dial(90.0));
    w.run_steps(1);
    w.drop_at(on_dial(90.0));
    w.run_steps(2);
    assert_eq!(angles(&w), [70.0, 80.0, 90.0, 100.0]);
    // A view's command to the same angle leaves nothing to turn.
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 90.0,
        gesture: None,
    });
    w.run_steps(2);
    assert_eq!(angles(&w), [70.0, 80.0, 90.0, 100.0]);
    fill_in(&mut w, "Gantry angle", "45");
    assert_eq!(angles(&w), [25.0, 35.0, 45.0, 55.0]);
}

#[test]
fn a_control_point_of_a_dynamic_beam_is_shown_and_edited() {
    let mut w = case("aperture_points");
    add_leaves(&mut w);
    make_arc(&mut w);
    for _ in 0..2 {
        w.get_by_label("Next").scroll_to_me();
        w.run_steps(3);
        w.get_by_label("Next").click();
        settled(&mut w);
    }
    assert_eq!(w.state().state.shown_point(beam(&w)), 2);
    // Jaws that stand still stay so: they move at every control point.
    let (from, to) = (at(&w, 2.0, 10.0), at(&w, 2.0, 30.0));
    drag(&mut w, from, to);
    let jaws: Vec<f64> = beam(&w)
        .control_points
        .iter()
        .map(|p| p.jaws.y[1])
        .collect();
    assert!(
        jaws.iter().all(|y| (y - 30.0).abs() < 1.5 && *y == jaws[0]),
        "{jaws:?}"
    );
    // The gantry turns from the control point on show.
    w.state_mut().state.turn_gantry(0, 25.0, None);
    assert_eq!(beam(&w).control_points[2].gantry_deg, 25.0);
    assert_eq!(beam(&w).control_points[0].gantry_deg, 5.0);
    settled(&mut w);
    let whole = w.state().state.results.shown_max_gy().expect("a dose");
    w.get_by_label("Dose of this control point alone").click();
    settled(&mut w);
    let part = w
        .state()
        .state
        .results
        .shown_dose()
        .expect("a dose")
        .clone();
    assert!(
        part.label.contains("control points 3 to 4"),
        "{}",
        part.label
    );
    // A third of the monitor units, from a part of the same arc.
    let share = w.state().state.results.shown_max_gy().expect("a dose") / whole;
    assert!((0.2..0.45).contains(&share), "{share}");
    w.get_by_label("Dose of this control point alone").click();
    settled(&mut w);
    assert_eq!(w.state().state.results.shown_max_gy(), Some(whole));
    w.get_by_label("Play").click();
    until(&mut w, "last control point", |app| {
        let state = &app.state;
        state
            .selected_beam()
            .is_some_and(|(_, b)| state.shown_point(b) == 3)
    });
    w.run_steps(3);
    assert!(w.query_by_label("Play").is_some(), "it stops at the end");
}

#[test]
fn bad_apertures_and_empty_structures_are_said() {
    let mut w = with_sphere("aperture_bad", StructureKind::Other);
    add_leaves(&mut w);
    let before = beam(&w).clone();
    let mut value = before.clone();
    value.control_points[0].leaves_mm[11] = [4.0, 0.0];
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    w.run_steps(3);
    let said = crate::harness::said(&w);
    assert!(
        said.contains("The change was not made")
            && said.contains("leaf pair 12 at [4, 0] mm is crossed"),
        "{said}"
    );
    assert_eq!(*beam(&w), before);
    let mut value = before;
    value.control_points[0].leaves_mm[11] = [0.08, 0.0];
    value.control_points[0].jaws.x[1] = 250.0;
    w.state_mut().state.edit(
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value,
        },
        None,
    );
    w.run_steps(3);
    assert!(
        w.query_by_label_contains("leaves of pair 12 cross by 0.1 mm")
            .is_some()
    );
    assert!(w.query_by_label_contains("jaw X2 at 250.0 mm").is_some());
    let state = &mut w.state_mut().state;
    let number = state.aperture.structure;
    let index = state
        .case()
        .structures
        .structures
        .iter()
        .position(|s| Some(s.number) == number);
    let index = index.expect("the sphere");
    let value = state.case().structures.structures[index].clone();
    let value = beamsight::case::Structure {
        contours: Default::default(),
        ..value
    };
    state.edit(Edit::SetStructure { index, value }, None);
    w.run_steps(3);
    let before = beam(&w).clone();
    let place = w.get_by_label("Fit").rect().center();
    w.get_by_label("Fit").click();
    w.run_steps(3);
    assert_eq!(*beam(&w), before, "the button is disabled");
    w.hover_at(place);
    w.run_steps(40);
    assert!(w.query_by_label_contains("no contours").is_some());
}

/// Beams hidden in the planes are still seen in their own view, with their handles.
#[test]
fn b_leaves_the_beams_eye_view_as_it_is() {
    let mut w = case("aperture_b");
    w.key_press(Key::B);
    w.run_steps(2);
    assert!(!w.state().state.show_beams);
    let (from, to) = (at(&w, 10.0, 4.0), at(&w, 30.0, 4.0));
    drag(&mut w, from, to);
    assert!((point(&w).jaws.x[1] - 30.0).abs() < 1.5);
}

/// A fitted aperture says when gantry, isocentre or target moved since, fits again in one click, and follows where that is on.
#[test]
fn an_aperture_that_no_longer_fits_says_so_is_refitted_and_follows() {
    let mut w = with_sphere("aperture_misfit", StructureKind::Ptv);
    w.state_mut().state.selection = Selection::Beam(1);
    settled(&mut w);
    let press = |w: &mut Window, label: &str| {
        let button = w.get_all_by_label(label).last().expect("a button");
        button.scroll_to_me();
        w.run_steps(4);
        w.get_all_by_label(label).last().expect("a button").click();
        settled(w);
    };
    let told = |w: &Window, why: &str| w.query_by_label_contains(why).is_some();
    press(&mut w, "Fit");
    assert!(w.state().state.misfits().is_empty() && !told(&w, "no longer fits PTV"));
    let fitted = beam(&w).clone();
    let shift = |w: &mut Window, mm: f64| {
        let value = Beam {
            isocentre_mm: glam::DVec3::new(mm, 0.0, 0.0),
            ..beam(w).clone()
        };
        w.state_mut().command(Command::Edit {
            edit: Edit::SetBeam {
                plan: 0,
                beam: 0,
                value,
            }
            .into(),
            gesture: None,
        });
        settled(w);
    };
    shift(&mut w, 8.0);
    assert!(
        told(&w, "the isocentre has moved since"),
        "{:?}",
        w.state().state.misfits()
    );
    assert_eq!(
        point(&w).jaws,
        fitted.control_points[0].jaws,
        "nothing moves by itself"
    );
    press(&mut w, "Refit 1 beam");
    assert!(w.state().state.misfits().is_empty());
    // The isocentre lies 8 mm to the left of where it was: jaws round the same sphere lie 8 mm to the other side.
    let (now, before) = (point(&w).jaws, fitted.control_points[0].jaws);
    for side in 0..2 {
        assert!(
            (now.x[side] - before.x[side] + 8.0).abs() < 0.2,
            "{now:?} {before:?}"
        );
        assert!((now.y[side] - before.y[side]).abs() < 0.2);
    }
    undo(&mut w);
    assert!(
        told(&w, "the isocentre has moved since"),
        "undo brings the misfit back, and it is said"
    );
    undo(&mut w);
    assert_eq!(beam(&w), &fitted);
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 40.0,
        gesture: None,
    });
    settled(&mut w);
    assert!(told(&w, "its angles have changed since"));
    undo(&mut w);
    // Another radius of the target.
    let (number, structure) = {
        let set = &w.state().state.case().structures.structures;
        let ptv = set
            .iter()
            .find(|s| s.kind == StructureKind::Ptv)
            .expect("the PTV");
        (ptv.number, ptv.clone())
    };
    let shape = w
        .state()
        .state
        .shapes
        .shape_of(&structure)
        .expect("a shape");
    let beamsight::app::state::roi::Shape::Sphere { centre_mm, .. } = shape else {
        panic!("a sphere")
    };
    let smaller = beamsight::app::state::roi::Shape::Sphere {
        centre_mm,
        radius_mm: 12.0,
    };
    w.state_mut().command(Command::Reshape {
        structure: number,
        shape: smaller,
        gesture: None,
    });
    settled(&mut w);
    assert!(told(&w, "the structure has changed since"));
    undo(&mut w);
    // With Follow on the aperture moves in the step of the change, and undo takes both back.
    press(&mut w, "Follow");
    shift(&mut w, -6.0);
    assert!(w.state().state.misfits().is_empty());
    assert!(
        (point(&w).jaws.x[0] - before.x[0] - 6.0).abs() < 0.2,
        "{:?}",
        point(&w).jaws
    );
    undo(&mut w);
    assert_eq!(beam(&w), &fitted, "one step");
    w.state_mut().command(Command::Reshape {
        structure: number,
        shape: smaller,
        gesture: None,
    });
    settled(&mut w);
    assert!(
        (point(&w).jaws.x[1] - before.x[1] + 8.0).abs() < 0.5,
        "a radius of 12 mm in place of 20"
    );
    undo(&mut w);
    assert_eq!(beam(&w), &fitted, "target and aperture in one step");
    // A jaw moved by hand is the planner's: it neither follows nor is called a misfit.
    let action = ApertureAction::Move {
        beam: 0,
        part: beamsight::analysis::AperturePart::Jaw { axis: 0, side: 1 },
        to_mm: 40.0,
        gesture: None,
    };
    w.state_mut().command(Command::Aperture(action));
    shift(&mut w, 3.0);
    assert_eq!(
        (point(&w).jaws.x[1], w.state().state.misfits().len()),
        (40.0, 0)
    );
}
