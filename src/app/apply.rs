//! Commands carried out: the one place where the state changes by the user's hand.

use super::App;
use super::command::{Command, NewShape};
use super::dialog::Ask;
use super::display::DoseReference;
use super::files::Opening;
use super::follow::Shown;
use super::panel::wrapped;
use super::roi::{self, Shape};
use super::state::{NoticeKind, Selection, Workspace};
use super::view::ViewState;
use crate::app::slot::Slot;
use crate::case::{Beam, Edit, Jaws, Plan, StructureKind};
use crate::dicom::Choice;
use glam::DVec3;
use std::sync::Arc;

impl App {
    /// Carries out a command, then derives what is on view anew: no dose outlives the case it answers.
    pub(super) fn apply(&mut self, command: Command) {
        self.carry_out(command);
        self.state.derive_standing();
    }

    fn carry_out(&mut self, command: Command) {
        let state = &mut self.state;
        match command {
            Command::Undo if !state.can_undo() => {}
            Command::Redo if !state.can_redo() => {}
            Command::Undo if state.workspace == Workspace::Register => {
                state.register.poses.undo();
            }
            Command::Redo if state.workspace == Workspace::Register => {
                state.register.poses.redo();
            }
            Command::Undo => {
                state.history.undo();
            }
            Command::Redo => {
                state.history.redo();
            }
            Command::Edit { edit, gesture } => self.edit(edit, gesture),
            Command::AddPlan => self.add_plan(),
            Command::AddBeam => self.add_beam(),
            Command::AddShape(shape) => self.add_shape(shape),
            Command::RemoveStructure { number, sure } => self.remove_structure(number, sure),
            Command::AskRemoval(number) => state.removal = number,
            Command::Reshape { structure, shape, gesture } => self.reshape(structure, shape, gesture),
            Command::Select(what) => state.selection = what,
            Command::ShowPlan(index) => {
                state.plan = index;
                state.selection = Selection::Plan;
            }
            Command::ShowStructure { number, shown } => {
                if shown {
                    state.hidden.remove(&number);
                } else {
                    state.hidden.insert(number);
                }
            }
            Command::ShowAllStructures(shown) => {
                let numbers = state.history.case().structures.structures.iter().map(|s| s.number);
                state.hidden = if shown { Default::default() } else { numbers.collect() };
            }
            Command::ShowBeams(shown) => state.show_beams = shown,
            Command::Window(window) => state.window = window,
            Command::DoseDisplay(display) => state.dose_display = display,
            Command::DvhDisplay(display) => state.dvh_display = display,
            Command::Compute(settings) => state.follow.settings = settings,
            Command::Engine { plan, choice } => {
                state.follow.engines.insert(plan, choice);
                if choice.monte_carlo && matches!(state.follow.shown, Shown::Beam(_)) {
                    // There is no dose by beam.
                    state.follow.shown = Shown::Plan;
                }
            }
            Command::KeepRun => state.follow.keep_run(),
            Command::ShowDose(shown) => state.follow.shown = shown,
            Command::Workspace(workspace) => state.workspace = workspace,
            Command::Compare(compare) => state.compare = compare,
            Command::SaveReport(path) => self.write(Ask::SaveReport, path, false),
            Command::MakeDose(weights) => self.make_dose(weights),
            Command::Register(action) => self.register(action),
            Command::ToggleMaximise(kind) => {
                for view in &mut self.views {
                    view.maximised = view.kind == kind && !view.maximised;
                }
            }
            Command::FitViews => {
                self.views.iter_mut().for_each(ViewState::fit);
                self.radiographs = Default::default();
            }
            Command::Hover(mm) => state.pointer_mm = mm,
            Command::Gantry { beam, gantry_deg, gesture } => self.turn_gantry(beam, gantry_deg, gesture),
            Command::CentreOn(mm) => state.crosshair_mm = mm,
            Command::GoTo(mm) => {
                state.crosshair_mm = mm;
                for view in self.views.iter_mut().filter(|v| v.centre_mm.is_some()) {
                    view.centre_mm = Some(mm);
                }
            }
            Command::Cancel(slot) => {
                if let Slot::Result(place) = slot {
                    state.follow.cancelled(place);
                }
                self.worker.cancel(slot);
            }
            Command::Dismiss(id) => state.notices.dismiss(id),
            Command::Notice(kind, text) => state.notices.add(kind, text),
            Command::About(open) => state.about_open = open,
            Command::AddBody => self.add_body(),
            Command::Open(word) => self.open(&word),
            Command::OpenSeries(index) => {
                if let Some(word) = state.origin.as_ref().map(|o| o.word.clone()) {
                    let choice = Choice { series: Some(index), ..Choice::default() };
                    self.open_or_ask(Opening { choice, ..Opening::of(word) });
                }
            }
            Command::Recompute => state.follow.forget_failures(),
            Command::Pick(ask) => self.pick(ask),
            Command::OpenHuTable(path) => self.open_hu_table(path),
            Command::SaveHuTable(path) => self.write(Ask::SaveHuTable, path, false),
            Command::HuDraft(draft) => state.hu_draft = draft,
            Command::UseHuDraft => self.use_hu_draft(),
            Command::Save => self.save(),
            Command::Reply(reply) => self.reply(reply),
            Command::Replace(sure) => self.replace(sure),
            Command::Recover(path) => self.recover(path),
            Command::DiscardLeftOver(path) => self.discard_left_over(path),
            Command::LeaveLeftOvers => state.left_over.clear(),
            Command::SavePlan(path) => self.write(Ask::SavePlan, path, false),
            Command::SaveSession(path) => self.write(Ask::SaveSession, path, false),
        }
    }

