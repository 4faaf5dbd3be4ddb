//! A batch: what is done is not done again, a failing job stops no other, a lie in the file stops all, and a killed batch goes on.

use crate::program::{beamsight, command, json_of, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Writes the jobs, a line each, and runs them.
fn file_of(folder: &Path, jobs: &[Value]) -> PathBuf {
    let path = folder.join("jobs.jsonl");
    fs::write(
        &path,
        jobs.iter()
            .map(|job| format!("{job}\n"))
            .collect::<String>(),
    )
    .unwrap();
    path
}

fn job(name: &str, words: &[&str]) -> Value {
    json!({ "name": name, "run": words })
}

/// The gamma of a small dose and itself, which takes no time.
fn gamma(name: &str, dose_percent: &str) -> Value {
    job(
        name,
        &[
            "gamma",
            "a.mha",
            "a.mha",
            "--dose",
            dose_percent,
            "--out",
            "gamma.json",
            "--out=gamma.mha",
        ],
    )
}

/// A folder with a small dose.
fn folder_of(name: &str) -> PathBuf {
    let folder = scratch(name);
    let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::splat(5.0), [8; 3]).unwrap());
    let values = (0..grid.len()).map(|n| 1.0 + n as f32).collect();
    mha::write(&folder.join("a.mha"), &Volume::new(grid, values)).unwrap();
    folder
}

/// Runs a batch into `out`; its exit code and answer.
fn batch(file: &Path, more: &[&str]) -> (i32, Value) {
    let out = file.with_file_name("out");
    let words = [
        "batch",
        text(file),
        "--out",
        text(&out),
        "--device",
        "cpu",
        "--json",
    ];
    let output = beamsight(&[&words[..], more].concat());
    (output.status.code().unwrap(), json_of(&output))
}

/// Temporary folders in one.
fn temporary(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".tmp")).collect()
}

