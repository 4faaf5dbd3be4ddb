//! Names of edits in the history list, in a planner's words.

use super::{Beam, Case, Contour, ControlPoint, Edit, Plan, Structure};
use glam::DVec3;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Edit {
    /// The edit in words, as a step from the case `before` it: "Turn gantry of AP".
    pub fn name(&self, before: &Case) -> String {
        let structure = |index: usize| before.structures.structures.get(index);
        let beam = |plan: usize, beam: usize| before.plans.get(plan).and_then(|p| p.beams.get(beam));
        match self {
            Self::Load(_) => "Open case".to_owned(),
            Self::AddPlan(plan) => format!("Add plan {}", plan.name),
            Self::SetPlan { plan, value } => match before.plans.get(*plan) {
                Some(now) => plan_change(now, value),
                None => format!("Change plan {}", value.name),
            },
            Self::RemovePlan { plan } => match before.plans.get(*plan) {
                Some(now) => format!("Delete plan {}", now.name),
                None => "Delete plan".to_owned(),
            },
            Self::SetApproval { plan, approval } => {
                let name = before.plans.get(*plan).map_or("", |plan| &plan.name);
                match approval {
                    Some(approval) => format!("Plan {name} {}", approval.stage),
                    None => format!("Take back the approval of plan {name}"),
                }
            }
            Self::AddBeam { beam, .. } => format!("Add beam {}", beam.name),
            Self::RemoveBeam { plan, beam: index } => match beam(*plan, *index) {
                Some(now) => format!("Delete beam {}", now.name),
                None => "Delete beam".to_owned(),
            },
            Self::SetBeam { plan, beam: index, value } => match beam(*plan, *index) {
                Some(now) => beam_change(now, value),
                None => format!("Change {}", value.name),
            },
            Self::SetFluences { plan, .. } => match before.plans.get(*plan) {
                Some(now) => format!("Optimise plan {}", now.name),
                None => "Optimise plan".to_owned(),
            },
            Self::SetLeaves { plan, beams, .. } => match before.plans.get(*plan) {
                Some(now) if now.has_maps_of(beams) => format!("Make plan {} deliverable", now.name),
                Some(now) => format!("Optimise plan {}", now.name),
                None => "Make plan deliverable".to_owned(),
            },
            Self::AddStructure(structure) => format!("Add structure {}", structure.name),
            Self::AddStructures(what, _) => format!("Add {what}"),
            Self::SetStructures(what, _) => (*what).to_owned(),
            Self::SetStructure { index, value } => match structure(*index) {
                Some(now) => structure_change(now, value),
                None => format!("Change {}", value.name),
            },
            Self::RemoveStructure { index } => match structure(*index) {
                Some(now) => format!("Delete structure {}", now.name),
                None => "Delete structure".to_owned(),
            },
            Self::AddDose(dose) => format!("Add dose {}", dose.label),
            Self::SetGoals(_) => "Change clinical goals".to_owned(),
        }
    }
}

/// The one changed property as "verb of the object"; "Change object" where several changed.
fn one_of(changes: &[(bool, &str)], object: &str) -> String {
    let mut changed = changes.iter().filter(|(changed, _)| *changed).map(|(_, words)| words);
    match (changed.next(), changed.next()) {
        (Some(words), None) => format!("{words} of {object}"),
        _ => format!("Change {object}"),
    }
}

fn plan_change(now: &Plan, next: &Plan) -> String {
    if now.name != next.name {
        return format!("Rename plan {} to {}", now.name, next.name);
    }
    // Beams of `all` that `others` has not.
    let more = |all: &Plan, others: &Plan| -> Vec<String> {
        let is_new = |beam: &&Beam| others.beams.iter().all(|other| other.number != beam.number);
        all.beams.iter().filter(is_new).map(|beam| beam.name.clone()).collect()
    };
    match (&more(next, now)[..], &more(now, next)[..]) {
        ([], []) => {}
        ([beam], []) => return format!("Add beam {beam}"),
        ([], [beam]) => return format!("Delete beam {beam}"),
        (_, []) => return format!("Add beams to plan {}", now.name),
        _ => return format!("Delete beams of plan {}", now.name),
    }
    let changes = [
        (now.prescription_gy != next.prescription_gy, "Change prescription"),
        (now.fractions != next.fractions, "Change fractions"),
        (now.normalisation != next.normalisation, "Change normalisation"),
        (now.objectives != next.objectives, "Change objectives"),
        (now.machine != next.machine, "Change machine"),
        (now.position != next.position, "Change patient position"),
        (now.beams != next.beams, "Change beams"),
    ];
    one_of(&changes, &format!("plan {}", now.name))
}

fn beam_change(now: &Beam, next: &Beam) -> String {
    if now.name != next.name {
        return format!("Rename beam {} to {}", now.name, next.name);
    }
    let same_count = now.control_points.len() == next.control_points.len();
    let differs = |what: fn(&ControlPoint, &ControlPoint) -> bool| {
        now.control_points.iter().zip(&next.control_points).any(|(a, b)| what(a, b))
    };
    let changes = [
        (!same_count, "Change control points"),
        (differs(|a, b| a.gantry_deg != b.gantry_deg), "Turn gantry"),
        (differs(|a, b| a.collimator_deg != b.collimator_deg), "Turn collimator"),
        (differs(|a, b| a.couch_deg != b.couch_deg), "Turn couch"),
        (differs(|a, b| a.jaws != b.jaws), "Move jaws"),
        (differs(|a, b| a.leaves_mm != b.leaves_mm), "Move leaves"),
        (differs(|a, b| a.meterset_weight != b.meterset_weight), "Change control point weights"),
        (now.mu != next.mu, "Change MU"),
        (now.isocentre_mm != next.isocentre_mm, "Move isocentre"),
        (now.machine != next.machine, "Change machine"),
        (now.mlc != next.mlc, "Change MLC"),
        (now.fluence_limits != next.fluence_limits, "Limit fluence"),
        (now.without_boluses != next.without_boluses, "Change boluses"),
    ];
    one_of(&changes, &now.name)
}

