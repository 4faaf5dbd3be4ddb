//! Edits as values, with undo.

use super::structure::is_same_name;
use super::{
    Approval, ApprovalError, Beam, Case, Dose, Goal, Plan, PlanFault, Steps, Structure,
    StructureFault, StructureSet,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// A change to a case. The window and the command line change a case only through these.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Replaces the whole case (a load); starts a new history.
    Load(Box<Case>),
    AddPlan(Plan),
    SetPlan {
        plan: usize,
        value: Plan,
    },
    RemovePlan {
        plan: usize,
    },
    /// Records a review or approval, or takes it back. No other edit passes an approved plan.
    SetApproval {
        plan: usize,
        approval: Option<Approval>,
    },
    AddBeam {
        plan: usize,
        beam: Beam,
    },
    RemoveBeam {
        plan: usize,
        beam: usize,
    },
    SetBeam {
        plan: usize,
        beam: usize,
        value: Beam,
    },
    /// Replaces beams, by number, with those that have fluence maps, as one step. The maps give the requested dose: the
    /// plan is not normalised.
    SetFluences {
        plan: usize,
        beams: Vec<Beam>,
        /// Digest of the goals that they answer; `None` leaves what the plan says.
        answered_goals: Option<String>,
    },
    /// Replaces beams, by number, with those whose leaves were cut from their maps, as one step.
    SetLeaves {
        plan: usize,
        beams: Vec<Beam>,
        /// As of maps: leaves of arcs answer goals themselves.
        answered_goals: Option<String>,
    },
    AddStructure(Structure),
    /// Adds structures as one step, which bears this name: `couch`.
    AddStructures(&'static str, Vec<Structure>),
    SetStructure {
        index: usize,
        value: Structure,
    },
    /// Replaces structures, by index, as one step of this name. Names and numbers stay.
    SetStructures(&'static str, Vec<(usize, Structure)>),
    RemoveStructure {
        index: usize,
    },
    /// Sets structures and goals, and adds a plan, as one step.
    AddPlanned {
        structures: Vec<Structure>,
        goals: Vec<Goal>,
        plan: Box<Plan>,
    },
    AddDose(Arc<Dose>),
    /// Replaces all clinical goals.
    SetGoals(Vec<Goal>),
}

/// An edit that names an object missing from the case, or would make one that cannot be.
#[derive(Debug, Error, PartialEq)]
pub enum EditError {
    #[error("the case has no plan number {0}")]
    NoPlan(usize),
    #[error("the plan has no beam number {0}")]
    NoBeam(usize),
    #[error("the case has no structure number {0}")]
    NoStructure(usize),
    #[error("another structure is called '{0}'; choose a name of its own")]
    NameTaken(String),
    #[error("another structure has the ROI number {0}")]
    NumberTaken(u32),
    #[error("the plan '{plan}' is {by}. It is read-only: copy it, or take the approval back")]
    Approved { plan: String, by: String },
    #[error(
        "the dose of the plan '{plan}' is made with the structure '{structure}', and the plan is {by}. Take the approval back first"
    )]
    InApprovedDose {
        structure: String,
        plan: String,
        by: String,
    },
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Plan(Box<PlanFault>),
    #[error(transparent)]
    Structure(Box<StructureFault>),
}

impl Edit {
    /// Whether it gives maps or leaves to a plan that a case does not have: one that was added in the same step, which names it.
    fn gives_maps_or_leaves_beyond(&self, case: &Case) -> bool {
        match self {
            Self::SetFluences { plan, .. } | Self::SetLeaves { plan, .. } => {
                *plan >= case.plans.len()
            }
            _ => false,
        }
    }
}

/// A case with its undo history. Cases are cheap to clone, so a step is a whole case.
#[derive(Debug, Default)]
pub struct History {
    steps: Steps<Step>,
    /// Plans as they were before the maps that the case was loaded with, by index there.
    before_load: BTreeMap<usize, Arc<Plan>>,
}

/// A case, and the name of the edit that led to it.
#[derive(Clone, Debug, Default)]
struct Step {
    case: Case,
    name: String,
    /// Gesture or run that it answers: an answer that comes later joins it.
    gesture: Option<u64>,
}

impl Step {
    fn is_of_gesture(&self, gesture: Option<u64>) -> bool {
        gesture.is_some() && self.gesture == gesture
    }
}

