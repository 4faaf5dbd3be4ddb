//! Structures made of others by calculation: from the inspector, on the worker, as one step.

use crate::harness::{Window, said, small_case, until, window};
use beamsight::analysis::Unanswered;
use beamsight::analysis::contouring::Operation;
use beamsight::app::command::Command;
use beamsight::app::feature::goals::command::GoalAction;
use beamsight::app::feature::structures::state::{ContouringAction, Destination};
use beamsight::app::state::NoticeKind;
use beamsight::case::{Edit, Structure, StructureKind};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use std::f64::consts::PI;

/// The small case with a GTV, a sphere of 10 mm.
fn with_gtv(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "case", |app| {
        app.state.case().ct.is_some() && app.is_settled()
    });
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    w.run_steps(3);
    let app = w.state_mut();
    let shape = app
        .state
        .shapes
        .shape_of(named(app, "Sphere"))
        .expect("a shape");
    let beamsight::app::state::roi::Shape::Sphere { centre_mm, .. } = shape else {
        panic!("a sphere")
    };
    let number = named(app, "Sphere").number;
    let shape = beamsight::app::state::roi::Shape::Sphere {
        centre_mm,
        radius_mm: 10.0,
    };
    app.command(Command::Reshape {
        structure: number,
        shape,
        gesture: None,
    });
    let (index, value) = app.state.selected_structure().expect("selected");
    let value = Structure {
        name: "GTV".to_owned(),
        kind: StructureKind::Gtv,
        ..value.clone()
    };
    app.command(Command::Edit {
        edit: Edit::SetStructure { index, value }.into(),
        gesture: None,
    });
    until(&mut w, "volume", |app| app.is_settled());
    w
}

fn named<'a>(app: &'a beamsight::app::App, name: &str) -> &'a Structure {
    app.state
        .case()
        .structures
        .by_name(name)
        .unwrap_or_else(|| panic!("{name} is there"))
}

fn cm3(w: &Window, name: &str) -> f64 {
    w.state()
        .state
        .results
        .volume_cm3(named(w.state(), name).number)
        .expect("a volume")
}

/// GTV to PTV with 5 mm is one click once the GTV is selected.
#[test]
fn a_ptv_is_made_of_a_gtv_with_one_button() {
    let mut w = with_gtv("contouring_ptv");
    let count = w.state().state.case().structures.structures.len();
    w.get_by_label("Create PTV").click();
    until(&mut w, "PTV", |app| {
        app.state.case().structures.by_name("PTV").is_some() && app.is_settled()
    });
    let ptv = named(w.state(), "PTV");
    assert_eq!(ptv.kind, StructureKind::Ptv);
    assert_eq!(
        w.state()
            .state
            .selected_structure()
            .map(|(_, s)| s.name.as_str()),
        Some("PTV")
    );
    let want = 4.0 / 3.0 * PI * 1.5_f64.powi(3);
    // Planes 5 mm apart: the ends are known to half of that.
    assert!(
        (cm3(&w, "PTV") / want - 1.0).abs() < 0.1,
        "{}",
        cm3(&w, "PTV")
    );
    assert!(w.query_all_by_label("PTV").count() >= 1, "the tree has it");
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    assert_eq!(
        w.state().state.case().structures.structures.len(),
        count,
        "one step"
    );
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
    assert_eq!(
        w.state().state.case().structures.structures.len(),
        count,
        "nothing is made"
    );
    type_margin(&mut w, "7");
    w.get_by_label("Create PTV").click();
    until(&mut w, "PTV", |app| {
        app.state.case().structures.by_name("PTV").is_some() && app.is_settled()
    });
}

