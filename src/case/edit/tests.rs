use super::*;
use crate::{Jaws, StructureKind};
use glam::DVec3;

fn beam(gantry: f64) -> Beam {
    Beam::fixed(
        "B",
        1,
        gantry,
        DVec3::ZERO,
        Jaws::symmetric(100.0, 100.0),
        100.0,
    )
}

fn gantry(h: &History) -> f64 {
    h.case().plans[0].beams[0].control_points[0].gantry_deg
}

#[test]
fn a_drag_undoes_as_one_step() {
    let mut h = History::default();
    h.apply(Edit::AddPlan(Plan::new("P", "generic-6mv")), None)
        .unwrap();
    h.apply(
        Edit::AddBeam {
            plan: 0,
            beam: beam(0.0),
        },
        None,
    )
    .unwrap();
    for degrees in 1..=5 {
        h.apply(
            Edit::SetBeam {
                plan: 0,
                beam: 0,
                value: beam(f64::from(degrees)),
            },
            Some(7),
        )
        .unwrap();
    }
    assert_eq!(gantry(&h), 5.0);
    assert!(h.undo());
    assert_eq!(gantry(&h), 0.0);
    assert!(h.redo());
    assert_eq!(gantry(&h), 5.0);
}

fn structure(number: u32) -> Structure {
    Structure::new(format!("S{number}"), number, StructureKind::Other)
}

/// A body chosen by number, for example, never becomes another structure.
#[test]
fn the_number_of_a_structure_that_is_gone_is_not_given_again() {
    let structures = vec![structure(3), structure(7)];
    let set = StructureSet {
        structures,
        ..StructureSet::default()
    };
    let mut h = History::default();
    let case = Case {
        structures: Arc::new(set),
        ..Case::default()
    };
    h.apply(Edit::Load(Box::new(case)), None).unwrap();
    h.apply(Edit::RemoveStructure { index: 1 }, None).unwrap();
    assert_eq!(h.case().free_number(), 8);
    h.apply(Edit::AddStructure(structure(8)), None).unwrap();
    assert!(h.undo());
    assert_eq!(h.case().free_number(), 9, "made, and undone");
    assert!(h.undo());
    assert_eq!(
        h.case().structures.by_number(7),
        Some(&structure(7)),
        "undone, it is back as it was"
    );
    assert_eq!(h.case().free_number(), 9);
    assert!(h.redo() && h.redo());
    assert_eq!(h.case().structures.structures, [structure(3), structure(8)]);
    h.reserve_number(20);
    assert_eq!(h.case().free_number(), 21);
    h.apply(Edit::Load(Box::default()), None).unwrap();
    assert_eq!(h.case().free_number(), 1, "another case");
}

fn bolus(name: &str, number: u32) -> Structure {
    Structure::new(name, number, StructureKind::Bolus)
}

/// Whether each beam meets each structure, `[beam][structure]`.
fn meets(h: &History) -> Vec<Vec<bool>> {
    let structures = &h.case().structures.structures;
    let beams = h.case().plans[0].beams.iter();
    beams
        .map(|beam| structures.iter().map(|s| beam.meets(s)).collect())
        .collect()
}

#[test]
fn boluses_that_are_taken_off_a_beam_follow_their_structure() {
    let mut plan = Plan {
        beams: vec![
            beam(0.0),
            Beam {
                number: 2,
                ..beam(9.0)
            },
        ],
        ..Plan::new("P", "generic-6mv")
    };
    plan.beams[0].set_bolus("gel", false);
    let set = StructureSet {
        structures: vec![bolus("Gel", 1), bolus("Wax", 2)],
        ..StructureSet::default()
    };
    let case = Case {
        structures: Arc::new(set),
        plans: vec![Arc::new(plan)],
        ..Case::default()
    };
    let mut h = History::default();
    h.apply(Edit::Load(Box::new(case)), None).unwrap();

    assert_eq!(meets(&h), [[false, true], [true, true]]);
    h.apply(
        Edit::SetStructure {
            index: 0,
            value: bolus("Sheet", 1),
        },
        None,
    )
    .unwrap();
    assert_eq!(meets(&h), [[false, true], [true, true]]);
    h.apply(Edit::RemoveStructure { index: 0 }, None).unwrap();
    h.apply(Edit::AddStructure(bolus("Sheet", 3)), None)
        .unwrap();
    assert_eq!(
        meets(&h),
        [[true, true], [true, true]],
        "another of its name"
    );
    assert!(h.undo() && h.undo());
    assert_eq!(meets(&h), [[false, true], [true, true]]);
}