impl History {
    pub fn new(case: Case) -> Self {
        Self {
            steps: Steps::at(Step {
                case,
                name: String::new(),
                gesture: None,
            }),
            before_load: BTreeMap::new(),
        }
    }

    /// Plans as they were before the maps that the case was loaded with, by index there.
    pub fn set_plans_before_load(&mut self, plans: BTreeMap<usize, Arc<Plan>>) {
        self.before_load = plans;
    }

    pub fn case(&self) -> &Case {
        &self.steps.now().case
    }

    /// Names of all steps, oldest first: [`Self::done`] of them are done, the others are undone.
    pub fn names(&self) -> Vec<&str> {
        let current = std::iter::once(self.steps.now());
        let steps = self
            .steps
            .past()
            .iter()
            .chain(current)
            .chain(self.steps.future().iter().rev());
        steps.skip(1).map(|step| step.name.as_str()).collect()
    }

    /// The plan as it was before it got the fluence maps that it has, latest first; `None` where the history does not reach back so far.
    pub fn plan_before_maps(&self, plan: usize) -> Option<&Arc<Plan>> {
        let (mut plans, mut place) = (&self.case().plans, plan);
        let current = plans.get(plan)?;

        for step in self.steps.past().iter().rev() {
            let kept = step
                .case
                .plans
                .iter()
                .position(|earlier| Arc::ptr_eq(earlier, &plans[place]));
            place = kept.or((step.case.plans.len() == plans.len()).then_some(place))?;
            plans = &step.case.plans;
            // One that stayed has the maps of the step after it.
            if kept.is_none() && !has_map_values_of(&plans[place], current) {
                return Some(&plans[place]);
            }
        }
        self.before_load
            .get(&place)
            .filter(|earlier| !has_map_values_of(earlier, current))
    }

    /// Number of steps that can be undone.
    pub fn done(&self) -> usize {
        self.steps.past().len()
    }

    /// Undoes or redoes until `done` steps are done.
    pub fn go_to(&mut self, done: usize) {
        while self.done() > done && self.undo() {}
        while self.done() < done && self.redo() {}
    }

    /// Applies an edit as one undoable step; edits with the same `gesture` (a drag) undo together.
    ///
    /// # Errors
    /// [`EditError`]; the case is then as it was.
    pub fn apply(&mut self, edit: Edit, gesture: Option<u64>) -> Result<(), EditError> {
        if let Edit::Load(mut case) = edit {
            case.bind_references();
            case.reserve_number(0);
            *self = Self::new(*case);
            return Ok(());
        }
        // A drag is named by what it changed since it began.
        let began = self
            .steps
            .past()
            .last()
            .filter(|_| self.steps.goes_on(gesture));
        let name = match began {
            Some(began) if edit.gives_maps_or_leaves_beyond(&began.case) => {
                self.steps.now().name.clone()
            }
            _ => edit.name(began.map_or(self.case(), |step| &step.case)),
        };
        let mut case = self.case().clone();
        let is_record = matches!(edit, Edit::SetApproval { .. });
        case.change(edit)?;
        case.doubt_structures_of_changed(self.case());
        if !is_record {
            self.case().hold_approved(&case)?;
            case.drop_records_of_changed(self.case());
        }
        case.check_changes(self.case())?;
        self.steps.set(
            Step {
                case,
                name,
                gesture,
            },
            gesture,
        );
        Ok(())
    }

