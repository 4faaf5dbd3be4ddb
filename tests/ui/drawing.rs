//! Contours drawn by hand: brush, sphere brush, eraser, polygon and freehand, on axial, sagittal and coronal planes.

use crate::harness::{Window, fill_in, said, small_case, until, window};
use beamsight::app::App;
use beamsight::app::command::Command;
use beamsight::app::feature::draw::command::DrawAction;
use beamsight::app::feature::draw::state::Tool;
use beamsight::app::state::roi::Shape;
use beamsight::case::{LOOK_ALIKE, Structure, StructureKind, colour_distance};
use eframe::egui::{
    Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Pos2, Rect, TouchPhase, Vec2, vec2,
};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use std::f64::consts::PI;

/// Planes and pixels of the small case, mm.
const VOXEL_MM: f64 = 5.0;

/// The small case with a PTV without contours, and the brush in the hand.
fn with_ptv(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.state.case().structures.by_number(1).is_some()
    });
    add(&mut w, "PTV");
    assert_eq!(w.state().state.drawing.tool, Some(Tool::Brush));
    w
}

fn add(w: &mut Window, kind: &str) {
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label(kind).click();
    w.run_steps(3);
}

fn draw(w: &mut Window, action: DrawAction) {
    w.state_mut().command(Command::Draw(action));
    w.run_steps(2);
}

fn ptv(app: &App) -> &Structure {
    app.state.case().structures.by_number(2).expect("the PTV")
}

fn view(w: &Window, name: &str) -> Rect {
    w.get_by_label(name).rect()
}

/// Points a mm: all of the CT, 60 mm a side, is fitted with a margin of 3 %.
fn scale(rect: Rect) -> f32 {
    rect.width().min(rect.height()) / (60.0 * 1.03)
}

/// Presses at the first point, moves along the others and lets go at the last; mm from the middle of the view.
fn stroke(w: &mut Window, view_name: &str, way_mm: &[[f32; 2]]) {
    let rect = view(w, view_name);
    let at = |[x, y]: [f32; 2]| rect.center() + vec2(x, y) * scale(rect);
    let points: Vec<Pos2> = way_mm.iter().map(|p| at(*p)).collect();
    w.hover_at(points[0]);
    w.run_steps(1);
    w.drag_at(points[0]);
    w.run_steps(1);
    for point in &points[1..] {
        w.hover_at(*point);
        w.run_steps(1);
    }
    w.drop_at(points[points.len() - 1]);
    w.run_steps(2);
}

fn click(w: &mut Window, view_name: &str, at_mm: [f32; 2]) {
    stroke(w, view_name, &[at_mm]);
}

/// Area of all contours, even-odd, mm2: holes lie in the polygons round them.
fn area_mm2(structure: &Structure) -> f64 {
    let areas = structure.contours.iter().map(|c| {
        let points = &c.points_mm;
        let next = points.iter().cycle().skip(1);
        0.5 * points
            .iter()
            .zip(next)
            .map(|(a, b)| a.x * b.y - a.y * b.x)
            .sum::<f64>()
            .abs()
    });
    let areas: Vec<f64> = areas.collect();
    let largest = areas.iter().copied().fold(0.0, f64::max);
    2.0 * largest - areas.iter().sum::<f64>()
}

fn near(got: f64, want: f64, share: f64) {
    assert!((got / want - 1.0).abs() < share, "{got} for {want}");
}

#[test]
fn a_click_of_the_brush_is_a_disc_with_a_volume_and_a_dvh() {
    let mut w = with_ptv("drawing_disc");
    assert_eq!(
        w.state().state.results.volume_cm3(2),
        None,
        "without contours there is no volume"
    );
    w.get_by_label("no contours: no volume, no dose");
    click(&mut w, "Axial", [3.0, -2.0]);
    assert_eq!(ptv(w.state()).contours.len(), 1);
    near(area_mm2(ptv(w.state())), PI * 100.0, 0.01);
    let points = &ptv(w.state()).contours[0].points_mm;
    let middle = points.iter().copied().sum::<DVec3>() / points.len() as f64;
    assert!(middle.x > 2.0 && middle.y < -1.0, "{middle}");
    until(&mut w, "DVH", |app| {
        app.is_settled() && app.state.results.dvh(2).is_some()
    });
    let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
    near(cm3, PI * 100.0 * VOXEL_MM / 1000.0, 0.01);
    // Erased to nothing, no figure stands.
    draw(&mut w, DrawAction::Diameter(60.0));
    w.key_press(Key::E);
    w.run_steps(2);
    click(&mut w, "Axial", [0.0, 0.0]);
    assert!(ptv(w.state()).contours.is_empty());
    until(&mut w, "end", App::is_settled);
    assert!(
        w.state().state.results.dvh(2).is_none() && w.state().state.results.volume_cm3(2).is_none()
    );
}

