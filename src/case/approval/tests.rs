use super::*;
use crate::{Beam, DensityOverride, Edit, History, Jaws, Medium, Normalisation, NormalisedAt};
use crate::{NormalisedDose, StructureSet};
use glam::DVec3;
use proptest::prelude::*;

fn approval(stage: Stage) -> Approval {
    let (by, date) = ("Planner".to_owned(), "2026-11-26 21:43:03 UTC".to_owned());
    Approval {
        stage,
        by,
        at: date,
        reason: "all goals are met".to_owned(),
    }
}

fn structure(number: u32, name: &str, kind: StructureKind) -> Structure {
    Structure::new(name, number, kind)
}

fn beam(number: u32, gantry_deg: f64) -> Beam {
    let mut beam = Beam::fixed(
        "B",
        number,
        gantry_deg,
        DVec3::ZERO,
        Jaws::symmetric(100.0, 100.0),
        100.0,
    );
    beam.set_bolus("Gel", false);
    beam
}

fn plan(name: &str) -> Plan {
    Plan {
        beams: vec![beam(1, 0.0), beam(2, 90.0)],
        ..Plan::new(name, "generic-6mv")
    }
}

/// Plans 0 and 1, the first of them approved; a body, a bolus, an organ and a target, to which plan 0 is normalised.
fn approved() -> History {
    let place = NormalisedAt::Volume {
        structure: "PTV".to_owned(),
        number: Some(4),
        volume_percent: 95.0,
    };
    let normalisation = Some(Normalisation {
        at: place,
        dose: NormalisedDose::Percent(95.0),
    });
    let structures = vec![
        structure(1, "Body", StructureKind::External),
        structure(2, "Gel", StructureKind::Bolus),
        structure(3, "Cord", StructureKind::Organ),
        structure(4, "PTV", StructureKind::Ptv),
    ];
    let plans = vec![
        Arc::new(Plan {
            normalisation,
            ..plan("A")
        }),
        Arc::new(plan("B")),
    ];
    let structures = Arc::new(StructureSet {
        structures,
        ..StructureSet::default()
    });
    let mut history = History::default();
    history
        .apply(
            Edit::Load(Box::new(Case {
                plans,
                structures,
                ..Case::default()
            })),
            None,
        )
        .unwrap();
    let approval = Some(approval(Stage::Approved));
    history
        .apply(Edit::SetApproval { plan: 0, approval }, None)
        .unwrap();
    history
}

/// Any edit, of either plan and any structure; many are refused.
fn any_edit() -> impl Strategy<Value = Edit> {
    let forged = Plan {
        approval: Some(approval(Stage::Approved)),
        ..Plan::new("F", "generic-6mv")
    };
    let kinds = [
        StructureKind::External,
        StructureKind::Bolus,
        StructureKind::Organ,
        StructureKind::Ptv,
    ];
    (0..14usize, 0..3usize, 0..3usize, 0..5usize, 0..360u32).prop_map(
        move |(which, plan, index, structure_index, deg)| {
            let value = beam(index as u32 + 1, f64::from(deg));
            let renamed = structure(
                structure_index as u32 + 1,
                &format!("S{deg}"),
                kinds[structure_index % 4],
            );
            let mut dense = structure(
                structure_index as u32 + 9,
                &format!("D{deg}"),
                StructureKind::Other,
            );
            dense.density = (deg % 2 == 0).then(|| DensityOverride::preset(Medium::Lung));
            match which {
                0 => Edit::AddPlan(forged.clone()),
                1 => Edit::SetPlan {
                    plan,
                    value: forged.clone(),
                },
                2 => Edit::SetPlan {
                    plan,
                    value: Plan::new("C", "generic-6mv"),
                },
                3 => Edit::RemovePlan { plan },
                4 => Edit::AddBeam {
                    plan,
                    beam: beam(deg, 10.0),
                },
                5 => Edit::RemoveBeam { plan, beam: index },
                6 => Edit::SetBeam {
                    plan,
                    beam: index,
                    value,
                },
                7 => Edit::SetFluences {
                    plan,
                    beams: vec![value],
                    answered_goals: None,
                },
                8 => Edit::AddStructure(dense),
                9 => Edit::AddStructures("couch", vec![dense]),
                10 => Edit::SetStructure {
                    index: structure_index,
                    value: renamed,
                },
                11 => Edit::SetStructures("Move couch", vec![(structure_index, renamed)]),
                12 => Edit::RemoveStructure {
                    index: structure_index,
                },
                _ => Edit::SetGoals(Vec::new()),
            }
        },
    )
}

