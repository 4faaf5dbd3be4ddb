//! Names of edits in the history list, in a planner's words.

use super::{Beam, Case, Contour, Edit, Plan, Structure};
use glam::DVec3;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Edit {
    /// The edit in words, as a step from the case `before` it: "Turn gantry of AP".
    pub fn name(&self, previous: &Case) -> String {
        let structures = &previous.structures.structures;
        match self {
            Self::Load(_) => "Open case".to_owned(),
            Self::AddPlan(plan) => format!("Add plan {}", plan.name),
            Self::SetPlan { plan, value } => match previous.plans.get(*plan) {
                Some(current) => plan_change(current, value),
                None => format!("Change plan {}", value.name),
            },
            Self::RemovePlan { plan } => match previous.plans.get(*plan) {
                Some(current) => format!("Delete plan {}", current.name),
                None => "Delete plan".to_owned(),
            },
            Self::SetApproval { plan, approval } => {
                let name = previous.plans.get(*plan).map_or("", |plan| &plan.name);
                match approval {
                    Some(approval) => format!("Plan {name} {}", approval.stage),
                    None => format!("Take back the approval of plan {name}"),
                }
            }
            Self::AddBeam { beam, .. } => format!("Add beam {}", beam.name),
            Self::RemoveBeam { plan, beam: index } => match previous.beam(*plan, *index) {
                Some(current) => format!("Delete beam {}", current.name),
                None => "Delete beam".to_owned(),
            },
            Self::SetBeam {
                plan,
                beam: index,
                value,
            } => match previous.beam(*plan, *index) {
                Some(current) => beam_change(current, value),
                None => format!("Change {}", value.name),
            },
            Self::SetFluences { plan, .. } => match previous.plans.get(*plan) {
                Some(current) => format!("Optimise plan {}", current.name),
                None => "Optimise plan".to_owned(),
            },
            Self::SetLeaves { plan, beams, .. } => match previous.plans.get(*plan) {
                Some(current) if current.has_maps_of(beams) => {
                    format!("Make plan {} deliverable", current.name)
                }
                Some(current) => format!("Optimise plan {}", current.name),
                None => "Make plan deliverable".to_owned(),
            },
            Self::AddStructure(structure) => format!("Add structure {}", structure.name),
            Self::AddStructures(what, _) => format!("Add {what}"),
            Self::SetStructures(what, _) => (*what).to_owned(),
            Self::SetStructure { index, value } => match structures.get(*index) {
                Some(current) => structure_change(current, value),
                None => format!("Change {}", value.name),
            },
            Self::RemoveStructure { index } => match structures.get(*index) {
                Some(current) => format!("Delete structure {}", current.name),
                None => "Delete structure".to_owned(),
            },
            Self::AddPlanned { plan, .. } => format!("Plan by protocol {}", plan.name),
            Self::AddDose(dose) => format!("Add dose {}", dose.label),
            Self::SetGoals(_) => "Change clinical goals".to_owned(),
        }
    }
}

impl Case {
    fn beam(&self, plan: usize, beam: usize) -> Option<&Beam> {
        self.plans.get(plan).and_then(|plan| plan.beams.get(beam))
    }
}

/// The one changed property as "verb of the object"; "Change object" where several changed.
fn one_of(changes: &[(bool, &str)], object: &str) -> String {
    let mut changed = changes
        .iter()
        .filter(|(changed, _)| *changed)
        .map(|(_, words)| words);
    match (changed.next(), changed.next()) {
        (Some(words), None) => format!("{words} of {object}"),
        _ => format!("Change {object}"),
    }
}

/// Names of the beams of `plan` that `other` does not have.
fn beams_missing_in(other: &Plan, plan: &Plan) -> Vec<String> {
    let missing = plan
        .beams
        .iter()
        .filter(|beam| other.beams.iter().all(|o| o.number != beam.number));
    missing.map(|beam| beam.name.clone()).collect()
}

