//! `beamsight dvh`: metrics by their requested names, curves, refusals and metrics without a value.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dose of 2.5 mm voxels, 120 mm round the target of demo:water (a sphere of 20 mm round (0, -50, 0)) moved by `off_mm`: 100 Gy
/// in the target's middle, 1 Gy more each mm along y.
fn gradient(folder: &Path, off_mm: DVec3) -> PathBuf {
    let first = DVec3::new(-58.75, -108.75, -58.75) + off_mm;
    let grid = Grid::axis_aligned(first, DVec3::splat(2.5), [48; 3]).unwrap();
    let at = |n: usize| (150.0 + grid.centre_mm(n % 48, n / 48 % 48, n / 48 / 48).y) as f32;
    let data = (0..grid.len()).map(at).collect();
    let path = folder.join("gradient.mha");
    mha::write(&path, &Volume::new(Arc::new(grid), data)).unwrap();
    path
}

fn dvh(words: &[&str]) -> Value {
    let output = beamsight(&[&["dvh", "demo:water", "--json"][..], words].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    json_of(&output)
}

fn near(value: &Value, want: f64, within: f64) {
    let got = value.as_f64().unwrap_or(f64::NAN);
    assert!(
        (got - want).abs() <= within,
        "{got} is not {want} to {within}"
    );
}

/// The share of a sphere of radius R beyond x R along a line is (1 - x)^2 (2 + x) / 4.
#[test]
fn metrics_are_those_of_a_sphere_in_a_gradient_by_the_words_asked_for() {
    let folder = scratch("dvh-metrics");
    let dose = gradient(&folder, DVec3::ZERO);
    let asked = "d95 %,D2cc,Dmean,V110Gy,V110Gy[cc],V55%,HI,CI,gEUD(a=1),dmax";
    let out = folder.join("dvh.csv");
    let said = dvh(&[
        "--dose",
        text(&dose),
        "--structure",
        "ptv",
        "--metrics",
        asked,
        "--prescription",
        "200",
        "--out",
        text(&out),
    ]);
    assert_eq!(
        (&said["status"], &said["prescription_gy"]),
        (&"imported".into(), &200.0.into())
    );
    let structures = said["structures"].as_array().unwrap();
    let [ptv] = &structures[..] else {
        panic!("{structures:?}")
    };
    assert_eq!(ptv["name"], "PTV");
    assert_eq!(ptv["outside_percent"], 0.0);
    near(&ptv["volume_cm3"], 33.51, 0.3);
    let metrics = ptv["metrics"].as_object().unwrap();
    assert_eq!(metrics.len(), asked.split(',').count());
    // 95 % of the sphere lie beyond x = -0.7293, 2 cm3 beyond 0.7027.
    near(&metrics["d95 %"], 100.0 - 14.59, 0.3);
    // 1 Gy is 1 mm here: within a sixth of a voxel.
    near(&metrics["D2cc"], 114.06, 0.4);
    near(&metrics["Dmean"], 100.0, 0.1);
    near(&metrics["V110Gy"], 15.625, 0.8);
    near(&metrics["V110Gy[cc]"], 0.15625 * 33.51, 0.3);
    near(&metrics["V55%"], 15.625, 0.8);
    near(&metrics["HI"], 2.0 * 0.8319 * 20.0 / 100.0, 0.01);
    near(&metrics["gEUD(a=1)"], 100.0, 0.1);
    near(&metrics["dmax"], 120.0, 1.3);
    // The dose is at most 160 Gy: 200 Gy are nowhere.
    assert!(metrics["CI"].is_null());
    assert!(
        ptv["remarks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r.as_str().unwrap().starts_with("CI: ")),
        "{ptv}"
    );

    let csv = fs::read_to_string(&out).unwrap();
    let mut lines = csv.lines();
    assert_eq!(
        lines.next().unwrap(),
        "\"dose (Gy), imported; the file says nothing of its quantity, patient, frame of reference: it is taken as the dose in Gy that \
         belongs to the case\",PTV (%),PTV (cm3),PTV (% per Gy)"
    );
    let row = lines.find(|line| line.starts_with("110.0,")).unwrap();
    let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
    assert!(
        (cells[1] - 15.6).abs() < 0.8 && (cells[2] - 5.24).abs() < 0.3,
        "{row}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_lies_outside_the_dose_or_needs_a_prescription_is_told_and_never_0() {
    let folder = scratch("dvh-outside");
    let dose = gradient(&folder, DVec3::ZERO);
    // The plan of the case prescribes 2 Gy.
    let said = dvh(&["--dose", text(&dose), "--metrics", "V95%,Dmin"]);
    assert_eq!(said["prescription_gy"], 2.0);
    let structures = said["structures"].as_array().unwrap();
    let names: Vec<&str> = structures
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["BODY", "PTV"]);
    // 12 cm of a cube of 30.
    near(&structures[0]["outside_percent"], 100.0 - 6.4, 0.1);
    assert!(
        structures[0]["remarks"][0]
            .as_str()
            .unwrap()
            .contains("outside the dose grid"),
        "{said}"
    );
    near(&structures[1]["metrics"]["V95%"], 100.0, 1e-9);

    // The target lies beside the dose, the body in part.
    let aside = gradient(&folder, DVec3::new(0.0, 0.0, 120.0));
    let said = dvh(&["--dose", text(&aside)]);
    let ptv = &said["structures"][1];
    assert!(
        ptv["metrics"]["D95%"].is_null() && ptv["metrics"]["Dmax"].is_null(),
        "{ptv}"
    );
    assert_eq!(
        (
            &ptv["outside_percent"],
            &ptv["metrics"].as_object().unwrap().len()
        ),
        (&100.0.into(), &7)
    );
    assert!(
        ptv["remarks"][0]
            .as_str()
            .unwrap()
            .contains("wholly outside"),
        "{ptv}"
    );
    assert!(said["structures"][0]["metrics"]["D95%"].is_number());
    // No metric has a value: the answer gives the reason, and the exit code too.
    let output = beamsight(&[
        "dvh",
        "demo:water",
        "--dose",
        text(&aside),
        "--structure",
        "PTV",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(json_of(&output)["structures"][0]["metrics"]["Dmean"].is_null());
    assert!(String::from_utf8_lossy(&output.stderr).contains("wholly outside the dose grid"));
    fs::remove_dir_all(folder).unwrap();
}

/// The dose of the plan is that of `beamsight dose`, with the status coarse.
#[test]
fn the_dose_of_the_plan_is_computed() {
    let words = ["--grid", "10", "--quality", "fast"];
    let said = dvh(&[&["--dose", "plan", "--metrics", "D95%,V95%"][..], &words].concat());
    assert_eq!(said["status"], "coarse");
    let output = beamsight(&[&["dose", "demo:water", "--json"][..], &words].concat());
    let dose = json_of(&output);
    let ptv = &said["structures"][1];
    near(
        &ptv["metrics"]["D95%"],
        dose["figures"]["target"]["d95_gy"].as_f64().unwrap(),
        1e-9,
    );
    assert!(
        ptv["metrics"]["V95%"].is_number(),
        "the plan prescribes 2 Gy"
    );
}

#[test]
fn wrong_words_are_refused_by_name() {
    let folder = scratch("dvh-words");
    let dose = gradient(&folder, DVec3::ZERO);
    for (words, says) in [
        (&["--metrics", "D0,03cc"][..], "decimal comma"),
        (&["--metrics", "D95%,Dfoo"], "'Dfoo' is no metric"),
        (&["--metrics", "D105%"], "from 0 to 100"),
        (&["--structure", "PTV 2"], "it has BODY, PTV"),
        (&["--quality", "fast"], "--quality"),
        (&["--prescription", "-2"], "above 0"),
        (&["--out", "dvh.pdf"], ".csv, .json"),
    ] {
        let output =
            beamsight(&[&["dvh", "demo:water", "--dose", text(&dose)][..], words].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert!(message.contains(says), "{words:?}: {message}");
    }
    let none = folder.join("none.mha");
    refused(
        &["dvh", "demo:water", "--dose", text(&none)],
        &["there is no", "none.mha"],
    );
    refused(
        &["dvh", "demo:water", "--dose", text(&folder)],
        &["is a folder"],
    );
    let out = folder.join("dvh.csv");
    fs::write(&out, "mine").unwrap();
    refused(
        &[
            "dvh",
            "demo:water",
            "--dose",
            text(&dose),
            "--out",
            text(&out),
        ],
        &["dvh.csv", "--overwrite"],
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    fs::remove_dir_all(folder).unwrap();
}

/// The sphere's mean dose is 100 Gy.
#[test]
fn goals_of_a_template_are_held_against_the_dose() {
    let folder = scratch("dvh-goals");
    let dose = gradient(&folder, DVec3::ZERO);
    let file = folder.join("goals.toml");
    let goal = |structure: &str, goal: &str| {
        format!("[[goal]]\nstructure = \"{structure}\"\ngoal = \"{goal}\"\n")
    };
    let template = [
        "name = \"Test\"\n".to_owned(),
        goal("Heart", "Dmean <= 1000 Gy (priority 2)"),
        goal("ptv", "Dmean <= 90 Gy"),
        goal("ptv", "Dmean <= 101 Gy"),
        goal("ptv", "Dmean >= 105 Gy (tolerance 6 Gy)"),
        goal("ptv", "Dmean >= 45 %"),
    ];
    fs::write(&file, template.concat()).unwrap();
    let said = dvh(&[
        "--dose",
        text(&dose),
        "--goals",
        text(&file),
        "--structure",
        "BODY",
        "--prescription",
        "200",
    ]);
    let goals = said["goals"]["goals"].as_array().unwrap();
    let verdicts: Vec<&str> = goals
        .iter()
        .map(|g| g["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["fail", "pass", "near", "pass", "no structure"]);
    for (goal, margin) in goals.iter().zip([-10.0, 1.0, -5.0, 5.0]) {
        near(&goal["margin"], margin, 0.1);
    }
    assert_eq!(
        (&said["goals"]["met"], &said["goals"]["of"]),
        (&2.into(), &5.into())
    );
    assert_eq!(said["goals"]["unmatched"], serde_json::json!(["Heart"]));
    assert_eq!(
        said["structures"].as_array().unwrap().len(),
        1,
        "only the structure asked for has metrics"
    );
    // Without a prescription there is no percent of it, unless the plan has one; other words are no template.
    let output = beamsight(&[
        "dvh",
        "demo:water",
        "--dose",
        text(&dose),
        "--goals",
        text(&file),
    ]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("goals: ") && told.contains("no structure for Heart"),
        "{told}"
    );
    refused(
        &[
            "dvh",
            "demo:water",
            "--dose",
            text(&dose),
            "--goals",
            "no-such-template",
        ],
        &["quantec-thorax", "no-such-template"],
    );
}
