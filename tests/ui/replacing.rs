//! No file of the user's is replaced without a question, and inputs of the case never are.

use crate::harness::{Window, folder, said, small_case, until, window};
use crate::synthetic;
use beamsight::app::command::Command;
use beamsight::app::state::files::FileAction;
use beamsight::app::{App, Picked};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MINE: &str = "mine";

fn opened(name: &str) -> (Window, PathBuf) {
    let mut w = window(small_case(name));
    until(&mut w, "case", |app| {
        app.state.is_loaded() && app.is_settled()
    });
    let out = folder(&format!("{name}_out"));
    fs::remove_dir_all(&out).expect("an empty folder");
    (w, folder(&format!("{name}_out")))
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned()
}

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).click();
    w.run_steps(3);
}

/// Each way of saving over an existing file: kept on the first answer, replaced on the second.
#[test]
fn every_save_asks_before_it_replaces_a_file() {
    let (mut w, out) = opened("replacing");
    type Way = fn(PathBuf) -> Command;
    let ways: [(&str, Way); 3] = [
        ("plan.toml", Command::SavePlan),
        ("session.json", Command::SaveSession),
        ("table.toml", Command::SaveHuTable),
    ];
    for (name, way) in ways {
        let path = out.join(name);
        fs::write(&path, MINE).expect("a file");
        for (button, replaced) in [("Keep it", false), ("Replace", true)] {
            // The ending is added before the check for an existing file.
            w.state_mut().command(way(path.with_extension("")));
            until(&mut w, "question", |app| !app.state.replacing.is_empty());
            assert_eq!(read(&path), MINE, "{name}: asked first");
            assert!(w.query_by_label(&format!("Replace {name}?")).is_some());
            press(&mut w, button);
            until(&mut w, "rest", |app| {
                app.state.replacing.is_empty() && app.is_settled()
            });
            assert_eq!(
                read(&path) != MINE,
                replaced,
                "{name}: {button}; {}",
                said(&w)
            );
        }
    }
    // A session is saved to its own file without a question.
    let session = out.join("session.json");
    fs::write(&session, MINE).expect("a file");
    w.state_mut().command(Command::Save);
    until(&mut w, "saved session", |_| read(&session) != MINE);
    assert!(w.state().state.replacing.is_empty());
}

#[test]
fn a_path_typed_into_the_save_menu_is_asked_about() {
    let (mut w, out) = opened("replacing_menu");
    let path = out.join("plan.toml");
    fs::write(&path, MINE).expect("a file");
    press(&mut w, "Save");
    w.get_by_label("File to save")
        .type_text(&path.display().to_string());
    w.run_steps(2);
    press(&mut w, "Save plan");
    until(&mut w, "question", |app| !app.state.replacing.is_empty());
    // Escape keeps it; shortcuts do not act during the question.
    w.key_press(Key::B);
    w.run_steps(2);
    assert!(w.state().state.show_beams);
    w.key_press(Key::Escape);
    w.run_steps(3);
    assert!(w.state().state.replacing.is_empty());
    assert_eq!(read(&path), MINE);
}

/// The desktop's dialog asks about the name it shows; with the ending added it is another.
#[test]
fn what_the_desktops_dialog_asked_about_is_not_asked_again() {
    let (mut w, out) = opened("replacing_dialog");
    let path = out.join("plan.toml");
    for (picked, asks) in [(path.clone(), false), (out.join("plan"), true)] {
        fs::write(&path, MINE).expect("a file");
        w.state_mut()
            .set_dialog(Arc::new(move |_| Picked::Path(picked.clone())));
        w.state_mut().command(Command::Pick(FileAction::SavePlan));
        let kept = path.clone();
        until(&mut w, "answer", |app| {
            !app.state.replacing.is_empty() || read(&kept) != MINE
        });
        assert_eq!(!w.state().state.replacing.is_empty(), asks);
    }
}

#[test]
fn what_the_case_is_read_from_is_not_written_to() {
    let (mut w, _) = opened("replacing_input");
    let case = folder("replacing_input").join("cube.mha");
    let before = fs::read(&case).expect("the case");
    // A link of another name and ending is the file itself.
    #[cfg(unix)]
    {
        let link = folder("replacing_input_out").join("link.toml");
        std::os::unix::fs::symlink(&case, &link).expect("a link");
        w.state_mut().command(Command::SavePlan(link));
        until(&mut w, "notice", |app| {
            app.state
                .notices
                .iter()
                .any(|n| n.text.contains("the case itself"))
        });
    }
    assert!(w.state().state.replacing.is_empty());
    assert_eq!(fs::read(&case).expect("the case"), before);
    // A case folder is protected as well: no file is added to it.
    let slices = folder("replacing_slices");
    fs::remove_dir_all(&slices).expect("an empty folder");
    let slices = folder("replacing_slices");
    let made = synthetic::Folder::new("replacing-slices");
    for (n, z) in [0.0, 5.0].into_iter().enumerate() {
        let slice = made.put(&format!("{n}.dcm"), &synthetic::slice(n as u32 + 1, z, 5));
        fs::copy(&slice, slices.join(format!("{n}.dcm"))).expect("a slice");
    }
    w.state_mut()
        .command(Command::Open(slices.display().to_string()));
    until(&mut w, "case", |app: &App| {
        app.state.case().source.contains("slices") && app.is_settled()
    });
    for way in [
        Command::SaveHuTable(slices.join("p.toml")),
        Command::SaveSession(slices.join("s.json")),
    ] {
        w.state_mut().command(way);
        until(&mut w, "notice", |app| {
            app.state
                .notices
                .iter()
                .any(|n| n.text.contains("among the files of the case"))
        });
        let ids: Vec<u64> = w.state().state.notices.iter().map(|n| n.id).collect();
        ids.into_iter()
            .for_each(|id| w.state_mut().command(Command::Dismiss(id)));
    }
    assert!(!slices.join("p.toml").exists() && !slices.join("s.json").exists());
}
