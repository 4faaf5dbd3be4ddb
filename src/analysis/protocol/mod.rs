//! Plans by protocol: targets, structures and goals of a case found by a protocol's names, beams from the targets.

mod beams;
mod made;
mod targets;

#[cfg(test)]
mod tests;

use super::contouring::ContouringError;
use case::{Case, Plan, StructureSet};
use engine::JobControl;
use files::{Matched, Protocol};
use physics::{Machine, MachineError};
use std::sync::Arc;
use targets::Targets;
use thiserror::Error;

/// A case made ready for planning.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// The case with the structures that the protocol makes, its goals, and the plan before all others.
    pub case: Case,
    /// Beams without maps.
    pub plan: Plan,
    pub goals: Matched,
    /// Each target of the protocol with the structure of the case and its dose, Gy, the highest first.
    pub targets: Vec<(String, String, f64)>,
    /// Names of the structures that were made.
    pub made: Vec<String>,
    /// Remarks for the planner: names that were not found, structures that were not made.
    pub remarks: Vec<String>,
}

/// Machine of a new plan where neither the case nor the user names one.
pub const USUAL_MACHINE: &str = "generic-6mv";

/// Why a case has no plan by a protocol.
#[derive(Debug, Error)]
pub enum PlanningError {
    #[error("the case has no CT: a plan needs one")]
    NoCt,
    #[error("the case has no target '{target}': looked for {looked_for}; it has {has}")]
    NoTarget {
        target: String,
        looked_for: String,
        has: String,
    },
    #[error("the case has no target '{target}', and it cannot be made: {why}")]
    NotMade {
        target: String,
        why: ContouringError,
    },
    #[error("{names} could each be the target '{target}': rename all but one")]
    TwoTargets { target: String, names: String },
    #[error("'{name}' would be the target of {first_gy} Gy and of {second_gy} Gy")]
    OneTargetOfTwo {
        name: String,
        first_gy: f64,
        second_gy: f64,
    },
    #[error("the target '{0}' has no contours")]
    NoContours(String),
    #[error("{percent:.0} % of the target '{name}' lie outside of the body: draw one of them anew")]
    OutsideBody { name: String, percent: f64 },
    #[error(
        "the target '{inner}' of {inner_gy} Gy lies within '{outer}', which gets {outer_gy} Gy: nothing of it can have its own dose"
    )]
    Within {
        inner: String,
        inner_gy: f64,
        outer: String,
        outer_gy: f64,
    },
    #[error(
        "the target '{0}' lies in no target of the protocol, which has no dose for it: give it another type, or take another protocol"
    )]
    OtherTarget(String),
    #[error(
        "'{left}' lies to the right of '{right}' in the patient: their names are swapped, or the images are mirrored"
    )]
    Swapped { left: String, right: String },
    #[error("the body cannot be found: {0}")]
    Body(String),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("cancelled")]
    Cancelled,
}

/// Makes the plan of a protocol for a case on a machine: beams without maps.
///
/// # Errors
/// [`PlanningError`]: what the case lacks, or what contradicts itself in it.
pub fn plan_by_protocol(
    case: &Case,
    protocol: &Protocol,
    machine: &str,
    control: &JobControl,
) -> Result<PlannedCase, PlanningError> {
    let ct = case.ct.as_ref().ok_or(PlanningError::NoCt)?;
    let sad_mm = Machine::resolve(machine)?.sad_mm;
    let mut remarks = Vec::new();
    let mut set = StructureSet::clone(&case.structures);
    let targets = Targets::find(protocol, ct, &mut set, &mut remarks, control)?;
    targets::check_sides(&set)?;
    let places = targets.check_places(ct, &set, control)?;
    let structures = made::add_structures(protocol, &targets, ct, &mut set, control)?;
    remarks.extend(structures.remarks);
    let mut goals = targets.named(protocol).matched(&set);
    goals.goals.extend(places.other_goals);
    let isocentre_mm = targets.middle_mm(&set);
    let place = beams::Place {
        position: ct.position,
        isocentre_mm,
        sad_mm,
        targets: targets.points_mm(&set),
        middle_mm: places.middle_mm,
    };
    let mut plan = Plan::new(&free_plan_name(case, &protocol.name), machine);
    plan.position = ct.position;
    plan.prescription_gy = Some(protocol.levels[0].gy);
    plan.fractions = protocol.fractions;
    plan.objectives.monitor_units = protocol.monitor_units_weight;
    plan.beams = beams::of_protocol(protocol, &place);
    if !goals.unmatched.is_empty() {
        remarks.push(format!(
            "without a structure in the case: {}",
            goals.unmatched.join(", ")
        ));
    }
    let mut planned = case.clone();
    planned.spent_number = planned.spent_number.max(set.free_number() - 1);
    planned.structures = Arc::new(set);
    planned.goals = Some(goals.goals.clone().into());
    planned.plans.insert(0, Arc::new(plan.clone()));
    Ok(PlannedCase {
        case: planned,
        plan,
        goals,
        targets: targets.listed(),
        made: structures.names,
        remarks,
    })
}

/// A name that no plan of the case has.
fn free_plan_name(case: &Case, name: &str) -> String {
    let mut numbers = 2..;
    let mut free = name.to_owned();
    while case.plans.iter().any(|plan| plan.name == free) {
        let number = numbers.next().unwrap_or(u32::MAX);
        free = format!("{name} ({number})");
    }
    free
}
