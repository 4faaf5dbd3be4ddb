//! The accessibility tree in a file, by which scripts find their way in the window.

use crate::harness::{folder, small_case, until, window};
use beamsight::app::{App, Options};
use eframe::egui::accesskit::Role;
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

#[test]
fn the_tree_tells_where_widgets_are_and_which_are_scrolled_away() {
    let path = folder("access_tree").join("tree.json");
    let _ = std::fs::remove_file(&path);
    let mut w = window(Options {
        access_tree: Some(path.clone()),
        ..small_case("access_tree")
    });
    let tree = || -> Value {
        serde_json::from_slice(&std::fs::read(&path).expect("a tree")).expect("JSON")
    };
    let named = |tree: &Value, name: &str| -> Value {
        let widgets = tree["widgets"].as_array().expect("widgets").iter();
        widgets
            .into_iter()
            .find(|w| w["name"] == name)
            .expect("the widget")
            .clone()
    };
    until(&mut w, "dose", |app| {
        app.state.plan().is_some() && app.is_settled()
    });
    w.get_by_role_and_label(Role::Button, "AP").click();
    w.run_steps(3);
    let seen = tree();
    assert_eq!(
        (&seen["settled"], &seen["events"]),
        (&Value::Bool(true), &Value::from(3)),
        "moved, pressed, released"
    );
    for name in ["Add beam", "New plan", "Axial", "Deliver AP"] {
        let rect = w.get_by_label(name).rect();
        let want = [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f64::from);
        let said = named(&seen, name)["rect"].clone();
        let said: Vec<f64> = serde_json::from_value(said).expect("a rectangle");
        // A view's edge lies on a line between two panels.
        assert!(
            want.iter().zip(&said).all(|(a, b)| (a - b).abs() < 1.1),
            "{name}: {want:?} {said:?}"
        );
    }
    assert_eq!(named(&seen, "Deliver AP")["on"], Value::Bool(true));
    // In a low window the end of the inspector is scrolled away.
    w.set_size(vec2(1400.0, 500.0));
    w.run_steps(3);
    let below = named(&tree(), "Delete beam");
    assert!(
        below["rect"].is_null() && below["beyond"][1].as_f64() > Some(480.0),
        "{below}"
    );
    w.get_by_label("Delete beam").scroll_to_me();
    until(&mut w, "rest", App::is_settled);
    w.run_steps(30);
    let inside = named(&tree(), "Delete beam");
    assert!(inside["rect"][3].as_f64() < Some(500.0), "{inside}");
}
