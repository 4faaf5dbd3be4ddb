//! Notices over the views, and the log.

use crate::harness::{Window, said, small_case, until, window, window_at};
use beamsight::app::command::Command;
use beamsight::app::state::{NoticeKind, Workspace};
use beamsight::app::{App, Options, RegisterOptions};
use beamsight::case::DoseEngine;
use eframe::egui::accesskit::Role;
use eframe::egui::{Id, LayerId, Order, OutputCommand, Rect, vec2};
use egui_kittest::kittest::Queryable as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn tell(w: &mut Window, kind: NoticeKind, text: &str) {
    w.state_mut()
        .command(Command::Notice(kind, text.to_owned()));
    w.run_steps(3);
}

/// Place of the list of notices on the screen.
fn list(w: &Window) -> Rect {
    w.ctx
        .memory(|m| m.area_rect(Id::unique("notices")))
        .expect("a list of notices")
}

/// The rectangles of all views, by the names of their images.
fn views(w: &Window) -> Vec<Rect> {
    w.get_all_by_role(Role::Image)
        .map(|node| node.rect())
        .collect()
}

fn thorax(workspace: Workspace) -> Options {
    Options {
        case: Some("demo:thorax".to_owned()),
        grid_mm: Some(6.0),
        workspace,
        ..Options::default()
    }
}

/// Views keep their places, and patient and statuses stay in sight, whatever the number and length of the notices and the
/// density of the display.
#[test]
fn notices_move_no_view_and_cover_neither_patient_nor_status() {
    let register = Some(RegisterOptions {
        made_up: true,
        ..RegisterOptions::default()
    });
    for (workspace, scale) in [
        (Workspace::Plan, 1.0),
        (Workspace::Compare, 2.0),
        (Workspace::Register, 1.0),
    ] {
        let is_register = workspace == Workspace::Register;
        let options = Options {
            register: register.clone().filter(|_| is_register),
            ..thorax(workspace)
        };
        let mut w = window_at(options, scale);
        until(&mut w, "case", |app| {
            app.state.is_loaded() && (!is_register || app.state.register.images().len() == 2)
        });
        w.state_mut().command(Command::DismissAll);
        w.set_size(vec2(1024.0, 700.0));
        until(&mut w, "results", App::is_settled);
        w.run_steps(4);
        let before = views(&w);
        assert!(!before.is_empty(), "{workspace:?}");
        let all = before
            .iter()
            .fold(Rect::NOTHING, |all, view| all.union(*view));
        let texts = [
            "short".to_owned(),
            "word ".repeat(900),
            "x".repeat(3000),
            "\n".repeat(300),
        ];
        let many = (0..200).map(|n| format!("notice {n}"));
        for text in texts.into_iter().chain(many) {
            w.state_mut()
                .command(Command::Notice(NoticeKind::Error, text));
        }
        w.run_steps(4);
        assert_eq!(views(&w), before, "{workspace:?}");
        let list = list(&w);
        assert!(
            all.contains_rect(list) && list.height() < 0.4 * all.height(),
            "{workspace:?}: {list:?} {all:?}"
        );
        let patient = w.get_by_label_contains("THORAX").rect();
        let chips = w
            .query_all_by_label_contains("Dose status")
            .map(|chip| chip.rect());
        for kept in chips.chain([patient]) {
            assert!(
                !list.intersects(kept),
                "{workspace:?}: {list:?} over {kept:?}"
            );
        }
        let closes = w.get_all_by_label("Dismiss").count();
        assert!((2..=6).contains(&closes), "{closes}");
        w.get_by_label("Dismiss all").click();
        w.run_steps(3);
        assert!(
            w.query_by_label("Dismiss").is_none() && views(&w) == before,
            "{workspace:?}"
        );
    }
}

#[test]
fn notices_look_as_they_did() {
    let mut w = window(thorax(Workspace::Plan));
    until(&mut w, "case", |app| app.state.is_loaded());
    w.state_mut().command(Command::DismissAll);
    w.set_size(vec2(1024.0, 700.0));
    until(&mut w, "results", App::is_settled);
    tell(
        &mut w,
        NoticeKind::Error,
        "cannot write /media/cd/plan.toml: read-only file system; choose a folder you may write to",
    );
    tell(
        &mut w,
        NoticeKind::Warning,
        "Lung: a margin reaches beyond the CT and is cut off.",
    );
    tell(
        &mut w,
        NoticeKind::Info,
        "Cancelled: Dose of beam G180, final. What it is needed for is not final.",
    );
    tell(
        &mut w,
        NoticeKind::Success,
        "Saved /home/planner/Documents/Demo-thorax_Plan_2026-11-27.toml.",
    );
    w.snapshot("notices");
}

#[test]
fn a_success_fades_by_itself_and_the_log_keeps_it() {
    let time = Arc::new(Mutex::new(Instant::now()));
    let mut w = window(small_case("notices_fade"));
    until(&mut w, "case", |app| app.state.is_loaded());
    let clock = Arc::clone(&time);
    w.state_mut()
        .set_clock(Arc::new(move || *clock.lock().expect("a time")));
    tell(&mut w, NoticeKind::Error, "no room on the disk");
    tell(&mut w, NoticeKind::Success, "Saved plan.toml.");
    *time.lock().expect("a time") += Duration::from_secs(5);
    w.run_steps(2);
    assert_eq!(said(&w), "no room on the disk | Saved plan.toml.");
    *time.lock().expect("a time") += Duration::from_secs(5);
    w.run_steps(2);
    assert_eq!(said(&w), "no room on the disk");
    w.get_by_label("Log").click();
    w.run_steps(3);
    assert!(
        w.query_by_label_contains("Done: Saved plan.toml.")
            .is_some()
    );
}

