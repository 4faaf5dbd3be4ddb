//! The HU table: edited, refused with a message, applied, saved and loaded again.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::App;
use beamsight::case::DoseStatus;
use beamsight::physics::{HuTable, Material};
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key};
use egui_kittest::kittest::Queryable as _;

fn is_final(app: &App) -> bool {
    app.state.results.shown_status() == Some(DoseStatus::Final) && app.is_settled()
}

/// Clicks the widget of that name after scrolling to it.
fn press(w: &mut Window, name: &str) {
    w.get_by_label(name).scroll_to_me();
    w.run_steps(4);
    w.get_by_label(name).click();
    w.run_steps(3);
}

/// Types a number into the field of that name.
fn type_number(w: &mut Window, name: &str, text: &str) {
    let field = |w: &Window, act: fn(&egui_kittest::Node<'_>)| {
        act(&w.get_by_role_and_label(Role::SpinButton, name));
    };
    field(w, |node| node.scroll_to_me());
    w.run_steps(4);
    field(w, |node| node.focus());
    w.run_steps(2);
    w.event(Event::Text(text.to_owned()));
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(3);
}

fn opened(name: &str) -> Window {
    let mut w = window(small_case(name));
    until(&mut w, "final dose", is_final);
    w.get_by_label("cube").click();
    w.run_steps(3);
    w
}

#[test]
fn an_edited_table_is_checked_in_words_and_the_dose_follows_its_use() {
    let mut w = opened("hu_edit");
    let water_hu = HuTable::shipped_default()
        .points()
        .iter()
        .position(|p| p[0] == 0.0)
        .expect("water")
        + 1;
    let dose = |w: &Window| {
        w.state()
            .state
            .results
            .shown_dose()
            .expect("a dose")
            .clone()
    };
    let before = dose(&w);
    press(&mut w, "Edit HU table");
    // Water lighter than the fat before it is invalid; the message names the point.
    type_number(&mut w, &format!("Mass density of point {water_hu}"), "0.5");
    assert!(
        w.query_by_label_contains("must not fall").is_some(),
        "said in words"
    );
    press(&mut w, "Use HU table");
    assert!(w.state().state.hu_draft.is_some(), "it is not put in force");
    assert_eq!(
        dose(&w).status,
        DoseStatus::Final,
        "a draft changes no dose"
    );
    // All points from water on denser by a tenth: valid.
    type_number(&mut w, &format!("Mass density of point {water_hu}"), "1.1");
    w.get_by_label("HU table name").focus();
    w.run_steps(2);
    w.key_press(Key::End);
    w.get_by_label("HU table name").type_text(" heavy");
    w.run_steps(3);
    assert!(w.query_by_label_contains("Cannot be used").is_none());
    press(&mut w, "Use HU table");
    until(&mut w, "final dose with the new table", |app| {
        let old = app
            .state
            .results
            .shown_dose()
            .is_some_and(|d| d.gy.id() == before.gy.id());
        assert!(
            !(old && is_final(app) && app.state.hu_draft.is_none()),
            "the old table's dose is final"
        );
        is_final(app) && app.state.hu_draft.is_none()
    });
    let after = dose(&w);
    assert_ne!(before.gy.id(), after.gy.id());
    let table = &w.state().state.results.settings.hu_table;
    assert_eq!(table.name, "matrad-default edited heavy");
    assert_eq!(table.at(0.0).mass_density_g_cm3, 1.1);
    // Denser water transmits less: 4 cm at a tenth more density.
    let deep = glam::DVec3::new(1.25, 16.25, 1.25);
    let [a, b] = [&before, &after].map(|d| d.gy.trilinear(deep).expect("inside"));
    assert!(b < 0.995 * a, "{b} Gy behind denser water, {a} before");
    assert_eq!(said(&w), "");
}

#[test]
fn points_and_classes_are_added_and_removed() {
    let mut w = opened("hu_rows");
    let shipped = HuTable::shipped_default();
    press(&mut w, "Edit HU table");
    let draft = |w: &Window| w.state().state.hu_draft.clone().expect("a draft");
    press(&mut w, "Insert after point 2");
    assert_eq!(draft(&w).points.len(), shipped.points().len() + 1);
    press(&mut w, "Remove point 3");
    assert_eq!(draft(&w).points, shipped.points());
    // Removing all classes but one is refused with a message.
    press(&mut w, "Remove class 1");
    assert_eq!(draft(&w).materials.len(), shipped.materials().len() - 1);
    press(&mut w, "Material of class 1");
    press(&mut w, "titanium");
    assert_eq!(draft(&w).materials[0].1, Material::Titanium);
    press(&mut w, "Discard");
    assert!(w.state().state.hu_draft.is_none());
    assert_eq!(
        w.state().state.results.settings.hu_table.points(),
        shipped.points()
    );
}

#[test]
fn a_number_out_of_range_is_refused_and_says_so() {
    let mut w = opened("hu_range");
    press(&mut w, "Edit HU table");
    type_number(&mut w, "Mass density of point 1", "77");
    assert!(
        w.query_by_label_contains("77 refused").is_some(),
        "said beside the field"
    );
    assert_eq!(
        w.state().state.hu_draft.as_ref().expect("a draft").points,
        HuTable::shipped_default().points()
    );
    press(&mut w, "AP");
    type_number(&mut w, "Monitor units", "1e12");
    assert!(
        w.query_by_label_contains("refused").is_some(),
        "said beside the monitor units"
    );
    assert_eq!(w.state().state.plan().expect("a plan").beams[0].mu, 100.0);
}

/// Types a path into the field of the table's file.
fn type_file(w: &mut Window, path: &std::path::Path) {
    w.get_by_label("HU table file").scroll_to_me();
    w.run_steps(3);
    w.get_by_label("HU table file").focus();
    w.run_steps(2);
    w.get_by_label("HU table file")
        .type_text(&path.display().to_string());
    w.run_steps(2);
}

#[test]
fn a_table_is_saved_as_a_file_and_loaded_again() {
    let mut w = opened("hu_file");
    let path = folder("hu_file").join("mine");
    let saved = path.with_extension("toml");
    let _ = std::fs::remove_file(&saved);
    press(&mut w, "Edit HU table");
    type_file(&mut w, &path);
    press(&mut w, "Save HU table");
    until(&mut w, "saved table", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    let text = std::fs::read_to_string(&saved).expect("the file, with the ending it is opened by");
    let table = HuTable::parse(&text, "mine.toml").expect("a table");
    assert_eq!(table.name, "matrad-default edited");
    assert_eq!(table.points(), HuTable::shipped_default().points());

    let mut other = opened("hu_file_other");
    let load = |w: &mut Window, path: &std::path::Path| {
        type_file(w, path);
        press(w, "Load HU table");
    };
    load(&mut other, &saved);
    until(&mut other, "loaded table", |app| {
        app.state.results.settings.hu_table.name == "matrad-default edited" && is_final(app)
    });
    // A broken file gives a notice with its name, and the table stays.
    std::fs::write(&saved, "name = 3").expect("a broken table");
    let mut third = opened("hu_file_third");
    load(&mut third, &saved);
    until(&mut third, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("mine.toml"))
    });
    assert_eq!(
        third.state().state.results.settings.hu_table.name,
        HuTable::DEFAULT
    );
}
