//! The window's own file browser, where the desktop has no dialogs.

use crate::harness::{Window, folder, small_case, until, window_of_any_letters};
use beamsight::app::command::Command;
use beamsight::app::state::files::FileAction;
use beamsight::app::{App, Options, Picked};
use eframe::egui::{Key, Modifiers, pos2};
use egui_kittest::kittest::Queryable as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn fresh(name: &str) -> PathBuf {
    let path = folder(name);
    std::fs::remove_dir_all(&path).expect("an empty folder");
    folder(name)
}

/// A window on a desktop without dialogs.
fn without_dialogs(options: Options) -> Window {
    let mut w = window_of_any_letters(options);
    w.state_mut().set_dialog(Arc::new(|_| Picked::NoDialog));
    w.run_steps(3);
    w
}

/// Types a path into the browser's field and opens it.
fn go(w: &mut Window, to: &Path) {
    w.get_by_label("Path").focus();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.get_by_label("Path").type_text(&to.display().to_string());
    w.run_steps(2);
    w.key_press(Key::Enter);
    w.run_steps(2);
}

fn see(w: &mut Window, name: &str) {
    for _ in 0..2000 {
        w.step();
        if w.query_by_label(name).is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("{name} is not listed");
}

fn ask(w: &mut Window, ask: FileAction) {
    w.state_mut().command(Command::Pick(ask));
    see(w, "Find");
}

fn find(w: &mut Window, text: &str) {
    w.get_by_label("Find").focus();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.get_by_label("Find").type_text(text);
    w.run_steps(3);
}

#[test]
fn without_dialogs_ctrl_o_opens_a_browser_that_the_keyboard_drives() {
    let case = PathBuf::from(small_case("browsed_case/inner").case.expect("a case"));
    let inner = case.parent().expect("its folder").to_owned();
    let outer = inner.parent().expect("the folder above").to_owned();
    let mut w = without_dialogs(Options::default());
    w.key_press_modifiers(Modifiers::COMMAND, Key::O);
    see(&mut w, "Open a folder in Beamsight");
    let beams = w.state().state.show_beams;
    go(&mut w, &outer);
    see(&mut w, "inner");
    // Typing searches, Enter opens; letters are no shortcuts.
    find(&mut w, "INN");
    w.key_press(Key::B);
    w.key_press(Key::Enter);
    see(&mut w, "Open folder inner");
    assert_eq!(w.state().state.show_beams, beams);
    w.get_by_label("Up").click();
    see(&mut w, "inner");
    // A click beside it keeps what was typed; Escape gives it up.
    let beside = pos2(5.0, 450.0);
    w.hover_at(beside);
    w.drag_at(beside);
    w.drop_at(beside);
    w.run_steps(3);
    see(&mut w, "inner");
    w.key_press(Key::Escape);
    w.run_steps(3);
    assert!(w.query_by_label("Open a folder in Beamsight").is_none());

    // A file is chosen by arrow keys, in the browser's last folder; folders are listed first.
    ask(&mut w, FileAction::OpenFile);
    see(&mut w, "inner");
    go(&mut w, &inner);
    see(&mut w, "cube.mha");
    w.get_by_label("Find").focus();
    w.run_steps(2);
    w.key_press(Key::ArrowDown);
    w.run_steps(2);
    w.key_press(Key::Enter);
    until(&mut w, "case", |app: &App| app.state.is_loaded());
    assert!(w.state().state.case().source.ends_with("cube.mha"));
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_are_listed_and_open() {
    use std::os::unix::ffi::OsStringExt as _;
    let case = PathBuf::from(small_case("utf8_case").case.expect("a case"));
    let outer = fresh("not_utf8");
    let odd = outer.join(std::ffi::OsString::from_vec(b"f\xfflder".to_vec()));
    std::fs::create_dir(&odd).expect("a folder");
    std::fs::copy(&case, odd.join("ct.mha")).expect("a copy");
    let state = fresh("not_utf8_state");
    let mut w = without_dialogs(Options {
        state_folder: Some(state),
        ..Options::default()
    });
    ask(&mut w, FileAction::OpenFile);
    go(&mut w, &outer);
    see(&mut w, "f?lder");
    find(&mut w, "lder");
    w.key_press(Key::Enter);
    see(&mut w, "ct.mha");
    find(&mut w, "ct");
    w.key_press(Key::Enter);
    until(&mut w, "case", |app: &App| {
        app.state.is_loaded() && app.is_settled()
    });
    // A name that a session cannot store gives a notice, once there is work to save.
    w.state_mut().command(Command::AddPlan);
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("not UTF-8"))
    });
}

