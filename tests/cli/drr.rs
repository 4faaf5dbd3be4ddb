//! `beamsight drr` as a user runs it.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// A box of 0.02/mm, 40 x 30 x 20 mm about the origin.
fn solid(folder: &Path) -> String {
    let grid = Grid::axis_aligned(DVec3::new(-19.5, -14.5, -9.5), DVec3::ONE, [40, 30, 20])
        .expect("a grid");
    let volume = Volume::new(Arc::new(grid), vec![0.02; 24_000]);
    let path = folder.join("box.mha");
    mha::write(&path, &volume).expect("written");
    text(&path).to_owned()
}

fn drr(folder: &Path, case: &str, words: &str) -> serde_json::Value {
    let common = format!(
        "drr {case} --isocentre 0,0,0 --size 41x31 --pixel 1.5 --device cpu --overwrite --json {words}"
    );
    let mut all: Vec<&str> = common.split_whitespace().collect();
    let out = folder.join("out.mha");
    if !words.contains("--out") {
        all.extend(["--out", text(&out)]);
    }
    let output = beamsight(&all);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    json_of(&output)
}

fn pixels(folder: &Path) -> Volume<f32> {
    mha::read(&folder.join("out.mha")).expect("a picture")
}

/// Rows from the top, columns from the left, as seen from the source; a pose moves the box.
#[test]
fn a_box_is_where_it_should_be_and_as_thick() {
    let folder = scratch("drr-box");
    let case = solid(&folder);
    for integrator in ["exact", "trilinear"] {
        let said = drr(
            &folder,
            &case,
            &format!("--values attenuation --integrator {integrator}"),
        );
        assert_eq!(said["pixels"], 41 * 31);
        let image = pixels(&folder);
        assert_eq!(image.grid().size(), [41, 31, 1]);
        // Through the middle 30 mm; the edges at 20 and 10 mm, magnified by 1500 / 985 at the near face.
        assert!((f64::from(image.at(20, 15, 0)) - 0.6).abs() < 1e-6);
        assert!(
            image.at(20 + 19, 15, 0) > 0.5
                && image.at(20, 15 - 9, 0) > 0.5
                && image.at(20, 15 - 11, 0) == 0.0
        );
        // 6 mm to the left of the patient, 3 mm towards his head: right and up, 1.5 times as far.
        drr(
            &folder,
            &case,
            &format!("--values attenuation --integrator {integrator} --pose 6,0,3,0,0,0"),
        );
        let moved = pixels(&folder);
        let middle = |v: &Volume<f32>, axis: usize| {
            let at = |n: usize| v.data()[n] * [n % 41, n / 41][axis] as f32;
            (0..v.data().len()).map(at).sum::<f32>() / v.data().iter().sum::<f32>()
        };
        assert!(
            middle(&moved, 0) > middle(&image, 0) + 2.0
                && middle(&moved, 1) < middle(&image, 1) - 2.0
        );
    }
    // A quarter turn about the patient's long axis: 40 mm thick.
    drr(
        &folder,
        &case,
        "--values attenuation --integrator exact --pose 0,0,0,0,0,90",
    );
    assert!((f64::from(pixels(&folder).at(20, 15, 0)) - 0.8).abs() < 1e-6);
    drr(
        &folder,
        &case,
        "--values attenuation --integrator exact --gantry 90 --quantity intensity",
    );
    assert!((f64::from(pixels(&folder).at(20, 15, 0)) - (-0.8_f64).exp()).abs() < 1e-6);
}

