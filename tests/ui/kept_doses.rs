//! Doses that are kept with a saved session: taken where they answer it, computed again and said where they do not.

use crate::harness::{Window, folder, said, small_case, until, window};
use beamsight::app::command::Command;
use beamsight::app::state::JobEnd;
use beamsight::app::{App, Options};
use beamsight::case::{Dose, DoseStatus, Receipt};
use beamsight::files::mha;
use beamsight::geometry::Volume;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn settled(options: Options) -> Window {
    let mut w = window(options);
    until(&mut w, "dose", |app| {
        app.state.results.shown_dose().is_some() && app.is_settled()
    });
    w
}

/// The small case with two beams of a machine.
fn two_beams(name: &str, machine: &str) -> Options {
    let options = small_case(name);
    let plan = options.plan.as_ref().expect("a plan");
    let text = std::fs::read_to_string(plan)
        .expect("a plan")
        .replace("\"point-6mv\"", &format!("{machine:?}"));
    let second = "[[beam]]\nname = \"LAT\"\ngantry_deg = 90.0\nmu = 80.0\njaws_mm = { x = [-10.0, 10.0], y = [-10.0, 10.0] }\n";
    std::fs::write(plan, format!("{text}\n{second}")).expect("a plan");
    options
}

/// Two beams in a window that has computed them, and a session of it; nothing of it is left from before.
fn saved(name: &str) -> (Window, PathBuf) {
    std::fs::remove_dir_all(folder(name)).expect("an empty folder");
    let mut w = settled(two_beams(name, "point-6mv"));
    let path = folder(name).join("mine.json");
    save(&mut w, &path);
    assert_eq!(said(&w), format!("Saved {}.", path.display()));
    (w, path)
}

fn save(w: &mut Window, path: &Path) {
    let shown: Vec<u64> = w
        .state()
        .state
        .notices
        .iter()
        .map(|notice| notice.id)
        .collect();
    shown
        .into_iter()
        .for_each(|id| w.state_mut().command(Command::Dismiss(id)));
    let before = w.state().state.notices.log().count();
    w.state_mut().command(Command::SaveSession(path.to_owned()));
    until(w, "answer", |app| {
        app.state.notices.log().count() > before || !app.state.replacing.is_empty()
    });
    if !w.state().state.replacing.is_empty() {
        w.state_mut().command(Command::Replace(true));
        until(w, "saved session", |app| {
            app.state.notices.log().count() > before
        });
    }
    until(w, "rest", App::is_settled);
}

fn reopened(path: &Path) -> Window {
    settled(Options {
        case: Some(path.display().to_string()),
        ..Options::default()
    })
}

fn doses_of(path: &Path) -> PathBuf {
    path.with_file_name(format!(
        "{}.doses",
        path.file_name().expect("a name").display()
    ))
}

fn dose(w: &Window) -> Arc<Dose> {
    Arc::clone(w.state().state.results.shown_dose().expect("a dose"))
}

/// The receipt of each beam: one that is computed again has other times.
fn receipts(w: &Window) -> Vec<(String, Receipt)> {
    let finished = w
        .state()
        .state
        .jobs
        .finished
        .iter()
        .filter_map(|job| match &job.end {
            JobEnd::Done(receipt)
                if job.name.starts_with("Dose of beam ") && !job.name.ends_with("preview") =>
            {
                Some((job.name.to_string(), Receipt::clone(receipt)))
            }
            _ => None,
        });
    let mut all: Vec<_> = finished.collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// How many of the two beams have the receipt that they had before.
fn taken(w: &Window, before: &Window) -> usize {
    let (own, before) = (receipts(w), receipts(before));
    assert_eq!((own.len(), before.len()), (2, 2));
    own.iter()
        .zip(&before)
        .filter(|(own, before)| own == before)
        .count()
}

fn assert_same_dose(a: &Dose, b: &Dose) {
    assert_eq!((a.gy.grid(), a.gy.data()), (b.gy.grid(), b.gy.data()));
    assert_eq!((a.status, b.status), (DoseStatus::Final, DoseStatus::Final));
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).expect("a session");
    assert!(text.contains(from), "{from}");
    std::fs::write(path, text.replacen(from, to, 1)).expect("a session");
}

