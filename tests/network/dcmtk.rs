//! The program with dcmtk's: another implementation of each service, on both sides.

use crate::own::send_folder;
use crate::peer::{GO_ON, Served, call, files, names, same_objects, study};
use crate::synthetic::{Folder, set, slice, structures};
use crate::tools::{Running, archive, free_port, local, tool};
use beamsight::network::{AeTitle, Event, Match, Query, Route, find, retrieve};
use dicom_core::VR;
use dicom_dictionary_std::{tags, uids};
use std::process::{Command, Output};

fn run(mut command: Command, words: &[&str]) -> Output {
    let output = command.args(words).output().unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("Abort"),
        "{output:?}"
    );
    output
}

#[test]
fn echoscu_and_storescu_are_served() {
    let (Some(echoscu), Some(storescu), Some(wrong)) =
        (tool("echoscu"), tool("storescu"), tool("echoscu"))
    else {
        return;
    };
    let (study, served) = (study("storescu"), Served::new("storescu-inbox"));
    let port = served.address.port().to_string();
    let output = run(
        echoscu,
        &["-aet", "DCMTK", "-aec", "BEAMSIGHT", "127.0.0.1", &port],
    );
    assert!(output.status.success(), "{output:?}");
    assert!(
        matches!(served.event(0), Event::Echoed { .. }),
        "{}",
        served.event(0)
    );
    let output = run(wrong, &["-v", "-aec", "NOBODY", "127.0.0.1", &port]);
    assert!(!output.status.success(), "{output:?}");
    assert!(
        served.event(1).to_string().contains("it called NOBODY"),
        "{}",
        served.event(1)
    );
    let folder = study.0.to_str().unwrap();
    let output = run(
        storescu,
        &["-aec", "BEAMSIGHT", "+sd", "127.0.0.1", &port, folder],
    );
    assert!(output.status.success(), "{output:?}");
    let Event::Delivered(delivery) = served.event(2) else {
        panic!("{}", served.event(2))
    };
    assert_eq!((delivery.objects, delivery.refused), (5, 0));
    same_objects(&study.0, &delivery.folder.unwrap());
}