fn organ(name: &str, number: u32) -> Structure {
    Structure::new(name, number, StructureKind::Organ)
}

/// Name and number of each goal's structure.
fn goal_structures(h: &History) -> Vec<(String, Option<u32>)> {
    let goals = h.case().goals.clone().unwrap_or_default();
    goals
        .iter()
        .map(|g| (g.structure.clone(), g.number))
        .collect()
}

#[test]
fn goals_follow_their_structure_and_no_other_takes_its_place() {
    let set = StructureSet {
        structures: vec![organ("Cord", 1)],
        ..StructureSet::default()
    };
    let mut h = History::default();
    h.apply(
        Edit::Load(Box::new(Case {
            structures: Arc::new(set),
            ..Case::default()
        })),
        None,
    )
    .unwrap();
    let goals = vec![
        "cord: Dmax <= 45 Gy".parse().unwrap(),
        "Heart: Dmean <= 26 Gy".parse().unwrap(),
    ];
    h.apply(Edit::SetGoals(goals), None).unwrap();

    let heart = ("Heart".to_owned(), None);
    assert_eq!(
        goal_structures(&h),
        [("Cord".to_owned(), Some(1)), heart.clone()]
    );
    h.apply(
        Edit::SetStructure {
            index: 0,
            value: organ("SpinalCord", 1),
        },
        None,
    )
    .unwrap();
    assert_eq!(
        goal_structures(&h),
        [("SpinalCord".to_owned(), Some(1)), heart.clone()]
    );
    h.apply(Edit::RemoveStructure { index: 0 }, None).unwrap();
    assert_eq!(goal_structures(&h)[0], ("SpinalCord".to_owned(), None));
    h.apply(Edit::AddStructure(organ("Other", 2)), None)
        .unwrap();
    assert_eq!(goal_structures(&h)[0].1, None);
    h.apply(Edit::AddStructure(organ("Heart", 3)), None)
        .unwrap();
    assert_eq!(goal_structures(&h)[1], ("Heart".to_owned(), Some(3)));
    for _ in 0..5 {
        assert!(h.undo());
    }
    assert_eq!(h.case().goals, None);
}

fn one_beamlet(value: f32) -> crate::FluenceMap {
    crate::FluenceMap {
        axis: crate::MlcAxis::X,
        rows_mm: vec![0.0, 5.0],
        first_mm: 0.0,
        step_mm: 5.0,
        columns: 1,
        values: vec![value],
    }
}

fn optimised_beam(value: f32) -> Beam {
    Beam {
        fluence: Some(one_beamlet(value)),
        ..beam(0.0)
    }
}

fn optimised_plan(value: f32) -> Plan {
    Plan {
        beams: vec![optimised_beam(value)],
        ..Plan::new("P", "generic-6mv")
    }
}

fn set_fluences(beams: &[Beam]) -> Edit {
    Edit::SetFluences {
        plan: 0,
        beams: beams.to_vec(),
        answered_goals: None,
    }
}

fn set_leaves(beam: &Beam) -> Edit {
    Edit::SetLeaves {
        plan: 0,
        beams: vec![beam.clone()],
        answered_goals: Some("x".to_owned()),
    }
}

