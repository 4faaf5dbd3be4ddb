//! The room: shown in the place of the beam's-eye view, orbited, the gantry dragged in it, clearances told.

use crate::harness::{Window, small_case, until, window};
use beamsight::app::state::display::DoseReference;
use beamsight::case::{DoseStatus, Edit};
use eframe::egui::{Key, Modifiers, PointerButton, Pos2, Rect, Vec2, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;

/// The height of the first view, mm.
const SHOWN_MM: f32 = 1250.0;

/// The small case with its dose, in the room.
fn room(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w.get_by_label("Room").click();
    until(&mut w, "surface", |app| {
        app.state.results.surface(1).is_some() && app.is_settled()
    });
    w
}

fn rect(w: &Window) -> Rect {
    w.get_by_label("Room view").rect()
}

fn drag(w: &mut Window, button: PointerButton, from: Pos2, by: Vec2) {
    let press = |pos, pressed| eframe::egui::Event::PointerButton {
        pos,
        button,
        pressed,
        modifiers: Modifiers::NONE,
    };
    w.hover_at(from);
    w.run_steps(2);
    w.event(press(from, true));
    w.run_steps(2);
    for part in 1..=5 {
        w.hover_at(from + by * (part as f32 / 5.0));
        w.run_steps(1);
    }
    w.event(press(from + by, false));
    w.run_steps(3);
}

/// Number of pixels of the room, without its rims, that differ.
fn changed(w: &mut Window, before: &[u8], rect: Rect) -> (usize, Vec<u8>) {
    let after = pixels(w, rect);
    (
        before
            .chunks(4)
            .zip(after.chunks(4))
            .filter(|(a, b)| a != b)
            .count(),
        after,
    )
}

fn pixels(w: &mut Window, rect: Rect) -> Vec<u8> {
    let image = w.render().expect("a picture");
    let inner = rect.shrink(60.0);
    let rows = inner.min.y as u32..inner.max.y as u32;
    rows.flat_map(|y| (inner.min.x as u32..inner.max.x as u32).map(move |x| (x, y)))
        .flat_map(|(x, y)| image.get_pixel(x, y).0)
        .collect()
}

#[test]
fn the_room_is_switched_to_orbited_and_seen_from_presets() {
    let mut w = room("room_orbit");
    assert!(
        w.query_by_label("Beam's eye").is_none(),
        "it takes the place of the beam's-eye view"
    );
    let r = rect(&w);
    let first = pixels(&mut w, r);
    assert!(
        first.chunks(4).any(|p| p != &first[..4]),
        "something is drawn"
    );
    let (same, _) = changed(&mut w, &first, r);
    assert_eq!(same, 0, "at rest nothing changes");
    // Below the head, beside the patient.
    let beside = r.center() + vec2(0.3 * r.width(), 0.3 * r.height());
    drag(&mut w, PointerButton::Primary, beside, vec2(60.0, -20.0));
    let (orbited, after) = changed(&mut w, &first, r);
    assert!(orbited > 200, "{orbited} pixels");
    drag(&mut w, PointerButton::Secondary, beside, vec2(-40.0, 10.0));
    let (panned, _) = changed(&mut w, &after, r);
    assert!(panned > 200, "{panned} pixels");
    assert_eq!(
        w.state().state.plan().expect("a plan").beams[0].control_points[0].gantry_deg,
        0.0
    );
    assert!(!w.state().state.can_undo(), "looking round changes nothing");
    w.get_by_label("From the foot end of the couch, aside and above")
        .click();
    w.run_steps(3);
    let (back, _) = changed(&mut w, &first, r);
    assert_eq!(back, 0, "the first view again");
    w.get_by_label("From the patient's head, front up").click();
    w.run_steps(3);
    assert!(changed(&mut w, &first, r).0 > 200);
    w.get_by_label("Maximise Room").click();
    w.run_steps(3);
    assert!(rect(&w).width() > 1.8 * r.width() && w.query_by_label("Axial").is_none());
    w.get_by_label("BEV").click();
    w.run_steps(3);
    assert!(w.query_by_label("Beam's eye").is_some() && w.query_by_label("Room view").is_none());
}

#[test]
fn the_gantry_is_dragged_by_its_head_in_one_step_and_the_dose_follows() {
    let mut w = room("room_gantry");
    w.get_by_label("From the foot end of the couch, towards the gantry")
        .click();
    w.run_steps(3);
    let r = rect(&w);
    let gantry =
        |w: &Window| w.state().state.plan().expect("a plan").beams[0].control_points[0].gantry_deg;
    let mm = r.height() / SHOWN_MM;
    // Seen from the foot end, gantry 0 is above; towards the right it turns to 90 of a supine patient.
    drag(
        &mut w,
        PointerButton::Primary,
        r.center() + vec2(0.0, -470.0 * mm),
        vec2(470.0 * mm, 300.0 * mm),
    );
    let turned = gantry(&w);
    assert!((40.0..=75.0).contains(&turned), "{turned}");
    until(&mut w, "dose", |app| app.is_settled());
    assert_eq!(
        w.state().state.results.shown_status(),
        Some(DoseStatus::Final)
    );
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(3);
    assert_eq!(gantry(&w), 0.0, "one drag is one step");
    assert!(!w.state().state.can_undo());
}

#[test]
fn isodose_surfaces_follow_the_dose_and_the_menu() {
    let mut w = room("room_isodoses");
    w.state_mut().state.dose_display.reference = DoseReference::Maximum;
    until(&mut w, "surfaces", |app| {
        app.state.isodose_surfaces().len() == 2 && app.is_settled()
    });
    let mm3 = |w: &Window| {
        let surfaces = w.state().state.isodose_surfaces();
        surfaces
            .iter()
            .map(|s| (s.percent, s.surface.volume_mm3()))
            .collect::<Vec<_>>()
    };
    let two = mm3(&w);
    assert_eq!((two[0].0, two[1].0), (95.0, 50.0));
    assert!(two[0].1 > 0.0 && two[1].1 > 4.0 * two[0].1, "{two:?}");
    // 2 cm x 2 cm x 4 cm of field in water, wider with depth; half the maximum reaches to its edges.
    assert!((10_000.0..26_000.0).contains(&two[1].1), "{two:?}");
    assert_eq!(
        w.state().state.results.isodose_status(),
        Some(DoseStatus::Final)
    );
    w.get_by_label("Display").click();
    w.run_steps(3);
    w.get_by_label("Surface of 50 %").click();
    until(&mut w, "one surface", |app| {
        app.state.isodose_surfaces().len() == 1
    });
    // The surfaces follow the beam.
    w.get_by_label("Surface of 50 %").click();
    until(&mut w, "two surfaces", |app| {
        app.state.isodose_surfaces().len() == 2
    });
    let mut beam = w.state().state.plan().expect("a plan").beams[0].clone();
    beam.control_points[0].jaws.x = [-5.0, 5.0];
    w.state_mut()
        .state
        .history
        .apply(
            Edit::SetBeam {
                plan: 0,
                beam: 0,
                value: beam,
            },
            None,
        )
        .expect("an edit");
    w.step();
    until(&mut w, "surfaces", |app| {
        app.state.isodose_surfaces().len() == 2 && app.is_settled()
    });
    let half = mm3(&w)[1].1;
    assert!(half < 0.75 * two[1].1, "{half} of {two:?}: half the field");
}

#[test]
fn a_head_that_comes_near_is_told_with_its_assumption() {
    let mut w = room("room_near");
    assert_eq!(
        w.state().state.results.near_heads(),
        Some(Vec::new()),
        "40 cm from a cube of 4 cm"
    );
    let shift = |w: &mut Window, y: f64| {
        let mut beam = w.state().state.plan().expect("a plan").beams[0].clone();
        beam.isocentre_mm = DVec3::new(0.0, y, 0.0);
        w.state_mut()
            .state
            .history
            .apply(
                Edit::SetBeam {
                    plan: 0,
                    beam: 0,
                    value: beam,
                },
                None,
            )
            .expect("an edit");
        w.step();
        until(w, "clearance", |app| {
            app.state.results.near_heads().is_some() && app.is_settled()
        });
        w.state().state.results.near_heads().expect("computed")
    };
    // Gantry 0: the face of the head is 40 cm before an isocentre 35 cm behind; the skin is 20 mm before the middle.
    let near = shift(&mut w, 350.0);
    assert!(
        near.len() == 1 && !near[0].is_couch && (near[0].mm - 30.0).abs() < 3.0,
        "{near:?}"
    );
    assert!(w.query_by_label_contains("cm from the patient").is_some());
    assert!(w.query_by_label_contains("assumed geometry").is_some());
    let near = shift(&mut w, 395.0);
    assert!(near.iter().any(|n| !n.is_couch && n.mm == 0.0), "{near:?}");
    assert!(w.query_by_label_contains("hits the patient").is_some());
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    until(&mut w, "clearance", |app| {
        app.state.results.near_heads() == Some(Vec::new())
    });
    assert!(w.query_by_label_contains("assumed geometry").is_none());
}
