//! `beamsight check`: exported plans against their own doses, and plans and doses that lie.

use crate::cross::{write_cross, write_cross_session};
use crate::program::{beamsight, command, json_of, scratch, text};
use crate::synthetic::{item, set, set_items};
use dicom_core::{Tag, VR};
use dicom_dictionary_std::tags;
use dicom_object::{DefaultDicomObject, InMemDicomObject, open_file};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

fn done(words: &[&str]) {
    let output = beamsight(words);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The exported cross, made once and kept: CT, plan, the plan's dose and those of the beams.
fn cross() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = scratch("check-cross");
        let ([image, plan], out) = (write_cross(&folder, 40, 40.0), folder.join("out"));
        done(&[
            "export",
            text(&image),
            "--plan",
            text(&plan),
            "--out",
            text(&out),
        ]);
        out
    })
}

/// A copy of an exported folder.
fn copy(from: &Path, name: &str) -> PathBuf {
    let to = scratch(name);
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    to
}

fn remove(folder: &Path, start: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(start)
        {
            fs::remove_file(path).unwrap();
        }
    }
}

fn change(path: &Path, how: impl FnOnce(&mut DefaultDicomObject)) {
    let mut object = open_file(path).unwrap();
    how(&mut object);
    fs::remove_file(path).unwrap();
    object.write_to_file(path).unwrap();
}

/// Changes the items of a sequence.
fn each(
    object: &mut InMemDicomObject,
    sequence: Tag,
    mut how: impl FnMut(usize, &mut InMemDicomObject),
) {
    let mut items: Vec<InMemDicomObject> =
        object.element(sequence).unwrap().items().unwrap().to_vec();
    items
        .iter_mut()
        .enumerate()
        .for_each(|(n, item)| how(n, item));
    set_items(object, sequence, items);
}

/// Multiplies the monitor units of the beams.
fn scale_mu(folder: &Path, factor: [f64; 2]) {
    change(&folder.join("RP.dcm"), |plan| {
        each(plan, tags::FRACTION_GROUP_SEQUENCE, |_, group| {
            each(group, tags::REFERENCED_BEAM_SEQUENCE, |n, beam| {
                let mu: f64 = beam
                    .element(tags::BEAM_METERSET)
                    .unwrap()
                    .to_float64()
                    .unwrap();
                set(
                    beam,
                    tags::BEAM_METERSET,
                    VR::DS,
                    &(mu * factor[n]).to_string(),
                );
            });
        });
    });
}

/// Runs the check with a state folder of its own.
fn run(folder: &Path, words: &[&str], state: &Path) -> Output {
    let mut command = command(&[&["check", text(folder), "--json"], words].concat());
    command.env("BEAMSIGHT_STATE", state).output().unwrap()
}

