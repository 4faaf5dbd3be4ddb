//! Exports as pydicom, SimpleITK, plastimatch and dcmdump read them. `bash .ci/peers` installs the first two.

use crate::common::opened::open;
use crate::common::skip::{Missing, skip};
use beamsight::case::{Case, Contour, Structure};
use beamsight::dicom::{
    Choice, ExportOptions, ExportPart, PlanDoses, WriteError, export, load, scan,
};
use beamsight::geometry::Mask;
use glam::DVec3;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

fn fresh(name: &str) -> PathBuf {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("peers-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Findings of the others in a folder; `None`, reported as a skip, where they are not installed.
fn found(folder: &Path) -> Option<Value> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("peers")
        .join("bin/python");
    let python = std::env::var_os("BEAMSIGHT_PEERS").map_or(own, PathBuf::from);
    let has = |program: &str, word: &str| Command::new(program).arg(word).output().is_ok();
    if !python.is_file() || !has("plastimatch", "--version") || !has("dcmdump", "--version") {
        skip(
            Missing::Program,
            "no other readers (bash .ci/peers; apt-get install plastimatch dcmtk)",
        );
        return None;
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "dcm") {
            continue;
        }
        assert!(
            Command::new("dcmdump")
                .arg("-q")
                .arg(&path)
                .output()
                .unwrap()
                .status
                .success(),
            "{}",
            path.display()
        );
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dicom/peers/read.py");
    let masks = fresh("masks");
    let output = Command::new(&python)
        .arg(script)
        .arg(folder)
        .arg(&masks)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_dir_all(masks).unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{value}"))
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn near(a: &[f64], b: &[f64], within: f64, what: &str) {
    assert!(
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within),
        "{what}: {a:?} {b:?}"
    );
}

/// The CT's geometry and values, and the volumes of the structures by voxels.
fn compare_images(case: &Case, found: &Value, within_percent: f64) {
    let ct = case.ct.as_ref().unwrap();
    let grid = ct.hu.grid();
    let size: Vec<f64> = grid.size().iter().map(|n| *n as f64).collect();
    near(&numbers(&found["ct"]["size"]), &size, 0.0, "size");
    near(
        &numbers(&found["ct"]["origin_mm"]),
        &grid.origin_mm().to_array(),
        1e-6,
        "origin",
    );
    near(
        &numbers(&found["ct"]["spacing_mm"])[..2],
        &grid.spacing_xy_mm(),
        1e-9,
        "spacing",
    );
    let mean =
        ct.hu.data().iter().map(|hu| f64::from(*hu)).sum::<f64>() / ct.hu.data().len() as f64;
    near(
        &[found["ct"]["mean_hu"].as_f64().unwrap()],
        &[mean],
        1e-6,
        "mean HU",
    );
    for structure in &case.structures.structures {
        let own = &found["structures"][&structure.name];
        assert_eq!(
            own["contours"],
            structure.contours.len() + structure.points_mm.len(),
            "{}",
            structure.name
        );
        let points = structure
            .contours
            .iter()
            .flat_map(|c| &c.points_mm)
            .chain(&structure.points_mm);
        let sum: f64 = points.map(|p| p.element_sum()).sum();
        near(
            &[own["sum_mm"].as_f64().unwrap()],
            &[sum],
            1e-6 * (1.0 + sum.abs()),
            &structure.name,
        );
        let contours: Vec<&[DVec3]> = structure
            .contours
            .iter()
            .map(|c| c.points_mm.as_slice())
            .collect();
        let Ok(mask) = Mask::from_contours(grid, &contours, &|_| true) else {
            continue;
        };
        let other = found["volumes"][structure.name.replace(' ', "_")]
            .as_f64()
            .unwrap();
        let off = 100.0 * (other / mask.volume_cm3() - 1.0);
        assert!(
            off.abs() < within_percent,
            "{}: {other} cm3, here {}",
            structure.name,
            mask.volume_cm3()
        );
    }
}

#[test]
fn other_readers_find_the_same_plan_dose_images_and_volumes() {
    let folder = fresh("set");
    let [out, xray] = ["out", "xray.dcm"].map(|name| folder.join(name));
    let run = |words: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_beamsight"))
            .args(words)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let xray = xray.to_str().unwrap();
    run(&[
        "drr",
        "demo:tg119",
        "--gantry",
        "30",
        "--size",
        "64x48",
        "--pixel",
        "6,7",
        "--out",
        xray,
    ]);
    let moved = ["--xray", xray, "--pose", "1.5,-2,4,0,0,90"];
    run(&[
        &[
            "export",
            "demo:tg119",
            "--out",
            out.to_str().unwrap(),
            "--dose",
            "plan",
        ][..],
        &moved,
    ]
    .concat());
    let Some(found) = found(&out) else { return };
    let case = load(&scan(&out, &|_| true).unwrap(), Choice::default(), &|_| {
        true
    })
    .unwrap();
    // plastimatch takes a voxel whole where its centre is inside: single planes of small structures differ.
    compare_images(&case, &found, 3.0);
    let plan = &case.plans[0];
    for (beam, other) in plan.beams.iter().zip(found["beams"].as_array().unwrap()) {
        assert_eq!(other["number"], beam.number);
        assert_eq!(other["mu"].as_f64(), Some(beam.mu));
        assert_eq!(
            numbers(&other["gantry_deg"])[0],
            beam.control_points[0].gantry_deg
        );
        near(
            &numbers(&other["isocentre_mm"]),
            &beam.isocentre_mm.to_array(),
            0.0,
            "isocentre",
        );
        let point = &beam.control_points[0];
        near(
            &numbers(&other["devices"]["ASYMX"]),
            &point.jaws.x,
            0.0,
            "X jaws",
        );
        if beam.mlc.is_some() {
            let banks = |side: usize| point.leaves_mm.iter().map(move |pair| pair[side]);
            let leaves: Vec<f64> = banks(0).chain(banks(1)).collect();
            near(&numbers(&other["devices"]["MLCX"]), &leaves, 0.0, "leaves");
        }
    }
    let (dose, other) = (&case.doses[0], &found["dose"]);
    let [nx, ny, nz] = dose.gy.grid().size().map(|n| n as f64);
    near(&numbers(&other["shape"]), &[nz, ny, nx], 0.0, "shape");
    let sum: f64 = dose.gy.data().iter().map(|gy| f64::from(*gy)).sum();
    near(
        &[other["sum_gy"].as_f64().unwrap()],
        &[sum],
        1e-6 * sum,
        "sum",
    );
    let most = f64::from(dose.max_gy());
    near(
        &[
            other["max_gy"].as_f64().unwrap(),
            other["sitk_max"].as_f64().unwrap(),
        ],
        &[most; 2],
        1e-5 * most,
        "maximum",
    );
    let origin = dose.gy.grid().origin_mm().to_array();
    near(&numbers(&other["origin_mm"]), &origin, 1e-9, "origin");
    near(&numbers(&other["sitk_origin_mm"]), &origin, 1e-6, "origin");
    compare_imaging(&case, &found, &out);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A quarter turn about the isocentre of the X-ray, then the shift; the picture by its own attributes.
fn compare_imaging(case: &Case, found: &Value, out: &Path) {
    let (registration, drr) = (&found["registration"], &found["drr"]);
    let isocentre = case.plans[0].beams[0].isocentre_mm;
    let turned =
        |p: DVec3| isocentre + DVec3::new(isocentre.y - p.y, p.x - isocentre.x, p.z - isocentre.z);
    let rows = numbers(&registration["matrix"]);
    for point in [DVec3::ZERO, DVec3::new(10.0, -20.0, 30.0)] {
        let by = |row: &[f64]| row[0] * point.x + row[1] * point.y + row[2] * point.z + row[3];
        let moved: Vec<f64> = rows.chunks(4).take(3).map(by).collect();
        near(
            &moved,
            &(turned(point) + DVec3::new(1.5, -2.0, 4.0)).to_array(),
            1e-6,
            "moved",
        );
    }
    let identity = glam::DMat4::IDENTITY.to_cols_array();
    near(
        &numbers(&registration["identity"]),
        &identity,
        0.0,
        "the room's own frame",
    );
    assert_eq!(
        registration["source"],
        case.ct.as_ref().unwrap().frame_of_reference_uid
    );
    assert_eq!(registration["registered"], drr["frame"]);
    near(&numbers(&drr["shape"]), &[48.0, 64.0], 0.0, "rows, columns");
    near(&numbers(&drr["spacing_mm"]), &[7.0, 6.0], 0.0, "spacing");
    near(
        &numbers(&drr["position_mm"]),
        &[-31.5 * 6.0, 23.5 * 7.0],
        1e-9,
        "first pixel",
    );
    near(
        &numbers(&drr["isocentre_mm"]),
        &isocentre.to_array(),
        0.0,
        "isocentre",
    );
    assert_eq!(
        (drr["gantry_deg"].as_f64(), drr["patient_position"].as_str()),
        (Some(30.0), Some("HFS"))
    );
    assert_eq!(
        (drr["sad_mm"].as_f64(), drr["sid_mm"].as_f64()),
        (Some(1000.0), Some(1500.0))
    );
    let (read, _) =
        beamsight::dicom::read_radiograph(&out.join("RI-drr-1.dcm"), &Default::default()).unwrap();
    let sum: f64 = read.values.iter().map(|v| f64::from(*v)).sum();
    near(
        &[drr["sum"].as_f64().unwrap()],
        &[sum],
        1e-6 * sum,
        "sum of the picture",
    );
}

fn no_doses(_: &Case) -> Result<Vec<Option<PlanDoses>>, WriteError> {
    panic!("no dose is asked for")
}

/// Lungs with inner contours, moved: holes are read as holes.
#[test]
fn other_readers_find_the_holes_of_changed_structures() {
    let Some(mut case) = open("lung1-001") else {
        return;
    };
    let moved = |structure: &Structure| Structure {
        contours: { structure.contours.iter() }
            .map(|contour| Contour {
                points_mm: contour
                    .points_mm
                    .iter()
                    .map(|p| *p + DVec3::new(1.0 / 3.0, 0.7, 0.0))
                    .collect(),
                image_uid: contour.image_uid.clone(),
            })
            .collect(),
        ..structure.clone()
    };
    let set = Arc::make_mut(&mut case.structures);
    set.structures = set.structures.iter().map(moved).collect();
    let folder = fresh("holes");
    let options = ExportOptions {
        parts: vec![ExportPart::Ct, ExportPart::Structures],
        ..ExportOptions::default()
    };
    export(&folder, &case, &options, no_doses, &|_| true).unwrap();
    let Some(found) = found(&folder) else { return };
    let back = load(
        &scan(&folder, &|_| true).unwrap(),
        Choice::default(),
        &|_| true,
    )
    .unwrap();
    compare_images(&back, &found, 3.0);
    std::fs::remove_dir_all(folder).unwrap();
}
