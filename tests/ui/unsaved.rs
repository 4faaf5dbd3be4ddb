//! Unsaved work: its mark, the questions before it is lost, and recovery after a kill.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::command::Command;
use beamsight::app::feature::plan::command::PlanAction;
use beamsight::app::state::unsaved::Reply;
use beamsight::app::{App, Options, Picked};
use beamsight::case::{Case, Contour, Dose, Edit};
use beamsight::dicom::Choice;
use beamsight::files::{RecentCase, mha, session};
use beamsight::geometry::Volume;
use eframe::egui::{DroppedFile, Key, Modifiers, ViewportCommand, ViewportEvent, ViewportId};
use egui_kittest::kittest::Queryable as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn fresh(name: &str) -> PathBuf {
    let path = folder(name);
    std::fs::remove_dir_all(&path).expect("an empty folder");
    folder(name)
}

fn opened(options: Options) -> Window {
    let mut w = window(options);
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    w
}

/// A window on the small case with a state folder of its own.
fn remembering(name: &str) -> (Window, PathBuf) {
    let state = fresh(&format!("{name}_state"));
    (
        opened(Options {
            state_folder: Some(state.clone()),
            ..small_case(name)
        }),
        state,
    )
}

fn turn(w: &mut Window, gantry_deg: f64) {
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg,
        gesture: None,
    });
    w.run_steps(2);
}

fn gantry(case: &Case) -> f64 {
    case.plans[0].beams[0].control_points[0].gantry_deg
}

fn starred(w: &Window) -> bool {
    w.state().title().starts_with("* ")
}

/// The user closes the window; returns the window's response.
fn ask_to_close(w: &mut Window) -> Vec<ViewportCommand> {
    let events = |w: &mut Window, events: Vec<ViewportEvent>| {
        w.input_mut()
            .viewports
            .entry(ViewportId::ROOT)
            .or_default()
            .events = events;
    };
    events(w, vec![ViewportEvent::Close]);
    w.step();
    let said = w.output().viewport_output[&ViewportId::ROOT]
        .commands
        .clone();
    events(w, Vec::new());
    w.run_steps(2);
    said
}

/// Clicks a button of the question and returns the window's commands of that frame.
fn answer(w: &mut Window, button: &str) -> Vec<ViewportCommand> {
    w.get_by_label(button).click();
    let mut said = Vec::new();
    for _ in 0..4 {
        w.step();
        said.extend(
            w.output().viewport_output[&ViewportId::ROOT]
                .commands
                .clone(),
        );
    }
    said
}