#[test]
fn the_plan_before_its_maps_is_found_through_other_edits() {
    let mut h = History::default();
    let other = Plan {
        beams: vec![beam(9.0)],
        ..Plan::new("Other", "generic-6mv")
    };
    let forward = Plan {
        beams: vec![beam(0.0)],
        ..Plan::new("P", "generic-6mv")
    };
    h.apply(Edit::AddPlan(other), None).unwrap();
    h.apply(Edit::AddPlan(forward.clone()), None).unwrap();
    assert_eq!(h.plan_before_maps(1), None, "it has no maps");

    h.apply(
        Edit::SetFluences {
            plan: 1,
            beams: vec![optimised_beam(0.5)],
            answered_goals: None,
        },
        None,
    )
    .unwrap();
    let renamed = Plan {
        name: "Q".to_owned(),
        ..(*h.case().plans[1]).clone()
    };
    h.apply(
        Edit::SetPlan {
            plan: 1,
            value: renamed.clone(),
        },
        None,
    )
    .unwrap();
    h.apply(
        Edit::AddBeam {
            plan: 1,
            beam: Beam {
                number: 2,
                ..beam(40.0)
            },
        },
        None,
    )
    .unwrap();
    h.apply(Edit::RemovePlan { plan: 0 }, None).unwrap();
    assert_eq!(h.plan_before_maps(0).map(|plan| &**plan), Some(&forward));
    h.apply(
        Edit::SetFluences {
            plan: 0,
            beams: vec![optimised_beam(0.7)],
            answered_goals: None,
        },
        None,
    )
    .unwrap();
    let earlier = h.plan_before_maps(0).expect("the maps before");
    assert_eq!(
        (&*earlier.name, &earlier.beams[0]),
        ("Q", &renamed.beams[0])
    );
    // Leaves that are cut from the maps change none of them.
    let maps = h.case().plans[0].beams[0].clone();
    let from = crate::CutFrom {
        map: one_beamlet(0.7),
        mu: maps.mu,
        limits: Vec::new(),
    };
    let leaves = Beam {
        fluence: None,
        cut_from: Some(Box::new(from)),
        ..maps.clone()
    };
    h.apply(
        Edit::SetLeaves {
            plan: 0,
            beams: vec![leaves],
            answered_goals: None,
        },
        None,
    )
    .unwrap();
    assert_eq!(h.names().last(), Some(&"Make plan Q deliverable"));
    assert_eq!(h.case().plans[0].uncut().beams[0], maps);
    assert_eq!(
        h.plan_before_maps(0).map(|plan| &plan.beams[0]),
        Some(&renamed.beams[0])
    );
    h.go_to(3);
    assert_eq!(h.plan_before_maps(1).map(|plan| &**plan), Some(&forward));
    assert_eq!(h.plan_before_maps(0), None, "the other plan has none");
    assert_eq!(h.plan_before_maps(7), None);
}

/// A deletion made while leaves were cut stays the last step.
#[test]
fn leaves_join_the_step_of_their_maps_below_a_later_one() {
    let mut h = History::default();
    let plan = Plan {
        beams: vec![beam(0.0)],
        ..Plan::new("P", "generic-6mv")
    };
    h.apply(Edit::AddPlan(plan.clone()), None).unwrap();
    h.apply(
        Edit::AddStructure(Structure::new("Ring", 1, StructureKind::Other)),
        None,
    )
    .unwrap();
    let maps = Beam {
        fluence: Some(one_beamlet(0.5)),
        ..beam(0.0)
    };

    h.apply(set_fluences(std::slice::from_ref(&maps)), Some(7))
        .unwrap();
    h.apply(Edit::RemoveStructure { index: 0 }, None).unwrap();
    let from = crate::CutFrom {
        map: one_beamlet(0.5),
        mu: maps.mu,
        limits: Vec::new(),
    };
    let leaves = Beam {
        fluence: None,
        cut_from: Some(Box::new(from)),
        ..maps.clone()
    };

    h.apply_to_step(0, set_leaves(&leaves), Some(7)).unwrap();
    assert_eq!(
        (h.done(), h.names().last()),
        (4, Some(&"Delete structure Ring"))
    );
    assert!(h.case().plans[0].is_cut() && h.case().plans[0].follows_goals);
    assert!(h.undo());
    assert!(
        h.case().plans[0].is_cut() && h.case().structures.structures.len() == 1,
        "the deletion alone"
    );
    assert!(h.undo());
    assert_eq!(*h.case().plans[0], plan);
    h.go_to(4);
    assert!(h.case().plans[0].is_cut());
    // A plan that was changed since gets them as a new step.
    h.apply(set_fluences(&[maps]), Some(8)).unwrap();
    h.apply(
        Edit::AddBeam {
            plan: 0,
            beam: Beam {
                number: 2,
                ..beam(40.0)
            },
        },
        None,
    )
    .unwrap();
    h.apply_to_step(0, set_leaves(&leaves), Some(8)).unwrap();
    assert_eq!(h.done(), 7);
    assert_eq!((h.undo(), h.case().plans[0].beams.len()), (true, 2));
}

