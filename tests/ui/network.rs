//! Other systems: what the box listens to, sends and remembers.

use crate::dcmtk::archive;
use crate::harness::{Window, fill_in, folder, until, window};
use crate::synthetic::{Folder, set, slice};
use beamsight::app::{Options, Picked};
use beamsight::dicom::transferables;
use beamsight::network::{Call, Event, Patience, ReceiveOptions, Receiver, Until, send};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use egui_kittest::kittest::Queryable as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn press(w: &mut Window, button: &str) {
    w.get_by_label(button).click();
    w.run_steps(3);
}

fn told(w: &Window) -> String {
    w.state()
        .state
        .network
        .lines
        .iter()
        .map(|(_, line)| line.as_str())
        .collect::<Vec<_>>()
        .join(" | ")
}

#[test]
fn nothing_listens_until_asked_and_what_arrives_is_offered() {
    let inbox = Folder::new("ui-inbox");
    let mut w = window(Options::default());
    press(&mut w, "Open");
    press(&mut w, "Receive…");
    assert!(!w.state().state.network.has_listener && w.query_by_label("Off").is_some());
    // Without a folder, or open to others without a list, it does not listen.
    press(&mut w, "Listen");
    assert!(told(&w).contains("name a folder"), "{}", told(&w));
    fill_in(&mut w, "Folder for arrivals", inbox.0.to_str().unwrap());
    fill_in(&mut w, "Listen on port", "0");
    fill_in(&mut w, "Listen on address", "0.0.0.0");
    press(&mut w, "Listen");
    assert!(
        told(&w).contains("say who may call") && !w.state().state.network.has_listener,
        "{}",
        told(&w)
    );
    fill_in(&mut w, "Listen on address", "127.0.0.1");
    press(&mut w, "Listen");
    until(&mut w, "listener", |app| {
        app.state.network.listening.is_some()
    });

    let study = Folder::new("ui-study");
    (1..=3).for_each(|n| _ = study.put(&format!("{n}.dcm"), &slice(n, f64::from(n), 0)));
    let to = w.state().state.network.listening.unwrap().to_string();
    let title = |word: &str| word.parse().unwrap();
    let call = Call {
        to,
        called: title("BEAMSIGHT"),
        calling: title("PACS"),
        patience: Patience::default(),
    };
    let objects = transferables(std::slice::from_ref(&study.0), &|_| true)
        .unwrap()
        .objects;
    assert_eq!(
        send(&call, &objects, &AtomicBool::new(false), &|_| ()).sent,
        3
    );
    until(&mut w, "arrival", |app| {
        !app.state.network.arrived.is_empty()
    });
    let arrived = w.state().state.network.arrived[0].clone();
    press(
        &mut w,
        &format!("Open {}", arrived.file_name().unwrap().to_str().unwrap()),
    );
    until(&mut w, "case", |app| app.state.is_loaded());
    assert_eq!(
        w.state().state.case().ct.as_ref().unwrap().hu.grid().size()[2],
        3
    );

    press(&mut w, "Stop listening");
    until(&mut w, "end", |app| !app.state.network.has_listener);
    assert!(
        std::net::TcpStream::connect(&call.to).is_err(),
        "nothing listens any more"
    );
}