fn unsaved_files(state: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(state.join("unsaved"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect()
}

/// Waits until the saved work has that gantry angle.
fn until_kept(w: &mut Window, state: &Path, gantry_deg: f64) {
    let state = state.to_owned();
    until(w, "kept work", move |app| {
        app.is_settled()
            && unsaved_files(&state).iter().any(|path| {
                let last = session::read(path)
                    .ok()
                    .and_then(|s| s.plans.last().cloned());
                last.is_some_and(|p| {
                    (p.beams[0].control_points[0].gantry_deg - gantry_deg).abs() < 1e-9
                })
            })
    });
}

#[test]
fn the_title_marks_what_is_not_saved_and_ctrl_s_saves_it() {
    let out = fresh("title_out").join("mine.json");
    let mut w = opened(small_case("title"));
    assert!(
        w.state().title().starts_with("cube.mha - Beamsight"),
        "{}",
        w.state().title()
    );
    turn(&mut w, 10.0);
    assert!(starred(&w));
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    w.run_steps(2);
    assert!(!starred(&w), "undone, the case is what was opened");
    w.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    w.run_steps(2);
    assert!(starred(&w));
    // The view state is no work.
    w.state_mut().command(Command::SaveSession(out.clone()));
    until(&mut w, "saved session", |app| !app.state.is_unsaved());
    assert!(
        w.state().title().starts_with("mine.json - "),
        "{}",
        w.state().title()
    );
    let axial = w.get_by_label("Axial").rect().center();
    w.hover_at(axial);
    w.run_steps(2);
    w.key_press(Key::B);
    w.key_press(Key::Num3);
    w.run_steps(2);
    assert!(!starred(&w));
    turn(&mut w, 20.0);
    assert!(starred(&w));
    w.key_press_modifiers(Modifiers::COMMAND, Key::S);
    until(&mut w, "saved session", |app| !app.state.is_unsaved());
    assert_eq!(
        session::read(&out).expect("a session").plans[0].beams[0].control_points[0].gantry_deg,
        20.0
    );
}

#[test]
fn a_window_with_unsaved_work_asks_before_it_closes() {
    let mut w = opened(small_case("closing"));
    assert!(
        !ask_to_close(&mut w).contains(&ViewportCommand::CancelClose),
        "nothing to lose"
    );
    turn(&mut w, 10.0);
    assert!(ask_to_close(&mut w).contains(&ViewportCommand::CancelClose));
    let told = answer(&mut w, "Cancel");
    assert!(!told.contains(&ViewportCommand::Close) && w.state().state.question.is_none());
    // Shortcuts do not act during the question.
    ask_to_close(&mut w);
    w.key_press(Key::B);
    w.run_steps(2);
    assert!(w.state().state.show_beams);
    w.key_press(Key::Escape);
    w.run_steps(3);
    assert!(w.state().state.question.is_none(), "Escape is cancel");
    ask_to_close(&mut w);
    assert!(answer(&mut w, "Close without saving").contains(&ViewportCommand::Close));
    assert!(
        !ask_to_close(&mut w).contains(&ViewportCommand::CancelClose),
        "the user has said it"
    );
}

#[test]
fn closing_may_save_first() {
    let out = fresh("closing_saves_out").join("kept");
    let mut w = opened(small_case("closing_saves"));
    turn(&mut w, 33.0);
    let answer_to_pick = Arc::new(std::sync::Mutex::new(None));
    let dialog = Arc::clone(&answer_to_pick);
    w.state_mut().set_dialog(Arc::new(move |_| {
        let answer: Option<PathBuf> = dialog.lock().expect("an answer").clone();
        answer.map_or(Picked::Nothing, Picked::Path)
    }));
    // A dismissed dialog returns to the question.
    ask_to_close(&mut w);
    answer(&mut w, "Save as…");
    until(&mut w, "question", |app| {
        app.state.question.as_ref().is_some_and(|q| !q.saving)
    });
    // A write-protected place, too.
    *answer_to_pick.lock().expect("an answer") = Some(PathBuf::from("/no/such/folder/x.json"));
    answer(&mut w, "Save as…");
    until(&mut w, "question", |app| {
        app.state.question.as_ref().is_some_and(|q| !q.saving)
    });
    assert!(said(&w).contains("/no/such/folder"), "{}", said(&w));
    *answer_to_pick.lock().expect("an answer") = Some(out.clone());
    answer(&mut w, "Save as…");
    until(&mut w, "saved work", |app| app.state.question.is_none());
    assert!(!ask_to_close(&mut w).contains(&ViewportCommand::CancelClose));
    let saved = session::read(&out.with_extension("json")).expect("a session");
    assert_eq!(saved.plans[0].beams[0].control_points[0].gantry_deg, 33.0);
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|e| e.to_string())
    }
}