#[test]
fn doses_of_a_session_are_there_as_they_were() {
    let (w, path) = saved("session_doses");
    let again = reopened(&path);
    assert_eq!(said(&again), "");
    assert_same_dose(&dose(&again), &dose(&w));
    assert_eq!(taken(&again, &w), 2);
    // Saved anew without a beam computed, under another name in another folder, it has them still.
    let mut again = again;
    let other = folder("session_doses_other");
    std::fs::remove_dir_all(&other).expect("an empty folder");
    let other = folder("session_doses_other").join("other.json");
    save(&mut again, &other);
    let read = |path: &Path| std::fs::read(doses_of(path)).expect("doses");
    assert_eq!(read(&other), read(&path));
    assert_eq!(taken(&reopened(&other), &w), 2);
    let names = |path: &Path| {
        std::fs::read_dir(path.parent().expect("a folder"))
            .expect("a folder")
            .count()
    };
    assert_eq!(names(&other), 2, "nothing else is left there");
}

#[test]
fn doses_of_another_state_are_computed_again_and_that_is_said() {
    let (w, path) = saved("session_edited");
    let whole = std::fs::read_to_string(&path).expect("a session");
    // The plan, by hand.
    edit(&path, "\"gantry_deg\":90.0", "\"gantry_deg\":100.0");
    let again = reopened(&path);
    let why =
        "1 of 2 beams is computed again: the dose kept with the session is of an earlier plan.";
    assert_eq!(said(&again), why);
    assert_eq!(taken(&again, &w), 1);
    let (earlier, is) = (dose(&w), dose(&again));
    assert!(is.gy.data() != earlier.gy.data() && is.status == DoseStatus::Final);
    // The same without any dose at hand.
    std::fs::remove_file(doses_of(&path)).expect("doses");
    let fresh = reopened(&path);
    let why = "2 of 2 beams are computed again: the doses kept with the session are missing.";
    assert_eq!((said(&fresh), taken(&fresh, &w)), (why.to_owned(), 0));
    assert_same_dose(&is, &dose(&fresh));

    // Images, under a session that is as it was.
    std::fs::write(&path, whole).expect("a session");
    let mut w = reopened(&path);
    save(&mut w, &path);
    let cube = folder("session_edited").join("cube.mha");
    let old = mha::read(&cube).expect("the cube");
    let values = old.data().iter().map(|hu| hu + 20.0).collect();
    mha::write(&cube, &Volume::new(Arc::clone(old.grid()), values)).expect("written");
    let again = reopened(&path);
    let why = "the session: the images are other ones than it was saved with | 2 of 2 beams are computed again: the doses kept \
               with the session are of other images.";
    assert_eq!((said(&again), taken(&again, &w)), (why.to_owned(), 0));
    assert!(dose(&again).gy.data() != dose(&w).gy.data());
}

/// The file of a machine is written anew after the doses were computed with it, and the session saved before anybody has looked.
#[test]
fn doses_of_a_machine_file_that_has_changed_are_none_of_the_new_one() {
    let name = "session_machine";
    std::fs::remove_dir_all(folder(name)).expect("an empty folder");
    let machine = folder(name).join("machine.toml");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/machines/point-6mv.toml");
    let text = std::fs::read_to_string(shipped).expect("a machine");
    std::fs::write(&machine, &text).expect("a machine");
    let mut w = settled(two_beams(name, machine.to_str().expect("UTF-8")));
    let leaky = text.replace("transmission = 0.0", "transmission = 0.3");
    assert_ne!(leaky, text);
    std::fs::write(&machine, leaky).expect("a machine");
    let (before, path) = (dose(&w), folder(name).join("mine.json"));
    save(&mut w, &path);
    let again = reopened(&path);
    let why = "2 of 2 beams are computed again: the doses kept with the session are of another machine file.";
    assert_eq!(said(&again), why);
    assert!(dose(&again).gy.data() != before.gy.data());
    std::fs::remove_file(doses_of(&path)).expect("doses");
    assert_same_dose(&dose(&again), &dose(&reopened(&path)));
}

