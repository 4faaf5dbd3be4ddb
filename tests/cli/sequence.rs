//! `beamsight sequence`: maps become leaves whose dose is final, and which leave as RTPLAN and come back as they are.

use crate::conforms::assert_conforms;
use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::files::{mha, plan_toml};
use beamsight::geometry::PatientPosition;
use dicom_dictionary_std::tags;
use std::fs;
use std::path::Path;

/// A beam on demo:water with a map of 12 rows of 5 mm and 12 columns: two hills and a valley of `valley`.
fn maps(valley: f64) -> String {
    let value = |row: usize, column: usize| match (row, column) {
        (_, 5 | 6) => valley,
        (row, column) => 0.4 + 0.05 * ((row * 7 + column * 5) % 12) as f64,
    };
    let row = |row: usize| {
        (0..12)
            .map(|column| format!("{:.3}", value(row, column)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let rows: Vec<String> = (0..12).map(row).collect();
    let sides: Vec<String> = (-6..=6)
        .map(|n| format!("{:.1}", 5.0 * f64::from(n)))
        .collect();
    format!(
        "name = \"Maps\"\nmachine = \"generic-6mv\"\nisocentre_mm = [0.0, 0.0, 0.0]\nprescription_gy = 2.0\n\n[[beam]]\nname = \"G000\"\n\
         gantry_deg = 0.0\nmu = 120.0\njaws_mm = {{ x = [-30.0, 30.0], y = [-30.0, 30.0] }}\n[beam.fluence]\naxis = \"x\"\n\
         rows_mm = [{}]\nfirst_mm = -30.0\nstep_mm = 5.0\ncolumns = 12\nvalues = [{}]\n",
        sides.join(", "),
        rows.join(", ")
    )
}

const HOW: [&str; 6] = ["--grid", "5", "--quality", "fast", "--device", "cpu"];

fn done(words: &[&str]) -> serde_json::Value {
    let output = beamsight(&[words, &["--json"]].concat());
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    json_of(&output)
}

fn dose(case: &str, plan: &[&str], out: &Path) -> Vec<f32> {
    done(&[&["dose", case, "--out", text(out)][..], plan, &HOW].concat());
    mha::read(out).unwrap().data().to_vec()
}

/// Leaves of either technique: their dose is no longer partial and near that of the maps, and their plan comes back from DICOM with the
/// same control points and the same dose to the bit.
#[test]
fn leaves_deliver_maps_and_come_back_from_dicom() {
    let folder = scratch("sequence");
    let plan = folder.join("maps.toml");
    fs::write(&plan, maps(0.15)).unwrap();
    let of_maps = dose(
        "demo:water",
        &["--plan", text(&plan)],
        &folder.join("maps.mha"),
    );
    let most = of_maps.iter().copied().fold(0.0, f32::max);
    for (technique, kind, rms) in [("imrt", "DYNAMIC", 9.0), ("step", "STATIC", 10.5)] {
        let [leaves, first, again, set] = ["toml", "mha", "again.mha", "dicom"]
            .map(|end| folder.join(format!("{technique}.{end}")));
        let cut = [
            "sequence",
            "demo:water",
            "--plan",
            text(&plan),
            "--technique",
            technique,
        ];
        let answer = done(&[&cut[..], &["--out", text(&leaves)], &HOW].concat());
        println!("{technique}: {answer}");
        // Coarse by its grid; nothing in it is not deliverable.
        assert_eq!(
            (
                answer["status"].as_str(),
                answer["caveats"].as_array().map(Vec::len)
            ),
            (Some("coarse"), Some(0))
        );
        let mu = answer["mu"].as_f64().unwrap();
        assert!(mu > 120.0 && mu < 500.0, "{answer}");
        assert!((answer["mu_per_gy"].as_f64().unwrap() - mu / 2.0).abs() < 1e-9);
        assert!(
            answer["beam_on_s"].as_f64().unwrap() > 5.9 * mu / 60.0,
            "{answer}"
        );
        assert!(
            answer["beams"][0]["rms_percent"].as_f64().unwrap() < rms,
            "{answer}"
        );
        let of_leaves = dose("demo:water", &["--plan", text(&leaves)], &first);
        let off = of_maps
            .iter()
            .zip(&of_leaves)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>();
        let rms = (off / of_maps.len() as f64).sqrt() / f64::from(most);
        assert!(rms < 0.02, "{technique}: {rms}");

        done(&[
            "export",
            "demo:water",
            "--plan",
            text(&leaves),
            "--only",
            "ct,structures,plan",
            "--out",
            text(&set),
        ]);
        let rtplan = set.join("RP.dcm");
        assert_conforms(&rtplan);
        let object = dicom_object::open_file(&rtplan).unwrap();
        let beam = &object
            .element(tags::BEAM_SEQUENCE)
            .unwrap()
            .items()
            .unwrap()[0];
        assert_eq!(
            beam.element(tags::BEAM_TYPE)
                .unwrap()
                .to_str()
                .unwrap()
                .trim(),
            kind
        );
        let written = plan_toml::read(&leaves, PatientPosition::Hfs).unwrap();
        let read = beamsight::dicom::read_plan(&rtplan, None).unwrap();
        let (own, other) = (&written.beams[0], &read.beams[0]);
        assert!(own.control_points.len() > 5 && own.fluence.is_none());
        assert_eq!(
            (&own.control_points, own.mu, &own.mlc),
            (&other.control_points, other.mu, &other.mlc)
        );
        assert!(
            dose(text(&set), &[], &again) == of_leaves,
            "{technique}: the same dose to the bit"
        );
    }
    refused(
        &[
            "export",
            "demo:water",
            "--plan",
            text(&plan),
            "--only",
            "plan",
            "--out",
            text(&folder.join("no")),
        ],
        &["no leaves that deliver it"],
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_cut_is_refused_in_words() {
    let folder = scratch("sequence-refused");
    let [plan, open, machine, out] =
        ["maps.toml", "open.toml", "machine.toml", "out.toml"].map(|n| folder.join(n));
    fs::write(&plan, maps(0.15)).unwrap();
    fs::write(&open, maps(0.15).split("[beam.fluence]").next().unwrap()).unwrap();
    let shipped = include_str!("../../assets/machines/generic-6mv.toml");
    fs::write(&machine, shipped.split("[delivery]").next().unwrap()).unwrap();
    let cut = |plan: &Path, more: &[&str], words: &[&str]| {
        let asked = [
            "sequence",
            "demo:water",
            "--plan",
            text(plan),
            "--out",
            text(&out),
        ];
        refused(&[&asked[..], more].concat(), words);
    };
    cut(&open, &[], &["no fluence map", "optimise it first"]);
    cut(
        &plan,
        &["--machine", text(&machine)],
        &["G000", "[delivery]"],
    );
    // The optimiser says so before it begins.
    let optimise = [
        "optimise",
        "demo:water",
        "--plan",
        text(&plan),
        "--technique",
        "step",
        "--out",
        text(&out),
    ];
    refused(
        &[&optimise[..], &["--machine", text(&machine)]].concat(),
        &["[delivery]"],
    );
    assert!(!out.exists());
    fs::remove_dir_all(folder).unwrap();
}

/// Two sectors of an arc, in place of the beams of the case.
const ARC: &str = r#"
name = "Arc"
machine = "generic-6mv"
isocentre_mm = [0.0, 0.0, 0.0]
prescription_gy = 2.0

[[beam]]
name = "A"
gantry_deg = 340.0
mu = 100.0
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
[[beam.control_point]]
meterset_weight = 0.0
gantry_direction = "cw"
[[beam.control_point]]
meterset_weight = 1.0
gantry_deg = 20.0
"#;

/// Leaves of each technique are refined: no worse than as they were cut, and what is lost from the maps is little. Those of an arc come
/// back from DICOM as they are.
#[test]
fn optimised_leaves_are_refined_on_their_true_dose() {
    let folder = scratch("sequence-refined");
    let [goals, arc] = ["goals.toml", "arc.toml"].map(|name| folder.join(name));
    fs::write(&goals, crate::optimise::GOALS).unwrap();
    fs::write(&arc, ARC).unwrap();
    for technique in ["imrt", "step", "few", "vmat"] {
        let plan = folder.join(format!("{technique}.toml"));
        let own: &[&str] = if technique == "vmat" {
            &["--plan", text(&arc)]
        } else {
            &[]
        };
        let asked = [
            "--grid",
            "8",
            "--beamlets",
            "10",
            "--technique",
            technique,
            "--goals",
            text(&goals),
        ];
        let how = ["--quality", "fast", "--device", "cpu", "--out", text(&plan)];
        let words = [&["optimise", "demo:water"][..], own, &asked, &how].concat();
        let answer = done(&words);
        let leaves = &answer["leaves"];
        let of = |when: &str| {
            leaves[format!("objective_{when}_refinement")]
                .as_f64()
                .unwrap()
        };
        println!("{technique}: {leaves}");
        assert!(of("after") < of("before"), "{technique}: {leaves}");
        assert_eq!(
            leaves["caveats"].as_array().map(Vec::len),
            Some(0),
            "{answer}"
        );
        let value =
            |card: &serde_json::Value, goal: usize| card["goals"][goal]["value"].as_f64().unwrap();
        // The first goal is a least dose, the second a greatest.
        for (goal, sign) in [(0, 1.0), (1, -1.0)] {
            let [maps, leaves] =
                [&leaves["goals_of_maps"], &leaves["goals"]].map(|card| value(card, goal));
            assert!(
                sign * (maps - leaves) < 2.0,
                "{technique}, goal {goal}: {maps} and {leaves} %"
            );
        }
        let written = plan_toml::read(&plan, PatientPosition::Hfs).unwrap();
        assert!(
            written
                .beams
                .iter()
                .all(|beam| beam.fluence.is_none() && beam.mlc.is_some())
        );
        if technique == "vmat" {
            let set = folder.join("set");
            let only = ["--only", "ct,structures,plan", "--out", text(&set)];
            done(&[&["export", "demo:water", "--plan", text(&plan)][..], &only].concat());
            let rtplan = set.join("RP.dcm");
            assert_conforms(&rtplan);
            let read = beamsight::dicom::read_plan(&rtplan, None).unwrap();
            let (own, other) = (&written.beams[0], &read.beams[0]);
            assert_eq!(own.control_points.len(), 21);
            assert_eq!(
                (&own.control_points, own.mu, &own.mlc),
                (&other.control_points, other.mu, &other.mlc)
            );
        }
    }
    fs::remove_dir_all(folder).unwrap();
}