/// The right end of the selected structure's outlines in a view, as they are drawn in the last frame, points.
fn drawn_to(w: &Window, rect: Rect) -> f32 {
    let shapes = w
        .output()
        .shapes
        .iter()
        .filter(|s| rect.contains_rect(s.clip_rect.shrink(1.0)));
    let outlines = shapes.filter_map(|s| match &s.shape {
        eframe::egui::Shape::Path(path) if path.closed && path.stroke.width > 2.0 => {
            Some(path.visual_bounding_rect().max.x)
        }
        _ => None,
    });
    outlines.fold(f32::NEG_INFINITY, f32::max)
}

#[test]
fn a_stroke_is_drawn_in_the_frame_of_the_pointer() {
    let mut w = with_ptv("drawing_frame");
    let rect = view(&w, "Axial");
    let at = |x_mm: f32| rect.center() + vec2(x_mm, 0.0) * scale(rect);
    w.hover_at(at(0.0));
    w.run_steps(1);
    w.drag_at(at(0.0));
    w.run_steps(1);
    for x_mm in [2.0, 5.0, 9.0] {
        w.hover_at(at(x_mm));
        w.step();
        // The brush has a radius of 10 mm.
        let (drawn, want) = (drawn_to(&w, rect), at(x_mm + 10.0).x);
        assert!((drawn - want).abs() < 3.0, "{drawn} for {want}");
    }
    w.drop_at(at(9.0));
    w.run_steps(2);
}

#[test]
fn one_stroke_is_one_step() {
    let mut w = with_ptv("drawing_stroke");
    let way: Vec<[f32; 2]> = (0..=10).map(|n| [-10.0 + 2.0 * n as f32, 0.0]).collect();
    stroke(&mut w, "Axial", &way);
    let capsule = PI * 100.0 + 20.0 * 20.0;
    near(area_mm2(ptv(w.state())), capsule, 0.01);
    stroke(&mut w, "Axial", &[[0.0, -12.0], [0.0, 0.0], [0.0, 12.0]]);
    assert!(area_mm2(ptv(w.state())) > 1.1 * capsule);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    near(area_mm2(ptv(w.state())), capsule, 0.01);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert!(ptv(w.state()).contours.is_empty());
    w.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    w.run_steps(2);
    near(area_mm2(ptv(w.state())), capsule, 0.01);
}

#[test]
fn erasing_makes_a_hole_and_shift_does_the_other() {
    let mut w = with_ptv("drawing_hole");
    click(&mut w, "Axial", [0.0, 0.0]);
    draw(&mut w, DrawAction::Diameter(8.0));
    w.event(Event::ModifiersChanged(Modifiers::SHIFT));
    w.run_steps(1);
    click(&mut w, "Axial", [1.0, 0.0]);
    w.event(Event::ModifiersChanged(Modifiers::NONE));
    w.run_steps(1);
    assert_eq!(ptv(w.state()).contours.len(), 2, "a hole");
    near(area_mm2(ptv(w.state())), PI * (100.0 - 16.0), 0.01);
    // With the eraser shift draws.
    w.get_by_label("Erase").click();
    w.run_steps(2);
    assert!(w.state().state.drawing.erase);
    w.event(Event::ModifiersChanged(Modifiers::SHIFT));
    w.run_steps(1);
    click(&mut w, "Axial", [1.0, 0.0]);
    w.event(Event::ModifiersChanged(Modifiers::NONE));
    w.run_steps(1);
    near(area_mm2(ptv(w.state())), PI * 100.0, 0.01);
}