/// A step of the user: an edit, or a way through the history.
#[derive(Clone, Debug)]
enum Door {
    Edit(Box<Edit>, Option<u64>),
    Undo,
    Redo,
    GoTo(usize),
}

fn any_door() -> impl Strategy<Value = Door> {
    let edit = (any_edit(), prop::option::of(0..3u64))
        .prop_map(|(edit, gesture)| Door::Edit(Box::new(edit), gesture));
    prop_oneof![6 => edit, 1 => Just(Door::Undo), 1 => Just(Door::Redo), 1 => (0..6usize).prop_map(Door::GoTo)]
}

fn structures_in_dose(history: &History) -> Vec<(u32, StructureKind, Option<DensityOverride>)> {
    let in_dose = history
        .case()
        .structures
        .structures
        .iter()
        .filter(|s| shapes_dose(s));
    in_dose.map(|s| (s.number, s.kind, s.density)).collect()
}

proptest! {
    /// No edit, drag, undo or redo changes an approved plan, removes it, takes its approval back, or changes what its dose is
    /// made of; and none of them approves another.
    #[test]
    fn an_approved_plan_passes_every_door_as_it_was(doors in prop::collection::vec(any_door(), 1..40)) {
        let mut history = approved();
        let plan = (*history.case().plans[0]).clone();

        let structures = structures_in_dose(&history);
        for door in doors {
            match door {
                Door::Edit(edit, gesture) => _ = history.apply(*edit, gesture),
                Door::Undo => _ = history.undo(),
                Door::Redo => _ = history.redo(),
                Door::GoTo(done) => history.go_to(done),
            }
            let approved: Vec<&Plan> = history.case().plans.iter().map(|p| &**p).filter(|p| p.is_approved()).collect();
            prop_assert_eq!(approved, vec![&plan]);
            prop_assert_eq!(structures_in_dose(&history), structures.clone());
        }
    }
}