    /// Applies an edit of one plan as part of the step with this gesture, and to the plan in all steps after it: what was done meanwhile
    /// stays the last that was done. Where the plan has changed since, or there is no such step, it is a new step.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_to_step(
        &mut self,
        plan: usize,
        edit: Edit,
        gesture: Option<u64>,
    ) -> Result<(), EditError> {
        let past = self.steps.past();
        let joined = { past.iter() }
            .rposition(|step| step.is_of_gesture(gesture))
            .filter(|_| !self.steps.now().is_of_gesture(gesture));
        let Some((joined, previous)) = joined.zip(self.case().plans.get(plan).cloned()) else {
            return self.apply(edit, gesture);
        };
        let has_changed = past[joined..].iter().any(|step| {
            !step
                .case
                .plans
                .iter()
                .any(|other| Arc::ptr_eq(other, &previous))
        });
        if joined == 0 || has_changed {
            return self.apply(edit, gesture);
        }
        let began = &past[joined - 1].case;
        let name = match edit.gives_maps_or_leaves_beyond(began) {
            true => past[joined].name.clone(),
            false => edit.name(began),
        };
        let mut case = self.case().clone();
        case.change(edit)?;
        self.case().hold_approved(&case)?;
        case.check_changes(self.case())?;
        let after = Arc::clone(&case.plans[plan]);
        for (n, step) in self.steps.all_mut().enumerate().skip(joined) {
            if n == joined {
                step.name.clone_from(&name);
            }
            let places = step
                .case
                .plans
                .iter_mut()
                .filter(|place| Arc::ptr_eq(place, &previous));
            places.for_each(|place| *place = Arc::clone(&after));
        }
        Ok(())
    }

    /// The gesture of the last step, which more of its edits would join.
    pub fn gesture(&self) -> Option<u64> {
        self.steps.gesture()
    }

    /// Why the last step cannot be undone though there is one: an approved plan would not be as it is.
    pub fn undo_refusal(&self) -> Option<EditError> {
        self.steps
            .past()
            .last()
            .and_then(|step| self.case().hold_approved(&step.case).err())
    }

    /// As [`Self::undo_refusal`], of the step that was undone last.
    pub fn redo_refusal(&self) -> Option<EditError> {
        self.steps
            .future()
            .last()
            .and_then(|step| self.case().hold_approved(&step.case).err())
    }

    /// Undoes the last step; `false` where the history is empty, or the step is refused.
    pub fn undo(&mut self) -> bool {
        if self.undo_refusal().is_some() {
            return false;
        }
        let spent = self.steps.undo().map(|undone| undone.case.spent_number);
        spent.map(|number| self.reserve_number(number)).is_some()
    }

    /// Redoes the last undone step; `false` where there is none, or it is refused.
    pub fn redo(&mut self) -> bool {
        if self.redo_refusal().is_some() {
            return false;
        }
        let spent = self.steps.redo().map(|step| step.case.spent_number);
        spent.map(|number| self.reserve_number(number)).is_some()
    }

    /// Marks a structure's number as used: it is never given again in this case, even after undo.
    pub fn reserve_number(&mut self, number: u32) {
        self.steps.now_mut().case.reserve_number(number);
    }

    pub fn can_undo(&self) -> bool {
        self.steps.can_undo()
    }

    pub fn can_redo(&self) -> bool {
        self.steps.can_redo()
    }
}

/// Whether a plan's beams have the map values of `current`, by number.
fn has_map_values_of(plan: &Plan, current: &Plan) -> bool {
    current
        .beams
        .iter()
        .filter(|beam| beam.map().is_some())
        .all(|beam| {
            let same_number = plan.beams.iter().find(|other| other.number == beam.number);
            let [map, other] = [Some(beam), same_number].map(|beam| beam?.map());
            map.map(|map| &map.values) == other.map(|map| &map.values)
        })
}