/// An impossible operation is refused with a reason, and changes nothing.
#[test]
fn a_structure_shrunk_to_nothing_is_said() {
    let mut w = with_gtv("contouring_nothing");
    let before = named(w.state(), "GTV").clone();
    let shrink = Operation::Margin {
        grow: false,
        mm: [12.0; 6],
    };
    let action = ContouringAction {
        structure: before.number,
        operation: shrink,
        into: Destination::Itself,
    };
    w.state_mut().command(Command::Contouring(action));
    until(&mut w, "notice", |app| {
        app.state.notices.iter().any(|n| n.text.contains("thinner"))
    });
    assert!(
        said(&w).contains("'GTV' is thinner than the margin everywhere"),
        "{}",
        said(&w)
    );
    assert_eq!(named(w.state(), "GTV"), &before);
}

/// A result of a structure that changed meanwhile is not used.
#[test]
fn a_result_of_an_older_structure_is_not_used() {
    let mut w = with_gtv("contouring_stale");
    let gtv = named(w.state(), "GTV").clone();
    let into = Destination::New {
        name: "PTV".to_owned(),
        kind: StructureKind::Ptv,
    };
    let operation = Operation::Margin {
        grow: true,
        mm: [5.0; 6],
    };
    let action = ContouringAction {
        structure: gtv.number,
        operation,
        into,
    };
    let app = w.state_mut();
    app.command(Command::Contouring(action));
    // Before the answer is received, the GTV is changed.
    let index = app
        .state
        .case()
        .structures
        .structures
        .iter()
        .position(|s| s.number == gtv.number);
    let fewer = gtv.contours.iter().skip(1).cloned().collect();
    let value = Structure {
        contours: fewer,
        ..gtv
    };
    app.command(Command::Edit {
        edit: Edit::SetStructure {
            index: index.expect("there"),
            value,
        }
        .into(),
        gesture: None,
    });
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("changed meanwhile"))
    });
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
        app.is_settled()
            && app
                .state
                .results
                .volume_cm3(number)
                .is_some_and(|cm3| cm3 < 2.0)
    });
    let gtv = named(w.state(), "GTV");
    assert_eq!((gtv.number, gtv.kind), (number, StructureKind::Gtv));
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    w.get_by_label("Crop").click();
    w.run_steps(20);
    w.get_by_label("Keep outside").click();
    w.run_steps(3);
    w.get_by_label("Create GTV_crop").scroll_to_me();
    w.run_steps(4);
    w.get_by_label("Create GTV_crop").click();
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("nothing of"))
    });
    assert!(
        said(&w).contains("Crop: nothing of 'GTV' is left"),
        "it lies in the body: {}",
        said(&w)
    );
}

/// Opens a part of the inspector.
fn open(w: &mut Window, part: &str) {
    w.get_by_label(part).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(part).click();
    w.run_steps(20);
}

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(button).click();
    w.run_steps(4);
}

fn undo(w: &mut Window) {
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
}

/// Least and greatest coordinate of the contours along an axis of the patient.
fn reach(w: &Window, name: &str, axis: usize) -> [f64; 2] {
    let points = named(w.state(), name)
        .contours
        .iter()
        .flat_map(|c| c.points_mm.clone());
    let along: Vec<f64> = points.map(|p| p[axis]).collect();
    [
        along.iter().copied().fold(f64::MAX, f64::min),
        along.iter().copied().fold(f64::MIN, f64::max),
    ]
}

