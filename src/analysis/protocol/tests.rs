use super::*;
use case::{Contour, Ct, Structure, StructureKind};
use files::Protocol;
use geometry::{Grid, PatientPosition, Volume, box_contours, sphere_contours};
use glam::DVec3;

const NECK: &str = r#"
name = "Neck"
site = "head and neck"
source = "made up"
fractions = 35
technique = "imrt"
[[level]]
target = "PTV70"
aliases = ["PTV High"]
gy = 70.0
[[level]]
target = "PTV56"
gy = 56.0
[beams]
fields_deg = [0.0, 90.0]
[[structure]]
name = "Parotid L outside"
of = "LeftParotid - (PTV70 + PTV56)"
[[structure]]
name = "Nose outside"
of = "Nose - PTV70"
[[structure]]
name = "Core of 70"
of = "PTV70 - 60 mm"
[[goal]]
structure = "PTV70"
goal = "D95% >= 100 %"
[[goal]]
structure = "LeftParotid"
aliases = ["Parotid_L"]
goal = "Dmean <= 26 Gy"
[[goal]]
structure = "Parotid L outside"
goal = "Dmean <= 20 Gy"
[[goal]]
structure = "Nose"
goal = "Dmax <= 70 Gy"
"#;

/// Drawn solids: a name, a type, a middle and the sides of a box, mm; a ball where they are 0.
fn case_of(solids: &[(&str, StructureKind, DVec3, DVec3)]) -> Case {
    let grid = Grid::axis_aligned(
        DVec3::new(-98.0, -98.0, -98.0),
        DVec3::splat(4.0),
        [50, 50, 50],
    );
    let grid = Arc::new(grid.expect("a grid"));
    let structures = solids
        .iter()
        .zip(1..)
        .map(|((name, kind, middle_mm, sides_mm), n)| {
            let contours = match *sides_mm == DVec3::ZERO {
                true => sphere_contours(&grid, *middle_mm, 20.0),
                false => box_contours(&grid, *middle_mm, *sides_mm),
            };
            let contours = contours.into_iter().map(|points_mm| Contour {
                points_mm,
                image_uid: None,
            });
            Structure {
                contours: contours.collect(),
                ..Structure::new(*name, n, *kind)
            }
        });
    let set = StructureSet {
        structures: structures.collect(),
        ..StructureSet::default()
    };
    let hu = vec![0.0; 50 * 50 * 50];
    Case {
        ct: Some(Arc::new(Ct::unnamed(
            Arc::new(Volume::new(grid, hu)),
            PatientPosition::default(),
        ))),
        structures: Arc::new(set),
        ..Case::default()
    }
}

const ORGAN: StructureKind = StructureKind::Organ;
const PTV: StructureKind = StructureKind::Ptv;

fn box_of(sides_mm: f64) -> DVec3 {
    DVec3::splat(sides_mm)
}

/// A neck: the high target left of the middle, the low one round it, both parotids, a body.
fn neck() -> Vec<(&'static str, StructureKind, DVec3, DVec3)> {
    vec![
        (
            "Outline",
            StructureKind::External,
            DVec3::ZERO,
            box_of(180.0),
        ),
        ("ptv_high", PTV, DVec3::new(21.0, 0.0, 0.0), box_of(24.0)),
        (
            "PTV56",
            StructureKind::Other,
            DVec3::new(21.0, 0.0, 0.0),
            DVec3::new(60.0, 40.0, 72.0),
        ),
        ("Parotid_L", ORGAN, DVec3::new(50.0, 0.0, 0.0), box_of(20.0)),
        (
            "Parotid_R",
            ORGAN,
            DVec3::new(-50.0, 0.0, 0.0),
            box_of(20.0),
        ),
        (
            "CTV56",
            StructureKind::Ctv,
            DVec3::new(21.0, 0.0, 0.0),
            DVec3::new(56.0, 32.0, 60.0),
        ),
    ]
}

fn planned(case: &Case, text: &str) -> Result<PlannedCase, String> {
    let protocol = Protocol::parse(text, "neck.toml").unwrap_or_else(|e| panic!("{e}"));
    plan_by_protocol(case, &protocol, "generic-6mv", &JobControl::new())
        .map_err(|why| why.to_string())
}

