//! `beamsight export`: the set as a user gets it, opened and computed again.

use crate::conforms::assert_conforms;
use crate::cross::{CROSS, write_ball_session, write_cross, write_cross_session};
use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::case::{Contour, DensityOverride, Medium, Structure, StructureKind};
use beamsight::files::{mha, plan_toml};
use beamsight::geometry::{PatientPosition, Volume};
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use dicom_object::DefaultDicomObject;
use glam::DVec3;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn done(words: &[&str]) -> serde_json::Value {
    let output = beamsight(&[words, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    json_of(&output)
}

/// The DICOM files of a kind.
fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(kind) && name.ends_with(".dcm")
    };
    let mut all: Vec<PathBuf> = entries.filter(is).collect();
    all.sort();
    all
}

fn object(path: &Path) -> DefaultDicomObject {
    dicom_object::open_file(path).unwrap()
}

fn said(object: &DefaultDicomObject, tag: Tag) -> String {
    object
        .element(tag)
        .map(|e| e.to_str().unwrap().trim_end_matches('\0').trim().to_owned())
        .unwrap_or_default()
}

fn bytes(object: &DefaultDicomObject) -> Vec<u8> {
    object
        .element(tags::PIXEL_DATA)
        .unwrap()
        .to_bytes()
        .unwrap()
        .into_owned()
}

/// All UIDs under these tags, at any depth.
fn references(object: &dicom_object::InMemDicomObject, found: &mut HashSet<String>) {
    for element in object {
        if let Some(items) = element.items() {
            items.iter().for_each(|item| references(item, found));
        } else if dicom_core::header::Header::tag(element) == tags::REFERENCED_SOP_INSTANCE_UID {
            found.insert(
                element
                    .to_str()
                    .unwrap()
                    .trim_end_matches('\0')
                    .trim()
                    .to_owned(),
            );
        }
    }
}