#[test]
fn a_folder_is_sent_and_the_names_are_remembered() {
    let (inbox, study) = (Folder::new("ui-peer"), Folder::new("ui-sent"));
    study.put("a.dcm", &slice(1, 0.0, 0));
    let receiver = Receiver::bind(ReceiveOptions::local(
        "PACS".parse().unwrap(),
        inbox.0.clone(),
    ))
    .unwrap();
    let (to, stop) = (
        receiver.address().to_string(),
        Arc::new(AtomicBool::new(false)),
    );
    let (ends, came) = (Arc::clone(&stop), Arc::new(Mutex::new(0)));
    let counts = Arc::clone(&came);
    let serving = std::thread::spawn(move || {
        let told = |event: &Event| {
            if let Event::Delivered(delivery) = event {
                *counts.lock().unwrap() += delivery.objects;
            }
        };
        receiver.serve(Until::default(), &ends, &told).unwrap();
    });
    let state_folder = folder("ui-network-state");
    let _ = std::fs::remove_dir_all(&state_folder);
    let options = || Options {
        state_folder: Some(state_folder.clone()),
        ..Options::default()
    };
    let mut w = window(options());
    press(&mut w, "Save");
    press(&mut w, "Send…");
    press(&mut w, "Send");
    assert!(told(&w).contains("Not sent: name the host"), "{}", told(&w));
    fill_in(&mut w, "Their host and port", &to);
    fill_in(&mut w, "Their AE title", "PACS");
    press(&mut w, "Ask whether it is there");
    until(&mut w, "echo", |app| app.state.network.calling.is_none());
    assert!(told(&w).contains("is there and answers"), "{}", told(&w));
    fill_in(&mut w, "Folder or file to send", study.0.to_str().unwrap());
    press(&mut w, "Send");
    until(&mut w, "objects", |app| app.state.network.calling.is_none());
    assert!(
        told(&w).contains("1 of 1 objects sent to PACS"),
        "{}",
        told(&w)
    );
    fill_in(&mut w, "Their AE title", "OTHER");
    press(&mut w, "Send");
    until(&mut w, "refusal", |app| app.state.network.calling.is_none());
    assert!(
        told(&w).contains("called AE title") && told(&w).contains("0 of 1"),
        "{}",
        told(&w)
    );
    // A failure is tried again by one click, with what is typed by then.
    fill_in(&mut w, "Their AE title", "PACS");
    press(&mut w, "Try again");
    until(&mut w, "objects", |app| app.state.network.calling.is_none());
    assert_eq!(
        told(&w).matches("1 of 1 objects sent to PACS").count(),
        2,
        "{}",
        told(&w)
    );
    assert!(w.query_by_label("Try again").is_none());
    stop.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    assert_eq!(*came.lock().unwrap(), 2);
    fill_in(&mut w, "Their AE title", "OTHER");

    eframe::App::on_exit(w.state_mut());
    drop(w);
    let mut next = window(options());
    let known = &next.state().state.network;
    assert_eq!(
        (known.settings.called.as_str(), &known.settings.to),
        ("OTHER", &to)
    );
    assert!(
        !known.is_open && !known.has_listener,
        "nothing listens at the start"
    );
    // The one that has answered is chosen from the book, or forgotten.
    press(&mut next, "Open");
    press(&mut next, "Receive…");
    press(&mut next, "Known systems");
    assert!(
        next.query_by_label(&format!("OTHER at {to}")).is_none(),
        "it has not answered"
    );
    press(&mut next, &format!("PACS at {to}"));
    assert_eq!(next.state().state.network.settings.called, "PACS");
    press(&mut next, "Known systems");
    press(&mut next, &format!("Forget PACS at {to}"));
    assert!(next.state().state.network.settings.book.is_empty());
    // Folders are chosen in a dialog.
    let chosen = study.0.clone();
    next.state_mut()
        .set_dialog(Arc::new(move |_| Picked::Path(chosen.clone())));
    press(&mut next, "Choose the folder for arrivals");
    until(&mut next, "folder", |app| {
        app.state.network.settings.into == study.0.to_str().unwrap()
    });
    fill_in(&mut next, "Folder or file to send", "");
    press(&mut next, "Choose the folder to send");
    until(&mut next, "folder", |app| {
        app.state.network.settings.what == study.0.to_str().unwrap()
    });
}

