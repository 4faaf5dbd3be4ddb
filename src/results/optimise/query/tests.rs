use super::OptimiseQuery;
use crate::Settings;
use case::{
    Approval, Beam, Case, Contour, Ct, FluenceLimit, FluenceMap, Goal, Jaws, MlcAxis,
    Normalisation, Plan, Stage, Structure, StructureKind, StructureSet,
};
use geometry::{Grid, PatientPosition, Volume};
use glam::DVec3;
use std::sync::Arc;

/// A change of a case, and whether maps answer something else after it.
type Change = (&'static str, fn(&mut Case), bool);

fn map(value: f32) -> FluenceMap {
    FluenceMap {
        axis: MlcAxis::X,
        rows_mm: vec![-5.0, 5.0],
        first_mm: -10.0,
        step_mm: 10.0,
        columns: 2,
        values: vec![value, 1.0],
    }
}

fn case() -> Case {
    let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(3.0), [4, 4, 4]).expect("a grid");
    let hu = Arc::new(Volume::new(Arc::new(grid), vec![0.0; 64]));
    let mut target = Structure::new("PTV", 7, StructureKind::Ptv);
    let corners = [[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]].map(|[x, y]| DVec3::new(x, y, 3.0));
    target.contours = vec![Contour {
        points_mm: corners.to_vec(),
        image_uid: None,
    }]
    .into();
    let mut beam = Beam::fixed(
        "A",
        1,
        10.0,
        DVec3::ZERO,
        Jaws::symmetric(40.0, 40.0),
        100.0,
    );
    beam.fluence = Some(map(0.5));
    let mut plan = Plan::new("P", "generic-6mv");
    (plan.prescription_gy, plan.fractions, plan.beams) = (Some(60.0), 30, vec![beam]);
    let mut goal: Goal = "PTV: D95% >= 95 %".parse().expect("a goal");
    goal.number = Some(7);
    Case {
        ct: Some(Arc::new(Ct::unnamed(hu, PatientPosition::Hfs))),
        structures: Arc::new(StructureSet {
            structures: vec![target],
            ..StructureSet::default()
        }),
        plans: vec![Arc::new(plan)],
        goals: Some(vec![goal].into()),
        ..Case::default()
    }
}

fn plan(case: &mut Case) -> &mut Plan {
    Arc::make_mut(&mut case.plans[0])
}

fn set_goal(case: &mut Case, words: &str) {
    let mut goal: Goal = words.parse().expect("a goal");
    goal.number = Some(7);
    case.goals = Some(vec![goal].into());
}

fn digest(case: &Case) -> String {
    let goals = case.goals.as_ref().expect("goals").to_vec();
    let query = OptimiseQuery::new(case, &case.plans[0], goals, &Settings::default(), None, 5.0);
    query.expect("a query").digest()
}

fn review(case: &mut Case) {
    let (by, date) = ("A".to_owned(), String::new());
    plan(case).approval = Some(Approval {
        stage: Stage::Reviewed,
        by,
        at: date,
        reason: String::new(),
    });
}

fn bound(case: &mut Case) {
    plan(case).beams[0].fluence_limits = vec![FluenceLimit {
        beamlet: 0,
        mu: 10.0,
    }];
}

fn add_beam(case: &mut Case) {
    let beam = Beam {
        number: 2,
        ..plan(case).beams[0].clone()
    };
    plan(case).beams.push(beam);
}

const CHANGES: [Change; 21] = [
    ("name of the plan", |c| plan(c).name.push('x'), false),
    ("name of a beam", |c| plan(c).beams[0].name.push('x'), false),
    (
        "name of a structure",
        |c| set_goal(c, "Target: D95% >= 95 %"),
        false,
    ),
    ("review", review, false),
    ("uid", |c| plan(c).uid = Some("1.2".to_owned()), false),
    ("what it follows", |c| plan(c).follows_goals = true, false),
    ("map", |c| plan(c).beams[0].fluence = Some(map(0.7)), false),
    ("monitor units", |c| plan(c).beams[0].mu = 7.0, false),
    (
        "jaws",
        |c| plan(c).beams[0].control_points[0].jaws.x[0] = -7.0,
        false,
    ),
    (
        "normalisation",
        |c| plan(c).normalisation = Some(Normalisation::to_named("PTV", 95.0, 60.0)),
        false,
    ),
    ("limit", |c| set_goal(c, "PTV: D95% >= 94 %"), true),
    (
        "weight",
        |c| set_goal(c, "PTV: D95% >= 95 % (weight 3)"),
        true,
    ),
    (
        "prescription",
        |c| plan(c).prescription_gy = Some(50.0),
        true,
    ),
    ("fractions", |c| plan(c).fractions = 25, true),
    (
        "machine",
        |c| plan(c).machine = "generic-10mv".to_owned(),
        true,
    ),
    (
        "machine of a beam",
        |c| plan(c).beams[0].machine = Some("generic-10mv".to_owned()),
        true,
    ),
    (
        "gantry",
        |c| plan(c).beams[0].control_points[0].gantry_deg = 11.0,
        true,
    ),
    ("isocentre", |c| plan(c).beams[0].isocentre_mm.x = 1.0, true),
    (
        "objectives",
        |c| plan(c).objectives.monitor_units = 3.0,
        true,
    ),
    ("bounds of the map", bound, true),
    ("a beam", add_beam, true),
];

#[test]
fn maps_answer_goals_and_beams_and_neither_names_nor_records() {
    let unchanged = digest(&case());
    for (what, change, asks) in CHANGES {
        let mut case = case();
        change(&mut case);
        assert_eq!(digest(&case) != unchanged, asks, "{what}");
    }
}
