//! `beamsight optimise`: the plan that it writes has the dose that it states, and the matrix is what it minimised.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::case::FluenceLimit;
use beamsight::files::{mha, plan_toml};
use beamsight::geometry::PatientPosition;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

pub const GOALS: &str = r#"
name = "Test"
source = "Chosen"

[[goal]]
structure = "PTV"
type = "ptv"
goal = "D95% >= 98 %"

[[goal]]
structure = "PTV"
type = "ptv"
goal = "D5% <= 106 %"

[[goal]]
structure = "PTV"
type = "ptv"
goal = "CI >= 0.5"
"#;

/// Numbers of a numpy archive of stored arrays of one kind, read by the places of its headers.
fn arrays(path: &Path) -> HashMap<String, Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let number = |at: usize, size: usize| {
        bytes[at..at + size]
            .iter()
            .rev()
            .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (mut at, mut found) = (0, HashMap::new());
    while &bytes[at..at + 4] == b"PK\x03\x04" {
        let (length, name) = (number(at + 18, 4), number(at + 26, 2));
        let data = at + 30 + name;
        let header = 10 + number(data + 8, 2);
        let key = String::from_utf8(bytes[at + 30..data].to_vec()).unwrap();
        found.insert(
            key.trim_end_matches(".npy").to_owned(),
            bytes[data + header..data + length].to_vec(),
        );
        at = data + length;
    }
    // The directory at the end names as many.
    assert_eq!(number(bytes.len() - 12, 2), found.len());
    assert_eq!(number(bytes.len() - 6, 4), at);
    found
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

#[test]
fn the_plan_has_the_dose_that_the_matrix_states() {
    let folder = scratch("optimise");
    let [goals, plan, matrix, dose] =
        ["goals.toml", "optimised.toml", "matrix.npz", "dose.mha"].map(|name| folder.join(name));
    fs::write(&goals, GOALS).unwrap();
    let computed = [
        "demo:water",
        "--grid",
        "8",
        "--quality",
        "standard",
        "--device",
        "cpu",
    ];
    let asked = [
        "--goals",
        text(&goals),
        "--rows",
        "8",
        "--beamlets",
        "10",
        "--out",
        text(&plan),
    ];
    let output = beamsight(
        &[
            &["optimise", "--json", "--matrix", text(&matrix)][..],
            &computed,
            &asked,
        ]
        .concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let json = json_of(&output);
    assert_eq!(json["status"], "partial");
    assert!(
        json["caveats"]
            .to_string()
            .contains("fluence, not deliverable"),
        "{json}"
    );
    assert!(json["not_optimised"].to_string().contains("CI"), "{json}");
    assert!(
        json["true_dose_moved_percent"].as_f64().unwrap() < 0.1,
        "{json}"
    );
    // As the archive has it, the dose of the rows is columns times fluence and the offset, and their objective is stated.
    let found = arrays(&matrix);
    let (fluence, stated) = (doubles(&found["fluence"]), doubles(&found["dose_gy"]));
    let rows = stated.len();
    let columns: Vec<f32> = found["dense"]
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(columns.len(), rows * fluence.len());
    assert!(fluence.iter().all(|x| *x >= 0.0));
    let mut sums = doubles(&found["offset_gy"]);
    for (column, x) in columns.chunks_exact(rows).zip(&fluence) {
        column
            .iter()
            .zip(&mut sums)
            .for_each(|(gy, sum)| *sum += x * f64::from(*gy));
    }
    let most = stated.iter().copied().fold(0.0, f64::max);
    let prescribed = json["figures"]["prescription_gy"].as_f64().unwrap();
    assert!(
        most > prescribed && most < 3.0 * prescribed,
        "{most} Gy for {prescribed}"
    );
    for (sum, want) in sums.iter().zip(&stated) {
        assert!((sum - want).abs() < 1e-4 * most, "{sum} for {want}");
    }
    // The plan by itself, computed as any other, has that dose.
    let output = beamsight(
        &[
            &["dose", "--plan", text(&plan), "--out", text(&dose)][..],
            &computed,
        ]
        .concat(),
    );
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("fluence, not deliverable"));
    let histories = ["--engine", "mccs", "--histories", "1e5", "--json"];
    let by_histories =
        beamsight(&[&["dose", "--plan", text(&plan)][..], &histories, &computed].concat());
    let by_histories = json_of(&by_histories);
    assert_eq!(by_histories["status"], "partial", "{by_histories}");
    assert!(
        by_histories["caveats"]
            .to_string()
            .contains("fluence, not deliverable"),
        "{by_histories}"
    );
    let volume = mha::read(&dose).unwrap();
    let voxels = found["voxel"]
        .chunks_exact(8)
        .map(|b| i64::from_le_bytes(b.try_into().unwrap()) as usize);
    for (voxel, want) in voxels.zip(&stated) {
        let got = f64::from(volume.data()[voxel]);
        assert!(
            (got - want).abs() < 0.005 * most,
            "voxel {voxel}: {got} for {want}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bounds_and_objectives_of_the_plan_bind_the_answer() {
    let folder = scratch("optimise-bounds");
    let [goals, plan, matrix, bounded] =
        ["goals.toml", "plan.toml", "matrix.npz", "bounded.toml"].map(|name| folder.join(name));
    fs::write(&goals, GOALS).unwrap();
    let optimise = |more: &[&str]| {
        let asked = ["--goals", text(&goals), "--rows", "8", "--beamlets", "10"];
        let grid = [
            "optimise",
            "demo:water",
            "--overwrite",
            "--grid",
            "8",
            "--device",
            "cpu",
            "--matrix",
            text(&matrix),
        ];
        let output = beamsight(&[&grid[..], &asked, more].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        arrays(&matrix)
    };
    let free = optimise(&["--out", text(&plan)]);
    assert!(!free.contains_key("upper"), "there are no bounds");
    let mut of = plan_toml::read(&plan, PatientPosition::Hfs).unwrap();
    let values = of.beams[0].fluence.as_ref().unwrap().values.clone();
    let strongest = values
        .iter()
        .position(|value| *value == 1.0)
        .expect("the strongest beamlet");
    let mu = 0.4 * of.beams[0].mu;
    of.beams[0].fluence_limits = vec![FluenceLimit {
        beamlet: strongest,
        mu,
    }];
    (of.objectives.monitor_units, of.objectives.fall_off.weight) = (0.0, 7.0);
    plan_toml::write(&plan, &of).unwrap();
    let found = optimise(&["--plan", text(&plan), "--out", text(&bounded)]);
    let (fluence, upper) = (doubles(&found["fluence"]), doubles(&found["upper"]));
    assert_eq!(upper.iter().filter(|upper| upper.is_finite()).count(), 1);
    assert!(fluence.iter().zip(&upper).all(|(x, upper)| x <= upper));
    let now = plan_toml::read(&bounded, PatientPosition::Hfs).unwrap();
    let [limit] = now.beams[0].fluence_limits[..] else {
        panic!("{:?}", now.beams[0].fluence_limits)
    };
    let map = now.beams[0].fluence.as_ref().unwrap();
    let got = now.beams[0].mu * f64::from(map.values[limit.beamlet]);
    assert!(
        (limit.mu - mu).abs() < 1e-9 && got < mu * 1.000_001,
        "{got} of {mu} MU"
    );
    assert!(got > 0.9 * mu, "the bound binds: {got} of {mu} MU");
    // What is minimised is told in UTF-32.
    let letters = found["objectives"]
        .chunks_exact(4)
        .map(|b| char::from(b[0]));
    let told: Vec<serde_json::Value> = serde_json::from_str(&letters.collect::<String>()).unwrap();
    let of_kind = |kind: &str| {
        told.iter()
            .filter(|o| o["type"] == kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_kind("monitor_units")[0]["weight"], 0.0);
    assert!(
        of_kind("over")
            .iter()
            .any(|o| o["structure"].to_string().contains("round the targets"))
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_optimised_is_refused_in_words() {
    let folder = scratch("optimise-refused");
    let plan = folder.join("out.toml");
    let optimise = |case: &str, machine: &str, words: &[&str]| {
        refused(
            &[
                "optimise",
                case,
                "--machine",
                machine,
                "--rows",
                "10",
                "--out",
                text(&plan),
            ],
            words,
        );
    };
    optimise(
        "demo:water",
        "point-6mv",
        &["which has no leaves: choose a machine with an MLC"],
    );
    assert!(!plan.exists());
    fs::remove_dir_all(folder).unwrap();
}

/// Words of the engine that corrects are refused as the verb `dose` refuses them, before a file is opened.
#[test]
fn engines_that_cannot_correct_are_refused_in_words() {
    let folder = scratch("optimise-engine");
    let plan = folder.join("out.toml");
    let verb = ["optimise", "demo:water", "--out", text(&plan)];
    for (options, words) in [
        (
            &["--uncertainty", "1"][..],
            "--uncertainty is an option of engines that sample histories: --engine mccs, --engine mc",
        ),
        (&["--engine", "magic"], "possible values: cccs, mccs, mc"),
        (&["--engine", "mc", "--uncertainty", "3"], "from 0.01 to 2"),
    ] {
        let output = beamsight(&[&verb[..], options].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(words), "{options:?}: {said}");
    }
    assert!(!plan.exists());
    fs::remove_dir_all(folder).unwrap();
}
