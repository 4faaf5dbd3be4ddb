//! Structures that a protocol makes of others.

use super::super::contouring::{ContouringError, contours_of_expression};
use super::PlanningError;
use super::targets::{Targets, named_or_of_type};
use case::{Ct, Structure, StructureKind, StructureSet};
use engine::JobControl;
use files::{Protocol, StructureToMake};

/// Names of the structures that were made, and why others were not.
pub(super) struct MadeStructures {
    pub names: Vec<String>,
    pub remarks: Vec<String>,
}

/// Adds the structures of a protocol to a set. A structure that is drawn already is kept; one that lacks its sources, or of which nothing
/// is left, is not made.
pub(super) fn add_structures(
    protocol: &Protocol,
    targets: &Targets,
    ct: &Ct,
    set: &mut StructureSet,
    control: &JobControl,
) -> Result<MadeStructures, PlanningError> {
    let mut answer = MadeStructures {
        names: Vec::new(),
        remarks: Vec::new(),
    };
    for wanted in &protocol.structures {
        if let Some(drawn) = drawn_as(protocol, set, &wanted.name) {
            answer
                .remarks
                .push(format!("'{}' is drawn already, and is used", drawn.name));
            continue;
        }
        match make(protocol, targets, ct, set, wanted, control) {
            Ok(structure) => {
                set.structures.retain(|s| s.name != structure.name);
                answer.names.push(structure.name.clone());
                set.structures.push(structure);
            }
            Err(ContouringError::Cancelled) => return Err(PlanningError::Cancelled),
            Err(why) => answer
                .remarks
                .push(format!("'{}' is not made: {why}", wanted.name)),
        }
    }
    Ok(answer)
}

/// The drawn structure that stands for one to be made: by its name, or by another name that a goal has for it.
fn drawn_as<'a>(protocol: &Protocol, set: &'a StructureSet, name: &str) -> Option<&'a Structure> {
    let mut goals = protocol.goals.goals.iter();
    let of_goal = goals.find(|template_goal| template_goal.goal.structure == name);
    let of_goal = of_goal.and_then(|template_goal| template_goal.structure_in(set));
    let structure = of_goal.or_else(|| set.of_letters(name).next());
    structure.filter(|s| s.made_of.is_none())
}

fn make(
    protocol: &Protocol,
    targets: &Targets,
    ct: &Ct,
    set: &StructureSet,
    wanted: &StructureToMake,
    control: &JobControl,
) -> Result<Structure, ContouringError> {
    let expression = wanted
        .expression
        .renamed(&|name| name_in_case(protocol, targets, set, name))?;
    let answer = contours_of_expression(ct, set, &expression, control)?;
    let kind = StructureKind::Other;
    Ok(Structure {
        contours: answer.contours,
        made_of: Some(expression.to_string()),
        ..Structure::new(wanted.name.as_str(), set.free_number(), kind)
    })
}

/// Name of the structure that a name of the protocol stands for: a target, the structure of a goal, one of the case.
fn name_in_case(
    protocol: &Protocol,
    targets: &Targets,
    set: &StructureSet,
    name: &str,
) -> Result<String, ContouringError> {
    if let Some(target) = targets.structure_of(protocol, name) {
        return Ok(target.to_owned());
    }
    let mut goals = protocol.goals.goals.iter();
    let goal = goals.find(|template_goal| template_goal.goal.structure == name);
    match goal.and_then(|template_goal| template_goal.structure_in(set)) {
        Some(structure) => Ok(structure.name.clone()),
        None => named_or_of_type(set, name),
    }
}
