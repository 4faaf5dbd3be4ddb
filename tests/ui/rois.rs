//! Regions of interest: placed, sized and coloured by dragging, in every view; volume and DVH are updated.

use crate::harness::{Window, fill_in, small_case, until, window};
use beamsight::app::App;
use beamsight::app::state::roi::Shape;
use beamsight::case::{Rgb, Structure};
use eframe::egui::{Key, Modifiers, Pos2, Rect, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::f64::consts::PI;

/// The small case with its dose, and a new shape in the middle of it.
fn with_new(name: &str, shape: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label(shape).click();
    settled(&mut w);
    w
}

fn settled(w: &mut Window) {
    w.run_steps(2);
    until(w, "DVH of the shape", |app| {
        app.is_settled() && app.state.results.dvh(2).is_some()
    });
}

fn structure(app: &App) -> &Structure {
    app.state
        .case()
        .structures
        .structures
        .iter()
        .find(|s| s.number == 2)
        .expect("the new structure")
}

fn shape(w: &Window) -> Shape {
    w.state()
        .state
        .shapes
        .shape_of(structure(w.state()))
        .expect("still a shape")
}

fn drag(w: &mut Window, from: Pos2, by: Vec2) {
    w.hover_at(from);
    w.run_steps(2);
    w.drag_at(from);
    w.run_steps(2);
    for part in 1..=4 {
        w.hover_at(from + by * (part as f32 / 4.0));
        w.run_steps(1);
    }
    w.drop_at(from + by);
    settled(w);
}

fn view(w: &Window, name: &str) -> Rect {
    w.get_by_label(name).rect()
}

/// Points a mm in a view: from the fitted box of 40 mm with 20 mm round it inside a 60 mm CT (slices), or
/// from the initial 260 mm of the beam's-eye view.
fn points_per_mm(name: &str, rect: Rect) -> f32 {
    let shown = if name == "Beam's eye" {
        260.0
    } else {
        60.0 * 1.03
    };
    rect.width().min(rect.height()) / shown
}

/// Screen right and down in patient LPS; the one beam comes from the front (HFS, gantry 0).
const VIEWS: [(&str, DVec3, DVec3); 4] = [
    ("Axial", DVec3::X, DVec3::Y),
    ("Sagittal", DVec3::Y, DVec3::NEG_Z),
    ("Coronal", DVec3::X, DVec3::NEG_Z),
    ("Beam's eye", DVec3::X, DVec3::NEG_Z),
];

#[test]
fn a_sphere_is_placed_and_sized_by_dragging_in_every_view() {
    for (name, right, down) in VIEWS {
        let mut w = with_new("rois_sphere", "Sphere");
        let rect = view(&w, name);
        let scale = points_per_mm(name, rect);
        // Moved by 6 mm to the right and 4 mm down, at its depth.
        let by = vec2(6.0, 4.0) * scale;
        drag(&mut w, rect.center(), by);
        let Shape::Sphere {
            centre_mm,
            radius_mm,
        } = shape(&w)
        else {
            panic!("a sphere")
        };
        let want = right * 6.0 + down * 4.0;
        assert!(
            centre_mm.distance(want) < 0.6,
            "{name}: at {centre_mm}, not {want}"
        );
        assert_eq!(radius_mm, 20.0, "{name}");
        // Its rim is dragged from 20 mm to 12 mm.
        let middle = rect.center() + by;
        drag(
            &mut w,
            middle + vec2(20.0 * scale, 0.0),
            vec2(-8.0 * scale, 0.0),
        );
        let Shape::Sphere {
            centre_mm: stayed,
            radius_mm,
        } = shape(&w)
        else {
            panic!("a sphere")
        };
        assert!(
            (radius_mm - 12.0).abs() < 0.6 && stayed == centre_mm,
            "{name}: {radius_mm} at {stayed}"
        );
        // The resulting volume: 4/3 pi r^3, on planes 5 mm apart.
        let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
        let want = 4.0 / 3.0 * PI * (radius_mm / 10.0).powi(3);
        assert!(
            (cm3 / want - 1.0).abs() < 0.08,
            "{name}: {cm3} cm3, not {want}"
        );
        let dvh = w.state().state.results.dvh(2).expect("a DVH");
        assert!(
            (dvh.volume_cm3() / cm3 - 1.0).abs() < 1e-6,
            "{name}: the DVH is of the new shape"
        );
        // One drag is one undo step.
        w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        settled(&mut w);
        assert_eq!(
            shape(&w),
            Shape::Sphere {
                centre_mm,
                radius_mm: 20.0
            },
            "{name}"
        );
    }
}

#[test]
fn a_face_of_a_box_is_dragged_in_a_slice_and_from_the_beams_eye() {
    for (name, out) in [("Coronal", DVec3::Z), ("Beam's eye", DVec3::Z)] {
        let mut w = with_new("rois_box", "Box");
        let rect = view(&w, name);
        let scale = points_per_mm(name, rect);
        // The upper face (towards the head) is dragged from 20 mm to 10 mm: the lower one stays.
        drag(
            &mut w,
            rect.center() - vec2(0.0, 20.0 * scale),
            vec2(0.0, 10.0 * scale),
        );
        let Shape::Box { centre_mm, size_mm } = shape(&w) else {
            panic!("a box")
        };
        assert!(
            (size_mm.z - 30.0).abs() < 0.6 && size_mm.x == 40.0 && size_mm.y == 40.0,
            "{name}: {size_mm}"
        );
        assert!(
            (centre_mm - out * -5.0).length() < 0.4,
            "{name}: {centre_mm}"
        );
        let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
        assert!(
            (cm3 - 48.0).abs() < 9.0,
            "{name}: {cm3} cm3 on planes 5 mm apart"
        );
    }
}

#[test]
fn a_structure_is_renamed_recoloured_and_deleted() {
    let mut w = with_new("rois_name", "Sphere");
    let before = structure(w.state()).colour;
    w.get_by_label("Structure colour").click();
    w.run_steps(3);
    // Two thirds across the field, half-way down, is full blue.
    let field = w.get_by_label("Structure colour field").rect();
    let to = field.lerp_inside(vec2(2.0 / 3.0, 0.5));
    drag_only(&mut w, field.center(), to - field.center());
    let Rgb([r, g, b]) = structure(w.state()).colour;
    assert!(r < 8 && g < 8 && b > 247, "{r} {g} {b}");
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert_eq!(
        structure(w.state()).colour,
        before,
        "a drag over the field is one step"
    );
    w.key_press(Key::Escape);
    w.run_steps(3);
    fill_in(&mut w, "Structure name", "Boost");
    assert_eq!(structure(w.state()).name, "Boost");
    assert!(
        w.query_all_by_label("Boost").count() >= 1,
        "the tree has the new name"
    );
    w.get_by_label("Delete structure").click();
    w.run_steps(3);
    assert!(
        w.state()
            .state
            .case()
            .structures
            .structures
            .iter()
            .all(|s| s.number != 2)
    );
}

fn drag_only(w: &mut Window, from: Pos2, by: Vec2) {
    w.hover_at(from);
    w.run_steps(1);
    w.drag_at(from);
    w.run_steps(1);
    w.hover_at(from + by);
    w.run_steps(2);
    w.drop_at(from + by);
    w.run_steps(2);
}
