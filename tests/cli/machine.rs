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
    let output =
        beamsight(&[&words[..], &["--report", text(&drawn), "--fix", "spectrum-filter", "--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = json_of(&output);
    // Exit 1 says that a curve is outside its tolerance; the file is written all the same.
    let within = json["within_tolerance"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!within)), "{said}");
    assert!(said.contains("round 1") && said.contains("tolerances"), "{said}");
    let parameters = json["parameters"].as_array().unwrap();
    let standing = |word: &str| {
        let found = parameters.iter().find(|p| p["parameter"] == word).unwrap_or_else(|| panic!("{word}"));
        found["standing"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [standing("spectrum-slope"), standing("spectrum-filter"), standing("focal-x")],
        ["fitted", "fixed", "not-measured"]
    );
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains("pdd.csv (CRC-32") && written.contains("name = \"my\""), "{written}");
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
    refused(&["machine", "fit", "--pdd", text(&pdd), "--out", text(&out)], &["my.toml", "--overwrite"]);
    let data = folder.join("pdd.toml");
    fs::write(&data, PDD).unwrap();
    refused(
        &["machine", "fit", "--pdd", text(&data), "--out", text(&data), "--overwrite"],
        &["--pdd itself"],
    );
    assert_eq!((fs::read(&out).unwrap(), fs::read_to_string(&data).unwrap()), (same, PDD.to_owned()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bad_files_are_named_and_nothing_is_written() {
    let folder = scratch("machine-bad");
    let [pdd, out] = ["pdd.csv", "my.toml"].map(|name| folder.join(name));
    let fit = |option: &'static str, file: &'static str| vec!["machine", "fit", option, file];
    fs::write(&pdd, PDD.replace("8,95\n", "8,ninety\n")).unwrap();
    refused(
        &["machine", "fit", "--pdd", text(&pdd), "--out", text(&out)],
        &["pdd.csv, line 7", "'ninety' is no number"],
    );
    fs::write(&pdd, PDD).unwrap();
    refused(
        &["machine", "fit", "--profiles", text(&pdd), "--out", text(&out)],
        &["pdd.csv is given for its profiles", "it has no profile"],
    );
    refused(&["machine", "fit", "--output-factors", text(&pdd), "--out", text(&out)], &["pdd.csv, line"]);
    let outside = folder.with_extension("toml");
    refused(&["machine", "fit", "--pdd", text(&folder), "--out", text(&outside)], &["a folder"]);
    assert!(!outside.exists());
    refused(
        &["machine", "fit", "--pdd", text(&pdd), "--start", "point-6mv", "--out", text(&out)],
        &["point-6mv", "no calibration"],
    );
    refused(
        &["machine", "fit", "--pdd", text(&pdd), "--start", "generic-7mv", "--out", text(&out)],
        &["generic-7mv"],
    );
    refused(
        &["machine", "fit", "--pdd", text(&pdd), "--out", text(&folder.join("no/my.toml"))],
        &["there is no folder"],
    );
    assert!(!out.exists() && fs::read_dir(&folder).unwrap().count() == 1);
    for words in [
        [fit("--pdd", "a.csv"), vec!["--out", "my.csv"]].concat(),
        [fit("--pdd", "a.csv"), vec!["--out", "my.toml", "--fix", "magic"]].concat(),
        [fit("--pdd", "a.csv"), vec!["--out", "my.toml", "--report", "points.txt"]].concat(),
        vec!["machine", "check", "generic-6mv"],
        vec!["machine"],
    ] {
        assert_eq!(beamsight(&words).status.code(), Some(2), "{words:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}
