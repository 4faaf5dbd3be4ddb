//! `beamsight dose` of plans normalised to points, and of sessions with densities of structures.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::case::{
    Case, Contour, DensityOverride, Medium, Normalisation, NormalisedAt, NormalisedDose, Structure,
    StructureKind,
};
use beamsight::files::{demo, mha, session};
use beamsight::geometry::box_contours;
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session of the water cube, changed.
fn session_of(folder: &Path, change: impl FnOnce(&mut Case)) -> PathBuf {
    let loaded = demo::build("water").expect("a demo case");
    let mut edited = loaded.clone();
    Arc::make_mut(&mut edited.plans[0]).machine = "point-6mv".to_owned();
    change(&mut edited);
    let path = folder.join("work.json");
    let session = session::Session::new(
        &edited,
        "demo:water",
        &loaded.structures,
        serde_json::json!({}),
    );
    session::write(&path, &session).expect("a session");
    path
}

fn coarse(case: &Path, more: &[&str]) -> serde_json::Value {
    let words = [
        "dose",
        text(case),
        "--grid",
        "10",
        "--quality",
        "fast",
        "--json",
    ];
    let output = beamsight(&[&words[..], more].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    json_of(&output)
}

#[test]
fn a_session_normalised_to_a_point_gives_its_dose_there() {
    let folder = scratch("dose_point");
    let mm = DVec3::new(4.0, -60.0, 3.0);
    let normalised = |at: NormalisedAt, percent: f64| {
        move |case: &mut Case| {
            let dose = NormalisedDose::Percent(percent);
            Arc::make_mut(&mut case.plans[0]).normalisation = Some(Normalisation { at, dose });
        }
    };
    let case = session_of(&folder, normalised(NormalisedAt::Point(mm), 150.0));
    let out = folder.join("dose.mha");
    let answer = coarse(&case, &["--out", text(&out)]);
    // 150 % of the demo's 2 Gy.
    let there = mha::read(&out)
        .expect("the dose")
        .trilinear(mm)
        .expect("inside");
    assert!((there - 3.0).abs() < 1e-4, "{there}");
    let words = answer["normalisation"].as_str().expect("words");
    assert_eq!(
        words,
        "the point 4.0, -60.0, 3.0 mm is 150 % of the prescription"
    );
    let far = session_of(
        &folder,
        normalised(NormalisedAt::Point(DVec3::splat(900.0)), 100.0),
    );
    let call = ["dose", text(&far), "--grid", "10", "--quality", "fast"];
    refused(
        &call,
        &["normalised to the point 900.0", "outside the dose grid"],
    );
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_bolus_of_a_session_counts_is_said_and_keeps_the_dose_from_leaving_as_dicom() {
    let folder = scratch("dose_bolus");
    let with = |density: Option<DensityOverride>| {
        move |case: &mut Case| {
            let grid = case.ct.as_ref().expect("a CT").hu.grid().clone();
            let boxes = box_contours(
                &grid,
                DVec3::new(0.0, -155.0, 0.0),
                DVec3::new(300.0, 10.0, 300.0),
            );
            let contour = |points_mm| Contour {
                points_mm,
                image_uid: None,
            };
            let bolus = Structure {
                contours: boxes.into_iter().map(contour).collect(),
                density,
                ..Structure::new("Bolus", case.free_number(), StructureKind::Bolus)
            };
            Arc::make_mut(&mut case.structures).structures.push(bolus);
        }
    };
    let mean = |answer: &serde_json::Value| {
        answer["figures"]["target"]["mean_gy"]
            .as_f64()
            .expect("a mean")
    };
    let bare = coarse(&session_of(&folder, with(None)), &[]);
    assert!(
        bare["remarks"]
            .to_string()
            .contains("bolus 'Bolus' is not included"),
        "{}",
        bare["remarks"]
    );
    let case = session_of(&folder, with(Some(DensityOverride::preset(Medium::Water))));
    let answer = coarse(&case, &[]);
    assert!(
        answer["remarks"]
            .to_string()
            .contains("bolus 'Bolus' is included: 1.00 g/cm³ (water)")
    );
    // 10 mm of water more before a target 10 cm deep: 4 to 5 % less of a 6 MV beam.
    let ratio = mean(&answer) / mean(&bare);
    assert!((0.94..0.97).contains(&ratio), "{ratio}");
    let out = folder.join("dose.dcm");
    refused(
        &["dose", text(&case), "--out", text(&out)],
        &["counts the bolus 'Bolus'"],
    );
    assert!(!out.exists());
    std::fs::remove_dir_all(folder).expect("removed");
}
