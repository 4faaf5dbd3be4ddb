//! The first page and the tour.

use crate::harness::{Window, folder, small_case, until, window};
use beamsight::app::command::Command;
use beamsight::app::state::Workspace;
use beamsight::app::{App, Options};
use beamsight::files::recent_cases;
use eframe::egui::{Key, Rect, accesskit::Role, vec2};
use egui_kittest::kittest::Queryable as _;
use std::path::{Path, PathBuf};

fn fresh(name: &str) -> PathBuf {
    let path = folder(name);
    std::fs::remove_dir_all(&path).expect("an empty folder");
    folder(name)
}

/// A window without a case, with this state folder, once that is read.
fn first_page(state: &Path) -> Window {
    let mut w = window(Options {
        state_folder: Some(state.to_owned()),
        ..Options::default()
    });
    until(&mut w, "state folder", App::is_settled);
    w
}

/// Opens a case with this state folder, and closes the window.
fn open_and_close(options: Options, state: &Path) {
    let mut w = window(Options {
        state_folder: Some(state.to_owned()),
        ..options
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    eframe::App::on_exit(w.state_mut());
}

#[test]
fn a_case_that_was_closed_has_a_card_with_its_picture_until_it_is_forgotten() {
    let state = fresh("first_page_state");
    open_and_close(small_case("first_page_case"), &state);
    let case = recent_cases(&state).remove(0);
    let picture = case.picture.expect("a picture");
    // The cube of water, grey, in air, black; where the field meets it there are colours of the dose.
    let colours = picture
        .rgb()
        .chunks_exact(3)
        .filter(|p| p[0] != p[1] || p[1] != p[2])
        .count();
    let black = picture
        .rgb()
        .chunks_exact(3)
        .filter(|p| *p == [0, 0, 0])
        .count();
    assert!(
        colours > 300 && black > 3000,
        "{colours} in colour, {black} black"
    );

    let mut again = first_page(&state);
    again.get_by_label_contains(&format!("Open cube.mha, , {}", case.opened));
    assert!(again.query_by_label("Undo").is_some() && again.query_by_label("DVH").is_none());
    again.get_by_label("Forget cube.mha").click();
    until(&mut again, "rest", |app| {
        app.state.recent.is_empty() && app.is_settled()
    });
    assert!(again.query_by_label_contains("Open cube.mha").is_none());
    assert_eq!(
        std::fs::read_to_string(state.join("recent.json")).expect("a list"),
        "[]"
    );
}

#[test]
fn a_case_that_is_left_for_another_has_its_picture_and_one_that_is_gone_has_no_card() {
    let state = fresh("first_page_left_state");
    let [first, second] =
        ["first_page_left", "first_page_other"].map(|name| small_case(name).case.expect("a case"));
    let mut w = window(Options {
        state_folder: Some(state.clone()),
        ..small_case("first_page_left")
    });
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w.state_mut().command(Command::Open(second.clone()));
    until(&mut w, "the other", |app| {
        app.state.recent.len() == 2 && app.is_settled()
    });
    let has = |w: &Window, word: &str| {
        let case = w
            .state()
            .state
            .recent
            .iter()
            .find(|case| case.word == word)
            .expect("listed");
        case.picture.is_some()
    };
    assert_eq!([has(&w, &first), has(&w, &second)], [true, false]);
    // Forgotten while it is open, a case does not come back when it is left.
    w.state_mut()
        .command(Command::ForgetRecent(Some(second.clone())));
    until(&mut w, "rest", App::is_settled);
    eframe::App::on_exit(w.state_mut());
    assert_eq!(
        recent_cases(&state)
            .iter()
            .map(|case| &case.word)
            .collect::<Vec<_>>(),
        [&first]
    );

    std::fs::remove_file(&first).expect("removed");
    let again = first_page(&state);
    assert!(again.query_by_label_contains("Open cube.mha").is_none());
    again.get_by_label_contains("None yet");
}

#[test]
fn the_first_page_offers_each_demo_the_tour_and_what_is_new() {
    let mut w = window(Options::default());
    w.run_steps(4);
    w.get_by_label("One-minute tour");
    w.get_by_label(&format!(
        "What is new in {} (not released yet)",
        env!("CARGO_PKG_VERSION")
    ));
    for name in ["slab", "tg119", "thorax"] {
        w.get_by_label_contains(&format!("Open the {name} demo"));
    }
    w.get_by_label_contains("Open the water demo").click();
    until(&mut w, "the demo", |app| app.state.is_loaded());
    assert!(
        w.state().state.recent.is_empty(),
        "a demo is no case of the user's"
    );
}

/// The stops of the tour, by their headings.
const STOPS: [(&str, &str, Workspace); 6] = [
    ("1 of 6: Turn the gantry", "Gantry", Workspace::Plan),
    ("2 of 6: Read the DVH, set goals", "DVH", Workspace::Plan),
    (
        "3 of 6: Optimise and make leaves",
        "Optimise",
        Workspace::Plan,
    ),
    (
        "4 of 6: Compare two doses",
        "Swap A and B",
        Workspace::Compare,
    ),
    (
        "5 of 6: Register X-rays",
        "Make up a pair to try it",
        Workspace::Register,
    ),
    ("6 of 6: Save, report, export", "Save", Workspace::Plan),
];

/// The tour at its first stop, all computed: no widget moves any more.
fn on_tour() -> Window {
    let mut w = window(Options {
        grid_mm: Some(6.0),
        ..Options::default()
    });
    w.run_steps(3);
    w.get_by_label("One-minute tour").click();
    until(&mut w, "the demo", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w.run_steps(4);
    w
}

#[test]
fn the_help_begins_the_tour_over_any_case() {
    let mut w = window(small_case("tour_from_help"));
    // Until the case is there the first page stands behind the help, with a tour of its own.
    until(&mut w, "the case", |app| app.state.is_loaded());
    w.state_mut().command(Command::About(true));
    w.run_steps(4);
    w.get_by_label("One-minute tour").click();
    w.run_steps(4);
    assert!(!w.state().state.about_open);
    until(&mut w, "the tour", |app| {
        app.state.is_loaded() && app.state.tour_stop().is_some()
    });
    assert!(w.state().state.is_tour_case());
}

#[test]
fn the_tour_points_at_widgets_and_changes_nothing() {
    for size in [vec2(1024.0, 700.0), vec2(1600.0, 1000.0)] {
        let mut w = on_tour();
        w.set_size(size);
        w.run_steps(4);
        for (heading, widget, workspace) in STOPS {
            w.run_steps(4);
            let picture = w.render().expect("a picture");
            picture
                .save(folder("tour").join(format!("{}_{}.png", size.x, &heading[..1])))
                .expect("saved");
            let shown = w.get_by_label(heading).rect();
            assert_eq!(w.state().state.workspace, workspace, "{heading}");
            // Gantry names dial and angle, Optimise a button alone.
            let window = Rect::from_min_size(Default::default(), size);
            let place = {
                let mut widgets = w.query_all_by_label(widget).map(|node| node.rect());
                widgets
                    .find(|rect| window.contains_rect(*rect))
                    .expect(widget)
            };
            assert!(
                window.contains_rect(shown) && !place.intersects(shown),
                "{heading}: {shown:?} on {place:?}"
            );
            let next = if heading.starts_with('6') {
                "Done"
            } else {
                "Next"
            };
            w.get_by_label(next).click();
            w.run_steps(4);
        }
        assert_eq!(w.state().state.tour, None);
        assert!(!w.state().state.is_unsaved() && !w.state().state.history.can_undo());
    }
}

#[test]
fn the_tour_is_left_at_any_time_and_does_not_hold_the_window() {
    let mut w = on_tour();
    // The window works on: a click on a tab is one.
    w.get_by_label("Compare").click();
    w.run_steps(3);
    assert_eq!(w.state().state.workspace, Workspace::Compare);
    w.get_by_label("Next").click();
    w.run_steps(3);
    w.get_by_label("Leave the tour").click();
    w.run_steps(3);
    assert!(w.query_by_label("Leave the tour").is_none());

    let mut w = on_tour();
    w.key_press(Key::Escape);
    w.run_steps(3);
    assert!(w.query_by_label("Leave the tour").is_none());

    // Over a case of the user's own there is none.
    let mut w = on_tour();
    w.state_mut()
        .command(Command::Open(small_case("tour_own").case.expect("a case")));
    until(&mut w, "the own case", |app| app.state.tour.is_none());
    w.run_steps(3);
    assert!(w.query_by_label("Leave the tour").is_none());
    assert!(w.query_by_role_and_label(Role::Image, "Axial").is_some());
}
