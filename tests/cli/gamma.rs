//! `beamsight gamma`: doses from files, the report, the map.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn grid(origin_mm: DVec3, size: [usize; 3]) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(origin_mm, DVec3::new(2.0, 2.0, 2.5), size).unwrap())
}

/// A dose of `gy` by position.
fn write(folder: &Path, name: &str, grid: &Arc<Grid>, gy: impl Fn(DVec3) -> f32) -> PathBuf {
    let [nx, ny, _] = grid.size();
    let at = |n: usize| gy(grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny)));
    let path = folder.join(name);
    mha::write(
        &path,
        &Volume::new(Arc::clone(grid), (0..grid.len()).map(at).collect()),
    )
    .unwrap();
    path
}

/// The values of a `.mha` written by this program: 32-bit floats after the header, NaN included.
fn values_of(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let end = b"ElementDataFile = LOCAL\n";
    let begin = bytes.windows(end.len()).position(|w| w == end).unwrap() + end.len();
    bytes[begin..]
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

#[test]
fn a_uniform_offset_is_reported_and_written() {
    let folder = scratch("gamma-report");
    let size = [12, 11, 10];
    let low_edge = |p: DVec3| p.x < -9.0;
    let a = write(&folder, "a.mha", &grid(DVec3::splat(-10.0), size), |p| {
        if low_edge(p) { 1.0 } else { 50.0 }
    });
    // Two planes fewer on top, 2 % higher.
    let b = grid(DVec3::splat(-10.0), [12, 11, 8]);
    let b = write(
        &folder,
        "b.mha",
        &b,
        |p| if low_edge(p) { 1.0 } else { 51.0 },
    );
    let out = folder.join("gamma.mha");
    let csv = folder.join("gamma.csv");
    let words = [
        "gamma",
        text(&a),
        text(&b),
        "--dose",
        "3",
        "--dta",
        "3",
        "--threshold",
        "10",
        "--json",
    ];
    let output = beamsight(&[&words[..], &["--out", text(&out), "--out", text(&csv)]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let json = json_of(&output);
    let points = 11 * 11 * 8;
    assert_eq!(json["points"], points);
    assert_eq!(json["passing"], points);
    assert_eq!(json["outside"], 11 * 11 * 2);
    assert_eq!(json["criterion"], "3 %/3 mm global");
    assert_eq!(json["stricter"]["criterion"], "3 %/2 mm global");
    assert_eq!(
        (&json["pass_rate_percent"], &json["normalisation_gy"]),
        (&100.0.into(), &50.0.into())
    );
    let near = |key: &str, want: f64| {
        let got = json[key].as_f64().unwrap();
        assert!((got - want).abs() < 1e-5, "{key}: {got} for {want}");
    };
    near("max", 2.0 / 3.0);
    near("median", 2.0 / 3.0);
    near("pass_rate_percent_if_outside_failed", 80.0);
    let counts: u64 = json["histogram"]["counts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c.as_u64())
        .sum();
    assert_eq!(counts, points);
    assert!(
        said.contains("100.00 %") && said.contains("outside") && said.contains("3 %/2 mm"),
        "{said}"
    );
    assert!(
        said.contains(
            "100.00 % of 968 points pass, 0 fail; 242 of 1 210 points (20.0 %) NOT judged"
        ),
        "{said}"
    );
    assert!(
        !said.contains("within tolerance") && said.contains("no verdict: "),
        "{said}"
    );
    assert_eq!(
        (&json["not_judged"], &json["measured"]),
        (&242.into(), &false.into())
    );
    // The map: NaN below the threshold and outside, gamma elsewhere.
    let values = values_of(&out);
    assert_eq!(values.len(), 12 * 11 * 10);
    for (n, value) in values.iter().enumerate() {
        let (i, k) = (n % 12, n / (12 * 11));
        assert_eq!(value.is_nan(), i == 0 || k >= 8, "voxel {n}: {value}");
    }
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count() as u64, points + 1);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn options_of_the_criterion() {
    let folder = scratch("gamma-options");
    let a = write(&folder, "a.mha", &grid(DVec3::ZERO, [8, 8, 8]), |p| {
        if p.z > 9.0 { 20.0 } else { 40.0 }
    });
    let b = write(&folder, "b.mha", &grid(DVec3::ZERO, [8, 8, 8]), |p| {
        if p.z > 9.0 { 20.4 } else { 40.8 }
    });
    let run = |more: &[&str]| {
        json_of(&beamsight(
            &[&["gamma", text(&a), text(&b), "--json"], more].concat(),
        ))
    };
    let max = |more: &[&str]| run(more)["max"].as_f64().unwrap();
    // Global: 0.8 of 1.2 Gy. Local: 2 % of 3 % everywhere. Of 80 Gy: half.
    assert!((max(&[]) - 2.0 / 3.0).abs() < 1e-4);
    assert!((max(&["--local"]) - 2.0 / 3.0).abs() < 1e-4);
    assert!((max(&["--norm", "80"]) - 1.0 / 3.0).abs() < 1e-4);
    for (norm, words) in [
        ("near-max", "near-maximum of the reference"),
        ("max", "maximum of the reference"),
    ] {
        assert!(
            run(&["--norm", norm])["normalisation"]
                .as_str()
                .unwrap()
                .starts_with(words)
        );
    }
    assert!((max(&["--dose", "1", "--max-gamma", "1.5"]) - 1.5).abs() < 1e-4);
    assert_eq!(run(&["--threshold", "60"])["points"], 8 * 8 * 4);
    assert_eq!(run(&["--subset", "50", "--seed", "9"])["points"], 50);
    assert_eq!(run(&["--dims", "2.5"])["dims"], "2.5");
    let trilinear = run(&["--trilinear"]);
    assert!(
        (trilinear["max"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-4,
        "{trilinear}"
    );
    let answer = beamsight(&["gamma", text(&a), text(&b), "--norm", "rx"]);
    assert_eq!(answer.status.code(), Some(2));
    for more in [
        ["--dims", "4"],
        ["--dose", "0"],
        ["--norm", "mean"],
        ["--structure", "PTV"],
        ["--out", "g.png"],
    ] {
        let answer = beamsight(&[&["gamma", text(&a), text(&b)], &more[..]].concat());
        assert_eq!(answer.status.code(), Some(2), "{more:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Points whose search ended have more gamma than that, which mean and maximum say; what passes is the same without an end.
#[test]
fn the_search_of_points_that_fail_by_far_ends() {
    let folder = scratch("gamma-ends");
    let size = [10, 10, 10];
    let a = write(&folder, "a.mha", &grid(DVec3::ZERO, size), |_| 40.0);
    let cgy = write(&folder, "cgy.mha", &grid(DVec3::ZERO, size), |_| 4000.0);
    // 0.8 and 20 Gy of 1.2: gamma 2/3 below, 16.7 and less towards the step above.
    let step = write(&folder, "step.mha", &grid(DVec3::ZERO, size), |p| {
        if p.z > 9.0 { 60.0 } else { 40.8 }
    });
    let run = |b: &Path, more: &[&str]| beamsight(&[&["gamma", text(&a), text(b)], more].concat());
    let said = |b: &Path| String::from_utf8_lossy(&run(b, &[]).stdout).into_owned();
    let all = said(&cgy);
    assert!(
        all.contains("mean more than 2.000, greatest more than 2.000"),
        "{all}"
    );
    assert!(all.contains("the evaluated dose is likely in cGy"), "{all}");
    let json = json_of(&run(&cgy, &["--json"]));
    assert_eq!(
        (
            &json["passing"],
            &json["beyond_max_gamma"],
            &json["max_gamma"]
        ),
        (&0.into(), &1000.into(), &2.0.into())
    );
    let [ended, free] = [&[][..], &["--max-gamma", "1000000"]]
        .map(|more| json_of(&run(&step, &[more, &["--json"]].concat())));
    for figure in ["points", "passing", "pass_rate_percent", "median"] {
        assert_eq!(ended[figure], free[figure], "{figure}");
    }
    // Planes 2.5 mm apart, the step above the fourth: six planes fail or come near, those beyond 2 DTA, 6 mm, are not searched for.
    assert_eq!(
        (free["beyond_max_gamma"].as_u64(), ended["max"].as_f64()),
        (Some(0), Some(2.0))
    );
    let beyond = ended["beyond_max_gamma"].as_u64().unwrap();
    assert!(
        free["max"].as_f64().unwrap() > 5.0 && (1..600).contains(&beyond),
        "{beyond}"
    );
    assert!(!said(&step).contains("cGy"));
    fs::remove_dir_all(folder).unwrap();
}

/// A structure of a demo, and its prescription.
#[test]
fn inside_a_structure_of_a_case() {
    let folder = scratch("gamma-structure");
    let on =
        Arc::new(Grid::axis_aligned(DVec3::splat(-90.0), DVec3::splat(6.0), [31, 31, 31]).unwrap());
    let a = write(&folder, "a.mha", &on, |_| 50.0);
    let b = write(&folder, "b.mha", &on, |_| 50.5);
    let words = [
        "gamma",
        text(&a),
        text(&b),
        "--case",
        "demo:water",
        "--json",
    ];
    let whole = json_of(&beamsight(&words));
    let structures = whole["structures"].as_array().unwrap();
    let ptv = structures
        .iter()
        .find(|s| s["name"] == "PTV")
        .unwrap_or_else(|| panic!("{whole}"));
    let inside = json_of(&beamsight(&[&words[..], &["--structure", "ptv"]].concat()));
    assert_eq!(inside["points"], ptv["points"]);
    assert!(
        inside["points"].as_u64().unwrap() > 10
            && inside["points"].as_u64() < whole["points"].as_u64()
    );
    refused(
        &[
            "gamma",
            text(&a),
            text(&b),
            "--case",
            "demo:water",
            "--structure",
            "Nose",
        ],
        &["Nose", "PTV"],
    );
    fs::remove_dir_all(folder).unwrap();
}

/// The window starts from the criteria of the verb: a session of a fresh window and a call without options judge alike.
#[test]
fn the_window_and_the_verb_have_one_default() {
    let folder = scratch("gamma-default");
    let a = write(&folder, "a.mha", &grid(DVec3::splat(-10.0), [8; 3]), |_| {
        50.0
    });
    let json = json_of(&beamsight(&["gamma", text(&a), text(&a), "--json"]));
    let window = beamsight::app::feature::compare::state::GammaSettings::default();
    let words: Vec<String> = window
        .criteria()
        .iter()
        .map(|c| format!("{} %/{} mm global", c.dose_percent, c.dta_mm))
        .collect();
    assert_eq!(
        words,
        ["3 %/2 mm global", "2 %/1 mm global"],
        "AAPM TG-218, section 8"
    );
    assert_eq!(
        [&json["criterion"], &json["stricter"]["criterion"]],
        [&words[0], &words[1]]
    );
    assert_eq!(json["threshold_percent"], window.threshold_percent);
    std::fs::remove_dir_all(folder).unwrap();
}