fn plan_change(current: &Plan, next: &Plan) -> String {
    if current.name != next.name {
        return format!("Rename plan {} to {}", current.name, next.name);
    }
    match (
        &beams_missing_in(current, next)[..],
        &beams_missing_in(next, current)[..],
    ) {
        ([], []) => {}
        ([beam], []) => return format!("Add beam {beam}"),
        ([], [beam]) => return format!("Delete beam {beam}"),
        (_, []) => return format!("Add beams to plan {}", current.name),
        _ => return format!("Delete beams of plan {}", current.name),
    }
    let changes = [
        (
            current.prescription_gy != next.prescription_gy,
            "Change prescription",
        ),
        (current.fractions != next.fractions, "Change fractions"),
        (
            current.normalisation != next.normalisation,
            "Change normalisation",
        ),
        (current.objectives != next.objectives, "Change objectives"),
        (current.machine != next.machine, "Change machine"),
        (current.position != next.position, "Change patient position"),
        (current.beams != next.beams, "Change beams"),
    ];
    one_of(&changes, &format!("plan {}", current.name))
}

fn beam_change(current: &Beam, next: &Beam) -> String {
    if current.name != next.name {
        return format!("Rename beam {} to {}", current.name, next.name);
    }
    let same_count = current.control_points.len() == next.control_points.len();
    let pairs: Vec<_> = current
        .control_points
        .iter()
        .zip(&next.control_points)
        .collect();
    let changes = [
        (!same_count, "Change control points"),
        (
            pairs.iter().any(|(a, b)| a.gantry_deg != b.gantry_deg),
            "Turn gantry",
        ),
        (
            pairs
                .iter()
                .any(|(a, b)| a.collimator_deg != b.collimator_deg),
            "Turn collimator",
        ),
        (
            pairs.iter().any(|(a, b)| a.couch_deg != b.couch_deg),
            "Turn couch",
        ),
        (pairs.iter().any(|(a, b)| a.jaws != b.jaws), "Move jaws"),
        (
            pairs.iter().any(|(a, b)| a.leaves_mm != b.leaves_mm),
            "Move leaves",
        ),
        (
            pairs
                .iter()
                .any(|(a, b)| a.meterset_weight != b.meterset_weight),
            "Change control point weights",
        ),
        (current.mu != next.mu, "Change MU"),
        (current.isocentre_mm != next.isocentre_mm, "Move isocentre"),
        (current.machine != next.machine, "Change machine"),
        (current.mlc != next.mlc, "Change MLC"),
        (
            current.fluence_limits != next.fluence_limits,
            "Limit fluence",
        ),
        (
            current.without_boluses != next.without_boluses,
            "Change boluses",
        ),
    ];
    one_of(&changes, &current.name)
}

fn structure_change(current: &Structure, next: &Structure) -> String {
    if current.name != next.name {
        return format!("Rename {} to {}", current.name, next.name);
    }
    if current.kind == next.kind
        && current.colour == next.colour
        && current.density == next.density
        && current.contours != next.contours
    {
        // A stroke keeps the contours of all other planes: their points need no look in each of its frames.
        let kept: BTreeSet<*const Contour> = current.contours.iter().map(Arc::as_ptr).collect();
        let boxes_mm = current.contours.box_mm().zip(next.contours.box_mm());
        let moved = !next
            .contours
            .iter()
            .any(|contour| kept.contains(&Arc::as_ptr(contour)))
            && boxes_mm.is_some_and(|(from, to)| is_shifted(from, to));
        return format!(
            "{} {}",
            if moved { "Move" } else { "Change contours of" },
            current.name
        );
    }
    let changes = [
        (current.kind != next.kind, "Change type"),
        (current.density != next.density, "Change density"),
        (current.colour != next.colour, "Change colour"),
        (current.points_mm != next.points_mm, "Move points"),
        (current.contours != next.contours, "Change contours"),
    ];
    one_of(&changes, &current.name)
}