#[test]
fn a_region_and_random_pixels_are_those_of_the_image() {
    let folder = scratch("drr-region");
    let case = solid(&folder);
    drr(&folder, &case, "--values attenuation --gantry 30");
    let whole = pixels(&folder);
    drr(
        &folder,
        &case,
        "--values attenuation --gantry 30 --region 7,5,20,11",
    );
    let region = pixels(&folder);
    assert_eq!(region.grid().size(), [20, 11, 1]);
    for (n, value) in region.data().iter().enumerate() {
        assert_eq!(
            value.to_bits(),
            whole.at(7 + n % 20, 5 + n / 20, 0).to_bits()
        );
    }
    let place = |v: &Volume<f32>, i, j| v.grid().centre_mm(i, j, 0);
    assert!((place(&region, 3, 4) - place(&whole, 10, 9)).length() < 1e-9);
    let said = drr(
        &folder,
        &case,
        "--values attenuation --gantry 30 --pixels 100 --seed 4",
    );
    assert_eq!(said["pixels"], 100);
    // Pixels left out are NaN, which only this reader accepts.
    let bytes = std::fs::read(folder.join("out.mha")).expect("a picture");
    let values = bytes[bytes.len() - 41 * 31 * 4..]
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes")));
    let seen = values.zip(whole.data()).filter(|(got, _)| got.is_finite());
    assert_eq!(
        seen.inspect(|(got, want)| assert_eq!(got.to_bits(), want.to_bits()))
            .count(),
        100
    );
}

/// The matrix that one run prints gives the same image in the next.
#[test]
fn a_projection_matrix_stands_for_the_angles() {
    let folder = scratch("drr-matrix");
    let case = solid(&folder);
    let said = drr(
        &folder,
        &case,
        "--values attenuation --gantry 63 --couch 21",
    );
    let by_angles = pixels(&folder);
    let rows = said["projection_matrix"].as_array().expect("rows").iter();
    let numbers: Vec<String> = rows
        .flat_map(|r| {
            r.as_array()
                .expect("four")
                .iter()
                .map(|v| format!("{}", -2.0 * v.as_f64().expect("a number")))
        })
        .collect();
    let words = format!(
        "drr {case} --isocentre 0,0,0 --size 41x31 --values attenuation --device cpu --overwrite --json --matrix {} --out {}",
        numbers.join(","),
        text(&folder.join("out.mha"))
    );
    let output = beamsight(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for (a, b) in pixels(&folder).data().iter().zip(by_angles.data()) {
        assert!((a - b).abs() < 1e-5, "{a} for {b}");
    }
}

#[test]
fn every_kind_of_file_is_written() {
    let folder = scratch("drr-files");
    for name in ["drr.png", "drr.dcm", "drr.mha"] {
        let out = folder.join(name);
        let said = drr(
            &folder,
            "demo:slab",
            &format!(
                "--curve tissue --bone 2 --threshold -300 --bits 16 --out {}",
                text(&out)
            ),
        );
        assert!(said["greatest"].as_f64().expect("a number") > 0.1);
        assert!(out.is_file());
    }
}

#[test]
fn what_cannot_be_seen_is_said() {
    let folder = scratch("drr-bad");
    let case = solid(&folder);
    let common = [
        "drr",
        &case,
        "--values",
        "attenuation",
        "--isocentre",
        "0,0,0",
        "--device",
        "cpu",
    ];
    let more = |words: &[&'static str]| [&common[..], words].concat();
    refused(
        &more(&["--pose", "0,-1200,0,0,0,0"]),
        &["behind the source"],
    );
    refused(&more(&["--pose", "0,1200,0,0,0,0"]), &["beyond the image"]);
    refused(
        &more(&["--region", "740,0,20,20"]),
        &["region", "750 x 750"],
    );
    refused(&more(&["--region", "0,0,0,20"]), &["not empty"]);
    refused(&more(&["--pixels", "600000"]), &["562500"]);
    // Beside the patient, or through the air about him.
    refused(
        &more(&["--shift", "5000,0"]),
        &["box.mha", "misses the patient", "--shift"],
    );
    let chest = ["drr", "demo:thorax", "--size", "50x50", "--device", "cpu"];
    let out = folder.join("air.png");
    let air = [
        &chest[..],
        &["--pixel", "0.4", "--shift", "0,-900", "--out", text(&out)],
    ]
    .concat();
    refused(&air, &["demo:thorax", "misses the patient"]);
    assert!(!out.exists());
    refused(&more(&["--out", "/nowhere/drr.mha"]), &["/nowhere"]);
}
