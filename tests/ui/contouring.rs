//! Structures made of others by calculation: from the inspector, on the worker, as one step.

use crate::harness::{Window, said, small_case, until, window};
use beamsight::analysis::contouring::Operation;
use beamsight::app::command::Command;
use beamsight::app::state::contouring::{ContouringAction, Destination};
use beamsight::case::{Edit, Structure, StructureKind};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use std::f64::consts::PI;

/// The small case with a GTV, a sphere of 10 mm.
fn with_gtv(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "case", |app| app.state.case().ct.is_some() && app.is_settled());
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    w.run_steps(3);
    let app = w.state_mut();
    let shape = app.state.shapes.of(named(app, "Sphere")).expect("a shape");
    let beamsight::app::state::roi::Shape::Sphere { centre_mm, .. } = shape else { panic!("a sphere") };
    let number = named(app, "Sphere").number;
    let shape = beamsight::app::state::roi::Shape::Sphere { centre_mm, radius_mm: 10.0 };
    app.command(Command::Reshape { structure: number, shape, gesture: None });
    let (index, value) = app.state.selected_structure().expect("selected");
    let value = Structure { name: "GTV".to_owned(), kind: StructureKind::Gtv, ..value.clone() };
    app.command(Command::Edit { edit: Edit::SetStructure { index, value }, gesture: None });
    until(&mut w, "volume", |app| app.is_settled());
    w
}

fn named<'a>(app: &'a beamsight::app::App, name: &str) -> &'a Structure {
    app.state.case().structures.by_name(name).unwrap_or_else(|| panic!("{name} is there"))
}

fn cm3(w: &Window, name: &str) -> f64 {
    w.state().state.results.volume_cm3(named(w.state(), name).number).expect("a volume")
}

/// GTV to PTV with 5 mm is one click once the GTV is selected.
#[test]
fn a_ptv_is_made_of_a_gtv_with_one_button() {
    let mut w = with_gtv("contouring_ptv");
    let count = w.state().state.case().structures.structures.len();
    w.get_by_label("Create PTV").click();
    until(&mut w, "PTV", |app| app.state.case().structures.by_name("PTV").is_some() && app.is_settled());
    let ptv = named(w.state(), "PTV");
    assert_eq!(ptv.kind, StructureKind::Ptv);
    assert_eq!(w.state().state.selected_structure().map(|(_, s)| s.name.as_str()), Some("PTV"));
    let want = 4.0 / 3.0 * PI * 1.5_f64.powi(3);
    // Planes 5 mm apart: the ends are known to half of that.
    assert!((cm3(&w, "PTV") / want - 1.0).abs() < 0.1, "{}", cm3(&w, "PTV"));
    assert!(w.query_all_by_label("PTV").count() >= 1, "the tree has it");
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    assert_eq!(w.state().state.case().structures.structures.len(), count, "one step");
}

/// The margin of before is not made in place of one that was refused.
#[test]
fn a_refused_margin_makes_nothing() {
    let mut w = with_gtv("contouring_refused");
    let count = w.state().state.case().structures.structures.len();
    let type_margin = |w: &mut Window, text: &str| {
        w.get_by_label("Margin mm").click();
        w.run_steps(2);
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        w.get_by_label("Margin mm").type_text(text);
        w.run_steps(2);
        w.key_press(Key::Enter);
        w.run_steps(3);
    };
    type_margin(&mut w, "999");
    for button in ["Create PTV", "Margin changes this structure"] {
        w.get_by_label(button).click();
        w.run_steps(5);
    }
    until(&mut w, "rest", |app| app.is_settled());
    assert_eq!(w.state().state.case().structures.structures.len(), count, "nothing is made");
    type_margin(&mut w, "7");
    w.get_by_label("Create PTV").click();
    until(&mut w, "PTV", |app| app.state.case().structures.by_name("PTV").is_some() && app.is_settled());
}

/// An impossible operation is refused with a reason, and changes nothing.
#[test]
fn a_structure_shrunk_to_nothing_is_said() {
    let mut w = with_gtv("contouring_nothing");
    let before = named(w.state(), "GTV").clone();
    let shrink = Operation::Margin { grow: false, mm: [12.0; 6] };
    let action = ContouringAction { structure: before.number, operation: shrink, into: Destination::Itself };
    w.state_mut().command(Command::Contouring(action));
    until(&mut w, "notice", |app| app.state.notices.iter().any(|n| n.text.contains("thinner")));
    assert!(said(&w).contains("'GTV' is thinner than the margin everywhere"), "{}", said(&w));
    assert_eq!(named(w.state(), "GTV"), &before);
}

/// A result of a structure that changed meanwhile is not used.
#[test]
fn a_result_of_an_older_structure_is_not_used() {
    let mut w = with_gtv("contouring_stale");
    let gtv = named(w.state(), "GTV").clone();
    let into = Destination::New { name: "PTV".to_owned(), kind: StructureKind::Ptv };
    let operation = Operation::Margin { grow: true, mm: [5.0; 6] };
    let action = ContouringAction { structure: gtv.number, operation, into };
    let app = w.state_mut();
    app.command(Command::Contouring(action));
    // Before the answer is received, the GTV is changed.
    let index = app.state.case().structures.structures.iter().position(|s| s.number == gtv.number);
    let fewer = gtv.contours.iter().skip(1).cloned().collect();
    let value = Structure { contours: fewer, ..gtv };
    app.command(Command::Edit {
        edit: Edit::SetStructure { index: index.expect("there"), value },
        gesture: None,
    });
    until(&mut w, "notice", |app| app.state.notices.iter().any(|n| n.text.contains("changed meanwhile")));
    assert!(w.state().state.case().structures.by_name("PTV").is_none());
}

#[test]
fn shrinking_in_place_and_cropping_keep_the_structure() {
    let mut w = with_gtv("contouring_place");
    let number = named(w.state(), "GTV").number;
    w.get_by_label("Shrink").click();
    w.run_steps(2);
    w.get_by_label("Margin changes this structure").click();
    until(&mut w, "smaller", |app| {
        app.is_settled() && app.state.results.volume_cm3(number).is_some_and(|cm3| cm3 < 2.0)
    });
    let gtv = named(w.state(), "GTV");
    assert_eq!((gtv.number, gtv.kind), (number, StructureKind::Gtv));
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    w.get_by_label("Crop").click();
    w.run_steps(20);
    w.get_by_label("Keep outside").click();
    w.run_steps(3);
    w.get_by_label("Create GTV_crop").click();
    until(&mut w, "notice", |app| app.state.notices.iter().any(|n| n.text.contains("nothing of")));
    assert!(said(&w).contains("Crop: nothing of 'GTV' is left"), "it lies in the body: {}", said(&w));
}