/// Whether a box is another of the same size elsewhere.
fn is_shifted(from_mm: [DVec3; 2], to_mm: [DVec3; 2]) -> bool {
    let shift = to_mm[0] - from_mm[0];
    (from_mm[1] + shift - to_mm[1]).length() < 1e-6 && shift.length() > 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jaws, Rgb, StructureKind, StructureSet};

    fn case() -> Case {
        let beam = Beam::fixed(
            "AP",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            100.0,
        );
        let plan = Plan {
            beams: vec![beam],
            ..Plan::new("P1", "generic-6mv")
        };
        let structures = vec![square("Sphere", 0.0, 10.0)];
        let set = StructureSet {
            structures,
            ..StructureSet::default()
        };
        Case {
            plans: vec![Arc::new(plan)],
            structures: Arc::new(set),
            ..Case::default()
        }
    }

    fn square(name: &str, x_mm: f64, side: f64) -> Structure {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let points_mm = corners
            .map(|[x, y]| DVec3::new(x_mm + x * side, y * side, 0.0))
            .to_vec();
        let contours = vec![Contour {
            points_mm,
            image_uid: None,
        }]
        .into();
        Structure {
            contours,
            ..Structure::new(name, 1, StructureKind::Other)
        }
    }

    #[test]
    fn beam_edits_say_what_moved() {
        let case = case();

        type Change = fn(&mut Beam);
        let cases: [(Change, &str); 7] = [
            (
                |b| b.control_points[0].gantry_deg = 40.0,
                "Turn gantry of AP",
            ),
            (|b| b.control_points[0].couch_deg = 9.0, "Turn couch of AP"),
            (
                |b| b.control_points[0].jaws.x = [-1.0, 2.0],
                "Move jaws of AP",
            ),
            (|b| b.mu = 7.0, "Change MU of AP"),
            (|b| b.isocentre_mm.x = 3.0, "Move isocentre of AP"),
            (|b| b.name = "PA".to_owned(), "Rename beam AP to PA"),
            (|b| (b.mu, b.isocentre_mm.x) = (3.0, 3.0), "Change AP"),
        ];
        for (change, want) in cases {
            let mut value = case.plans[0].beams[0].clone();
            change(&mut value);
            assert_eq!(
                Edit::SetBeam {
                    plan: 0,
                    beam: 0,
                    value
                }
                .name(&case),
                want
            );
        }
        assert_eq!(
            Edit::RemoveBeam { plan: 0, beam: 0 }.name(&case),
            "Delete beam AP"
        );
        assert_eq!(
            Edit::RemoveBeam { plan: 3, beam: 0 }.name(&case),
            "Delete beam",
            "a beam that is missing"
        );
        let dosed = Plan {
            prescription_gy: Some(50.0),
            ..(*case.plans[0]).clone()
        };
        assert_eq!(
            Edit::SetPlan {
                plan: 0,
                value: dosed
            }
            .name(&case),
            "Change prescription of plan P1"
        );
    }

    fn name_of_change(case: &Case, value: Structure) -> String {
        Edit::SetStructure { index: 0, value }.name(case)
    }

    #[test]
    fn a_structure_that_keeps_its_size_is_moved() {
        let case = case();

        assert_eq!(
            name_of_change(&case, square("Sphere", 4.0, 10.0)),
            "Move Sphere"
        );
        assert_eq!(
            name_of_change(&case, square("Sphere", 0.0, 12.0)),
            "Change contours of Sphere"
        );
        let mut holed = square("Sphere", 0.0, 10.0);
        holed.contours = holed.contours.replaced(
            |_| false,
            vec![square("", 2.0, 5.0).contours[0].as_ref().clone()],
        );
        assert_eq!(
            name_of_change(&case, holed),
            "Change contours of Sphere",
            "its box stays"
        );
        assert_eq!(
            name_of_change(&case, square("PTV", 0.0, 10.0)),
            "Rename Sphere to PTV"
        );
        let red = Structure {
            colour: Rgb([255, 0, 0]),
            ..square("Sphere", 0.0, 10.0)
        };
        assert_eq!(name_of_change(&case, red), "Change colour of Sphere");
    }
}