impl Case {
    fn change(&mut self, edit: Edit) -> Result<(), EditError> {
        self.reserve_number(0);
        match edit {
            Edit::Load(case) => *self = *case,
            Edit::AddPlan(plan) => self.plans.push(Arc::new(plan)),
            Edit::SetPlan { plan, mut value } => {
                let place = self.plans.get_mut(plan).ok_or(EditError::NoPlan(plan))?;
                value.name_turned_beams(place);
                *place = Arc::new(value);
            }
            Edit::RemovePlan { plan } => {
                if plan >= self.plans.len() {
                    return Err(EditError::NoPlan(plan));
                }
                self.plans.remove(plan);
            }
            Edit::SetApproval { plan, approval } => {
                if let Some(Approval { stage, by, .. }) = &approval
                    && by.trim().is_empty()
                {
                    return Err(ApprovalError::Nobody(*stage).into());
                }
                self.plan_mut(plan)?.approval = approval;
            }
            Edit::AddBeam { plan, beam } => self.plan_mut(plan)?.beams.push(beam),
            Edit::RemoveBeam { plan, beam } => {
                let beams = &mut self.plan_mut(plan)?.beams;
                if beam >= beams.len() {
                    return Err(EditError::NoBeam(beam));
                }
                beams.remove(beam);
            }
            Edit::SetBeam { plan, beam, value } => {
                let previous = self
                    .plans
                    .get(plan)
                    .map(Arc::clone)
                    .ok_or(EditError::NoPlan(plan))?;
                let next = self.plan_mut(plan)?;
                *next.beams.get_mut(beam).ok_or(EditError::NoBeam(beam))? = value;
                next.name_turned_beams(&previous);
            }
            Edit::SetFluences {
                plan,
                beams,
                answered_goals,
            } => {
                self.plan_mut(plan)?.normalisation = None;
                self.replace_beams(plan, beams)?;
                self.plan_mut(plan)?.set_answered_goals(answered_goals);
            }
            Edit::SetLeaves {
                plan,
                beams,
                answered_goals,
            } => {
                self.replace_beams(plan, beams)?;
                self.plan_mut(plan)?.set_answered_goals(answered_goals);
            }
            Edit::AddStructure(structure) => {
                self.check_identity(&structure, None)?;
                self.structures_mut().push(structure);
            }
            Edit::AddStructures(_, structures) => {
                for structure in structures {
                    self.check_identity(&structure, None)?;
                    self.structures_mut().push(structure);
                }
            }
            Edit::SetStructure { index, mut value } => {
                self.check_identity(&value, Some(index))?;
                let place = self
                    .structures_mut()
                    .get_mut(index)
                    .ok_or(EditError::NoStructure(index))?;
                // Whoever names it has told it apart from the other of its name.
                value.shared_name = value.shared_name.filter(|_| value.name == place.name);
                let previous = std::mem::replace(place, value.clone());
                self.rename_bolus(&previous.name, Some(&value.name));
                self.rename_source(&previous.name, &value.name);
            }
            Edit::SetStructures(_, structures) => {
                for (index, value) in structures {
                    self.check_identity(&value, Some(index))?;
                    *self
                        .structures_mut()
                        .get_mut(index)
                        .ok_or(EditError::NoStructure(index))? = value;
                }
            }
            Edit::RemoveStructure { index } => {
                let structures = self.structures_mut();
                if index >= structures.len() {
                    return Err(EditError::NoStructure(index));
                }
                let removed = structures.remove(index);
                self.rename_bolus(&removed.name, None);
            }
            Edit::AddPlanned {
                structures,
                goals,
                plan,
            } => {
                *self.structures_mut() = structures;
                self.goals = Some(goals.into());
                self.plans.push(Arc::new(*plan));
            }
            Edit::AddDose(dose) => self.doses.push(dose),
            Edit::SetGoals(goals) => self.goals = Some(goals.into()),
        }
        self.bind_references();
        self.reserve_number(0);
        Ok(())
    }

    /// Replaces beams of a plan by number.
    fn replace_beams(&mut self, plan: usize, beams: Vec<Beam>) -> Result<(), EditError> {
        let next = self.plan_mut(plan)?;
        for beam in beams {
            let number = beam.number as usize;
            let place = next.beams.iter_mut().find(|b| b.number == beam.number);
            *place.ok_or(EditError::NoBeam(number))? = beam;
        }
        Ok(())
    }

    /// Checks plans and structures that the case before the edit does not have.
    fn check_changes(&self, previous: &Self) -> Result<(), EditError> {
        let mut new_plans = self
            .plans
            .iter()
            .filter(|plan| !previous.plans.iter().any(|other| Arc::ptr_eq(other, plan)));
        let fault = new_plans.find_map(|plan| plan.fault());
        fault.map_or(Ok(()), |fault| Err(EditError::Plan(Box::new(fault))))?;
        let checked = &previous.structures.structures;
        let mut changed = self.structures.structures.iter().filter(|s| {
            // Contours of one identity are the same: their points need no look in each frame of a drag.
            !checked.iter().any(|other| {
                other.contours.id() == s.contours.id()
                    && other.points_mm == s.points_mm
                    && other.density == s.density
            })
        });
        let fault = changed.find_map(Structure::fault);
        fault.map_or(Ok(()), |fault| Err(EditError::Structure(Box::new(fault))))
    }

    /// Marks `number` and the structures' numbers as used.
    fn reserve_number(&mut self, number: u32) {
        let highest = self
            .structures
            .structures
            .iter()
            .map(|s| s.number)
            .max()
            .unwrap_or(0);
        self.spent_number = self.spent_number.max(highest).max(number);
    }