/// The exit code, the answer, and the reasons of its first plan.
fn check(folder: &Path, words: &[&str]) -> (i32, Value, String) {
    // Tests of one folder run at the same time.
    let test = std::thread::current()
        .name()
        .unwrap_or_default()
        .replace("::", "-");
    let state = scratch(&format!(
        "state-{test}-{}",
        folder.file_name().unwrap().to_string_lossy()
    ));
    let output = run(folder, words, &state);
    fs::remove_dir_all(state).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    let answer = json_of(&output);
    let reasons = &answer["checks"][0]["judgement"]["reasons"];
    let reasons: Vec<&str> = reasons
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let reasons = reasons.join(" ");
    (output.status.code().unwrap(), answer, reasons)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// A dose computed here for these monitor units agrees with itself, and 10 % more monitor units are 10 % more dose.
#[test]
fn a_case_agrees_with_its_own_dose_until_its_monitor_units_change() {
    let folder = scratch("check-own");
    let out = folder.join("out");
    done(&[
        "export",
        text(&write_cross_session(&folder)),
        "--out",
        text(&out),
    ]);
    let report = folder.join("report.pdf");
    let (code, answer, reasons) =
        check(&out, &["--report", text(&report), "--goals", "icru-target"]);
    assert_eq!((code, reasons.as_str()), (0, ""), "{answer}");
    assert_eq!(answer["verdict"], "within");
    let plan = &answer["checks"][0];
    for of in [&plan["whole"], &plan["beams"][0]] {
        let agreement = &of["agreement"];
        assert_eq!(agreement["gamma"]["points"], agreement["gamma"]["passing"]);
        assert_eq!(agreement["gamma"]["outside"], 0);
        let back = &agreement["gamma_back"];
        assert!(
            number(&back["points"]) > 1000.0 && back["points"] == back["passing"],
            "{agreement}"
        );
        assert_eq!(
            (&back["outside"], number(&back["far_cm3"])),
            (&0.into(), 0.0)
        );
        let [planned, recomputed] =
            ["planned_gy", "recomputed_gy"].map(|key| number(&agreement["point"][key]));
        // The file rounds to 32 bits of the greatest dose.
        assert!(
            planned > 1.0 && (planned / recomputed - 1.0).abs() < 1e-5,
            "{agreement}"
        );
        assert!(
            agreement["point"]["place"]
                .as_str()
                .unwrap()
                .contains("beam dose"),
            "{agreement}"
        );
    }
    assert_eq!(plan["machines"][0]["model"], "generic-6mv");
    assert!(
        plan["structures"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["name"] == "PTV")
    );
    assert!(!plan["goals"].as_array().unwrap().is_empty());
    assert!(fs::read(&report).unwrap().starts_with(b"%PDF-1."));
    // The cube is of water: depth and water depth are one, and end at the source-axis distance.
    let field = &plan["beams"][0]["field"];
    let [ssd, depth, water] =
        ["ssd_mm", "depth_mm", "water_mm"].map(|key| number(&field["ray"][key]));
    assert!(
        (ssd + depth - 1000.0).abs() < 1e-6 && (water / depth - 1.0).abs() < 0.01,
        "{field}"
    );
    let sides = [0, 1].map(|n| number(&field["sides_mm"][n]));
    let square = 2.0 * sides[0] * sides[1] / (sides[0] + sides[1]);
    assert!(
        (number(&field["equivalent_square_mm"]) - square).abs() < 1e-6,
        "4 A / P: {field}"
    );

    scale_mu(&out, [1.1, 1.1]);
    let (code, answer, reasons) = check(&out, &[]);
    assert_eq!(
        (code, &answer["verdict"]),
        (1, &"outside".into()),
        "{reasons}"
    );
    assert!(
        reasons.contains("The plan: the dose at") && reasons.contains("differs by +10.0 %"),
        "{reasons}"
    );
    assert!(reasons.contains("Beam 'AP': "), "{reasons}");
    fs::remove_dir_all(folder).unwrap();
}

/// Monte Carlo has no doses of beams from one run: each beam has a run of its own, and all agree with collapsed cone.
#[test]
fn monte_carlo_checks_the_plan_and_each_beam() {
    let (code, answer, reasons) = check(cross(), &["--engine", "mccs", "--uncertainty", "2"]);
    assert_eq!((code, reasons.as_str()), (0, ""), "{answer}");
    let plan = &answer["checks"][0];
    assert_eq!(
        (&plan["engine"], &plan["recomputed"]),
        (&"mccs".into(), &"final".into())
    );
    let percent = number(&plan["uncertainty_percent"]);
    assert!(
        percent > 0.0 && percent <= 2.0,
        "{percent} %, not at most 2 %"
    );
    for of in [&plan["whole"], &plan["beams"][0], &plan["beams"][1]] {
        let (gamma, point) = (&of["agreement"]["gamma"], &of["agreement"]["point"]);
        assert!(number(&gamma["points"]) > 1000.0, "{of}");
        let [planned, recomputed] = ["planned_gy", "recomputed_gy"].map(|key| number(&point[key]));
        // Another engine, with its noise: near, and not the same.
        let off = (recomputed / planned - 1.0).abs();
        assert!(planned > 1.0 && off < 0.05 && off > 0.0, "{of}");
    }
    let words = ["check", text(cross()), "--uncertainty", "1"];
    assert_eq!(
        beamsight(&words).status.code(),
        Some(2),
        "of the other engine"
    );
}

/// The dose of a plan whose beams' errors cancel is right at its isocentre; the beams are not.
#[test]
fn errors_of_beams_that_cancel_are_found_in_the_beams() {
    let folder = copy(cross(), "check-cancel");
    scale_mu(&folder, [1.1, 0.875]);
    let (code, _, reasons) = check(&folder, &["--gamma", "10%/10mm"]);
    assert_eq!(code, 1, "{reasons}");
    assert!(
        reasons.contains("Beam 'AP'") && reasons.contains("+10.0 %"),
        "{reasons}"
    );
    assert!(
        reasons.contains("Beam 'Left'") && reasons.contains("-12.5 %"),
        "{reasons}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// A stated beam dose is a check of its beam where the folder has no dose of it.
#[test]
fn beam_doses_that_a_plan_states_are_checked_without_their_files() {
    let folder = copy(cross(), "check-stated");
    remove(&folder, "RD-beam");
    scale_mu(&folder, [1.1, 0.875]);
    let (code, answer, reasons) = check(&folder, &["--gamma", "10%/10mm"]);
    assert_eq!(code, 1, "{reasons}");
    let beam = &answer["checks"][0]["beams"][0]["agreement"];
    assert!(
        beam["gamma"].is_null() && number(&beam["point"]["planned_gy"]) > 1.0,
        "{beam}"
    );
    assert!(
        reasons.contains("Beam 'AP'") && reasons.contains("+10.0 %"),
        "{reasons}"
    );
    fs::remove_dir_all(folder).unwrap();
}

fn change_beam(folder: &Path, how: impl Fn(&mut InMemDicomObject)) {
    change(&folder.join("RP.dcm"), |plan| {
        each(plan, tags::BEAM_SEQUENCE, |n, beam| {
            if n == 0 {
                how(beam);
            }
        });
    });
}

#[test]
fn a_beam_with_a_wedge_leaves_the_plan_open_and_the_other_beam_told() {
    let folder = copy(cross(), "check-wedge");
    change_beam(&folder, |beam| {
        set(beam, tags::NUMBER_OF_WEDGES, VR::IS, "1");
        set_items(
            beam,
            tags::WEDGE_SEQUENCE,
            vec![item(&[(tags::WEDGE_NUMBER, VR::IS, "1")])],
        );
    });
    let (code, answer, reasons) = check(&folder, &[]);
    assert_eq!((code, &answer["verdict"]), (3, &"not-judged".into()));
    assert!(
        reasons.starts_with("Beam 'AP' is not judged: it has a wedge"),
        "{reasons}"
    );
    assert!(
        reasons.contains("The plan as a whole is not compared: 1 of its 2 beams"),
        "{reasons}"
    );
    let plan = &answer["checks"][0];
    assert!(
        plan["whole"]["agreement"].is_null() && plan["beams"][0]["agreement"].is_null(),
        "{plan}"
    );
    let other = &plan["beams"][1]["agreement"]["gamma"];
    assert!(
        number(&other["points"]) > 1000.0 && other["points"] == other["passing"],
        "{other}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// Beams without a model are found before anything is computed.
#[test]
fn beams_that_cannot_be_judged_say_why() {
    type Change = fn(&mut InMemDicomObject);
    let energy: Change = |beam| {
        each(beam, tags::CONTROL_POINT_SEQUENCE, |_, point| {
            set(point, tags::NOMINAL_BEAM_ENERGY, VR::DS, "18");
        });
    };
    let cases: [(&str, Change, &str); 5] = [
        ("energy", energy, "asks for 18 MV"),
        (
            "bolus",
            |beam| set(beam, tags::NUMBER_OF_BOLI, VR::IS, "1"),
            "not modelled: bolus",
        ),
        (
            "electrons",
            |beam| set(beam, tags::RADIATION_TYPE, VR::CS, "ELECTRON"),
            "electrons are not computed",
        ),
        (
            "applicator",
            |beam| {
                let applicator = item(&[(tags::APPLICATOR_TYPE, VR::CS, "PHOTON_SQUARE")]);
                set_items(beam, tags::APPLICATOR_SEQUENCE, vec![applicator]);
            },
            "it has an applicator",
        ),
        (
            "block",
            |beam| set(beam, tags::NUMBER_OF_BLOCKS, VR::IS, "2"),
            "it has a block",
        ),
    ];
    for (name, how, says) in cases {
        let folder = copy(cross(), &format!("check-{name}"));
        remove(&folder, "RD-beam");
        change_beam(&folder, how);
        let (code, answer, reasons) = check(&folder, &[]);
        assert_eq!(code, 3, "{name}: {answer}");
        assert!(
            reasons.contains("Beam 'AP' is not judged: ") && reasons.contains(says),
            "{name}: {reasons}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
    let folder = copy(cross(), "check-no-mu");
    scale_mu(&folder, [0.0, 0.0]);
    let (code, _, reasons) = check(&folder, &[]);
    // Nothing needs to be recomputed to know that it is wrong.
    assert!(
        code == 1 && reasons.contains("The plan delivers nothing: all of its beams have 0 MU"),
        "{reasons}"
    );
    fs::remove_dir_all(folder).unwrap();
}

/// Doses that are not the one to compare with: one sentence each, and nothing passes.
#[test]
fn doses_that_are_not_the_plans_say_why() {
    type Change = fn(&mut InMemDicomObject);
    let cases: [(&str, Change, &str); 9] = [
        (
            "fraction",
            |d| set(d, tags::DOSE_SUMMATION_TYPE, VR::CS, "FRACTION"),
            "is that of a fraction",
        ),
        (
            "untold",
            |d| _ = d.remove_element(tags::DOSE_SUMMATION_TYPE),
            "no DoseSummationType",
        ),
        (
            "several",
            |d| set(d, tags::DOSE_SUMMATION_TYPE, VR::CS, "MULTI_PLAN"),
            "MULTI_PLAN",
        ),
        (
            "relative",
            |d| set(d, tags::DOSE_UNITS, VR::CS, "RELATIVE"),
            "DoseUnits RELATIVE",
        ),
        (
            "effective",
            |d| set(d, tags::DOSE_TYPE, VR::CS, "EFFECTIVE"),
            "not the physical dose",
        ),
        (
            "frame",
            |d| set(d, tags::FRAME_OF_REFERENCE_UID, VR::UI, "1.2.3"),
            "another frame of reference",
        ),
        (
            "alone",
            |d| _ = d.remove_element(tags::REFERENCED_RT_PLAN_SEQUENCE),
            "which plan it belongs to",
        ),
        (
            "sum",
            |d| {
                let tag = tags::REFERENCED_RT_PLAN_SEQUENCE;
                let mut plans = d.element(tag).unwrap().items().unwrap().to_vec();
                plans.push(item(&[(
                    tags::REFERENCED_SOP_INSTANCE_UID,
                    VR::UI,
                    "1.2.3.4",
                )]));
                set_items(d, tag, plans);
            },
            "that of 2 plans",
        ),
        (
            "other",
            |d| {
                each(d, tags::REFERENCED_RT_PLAN_SEQUENCE, |_, plan| {
                    set(plan, tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, "1.2.3.4");
                });
            },
            "that of another plan",
        ),
    ];
    for (name, how, says) in cases {
        let folder = copy(cross(), &format!("check-dose-{name}"));
        remove(&folder, "RD-beam");
        change(&folder.join("RD.dcm"), |dose| how(dose));
        let (code, answer, reasons) = check(&folder, &[]);
        assert_eq!(
            (code, answer["verdict"].as_str()),
            (3, Some("not-judged")),
            "{name}: {answer}"
        );
        assert!(reasons.contains(says), "{name}: {reasons}");
        fs::remove_dir_all(folder).unwrap();
    }
    let folder = copy(cross(), "check-dose-missing");
    remove(&folder, "RD");
    let (code, _, reasons) = check(&folder, &[]);
    assert!(
        code == 3 && reasons.contains("There is no dose to compare with"),
        "{reasons}"
    );
    let twice = copy(cross(), "check-dose-twice");
    remove(&twice, "RD-beam");
    fs::copy(twice.join("RD.dcm"), twice.join("RD2.dcm")).unwrap();
    change(&twice.join("RD2.dcm"), |dose| {
        set(dose, tags::SOP_INSTANCE_UID, VR::UI, "1.2.3.9")
    });
    let (code, _, reasons) = check(&twice, &[]);
    assert!(
        code == 3 && reasons.contains("2 doses are stated to be that of the plan"),
        "{reasons}"
    );
    let blind = copy(cross(), "check-no-ct");
    remove(&blind, "CT");
    let (code, _, reasons) = check(&blind, &[]);
    assert!(code == 3 && reasons.contains("There is no CT"), "{reasons}");
    [folder, twice, blind]
        .into_iter()
        .for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

/// A file that states the dose of the plan and holds that of one fraction.
#[test]
fn the_dose_of_a_fraction_that_is_called_the_plans_is_recognised() {
    let folder = copy(cross(), "check-a-fraction");
    remove(&folder, "RD-beam");
    change(&folder.join("RD.dcm"), |dose| {
        let scaling: f64 = dose
            .element(tags::DOSE_GRID_SCALING)
            .unwrap()
            .to_float64()
            .unwrap();
        set(
            dose,
            tags::DOSE_GRID_SCALING,
            VR::DS,
            &format!("{:.9e}", scaling / 5.0),
        );
    });
    let (code, _, reasons) = check(&folder, &[]);
    assert!(
        code == 3 && reasons.contains("about one of 5 fractions"),
        "{reasons}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_of_folders_gives_a_row_each_and_goes_on_after_a_failure() {
    let all = scratch("check-many");
    for name in ["a-good", "b-wrong", "c-empty", "d-no-dose"] {
        fs::create_dir(all.join(name)).unwrap();
    }
    fs::write(all.join("c-empty/notes.txt"), "nothing").unwrap();
    for (name, dose) in [("a-good", true), ("b-wrong", true), ("d-no-dose", false)] {
        for entry in fs::read_dir(cross()).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            if !file.starts_with("RD-beam") && (dose || !file.starts_with("RD")) {
                fs::copy(&path, all.join(name).join(file)).unwrap();
            }
        }
    }
    scale_mu(&all.join("b-wrong"), [1.1, 1.1]);
    let state = scratch("check-many-state");
    let report = state.join("report.pdf");
    let output = run(&all, &["--report", text(&report)], &state);
    assert!(fs::read(&report).unwrap().starts_with(b"%PDF-1."));
    let answer = json_of(&output);
    let verdicts: Vec<&str> = answer["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["judgement"]["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        ["within", "outside", "not-judged", "not-judged"],
        "{answer}"
    );
    // One that is known to be wrong goes before those that are not judged.
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("4 plans: 1 within tolerance, 1 not within tolerance, 2 not judged"),
        "{told}"
    );
    fs::remove_dir_all(all.join("b-wrong")).unwrap();
    assert_eq!(run(&all, &[], &state).status.code(), Some(3));
    [all, state]
        .into_iter()
        .for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

#[test]
fn a_machine_is_remembered_for_its_name_and_energy() {
    let folder = copy(cross(), "check-machine");
    remove(&folder, "RD");
    let state = scratch("check-machine-state");
    let used = |words: &[&str], state: &Path| {
        let output = run(&folder, words, state);
        assert_eq!(output.status.code(), Some(3));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let machine = json_of(&output)["checks"][0]["machines"][0].clone();
        let [model, choice] =
            ["model", "choice"].map(|key| machine[key].as_str().unwrap().to_owned());
        (format!("{model} {choice}"), told)
    };
    assert_eq!(used(&[], &state).0, "generic-6mv generic");
    assert_eq!(
        used(&["--machine", "generic-6mv-hd120"], &state).0,
        "generic-6mv-hd120 given"
    );
    assert_eq!(used(&[], &state).0, "generic-6mv-hd120 remembered");
    // Another energy is not this machine's, and is not kept for it.
    let told = used(&["--machine", "generic-10mv"], &state.join("other")).1;
    assert!(told.contains("asks for 6 MV"), "{told}");
    assert_eq!(used(&[], &state).0, "generic-6mv-hd120 remembered");
    fs::write(state.join("machines.toml"), "[[machine").unwrap();
    let (model, told) = used(&["--machine", "generic-6mv-hd120"], &state);
    assert!(
        model == "generic-6mv-hd120 given" && told.contains("machines.toml"),
        "{told}"
    );
    assert_eq!(
        fs::read_to_string(state.join("machines.toml")).unwrap(),
        "[[machine"
    );
    // A state folder that is a file.
    let file = state.join("machines.toml");
    assert!(
        used(&["--machine", "generic-6mv-hd120"], &file)
            .1
            .contains("remembered")
    );
    [folder, state]
        .into_iter()
        .for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

#[test]
fn wrong_words_are_told_before_anything_is_read() {
    let folder = scratch("check-words");
    let own = folder.join("own.toml");
    fs::write(&own, "gamma_tolerence_percent = 10").unwrap();
    for (words, says) in [
        (vec!["check", "/no/such/folder"], "there is no folder"),
        (
            vec!["check", text(&folder), "--gamma", "3mm/2%"],
            "'3mm/2%'",
        ),
        (
            vec!["check", text(&folder), "--machine", "linac-7"],
            "linac-7",
        ),
        (
            vec!["check", text(&folder), "--goals", "no-such-goals"],
            "no-such-goals",
        ),
        (
            vec!["check", text(&folder), "--tolerances", text(&own)],
            "gamma_tolerence_percent",
        ),
        (
            vec!["check", text(&folder), "--report", "report.txt"],
            ".pdf",
        ),
    ] {
        let output = beamsight(&words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
    // A folder without any plan is not judged.
    assert_eq!(check(&folder, &[]).0, 3);
    fs::remove_dir_all(folder).unwrap();
}