#[test]
fn what_an_archive_has_is_listed_and_fetched() {
    let Some(archive) = archive("ui-archive") else {
        return;
    };
    let (study, inbox) = (Folder::new("ui-archived"), Folder::new("ui-fetched"));
    for n in 1..=3 {
        let mut slice = slice(n, f64::from(n), 0);
        set(&mut slice, tags::STUDY_DATE, VR::DA, "20260102");
        study.put(&format!("{n}.dcm"), &slice);
    }
    archive.fill(&study.0);
    let mut w = window(Options::default());
    press(&mut w, "Open");
    press(&mut w, "Receive…");
    fill_in(&mut w, "Their host and port", &archive.call().to);
    fill_in(&mut w, "Their AE title", "PACS");
    fill_in(&mut w, "Patient ID", "NOBODY\\ELSE");
    press(&mut w, "Find");
    assert!(
        told(&w).contains("no backslash") && w.state().state.network.calling.is_none(),
        "{}",
        told(&w)
    );
    fill_in(&mut w, "Patient ID", "T*");
    // The only study is of Test^One and of the second of January.
    for (field, other, own) in [
        ("Patient name", "Nobody", "Test, O"),
        ("Study date", "..2025-12-31", "2026-01-02.."),
    ] {
        fill_in(&mut w, field, other);
        press(&mut w, "Find");
        until(&mut w, "answer", |app| app.state.network.calling.is_none());
        assert_eq!(
            w.state()
                .state
                .network
                .found
                .as_ref()
                .expect("an answer")
                .matches
                .len(),
            0,
            "{other}"
        );
        fill_in(&mut w, field, own);
    }
    press(&mut w, "Find");
    until(&mut w, "answer", |app| app.state.network.calling.is_none());
    assert!(told(&w).contains("1 studies found at PACS"), "{}", told(&w));
    let found = w
        .state()
        .state
        .network
        .found
        .as_ref()
        .expect("answers")
        .matches
        .clone();
    assert_eq!((found.len(), found[0].patient_id.as_str()), (1, "T1"));
    // Without a folder nothing is fetched; then the study comes, and is offered.
    let uid = found[0].study_uid.clone();
    press(&mut w, &format!("Get {uid}"));
    assert!(told(&w).contains("name a folder"), "{}", told(&w));
    fill_in(&mut w, "Folder for arrivals", inbox.0.to_str().unwrap());
    press(&mut w, &format!("Get {uid}"));
    until(&mut w, "objects", |app| app.state.network.calling.is_none());
    assert!(
        told(&w).contains("3 objects retrieved into"),
        "{}",
        told(&w)
    );
    assert_eq!(w.state().state.network.arrived.len(), 1);
    // Its series, one of which comes by itself.
    press(&mut w, &format!("Series of {uid}"));
    until(&mut w, "series", |app| app.state.network.calling.is_none());
    assert!(told(&w).contains("1 series found"), "{}", told(&w));
    let series = w
        .state()
        .state
        .network
        .found
        .as_ref()
        .expect("answers")
        .matches[0]
        .series_uid
        .clone();
    press(&mut w, &format!("Get {series}"));
    until(&mut w, "the series", |app| {
        app.state.network.calling.is_none()
    });
    let arrived = w.state().state.network.arrived.clone();
    assert_eq!(arrived.len(), 2, "{}", told(&w));
    press(
        &mut w,
        &format!("Open {}", arrived[0].file_name().unwrap().to_str().unwrap()),
    );
    until(&mut w, "case", |app| app.state.is_loaded());
    assert_eq!(
        w.state().state.case().ct.as_ref().unwrap().hu.grid().size()[2],
        3
    );
}

/// A system that accepts the connection and says nothing: the user ends it.
#[test]
fn a_silent_archive_is_left() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut w = window(Options::default());
    press(&mut w, "Open");
    press(&mut w, "Receive…");
    fill_in(
        &mut w,
        "Their host and port",
        &silent.local_addr().unwrap().to_string(),
    );
    fill_in(&mut w, "Their AE title", "PACS");
    press(&mut w, "Find");
    assert!(w.state().state.network.calling.is_some());
    press(&mut w, "Stop finding");
    until(&mut w, "end", |app| app.state.network.calling.is_none());
    assert!(
        told(&w).contains("Cancelled: finding. Press 'Find' to go on."),
        "{}",
        told(&w)
    );
    assert!(
        told(&w).contains("stopped") && w.state().state.network.found.is_none(),
        "{}",
        told(&w)
    );
}