    /// Structures are identified by number and by name: no two may share either.
    fn check_identity(&self, structure: &Structure, index: Option<usize>) -> Result<(), EditError> {
        let others = self
            .structures
            .structures
            .iter()
            .enumerate()
            .filter(|(n, _)| Some(*n) != index);
        for (_, other) in others {
            if other.number == structure.number {
                return Err(EditError::NumberTaken(structure.number));
            }
            if is_same_name(&other.name, &structure.name) {
                return Err(EditError::NameTaken(other.name.clone()));
            }
        }
        Ok(())
    }

    /// Beams name the boluses that are taken off for them: the names follow a rename, and go with the structure.
    fn rename_bolus(&mut self, old: &str, new: Option<&str>) {
        if new == Some(old) {
            return;
        }
        for plan in &mut self.plans {
            if plan.beams.iter().any(|beam| beam.is_without_bolus(old)) {
                let beams = Arc::make_mut(plan).beams.iter_mut();
                for beam in beams.filter(|beam| beam.is_without_bolus(old)) {
                    beam.set_bolus(old, true);
                    new.into_iter().for_each(|new| beam.set_bolus(new, false));
                }
            }
        }
    }

    /// Plans refer to structures by number: a name is resolved once, and then follows every rename. A removed
    /// structure leaves only its name, so that its number can never lead to another structure.
    pub fn bind_references(&mut self) {
        let structures = Arc::clone(&self.structures);
        for plan in &mut self.plans {
            let objectives = plan.objectives.bound_to(&structures);
            if objectives != plan.objectives {
                Arc::make_mut(plan).objectives = objectives;
            }
            let Some(normalisation) = &plan.normalisation else {
                continue;
            };
            let Some((name, number)) = normalisation.structure() else {
                continue;
            };
            let number = number.filter(|n| structures.by_number(*n).is_some());
            let bound = match structures.referenced(number, name) {
                Ok(to) => normalisation.of_structure(&to.name, Some(to.number)),
                Err(_) => normalisation.of_structure(name, None),
            };
            if bound != *normalisation {
                Arc::make_mut(plan).normalisation = Some(bound);
            }
        }
        self.bind_goals();
    }

    /// As plans, goals follow their structure by number.
    fn bind_goals(&mut self) {
        let Some(goals) = &self.goals else { return };
        let set = &self.structures;
        if !goals.iter().all(|goal| is_bound(goal, set)) {
            self.goals = Some(goals.iter().map(|goal| bound_to(goal, set)).collect());
        }
    }

    /// Plans that refer to a structure, by index.
    pub fn plans_normalised_to(&self, structure: u32) -> Vec<usize> {
        let referring = self.plans.iter().enumerate().filter(|(_, plan)| {
            let to = plan
                .normalisation
                .as_ref()
                .and_then(|n| self.structures.normalised_to(n));
            to.is_some_and(|to| to.is_ok_and(|s| s.number == structure))
        });
        referring.map(|(n, _)| n).collect()
    }

    fn plan_mut(&mut self, plan: usize) -> Result<&mut Plan, EditError> {
        self.plans
            .get_mut(plan)
            .map(Arc::make_mut)
            .ok_or(EditError::NoPlan(plan))
    }

    pub(super) fn structures_mut(&mut self) -> &mut Vec<Structure> {
        &mut Arc::make_mut(&mut self.structures).structures
    }
}

/// Whether a goal refers to its structure by number and name, or to none of the set.
fn is_bound(goal: &Goal, set: &StructureSet) -> bool {
    goal.number.and_then(|n| set.by_number(n)).map_or_else(
        || goal.number.is_none() && set.referenced(None, &goal.structure).is_err(),
        |s| s.name == goal.structure,
    )
}

/// A goal that refers to its structure in the set by number and name; without the structure by name alone.
fn bound_to(goal: &Goal, set: &StructureSet) -> Goal {
    let number = goal.number.filter(|n| set.by_number(*n).is_some());
    match set.referenced(number, &goal.structure) {
        Ok(to) => goal.clone().of_structure(&to.name, Some(to.number)),
        Err(_) => goal.clone().of_structure(&goal.structure, None),
    }
}

#[cfg(test)]
mod tests;