/// Names and states of an answer's jobs.
fn states(answer: &Value) -> Vec<(&str, &str)> {
    let rows = answer["jobs"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    rows.iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["state"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn what_is_done_is_skipped_until_something_changes() {
    let folder = folder_of("batch-resume");
    let a = folder.join("a.mha");
    let alone = folder.join("alone.mha");
    assert!(
        beamsight(&[
            "gamma",
            text(&a),
            text(&a),
            "--out",
            text(&alone),
            "--device",
            "cpu"
        ])
        .status
        .success()
    );
    // Paths of the file are relative to it.
    let failing = job(
        "failing",
        &["dose", "demo:water", "--machine", "no-such-machine"],
    );
    let file = file_of(
        &folder,
        &[gamma("first", "3"), failing, gamma("second", "2")],
    );
    let (exit, answer) = batch(&file, &[]);
    assert_eq!(
        (exit, states(&answer)),
        (
            1,
            vec![("first", "done"), ("failing", "failed"), ("second", "done")]
        )
    );
    let note = answer["jobs"][1]["note"].as_str().unwrap();
    assert!(note.contains("no-such-machine"), "{note}");
    let out = folder.join("out");
    for file in [
        "gamma.json",
        "gamma.mha",
        "answer.json",
        "log.txt",
        "job.json",
    ] {
        assert!(out.join("first").join(file).is_file(), "{file}");
    }
    // The same words alone give the same file, and no file names the folder that it was written in.
    assert_eq!(
        fs::read(out.join("first/gamma.mha")).unwrap(),
        fs::read(alone).unwrap()
    );
    for file in ["gamma.json", "answer.json", "log.txt"] {
        assert!(
            !fs::read_to_string(out.join("first").join(file))
                .unwrap()
                .contains(".tmp"),
            "{file}"
        );
    }
    // Neither folder of a failed job nor temporary ones stay.
    assert!(out.join("failing.failed.json").is_file() && !out.join("failing").exists());
    assert_eq!(temporary(&out), Vec::<String>::new());

    // Again: only what failed is run.
    let (exit, again) = batch(&file, &[]);
    let before = vec![
        ("first", "done before"),
        ("failing", "failed"),
        ("second", "done before"),
    ];
    assert_eq!((exit, states(&again)), (1, before));
    // The words of one change; then the input of both is written to, with what it held.
    file_of(&folder, &[gamma("first", "1"), gamma("second", "2")]);
    let (exit, changed) = batch(&file, &[]);
    assert_eq!(
        (exit, states(&changed)),
        (0, vec![("first", "done"), ("second", "done before")])
    );
    fs::write(&a, fs::read(&a).unwrap()).unwrap();
    assert_eq!(
        states(&batch(&file, &["--collect"]).1),
        [("first", "not done"), ("second", "not done")]
    );
    assert_eq!(
        states(&batch(&file, &[]).1),
        [("first", "done"), ("second", "done")]
    );
    // A file of a job's folder that is gone is made again.
    fs::remove_file(out.join("second/gamma.mha")).unwrap();
    assert_eq!(
        states(&batch(&file, &[]).1),
        [("first", "done before"), ("second", "done")]
    );
    assert_eq!(batch(&file, &["--collect"]).0, 0);
    fs::remove_dir_all(folder).unwrap();
}

/// The reader stands first in the file; its input is made in the run, renewed in a later one, and missing where that fails.
#[test]
fn a_job_follows_the_one_whose_files_it_reads() {
    let folder = folder_of("batch-order");
    let plan = folder.join("plan.toml");
    let scaled = |factor: f64| {
        let field = "gantry_deg = 0\njaws_mm = { x = [-30, 30], y = [-30, 30] }\n";
        let head = "name = \"P\"\nmachine = \"generic-6mv\"\nisocentre_mm = [0, 0, 0]\n";
        let beam = format!("[[beam]]\nname = \"B\"\nmu = {}\n{field}", 100.0 * factor);
        fs::write(&plan, format!("{head}{beam}")).unwrap();
    };
    scaled(1.01);
    let reader = [
        "gamma",
        "a.mha",
        "out/made/dose.mha",
        "--threshold",
        "0",
        "--out",
        "gamma.mha",
    ];
    let of_water = [
        "dose",
        "demo:water",
        "--plan",
        "plan.toml",
        "--grid",
        "10",
        "--quality",
        "fast",
    ];
    let made = job("made", &[&of_water[..], &["--out", "dose.mha"]].concat());
    let file = file_of(&folder, &[job("reader", &reader), made]);
    let maps = || {
        ["reader/gamma.mha", "made/dose.mha"]
            .map(|of| fs::read(folder.join("out").join(of)).unwrap())
    };
    let (exit, answer) = batch(&file, &[]);
    assert_eq!(
        states(&answer),
        [("reader", "done"), ("made", "done")],
        "{exit} {answer}"
    );
    let before = maps();
    assert_eq!(
        states(&batch(&file, &[]).1),
        [("reader", "done before"), ("made", "done before")]
    );

    // What the other reads is written to: both are renewed, in one run.
    scaled(1.02);
    assert_eq!(
        states(&batch(&file, &["--collect"]).1),
        [("reader", "not done"), ("made", "not done")]
    );
    assert_eq!(
        states(&batch(&file, &[]).1),
        [("reader", "done"), ("made", "done")]
    );
    let renewed = maps();
    assert!(renewed[0] != before[0] && renewed[1] != before[1]);

    // A task has both of a pair, and the reader of a job that fails is not run on what is left of an earlier one.
    fs::write(&plan, "no plan").unwrap();
    let (exit, failed) = batch(&file, &[]);
    assert_eq!(
        (exit, states(&failed)),
        (1, vec![("reader", "not done"), ("made", "failed")])
    );
    let note = failed["jobs"][0]["note"].as_str().unwrap();
    assert!(note.contains("'made'"), "{note}");
    scaled(1.03);
    let both: Vec<String> = ["1/2", "2/2"]
        .iter()
        .flat_map(|task| {
            let (_, answer) = batch(&file, &["--task", task]);
            states(&answer)
                .iter()
                .map(|(name, state)| format!("{task} {name} {state}"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        both == ["1/2 reader done", "1/2 made done"]
            || both == ["2/2 reader done", "2/2 made done"],
        "{both:?}"
    );

    // Circles, own files, and files that no job writes.
    let of = |name: &str, reads: &str| job(name, &["gamma", reads, "a.mha", "--out", "g.mha"]);
    let lies = [
        of("a", "out/b/g.mha"),
        of("b", "out/c/g.mha"),
        of("c", "out/a/g.mha"),
        of("d", "out/a/other.mha"),
        of("e", "out/nobody/g.mha"),
    ];
    file_of(&folder, &lies);
    let said = batch(&file, &[]).1["error"].as_str().unwrap().to_owned();
    for words in [
        "line 1: jobs wait for each other's files in a circle: 'a' reads 'b' reads 'c' reads 'a'",
        "line 4: REF 'out/a/other.mha' is not there, and the job 'a' writes no such file",
        "line 5: REF 'out/nobody/g.mha' is not there",
    ] {
        assert!(said.contains(words), "no '{words}' in {said}");
    }
    file_of(&folder, &[of("a", "out/a/g.mha")]);
    let said = batch(&file, &[]).1["error"].as_str().unwrap().to_owned();
    assert!(
        said.contains("line 1: the job 'a' reads its own files"),
        "{said}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// A disk that fails leaves zeros; a user leaves notes.
#[test]
fn a_jobs_own_files_are_told_by_what_they_hold() {
    let folder = folder_of("batch-content");
    let file = file_of(&folder, &[gamma("one", "3")]);
    assert_eq!(states(&batch(&file, &[]).1), [("one", "done")]);
    let path = folder.join("out/one/gamma.mha");
    let (whole, modified) = (
        fs::read(&path).unwrap(),
        path.metadata().unwrap().modified().unwrap(),
    );
    let mut zeroed = whole.clone();
    let data = zeroed.len() - 4 * 8 * 8 * 8;
    zeroed[data..].fill(0);
    assert_ne!(zeroed, whole);
    fs::write(&path, zeroed).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert_eq!(
        states(&batch(&file, &["--collect"]).1),
        [("one", "not done")]
    );
    assert_eq!(states(&batch(&file, &[]).1), [("one", "done")]);
    assert_eq!(fs::read(&path).unwrap(), whole);

    // What no batch has written is not removed with the folder, though the words are others now.
    fs::write(folder.join("out/one/notes.txt"), "mine").unwrap();
    file_of(&folder, &[gamma("one", "2")]);
    let said = batch(&file, &[]).1["error"].as_str().unwrap().to_owned();
    assert!(
        said.contains("line 1: ") && said.contains("notes.txt"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(folder.join("out/one/notes.txt")).unwrap(),
        "mine"
    );
    // A file of the record's name makes no job's folder.
    fs::create_dir_all(folder.join("out/two")).unwrap();
    fs::write(
        folder.join("out/two/job.json"),
        "{\"name\": \"of another program\"}",
    )
    .unwrap();
    file_of(&folder, &[gamma("two", "2")]);
    let said = batch(&file, &[]).1["error"].as_str().unwrap().to_owned();
    assert!(said.contains("is there and is no job's folder"), "{said}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_that_lies_is_refused_by_line_before_anything_runs() {
    let folder = folder_of("batch-lies");
    let lies = [
        (gamma("a", "3"), ""),
        (gamma("A", "3"), "line 2: the name 'A' is that of line 1"),
        (
            job("b", &["export", "demo:water", "--out", "x"]),
            "line 3: 'export' is no verb of a batch",
        ),
        (job("c", &["doze"]), "line 4: "),
        (
            job("d", &["dose", "demo:water", "--grid", "-1"]),
            "line 5: ",
        ),
        (
            job("e", &["gamma", "nowhere.mha", "nowhere.mha"]),
            "line 6: REF 'nowhere.mha' is not there",
        ),
        (
            job("f", &["dose", "demo:water", "--out", "../dose.mha"]),
            "line 7: '../dose.mha' lies outside",
        ),
        (
            job("g", &["dose", "demo:water", "--device", "cpu"]),
            "line 8: --device is the batch's",
        ),
        (
            job("../h", &["dose", "demo:water"]),
            "line 9: the name '../h'",
        ),
        (
            job(
                "i",
                &[
                    "gamma",
                    "jobs.jsonl",
                    "jobs.jsonl",
                    "--out",
                    "g.mha",
                    "--out=g.mha",
                ],
            ),
            "line 10: two files",
        ),
        (
            json!({ "name": "j", "run": ["dose", "demo:water"], "parts": 4 }),
            "line 11: parts are of a dose",
        ),
        (
            job("k", &["dose", "demo:water", "--plan", "nowhere.toml"]),
            "line 12: the plan 'nowhere.toml'",
        ),
        (job("l", &[]), "line 13: "),
    ];
    let file = file_of(&folder, &lies.each_ref().map(|(job, _)| job.clone()));
    let (exit, answer) = batch(&file, &[]);
    let said = answer["error"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    assert!(exit == 2 && said.contains("nothing was run"), "{said}");
    for (_, words) in &lies {
        assert!(said.contains(words), "no '{words}' in {said}");
    }
    assert!(!folder.join("out").exists());
    for (text, words) in [
        ("", "no job"),
        ("{\"name\": \"a\"}\n", "line 1: missing field"),
        ("\n{]\n", "line 2: "),
    ] {
        fs::write(&file, text).unwrap();
        let (exit, answer) = batch(&file, &[]);
        let said = answer["error"].as_str().unwrap();
        assert!(exit == 2 && said.contains(words), "{said}");
    }
    // TOML says the line of a fault in its words, too.
    let toml = folder.join("jobs.toml");
    fs::write(
        &toml,
        "[[job]]\nname = 'a'\nrun = ['dose', 'demo:water']\n\n[[job]]\nname = 'b'\nrun = ['fly']\n",
    )
    .unwrap();
    let said = batch(&toml, &[]).1["error"].as_str().unwrap().to_owned();
    assert!(
        said.contains("line 5: ") && !said.contains("line 1: "),
        "{said}"
    );
    // A folder that is no job's is not replaced.
    fs::create_dir_all(folder.join("out/a")).unwrap();
    file_of(&folder, &[gamma("a", "3")]);
    let said = batch(&file, &[]).1["error"].as_str().unwrap().to_owned();
    assert!(said.contains("is there and is no job's folder"), "{said}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parts_of_histories_merge_to_the_dose_of_one_run() {
    let folder = scratch("batch-parts");
    let words = [
        "dose",
        "demo:water",
        "--engine",
        "mccs",
        "--histories",
        "2e4",
        "--grid",
        "10",
    ];
    let [dose, sigma] = ["one.mha", "sigma.mha"].map(|name| folder.join(name));
    let alone = [
        &words[..],
        &[
            "--out",
            text(&dose),
            "--sigma",
            text(&sigma),
            "--device",
            "cpu",
        ],
    ]
    .concat();
    assert!(beamsight(&alone).status.success());
    let run = [&words[..], &["--out", "dose.mha", "--sigma", "sigma.mha"]].concat();
    let file = file_of(&folder, &[json!({ "name": "mc", "run": run, "parts": 3 })]);
    // Shares, as tasks of Slurm have them, in any order; the table of a task is that of its own.
    for task in ["2/2", "1/2"] {
        let (exit, answer) = batch(&file, &["--task", task]);
        assert!(
            exit == 0 && states(&answer).iter().all(|(_, state)| *state == "done"),
            "{answer}"
        );
    }
    let (exit, answer) = batch(&file, &["--collect"]);
    assert_eq!(
        (exit, states(&answer)),
        (0, vec![("mc", "done")]),
        "{answer}"
    );
    for (one, merged) in [(&dose, "dose.mha"), (&sigma, "sigma.mha")] {
        assert!(
            fs::read(one).unwrap() == fs::read(folder.join("out/mc").join(merged)).unwrap(),
            "{merged}"
        );
    }
    assert!(!folder.join("out/mc.part-1-of-3").exists());
    assert_eq!(states(&batch(&file, &[]).1), [("mc", "done before")]);
    fs::remove_dir_all(folder).unwrap();
}

/// A batch under way, with three jobs of some seconds, of which the first is done.
fn under_way(folder: &Path) -> (PathBuf, Child) {
    let long = |name| {
        job(
            name,
            &[
                "dose",
                "demo:tg119",
                "--grid",
                "4",
                "--engine",
                "mccs",
                "--histories",
                "2e5",
                "--out",
                "d.mha",
            ],
        )
    };
    let file = file_of(
        folder,
        &[gamma("first", "3"), long("second"), long("third")],
    );
    let out = folder.join("out");
    let mut child = command(&[
        "batch",
        text(&file),
        "--out",
        text(&out),
        "--device",
        "cpu",
        "--json",
    ]);
    let child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !out.join("first/job.json").is_file() {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "the first job is not done"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    (file, child)
}

#[test]
fn a_killed_batch_goes_on_and_two_do_not_meet() {
    let folder = folder_of("batch-killed");
    let (file, mut child) = under_way(&folder);
    let (exit, answer) = batch(&file, &[]);
    assert!(
        exit == 1
            && answer["error"]
                .as_str()
                .is_some_and(|said| said.contains("another batch works in")),
        "{answer}"
    );
    // SIGKILL: nothing is tidied, and the job's process ends by itself.
    child.kill().unwrap();
    child.wait().unwrap();
    let (exit, answer) = batch(&file, &[]);
    assert_eq!(exit, 0, "{answer}");
    assert_eq!(states(&answer)[0], ("first", "done before"));
    assert!(
        states(&answer)
            .iter()
            .all(|(_, state)| state.starts_with("done"))
    );
    assert_eq!(temporary(&folder.join("out")), Vec::<String>::new());
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_batch_in_order() {
    let folder = folder_of("batch-stopped");
    let (_, child) = under_way(&folder);
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let answer = json_of(&output);
    assert_eq!(
        (&answer["stopped"], states(&answer)[0]),
        (&json!(true), ("first", "done"))
    );
    assert_eq!(states(&answer)[2], ("third", "stopped"));
    assert_eq!(temporary(&folder.join("out")), Vec::<String>::new());
    fs::remove_dir_all(folder).unwrap();
}
