//! The light theme: chosen in the bar, kept from run to run; images stay dark.

use crate::harness::{Window, folder, small_case, until, window};
use beamsight::app::Options;
use beamsight::files::ThemeChoice;
use eframe::egui::{Color32, Pos2, Shape};
use egui_kittest::kittest::Queryable as _;

/// The opaque rectangle drawn last under a point, of those at least as wide as `width`.
fn fill_at(window: &Window, at: Pos2, width: f32) -> Color32 {
    fn visit(shape: &Shape, at: Pos2, width: f32, found: &mut Option<Color32>) {
        match shape {
            Shape::Vec(shapes) => shapes
                .iter()
                .for_each(|shape| visit(shape, at, width, found)),
            Shape::Rect(r)
                if r.rect.contains(at) && r.fill.a() == 255 && r.rect.width() >= width =>
            {
                *found = Some(r.fill);
            }
            _ => {}
        }
    }
    let mut found = None;
    for clipped in window
        .output()
        .shapes
        .iter()
        .filter(|clipped| clipped.clip_rect.contains(at))
    {
        visit(&clipped.shape, at, width, &mut found);
    }
    found.expect("a ground")
}

/// Whether bar, side panel and image are light grounds.
fn light_grounds(window: &Window) -> [bool; 3] {
    let bar = window.get_by_label("About").rect().left_bottom() + eframe::egui::vec2(-1.0, -1.0);
    let tree = Pos2::new(4.0, 450.0);
    let image = window.get_by_label("Axial").rect().center();
    let light = |at, width| {
        let [r, g, b, _] = fill_at(window, at, width).to_array();
        let dark = [r, g, b].iter().all(|v| *v < 60);
        assert!(
            dark || [r, g, b].iter().all(|v| *v > 200),
            "neither dark nor light: {r} {g} {b}"
        );
        !dark
    };
    [light(bar, 1000.0), light(tree, 150.0), light(image, 150.0)]
}

fn choose(window: &mut Window, name: &str) {
    window.get_by_label("Theme").click();
    window.run_steps(3);
    window.get_by_label(name).click();
    window.run_steps(3);
}

fn begun(state: &std::path::Path) -> Window {
    let mut w = window(Options {
        state_folder: Some(state.to_owned()),
        ..small_case("theme_case")
    });
    until(&mut w, "the dose", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w
}

#[test]
fn the_light_theme_is_chosen_and_there_at_the_next_start() {
    let state = folder("theme_state");
    // What an earlier run of this test left.
    let _ = std::fs::remove_file(state.join("layout.json"));
    let mut w = begun(&state);
    assert_eq!(light_grounds(&w), [false; 3], "dark at first");
    choose(&mut w, "Light");
    assert_eq!(light_grounds(&w), [true, true, false], "images stay dark");
    assert!(!w.state().state.is_unsaved(), "a theme is no work");
    eframe::App::on_exit(w.state_mut());
    drop(w);
    let mut again = begun(&state);
    assert_eq!(light_grounds(&again), [true, true, false]);
    choose(&mut again, "As the system");
    assert_eq!(again.state().state.theme, ThemeChoice::System);
    assert_eq!(
        light_grounds(&again),
        [false; 3],
        "a desktop that names no theme has the dark one"
    );
    choose(&mut again, "Light");
    choose(&mut again, "Dark");
    assert_eq!(light_grounds(&again), [false; 3]);
}

#[test]
fn a_window_may_be_asked_for_in_a_theme() {
    let mut w = window(Options {
        theme: Some(ThemeChoice::Light),
        ..small_case("theme_asked")
    });
    until(&mut w, "the dose", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(light_grounds(&w), [true, true, false]);
}