/// The plan is normalised: its monitor units are those of the sum that leaves, and what is computed on the files is that
/// dose to the last bit.
#[test]
fn an_export_is_one_study_and_computes_to_the_same_dose() {
    let folder = scratch("export");
    let (first, second) = (folder.join("first"), folder.join("second"));
    let case = write_cross_session(&folder);
    let answer = done(&[
        "export",
        text(&case),
        "--out",
        text(&first),
        "--bits",
        "16",
        "--grid",
        "2.5",
    ]);
    assert!(
        answer["files"]
            .as_array()
            .unwrap()
            .iter()
            .all(|file| file["unchanged"] == false)
    );
    let all = files(&first, "");
    let (mut uids, mut referenced) = (HashSet::new(), HashSet::new());
    let study = said(&object(&all[0]), tags::STUDY_INSTANCE_UID);
    let frame = said(&object(&all[0]), tags::FRAME_OF_REFERENCE_UID);
    for path in &all {
        let object = object(path);
        assert!(
            uids.insert(said(&object, tags::SOP_INSTANCE_UID)),
            "a UID of its own: {}",
            path.display()
        );
        assert_eq!(said(&object, tags::STUDY_INSTANCE_UID), study);
        assert_eq!(said(&object, tags::FRAME_OF_REFERENCE_UID), frame);
        references(&object, &mut referenced);
    }
    // The detached study is the only reference that is no file.
    referenced.remove(&study);
    assert!(
        referenced.is_subset(&uids),
        "{:?}",
        referenced.difference(&uids)
    );
    all.iter()
        .filter(|path| !text(path).contains("CT00"))
        .for_each(|path| assert_conforms(path));
    assert_conforms(&all[0]);
    let dose = object(&first.join("RD.dcm"));
    assert_eq!(said(&dose, tags::DOSE_SUMMATION_TYPE), "PLAN");
    assert!(said(&dose, tags::DOSE_COMMENT).starts_with("final"));
    let beams = files(&first, "RD-beam-");
    assert_eq!(beams.len(), files_of_plan(&first));
    assert!(
        beams
            .iter()
            .all(|path| said(&object(path), tags::DOSE_SUMMATION_TYPE) == "BEAM")
    );

    // Opened, and exported again: images, structures and the dose are the same, the plan is its successor.
    done(&[
        "export",
        text(&first),
        "--out",
        text(&second),
        "--bits",
        "16",
        "--dose",
        "plan",
    ]);
    let again = object(&second.join("RD.dcm"));
    assert!(bytes(&again) == bytes(&dose));
    assert_eq!(
        said(&again, tags::DOSE_GRID_SCALING),
        said(&dose, tags::DOSE_GRID_SCALING)
    );
    for name in ["CT0001.dcm", "RS.dcm"] {
        assert!(
            std::fs::read(first.join(name)).unwrap() == std::fs::read(second.join(name)).unwrap(),
            "{name}"
        );
    }
    let [a, b] = ["a.mha", "b.mha"].map(|name| folder.join(name));
    done(&["dose", text(&first), "--out", text(&a)]);
    done(&["dose", text(&second), "--out", text(&b)]);
    assert!(
        std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap(),
        "the same to the last bit"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

fn files_of_plan(folder: &Path) -> usize {
    object(&folder.join("RP.dcm"))
        .element(tags::BEAM_SEQUENCE)
        .unwrap()
        .items()
        .unwrap()
        .len()
}

/// Without a normalisation the demo's own dose is that of its files.
#[test]
fn the_dose_of_a_demo_is_that_of_its_export() {
    let folder = scratch("export-demo");
    let out = folder.join("out");
    done(&[
        "export",
        "demo:water",
        "--out",
        text(&out),
        "--only",
        "ct,structures,plan",
    ]);
    assert!(files(&out, "RD").is_empty());
    let [a, b] = ["a.mha", "b.mha"].map(|name| folder.join(name));
    done(&["dose", "demo:water", "--out", text(&a), "--grid", "4"]);
    done(&["dose", text(&out), "--out", text(&b), "--grid", "4"]);
    assert!(
        std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap(),
        "the same to the last bit"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A cube on a couch that counts as it was scanned, with a target of bone: the dose of its files is its own, also where
/// they were made anonymous or exported again, and the second check counts the couch that the files name.
#[test]
fn given_densities_leave_with_the_structures() {
    let folder = scratch("export-densities");
    let case = write_couch_session(&folder);
    let dose = |case: &Path| {
        let out = folder.join("dose.mha");
        let answer = done(&[
            "dose",
            text(case),
            "--out",
            text(&out),
            "--grid",
            "2.5",
            "--overwrite",
        ]);
        assert_eq!(
            answer["caveats"].as_array().map(Vec::len),
            Some(0),
            "{answer}"
        );
        mha::read(&out).unwrap()
    };
    let own = dose(&case);
    let [named, anonymous, again] = ["named", "anonymous", "again"].map(|name| folder.join(name));
    done(&[
        "export",
        text(&case),
        "--out",
        text(&named),
        "--grid",
        "2.5",
    ]);
    done(&[
        "export",
        text(&case),
        "--out",
        text(&anonymous),
        "--grid",
        "2.5",
        "--anonymise",
    ]);
    done(&[
        "export",
        text(&named),
        "--out",
        text(&again),
        "--grid",
        "2.5",
    ]);
    let of_files = dose(&named);
    // Contours of files have 16 characters.
    let most = own.data().iter().copied().fold(0.0, f32::max);
    let off = own
        .data()
        .iter()
        .zip(of_files.data())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(most > 1.0 && off < 1e-5 * most, "{off} of {most} Gy");
    for out in [&named, &anonymous, &again] {
        assert_conforms(&out.join("RS.dcm"));
        assert!(
            dose(out).data() == of_files.data(),
            "{}: the same to the last bit",
            out.display()
        );
        let checked = done(&["check", text(out)]);
        assert_eq!(checked["verdict"], "within", "{checked}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A cube of water of 6 cm, 1 cm above a slab: the couch, with the densities of the CT.
fn write_couch_session(folder: &Path) -> PathBuf {
    let [image, _] = write_cross(folder, 40, 30.0);
    let cube = mha::read(&image).unwrap();
    let (grid, side) = (cube.grid(), cube.grid().size()[0]);
    let below = |n: usize| grid.centre_mm(0, n / side % side, 0).y > 40.0;
    let with_slab = cube
        .data()
        .iter()
        .enumerate()
        .map(|(n, hu)| if below(n) { 100.0 } else { *hu })
        .collect();
    mha::write(&image, &Volume::new(Arc::clone(grid), with_slab)).unwrap();
    let from_below = CROSS.replacen("gantry_deg = 0.0", "gantry_deg = 180.0", 1);
    let plan =
        plan_toml::parse(&from_below, &folder.join("plan.toml"), PatientPosition::Hfs).unwrap();
    let session = write_ball_session(&folder.join("couch.json"), &image, 15.0, plan);
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&session).unwrap()).unwrap();
    let slab = |z: f64| {
        let corners = [(-50.0, 40.0), (50.0, 40.0), (50.0, 50.0), (-50.0, 50.0)];
        Contour {
            points_mm: corners.map(|(x, y)| DVec3::new(x, y, z)).to_vec(),
            image_uid: None,
        }
    };
    let couch = Structure {
        contours: grid
            .planes_mm()
            .iter()
            .map(|z| slab(z + grid.centre_mm(0, 0, 0).z))
            .collect(),
        density: Some(DensityOverride::AS_SCANNED),
        ..Structure::new("CT couch", 2, StructureKind::Support)
    };
    let structures = value["structures"].as_array_mut().unwrap();
    structures[0]["density"] = serde_json::to_value(DensityOverride::preset(Medium::Bone)).unwrap();
    structures.push(serde_json::to_value(couch).unwrap());
    std::fs::write(&session, value.to_string()).unwrap();
    session
}

#[test]
fn nothing_is_replaced_unasked_and_nothing_is_left_half_written() {
    let folder = scratch("export-places");
    let out = folder.join("out");
    let only = ["--only", "structures,plan"];
    let export = |out: &Path, more: &[&str]| {
        [
            &["export", "demo:water", "--out", text(out)],
            &only[..],
            more,
        ]
        .concat()
        .iter()
        .map(|w| (*w).to_owned())
        .collect::<Vec<_>>()
    };
    let run = |all: Vec<String>| done(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let refuse = |all: Vec<String>, wanted: &[&str]| {
        refused(&all.iter().map(String::as_str).collect::<Vec<_>>(), wanted)
    };
    run(export(&out, &[]));
    refuse(export(&out, &[]), &["not empty", "--overwrite"]);
    run(export(&out, &["--overwrite"]));
    std::fs::write(out.join("mine.txt"), "mine").unwrap();
    refuse(export(&out, &["--overwrite"]), &["mine.txt", "not removed"]);
    // Names that planning systems give, and a file of another in the place of an own one.
    let clinic = folder.join("clinic");
    std::fs::create_dir(&clinic).unwrap();
    for name in ["RP.1.2.3.dcm", "RS.dcm"] {
        std::fs::write(clinic.join(name), name).unwrap();
    }
    refuse(
        export(&clinic, &["--overwrite"]),
        &["RP.1.2.3.dcm", "not removed"],
    );
    assert_eq!(
        std::fs::read_to_string(clinic.join("RS.dcm")).unwrap(),
        "RS.dcm"
    );
    std::fs::remove_dir_all(&clinic).unwrap();
    let own = folder.join("own");
    run(export(&own, &[]));
    std::fs::copy(out.join("RP.dcm"), own.join("RP.dcm")).unwrap();
    refuse(export(&own, &["--overwrite"]), &["RP.dcm", "not removed"]);
    std::fs::remove_dir_all(&own).unwrap();
    // The list beside the objects is no object of a case.
    let info = done(&["info", text(&out)]);
    assert!(!info.to_string().contains(".beamsight"), "{info}");
    refuse(
        export(&folder.join("no/such"), &[]),
        &["no folder", "make it first"],
    );
    refuse(export(&out.join("mine.txt"), &[]), &["is a file"]);
    refused(
        &[
            "export",
            text(&out),
            "--out",
            text(&out.join("in")),
            "--only",
            "structures",
        ],
        &["the CASE itself"],
    );
    refused(
        &[
            "export",
            "demo:water",
            "--out",
            text(&folder.join("d")),
            "--only",
            "dose",
        ],
        &["a dose leaves with the plan"],
    );
    refused(
        &[
            "export",
            "demo:water",
            "--out",
            text(&folder.join("d")),
            "--quality",
            "fast",
        ],
        &["coarse", "--only ct,structures,plan"],
    );
    refused(
        &[
            "export",
            "demo:water",
            "--out",
            text(&folder.join("d")),
            "--machine",
            "linac-7",
        ],
        &["linac-7"],
    );
    let names = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["out"],
        "no temporary folder is left"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// An anonymous export has the same dose, in files that conform.
#[test]
fn an_anonymous_export_has_the_dose_of_the_case() {
    let folder = scratch("export-anonymous");
    let [plain, anonymous] = ["plain", "anonymous"].map(|name| folder.join(name));
    let case = write_cross_session(&folder);
    let export = [
        "export",
        text(&case),
        "--bits",
        "16",
        "--dose",
        "plan",
        "--grid",
        "2.5",
        "--out",
    ];
    done(&[&export[..], &[text(&plain)]].concat());
    let answer = done(&[&export[..], &[text(&anonymous), "--anonymise"]].concat());
    assert!(
        answer["remarks"].to_string().contains("burned into pixels"),
        "{answer}"
    );
    for name in ["CT0001.dcm", "RS.dcm", "RP.dcm", "RD.dcm"] {
        let path = anonymous.join(name);
        assert_conforms(&path);
        let (a, b) = (object(&plain.join(name)), object(&path));
        assert_ne!(
            said(&a, tags::SOP_INSTANCE_UID),
            said(&b, tags::SOP_INSTANCE_UID)
        );
        assert_eq!(said(&b, tags::PATIENT_IDENTITY_REMOVED), "YES");
    }
    let doses = [&plain, &anonymous].map(|folder| object(&folder.join("RD.dcm")));
    assert!(bytes(&doses[0]) == bytes(&doses[1]));
    assert!(said(&doses[1], tags::DOSE_COMMENT).starts_with("final"));
    // Behind the comment, which has the plan's name.
    let computed = [&plain, &anonymous].map(|case| {
        let out = case.with_extension("mha");
        done(&["dose", text(case), "--out", text(&out), "--grid", "6"]);
        let bytes = std::fs::read(out).unwrap();
        let comment = bytes.windows(10).position(|w| w == b"BinaryData").unwrap();
        bytes[comment..].to_vec()
    });
    assert!(computed[0] == computed[1], "the same to the last bit");
    let out = folder.join("no");
    for words in [
        &["--shift-dates", "5"][..],
        &["--anonymise", "--shift-dates", "0"],
    ] {
        let output = beamsight(&[&export[..], &[text(&out)], words].concat());
        assert_eq!(output.status.code(), Some(2));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// X-rays and pose are those of the session; a pose on the command line replaces the session's.
#[test]
fn the_pose_of_a_session_leaves_as_a_registration() {
    let folder = scratch("export-pose");
    let xray = folder.join("ap.dcm");
    done(&[
        "drr",
        "demo:water",
        "--size",
        "40x30",
        "--pixel",
        "8",
        "--out",
        text(&xray),
    ]);
    let case = beamsight::files::demo::build("water").unwrap();
    let pose = beamsight::case::Pose::new([1.0, 2.0, -3.0], [0.0, 0.0, 90.0]);
    let view = serde_json::json!({ "register": { "images": [{ "path": xray }], "pose": pose } });
    let session =
        beamsight::files::session::Session::new(&case, "demo:water", &case.structures, view);
    let path = folder.join("s.json");
    beamsight::files::session::write(&path, &session).unwrap();
    let matrix_of = |out: &Path| {
        let object = object(&out.join("REG.dcm"));
        let frames = object
            .element(tags::REGISTRATION_SEQUENCE)
            .unwrap()
            .items()
            .unwrap()
            .to_vec();
        let step = frames[1]
            .element(tags::MATRIX_REGISTRATION_SEQUENCE)
            .unwrap()
            .items()
            .unwrap()[0]
            .clone();
        let matrix = step
            .element(tags::MATRIX_SEQUENCE)
            .unwrap()
            .items()
            .unwrap()[0]
            .clone();
        matrix
            .element(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX)
            .unwrap()
            .to_multi_float64()
            .unwrap()
    };
    let out = folder.join("out");
    done(&[
        "export",
        text(&path),
        "--out",
        text(&out),
        "--only",
        "registration,drr,xray",
    ]);
    for name in ["REG.dcm", "RI-drr-1.dcm"] {
        assert_conforms(&out.join(name));
    }
    assert!(std::fs::read(&xray).unwrap() == std::fs::read(out.join("RI-xray-1.dcm")).unwrap());
    // A quarter turn about z through the isocentre at (0, -50, 0), then the shift.
    let near = |found: Vec<f64>, wanted: [f64; 16]| {
        assert!(
            found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?}"
        );
    };
    near(
        matrix_of(&out),
        [
            0., -1., 0., -49., 1., 0., 0., -48., 0., 0., 1., -3., 0., 0., 0., 1.,
        ],
    );
    let named = folder.join("named");
    let words = [
        "export",
        "demo:water",
        "--xray",
        text(&xray),
        "--pose",
        "-5,0,0,0,0,0",
        "--only",
        "registration",
    ];
    done(&[&words[..], &["--out", text(&named)]].concat());
    near(
        matrix_of(&named),
        [
            1., 0., 0., -5., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
        ],
    );
    let no = folder.join("no");
    refused(
        &["export", "demo:water", "--only", "drr", "--out", text(&no)],
        &["no drr", "--xray"],
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// Equal seeds give equal doses: that of the file is the one that the verb `dose` computes, and says how sure it is.
#[test]
fn a_monte_carlo_dose_leaves_with_its_uncertainty() {
    let folder = scratch("export-monte-carlo");
    let (out, mha) = (folder.join("out"), folder.join("mc.mha"));
    // A narrow field: few voxels, soon certain.
    let [image, plan] = write_cross(&folder, 40, 40.0);
    let beam = "gantry_deg = 0.0\nmu = 100.0\njaws_mm = { x = [-5.0, 5.0], y = [-5.0, 5.0] }\n";
    let head = "name = \"Narrow\"\nmachine = \"point-6mv\"\nisocentre_mm = [0.0, 0.0, 0.0]\n[[beam]]\nname = \"AP\"\n";
    std::fs::write(&plan, format!("{head}{beam}")).unwrap();
    let of = ["--plan", text(&plan), "--engine", "mccs"];
    let run = [&of[..], &["--histories", "6e5"]].concat();
    done(&[&["export", text(&image), "--out", text(&out)][..], &run].concat());
    done(&[&["dose", text(&image), "--out", text(&mha)][..], &run].concat());
    assert!(files(&out, "RD-beam").is_empty());
    let path = out.join("RD.dcm");
    let comment = said(&object(&path), tags::DOSE_COMMENT);
    assert!(
        comment.starts_with("final Monte Carlo dose, 1 SD ")
            && comment.contains("not for clinical use")
    );
    let said_percent: f64 = comment.split(' ').nth(6).unwrap().parse().unwrap();
    assert!(said_percent > 0.0 && said_percent <= 2.0, "{comment}");
    assert!(said(&object(&path), tags::IMAGE_COMMENTS).contains("million histories"));
    let (read, _) = beamsight::dicom::read_dose(&path).unwrap();
    let own = beamsight::files::mha::read(&mha).unwrap();
    let most = read.max_gy();
    let off = read
        .gy
        .data()
        .iter()
        .zip(own.data())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(
        read.gy.data().len() == own.data().len() && off <= 1e-6 * most,
        "{off} of {most}"
    );
    let no = folder.join("no");
    let beams = [
        &[
            "export",
            text(&image),
            "--out",
            text(&no),
            "--dose",
            "beams",
        ][..],
        &run,
    ]
    .concat();
    refused(&beams, &["no doses of single beams", "Monte Carlo"]);
    let few = [
        &["export", text(&image), "--out", text(&no)][..],
        &of,
        &["--histories", "6e4"],
    ]
    .concat();
    refused(
        &few,
        &["standard deviation", "at most 2 %", "more histories"],
    );
    std::fs::remove_dir_all(folder).unwrap();
}