#[test]
fn the_sphere_brush_draws_a_ball_in_every_view() {
    for name in ["Axial", "Sagittal", "Coronal"] {
        let mut w = with_ptv("drawing_sphere");
        w.get_by_label("Sphere brush").click();
        w.run_steps(2);
        draw(&mut w, DrawAction::Diameter(36.0));
        click(&mut w, name, [1.0, 2.0]);
        until(&mut w, "volume", |app| {
            app.state.results.volume_cm3(2).is_some()
        });
        let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
        near(cm3, 4.0 / 3.0 * PI * 1.8_f64.powi(3), 0.03);
    }
}

/// Chords of a circle of 10 mm on planes 5 mm apart, each one pixel thick.
#[test]
fn the_brush_draws_a_slab_of_one_pixel_on_sagittal_and_coronal_planes() {
    for (name, across) in [("Sagittal", DVec3::X), ("Coronal", DVec3::Y)] {
        let mut w = with_ptv("drawing_across");
        click(&mut w, name, [0.0, 0.0]);
        let structure = ptv(w.state());
        assert!(
            structure.contours.len() >= 4,
            "{name}: {}",
            structure.contours.len()
        );
        for contour in &structure.contours {
            let along = contour.points_mm.iter().map(|p| p.dot(across));
            let (low, high) = along.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            assert!(
                (high - low - VOXEL_MM).abs() < 1e-6,
                "{name}: {low} to {high}"
            );
        }
        until(&mut w, "volume", |app| {
            app.state.results.volume_cm3(2).is_some()
        });
        let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
        near(cm3, PI * 100.0 * VOXEL_MM / 1000.0, 0.08);
    }
}

#[test]
fn a_polygon_is_clicked_closed_dropped_and_taken_back() {
    let mut w = with_ptv("drawing_polygon");
    w.key_press(Key::G);
    w.run_steps(2);
    assert_eq!(w.state().state.drawing.tool, Some(Tool::Polygon));
    for corner in [
        [-10.0, -10.0],
        [10.0, -10.0],
        [10.0, 10.0],
        [-10.0, 10.0],
        [0.0, 0.0],
    ] {
        click(&mut w, "Axial", corner);
    }
    w.key_press(Key::Backspace);
    w.run_steps(2);
    assert!(ptv(w.state()).contours.is_empty(), "not closed yet");
    w.key_press(Key::Enter);
    w.run_steps(2);
    near(area_mm2(ptv(w.state())), 400.0, 0.02);
    click(&mut w, "Axial", [-20.0, -20.0]);
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert!(w.state().state.drawing.outline.is_none(), "dropped");
    assert_eq!(w.state().state.drawing.tool, Some(Tool::Polygon));
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert_eq!(w.state().state.drawing.tool, None);
    near(area_mm2(ptv(w.state())), 400.0, 0.02);
}

#[test]
fn a_freehand_line_is_closed_where_it_ends() {
    let mut w = with_ptv("drawing_freehand");
    w.get_by_label("Freehand").click();
    w.run_steps(2);
    let round: Vec<[f32; 2]> = (0..60)
        .map(|n| (n as f32 * 6.0).to_radians().sin_cos())
        .map(|(s, c)| [12.0 * c, 12.0 * s])
        .collect();
    stroke(&mut w, "Axial", &round);
    near(area_mm2(ptv(w.state())), PI * 144.0, 0.03);
    // In the sagittal view it is one pixel thick: nothing changes on other columns, and a step is undone at once.
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert!(ptv(w.state()).contours.is_empty());
    stroke(&mut w, "Sagittal", &round);
    until(&mut w, "volume", |app| {
        app.state.results.volume_cm3(2).is_some()
    });
    let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
    near(cm3, PI * 144.0 * VOXEL_MM / 1000.0, 0.08);
}

