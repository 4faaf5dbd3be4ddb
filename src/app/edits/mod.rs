//! The user's commands, applied to the state.

use super::command::NewShape;
use super::state::display::DoseReference;
use super::state::roi::{self, Shape};
use super::state::{NoticeKind, Selection, State, Workspace};
use analysis::target_of;
use case::{Edit, EditError, Normalisation, Plan, StructureKind};
use geometry::wrapped_deg;
use glam::DVec3;
use std::cmp::Ordering;
use std::sync::Arc;

impl State {
    /// Undoes a step: of the pose while X-rays are registered, else of the case.
    pub fn undo(&mut self) {
        match self.workspace {
            _ if !self.can_undo() => {}
            Workspace::Register => {
                self.register.poses.undo();
            }
            Workspace::Plan | Workspace::Compare => {
                let previous_plans = self.case().plans.clone();
                self.refuse(self.history.undo_refusal());
                self.history.undo();
                self.follow_plans(&previous_plans);
            }
        }
    }

    /// Redoes the step undone last, as [`Self::undo`] undoes it.
    pub fn redo(&mut self) {
        match self.workspace {
            _ if !self.can_redo() => {}
            Workspace::Register => {
                self.register.poses.redo();
            }
            Workspace::Plan | Workspace::Compare => {
                let previous_plans = self.case().plans.clone();
                self.refuse(self.history.redo_refusal());
                self.history.redo();
                self.follow_plans(&previous_plans);
            }
        }
    }

    /// A widget's gesture as a step of the history: a later drag of the same widget is another step.
    pub fn step_of(&self, gesture: Option<u64>) -> Option<u64> {
        gesture.map(|g| g ^ self.gestures.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Applies an edit; a gesture's edits undo together until the pointer button is released.
    pub fn edit(&mut self, edit: Edit, gesture: Option<u64>) {
        // Apertures that follow join the step.
        let gesture = self
            .step_of(gesture)
            .or_else(|| self.aperture.follows.then(|| self.fits.own_gesture()));
        self.edit_within(edit, gesture);
    }

    /// Applies an edit as part of the step of the history with this gesture.
    pub(crate) fn edit_within(&mut self, edit: Edit, gesture: Option<u64>) {
        let previous_plans = self.case().plans.clone();
        if let Err(error) = self.history.apply(edit, gesture) {
            return self.refuse(Some(error));
        }
        self.follow_plans(&previous_plans);
    }

    /// Undoes or redoes until this many steps of the case are done, as far as approved plans let it.
    pub fn step_to(&mut self, done: usize) {
        self.history.go_to(done);
        let current = self.history.done();
        let refusal = match current.cmp(&done) {
            Ordering::Greater => self.history.undo_refusal(),
            Ordering::Less => self.history.redo_refusal(),
            Ordering::Equal => None,
        };
        self.refuse(refusal);
    }

    fn refuse(&mut self, refusal: Option<EditError>) {
        if let Some(why) = refusal {
            self.notices.add(
                NoticeKind::Error,
                format!("The change was not made: {why}."),
            );
        }
    }

    /// Applies the edited HU table; an invalid table stays a draft and reports why.
    pub fn use_hu_draft(&mut self) {
        let Some(draft) = &self.hu_draft else { return };
        match draft.table() {
            Ok(table) => {
                self.results.settings.hu_table = Arc::new(table);
                self.hu_draft = None;
            }
            Err(why) => {
                self.notices.add(
                    NoticeKind::Error,
                    format!("The HU table is not used: {why}."),
                );
            }
        }
    }

    /// Turns a beam so that its displayed control point stands at `gantry_deg`; all others turn alike.
    pub fn turn_gantry(&mut self, beam: usize, gantry_deg: f64, gesture: Option<u64>) {
        let Some(plan) = self.plan() else { return };
        let Some(mut value) = plan.beams.get(beam).cloned() else {
            return;
        };
        let shown = value.control_points.get(self.shown_point(&value));
        let Some(start) = shown.map(|p| p.gantry_deg) else {
            return;
        };
        for point in &mut value.control_points {
            point.gantry_deg = wrapped_deg(point.gantry_deg + gantry_deg - start);
        }
        self.edit(
            Edit::SetBeam {
                plan: self.plan,
                beam,
                value,
            },
            gesture,
        );
    }

    pub fn add_plan(&mut self) {
        let Some(ct) = &self.case().ct else { return };
        let mut plan = Plan::new(
            &self.free_plan_name(&format!("P{}", self.case().plans.len() + 1)),
            "generic-6mv",
        );
        plan.position = ct.position;
        plan.prescription_gy = Some(60.0);
        plan.fractions = 30;
        let target = target_of(&plan, &self.case().structures);
        plan.normalisation = target.map(|s| Normalisation::of_target(&s.name, Some(s.number)));
        let index = self.case().plans.len();
        self.edit(Edit::AddPlan(plan), None);
        self.dose_display.reference = DoseReference::Prescription;
        self.plan = index;
        self.selection = Selection::Plan;
    }

    pub fn add_shape(&mut self, shape: NewShape) {
        let state = &*self;
        let Some(ct) = &state.case().ct else { return };
        let centre_mm = state.crosshair_mm;
        let shape = match shape {
            NewShape::Sphere => Shape::Sphere {
                centre_mm,
                radius_mm: 20.0,
            },
            NewShape::Box => Shape::Box {
                centre_mm,
                size_mm: DVec3::splat(40.0),
            },
        };
        let mut structure = roi::new_structure(state.case(), shape.name(), StructureKind::Other);
        structure.contours = shape.contours(ct.hu.grid());
        let number = structure.number;
        self.shapes.remember(&structure, shape);
        self.edit(Edit::AddStructure(structure), None);
        self.selection = Selection::Structure(number);
        // Its handles have the drag.
        self.drawing.leave();
    }

    pub fn remove_structure(&mut self, number: u32, sure: bool) {
        let case = self.case();
        let Some(index) = case
            .structures
            .structures
            .iter()
            .position(|s| s.number == number)
        else {
            return;
        };
        if !sure && !case.plans_normalised_to(number).is_empty() {
            self.removal = Some(number);
            return;
        }
        self.removal = None;
        self.edit(Edit::RemoveStructure { index }, None);
    }

    pub fn reshape(&mut self, number: u32, shape: Shape, gesture: Option<u64>) {
        let case = self.case();
        let Some(ct) = &case.ct else { return };
        let Some(index) = case
            .structures
            .structures
            .iter()
            .position(|s| s.number == number)
        else {
            return;
        };
        let mut value = case.structures.structures[index].clone();
        value.contours = shape.contours(ct.hu.grid());
        self.shapes.remember(&value, shape);
        self.edit(Edit::SetStructure { index, value }, gesture);
    }
}