#[test]
fn thousands_of_files_are_sifted_by_what_is_asked_and_what_is_typed() {
    let outer = fresh("thousands");
    for n in 0..4000 {
        std::fs::write(outer.join(format!("slice{n:04}.dcm")), "").expect("a file");
    }
    for name in ["b.toml", "A.TOML", ".hidden.toml"] {
        std::fs::write(outer.join(name), "").expect("a file");
    }
    std::fs::create_dir(outer.join("zzz")).expect("a folder");
    let mut w = without_dialogs(Options::default());
    ask(&mut w, FileAction::OpenFile);
    go(&mut w, &outer);
    see(&mut w, "slice0001.dcm");
    // Only visible lines are laid out.
    assert!(w.query_all_by_label_contains(".dcm").count() < 60);
    find(&mut w, "3999");
    assert_eq!(w.query_all_by_label_contains(".dcm").count(), 1);
    w.get_by_label("Cancel").click();
    w.run_steps(3);
    ask(&mut w, FileAction::OpenHuTable);
    see(&mut w, "b.toml");
    assert!(w.query_by_label("A.TOML").is_some() && w.query_by_label("zzz").is_some());
    assert!(
        w.query_by_label_contains(".dcm").is_none()
            && w.query_by_label_contains("hidden").is_none()
    );
    // A missing folder gives a notice.
    go(&mut w, Path::new("/no/such/folder"));
    until(&mut w, "notice", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.contains("/no/such/folder"))
    });
}

#[test]
fn a_file_that_is_there_is_not_replaced_without_a_word() {
    let outer = fresh("browsed_saves");
    std::fs::write(outer.join("plan.toml"), "mine").expect("a file");
    let mut w = without_dialogs(small_case("browsed_saves_case"));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    ask(&mut w, FileAction::SavePlan);
    go(&mut w, &outer);
    see(&mut w, "plan.toml");
    let proposed = w.get_by_label("File name").value().expect("a name");
    assert!(
        proposed.starts_with("cube_Test_20") && proposed.ends_with(".toml"),
        "{proposed}"
    );
    // Without its ending it is the same file.
    w.get_by_label("File name").focus();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.get_by_label("File name").type_text("plan");
    w.run_steps(2);
    w.get_by_label("Save here").click();
    until(&mut w, "question", |app| !app.state.replacing.is_empty());
    assert!(w.query_by_label_contains("is there already").is_some());
    assert_eq!(
        std::fs::read_to_string(outer.join("plan.toml")).expect("a file"),
        "mine"
    );
    w.get_by_label("Replace").click();
    until(&mut w, "saved plan", |app| {
        app.state
            .notices
            .iter()
            .any(|n| n.text.starts_with("Saved"))
    });
    assert!(
        std::fs::read_to_string(outer.join("plan.toml"))
            .expect("a file")
            .contains("gantry")
    );
}

#[test]
fn a_typed_path_counts_by_the_buttons_and_files_that_cannot_be_opened_are_not_listed() {
    let case = PathBuf::from(small_case("typed_path").case.expect("a case"));
    let outer = fresh("typed_path_folder");
    std::fs::write(outer.join("README"), "no DICOM").expect("a file");
    std::fs::write(outer.join("notes.txt"), "no DICOM").expect("a file");
    let mut bare = vec![0; 128];
    bare.extend(b"DICM and more");
    std::fs::write(outer.join("IM0001"), bare).expect("a file");
    let mut w = without_dialogs(Options::default());
    ask(&mut w, FileAction::OpenFile);
    go(&mut w, &outer);
    see(&mut w, "IM0001");
    assert!(w.query_by_label("README").is_none() && w.query_by_label("notes.txt").is_none());
    // Typed, and the button pressed: no Return.
    let type_path = |w: &mut Window, to: &Path| {
        w.get_by_label("Path").focus();
        w.run_steps(2);
        w.key_press_modifiers(Modifiers::COMMAND, Key::A);
        w.get_by_label("Path").type_text(&to.display().to_string());
        w.run_steps(2);
    };
    type_path(&mut w, &case);
    w.get_by_label("Open this").click();
    until(&mut w, "case", |app: &App| {
        app.state.is_loaded() && app.is_settled()
    });
    // A folder that is typed is where a file is saved.
    ask(&mut w, FileAction::SaveSession);
    type_path(&mut w, &outer);
    w.get_by_label("File name").focus();
    w.run_steps(2);
    w.key_press_modifiers(Modifiers::COMMAND, Key::A);
    w.get_by_label("File name").type_text("typed");
    w.run_steps(2);
    w.get_by_label("Save here").click();
    until(&mut w, "session", |app| {
        app.is_settled() && outer.join("typed.json").is_file()
    });
}