/// Slices and sides are cleared in every view, of all structures on show at once, each as one step.
#[test]
fn slices_and_sides_are_cleared_and_undone() {
    let mut w = with_gtv("contouring_clear");
    press(&mut w, "Create PTV");
    until(&mut w, "PTV", |app| {
        app.state.case().structures.by_name("PTV").is_some() && app.is_settled()
    });
    let ptv = named(w.state(), "PTV").clone();
    let middle = 0.5 * (reach(&w, "PTV", 0)[0] + reach(&w, "PTV", 0)[1]);
    open(&mut w, "Slices");
    press(&mut w, "Clear Sagittal slices");
    press(&mut w, "Delete left");
    until(&mut w, "right half", |app| {
        app.is_settled() && named(app, "PTV").contours.id() != ptv.contours.id()
    });
    let [right, left] = reach(&w, "PTV", 0);
    assert!(
        right < middle - 10.0 && left <= middle + 5.0,
        "{right} {left}"
    );
    undo(&mut w);
    assert_eq!(named(w.state(), "PTV"), &ptv, "one step");
    // All on show: the body stays.
    let body = w.state().state.case().structures.structures[0].clone();
    let gtv = named(w.state(), "GTV").clone();
    press(&mut w, "All 2 shown");
    press(&mut w, "Clear Axial slices");
    press(&mut w, "Delete superior");
    until(&mut w, "both", |app| {
        app.is_settled()
            && [&ptv, &gtv]
                .iter()
                .all(|s| named(app, &s.name).contours.len() < s.contours.len())
    });
    assert_eq!(w.state().state.case().structures.structures[0], body);
    undo(&mut w);
    assert_eq!(
        (named(w.state(), "PTV"), named(w.state(), "GTV")),
        (&ptv, &gtv),
        "one step for both"
    );
    // A slice in which there is nothing is said.
    w.state_mut()
        .command(Command::CentreOn(glam::DVec3::new(0.0, 0.0, 28.0)));
    w.run_steps(3);
    press(&mut w, "Clear slice");
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("has nothing there"))
    });
    assert_eq!(named(w.state(), "PTV"), &ptv);
}

/// Slices that were left out are counted, and filling them is a success.
#[test]
fn key_slices_say_that_gaps_are_filled_and_interpolation_is_a_success() {
    let mut w = with_gtv("contouring_key_slices");
    let gtv = named(w.state(), "GTV").clone();
    let planes: std::collections::BTreeSet<i64> = gtv
        .contours
        .iter()
        .map(|c| (c.points_mm[0].z * 10.0).round() as i64)
        .collect();
    let (low, high) = (
        planes.first().expect("a plane"),
        planes.last().expect("a plane"),
    );
    let ends = gtv
        .contours
        .iter()
        .filter(|c| [*low, *high].contains(&((c.points_mm[0].z * 10.0).round() as i64)));
    let (left_out, index) = (
        planes.len() - 2,
        w.state().state.selected_structure().expect("selected").0,
    );
    let value = Structure {
        contours: ends.cloned().collect(),
        ..gtv
    };
    w.state_mut().command(Command::Edit {
        edit: Edit::SetStructure { index, value }.into(),
        gesture: None,
    });
    until(&mut w, "volume", |app| app.is_settled());
    open(&mut w, "Slices");
    let words = format!("2 slices drawn; the {left_out} between them take the nearest contours");
    assert!(w.query_by_label(&words).is_some(), "{words}");
    press(&mut w, "Interpolate");
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("interpolated"))
    });
    let kinds: Vec<NoticeKind> = w.state().state.notices.iter().map(|n| n.kind).collect();
    assert_eq!(kinds, [NoticeKind::Success], "{}", said(&w));
    assert!(
        w.query_by_label(&format!(
            "{} slices drawn, none left out between them",
            planes.len()
        ))
        .is_some()
    );
}

