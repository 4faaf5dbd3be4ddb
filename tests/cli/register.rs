//! `beamsight register` as a user runs it, on simulated X-rays of the built-in chest.

use crate::program::{beamsight, json_of, refused, scratch, text};
use crate::registration::read_registration;
use beamsight::case::Pose;
use glam::{DMat4, DVec3};
use std::fs::File;
use std::path::Path;

fn said(words: &[&str]) -> (Option<i32>, String) {
    let output = beamsight(words);
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_hidden_pose_is_found_and_written() {
    let folder = scratch("register");
    let xrays = folder.join("xrays");
    let made = beamsight(&["demo", "thorax", "--xray", text(&xrays), "--seed", "5"]);
    assert_eq!(
        made.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let hidden =
        std::fs::read_to_string(xrays.join("hidden-pose.txt")).expect("it is told to who looks");
    let hidden: Pose = hidden.trim().parse().expect("six numbers");
    let (front, side, out) = (
        xrays.join("gantry-0.png"),
        xrays.join("gantry-90.png"),
        folder.join("reg.dcm"),
    );
    let images = ["--image", text(&front), "--image", text(&side)];
    let words = [
        &[
            "register",
            "demo:thorax",
            "--device",
            "cpu",
            "--json",
            "--out",
            text(&out),
        ][..],
        &images,
    ]
    .concat();
    let output = beamsight(&words);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let json = json_of(&output);
    let number = |key: &str| json["pose"][key].as_f64().expect("a number");
    let found = Pose::new(
        ["tx_mm", "ty_mm", "tz_mm"].map(number),
        ["rx_deg", "ry_deg", "rz_deg"].map(number),
    );
    let centre: Vec<f64> = json["centre_mm"]
        .as_array()
        .expect("three")
        .iter()
        .filter_map(|v| v.as_f64())
        .collect();
    let centre = DVec3::new(centre[0], centre[1], centre[2]);
    for p in [DVec3::X, DVec3::Y, DVec3::Z] {
        let landmark = centre + p * 80.0;
        let off = (found.apply(landmark, centre) - hidden.apply(landmark, centre)).length();
        assert!(off < 0.5, "{off} mm at {landmark}: {found} for {hidden}");
    }
    assert!(json["metric_after"].as_f64() > json["metric_before"].as_f64());
    assert!(json["match"] == true && json["state"] == "found", "{json}");
    assert_eq!(json["evidence"]["images"].as_array().map(Vec::len), Some(2));
    // Matrix, numbers and object agree.
    let rows: Vec<f64> = json["matrix"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| {
            row.as_array()
                .expect("a row")
                .iter()
                .filter_map(|v| v.as_f64())
        })
        .collect();
    let matrix = DMat4::from_cols_slice(&rows).transpose();
    let object = read_registration(&out);
    assert!(
        object.description.contains("match found"),
        "{}",
        object.description
    );
    for m in [matrix, object.matrix] {
        let got = m.transform_point3(centre + DVec3::ONE * 50.0);
        assert!(
            (got - found.apply(centre + DVec3::ONE * 50.0, centre)).length() < 1e-5,
            "{m}"
        );
    }
}

#[test]
fn words_and_files_that_cannot_be_matched_say_what_to_do() {
    let folder = scratch("register-bad");
    let picture = folder.join("bare.png");
    std::fs::write(&picture, b"no picture").expect("written");
    let with =
        |more: &[&str]| said(&[&["register", "demo:water", "--device", "cpu"][..], more].concat());
    let (code, error) = with(&["--image", text(&picture)]);
    assert!(
        code == Some(1) && error.contains("bare.png") && error.contains("PNG"),
        "{error}"
    );
    let (code, error) = with(&["--image", text(&folder.join("none.dcm"))]);
    assert!(code == Some(1) && error.contains("none.dcm"), "{error}");
    let image = text(&picture);
    for wrong in [
        &["--image", image, "--image", image, "--image", image][..],
        &["--image", image, "--gantry", "0", "--gantry", "90"],
        &["--image", image, "--metric", "best"],
        &["--image", image, "--lock", "roll"],
        &["--image", image, "--region", "1,2,3"],
        &[
            "--image", image, "--region", "0,0,9,9", "--region", "0,0,9,9",
        ],
        &["--image", image, "--out", "reg.txt"],
        &[],
    ] {
        assert_eq!(with(wrong).0, Some(2), "{wrong:?}");
    }
}

/// A grey picture of 8 bits.
fn grey_png(path: &Path, value: impl Fn(u32, u32) -> u8) {
    let [width, height] = [96, 72];
    let mut encoder = png::Encoder::new(File::create(path).expect("a file"), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let data: Vec<u8> = (0..width * height)
        .map(|n| value(n % width, n / width))
        .collect();
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&data))
        .expect("a picture");
}

/// The list of wrong input, on the command line: one message each, with the remedy.
#[test]
fn what_cannot_be_matched_is_said() {
    let folder = scratch("register-refused");
    let (picture, flat) = (folder.join("xray.png"), folder.join("flat.png"));
    grey_png(&picture, |x, y| (2 * x + y) as u8);
    grey_png(&flat, |_, _| 90);
    let with = |image: &Path, more: &[&str]| {
        let words = [
            "register",
            "demo:water",
            "--device",
            "cpu",
            "--image",
            text(image),
        ]
        .map(str::to_owned);
        words
            .into_iter()
            .chain(more.iter().map(|&word| word.to_owned()))
            .collect::<Vec<_>>()
    };
    let placed = [
        "--gantry",
        "0",
        "--isocentre",
        "0,0,0",
        "--sad",
        "1000",
        "--sid",
        "1500",
        "--pixel",
        "4",
    ];
    let say = |image: &Path, more: &[&str], said: &[&str]| {
        let words = with(image, more);
        refused(&words.iter().map(String::as_str).collect::<Vec<_>>(), said);
    };
    let placed_and = |more: &[&'static str]| [&placed[..], more].concat();
    // Options that the picture's own file contradicts.
    let told = folder.join("told.png");
    grey_png(&told, |x, y| (2 * x + y) as u8);
    let beside = "gantry_deg = 90.0\nisocentre_mm = [0.0, 0.0, 0.0]\nsad_mm = 1000.0\nsid_mm = 1500.0\npixel_mm = [4.0, 4.0]\n";
    std::fs::write(told.with_extension("toml"), beside).expect("written");
    say(
        &told,
        &["--gantry", "0"],
        &["told.png", "given as 0", "says 90"],
    );
    say(
        &told,
        &["--sid", "1400"],
        &["told.png", "given as 1400", "says 1500"],
    );
    // A picture of another object: no match, no file, an exit of its own, but the numbers.
    let (noise, out) = (folder.join("noise.png"), folder.join("reg.dcm"));
    grey_png(&noise, |x, y| {
        (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503).rotate_left(7)).to_le_bytes()[2]
    });
    let words = with(
        &noise,
        &[&placed[..], &["--out", text(&out), "--json"]].concat(),
    );
    let output = beamsight(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let (json, said) = (
        json_of(&output),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("no match") && json["match"] == false && json["pose"].is_object(),
        "{said}"
    );
    assert!(!out.exists(), "a registration was written");
    say(&picture, &[], &["xray.png", "gantry"]);
    say(&flat, &placed, &["flat.png", "same value"]);
    say(
        &picture,
        &placed_and(&["--start", "0,-1500,0,0,0,0"]),
        &["behind the source"],
    );
    say(
        &picture,
        &placed_and(&["--start", "0,500,0,0,0,0"]),
        &["detector lies inside the CT"],
    );
    say(
        &picture,
        &placed_and(&["--region", "10,10,0,5"]),
        &["xray.png", "no pixel counts", "region"],
    );
    say(
        &picture,
        &placed_and(&["--region", "96,0,20,20"]),
        &["xray.png", "no pixel counts", "region"],
    );
    // An RT image of another patient.
    let other = folder.join("other.dcm");
    let words = [
        "drr",
        "demo:slab",
        "--size",
        "60x50",
        "--pixel",
        "6",
        "--isocentre",
        "0,0,0",
        "--device",
        "cpu",
        "--out",
        text(&other),
    ];
    let made = beamsight(&words);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    say(
        &other,
        &[],
        &["other.dcm", "DEMO-SLAB", "DEMO-WATER", "same patient"],
    );
}
