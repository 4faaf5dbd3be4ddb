use super::*;
use crate::demo;

const AP: &str = r#"
name = "AP"
machine = "generic-6mv"
isocentre_mm = [0, -50, 0.5]
prescription_gy = 60.0
[[beam]]
name = "AP"
gantry_deg = -30
mu = 100
jaws_mm = { x = [-50.0, 50.0], y = [-50.0, 50.0] }
"#;

fn plan(text: &str) -> Result<Plan, String> {
    parse(text, Path::new("p.toml"), PatientPosition::Hfs).map_err(|e| e.to_string())
}

#[test]
fn the_plan_of_the_manual_reads() {
    let p = plan(AP).unwrap();
    assert_eq!(
        (p.fractions, p.prescription_gy, p.mu()),
        (1, Some(60.0), 100.0)
    );
    let b = &p.beams[0];
    assert_eq!(b.isocentre_mm, DVec3::new(0.0, -50.0, 0.5));
    assert_eq!((b.control_points[0].gantry_deg, b.number), (330.0, 1));
    let prone = parse(AP, Path::new("p.toml"), PatientPosition::Hfp).unwrap();
    assert_eq!(prone.position, PatientPosition::Hfp);
}

#[test]
fn plans_come_back_as_they_were() {
    for name in ["water", "tg119"] {
        let case = demo::build(name).unwrap();
        let mut want = (*case.plans[0]).clone();
        want.uid = None;
        want.name = "two \"words\"\n".to_owned();
        want.beams[0].accessories = vec!["T1".to_owned(), "a \"tray\"".to_owned()];
        assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
    }
}

#[test]
fn objectives_come_back_and_those_that_cannot_be_are_refused() {
    let mut want = plan(AP).unwrap();
    want.objectives.monitor_units = 0.1 + 0.2;
    want.objectives.fall_off.far_percent = 30.0;
    for (structure, dose_gy) in [("PTV", 60.0), ("a \"b\"", 50.5)] {
        let uniform = UniformDose {
            structure: structure.to_owned(),
            number: None,
            dose_gy,
            weight: 2.0,
        };
        want.objectives.uniform.push(uniform);
    }
    let text = to_text(&want).unwrap();
    assert_eq!(plan(&text).unwrap(), want);
    assert!(
        !to_text(&plan(AP).unwrap()).unwrap().contains("objectives"),
        "the usual ones are not written"
    );
    for (from, to, word) in [
        (
            "far_percent = 30.0",
            "far_percent = nan",
            "objectives.fall_off.far_percent",
        ),
        ("far_percent = 30.0", "far_percent = 30.0, near = 1", "near"),
        (
            "weight = 0.1",
            "weight = -0.1",
            "objectives.fall_off.weight",
        ),
        (
            "dose_gy = 60.0",
            "dose_gy = inf",
            "objectives.uniform.dose_gy",
        ),
        ("dose_gy = 60.0", "gy = 60.0", "gy"),
    ] {
        let why = plan(&text.replacen(from, to, 1)).unwrap_err();
        assert!(text.contains(from) && why.contains(word), "{why}");
    }
}