/// A template's goals of both lungs find no structure in a case with a left and a right lung: one click makes it.
#[test]
fn goals_of_the_lungs_make_their_structure() {
    let mut w = with_gtv("contouring_goals_of_lungs");
    for name in ["Lung-Left", "Lung-Right"] {
        let mut lung = w.state().state.case().structures.structures[0].clone();
        let number = w.state().state.case().free_number();
        (lung.name, lung.number, lung.kind) = (name.to_owned(), number, StructureKind::Organ);
        w.state_mut().command(Command::Edit {
            edit: Edit::AddStructure(lung).into(),
            gesture: None,
        });
    }
    w.state_mut()
        .command(Command::Goals(GoalAction::Template("rtog-0617-lung")));
    w.state_mut()
        .command(Command::Goals(GoalAction::InPlaceOfMetrics(true)));
    until(&mut w, "rest", |app| app.is_settled());
    w.run_steps(3);
    crate::harness::click(&mut w, "Make Lungs-GTV");
    until(&mut w, "lungs", |app| {
        app.state.case().structures.by_name("Lungs-GTV").is_some() && app.is_settled()
    });
    w.run_steps(3);
    assert!(w.query_by_label("Make Lungs-GTV").is_none());
    let rows = w.state().state.scorecard();
    let of_lungs: Vec<_> = rows
        .iter()
        .filter(|row| row.goal.structure == "Lungs-GTV")
        .collect();
    assert_eq!(of_lungs.len(), 2);
    assert!(
        !of_lungs
            .iter()
            .any(|row| matches!(row.answer, Err(Unanswered::NoStructure(_)))),
        "{of_lungs:?}"
    );
    // Both lungs are the cube here.
    let lost = cm3(&w, "Lung-Left") - cm3(&w, "Lungs-GTV");
    assert!((lost / cm3(&w, "GTV") - 1.0).abs() < 0.05, "{lost}");
}

/// From the menu of new structures: a ring round the target inside the body, lungs without it, and a site's structures.
#[test]
fn rings_lungs_and_the_structures_of_a_site_are_one_click() {
    let mut w = with_gtv("contouring_one_click");
    let new = |w: &mut Window, entry: &str| {
        w.get_by_label("New structure").click();
        w.run_steps(4);
        w.get_by_label(entry).click();
        w.run_steps(4);
    };
    new(&mut w, "Ring round targets");
    let ring = "GTV_ring_5-20mm";
    until(&mut w, "ring", |app| {
        app.state.case().structures.by_name(ring).is_some() && app.is_settled()
    });
    // The cube of 40 mm holds all of it: what is within 30 mm of the middle, less the ball of 15 mm.
    let want = 64.0 - 4.0 / 3.0 * PI * 1.5_f64.powi(3);
    let got = cm3(&w, ring);
    assert!(got < want * 1.1 && got > want * 0.6, "{got} of {want}");
    undo(&mut w);
    assert!(
        w.state().state.case().structures.by_name(ring).is_none(),
        "one step"
    );
    // The only lung of this patient is the cube.
    let mut lung = w.state().state.case().structures.structures[0].clone();
    (lung.name, lung.number, lung.kind) = (
        "Lungs".to_owned(),
        w.state().state.case().free_number(),
        StructureKind::Organ,
    );
    w.state_mut().command(Command::Edit {
        edit: Edit::AddStructure(lung).into(),
        gesture: None,
    });
    until(&mut w, "volume", |app| app.is_settled());
    new(&mut w, "Lungs minus GTV");
    until(&mut w, "lungs", |app| {
        app.state.case().structures.by_name("Lungs-GTV").is_some() && app.is_settled()
    });
    let lost = cm3(&w, "Lungs") - cm3(&w, "Lungs-GTV");
    assert!((lost / cm3(&w, "GTV") - 1.0).abs() < 0.05, "{lost}");
    let before = w.state().state.case().structures.structures.len();
    w.get_by_label("New structure").click();
    w.run_steps(4);
    w.get_by_label("From template").click();
    w.run_steps(8);
    w.get_by_label("Thorax").click();
    w.run_steps(4);
    // Of 14, the body and the GTV are there.
    assert_eq!(
        w.state().state.case().structures.structures.len(),
        before + 12,
        "{}",
        said(&w)
    );
    assert!(
        said(&w).contains("Thorax: 12 structures added, to be drawn; 2 were there."),
        "{}",
        said(&w)
    );
    assert_eq!(named(w.state(), "Heart").kind, StructureKind::Organ);
    undo(&mut w);
    assert_eq!(
        w.state().state.case().structures.structures.len(),
        before,
        "one step"
    );
}
