//! Paging, presets, regions of interest.

use crate::harness::{small_case, until, window};
use beamsight::app::state::display::WINDOW_PRESETS;
use beamsight::app::state::results::Settings;
use beamsight::case::Edit;
use eframe::egui::{self, Key};
use egui_kittest::kittest::Queryable as _;

#[test]
fn the_wheel_pages_and_the_presets_set_window_and_level() {
    let mut w = window(small_case("paging"));
    until(&mut w, "case", |app| app.state.is_loaded());
    let z = w.state().state.crosshair_mm.z;
    let axial = w.get_by_label("Axial").rect();
    w.hover_at(axial.center());
    w.run_steps(2);
    w.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Line,
        delta: egui::vec2(0.0, 1.0),
        phase: egui::TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
        source: egui::MouseWheelSource::Wheel,
    });
    w.run_steps(8);
    let paged = (w.state().state.crosshair_mm.z - z).abs();
    assert!(
        paged > 2.0 && paged <= 5.0 + 1e-9,
        "one plane of 5 mm, from between two: {paged}"
    );
    // The keyboard pages too, and returns to the same plane; F fits the views.
    let before = w.state().state.crosshair_mm.z;
    w.key_press(Key::PageDown);
    w.run_steps(2);
    assert!(
        (before - w.state().state.crosshair_mm.z - 5.0).abs() < 1e-9,
        "one plane towards the feet"
    );
    w.key_press(Key::PageUp);
    w.run_steps(2);
    assert_eq!(w.state().state.crosshair_mm.z, before);
    w.get_by_label("Lung").click();
    w.run_steps(2);
    assert_eq!(w.state().state.window, WINDOW_PRESETS[3].1);
    // Away from the views a digit is a slip of the hand.
    w.key_press(Key::Num5);
    w.run_steps(2);
    assert_eq!(w.state().state.window, WINDOW_PRESETS[3].1);
    w.hover_at(axial.center());
    w.run_steps(2);
    w.key_press(Key::Num5);
    w.run_steps(2);
    assert_eq!(w.state().state.window, WINDOW_PRESETS[4].1);
}

#[test]
fn a_new_sphere_has_the_volume_of_a_sphere_and_undo_takes_it_away() {
    let mut w = window(small_case("sphere"));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    until(&mut w, "volume", |app| {
        app.state.results.volume_cm3(2).is_some()
    });
    let cm3 = w.state().state.results.volume_cm3(2).expect("a volume");
    // A sphere of 20 mm on planes 5 mm apart.
    let want = 4.0 / 3.0 * std::f64::consts::PI * 8.0;
    assert!((cm3 / want - 1.0).abs() < 0.04, "{cm3} cm3, not {want}");
    assert!(
        w.query_all_by_label("Radius").count() >= 1,
        "the inspector sizes it"
    );
    until(&mut w, "DVH", |app| app.state.results.dvh(2).is_some());
    w.key_press_modifiers(egui::Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert_eq!(
        w.state().state.case().structures.structures.len(),
        1,
        "the body alone"
    );
}

#[test]
fn the_body_is_made_from_the_ct_and_hiding_it_takes_its_dvh_away() {
    let mut w = window(small_case("body"));
    until(&mut w, "volume", |app| {
        app.state.results.volume_cm3(1).is_some()
    });
    assert!(
        w.query_all_by_label("BODY").count() >= 1,
        "the body in the tree"
    );
    let cm3 = w.state().state.results.volume_cm3(1).expect("a volume");
    // A 4 cm cube; the skin is found between voxel centres 5 mm apart.
    assert!((cm3 / 64.0 - 1.0).abs() < 0.12, "{cm3} cm3");
    until(&mut w, "DVH", |app| app.state.results.dvh(1).is_some());
    w.get_by_label("Show BODY").click();
    until(&mut w, "end of the DVH", |app| {
        app.state.results.dvh(1).is_none()
    });
    // After its deletion, it is made again on demand.
    w.state_mut()
        .state
        .history
        .apply(Edit::RemoveStructure { index: 0 }, None)
        .expect("an edit");
    w.run_steps(2);
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Body from CT").click();
    until(&mut w, "body", |app| {
        app.state.case().structures.structures.len() == 1
    });
}

#[test]
fn a_coarser_grid_is_called_coarse() {
    let mut w = window(small_case("coarse"));
    w.state_mut().state.results.settings = Settings {
        grid_mm: 5.0,
        ..Settings::default()
    };
    w.step();
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    let status = w.state().state.results.shown_status();
    assert_eq!(status, Some(beamsight::case::DoseStatus::Coarse));
}