    /// Applies an edit; a gesture's edits undo together until the pointer is let go.
    fn edit(&mut self, edit: Edit, gesture: Option<u64>) {
        let gesture = gesture.map(|g| g ^ self.gestures.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if let Err(error) = self.state.history.apply(edit, gesture) {
            self.state.notices.add(NoticeKind::Error, format!("The change was not made: {error}."));
        }
    }

    /// Puts the edited HU table in force; one that cannot be says why and stays a draft.
    fn use_hu_draft(&mut self) {
        let Some(draft) = &self.state.hu_draft else { return };
        match draft.table() {
            Ok(table) => {
                self.state.follow.settings.hu_table = Arc::new(table);
                self.state.hu_draft = None;
            }
            Err(why) => {
                self.state.notices.add(NoticeKind::Error, format!("The HU table is not used: {why}."));
            }
        }
    }

    /// Turns a beam so that its first control point stands at `gantry_deg`; all others turn alike.
    fn turn_gantry(&mut self, beam: usize, gantry_deg: f64, gesture: Option<u64>) {
        let Some(plan) = self.state.plan() else { return };
        let Some(mut value) = plan.beams.get(beam).cloned() else { return };
        let Some(start) = value.start().map(|p| p.gantry_deg) else { return };
        for point in &mut value.control_points {
            point.gantry_deg = wrapped(point.gantry_deg + gantry_deg - start);
        }
        self.edit(Edit::SetBeam { plan: self.state.plan, beam, value }, gesture);
    }

    fn add_plan(&mut self) {
        let Some(ct) = &self.state.case().ct else { return };
        let mut plan = Plan::new(&format!("P{}", self.state.case().plans.len() + 1), "generic-6mv");
        plan.position = ct.position;
        plan.prescription_gy = Some(60.0);
        plan.fractions = 30;
        let index = self.state.case().plans.len();
        self.edit(Edit::AddPlan(plan), None);
        self.state.dose_display.reference = DoseReference::Prescription;
        self.state.plan = index;
        self.state.selection = Selection::Plan;
    }

    /// A new beam at the isocentre of the others, else at the middle of the target, else at the crosshair.
    fn add_beam(&mut self) {
        let state = &self.state;
        let Some(plan) = state.plan() else { return };
        let number = plan.beams.iter().map(|b| b.number).max().unwrap_or(0) + 1;
        let isocentre_mm = plan
            .beams
            .last()
            .map(|b| b.isocentre_mm)
            .or_else(|| roi::target_middle_mm(state.case()))
            .unwrap_or(state.crosshair_mm);
        let name = format!("Beam {number}");
        let beam = Beam::fixed(&name, number, 0.0, isocentre_mm, Jaws::symmetric(100.0, 100.0), 100.0);
        self.edit(Edit::AddBeam { plan: self.state.plan, beam }, None);
        self.state.selection = Selection::Beam(number);
    }

    fn add_shape(&mut self, shape: NewShape) {
        let state = &self.state;
        let Some(ct) = &state.case().ct else { return };
        let centre_mm = state.crosshair_mm;
        let shape = match shape {
            NewShape::Sphere => Shape::Sphere { centre_mm, radius_mm: 20.0 },
            NewShape::Box => Shape::Box { centre_mm, size_mm: DVec3::splat(40.0) },
        };
        let mut structure = roi::new_structure(state.case(), shape.name(), StructureKind::Other);
        structure.contours = shape.contours(ct.hu.grid());
        let number = structure.number;
        self.state.shapes.remember(&structure, shape);
        self.edit(Edit::AddStructure(structure), None);
        self.state.selection = Selection::Structure(number);
    }

    fn remove_structure(&mut self, number: u32, sure: bool) {
        let case = self.state.case();
        let Some(index) = case.structures.structures.iter().position(|s| s.number == number) else { return };
        if !sure && !case.plans_normalised_to(number).is_empty() {
            self.state.removal = Some(number);
            return;
        }
        self.state.removal = None;
        self.edit(Edit::RemoveStructure { index }, None);
    }

    fn reshape(&mut self, number: u32, shape: Shape, gesture: Option<u64>) {
        let case = self.state.case();
        let Some(ct) = &case.ct else { return };
        let Some(index) = case.structures.structures.iter().position(|s| s.number == number) else { return };
        let mut value = case.structures.structures[index].clone();
        value.contours = shape.contours(ct.hu.grid());
        self.state.shapes.remember(&value, shape);
        self.edit(Edit::SetStructure { index, value }, gesture);
    }
}
