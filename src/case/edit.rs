//! Edits as values, with undo.

use super::structure::is_same_name;
use super::{Beam, Case, Dose, Goal, Plan, PlanFault, Steps, Structure, StructureFault};
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
    /// Replaces beams, by number, with those that have fluence maps, as one step. The maps give the dose that was asked for: the
    /// plan is not normalised.
    SetFluences {
        plan: usize,
        beams: Vec<Beam>,
    },
    /// Replaces beams, by number, with those whose leaves were cut from their maps, as one step.
    SetLeaves {
        plan: usize,
        beams: Vec<Beam>,
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
    #[error(transparent)]
    Plan(Box<PlanFault>),
    #[error(transparent)]
    Structure(Box<StructureFault>),
}

/// A case with its undo history. Cases are cheap to clone, so a step is a whole case.
#[derive(Debug, Default)]
pub struct History {
    steps: Steps<Step>,
}

/// A case, and the name of the edit that led to it.
#[derive(Clone, Debug, Default)]
struct Step {
    case: Case,
    name: String,
}

impl History {
    pub fn new(case: Case) -> Self {
        Self { steps: Steps::at(Step { case, name: String::new() }) }
    }

    pub fn case(&self) -> &Case {
        &self.steps.now().case
    }

    /// Names of all steps, oldest first: [`Self::done`] of them are done, the others are undone.
    pub fn names(&self) -> Vec<&str> {
        let now = std::iter::once(self.steps.now());
        let steps = self.steps.past().iter().chain(now).chain(self.steps.future().iter().rev());
        steps.skip(1).map(|step| step.name.as_str()).collect()
    }

    /// The plan as it was before it got the fluence maps that it has, latest first; `None` where the history does not reach back so far.
    pub fn plan_before_maps(&self, plan: usize) -> Option<&Arc<Plan>> {
        let (mut plans, mut place) = (&self.case().plans, plan);
        let now = plans.get(plan)?;
        let has_maps_of_now = |before: &Arc<Plan>| {
            let same = |beam: &Beam| {
                let other = before.beams.iter().find(|other| other.number == beam.number);
                let [own, other] = [Some(beam), other].map(|beam| beam?.map());
                own.map(|map| &map.values) == other.map(|map| &map.values)
            };
            now.beams.iter().filter(|b| b.map().is_some()).all(same)
        };
        for step in self.steps.past().iter().rev() {
            let kept = step.case.plans.iter().position(|before| Arc::ptr_eq(before, &plans[place]));
            place = kept.or((step.case.plans.len() == plans.len()).then_some(place))?;
            plans = &step.case.plans;
            // One that stayed has the maps of the step after it.
            if kept.is_none() && !has_maps_of_now(&plans[place]) {
                return Some(&plans[place]);
            }
        }
        None
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
        let began = self.steps.past().last().filter(|_| self.steps.goes_on(gesture));
        let name = edit.name(began.map_or(self.case(), |step| &step.case));
        let mut case = self.case().clone();
        case.change(edit)?;
        case.check_changes(self.case())?;
        self.steps.set(Step { case, name }, gesture);
        Ok(())
    }

    /// The gesture of the last step, which more of its edits would join.
    pub fn gesture(&self) -> Option<u64> {
        self.steps.gesture()
    }

    /// Undoes the last step; `false` where the history is empty.
    pub fn undo(&mut self) -> bool {
        let spent = self.steps.undo().map(|undone| undone.case.spent_number);
        spent.map(|number| self.reserve_number(number)).is_some()
    }