#[test]
fn a_protocol_finds_its_targets_and_makes_structures_beams_and_goals() {
    let answer = planned(&case_of(&neck()), NECK).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        answer.targets,
        [
            ("PTV70".to_owned(), "ptv_high".to_owned(), 70.0),
            ("PTV56".to_owned(), "PTV56".to_owned(), 56.0),
        ]
    );
    assert_eq!(answer.made, ["Parotid L outside"]);
    assert_eq!(
        answer.remarks,
        [
            "'ptv_high' is the target 'PTV70'",
            "'PTV56' gets the type PTV",
            "'Nose outside' is not made: no structure is called 'Nose'",
            "'Core of 70' is not made: nothing of '(ptv_high - 60 mm)' is left",
            "without a structure in the case: Nose",
        ]
    );
    let goals: Vec<String> = answer.goals.goals.iter().map(ToString::to_string).collect();
    assert_eq!(
        goals,
        [
            "ptv_high: D95% >= 100 %",
            "Parotid_L: Dmean <= 26 Gy",
            "Parotid L outside: Dmean <= 20 Gy",
            "Nose: Dmax <= 70 Gy",
            // 95 % of the level of the target that it lies in.
            "CTV56: D98% >= 53.2 Gy (priority 2)",
        ]
    );
    let plan = &answer.plan;
    assert_eq!((plan.prescription_gy, plan.fractions), (Some(70.0), 35));
    let isocentres: Vec<DVec3> = plan.beams.iter().map(|b| b.isocentre_mm).collect();
    assert_eq!(isocentres, [DVec3::new(21.0, 0.0, 0.0); 2]);
    // From the front the targets are 60 x 72 mm, from the side 40 x 72 mm: leaves travel across the body.
    let collimators: Vec<f64> = plan
        .beams
        .iter()
        .map(|b| b.control_points[0].collimator_deg)
        .collect();
    assert_eq!(collimators, [0.0, 0.0]);
    let outside = answer.case.structures.by_name("Parotid L outside");
    let outside = outside.expect("it was made");
    assert_eq!(
        outside.made_of.as_deref(),
        Some("(Parotid_L - (ptv_high + PTV56))")
    );
    // The parotid from 40 to 60 mm, the low target up to 51 mm: planes of 4 mm, 20 mm deep.
    let x_mm = outside
        .contours
        .iter()
        .flat_map(|c| c.points_mm.iter().map(|p| p.x));
    assert!((x_mm.fold(f64::INFINITY, f64::min) - 51.0).abs() < 0.1);
    // Once more: what was made is made anew, and stands once.
    let again = planned(&answer.case, NECK).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(again.plan.name, "Neck (2)");
    assert_eq!(again.case.structures.structures.len(), 7);
}

#[test]
fn cases_that_do_not_fit_a_protocol_are_refused_in_a_sentence() {
    let ball = DVec3::ZERO;
    for (from, to, want) in [
        (
            "PTV56",
            ("PTV54", PTV, ball, ball),
            "the case has no target 'PTV56': looked for PTV56; it has ptv_high, PTV54, CTV56",
        ),
        (
            "Outline",
            ("PTV-High", PTV, ball, ball),
            "'ptv_high' and 'PTV-High' could each be the target 'PTV70': rename all but one",
        ),
        (
            "Parotid_R",
            ("Parotid_R", ORGAN, DVec3::new(70.0, 0.0, 0.0), ball),
            "'Parotid_L' lies to the right of 'Parotid_R' in the patient: their names are swapped, or the images are mirrored",
        ),
        (
            "PTV56",
            ("PTV56", PTV, DVec3::new(21.0, 0.0, 0.0), box_of(12.0)),
            "the target 'PTV56' of 56 Gy lies within 'ptv_high', which gets 70 Gy: nothing of it can have its own dose",
        ),
        (
            "Outline",
            (
                "Outline",
                StructureKind::External,
                DVec3::new(-60.0, 0.0, 0.0),
                box_of(60.0),
            ),
            "100 % of the target 'ptv_high' lie outside of the body: draw one of them anew",
        ),
        (
            "CTV56",
            (
                "CTV 2",
                StructureKind::Ctv,
                DVec3::new(-60.0, 40.0, 0.0),
                ball,
            ),
            "the target 'CTV 2' lies in no target of the protocol, which has no dose for it: give it another type, or take another protocol",
        ),
    ] {
        let mut solids = neck();
        match from == "Outline" && to.0 != "Outline" {
            true => solids.push(to),
            false => solids
                .iter_mut()
                .filter(|s| s.0 == from)
                .for_each(|s| *s = to),
        }
        assert_eq!(
            planned(&case_of(&solids), NECK).err(),
            Some(want.to_owned())
        );
    }
    let no_ct = Case {
        ct: None,
        ..case_of(&neck())
    };
    assert_eq!(
        planned(&no_ct, NECK).err().as_deref(),
        Some("the case has no CT: a plan needs one")
    );
}

/// Half arcs lie on the side of the target (LPS: the left has greater x, which a gantry at 90 degrees faces), and with a turned couch
/// towards the head (at 90 degrees it lies to the left of one who faces the gantry, which 270 degrees face).
#[test]
fn arcs_turn_on_the_side_of_the_target() {
    let arcs = NECK.replace("technique = \"imrt\"", "technique = \"vmat\"");
    for (beams, x_mm, want_deg) in [
        ("arcs = 2", 21.0, [[181.0, 179.0], [179.0, 181.0]]),
        (
            "arcs = 2\nside = \"target\"",
            21.0,
            [[0.0, 179.0], [179.0, 0.0]],
        ),
        (
            "arcs = 2\nside = \"target\"",
            -21.0,
            [[181.0, 0.0], [0.0, 181.0]],
        ),
        (
            "arcs = 2\ncouch_deg = [0.0, 90.0]",
            21.0,
            [[181.0, 179.0], [0.0, 181.0]],
        ),
        (
            "arcs = 2\ncouch_deg = [0.0, 270.0]",
            21.0,
            [[181.0, 179.0], [179.0, 0.0]],
        ),
    ] {
        let mut solids = neck();
        for solid in &mut solids[1..] {
            solid.2.x *= x_mm / 21.0;
        }
        // Both parotids stay where they were.
        (solids[3].2.x, solids[4].2.x) = (50.0, -50.0);
        let text = arcs.replace("fields_deg = [0.0, 90.0]", beams);
        let answer = planned(&case_of(&solids), &text).unwrap_or_else(|why| panic!("{why}"));
        let turns: Vec<[f64; 2]> = answer
            .plan
            .beams
            .iter()
            .filter_map(|beam| beam.arc())
            .map(|arc| [arc.start_deg, arc.stop_deg])
            .collect();
        assert_eq!(turns, want_deg, "{beams}");
    }
}