fn structure_change(now: &Structure, next: &Structure) -> String {
    if now.name != next.name {
        return format!("Rename {} to {}", now.name, next.name);
    }
    if now.kind == next.kind
        && now.colour == next.colour
        && now.density == next.density
        && now.contours != next.contours
    {
        // A stroke keeps the contours of all other planes: their points need no look in each of its frames.
        let before: BTreeSet<*const Contour> = now.contours.iter().map(Arc::as_ptr).collect();
        let is_kept = |c: &Arc<Contour>| before.contains(&Arc::as_ptr(c));
        let moved = |(a, b): ([DVec3; 2], [DVec3; 2])| {
            let way = b[0] - a[0];
            (a[1] + way - b[1]).length() < 1e-6 && way.length() > 1e-6
        };
        let moved = !next.contours.iter().any(is_kept)
            && now.contours.box_mm().zip(next.contours.box_mm()).is_some_and(moved);
        return format!("{} {}", if moved { "Move" } else { "Change contours of" }, now.name);
    }
    let changes = [
        (now.kind != next.kind, "Change type"),
        (now.density != next.density, "Change density"),
        (now.colour != next.colour, "Change colour"),
        (now.points_mm != next.points_mm, "Move points"),
        (now.contours != next.contours, "Change contours"),
    ];
    one_of(&changes, &now.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jaws, Rgb, StructureKind, StructureSet};

    fn case() -> Case {
        let beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, Jaws::symmetric(100.0, 100.0), 100.0);
        let plan = Plan { beams: vec![beam], ..Plan::new("P1", "generic-6mv") };
        let structures = vec![square("Sphere", 0.0, 10.0)];
        let set = StructureSet { structures, ..StructureSet::default() };
        Case { plans: vec![Arc::new(plan)], structures: Arc::new(set), ..Case::default() }
    }

    fn square(name: &str, at: f64, side: f64) -> Structure {
        let corner = |x: f64, y: f64| DVec3::new(at + x * side, y * side, 0.0);
        let points_mm = vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
        let contours = vec![Contour { points_mm, image_uid: None }].into();
        Structure { contours, ..Structure::new(name, 1, StructureKind::Other) }
    }

    #[test]
    fn beam_edits_say_what_moved() {
        let case = case();
        let name = |change: fn(&mut Beam)| {
            let mut value = case.plans[0].beams[0].clone();
            change(&mut value);
            Edit::SetBeam { plan: 0, beam: 0, value }.name(&case)
        };
        type Change = fn(&mut Beam);
        let cases: [(Change, &str); 7] = [
            (|b| b.control_points[0].gantry_deg = 40.0, "Turn gantry of AP"),
            (|b| b.control_points[0].couch_deg = 9.0, "Turn couch of AP"),
            (|b| b.control_points[0].jaws.x = [-1.0, 2.0], "Move jaws of AP"),
            (|b| b.mu = 7.0, "Change MU of AP"),
            (|b| b.isocentre_mm.x = 3.0, "Move isocentre of AP"),
            (|b| b.name = "PA".to_owned(), "Rename beam AP to PA"),
            (|b| (b.mu, b.isocentre_mm.x) = (3.0, 3.0), "Change AP"),
        ];
        for (change, want) in cases {
            assert_eq!(name(change), want);
        }
        assert_eq!(Edit::RemoveBeam { plan: 0, beam: 0 }.name(&case), "Delete beam AP");
        assert_eq!(
            Edit::RemoveBeam { plan: 3, beam: 0 }.name(&case),
            "Delete beam",
            "a beam that is missing"
        );
        let dosed = Plan { prescription_gy: Some(50.0), ..(*case.plans[0]).clone() };
        assert_eq!(Edit::SetPlan { plan: 0, value: dosed }.name(&case), "Change prescription of plan P1");
    }

    #[test]
    fn a_structure_that_keeps_its_size_is_moved() {
        let case = case();
        let name = |value: Structure| Edit::SetStructure { index: 0, value }.name(&case);
        assert_eq!(name(square("Sphere", 4.0, 10.0)), "Move Sphere");
        assert_eq!(name(square("Sphere", 0.0, 12.0)), "Change contours of Sphere");
        let mut holed = square("Sphere", 0.0, 10.0);
        holed.contours =
            holed.contours.replaced(|_| false, vec![square("", 2.0, 5.0).contours[0].as_ref().clone()]);
        assert_eq!(name(holed), "Change contours of Sphere", "its box stays");
        assert_eq!(name(square("PTV", 0.0, 10.0)), "Rename Sphere to PTV");
        let red = Structure { colour: Rgb([255, 0, 0]), ..square("Sphere", 0.0, 10.0) };
        assert_eq!(name(red), "Change colour of Sphere");
    }
}
