//! Pictures, and the main job where there is no display.

use crate::cross::write_ball_session;
use crate::program::{beamsight, command, json_of, refused, scratch, text};
use crate::skip::{Missing, skip, skip_drawing};
use beamsight::case::{Beam, Jaws, Plan};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A cube of water of 8 cm in voxels of 10 mm with a ball as target and one field on it, as a session file.
fn small_session(folder: &Path) -> PathBuf {
    let grid =
        Arc::new(Grid::axis_aligned(DVec3::splat(-55.0), DVec3::splat(10.0), [12; 3]).unwrap());
    let water = |i: usize| (2..10).contains(&i);
    let hu = (0..grid.len())
        .map(|n| {
            if water(n % 12) && water(n / 12 % 12) && water(n / 144) {
                0.0
            } else {
                -1000.0
            }
        })
        .collect();
    let image = folder.join("ct.mha");
    mha::write(&image, &Volume::new(grid, hu)).unwrap();
    let mut plan = Plan::new("AP", "point-6mv");
    plan.prescription_gy = Some(2.0);
    plan.beams = vec![Beam::fixed(
        "AP",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(60.0, 60.0),
        1e4,
    )];
    write_ball_session(&folder.join("small.json"), &image, 25.0, plan)
}

/// Width and height of a PNG, from its header.
fn png_size(path: &Path) -> [u32; 2] {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn without_a_display_the_figures_are_printed_and_the_workspace_is_drawn() {
    let folder = scratch("window");
    let session = small_session(&folder);
    let picture = folder.join("shot.png");
    let run = command(&[text(&session), "--out", text(&picture), "--json"])
        .env_remove("XDG_RUNTIME_DIR")
        .output();
    let output = run.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        !said.contains("XDG_RUNTIME_DIR") && !said.contains("error"),
        "a library of the driver complains: {said}"
    );
    assert!(said.contains("No display was found"), "{said}");
    let run = json_of(&output);
    if let Some(why) = run["no_picture"].as_str() {
        skip(Missing::Graphics, why);
    } else {
        assert_eq!(png_size(&picture), [1600, 1000]);
    }
    let figures = &run["figures"];
    assert_eq!(
        (&figures["plan"], &figures["target"]["name"]),
        (&"AP".into(), &"PTV".into())
    );
    for figure in ["mean_gy", "d95_gy"] {
        let gy = figures["target"][figure].as_f64().unwrap();
        assert!(
            gy > 0.0 && gy <= figures["max_gy"].as_f64().unwrap(),
            "{figure}: {gy}"
        );
    }
    assert_eq!(figures["mu"], 1e4);
    assert!(run["device"].as_str().unwrap().starts_with("cpu"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn render_draws_at_the_size_asked_for() {
    let folder = scratch("render");
    small_session(&folder);
    let (volume, picture) = (folder.join("ct.mha"), folder.join("shot.png"));
    let output = beamsight(&[
        "render",
        text(&volume),
        "--size",
        "800x600",
        "--out",
        text(&picture),
        "--json",
    ]);
    if String::from_utf8_lossy(&output.stderr).contains("no graphics device") {
        skip_drawing();
    } else {
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(json_of(&output)["dose_status"], serde_json::Value::Null);
        assert_eq!(png_size(&picture), [800, 600]);
        let fine = [
            "--size",
            "400x300",
            "--scale",
            "2.5",
            "--theme",
            "light",
            "--overwrite",
            "--json",
        ];
        let output = beamsight(
            &[
                &["render", text(&volume), "--out", text(&picture)],
                &fine[..],
            ]
            .concat(),
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(
            png_size(&picture),
            [1000, 750],
            "pixels are points times the scale"
        );
        assert_eq!(json_of(&output)["size"], serde_json::json!([1000, 750]));
    }
    for words in [
        &["--size", "big"][..],
        &["--size", "10x10"],
        &["--workspace", "paint"],
        &["--view", "cellar"],
        &["--theme", "system"],
        &["--scale", "9"],
        &["--workspace", "register", "--view", "room"],
        &["--layout", "gamma"],
        &["--workspace", "compare", "--layout", "nine"],
        &["--workspace", "compare", "--a", "dose:0"],
        &["--workspace", "compare", "--report", "report.doc"],
    ] {
        let all = [
            &[
                "render",
                "demo:water",
                "--overwrite",
                "--out",
                text(&picture),
            ],
            words,
        ]
        .concat();
        assert_eq!(beamsight(&all).status.code(), Some(2), "{words:?}");
    }
    assert_eq!(
        beamsight(&["render", "demo:water", "--out", "shot.jpg"])
            .status
            .code(),
        Some(2)
    );
    refused(
        &[
            "render",
            "demo:water",
            "--plan",
            "nosuch.toml",
            "--overwrite",
            "--out",
            text(&picture),
        ],
        &["nosuch.toml"],
    );
    refused(
        &[
            "render",
            text(&folder.join("nowhere")),
            "--overwrite",
            "--out",
            text(&picture),
        ],
        &["nowhere"],
    );
    let compare = [
        "render",
        text(&volume),
        "--workspace",
        "compare",
        "--overwrite",
        "--out",
        text(&picture),
    ];
    if picture.exists() {
        refused(
            &[&compare[..], &["--b", "dose:2"]].concat(),
            &["Dose B", "no dose of its own"],
        );
        // A CT is no dose.
        refused(
            &[&compare[..], &["--b", text(&volume)]].concat(),
            &["ct.mha", "no dose in Gy"],
        );
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Pixels of a picture within columns and rows.
fn part(path: &Path, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()))
        .read_info()
        .unwrap();
    let mut all = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut all).unwrap();
    assert_eq!(
        (info.color_type, info.bit_depth),
        (png::ColorType::Rgba, png::BitDepth::Eight)
    );
    rows.flat_map(|y| all[y * info.line_size..][4 * columns.start..4 * columns.end].to_vec())
        .collect()
}

/// Number of values in the second picture that differ from the first. The position of a glyph in egui's
/// atlas, at which its edge is rounded, depends on the texts drawn before (times, shares done): one step of
/// 255 is ignored.
fn other(first: &[u8], second: &[u8]) -> usize {
    assert_eq!(first.len(), second.len());
    first
        .iter()
        .zip(second)
        .filter(|(a, b)| a.abs_diff(**b) > 1)
        .count()
}

/// Monte Carlo: equal seeds give equal pictures, different seeds different ones; the uncertainty is no dose.
#[test]
fn render_draws_a_dose_by_histories() {
    let folder = scratch("render-histories");
    let session = small_session(&folder);
    let draw = |name: &str, words: &[&str]| {
        let picture = folder.join(name);
        let all = [
            "render",
            text(&session),
            "--engine",
            "mccs",
            "--histories",
            "5e4",
            "--device",
            "cpu",
        ];
        let how = [
            "--grid",
            "10",
            "--size",
            "1200x800",
            "--out",
            text(&picture),
            "--overwrite",
            "--json",
        ];
        let output = beamsight(&[&all[..], &how, words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("no graphics device") {
            skip_drawing();
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{said}");
        let json = json_of(&output);
        assert!(
            json["certainty"]
                .as_str()
                .is_some_and(|c| c.contains("0.05 million histories")),
            "{json}"
        );
        assert!(
            ["coarse", "final"].contains(&json["dose_status"].as_str().unwrap()),
            "{json}"
        );
        // The views only; the panels beside them hold times.
        Some((part(&picture, 260..900, 30..560), json["certainty"].clone()))
    };
    let same = || draw("shot.png", &[]);
    if let Some(first) = same() {
        let second = same().unwrap();
        assert_eq!(
            (other(&first.0, &second.0), &second.1),
            (0, &first.1),
            "equal seeds"
        );
        let seed = draw("seed.png", &["--seed", "2"]).unwrap();
        assert!(other(&first.0, &seed.0) > 50);
        let sure = draw("sure.png", &["--wash", "uncertainty"]).unwrap();
        assert!(other(&first.0, &sure.0) > 50 && sure.1 == first.1);
    }
    for words in [
        &["--histories", "5e4"][..],
        &["--engine", "cccs", "--seed", "2"],
        &[
            "--engine",
            "mccs",
            "--histories",
            "5e4",
            "--uncertainty",
            "1",
        ],
        &["--engine", "mccs", "--histories", "0"],
        &["--engine", "mccs", "--uncertainty", "-1"],
        &["--wash", "noise"],
    ] {
        let all = [&["render", text(&session), "--out", "shot.png"], words].concat();
        let output = beamsight(&all);
        assert_ne!(output.status.code(), Some(0), "{words:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("error"),
            "{words:?}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