#[test]
fn doses_that_are_damaged_swapped_or_unknown_to_the_session_are_no_others() {
    let (w, path) = saved("session_damaged");
    let doses = doses_of(&path);
    let whole = std::fs::read(&doses).expect("doses");
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("bytes") ^= 1;
    std::fs::write(&doses, damaged).expect("doses");
    let again = reopened(&path);
    let why = "1 of 2 beams is computed again: the dose kept with the session is damaged.";
    assert_eq!((said(&again), taken(&again, &w)), (why.to_owned(), 1));
    assert_same_dose(&dose(&again), &dose(&w));

    // Those of another session of the folder, whose first beam alone is the same.
    std::fs::write(&doses, &whole).expect("doses");
    let mut other = reopened(&path);
    other.state_mut().command(Command::Gantry {
        beam: 1,
        gantry_deg: 80.0,
        gesture: None,
    });
    until(&mut other, "dose", App::is_settled);
    let others = path.with_file_name("others.json");
    save(&mut other, &others);
    std::fs::rename(doses_of(&others), &doses).expect("doses");
    let again = reopened(&path);
    let why =
        "1 of 2 beams is computed again: the dose kept with the session is of an earlier plan.";
    assert_eq!((said(&again), taken(&again, &w)), (why.to_owned(), 1));
    assert_same_dose(&dose(&again), &dose(&w));

    // A session of before sessions kept doses names none: nothing is said, and what answers it is taken.
    let text = std::fs::read_to_string(&path).expect("a session");
    let (begin, rest) = text.split_once("\"doses\":").expect("beams with doses");
    let (_, end) = rest.split_once("],").expect("a list");
    std::fs::write(&path, [begin, end].concat()).expect("a session");
    let again = reopened(&path);
    assert_eq!((said(&again), taken(&again, &w)), (String::new(), 1));
    std::fs::remove_file(&doses).expect("doses");
    let again = reopened(&path);
    assert_eq!((said(&again), taken(&again, &w)), (String::new(), 0));
    assert_same_dose(&dose(&again), &dose(&w));
}

#[test]
fn saving_over_another_session_leaves_no_dose_of_it() {
    let (mut w, path) = saved("session_over");
    let other = path.with_file_name("other.json");
    save(&mut w, &other);
    // Both beams of the other session are turned, its doses are of no use here.
    w.state_mut().command(Command::Gantry {
        beam: 0,
        gantry_deg: 10.0,
        gesture: None,
    });
    w.state_mut().command(Command::Gantry {
        beam: 1,
        gantry_deg: 80.0,
        gesture: None,
    });
    until(&mut w, "dose", App::is_settled);
    save(&mut w, &path);
    let read = |path: &Path| std::fs::read(doses_of(path)).expect("doses");
    assert!(read(&path) != read(&other));
    let again = reopened(&path);
    assert_eq!(said(&again), "");
    assert_same_dose(&dose(&again), &dose(&w));

    // The place of the doses is taken: the session is saved, and says that it is without.
    std::fs::remove_file(doses_of(&other)).expect("doses");
    std::fs::create_dir(doses_of(&other)).expect("a folder");
    save(&mut w, &other);
    assert!(
        said(&w).contains("The session is saved without its doses"),
        "{}",
        said(&w)
    );
    let without = reopened(&other);
    assert_eq!(said(&without), "");
    assert_same_dose(&dose(&without), &dose(&w));
    let names = std::fs::read_dir(folder("session_over"))
        .expect("a folder")
        .count();
    assert_eq!(
        names, 6,
        "case, plan, two sessions, a file of doses and the folder"
    );
}
