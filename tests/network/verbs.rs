//! The verbs as a user runs them.

use crate::peer::{Served, files, names, same_objects, study, until};
use crate::synthetic::Folder;
use dicom_dictionary_std::uids;
use dicom_ul::association::ServerAssociationOptions;
use dicom_ul::pdu::{PDataValueType, Pdu};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

fn beamsight(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beamsight"));
    command
        .args(words)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    command
}

fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// A listener, the address it told, and the rest of what it tells.
struct Listening {
    child: Child,
    address: String,
    rest: BufReader<std::process::ChildStderr>,
}

impl Listening {
    fn start(words: &[&str]) -> Self {
        let mut child = beamsight(&[&["receive", "--port", "0", "--json"], words].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut rest = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        rest.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listening on ")
            .and_then(|l| l.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self {
            child,
            address,
            rest,
        }
    }

    fn end(mut self) -> (Option<i32>, Value, String) {
        let mut told = String::new();
        self.rest.read_to_string(&mut told).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), json_of(&output), told)
    }
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_folder_goes_from_send_to_receive() {
    let (study, inbox) = (study("verbs"), Folder::new("verbs-inbox"));
    let out = inbox.0.join("new");
    let listening = Listening::start(&["--out", out.to_str().unwrap(), "--once"]);
    let to = [
        "--to",
        listening.address.as_str(),
        "--called",
        "BEAMSIGHT",
        "--json",
    ];
    let output = beamsight(&[&["send", "--echo"], &to[..]].concat())
        .output()
        .unwrap();
    assert!(
        output.status.success() && json_of(&output)["echo"] == true,
        "{output:?}"
    );
    // An echo brings nothing: the listener goes on.
    let folder = study.0.to_str().unwrap();
    let output = beamsight(&[&["send", folder, "--calling", "PHYSICS"], &to[..]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(json_of(&output)["sent"], 5);
    let (code, answer, told) = listening.end();
    assert_eq!(
        (code, &answer["objects"]),
        (Some(0), &Value::from(5)),
        "{told}"
    );
    assert!(
        told.contains("PHYSICS at 127.0.0.1 sent 5 objects, now in"),
        "{told}"
    );
    same_objects(&study.0, &out);
    assert_eq!(names(&out).len(), 1);
}

#[test]
fn wrong_words_and_wrong_places_are_refused() {
    let inbox = Folder::new("words");
    let out = inbox.0.to_str().unwrap();
    let code = |words: &[&str], said: &str| {
        let output = beamsight(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            error.contains(said) && !error.contains("panicked"),
            "{words:?}: {error}"
        );
        output.status.code()
    };
    // Beyond this machine only with a list.
    assert_eq!(
        code(
            &["receive", "--out", out, "--bind", "0.0.0.0", "--port", "0"],
            "--allow"
        ),
        Some(2)
    );
    assert_eq!(
        code(
            &["receive", "--out", out, "--ae", "SEVENTEEN LETTERS"],
            "1 to 16"
        ),
        Some(2)
    );
    assert_eq!(
        code(&["send", "--to", "127.0.0.1:1", "--called", "X"], "PATH"),
        Some(2)
    );
    assert_eq!(
        code(
            &["find", "--from", "a:1", "--called", "X", "--get", out],
            "--patient"
        ),
        Some(2)
    );
    assert_eq!(
        code(
            &[
                "find",
                "--from",
                "a:1",
                "--called",
                "X",
                "--patient",
                "a\\b"
            ],
            "backslash"
        ),
        Some(2)
    );
    let of = |words: &[&'static str]| [&["find", "--from", "a:1", "--called", "X"], words].concat();
    for (words, said) in [
        (["--date", "2026-13-01"], "a range 2026-11-01..2026-11-27"),
        (
            ["--date", "2026-11-27..2026-11-01"],
            "ends before it begins",
        ),
        (["--name", "a\\b"], "backslash"),
    ] {
        assert_eq!(code(&of(&words), said), Some(2));
    }
    assert_eq!(
        code(
            &of(&["--name", "Doe", "--study", "1.2"]),
            "cannot be used with"
        ),
        Some(2)
    );
    assert_eq!(
        code(
            &["send", out, "--to", "127.0.0.1:1", "--called", "X"],
            "no DICOM objects"
        ),
        Some(1)
    );
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    assert_eq!(
        code(
            &["send", "--echo", "--to", &closed, "--called", "X"],
            "cannot reach X at"
        ),
        Some(1)
    );
    assert_eq!(
        code(
            &["receive", "--out", &format!("{out}/no/where")],
            "cannot make the folder"
        ),
        Some(1)
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    assert_eq!(
        code(
            &["receive", "--out", out, "--port", &port],
            "cannot listen on"
        ),
        Some(1)
    );
    let served = Served::new("no-queries");
    let from = served.address.to_string();
    assert_eq!(
        code(
            &["find", "--from", &from, "--called", "BEAMSIGHT"],
            "does not offer queries"
        ),
        Some(1)
    );
    assert_eq!(
        code(
            &["find", "--from", &from, "--called", "OTHER"],
            "called AE title"
        ),
        Some(1)
    );
}

#[test]
fn what_cannot_be_sent_is_exit_1_and_named() {
    let (study, served) = (study("partly"), Served::new("partly-inbox"));
    let bytes = std::fs::read(study.0.join("CT1.dcm")).unwrap();
    std::fs::write(study.0.join("cut.dcm"), &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(study.0.join("notes.txt"), "of another format").unwrap();
    let to = served.address.to_string();
    let words = [
        "send",
        study.0.to_str().unwrap(),
        "--to",
        &to,
        "--called",
        "BEAMSIGHT",
        "--json",
    ];
    let output = beamsight(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let answer = json_of(&output);
    assert_eq!(
        (&answer["sent"], &answer["faulty"][0]["file"]),
        (&Value::from(5), &Value::from("cut.dcm"))
    );
    assert_eq!(answer["passed_over"][0]["file"], "notes.txt");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("passed over: notes.txt: it is not a DICOM file"),
        "{told}"
    );
    assert!(
        told.contains("5 of 6 objects sent") && told.contains("1 passed over"),
        "{told}"
    );
    served.event(1);
    assert_eq!(files(&served.folder.0).len(), 5);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_listener_in_order() {
    let inbox = Folder::new("interrupted");
    let listening = Listening::start(&["--out", inbox.0.to_str().unwrap()]);
    // An association that is open then is aborted.
    let mut open = crate::peer::Raw::associated(listening.address.parse().unwrap());
    interrupt(&listening.child);
    assert!(matches!(open.read(), Some(Pdu::AbortRQ { .. })));
    let (code, answer, told) = listening.end();
    assert_eq!(
        (code, &answer["objects"]),
        (Some(0), &Value::from(0)),
        "{told}"
    );
    assert!(names(&inbox.0).is_empty());
}

/// Half an object is patient data, too; a listener that runs beside keeps what it receives.
#[test]
fn what_a_killed_listener_leaves_goes_with_the_next_one() {
    let inbox = Folder::new("killed");
    let listen = || Listening::start(&["--out", inbox.0.to_str().unwrap()]);
    let half = |listening: &Listening| {
        let mut raw = crate::peer::Raw::associated(listening.address.parse().unwrap());
        raw.store(uids::CT_IMAGE_STORAGE, "1.2.3.300.1");
        raw.value(PDataValueType::Data, &[0x08, 0x00, 0x05, 0x00], false);
        raw
    };
    let (mut killed, living) = (listen(), listen());
    let _of_killed = half(&killed);
    until("nothing is written", || names(&inbox.0).len() == 1);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    let left = names(&inbox.0);
    assert!(left.len() == 1 && left[0].starts_with('.'), "{left:?}");
    let of_living = half(&living);
    until("nothing is written", || names(&inbox.0).len() == 2);
    let mut next = listen();
    let there = names(&inbox.0);
    assert!(there.len() == 1 && there != left, "{there:?} {left:?}");
    next.child.kill().unwrap();
    next.child.wait().unwrap();
    drop(of_living);
    until("the living one's is there still", || {
        names(&inbox.0).is_empty()
    });
    let mut living = living;
    living.child.kill().unwrap();
    living.child.wait().unwrap();
}

/// A peer that takes an object and never answers.
#[cfg(unix)]
#[test]
fn ctrl_c_aborts_what_is_sent() {
    let study = study("ctrl-c");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let words = [
        "send",
        study.0.to_str().unwrap(),
        "--to",
        &to,
        "--called",
        "DEAF",
        "--json",
    ];
    let child = beamsight(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let scp = || {
        ServerAssociationOptions::new()
            .accept_any()
            .with_abstract_syntax(uids::CT_IMAGE_STORAGE)
            .with_transfer_syntax(uids::EXPLICIT_VR_LITTLE_ENDIAN)
    };
    // The echo is not offered; the objects follow nevertheless.
    let mut first = scp().establish(listener.accept().unwrap().0).unwrap();
    assert!(!matches!(first.receive(), Ok(Pdu::PData { .. })));
    let mut association = scp().establish(listener.accept().unwrap().0).unwrap();
    let mut whole = 0;
    until("no object came", || {
        if let Ok(Pdu::PData { data }) = association.receive() {
            whole += data.iter().filter(|value| value.is_last).count();
        }
        whole == 2
    });
    interrupt(&child);
    let end = association.receive();
    assert!(matches!(end, Ok(Pdu::AbortRQ { .. })), "{end:?}");
    drop(association);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let answer = json_of(&output);
    assert_eq!(
        (&answer["sent"], &answer["error"]),
        (&Value::from(0), &Value::from("stopped")),
        "{answer}"
    );
}