#[test]
fn another_case_is_not_opened_over_unsaved_work_without_a_word() {
    let other = small_case("asked_other").case.expect("a case");
    let mut w = opened(small_case("asked"));
    turn(&mut w, 10.0);
    type Way<'a> = Box<dyn Fn(&mut Window) + 'a>;
    w.state_mut().state.recent = vec![RecentCase {
        word: other.clone(),
        patient: String::new(),
        opened: String::new(),
        picture: None,
    }];
    let ways: [(&str, Way<'_>); 5] = [
        (
            "path",
            Box::new(|w| w.state_mut().command(Command::Open(other.clone()))),
        ),
        (
            "series",
            Box::new(|w| {
                w.state_mut().command(Command::OpenChoice(Choice {
                    series: Some(0),
                    ..Choice::default()
                }))
            }),
        ),
        (
            "drop",
            Box::new(|w| {
                w.input_mut()
                    .dropped_files
                    .push(Arc::new(Dropped(PathBuf::from(&other))))
            }),
        ),
        (
            "recent case",
            Box::new(|w| {
                w.get_by_label("Open").click();
                w.run_steps(3);
                w.get_by_label_contains("asked_other").click();
            }),
        ),
        (
            "left over work",
            Box::new(|w| {
                w.state_mut()
                    .command(Command::Recover(PathBuf::from("left.json")))
            }),
        ),
    ];
    for (name, way) in &ways {
        way(&mut w);
        w.run_steps(3);
        assert!(
            w.query_by_label("Open another case?").is_some(),
            "{name} asks"
        );
        answer(&mut w, "Cancel");
        until(&mut w, "rest", App::is_settled);
        assert_eq!(gantry(w.state().state.case()), 10.0, "{name}");
    }
    ways[2].1(&mut w);
    w.run_steps(3);
    answer(&mut w, "Open without saving");
    until(&mut w, "other case", |app| {
        app.state.case().source.contains("asked_other") && app.is_settled()
    });
    assert!(!starred(&w));
    // Without unsaved work there is no question.
    w.state_mut().open("demo:nonsense");
    w.state_mut()
        .command(Command::Open(small_case("asked").case.expect("a case")));
    until(&mut w, "first case", |app| {
        !app.state.case().source.contains("asked_other") && app.is_settled()
    });
}

/// Edits made while a case is read are asked about, too.
#[test]
fn work_made_while_a_case_is_read_is_not_lost_to_it() {
    let other = small_case("meanwhile_other").case.expect("a case");
    let mut w = opened(small_case("meanwhile"));
    w.state_mut().command(Command::Open(other));
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 77.0,
        gesture: None,
    });
    until(&mut w, "question", |app| app.state.question.is_some());
    assert_eq!(gantry(w.state().state.case()), 77.0);
    w.state_mut().command(Command::Reply(Reply::Discard));
    until(&mut w, "other case", |app| {
        app.state.case().source.contains("meanwhile_other")
    });
}

/// Angles whose decimals are inexact in binary, another order of the structures, a reused number, no body.
fn work_hard(w: &mut Window) -> Case {
    w.get_by_label("New structure").click();
    w.run_steps(3);
    w.get_by_label("Sphere").click();
    until(w, "volume", |app| app.state.results.volume_cm3(2).is_some());
    let app = w.state_mut();
    let case = app.state.case().clone();
    let mut beam = case.plans[0].beams[0].clone();
    (beam.mu, beam.isocentre_mm.x) = (100.0 / 3.0, 0.1 + 0.2);
    for point in &mut beam.control_points {
        point.jaws.x = [-10.0 / 3.0, std::f64::consts::PI];
    }
    let mut sphere = case.structures.structures[1].clone();
    sphere.name = "tümor µ \"3\"".to_owned();
    let third = |c: &std::sync::Arc<Contour>| Contour {
        points_mm: c.points_mm.iter().map(|p| p / 3.0).collect(),
        image_uid: c.image_uid.clone(),
    };
    sphere.contours = sphere.contours.iter().map(third).collect();
    for edit in [
        Edit::SetBeam {
            plan: 0,
            beam: 0,
            value: beam,
        },
        Edit::SetStructure {
            index: 1,
            value: sphere,
        },
        Edit::RemoveStructure { index: 0 },
    ] {
        app.command(Command::Edit {
            edit: edit.into(),
            gesture: None,
        });
    }
    turn(w, 200.0 / 7.0);
    w.state().state.case().clone()
}