#[test]
fn the_size_follows_keys_and_the_wheel_and_a_slice_stays() {
    let mut w = with_ptv("drawing_size");
    let size = |w: &Window| w.state().state.drawing.diameter_mm;
    assert_eq!(size(&w), 20.0);
    w.key_press(Key::CloseBracket);
    w.run_steps(2);
    assert_eq!(size(&w), 22.0);
    w.key_press(Key::OpenBracket);
    w.run_steps(2);
    assert_eq!(size(&w), 20.0);
    let before = w.state().state.crosshair_mm;
    let middle = view(&w, "Axial").center();
    w.hover_at(middle);
    w.run_steps(1);
    w.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: Vec2::new(0.0, 1.0),
        phase: TouchPhase::Move,
        modifiers: Modifiers::SHIFT,
        source: MouseWheelSource::Wheel,
    });
    w.run_steps(2);
    assert_eq!(size(&w), 22.0);
    assert_eq!(
        w.state().state.crosshair_mm,
        before,
        "the wheel did not page"
    );
}

#[test]
fn without_a_tool_a_drag_moves_the_crosshair_and_outside_the_ct_nothing_is_drawn() {
    let mut w = with_ptv("drawing_leave");
    draw(&mut w, DrawAction::Diameter(10.0));
    click(&mut w, "Axial", [36.0, 0.0]);
    assert!(ptv(w.state()).contours.is_empty(), "outside the CT");
    let before = w.state().state.crosshair_mm;
    stroke(&mut w, "Axial", &[[0.0, 0.0], [5.0, 0.0], [10.0, 5.0]]);
    assert_eq!(
        w.state().state.crosshair_mm,
        before,
        "the brush has the drag"
    );
    let drawn = ptv(w.state()).contours.clone();
    assert!(!drawn.is_empty());
    w.key_press(Key::Escape);
    w.run_steps(2);
    assert_eq!(w.state().state.drawing.tool, None);
    let rect = view(&w, "Axial");
    let cross = vec2(before.x as f32, before.y as f32) * scale(rect);
    let at = [cross.x / scale(rect), cross.y / scale(rect)];
    stroke(
        &mut w,
        "Axial",
        &[at, [at[0] + 5.0, at[1]], [at[0] + 10.0, at[1]]],
    );
    assert!(
        (w.state().state.crosshair_mm.x - before.x - 10.0).abs() < 3.0,
        "the crosshair moved"
    );
    assert_eq!(ptv(w.state()).contours, drawn);
}

#[test]
fn a_sphere_that_is_drawn_on_is_a_sphere_no_more() {
    let mut w = with_ptv("drawing_shape");
    add(&mut w, "Sphere");
    let sphere = |w: &Window| {
        let case = w.state().state.case();
        let own = case.structures.by_number(3).expect("the sphere");
        w.state().state.shapes.shape_of(own)
    };
    assert!(matches!(sphere(&w), Some(Shape::Sphere { .. })));
    w.key_press(Key::P);
    w.run_steps(2);
    click(&mut w, "Axial", [20.0, 0.0]);
    assert_eq!(sphere(&w), None);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert!(sphere(&w).is_some(), "undone");
}

#[test]
fn structures_have_names_and_colours_of_their_own() {
    let mut w = with_ptv("drawing_names");
    for kind in [StructureKind::Ptv, StructureKind::Organ] {
        draw(&mut w, DrawAction::New(kind));
    }
    add(&mut w, "Sphere");
    add(&mut w, "Box");
    for _ in 0..2 {
        draw(&mut w, DrawAction::New(StructureKind::Other));
    }
    let structures = w.state().state.case().structures.structures.clone();
    let names: Vec<&str> = structures.iter().skip(1).map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["PTV", "PTV 2", "Organ", "Sphere", "Box", "Other", "Other 2"]
    );
    for (n, a) in structures.iter().enumerate() {
        for b in &structures[n + 1..] {
            let distance = colour_distance(a.colour, b.colour);
            assert!(
                distance > LOOK_ALIKE,
                "{} and {}: {distance}",
                a.name,
                b.name
            );
        }
    }
    // A name that another has is refused, and the refusal said.
    fill_in(&mut w, "Structure name", "ptv");
    assert!(said(&w).contains("PTV"), "{}", said(&w));
    assert_eq!(
        w.state().state.case().structures.structures[7].name,
        "Other 2"
    );
}
