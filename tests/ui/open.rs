//! Opening: success, failure, and the case that stays.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::{App, Options};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use std::path::Path;

#[test]
fn the_empty_window_offers_what_to_open() {
    let mut w = window(Options::default());
    w.run_steps(3);
    w.get_by_label("Open the thorax demo");
    w.get_by_label("About").click();
    w.run_steps(3);
    w.get_by_label("Close").click();
    w.run_steps(3);
    assert!(w.query_by_label("Close").is_none());
    for tab in ["Compare", "Register"] {
        w.get_by_label(tab).click();
        w.run_steps(2);
    }
}

/// The guide is in the window's help, page by page, and its pages are those of the repository.
#[test]
fn the_guide_opens_from_the_help() {
    let mut w = window(Options::default());
    w.run_steps(3);
    w.get_by_label("About").click();
    w.run_steps(3);
    assert_eq!(
        w.query_all_by_label("Not for clinical use").count(),
        2,
        "in the bar and in the help"
    );
    for (title, file, line) in [
        (
            "Opening and saving",
            "open",
            "The Plan workspace shows a CT",
        ),
        ("Beams and dose", "beams", "Beams of the selected plan"),
        (
            "Contours and densities",
            "structures",
            "Structures are drawn, grown and combined",
        ),
        (
            "DVHs and goals",
            "goals",
            "What a dose gives each structure",
        ),
        (
            "Comparing",
            "compare",
            "The Compare workspace sets two doses",
        ),
        (
            "Registration",
            "register",
            "The Register workspace finds where",
        ),
        (
            "Commissioning",
            "machine",
            "Neither makes a machine fit for treating anyone",
        ),
        (
            "Command line",
            "command-line",
            "each verb does one job without it",
        ),
        (
            "Python",
            "python",
            "has the jobs of the verbs on arrays of numpy",
        ),
    ] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/guide/{file}.md"));
        assert!(
            std::fs::read_to_string(page)
                .expect("a page")
                .contains(line),
            "{file}"
        );
        // What is new, on the first page below, has headings of the same words.
        w.get_all_by_label(title).last().expect("a page").click();
        w.run_steps(3);
        assert_eq!(w.query_all_by_label_contains(line).count(), 1, "{title}");
    }
    w.get_by_label("Program").click();
    w.run_steps(3);
    w.get_by_label("Close").click();
    w.run_steps(3);
    assert!(w.query_by_label("Opening and saving").is_none());
}

#[test]
fn a_demo_opens_with_its_structures_and_plan() {
    let mut w = window(Options {
        case: Some("demo:water".to_owned()),
        ..Options::default()
    });
    until(&mut w, "demo", |app| app.state.is_loaded());
    let case = w.state().state.case().clone();
    let plan = &case.plans[0];
    assert!(
        w.query_all_by_label(&plan.beams[0].name).count() >= 1,
        "the beam in the tree"
    );
    for structure in &case.structures.structures {
        assert!(
            w.query_all_by_label(&structure.name).count() >= 1,
            "{} in the tree",
            structure.name
        );
    }
    assert_eq!(said(&w), "");
}

#[test]
fn a_bad_case_word_is_a_notice_and_what_was_loaded_stays() {
    let mut w = window(small_case("bad_word"));
    until(&mut w, "case", |app| app.state.is_loaded());
    let source = w.state().state.case().source.clone();
    let empty = folder("nothing_in_here");
    for (word, says) in [
        ("demo:nonsense".to_owned(), "nonsense"),
        ("/no/such/folder".to_owned(), "/no/such/folder"),
        (empty.display().to_string(), "nothing_in_here"),
    ] {
        w.state_mut().open(&word);
        until(&mut w, "notice", |app: &App| {
            app.state.notices.iter().any(|n| n.text.contains(says))
        });
        assert_eq!(w.state().state.case().source, source);
        w.get_all_by_label("Dismiss")
            .next()
            .expect("a button")
            .click();
        w.run_steps(3);
        assert_eq!(said(&w), "");
    }
}

/// A view that moved under a drag would move what is dragged.
#[test]
fn a_notice_in_a_drag_waits_for_its_end() {
    let mut w = window(small_case("notice_in_a_drag"));
    until(&mut w, "case", |app| app.state.is_loaded());
    w.run_steps(4);
    let axial = |w: &Window| w.get_by_role_and_label(Role::Image, "Axial").rect();
    let before = axial(&w);
    w.drag_at(before.center());
    w.run_steps(3);
    w.state_mut().open("demo:nonsense");
    until(&mut w, "notice", |app: &App| {
        app.state.notices.iter().next().is_some()
    });
    w.run_steps(3);
    assert_eq!(
        (axial(&w), w.query_by_label("Dismiss").is_some()),
        (before, false)
    );
    w.drop_at(before.center());
    w.run_steps(3);
    assert!(w.query_by_label("Dismiss").is_some());
}

/// A small golden image of the first page: letters, colours and spacing.
#[test]
fn the_first_page_looks_as_it_did() {
    let mut w = window(Options::default());
    w.set_size(eframe::egui::vec2(1000.0, 640.0));
    w.run_steps(4);
    w.snapshot("first_page");
}

/// The patient is named in the title and on screen at every width, also where the bar has no room: 640 points are 1024 pixels
/// at the scale 1.6.
#[test]
fn the_patient_is_always_named() {
    let mut w = window(Options {
        case: Some("demo:water".to_owned()),
        ..Options::default()
    });
    until(&mut w, "case", |app| app.state.is_loaded());
    let who = "Demo, water  (DEMO-WATER)";
    assert!(
        w.state().title().contains(&format!("{who} - demo:water")),
        "{}",
        w.state().title()
    );
    for width in [2560.0, 1400.0, 1024.0, 640.0] {
        w.set_size(eframe::egui::vec2(width, 760.0));
        w.run_steps(4);
        let shown = w.get_by_label(who).rect();
        assert!(
            shown.left() >= 0.0 && shown.right() <= width && shown.width() > 100.0,
            "{width}: {shown:?}"
        );
    }
}
