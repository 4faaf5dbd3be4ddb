//! `beamsight machine`: a small fit from end to end, a check, and refusals that write nothing.

use crate::program::{beamsight, json_of, refused, scratch, text};
use std::fs;

/// A depth dose of a 6 MV beam, 100 x 100 mm, SSD 900: D20/D10 of 0.585, its build-up assumed.
const PDD: &str = "# curve: pdd\n# field_mm: 100 x 100\n# ssd_mm: 900\ndepth_mm,dose\n1,55\n4,80\n8,95\n15,100\n30,95.5\n50,86.7\n80,74.6\n100,67.3\n120,60.6\n150,51.6\n180,43.9\n200,39.4\n";

#[test]
fn a_fit_writes_a_machine_that_loads() {
    let folder = scratch("machine-fit");
    let [pdd, out, points, drawn] =
        ["pdd.csv", "my.toml", "points.csv", "curves.pdf"].map(|name| folder.join(name));
    fs::write(&pdd, PDD).unwrap();
    let words = [
        "machine",
        "fit",
        "--pdd",
        text(&pdd),
        "--out",
        text(&out),
        "--report",
        text(&points),
        "--quality",
        "fast",
        "--device",
        "cpu",
    ];
    let output = beamsight(
        &[
            &words[..],
            &[
                "--report",
                text(&drawn),
                "--fix",
                "spectrum-filter",
                "--json",
            ],
        ]
        .concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = json_of(&output);
    // Exit 1 says that a curve is outside its tolerance; the file is written all the same.
    let within = json["within_tolerance"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!within)), "{said}");
    assert!(
        said.contains("round 1") && said.contains("tolerances"),
        "{said}"
    );
    let parameters = json["parameters"].as_array().unwrap();
    let standing = |word: &str| {
        let found = parameters
            .iter()
            .find(|p| p["parameter"] == word)
            .unwrap_or_else(|| panic!("{word}"));
        found["standing"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [
            standing("spectrum-slope"),
            standing("spectrum-filter"),
            standing("focal-x")
        ],
        ["fitted", "fixed", "not-measured"]
    );
    let written = fs::read_to_string(&out).unwrap();
    assert!(
        written.contains("pdd.csv (CRC-32") && written.contains("name = \"my\""),
        "{written}"
    );
    assert_eq!(fs::read_to_string(&points).unwrap().lines().count(), 1 + 12);

    assert!(fs::read(&drawn).unwrap().starts_with(b"%PDF"));

    // The file loads as a machine, and is as good there as the fit says.
    let output = beamsight(&[
        "machine",
        "check",
        text(&out),
        "--pdd",
        text(&pdd),
        "--quality",
        "fast",
        "--device",
        "cpu",
        "--json",
    ]);
    assert_eq!(json_of(&output)["curves"], json["curves"]);

    // Existing files, and the data, are not written over.
    let same = fs::read(&out).unwrap();
    refused(
        &["machine", "fit", "--pdd", text(&pdd), "--out", text(&out)],
        &["my.toml", "--overwrite"],
    );
    let data = folder.join("pdd.toml");
    fs::write(&data, PDD).unwrap();
    refused(
        &[
            "machine",
            "fit",
            "--pdd",
            text(&data),
            "--out",
            text(&data),
            "--overwrite",
        ],
        &["--pdd itself"],
    );
    assert_eq!(
        (fs::read(&out).unwrap(), fs::read_to_string(&data).unwrap()),
        (same, PDD.to_owned())
    );
    fs::remove_dir_all(folder).unwrap();
}

/// The calibration is compared, and data that test nothing are not "within". At the machine's own calibration its dose per MU is
/// that of its file.
#[test]
fn a_calibration_is_compared_and_data_that_test_nothing_are_not_judged() {
    let folder = scratch("machine-calibration");
    let of = |name: &str, gy_per_mu: Option<f64>| {
        let path = folder.join(name);
        let own = gy_per_mu.map_or(String::new(), |gy| format!("# gy_per_mu: {gy}\n"));
        let head = "# ssd_mm: 1000\n# depth_mm: 15\n# reference_mm: 100\n";
        fs::write(&path, format!("{head}{own}100,100,1.0\n")).unwrap();
        path
    };
    let check = |path: &std::path::Path| {
        let words = [
            "machine",
            "check",
            "generic-6mv",
            "--output-factors",
            text(path),
            "--quality",
            "fast",
        ];
        let output = beamsight(&[&words[..], &["--device", "cpu", "--json"]].concat());
        (output.status.code(), json_of(&output))
    };
    let (code, json) = check(&of("right.csv", Some(0.01)));
    assert_eq!(
        (code, json["verdict"].as_str()),
        (Some(0), Some("within-where-tested")),
        "{json}"
    );
    assert!(
        json["calibration"]["difference_percent"]
            .as_f64()
            .unwrap()
            .abs()
            < 0.5,
        "{json}"
    );
    let tenfold = of("tenfold.csv", Some(0.1));
    let (code, json) = check(&tenfold);
    assert_eq!(
        (code, json["verdict"].as_str()),
        (Some(1), Some("outside")),
        "{json}"
    );
    let off = json["calibration"]["difference_percent"].as_f64().unwrap();
    assert!((off + 90.0).abs() < 0.1, "{off}");
    let (code, json) = check(&of("nothing.csv", None));
    assert_eq!(
        (code, json["verdict"].as_str()),
        (Some(3), Some("not-tested")),
        "{json}"
    );
    assert_eq!(json["within_tolerance"], false);
    // A fit adopts no dose per MU of another unit.
    let out = folder.join("my.toml");
    let fit = |path: &std::path::Path, says: &[&str]| {
        refused(
            &[
                "machine",
                "fit",
                "--output-factors",
                text(path),
                "--out",
                text(&out),
                "--device",
                "cpu",
            ],
            says,
        );
    };
    fit(&tenfold, &["gy_per_mu", "0.1 is not possible"]);
    fit(
        &of("threefold.csv", Some(0.03)),
        &["times the", "generic-6mv", "unit"],
    );
    assert!(!out.exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_words_exit_with_2() {
    let fit = |option: &'static str, file: &'static str| vec!["machine", "fit", option, file];
    for words in [
        [fit("--pdd", "a.csv"), vec!["--out", "my.csv"]].concat(),
        [
            fit("--pdd", "a.csv"),
            vec!["--out", "my.toml", "--fix", "magic"],
        ]
        .concat(),
        [
            fit("--pdd", "a.csv"),
            vec!["--out", "my.toml", "--report", "points.txt"],
        ]
        .concat(),
        vec!["machine", "check", "generic-6mv"],
        vec!["machine"],
    ] {
        assert_eq!(beamsight(&words).status.code(), Some(2), "{words:?}");
    }
}
