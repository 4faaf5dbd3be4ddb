//! A wrong `--out` destroys no file: inputs and existing files are not changed, a stopped program leaves no
//! files behind.

use crate::program::{beamsight, command, refused, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn volume(path: &Path, value: f32) -> PathBuf {
    let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::splat(5.0), [8; 3]).unwrap());
    let values = (0..grid.len()).map(|n| value + n as f32).collect();
    mha::write(path, &Volume::new(grid, values)).unwrap();
    path.to_owned()
}

/// Refused with and without `--overwrite`, and the file is unchanged.
fn stays(kept: &Path, words: &[&str], said: &[&str]) {
    let before = fs::read(kept).unwrap();
    refused(words, said);
    refused(&[words, &["--overwrite"]].concat(), said);
    assert_eq!(fs::read(kept).unwrap(), before, "{words:?}");
}

#[test]
fn an_output_is_no_input_however_it_is_spelled() {
    let folder = scratch("inputs");
    let case = folder.join("case");
    assert!(
        beamsight(&["demo", "water", "--out", text(&case)])
            .status
            .success()
    );
    let slice = case.join("CT0002.dcm");
    let drr = |out: &Path, said: &[&str]| {
        stays(
            &slice,
            &[
                "drr",
                text(&case),
                "--size",
                "8x8",
                "--pixel",
                "40",
                "--out",
                text(out),
            ],
            said,
        );
    };
    drr(
        &slice,
        &["CT0002.dcm", "among the files of the CASE", "outside it"],
    );
    drr(&case.join("new.dcm"), &["new.dcm", "among the files"]);
    drr(
        &case.join("..").join("case").join("new.dcm"),
        &["among the files"],
    );
    let ct = volume(&folder.join("ct.mha"), -1000.0);
    let path = ["path", text(&ct), "--isocentre", "10,10,10", "--out"];
    stays(
        &ct,
        &[&path[..], &[text(&ct)]].concat(),
        &["ct.mha", "the CASE itself"],
    );
    stays(
        &ct,
        &[&path[..], &[text(&folder.join(".").join("ct.mha"))]].concat(),
        &["the CASE itself"],
    );
    #[cfg(unix)]
    {
        let link = folder.join("link");
        std::os::unix::fs::symlink(&case, &link).unwrap();
        drr(&link.join("new.dcm"), &["among the files"]);
        let one = folder.join("one.dcm");
        std::os::unix::fs::symlink(&slice, &one).unwrap();
        drr(&one, &["one.dcm", "among the files"]);
        let second = folder.join("second.dcm");
        fs::hard_link(&slice, &second).unwrap();
        drr(&second, &["second.dcm", "among the files"]);
    }
    // The other verbs: each of their inputs.
    let [a, b] = [("a.mha", 1.0), ("b.mha", 2.0)].map(|(name, gy)| volume(&folder.join(name), gy));
    stays(
        &b,
        &["gamma", text(&a), text(&b), "--out", text(&b)],
        &["b.mha", "EVAL itself"],
    );
    let xray = folder.join("xray.dcm");
    fs::write(&xray, "an X-ray").unwrap();
    stays(
        &xray,
        &[
            "register",
            text(&ct),
            "--image",
            text(&xray),
            "--out",
            text(&xray),
        ],
        &["xray.dcm", "an X-ray itself"],
    );
    let session = folder.join("s.json");
    let inner =
        serde_json::json!({ "version": 1, "case": "ct.mha", "plans": [], "added_structures": [] });
    fs::write(&session, inner.to_string()).unwrap();
    stays(
        &session,
        &["dose", text(&session), "--out", text(&session)],
        &["s.json", "the CASE itself"],
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_exists_is_replaced_only_when_told() {
    let folder = scratch("existing");
    let [a, out] = ["a.mha", "out.csv"].map(|name| folder.join(name));
    volume(&a, 1.0);
    fs::write(&out, "precious").unwrap();
    let words = ["gamma", text(&a), text(&a), "--out", text(&out)];
    refused(&words, &["out.csv", "exists", "--overwrite"]);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    assert_eq!(
        beamsight(&[&words[..], &["--overwrite"]].concat())
            .status
            .code(),
        Some(0)
    );
    assert!(fs::read_to_string(&out).unwrap().starts_with("i,j,k"));
    // One name for two files, in any spelling, is refused before anything is read.
    let again = folder.join(".").join("new.mha");
    let new = folder.join("new.mha");
    for words in [
        &[
            "gamma",
            "nowhere.mha",
            "nowhere.mha",
            "--out",
            text(&new),
            "--out",
            text(&again),
        ][..],
        &[
            "dose",
            "nowhere",
            "--engine",
            "mccs",
            "--out",
            text(&new),
            "--sigma",
            text(&again),
        ],
    ] {
        let output = beamsight(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && said.contains("name one file"),
            "{said}"
        );
    }
    // The plan beside a dose counts as an output.
    fs::write(folder.join("d.plan.dcm"), "precious").unwrap();
    let dose = folder.join("d.dcm");
    refused(
        &["dose", "demo:water", "--out", text(&dose)],
        &["d.plan.dcm", "exists"],
    );
    // A picture under a default name gets a free one.
    assert_eq!(fs::read(folder.join("d.plan.dcm")).unwrap(), b"precious");
    fs::write(folder.join("beamsight.png"), "precious").unwrap();
    let volume = fs::canonicalize(&a).unwrap();
    let output = command(&[text(&volume)])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("into beamsight-2.png"), "{said}");
    assert_eq!(fs::read(folder.join("beamsight.png")).unwrap(), b"precious");
    fs::remove_dir_all(folder).unwrap();
}

/// The signal arrives while a demo is written, file by file.
#[cfg(unix)]
#[test]
fn a_stopped_program_leaves_nothing_behind() {
    for signal in ["INT", "TERM"] {
        let folder = scratch(&format!("stopped-{signal}"));
        let out = folder.join("case");
        let mut program = command(&["demo", "thorax", "--out", text(&out)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let hidden = || fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some());
        let begin = Instant::now();
        // The limit only ends a hanging test.
        while !hidden() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(hidden(), "it writes into a folder of its own first");
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &program.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let status = program.wait().unwrap();
        use std::os::unix::process::ExitStatusExt as _;
        assert!(status.signal().is_some(), "it ends by the signal: {status}");
        let left: Vec<_> = fs::read_dir(&out)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn output_that_cannot_be_written() {
    let folder = scratch("output");
    let missing = folder.join("missing").join("depth.mha");
    refused(
        &["path", "demo:water", "--out", text(&missing)],
        &["depth.mha", "missing", "make it first"],
    );
    let a_folder = folder.join("d.mha");
    fs::create_dir(&a_folder).unwrap();
    refused(
        &["path", "demo:water", "--out", text(&a_folder)],
        &["d.mha", "is a folder"],
    );
    // Root may write anywhere; a path through a file fails even for root.
    fs::write(folder.join("file"), "").unwrap();
    refused(
        &[
            "demo",
            "water",
            "--out",
            text(&folder.join("file").join("x")),
        ],
        &["file", "--out"],
    );
    fs::remove_dir_all(folder).unwrap();
}