/// A session has the plan before beside the plan with maps: the history begins with it, wherever the plan is moved to.
#[test]
fn the_plan_before_its_maps_comes_back_with_the_case() {
    let other = Plan {
        beams: vec![beam(9.0)],
        ..Plan::new("Other", "generic-6mv")
    };
    let plans = [other, optimised_plan(0.5)].map(Arc::new).to_vec();
    let mut h = History::default();
    h.apply(
        Edit::Load(Box::new(Case {
            plans,
            ..Case::default()
        })),
        None,
    )
    .unwrap();
    assert_eq!(h.plan_before_maps(1), None);
    let without_maps = Arc::new(Plan {
        beams: vec![beam(0.0)],
        ..Plan::new("P", "generic-6mv")
    });
    h.set_plans_before_load([(1, Arc::clone(&without_maps))].into());
    assert_eq!(h.plan_before_maps(0), None);
    assert_eq!(h.plan_before_maps(1), Some(&without_maps));
    h.apply(Edit::RemovePlan { plan: 0 }, None).unwrap();
    assert_eq!(h.plan_before_maps(0), Some(&without_maps));
    h.apply(
        Edit::SetFluences {
            plan: 0,
            beams: optimised_plan(0.7).beams,
            answered_goals: None,
        },
        None,
    )
    .unwrap();
    assert_eq!(
        h.plan_before_maps(0).map(|plan| &plan.beams),
        Some(&optimised_plan(0.5).beams)
    );
    // A plan that has the maps of now is none before.
    h.set_plans_before_load([(1, Arc::new(optimised_plan(0.5)))].into());
    h.go_to(1);
    assert_eq!(h.plan_before_maps(0), None);
    h.apply(Edit::Load(Box::default()), None).unwrap();
    assert_eq!(h.plan_before_maps(0), None);
}

#[test]
fn a_wrong_edit_changes_nothing() {
    let mut h = History::default();
    assert_eq!(
        h.apply(
            Edit::AddBeam {
                plan: 3,
                beam: beam(0.0)
            },
            None
        ),
        Err(EditError::NoPlan(3))
    );
    assert!(!h.can_undo());
}

#[test]
fn a_step_of_the_list_is_reached_from_either_side() {
    let mut h = History::default();
    h.apply(Edit::AddPlan(Plan::new("P", "generic-6mv")), None)
        .unwrap();
    h.apply(
        Edit::AddBeam {
            plan: 0,
            beam: beam(0.0),
        },
        None,
    )
    .unwrap();
    for degrees in [1.0, 2.0, 2.0] {
        h.apply(
            Edit::SetBeam {
                plan: 0,
                beam: 0,
                value: beam(degrees),
            },
            Some(7),
        )
        .unwrap();
    }
    let names = ["Add plan P", "Add beam B", "Turn gantry of B"];
    assert_eq!((h.names(), h.done()), (names.to_vec(), 3));
    h.go_to(1);
    assert_eq!((h.names(), h.done()), (names.to_vec(), 1));
    assert!(h.case().plans[0].beams.is_empty());
    h.go_to(3);
    assert_eq!((gantry(&h), h.done()), (2.0, 3));
    h.go_to(99);
    assert_eq!(h.done(), 3, "no step beyond the last");
}