    /// Redoes the last undone step; `false` where there is none.
    pub fn redo(&mut self) -> bool {
        let spent = self.steps.redo().map(|before| before.case.spent_number);
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
            Edit::AddBeam { plan, beam } => self.plan_mut(plan)?.beams.push(beam),
            Edit::RemoveBeam { plan, beam } => {
                let beams = &mut self.plan_mut(plan)?.beams;
                if beam >= beams.len() {
                    return Err(EditError::NoBeam(beam));
                }
                beams.remove(beam);
            }
            Edit::SetBeam { plan, beam, value } => {
                let before = self.plans.get(plan).map(Arc::clone).ok_or(EditError::NoPlan(plan))?;
                let next = self.plan_mut(plan)?;
                *next.beams.get_mut(beam).ok_or(EditError::NoBeam(beam))? = value;
                next.name_turned_beams(&before);
            }
            Edit::SetFluences { plan, beams } => {
                self.plan_mut(plan)?.normalisation = None;
                self.replace_beams(plan, beams)?;
            }
            Edit::SetLeaves { plan, beams } => self.replace_beams(plan, beams)?,
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
            Edit::SetStructure { index, value } => {
                self.check_identity(&value, Some(index))?;
                let place = self.structures_mut().get_mut(index).ok_or(EditError::NoStructure(index))?;
                let before = std::mem::replace(place, value.clone());
                self.rename_bolus(&before.name, Some(&value.name));
            }
            Edit::SetStructures(_, structures) => {
                for (index, value) in structures {
                    self.check_identity(&value, Some(index))?;
                    *self.structures_mut().get_mut(index).ok_or(EditError::NoStructure(index))? = value;
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

    /// Checks plans and structures that are not those of the case before the edit.
    fn check_changes(&self, before: &Self) -> Result<(), EditError> {
        let is_new = |plan: &&Arc<Plan>| !before.plans.iter().any(|known| Arc::ptr_eq(known, plan));
        let fault = self.plans.iter().filter(is_new).find_map(|plan| plan.fault());
        fault.map_or(Ok(()), |fault| Err(EditError::Plan(Box::new(fault))))?;
        let known = &before.structures.structures;
        let is_known = |s: &&Structure| {
            // Contours of one identity are the same: their points need no look in each frame of a drag.
            known.iter().any(|k| {
                k.contours.id() == s.contours.id() && k.points_mm == s.points_mm && k.density == s.density
            })
        };
        let mut changed = self.structures.structures.iter().filter(|s| !is_known(s));
        let fault = changed.find_map(Structure::fault);
        fault.map_or(Ok(()), |fault| Err(EditError::Structure(Box::new(fault))))
    }

    /// Marks `number` and those of the structures as used.
    fn reserve_number(&mut self, number: u32) {
        let highest = self.structures.structures.iter().map(|s| s.number).max().unwrap_or(0);
        self.spent_number = self.spent_number.max(highest).max(number);
    }

    /// Structures are identified by number and by name: no two may share either.
    fn check_identity(&self, structure: &Structure, own: Option<usize>) -> Result<(), EditError> {
        let others = self.structures.structures.iter().enumerate().filter(|(n, _)| Some(*n) != own);
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
    fn rename_bolus(&mut self, before: &str, now: Option<&str>) {
        if now == Some(before) {
            return;
        }
        for plan in &mut self.plans {
            let names = |beam: &Beam| beam.without_boluses.iter().any(|name| is_same_name(name, before));
            if plan.beams.iter().any(names) {
                for beam in Arc::make_mut(plan).beams.iter_mut().filter(|beam| names(beam)) {
                    beam.set_bolus(before, true);
                    now.into_iter().for_each(|now| beam.set_bolus(now, false));
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
            let Some(now) = &plan.normalisation else { continue };
            let Some((name, number)) = now.structure() else { continue };
            let number = number.filter(|n| structures.by_number(*n).is_some());
            let bound = match structures.referenced(number, name) {
                Ok(to) => now.of_structure(&to.name, Some(to.number)),
                Err(_) => now.of_structure(name, None),
            };
            if bound != *now {
                Arc::make_mut(plan).normalisation = Some(bound);
            }
        }
        self.bind_goals();
    }

    /// As plans, goals follow their structure by number.
    fn bind_goals(&mut self) {
        let Some(goals) = &self.goals else { return };
        let set = &self.structures;
        let bound = |goal: &Goal| {
            let number = goal.number.filter(|n| set.by_number(*n).is_some());
            match set.referenced(number, &goal.structure) {
                Ok(to) => goal.clone().of_structure(&to.name, Some(to.number)),
                Err(_) => goal.clone().of_structure(&goal.structure, None),
            }
        };
        let stands = |goal: &Goal| {
            let of = goal.number.and_then(|n| set.by_number(n));
            of.map_or_else(
                || goal.number.is_none() && set.referenced(None, &goal.structure).is_err(),
                |s| s.name == goal.structure,
            )
        };
        if !goals.iter().all(stands) {
            self.goals = Some(goals.iter().map(bound).collect());
        }
    }

    /// Plans that refer to a structure, by index.
    pub fn plans_normalised_to(&self, structure: u32) -> Vec<usize> {
        let refers = |plan: &Plan| {
            let to = plan.normalisation.as_ref().and_then(|n| self.structures.normalised_to(n));
            to.is_some_and(|to| to.is_ok_and(|s| s.number == structure))
        };
        (0..self.plans.len()).filter(|n| refers(&self.plans[*n])).collect()
    }

    fn plan_mut(&mut self, plan: usize) -> Result<&mut Plan, EditError> {
        self.plans.get_mut(plan).map(Arc::make_mut).ok_or(EditError::NoPlan(plan))
    }

    fn structures_mut(&mut self) -> &mut Vec<Structure> {
        &mut Arc::make_mut(&mut self.structures).structures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jaws, StructureSet};
    use glam::DVec3;

    fn beam(gantry: f64) -> Beam {
        Beam::fixed("B", 1, gantry, DVec3::ZERO, Jaws::symmetric(100.0, 100.0), 100.0)
    }

    fn gantry(h: &History) -> f64 {
        h.case().plans[0].beams[0].control_points[0].gantry_deg
    }

    #[test]
    fn a_drag_undoes_as_one_step() {
        let mut h = History::default();
        h.apply(Edit::AddPlan(Plan::new("P", "generic-6mv")), None).unwrap();
        h.apply(Edit::AddBeam { plan: 0, beam: beam(0.0) }, None).unwrap();
        for degrees in 1..=5 {
            h.apply(Edit::SetBeam { plan: 0, beam: 0, value: beam(f64::from(degrees)) }, Some(7)).unwrap();
        }
        assert_eq!(gantry(&h), 5.0);
        assert!(h.undo());
        assert_eq!(gantry(&h), 0.0);
        assert!(h.redo());
        assert_eq!(gantry(&h), 5.0);
    }

    /// A body chosen by number, for example, never becomes another structure.
    #[test]
    fn the_number_of_a_structure_that_is_gone_is_not_given_again() {
        let structure = |number: u32| Structure {
            name: format!("S{number}"),
            number,
            kind: crate::StructureKind::Other,
            colour: crate::Rgb([0; 3]),
            contours: crate::Contours::default(),
            points_mm: Vec::new(),
            density: None,
        };
        let structures = vec![structure(3), structure(7)];
        let set = StructureSet { structures, ..StructureSet::default() };
        let mut h = History::default();
        let case = Case { structures: Arc::new(set), ..Case::default() };
        h.apply(Edit::Load(Box::new(case)), None).unwrap();
        h.apply(Edit::RemoveStructure { index: 1 }, None).unwrap();
        assert_eq!(h.case().free_number(), 8);
        h.apply(Edit::AddStructure(structure(8)), None).unwrap();
        assert!(h.undo());
        assert_eq!(h.case().free_number(), 9, "made, and undone");
        assert!(h.undo());
        assert_eq!(h.case().structures.by_number(7), Some(&structure(7)), "undone, it is back as it was");
        assert_eq!(h.case().free_number(), 9);
        assert!(h.redo() && h.redo());
        assert_eq!(h.case().structures.structures, [structure(3), structure(8)]);
        h.reserve_number(20);
        assert_eq!(h.case().free_number(), 21);
        h.apply(Edit::Load(Box::default()), None).unwrap();
        assert_eq!(h.case().free_number(), 1, "another case");
    }

    #[test]
    fn boluses_that_are_taken_off_a_beam_follow_their_structure() {
        let bolus = |name: &str, number: u32| Structure {
            name: name.to_owned(),
            number,
            kind: crate::StructureKind::Bolus,
            colour: crate::Rgb([0; 3]),
            contours: crate::Contours::default(),
            points_mm: Vec::new(),
            density: None,
        };
        let mut plan =
            Plan { beams: vec![beam(0.0), Beam { number: 2, ..beam(9.0) }], ..Plan::new("P", "generic-6mv") };
        plan.beams[0].set_bolus("gel", false);
        let set =
            StructureSet { structures: vec![bolus("Gel", 1), bolus("Wax", 2)], ..StructureSet::default() };
        let case = Case { structures: Arc::new(set), plans: vec![Arc::new(plan)], ..Case::default() };
        let mut h = History::default();
        h.apply(Edit::Load(Box::new(case)), None).unwrap();
        let meets = |h: &History| {
            let case = h.case();
            let of =
                |beam: &Beam| case.structures.structures.iter().map(|s| beam.meets(s)).collect::<Vec<_>>();
            case.plans[0].beams.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(meets(&h), [[false, true], [true, true]]);
        h.apply(Edit::SetStructure { index: 0, value: bolus("Sheet", 1) }, None).unwrap();
        assert_eq!(meets(&h), [[false, true], [true, true]]);
        h.apply(Edit::RemoveStructure { index: 0 }, None).unwrap();
        h.apply(Edit::AddStructure(bolus("Sheet", 3)), None).unwrap();
        assert_eq!(meets(&h), [[true, true], [true, true]], "another of its name");
        assert!(h.undo() && h.undo());
        assert_eq!(meets(&h), [[false, true], [true, true]]);
    }

    #[test]
    fn goals_follow_their_structure_and_no_other_takes_its_place() {
        let structure = |name: &str, number: u32| Structure {
            name: name.to_owned(),
            number,
            kind: crate::StructureKind::Organ,
            colour: crate::Rgb([0; 3]),
            contours: crate::Contours::default(),
            points_mm: Vec::new(),
            density: None,
        };
        let set = StructureSet { structures: vec![structure("Cord", 1)], ..StructureSet::default() };
        let mut h = History::default();
        h.apply(Edit::Load(Box::new(Case { structures: Arc::new(set), ..Case::default() })), None).unwrap();
        let goals = vec!["cord: Dmax <= 45 Gy".parse().unwrap(), "Heart: Dmean <= 26 Gy".parse().unwrap()];
        h.apply(Edit::SetGoals(goals), None).unwrap();
        let of = |h: &History| -> Vec<(String, Option<u32>)> {
            let goals = h.case().goals.clone().unwrap_or_default();
            goals.iter().map(|g| (g.structure.clone(), g.number)).collect()
        };
        let heart = ("Heart".to_owned(), None);
        assert_eq!(of(&h), [("Cord".to_owned(), Some(1)), heart.clone()]);
        h.apply(Edit::SetStructure { index: 0, value: structure("SpinalCord", 1) }, None).unwrap();
        assert_eq!(of(&h), [("SpinalCord".to_owned(), Some(1)), heart.clone()]);
        h.apply(Edit::RemoveStructure { index: 0 }, None).unwrap();
        assert_eq!(of(&h)[0], ("SpinalCord".to_owned(), None));
        h.apply(Edit::AddStructure(structure("Other", 2)), None).unwrap();
        assert_eq!(of(&h)[0].1, None);
        h.apply(Edit::AddStructure(structure("Heart", 3)), None).unwrap();
        assert_eq!(of(&h)[1], ("Heart".to_owned(), Some(3)));
        for _ in 0..5 {
            assert!(h.undo());
        }
        assert_eq!(h.case().goals, None);
    }

    #[test]
    fn the_plan_before_its_maps_is_found_through_other_edits() {
        let map = |value: f32| crate::FluenceMap {
            axis: crate::MlcAxis::X,
            rows_mm: vec![0.0, 5.0],
            first_mm: 0.0,
            step_mm: 5.0,
            columns: 1,
            values: vec![value],
        };
        let mut h = History::default();
        let other = Plan { beams: vec![beam(9.0)], ..Plan::new("Other", "generic-6mv") };
        let forward = Plan { beams: vec![beam(0.0)], ..Plan::new("P", "generic-6mv") };
        h.apply(Edit::AddPlan(other), None).unwrap();
        h.apply(Edit::AddPlan(forward.clone()), None).unwrap();
        assert_eq!(h.plan_before_maps(1), None, "it has no maps");
        let optimised = |value: f32| vec![Beam { fluence: Some(map(value)), ..beam(0.0) }];
        h.apply(Edit::SetFluences { plan: 1, beams: optimised(0.5) }, None).unwrap();
        let renamed = Plan { name: "Q".to_owned(), ..(*h.case().plans[1]).clone() };
        h.apply(Edit::SetPlan { plan: 1, value: renamed.clone() }, None).unwrap();
        h.apply(Edit::AddBeam { plan: 1, beam: Beam { number: 2, ..beam(40.0) } }, None).unwrap();
        h.apply(Edit::RemovePlan { plan: 0 }, None).unwrap();
        assert_eq!(h.plan_before_maps(0).map(|plan| &**plan), Some(&forward));
        h.apply(Edit::SetFluences { plan: 0, beams: optimised(0.7) }, None).unwrap();
        let before = h.plan_before_maps(0).expect("the maps before");
        assert_eq!((&*before.name, &before.beams[0]), ("Q", &renamed.beams[0]));
        // Leaves that are cut from the maps change none of them.
        let maps = h.case().plans[0].beams[0].clone();
        let from = crate::CutFrom { map: map(0.7), mu: maps.mu, limits: Vec::new() };
        let leaves = Beam { fluence: None, cut_from: Some(Box::new(from)), ..maps.clone() };
        h.apply(Edit::SetLeaves { plan: 0, beams: vec![leaves] }, None).unwrap();
        assert_eq!(h.names().last(), Some(&"Make plan Q deliverable"));
        assert_eq!(h.case().plans[0].uncut().beams[0], maps);
        assert_eq!(h.plan_before_maps(0).map(|plan| &plan.beams[0]), Some(&renamed.beams[0]));
        h.go_to(3);
        assert_eq!(h.plan_before_maps(1).map(|plan| &**plan), Some(&forward));
        assert_eq!(h.plan_before_maps(0), None, "the other plan has none");
        assert_eq!(h.plan_before_maps(7), None);
    }

    #[test]
    fn a_wrong_edit_changes_nothing() {
        let mut h = History::default();
        assert_eq!(h.apply(Edit::AddBeam { plan: 3, beam: beam(0.0) }, None), Err(EditError::NoPlan(3)));
        assert!(!h.can_undo());
    }

    #[test]
    fn a_step_of_the_list_is_reached_from_either_side() {
        let mut h = History::default();
        h.apply(Edit::AddPlan(Plan::new("P", "generic-6mv")), None).unwrap();
        h.apply(Edit::AddBeam { plan: 0, beam: beam(0.0) }, None).unwrap();
        for degrees in [1.0, 2.0, 2.0] {
            h.apply(Edit::SetBeam { plan: 0, beam: 0, value: beam(degrees) }, Some(7)).unwrap();
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
}
