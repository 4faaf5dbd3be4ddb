//! The history list: steps by name, chosen by click.

use crate::harness::{Window, small_case, until, window};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;

fn beams(w: &Window) -> usize {
    w.state().state.plan().expect("a plan").beams.len()
}

#[test]
fn a_step_is_chosen_from_the_list_by_its_name() {
    let mut w = window(small_case("history_list"));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let before = w.state().state.history.done();
    w.get_by_label("Copy beam").scroll_to_me();
    w.run_steps(4);
    w.get_by_label("Copy beam").click();
    w.run_steps(3);
    w.key_press(Key::ArrowRight);
    w.run_steps(3);
    let names: Vec<String> = w
        .state()
        .state
        .history
        .names()
        .iter()
        .map(|n| (*n).to_owned())
        .collect();
    assert_eq!(
        names[before..],
        ["Add beam AP copy", "Turn gantry of AP copy"]
    );
    // The first step by click: the turn is undone, the copy stays.
    w.get_by_label("History").click();
    w.run_steps(4);
    let first = format!("Step {}: Add beam AP copy", before + 1);
    w.get_by_label(&first).click();
    w.run_steps(4);
    let gantry = w.state().state.plan().expect("a plan").beams[1].control_points[0].gantry_deg;
    assert_eq!((beams(&w), gantry), (2, 0.0));
    // The case as it was opened, and from there the newest step.
    w.get_by_label("History").click();
    w.run_steps(4);
    w.get_by_label("Step 0: As opened").click();
    w.run_steps(4);
    assert_eq!((beams(&w), w.state().state.can_undo()), (1, false));
    w.get_by_label("History").click();
    w.run_steps(4);
    let last = format!("Step {}: Turn gantry of AP copy", before + 2);
    w.get_by_label(&last).click();
    w.run_steps(4);
    let gantry = w.state().state.plan().expect("a plan").beams[1].control_points[0].gantry_deg;
    assert_eq!((beams(&w), gantry), (2, 1.0));
    // The keys go through the same steps.
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert_eq!(w.state().state.history.done(), before + 1);
}
