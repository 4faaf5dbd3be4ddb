//! `beamsight dose`, on a coarse grid and with the machine without calibration, to be quick.

use crate::program::{beamsight, json_of, refused, scratch, text};
use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PLAN: &str = r#"
name = "AP"
machine = "point-6mv"
isocentre_mm = [0.0, -50.0, 0.0]
fractions = 5
normalisation = { structure = "PTV", volume_percent = 95.0, dose_gy = 10.0 }
[[beam]]
name = "AP"
gantry_deg = 0.0
mu = 100.0
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
"#;

fn plan_in(folder: &Path) -> PathBuf {
    let path = folder.join("plan.toml");
    fs::write(&path, PLAN).unwrap();
    path
}

fn dose(plan: &Path, out: &Path) -> serde_json::Value {
    dose_of(
        &[
            "demo:water",
            "--plan",
            text(plan),
            "--grid",
            "10",
            "--quality",
            "fast",
        ],
        out,
    )
}

fn dose_of(words: &[&str], out: &Path) -> serde_json::Value {
    let output = beamsight(&[&["dose"][..], words, &["--out", text(out), "--json"]].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(out.is_file());
    json_of(&output)
}

/// The normalisation fixes D95; the written files hold the reported dose.
#[test]
fn a_normalised_plan_gives_what_it_asks_for_in_every_format() {
    let folder = scratch("dose");
    let plan = plan_in(&folder);
    let volume_file = folder.join("dose.mha");
    let figures = dose(&plan, &volume_file);
    let d95 = figures["figures"]["target"]["d95_gy"].as_f64().unwrap();
    assert!((d95 - 10.0).abs() < 0.05, "{d95}");
    assert_eq!(
        (&figures["status"], &figures["figures"]["fractions"]),
        (&"coarse".into(), &5.into())
    );
    let max = figures["figures"]["max_gy"].as_f64().unwrap();
    let mu = figures["figures"]["mu"].as_f64().unwrap();
    assert!((mu / 100.0 / figures["normalisation_factor"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    let volume = mha::read(&volume_file).unwrap();
    let written = volume.data().iter().copied().fold(0.0, f32::max);
    assert!(
        (f64::from(written) / max - 1.0).abs() < 1e-6,
        "{written} for {max}"
    );
    // The beam enters from the front: more dose 3 cm deep than 25 cm deep, next to none far beside the field.
    let at = |x: f64, y: f64| volume.trilinear([x, y, 0.0].into()).unwrap();
    assert!(at(0.0, -120.0) > 2.0 * at(0.0, 100.0) && at(0.0, -50.0) > 20.0 * at(120.0, -50.0));

    let header = fs::read(&volume_file).unwrap();
    let header = String::from_utf8_lossy(&header[..600]).into_owned();
    assert!(
        header.contains("Comment = Beamsight: coarse | dose in Gy of 'AP', not for clinical use"),
        "{header}"
    );

    let table = folder.join("dvh.csv");
    dose(&plan, &table);
    let rows: Vec<Vec<String>> = fs::read_to_string(table)
        .unwrap()
        .lines()
        .map(|l| l.split(',').map(str::to_owned).collect())
        .collect();
    assert_eq!(
        rows[0][..4],
        ["\"dose (Gy)", " coarse\"", "BODY (%)", "PTV (%)"]
    );
    assert_eq!(rows[1][1..3], ["100.000", "100.000"]);
    let at_10 = rows.iter().find(|r| r[0] == "10.00").unwrap();
    assert!(
        (at_10[2].parse::<f64>().unwrap() - 95.0).abs() < 0.5,
        "{at_10:?}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// A folder of the water cube with a plan of another system: its one beam has the given values.
fn source(folder: &Path, sad: &str, energy: &str, boli: &str) -> PathBuf {
    use crate::synthetic::{control_point, device, item, plan, set, set_items};
    use dicom_core::VR;
    use dicom_dictionary_std::{tags, uids};
    let case = folder.join("source");
    if !case.exists() {
        assert!(
            beamsight(&["demo", "water", "--out", text(&case)])
                .status
                .success()
        );
        fs::remove_file(case.join("plan.toml")).unwrap();
    }
    let mut beam = item(&[
        (tags::BEAM_NUMBER, VR::IS, "7"),
        (tags::BEAM_NAME, VR::LO, "Front"),
        (tags::RADIATION_TYPE, VR::CS, "PHOTON"),
        (tags::TREATMENT_DELIVERY_TYPE, VR::CS, "TREATMENT"),
        (tags::TREATMENT_MACHINE_NAME, VR::SH, "LINAC7"),
        (tags::PRIMARY_DOSIMETER_UNIT, VR::CS, "MU"),
        (tags::SOURCE_AXIS_DISTANCE, VR::DS, sad),
        (tags::NUMBER_OF_BOLI, VR::IS, boli),
        (tags::FINAL_CUMULATIVE_METERSET_WEIGHT, VR::DS, "1"),
    ]);
    let point = |weight: &str| {
        let values = [
            (tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, weight),
            (tags::NOMINAL_BEAM_ENERGY, VR::DS, energy),
            (tags::GANTRY_ANGLE, VR::DS, "0"),
            (tags::BEAM_LIMITING_DEVICE_ANGLE, VR::DS, "0"),
            (tags::PATIENT_SUPPORT_ANGLE, VR::DS, "0"),
            (tags::ISOCENTER_POSITION, VR::DS, "0\\-50\\0"),
        ];
        control_point(
            &values,
            vec![
                device("ASYMX", &[-20.0, 20.0]),
                device("ASYMY", &[-20.0, 20.0]),
            ],
        )
    };
    let jaw = |kind| item(&[(tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind)]);
    set_items(
        &mut beam,
        tags::BEAM_LIMITING_DEVICE_SEQUENCE,
        vec![jaw("ASYMX"), jaw("ASYMY")],
    );
    set_items(
        &mut beam,
        tags::CONTROL_POINT_SEQUENCE,
        vec![point("0"), point("1")],
    );
    let mut object = plan(vec![beam]);
    let ct = dicom_object::open_file(case.join("CT0001.dcm")).unwrap();
    for tag in [
        tags::PATIENT_ID,
        tags::PATIENT_NAME,
        tags::STUDY_INSTANCE_UID,
        tags::FRAME_OF_REFERENCE_UID,
    ] {
        let (vr, value) = (
            ct.element(tag).unwrap().vr(),
            ct.element(tag).unwrap().to_str().unwrap(),
        );
        set(&mut object, tag, vr, &value);
    }
    let meta =
        dicom_object::FileMetaTableBuilder::new().transfer_syntax(uids::EXPLICIT_VR_LITTLE_ENDIAN);
    let file = case.join("RP.dcm");
    let _ = fs::remove_file(&file);
    object
        .with_meta(meta)
        .unwrap()
        .write_to_file(&file)
        .unwrap();
    case
}

/// A plan and a dose are written as they were computed, together, or not at all.
#[test]
fn a_written_plan_says_what_was_computed() {
    use dicom_core::Tag;
    use dicom_dictionary_std::tags;
    let folder = scratch("dose-dicom");
    let out = folder.join("rd.dcm");
    // Requests of the source that are not computed: refused in advance, and nothing is written.
    for (source, words) in [
        (["800", "6", "0"], &["Front", "800 mm", "1000 mm"][..]),
        (["1050", "6", "0"], &["Front", "1050 mm", "1000 mm"]),
        (["1000", "6", "1"], &["Front", "bolus"]),
        (["1000", "18", "0"], &["Front", "18 MV", "15 MV"]),
    ] {
        let [sad, energy, boli] = source;
        let case = self::source(&folder, sad, energy, boli);
        refused(&["dose", text(&case), "--out", text(&out)], words);
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "{words:?}: something was written"
        );
    }
    for words in [&["--grid", "5"][..], &["--quality", "fast"]] {
        let output = beamsight(&[&["dose", "demo:water", "--out", text(&out)], words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && said.contains("only a final dose"),
            "{said}"
        );
    }
    // A request of the source that is computed.
    let case = self::source(&folder, "1000", "6", "0");
    let figures = dose_of(&[text(&case)], &out);
    assert_eq!(figures["status"], "final");
    let [dose, plan] =
        [&out, &folder.join("rd.plan.dcm")].map(|file| dicom_object::open_file(file).unwrap());
    let uid = |o: &dicom_object::DefaultDicomObject| {
        o.element(tags::SOP_INSTANCE_UID)
            .unwrap()
            .to_str()
            .unwrap()
            .into_owned()
    };
    let item = |o: &dicom_object::InMemDicomObject, tag: Tag| {
        o.element(tag).unwrap().items().unwrap()[0].clone()
    };
    let words = |o: &dicom_object::InMemDicomObject, tag: Tag| {
        o.element(tag).unwrap().to_str().unwrap().into_owned()
    };
    let named = item(&dose, tags::REFERENCED_RT_PLAN_SEQUENCE);
    assert_eq!(words(&named, tags::REFERENCED_SOP_INSTANCE_UID), uid(&plan));
    let made_from = item(&plan, tags::REFERENCED_RT_PLAN_SEQUENCE);
    assert_eq!(
        words(&made_from, tags::REFERENCED_SOP_INSTANCE_UID),
        "1.2.3.500"
    );
    let beam = item(&plan, tags::BEAM_SEQUENCE);
    assert_eq!(words(&beam, tags::SOURCE_AXIS_DISTANCE), "1000");
    assert_eq!(words(&beam, tags::TREATMENT_MACHINE_NAME), "generic-6mv");
    assert_eq!(
        words(
            &item(&beam, tags::CONTROL_POINT_SEQUENCE),
            tags::NOMINAL_BEAM_ENERGY
        ),
        "6"
    );
    // The dose of the one beam at its point, times the fractions, equals the grid's value there.
    let given = item(
        &item(&plan, tags::FRACTION_GROUP_SEQUENCE),
        tags::REFERENCED_BEAM_SEQUENCE,
    );
    let at: Vec<f64> = given
        .element(Tag(0x300A, 0x0082))
        .unwrap()
        .to_multi_float64()
        .unwrap();
    assert_eq!(at, [0.0, -50.0, 0.0]);
    let gy: f64 = words(&given, tags::BEAM_DOSE).trim().parse().unwrap();
    let grid = beamsight::dicom::read_dose(&out).unwrap().0;
    let there = f64::from(grid.gy.trilinear([0.0, -50.0, 0.0].into()).unwrap());
    assert!(
        there > 1.0 && (25.0 * gy / there - 1.0).abs() < 1e-5,
        "{gy} Gy a fraction, {there} Gy in all"
    );
    // Neither file is written where the second one cannot be put in its place.
    let again = folder.join("again.dcm");
    fs::create_dir(folder.join("again.plan.dcm")).unwrap();
    refused(
        &["dose", text(&case), "--out", text(&again)],
        &["again.plan.dcm", "folder"],
    );
    assert!(!again.exists());
    fs::remove_dir_all(folder).unwrap();
}

/// Water, aluminium, lung and water from face to face of the image, air in front and behind.
#[test]
fn the_body_of_a_stack_is_found_chosen_or_none() {
    let folder = scratch("body");
    let grid = Grid::axis_aligned(DVec3::splat(-95.0), DVec3::splat(10.0), [20; 3]).unwrap();
    let layers = [
        -1000.0, 0.0, 0.0, 0.0, 2200.0, 2200.0, -780.0, -780.0, -780.0, -780.0, -780.0, -780.0, 0.0,
    ];
    let hu = |n: usize| {
        *layers
            .get(n / 20 % 20)
            .unwrap_or(if n / 20 % 20 < 18 { &0.0 } else { &-1000.0 })
    };
    let case = folder.join("stack.mha");
    mha::write(
        &case,
        &Volume::new(Arc::new(grid), (0..8000).map(hu).collect()),
    )
    .unwrap();
    let plan = folder.join("plan.toml");
    let text_of = |isocentre: &str| {
        let plan = PLAN.replace("[0.0, -50.0, 0.0]", isocentre);
        plan.lines()
            .filter(|l| !l.starts_with("normalisation"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let run = |isocentre: &str, body: &[&str]| {
        fs::write(&plan, text_of(isocentre)).unwrap();
        let words = [
            "dose",
            text(&case),
            "--plan",
            text(&plan),
            "--grid",
            "10",
            "--quality",
            "fast",
            "--json",
        ];
        let output = beamsight(&[&words[..], body].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let answer = json_of(&output);
        (
            answer["figures"]["max_gy"].as_f64().unwrap(),
            answer["remarks"].to_string(),
        )
    };
    let centre = "[0.0, 0.0, 0.0]";
    let (found, said) = run(centre, &[]);
    assert!(
        said.contains("made from the CT") && said.contains("nothing as dense"),
        "{said}"
    );
    assert_eq!(run(centre, &["--body", "auto"]), (found, said));
    // Air in front hardly attenuates the beam.
    let (all, said) = run(centre, &["--body", "none"]);
    assert!((all / found - 1.0).abs() < 0.005, "{all} and {found} Gy");
    assert!(said.contains("everything in the image counts"), "{said}");
    // On the face of the image, and beyond it with the stack in the beam.
    assert!(!run("[0.0, 100.0, 0.0]", &[]).1.contains("outside the CT"));
    assert!(run("[0.0, 110.0, 0.0]", &[]).1.contains("outside the CT"));
    fs::write(&plan, text_of(centre)).unwrap();
    refused(
        &["dose", text(&case), "--plan", text(&plan), "--body", "Skin"],
        &["Skin", "no structure"],
    );
    fs::remove_dir_all(folder).unwrap();
}

/// Monte Carlo: the normalisation holds, the standard deviation is written beside the dose, equal seeds give equal doses.
#[test]
fn a_dose_by_histories() {
    let folder = scratch("histories");
    let plan = plan_in(&folder);
    let run = |seed: &str, name: &str| {
        let [out, sigma] = ["dose", "sigma"].map(|what| folder.join(format!("{name}-{what}.mha")));
        let words = [
            "dose",
            "demo:water",
            "--plan",
            text(&plan),
            "--grid",
            "10",
            "--engine",
            "mccs",
            "--histories",
            "1e5",
            "--seed",
            seed,
            "--out",
            text(&out),
            "--sigma",
            text(&sigma),
            "--device",
            "cpu",
            "--json",
        ];
        let output = beamsight(&words);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        (
            json_of(&output),
            mha::read(&out).unwrap(),
            mha::read(&sigma).unwrap(),
        )
    };
    let (said, dose, sigma) = run("1", "first");
    assert_eq!(
        (&said["engine"], &said["status"]),
        (&"mccs".into(), &"coarse".into())
    );
    assert_eq!(said["monte_carlo"]["histories"], 100_000);
    let stated = said["monte_carlo"]["uncertainty_percent"].as_f64().unwrap();
    assert!((1.0..30.0).contains(&stated), "{stated}");
    assert!((said["figures"]["target"]["d95_gy"].as_f64().unwrap() - 10.0).abs() < 0.05);
    // The file of standard deviations agrees with the stated uncertainty: root mean square over the voxels
    // above half the maximum.
    let most = dose.data().iter().copied().fold(0.0, f32::max);
    let high = dose
        .data()
        .iter()
        .zip(sigma.data())
        .filter(|(d, _)| **d > 0.5 * most);
    let squares: Vec<f64> = high.map(|(d, s)| f64::from(s / d).powi(2)).collect();
    let read = 100.0 * (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    assert!((read / stated - 1.0).abs() < 1e-3, "{read} for {stated}");
    assert!(run("1", "again").1.data() == dose.data() && run("2", "other").1.data() != dose.data());
    for (words, said) in [
        (&["--histories", "1e5"][..], "--engine mccs"),
        (&["--engine", "mccs", "--histories", "0.5"], "whole number"),
    ] {
        let output = beamsight(&[&["dose", "demo:water", "--plan", text(&plan)], words].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && told.contains(said),
            "{told}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