#[test]
fn fluence_maps_come_back_to_the_last_bit() {
    let mut want = plan(AP).unwrap();
    let values = (0..6).map(|n| (n as f32 / 7.0).powi(5)).collect();
    want.beams[0].fluence = Some(FluenceMap {
        axis: MlcAxis::Y,
        rows_mm: vec![-5.0, 0.1, 5.0],
        first_mm: -3.75,
        step_mm: 2.5,
        columns: 3,
        values,
    });
    assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
    want.beams[0].fluence_limits = [(0, 0.0), (4, 0.1 + 0.2)]
        .map(|(beamlet, mu)| FluenceLimit { beamlet, mu })
        .to_vec();
    assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
    let text = to_text(&want).unwrap();
    for (from, to, word) in [
        ("beamlet = 4", "beamlet = 6", "upper bound"),
        ("mu = 0.0 }", "mu = nan }", "upper bound"),
        ("mu = 0.0 }", "mu = 0.0, much = 1 }", "much"),
        ("columns = 3", "columns = 4", "6 values"),
        ("step_mm = 2.5", "step_mm = 0.0", "wide"),
        ("columns = 3", "columns = 3\nleaves = 2", "leaves"),
    ] {
        let why = plan(&text.replace(from, to)).unwrap_err();
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn every_normalisation_comes_back_as_it_was() {
    let mut want = plan(AP).unwrap();
    for place in [
        NormalisedAt::Point(DVec3::new(1.5, -2.0, 3.25)),
        NormalisedAt::Maximum,
    ] {
        for dose in [NormalisedDose::Gy(57.5), NormalisedDose::Percent(95.0)] {
            want.normalisation = Some(Normalisation {
                at: place.clone(),
                dose,
            });
            assert_eq!(plan(&to_text(&want).unwrap()).unwrap(), want);
        }
    }
    let why = plan_with("normalisation = { maximum = true, dose_gy = 0.0 }").unwrap_err();
    assert!(why.contains("normalisation.dose_gy = 0 must be"), "{why}");
    let why = plan_with("normalisation = { maximum = true, point_mm = [0, 0, 0], dose_gy = 1.0 }")
        .unwrap_err();
    assert!(
        why.contains("one of: structure with volume_percent"),
        "{why}"
    );
}

fn plan_with(line: &str) -> Result<Plan, String> {
    plan(&AP.replace("prescription_gy", &format!("{line}\nprescription_gy")))
}

#[test]
fn control_points_inherit_what_they_do_not_say() {
    let text = format!(
        "{AP}mlc = {{ axis = \"x\", boundaries_mm = [-10, 0, 10] }}\nleaves_mm = [[-5, 5], [-6, 6]]\n\
         [[beam.control_point]]\nmeterset_weight = 0\n\
         [[beam.control_point]]\nmeterset_weight = 0.5\ngantry_deg = 10\n\
         [[beam.control_point]]\nmeterset_weight = 1\nleaves_mm = [[0, 5], [0, 6]]\n"
    );
    let points = plan(&text).unwrap().beams[0].control_points.clone();
    assert_eq!(
        points.iter().map(|p| p.gantry_deg).collect::<Vec<_>>(),
        [330.0, 10.0, 10.0]
    );
    assert_eq!(points[1].leaves_mm, [[-5.0, 5.0], [-6.0, 6.0]]);
    assert_eq!(points[2].leaves_mm, [[0.0, 5.0], [0.0, 6.0]]);
    // 20 mm in m.
    let e = plan(&text.replace("[-10, 0, 10]", "[-0.01, 0, 0.01]"))
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("boundaries_mm of its mlc") && e.contains("leaf pair 1 is 0.010 mm wide"),
        "{e}"
    );
}

/// Each mistake is refused with its line and a helpful word.
#[test]
fn mistakes_are_named() {
    for (from, to, words) in [
        ("mu = 100", "mu = -1", "line 6: beam \"AP\": mu = -1"),
        ("mu = 100", "mu = nan", "mu = NaN"),
        (
            "mu = 100",
            "monitor_units = 100",
            "unknown field `monitor_units`",
        ),
        ("mu = 100", "", "missing field `mu`"),
        (
            "gantry_deg = -30",
            "gantry_deg = inf",
            "gantry_deg = inf must be from -360 to 360",
        ),
        (
            "gantry_deg = -30",
            "gantry_deg = 725",
            "gantry_deg = 725 must be",
        ),
        ("gantry_deg = -30", "gantry_deg = \"up\"", "line 8"),
        (
            "x = [-50.0, 50.0]",
            "x = [50.0, -50.0]",
            "the x jaws at [50, -50] mm are crossed",
        ),
        (
            "x = [-50.0, 50.0]",
            "x = [-500.0, 50.0]",
            "jaws_mm.x = -500 must be from -400 to 400",
        ),
        ("isocentre_mm = [0, -50, 0.5]", "", "no isocentre"),
        (
            "isocentre_mm = [0, -50, 0.5]",
            "isocentre_mm = [0, nan, 0.5]",
            "isocentre_mm = NaN must be",
        ),
        (
            "prescription_gy = 60.0",
            "prescription_gy = 0.0",
            "prescription_gy = 0 must be",
        ),
        ("prescription_gy = 60.0", "fractions = 0", "fractions = 0"),
        (
            "prescription_gy = 60.0",
            "position = \"standing\"",
            "unknown variant",
        ),
        ("mu = 100", "mu = 100\nleaves_mm = [[-1, 1]]", "no mlc"),
        ("mu = 100", "mu = 1e308", "must be from 0 to 1000000000"),
        (
            "x = [-50.0, 50.0]",
            "x = [-50.0, 0.0, 50.0]",
            "invalid length 3",
        ),
        ("[0, -50, 0.5]", "[0, -50, 0.5, 1]", "invalid length 4"),
        (
            "y = [-50.0, 50.0]",
            "y = [-50.0, 50.0], z = 1",
            "unknown field `z`",
        ),
        (
            "mu = 100",
            "mu = 100\nmlc = { axis = \"x\", boundaries_mm = [-1, 1], tongue = 1 }",
            "unknown field `tongue`",
        ),
        ("[[beam]]", "[[beam", "line 6"),
    ] {
        let text = AP.replace(from, to);
        assert_ne!(text, AP);
        let message = plan(&text).unwrap_err();
        assert!(
            message.contains(words) && message.contains("p.toml"),
            "'{to}' gives: {message}"
        );
    }
}

#[test]
fn the_shipped_plans_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            read(&path, PatientPosition::Hfs).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 2);
}