#[test]
fn storescp_takes_what_is_sent_and_the_rest_is_named() {
    let Some(mut storescp) = tool("storescp") else {
        return;
    };
    let (study, inbox, port) = (
        study("storescp"),
        Folder::new("storescp-inbox"),
        free_port(),
    );
    storescp.args([
        "-aet",
        "STORESCP",
        "-od",
        inbox.0.to_str().unwrap(),
        "--max-pdu",
        "8192",
        &port.to_string(),
    ]);
    let _running = Running::start(storescp, local(port), "STORESCP");
    let to = call(local(port), "STORESCP", "BEAMSIGHT");
    let sent = send_folder(&study.0, &to);
    assert!(
        sent.broken.is_none() && sent.refused.is_empty() && sent.sent == 5,
        "{sent:?}"
    );
    same_objects(&study.0, &inbox.0);

    // It takes no compressed images unless told to.
    let mut other = structures();
    set(&mut other, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.999");
    study.put_as("compressed.dcm", &other, uids::RLE_LOSSLESS);
    let sent = send_folder(&study.0, &to);
    assert_eq!((sent.sent, sent.refused.len()), (5, 1), "{sent:?}");
    assert_eq!(sent.refused[0].file, "compressed.dcm");
    assert!(
        sent.refused[0].why.contains(uids::RLE_LOSSLESS),
        "{:?}",
        sent.refused
    );
}

fn of_patient(id: &str) -> Query {
    Query {
        patient: Some(id.to_owned()),
        ..Query::default()
    }
}

#[test]
fn dcmqrscp_is_asked_and_gives_by_both_ways() {
    let Some(archive) = archive("archive") else {
        return;
    };
    let study = study("archived");
    archive.fill(&study.0);
    let studies = find(&archive.call(), &of_patient("T*"), &GO_ON).unwrap();
    assert_eq!(studies.len(), 1, "{studies:?}");
    let found = &studies[0];
    assert_eq!(
        (found.patient_id.as_str(), found.study_uid.as_str()),
        ("T1", "1.2.3.1")
    );
    assert_eq!(
        (found.date.as_str(), found.description.as_str()),
        ("20260102", "Chest")
    );
    assert!(
        find(&archive.call(), &of_patient("NOBODY"), &GO_ON)
            .unwrap()
            .is_empty()
    );
    let of_study = Query {
        study: Some("1.2.3.1".to_owned()),
        ..Query::default()
    };
    let mut series = find(&archive.call(), &of_study, &GO_ON).unwrap();
    series.sort_by(|a, b| a.series_uid.cmp(&b.series_uid));
    let words: Vec<_> = series
        .iter()
        .map(|s| (s.modality.as_str(), s.series_uid.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            ("CT", "1.2.3.200"),
            ("RTSTRUCT", "1.2.3.201"),
            ("RTDOSE", "1.2.3.202")
        ]
    );
    let doses = Query {
        modality: Some("RTDOSE".to_owned()),
        ..of_study
    };
    assert_eq!(find(&archive.call(), &doses, &GO_ON).unwrap().len(), 1);

    // The whole study over the same association, then by a call back, then one series.
    let whole = Match {
        study_uid: "1.2.3.1".to_owned(),
        ..Match::default()
    };
    for route in [Route::Get, Route::Move(local(archive.back))] {
        let inbox = Folder::new("retrieved");
        let came = retrieve(&archive.call(), &whole, route, &inbox.0, &GO_ON, &|_, _| ()).unwrap();
        assert_eq!(
            (came.objects, came.failed, came.folders.len()),
            (5, 0, 1),
            "{route:?}: {came:?}"
        );
        same_objects(&study.0, &inbox.0);
        assert_eq!(names(&inbox.0).len(), 1, "the temporary folder is gone");
    }
    let inbox = Folder::new("retrieved-series");
    let came = retrieve(
        &archive.call(),
        &series[0],
        Route::Get,
        &inbox.0,
        &GO_ON,
        &|_, _| (),
    )
    .unwrap();
    assert_eq!((came.objects, files(&inbox.0).len()), (3, 3), "{came:?}");

    // A title that the archive does not know cannot be called back, and nothing appears.
    let inbox = Folder::new("unknown");
    let mut stranger = archive.call();
    stranger.calling = "STRANGER".parse::<AeTitle>().unwrap();
    let route = Route::Move(local(0));
    let error = retrieve(&stranger, &whole, route, &inbox.0, &GO_ON, &|_, _| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not know the AE title"), "{error}");
    assert!(names(&inbox.0).is_empty());
}

/// dcmtk's own users see the same, and have it sent to the program.
#[test]
fn findscu_finds_the_same_and_movescu_sends_it_here() {
    let (Some(findscu), Some(movescu)) = (tool("findscu"), tool("movescu")) else {
        return;
    };
    let Some(archive) = archive("third") else {
        return;
    };
    let study = study("third-party");
    archive.fill(&study.0);
    let port = archive.port.to_string();
    let words = [
        "-v",
        "-S",
        "-aec",
        "PACS",
        "-aet",
        "BEAMSIGHT",
        "-k",
        "0008,0052=STUDY",
        "-k",
        "0010,0020=T1",
    ];
    let output = run(
        findscu,
        &[&words[..], &["-k", "0020,000D", "127.0.0.1", &port]].concat(),
    );
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let found = find(&archive.call(), &of_patient("T1"), &GO_ON).unwrap();
    assert_eq!(
        found.len(),
        said.matches("(0020,000d) UI [1.2.3.1").count(),
        "{said}"
    );
    assert_eq!(found.len(), 1);

    let bind = local(archive.back);
    let served = Served::with("movescu", |options| options.bind = bind);
    let words = [
        "-S",
        "-aec",
        "PACS",
        "-aet",
        "DCMTK",
        "-aem",
        "BEAMSIGHT",
        "-k",
        "0008,0052=STUDY",
    ];
    let output = run(
        movescu,
        &[&words[..], &["-k", "0020,000D=1.2.3.1", "127.0.0.1", &port]].concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let Event::Delivered(delivery) = served.event(0) else {
        panic!("{}", served.event(0))
    };
    assert!(delivery.from.starts_with("PACS at"), "{delivery:?}");
    same_objects(&study.0, &delivery.folder.unwrap());
}

#[test]
fn control_characters_of_answers_are_gone() {
    let Some(archive) = archive("controls") else {
        return;
    };
    let folder = Folder::new("controlled");
    let mut image = slice(1, 0.0, 0);
    set(
        &mut image,
        tags::PATIENT_NAME,
        VR::PN,
        "Red\u{1b}[31m\u{7}^Jane",
    );
    folder.put("a.dcm", &image);
    archive.fill(&folder.0);
    let found = find(&archive.call(), &of_patient("T1"), &GO_ON).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].patient_name.starts_with("Red"), "{found:?}");
    assert!(
        !found[0].patient_name.contains(char::is_control),
        "{found:?}"
    );
}