/// A modal box is answered first: a notice lies below it, neither over its buttons nor to be pressed.
#[test]
fn a_notice_that_comes_during_a_question_waits_behind_it() {
    let mut w = window(small_case("notices_modal"));
    until(&mut w, "case", |app| app.state.is_loaded());
    w.set_size(vec2(640.0, 480.0));
    w.state_mut().command(Command::About(true));
    w.run_steps(4);
    for n in 0..6 {
        tell(
            &mut w,
            NoticeKind::Error,
            &format!("{n}: {}", "much to read ".repeat(20)),
        );
    }
    let is_on = |w: &Window, order| {
        w.ctx.memory(|m| {
            m.areas()
                .is_visible(&LayerId::new(order, Id::unique("notices")))
        })
    };
    assert!(is_on(&w, Order::Middle) && !is_on(&w, Order::Foreground));
    w.get_by_label("Close").click();
    w.run_steps(4);
    assert!(!w.state().state.about_open && is_on(&w, Order::Foreground));
    w.get_all_by_label("Dismiss")
        .next()
        .expect("a button")
        .click();
    w.run_steps(3);
    assert_eq!(w.state().state.notices.iter().count(), 5);
}

#[test]
fn notices_go_with_their_case_and_the_log_names_it_and_can_be_copied() {
    let mut w = window(small_case("notices_first"));
    until(&mut w, "case", |app| app.state.is_loaded());
    tell(&mut w, NoticeKind::Warning, "of the first");
    tell(&mut w, NoticeKind::Warning, "of the first");
    assert_eq!(said(&w), "of the first");
    let other = small_case("notices_second")
        .case
        .expect("a case")
        .replace("cube.mha", "other.mha");
    std::fs::copy(other.replace("other.mha", "cube.mha"), &other).expect("a copy");
    w.state_mut().open(&other);
    let number = |app: &App| app.state.origin.as_ref().map(|origin| origin.number);
    until(&mut w, "the other", |app| number(app) == Some(2));
    assert!(!said(&w).contains("of the first"), "{}", said(&w));
    tell(&mut w, NoticeKind::Info, "of the second");
    w.get_by_label("Log").click();
    w.run_steps(3);
    assert!(
        w.query_by_label("cube.mha").is_some() && w.query_all_by_label("other.mha").count() >= 1
    );
    assert!(
        w.query_by_label_contains("Warning: of the first (2 times)")
            .is_some()
    );
    w.get_by_label("Copy the log").click();
    let mut copied = None;
    for _ in 0..4 {
        w.step();
        copied =
            copied.or(w.output().platform_output.commands.iter().find_map(
                |command| match command {
                    OutputCommand::CopyText(text) => Some(text.clone()),
                    _ => None,
                },
            ));
    }
    let copied = copied.expect("the log on the clipboard");
    let lines: Vec<&str> = copied.lines().collect();
    assert!(
        lines[0].ends_with("other.mha  Note: of the second"),
        "{copied}"
    );
    let first = lines
        .iter()
        .find(|line| line.contains("of the first"))
        .expect("its line");
    let (clock, rest) = first.split_at(8);
    assert!(
        clock.chars().all(|c| c.is_ascii_digit() || c == ':') && rest.contains("cube.mha"),
        "{first}"
    );
}

/// A job that the user has cancelled says so and how to go on; one click goes on.
#[test]
fn a_cancelled_dose_says_how_to_go_on() {
    let mut w = window(small_case("notices_cancel"));
    until(&mut w, "dose", App::is_settled);
    let never = beamsight::app::state::results::EngineChoice {
        engine: DoseEngine::MonteCarloConvolution,
        uncertainty_percent: 0.1,
        ..Default::default()
    };
    w.state_mut().command(Command::Engine {
        plan: 0,
        choice: never,
    });
    let is_live = |app: &App| {
        app.state
            .jobs
            .live
            .iter()
            .any(|job| job.name.contains("Monte Carlo of plan Test"))
    };
    until(&mut w, "job", is_live);
    w.get_by_label("Cancel Monte Carlo of plan Test").click();
    until(&mut w, "end", |app| !is_live(app) && app.is_settled());
    assert_eq!(
        said(&w),
        "Cancelled: Monte Carlo of plan Test. What it is needed for is not final. Press 'Compute again' to go on."
    );
    assert!(
        w.query_by_label("Go on with what was cancelled").is_some(),
        "in the status line"
    );
    let again: Vec<_> = w
        .get_all_by_label("Compute again")
        .map(|node| node.rect())
        .collect();
    let in_notice = again
        .iter()
        .position(|rect| list(&w).contains_rect(*rect))
        .expect("a button in the notice");
    w.get_all_by_label("Compute again")
        .nth(in_notice)
        .expect("a button")
        .click();
    until(&mut w, "job", is_live);
    assert_eq!(said(&w), "", "the offer goes once it is taken");
}