#[test]
fn the_refusal_says_who_approved_and_what_to_do() {
    let mut history = approved();
    let edit = Edit::SetBeam {
        plan: 0,
        beam: 0,
        value: beam(1, 5.0),
    };
    let said = history.apply(edit, None).unwrap_err().to_string();
    for part in [
        "'A'",
        "approved by Planner, 2026-11-26 21:43:03 UTC: all goals",
        "copy it",
        "take the approval back",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = history
        .apply(Edit::RemoveStructure { index: 0 }, None)
        .unwrap_err()
        .to_string();
    assert!(said.contains("'Body'") && said.contains("'A'"), "{said}");
    assert!(!history.undo());
    assert!(
        history
            .undo_refusal()
            .is_some_and(|why| why.to_string().contains("'A'"))
    );
    // What the dose does not know of may change, and so may the other plan.
    history
        .apply(
            Edit::SetStructure {
                index: 2,
                value: structure(3, "SpinalCord", StructureKind::Organ),
            },
            None,
        )
        .unwrap();
    history.apply(Edit::RemovePlan { plan: 1 }, None).unwrap();
    assert!(history.undo() && history.undo() && !history.undo());
}

#[test]
fn a_copy_is_unapproved_and_an_approval_is_taken_back_by_its_own_edit() {
    let mut history = approved();
    let copy = Plan {
        name: "A copy".to_owned(),
        ..(*history.case().plans[0]).clone()
    };
    history.apply(Edit::AddPlan(copy), None).unwrap();
    assert_eq!(history.case().plans[2].approval, None);
    history
        .apply(
            Edit::SetBeam {
                plan: 2,
                beam: 0,
                value: beam(1, 5.0),
            },
            None,
        )
        .unwrap();
    history
        .apply(
            Edit::SetApproval {
                plan: 0,
                approval: None,
            },
            None,
        )
        .unwrap();
    assert_eq!(
        history.names().last(),
        Some(&"Take back the approval of plan A")
    );
    history
        .apply(
            Edit::SetBeam {
                plan: 0,
                beam: 0,
                value: beam(1, 5.0),
            },
            None,
        )
        .unwrap();
    assert_eq!(history.case().plans[0].approval_words(), "unapproved");
}

#[test]
fn a_review_ends_with_the_first_change_of_the_plan() {
    let mut history = approved();
    let reviewed = Some(approval(Stage::Reviewed));
    history
        .apply(
            Edit::SetApproval {
                plan: 1,
                approval: reviewed.clone(),
            },
            None,
        )
        .unwrap();
    history.apply(Edit::SetGoals(Vec::new()), None).unwrap();
    assert_eq!(history.case().plans[1].approval, reviewed);
    history
        .apply(
            Edit::SetBeam {
                plan: 1,
                beam: 0,
                value: beam(1, 5.0),
            },
            None,
        )
        .unwrap();
    assert_eq!(history.case().plans[1].approval, None);
}

/// The structure that the monitor units are normalised to is one that the dose is made with.
#[test]
fn the_structure_that_an_approved_plan_is_normalised_to_stays_and_a_review_goes_with_it() {
    let mut history = approved();
    let moved = Structure {
        kind: StructureKind::Gtv,
        ..structure(4, "PTV", StructureKind::Ptv)
    };
    let said = history
        .apply(
            Edit::SetStructure {
                index: 3,
                value: moved.clone(),
            },
            None,
        )
        .unwrap_err()
        .to_string();
    assert!(said.contains("'PTV'") && said.contains("'A'"), "{said}");
    assert!(
        history
            .apply(Edit::RemoveStructure { index: 3 }, None)
            .is_err()
    );
    history
        .apply(
            Edit::SetApproval {
                plan: 0,
                approval: Some(approval(Stage::Reviewed)),
            },
            None,
        )
        .unwrap();
    // What a plan follows is no change of what was looked at.
    let follows = Plan {
        follows_goals: true,
        ..(*history.case().plans[0]).clone()
    };
    history
        .apply(
            Edit::SetPlan {
                plan: 0,
                value: follows,
            },
            None,
        )
        .unwrap();
    assert!(history.case().plans[0].approval.is_some());
    history
        .apply(
            Edit::SetStructure {
                index: 3,
                value: moved,
            },
            None,
        )
        .unwrap();
    assert_eq!(history.case().plans[0].approval, None);
}

fn approve(history: &mut History, by: &str, reason: &str, date: &str) -> Result<(), String> {
    let (by, at, reason) = (by.to_owned(), date.to_owned(), reason.to_owned());
    let approval = Some(Approval {
        stage: Stage::Approved,
        by,
        at,
        reason,
    });
    history
        .apply(Edit::SetApproval { plan: 1, approval }, None)
        .map_err(|error| error.to_string())
}

#[test]
fn a_record_has_a_name_and_one_line() {
    let mut history = approved();

    let date = "2026-11-26 21:43:03 UTC";
    assert!(
        approve(&mut history, " ", "", date)
            .unwrap_err()
            .contains("nobody is named who approved it")
    );
    assert!(
        approve(&mut history, &"n".repeat(65), "", date)
            .unwrap_err()
            .contains("65 letters, at most 64")
    );
    assert!(
        approve(&mut history, "N", "two\nlines", date)
            .unwrap_err()
            .contains("one line")
    );
    assert!(
        approve(&mut history, "N", "", "yesterday")
            .unwrap_err()
            .contains("'yesterday'")
    );
    assert_eq!(approve(&mut history, "张小东", "", date), Ok(()));
}