#[test]
fn unsaved_work_comes_back_exactly_after_a_kill() {
    let (mut w, state) = remembering("killed");
    let left = work_hard(&mut w);
    until_kept(&mut w, &state, 200.0 / 7.0);
    // Dropped without closing, as after a kill.
    drop(w);

    let mut again = window(Options {
        state_folder: Some(state.clone()),
        ..Options::default()
    });
    until(&mut again, "offer", |app| !app.state.recoverable.is_empty());
    again.get_by_label("Recover cube.mha").click();
    until(&mut again, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let found = again.state().state.case();
    assert_eq!(found.plans, left.plans, "to the last bit");
    assert_eq!(
        found.structures.structures, left.structures.structures,
        "to the last bit, in order"
    );
    assert!(starred(&again), "it is still not saved");
    assert!(again.state().state.recoverable.is_empty());
    // Killed once more, before any edit: one copy remains.
    until_kept(&mut again, &state, 200.0 / 7.0);
    drop(again);
    assert_eq!(unsaved_files(&state).len(), 1);

    let mut third = opened(Options {
        state_folder: Some(state.clone()),
        ..small_case("killed")
    });
    until(&mut third, "offer", |app| !app.state.recoverable.is_empty());
    third.get_by_label("Recover cube.mha").click();
    until(&mut third, "case", |app| {
        app.state.is_unsaved() && app.is_settled()
    });
    let out = fresh("killed_out").join("mine.json");
    third.state_mut().command(Command::SaveSession(out.clone()));
    until(&mut third, "saved session", |app| {
        !app.state.is_unsaved() && app.is_settled()
    });
    drop(third);
    assert_eq!(
        unsaved_files(&state).len(),
        0,
        "saved, there is nothing to recover"
    );

    // The session itself opens as it was saved; work on it is saved to its own file.
    let session_word = Some(out.display().to_string());
    let mut fourth = opened(Options {
        case: session_word,
        state_folder: Some(state.clone()),
        ..Options::default()
    });
    assert_eq!(
        fourth.state().state.case().structures.structures,
        left.structures.structures
    );
    // On a second plan, which is the one displayed afterwards.
    fourth
        .state_mut()
        .command(Command::Plans(PlanAction::Copy(0)));
    turn(&mut fourth, 5.0);
    until_kept(&mut fourth, &state, 5.0);
    drop(fourth);
    let mut fifth = window(Options {
        state_folder: Some(state),
        ..Options::default()
    });
    until(&mut fifth, "offer", |app| !app.state.recoverable.is_empty());
    fifth.get_by_label("Recover cube.mha").click();
    until(&mut fifth, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(
        (
            fifth.state().state.case().plans.len(),
            fifth.state().state.plan
        ),
        (2, 1)
    );
    assert!(
        fifth.state().title().starts_with("* mine.json"),
        "{}",
        fifth.state().title()
    );
    fifth.key_press_modifiers(Modifiers::COMMAND, Key::S);
    until(&mut fifth, "saved session", |app| !app.state.is_unsaved());
    let saved = session::read(&out).expect("a session");
    let found = &fifth.state().state.case().plans;
    assert!(saved.plans.iter().eq(found.iter().map(|plan| &**plan)));
}

/// Work is written at each edit's end, its view state each minute, by the test's own clock.
#[test]
fn work_is_kept_at_once_and_its_looks_each_minute() {
    let (mut w, state) = remembering("minute");
    let begin = Instant::now();
    let passed = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&passed);
    w.state_mut().set_clock(Arc::new(move || {
        begin + Duration::from_millis(clock.load(Ordering::Relaxed))
    }));
    let kept = |w: &mut Window, ms: u64| {
        passed.store(ms, Ordering::Relaxed);
        w.run_steps(3);
        until(w, "rest", App::is_settled);
        session::read(&unsaved_files(&state)[0]).expect("kept work")
    };
    let looks = |s: &session::Session| s.view["crosshair_mm"].clone();
    turn(&mut w, 40.0);
    let first = kept(&mut w, 0);
    assert_eq!(
        first.plans[0].beams[0].control_points[0].gantry_deg, 40.0,
        "at once"
    );
    // Of edits in quick succession only the last is written, after half a second.
    turn(&mut w, 41.0);
    assert_eq!(kept(&mut w, 499), first);
    let second = kept(&mut w, 500);
    assert_eq!(second.plans[0].beams[0].control_points[0].gantry_deg, 41.0);
    w.state_mut()
        .command(Command::CentreOn(glam::DVec3::new(5.0, 0.0, 0.0)));
    assert_eq!(kept(&mut w, 500 + 59_999), second, "looks alone wait");
    let third = kept(&mut w, 500 + 60_000);
    assert!(
        third.plans == second.plans && looks(&third) != looks(&second),
        "after a minute"
    );
    w.state_mut()
        .command(Command::CentreOn(glam::DVec3::new(-5.0, 0.0, 0.0)));
    assert_eq!(
        kept(&mut w, 500 + 119_999),
        third,
        "and a minute later again"
    );
    assert_ne!(looks(&kept(&mut w, 500 + 120_000)), looks(&third));
}

/// A killed window of many GB holds its lock until the system has taken all of its memory back.
#[test]
fn work_of_a_window_that_ends_while_the_first_page_is_on_show_is_offered() {
    let (mut first, state) = remembering("late");
    turn(&mut first, 40.0);
    until_kept(&mut first, &state, 40.0);
    let mut second = window(Options {
        state_folder: Some(state),
        ..Options::default()
    });
    let (begin, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = Arc::clone(&passed);
    let time = move || begin + Duration::from_secs(clock.load(Ordering::Relaxed));
    second.state_mut().set_clock(Arc::new(time));
    until(&mut second, "rest", App::is_settled);
    assert!(
        second.state().state.recoverable.is_empty(),
        "the first window lives"
    );
    drop(first);
    passed.store(2, Ordering::Relaxed);
    until(&mut second, "offer", |app| {
        !app.state.recoverable.is_empty()
    });
    // A third look finds nothing more, and takes nothing away.
    passed.store(4, Ordering::Relaxed);
    second.run_steps(5);
    until(&mut second, "rest", App::is_settled);
    assert_eq!(second.state().state.recoverable.len(), 1);
    second.get_by_label("Recover cube.mha").click();
    until(&mut second, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(gantry(second.state().state.case()), 40.0);
}

/// The dose of the case's one beam as that of its plan, with the receipt: one that is computed again has other times.
fn doses(w: &Window) -> Vec<Arc<Dose>> {
    w.state()
        .state
        .results
        .shown_dose()
        .cloned()
        .into_iter()
        .collect()
}

#[test]
fn recovered_work_has_its_doses_where_they_answer_it() {
    let (mut w, state) = remembering("kept_doses");
    turn(&mut w, 33.0);
    until_kept(&mut w, &state, 33.0);
    let kept = |path: &Path| {
        std::fs::read_dir(path.with_extension("doses"))
            .into_iter()
            .flatten()
            .count()
    };
    let unsaved = state.clone();
    until(&mut w, "kept doses", move |app| {
        app.is_settled() && unsaved_files(&unsaved).iter().any(|path| kept(path) > 0)
    });
    let before = doses(&w);
    assert!(!before.is_empty() && kept(&unsaved_files(&state)[0]) == before.len());
    drop(w);

    let recover = |state: &Path| {
        let mut w = window(Options {
            state_folder: Some(state.to_owned()),
            ..Options::default()
        });
        until(&mut w, "offer", |app| !app.state.recoverable.is_empty());
        w.get_by_label("Recover cube.mha").click();
        until(&mut w, "case", |app| {
            app.state.is_loaded() && app.is_settled()
        });
        w
    };
    let again = recover(&state);
    assert_eq!(
        said(&again),
        "The unsaved work is back as it was: save it where you want it."
    );
    let after = doses(&again);
    assert_eq!(after.len(), before.len());
    for (a, b) in after.iter().zip(&before) {
        assert_eq!(
            (a.gy.grid(), a.gy.data(), a.status_text()),
            (b.gy.grid(), b.gy.data(), b.status_text())
        );
        assert_eq!(a.receipt, b.receipt, "it was not computed again");
    }
    drop(again);

    assert!(
        kept(&unsaved_files(&state)[0]) > 0,
        "it has them of its own"
    );
    // The images are others meanwhile: the dose is theirs, not the one that was kept.
    let cube = std::path::absolute(folder("kept_doses").join("cube.mha")).unwrap();
    let old = mha::read(&cube).expect("the cube");
    let values = old.data().iter().map(|hu| hu + 20.0).collect();
    mha::write(&cube, &Volume::new(Arc::clone(old.grid()), values)).expect("written");
    let other = recover(&state);
    let why = "1 beam is computed again: the dose kept with the unsaved work is of other images.";
    assert!(said(&other).contains(why), "{}", said(&other));
    for (a, b) in doses(&other).iter().zip(&before) {
        assert!(a.receipt != b.receipt && a.gy.data() != b.gy.data());
    }
    assert_eq!(doses(&other).len(), before.len());
}

#[test]
fn two_windows_do_not_take_each_others_work() {
    let (mut first, state) = remembering("two_windows");
    turn(&mut first, 40.0);
    until_kept(&mut first, &state, 40.0);
    let mut second = opened(Options {
        state_folder: Some(state.clone()),
        ..small_case("two_windows")
    });
    assert!(
        second.state().state.recoverable.is_empty(),
        "the first window lives"
    );
    turn(&mut second, 50.0);
    until_kept(&mut second, &state, 50.0);
    assert_eq!(unsaved_files(&state).len(), 2);
    // A window closed by the user leaves no file; the other's work stays.
    ask_to_close(&mut second);
    answer(&mut second, "Close without saving");
    eframe::App::on_exit(second.state_mut());
    drop(second);
    assert_eq!(unsaved_files(&state).len(), 1);
    assert_eq!(gantry(first.state().state.case()), 40.0);
}

#[test]
fn damaged_work_and_a_case_that_is_gone_are_said() {
    let (mut w, state) = remembering("damaged_work");
    turn(&mut w, 40.0);
    until_kept(&mut w, &state, 40.0);
    drop(w);
    let whole = unsaved_files(&state).remove(0);
    let text = std::fs::read(&whole).expect("a file");
    std::fs::write(whole.with_file_name("1-1-1.json"), &text[..text.len() / 2])
        .expect("a damaged file");
    // The rest of an interrupted write lies beside it.
    std::fs::write(whole.with_file_name(".1-1-1.json.7-0.tmp"), &text[..9])
        .expect("an unfinished file");
    let case = folder("damaged_work").join("cube.mha");
    std::fs::rename(&case, case.with_extension("away")).expect("a case that goes");

    let mut again = window(Options {
        state_folder: Some(state.clone()),
        ..Options::default()
    });
    until(&mut again, "offer", |app| app.state.recoverable.len() == 2);
    assert!(
        again
            .query_by_label_contains("is not a session of this program")
            .is_some(),
        "damage is said"
    );
    again.get_by_label("Recover cube.mha").click();
    until(&mut again, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("cube.mha"))
    });
    assert!(said(&again).contains("there is no"), "{}", said(&again));
    assert_eq!(
        again.state().state.recoverable.len(),
        2,
        "it is still offered"
    );
    // The case has returned, and so has the work.
    std::fs::rename(case.with_extension("away"), &case).expect("a case that comes back");
    again.get_by_label("Recover cube.mha").click();
    until(&mut again, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    assert_eq!(gantry(again.state().state.case()), 40.0);
    again.get_by_label("Discard").click();
    until(&mut again, "one copy", |app| {
        app.state.recoverable.is_empty() && app.is_settled()
    });
    until_kept(&mut again, &state, 40.0);
    assert_eq!(unsaved_files(&state).len(), 1, "the window's own");
}

#[test]
fn where_nothing_can_be_kept_the_window_says_so() {
    let file = fresh("no_state").join("file");
    std::fs::write(&file, "no folder").expect("a file");
    let w = opened(Options {
        state_folder: Some(file),
        ..small_case("no_state_case")
    });
    assert!(
        said(&w).contains("unsaved work is not kept against a crash"),
        "{}",
        said(&w)
    );
}

#[test]
fn recent_cases_are_on_the_first_page() {
    let (w, state) = remembering("recent");
    drop(w);
    let mut again = window(Options {
        state_folder: Some(state),
        ..Options::default()
    });
    until(&mut again, "recent cases", |app| {
        !app.state.recent.is_empty()
    });
    again.get_by_label_contains("Open cube.mha").click();
    until(&mut again, "case", |app| app.state.is_loaded());
}

/// Consecutive saves are all written, before the window closes.
#[test]
fn no_save_takes_the_place_of_another() {
    let out = fresh("saves");
    let mut w = opened(small_case("saves_case"));
    w.state_mut().command(Command::SavePlan(out.join("a.toml")));
    w.state_mut()
        .command(Command::SaveHuTable(out.join("b.toml")));
    w.state_mut()
        .command(Command::SaveSession(out.join("c.json")));
    w.state_mut().command(Command::SavePlan(out.join("d.toml")));
    let is_kept_open = ask_to_close(&mut w).contains(&ViewportCommand::CancelClose);
    let missing = || {
        let names = ["a.toml", "b.toml", "c.json", "d.toml"];
        names
            .into_iter()
            .filter(|name| !out.join(name).is_file())
            .collect::<Vec<_>>()
    };
    // On a machine that stands still the files may be written before the window is asked to close.
    assert!(
        is_kept_open || missing().is_empty(),
        "closed before {:?} were written",
        missing()
    );
    until(&mut w, "rest", App::is_settled);
    assert_eq!(missing(), [""; 0]);
    assert!(!ask_to_close(&mut w).contains(&ViewportCommand::CancelClose));
}