/// A slab of 100 x 20 mm on the left chest, turned by 45 degrees: tangents go along it, and their inner edges lie on one line.
#[test]
fn tangents_go_along_the_target() {
    let mut solids = neck();
    let slab = DVec3::new(12.0, 80.0, 72.0);
    solids[2] = ("PTV56", PTV, DVec3::new(60.0, 0.0, 0.0), slab);
    solids[1] = (
        "ptv_high",
        PTV,
        DVec3::new(60.0, 0.0, 0.0),
        DVec3::new(8.0, 40.0, 40.0),
    );
    solids.truncate(3);
    let text = NECK.replace("fields_deg = [0.0, 90.0]", "tangents = true");
    let answer = planned(&case_of(&solids), &text).unwrap_or_else(|why| panic!("{why}"));
    let gantries: Vec<f64> = answer
        .plan
        .beams
        .iter()
        .map(|b| b.control_points[0].gantry_deg)
        .collect();
    // The slab is 12 mm wide from the front: half of it seen from 960 mm, where its front stands.
    let divergence_deg = (6.0_f64 / 960.0).atan().to_degrees();
    assert!(
        (gantries[0] - (360.0 - divergence_deg)).abs() < 0.11,
        "{gantries:?}"
    );
    assert!(
        (gantries[1] - (180.0 + divergence_deg)).abs() < 0.11,
        "{gantries:?}"
    );
}

/// A case with a GTV alone: the target is made of it, and the lungs less the GTV of both lungs.
#[test]
fn a_target_is_made_where_the_protocol_says_how() {
    let text = r#"
name = "Lung"
site = "lung"
source = "made up"
fractions = 30
technique = "vmat"
[[level]]
target = "PTV"
gy = 60.0
of = "(GTV + 10 mm) & body"
[beams]
arcs = 1
[[structure]]
name = "Lungs-GTV"
of = "lungs - GTV"
[[goal]]
structure = "PTV"
goal = "D95% >= 95 %"
[[goal]]
structure = "Lungs-GTV"
aliases = ["Lungs minus GTV"]
goal = "Dmean <= 20 Gy"
"#;
    let size = DVec3::new(40.0, 60.0, 72.0);
    let mut solids = vec![
        (
            "Outline",
            StructureKind::External,
            DVec3::ZERO,
            box_of(180.0),
        ),
        (
            "GTV-1",
            StructureKind::Gtv,
            DVec3::new(40.0, 0.0, 0.0),
            box_of(20.0),
        ),
        ("Lung-Left", ORGAN, DVec3::new(50.0, 0.0, 0.0), size),
        ("Lung-Right", ORGAN, DVec3::new(-50.0, 0.0, 0.0), size),
    ];
    let answer = planned(&case_of(&solids), text).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        answer.remarks,
        ["the case has no target 'PTV': it is made as ((GTV + 10 mm) & body); review it"]
    );
    let target = answer.case.structures.by_name("PTV").expect("it was made");
    assert_eq!((target.kind, &target.made_of), (PTV, &None));
    let points = target.contours.iter().flat_map(|c| &c.points_mm);
    let x_mm = points.map(|p| p.x);
    assert!((x_mm.clone().fold(f64::INFINITY, f64::min) - 20.0).abs() < 0.3);
    assert!((x_mm.fold(0.0, f64::max) - 60.0).abs() < 0.3);
    assert_eq!(answer.made, ["Lungs-GTV"]);
    // 0.95 of 60 Gy for the GTV, which lies in the target.
    let goals: Vec<String> = answer.goals.goals.iter().map(ToString::to_string).collect();
    assert_eq!(goals[2], "GTV-1: D98% >= 57 Gy (priority 2)");
    // What is drawn under another name of the goal is not made.
    solids.push(("Lungs minus GTV", ORGAN, DVec3::new(50.0, 0.0, 0.0), size));
    let answer = planned(&case_of(&solids), text).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(answer.made, [""; 0]);
    solids[1].1 = ORGAN;
    let refused = planned(&case_of(&solids), text).err();
    assert_eq!(
        refused.as_deref(),
        Some("the case has no target 'PTV', and it cannot be made: no structure is called 'GTV'")
    );
}
