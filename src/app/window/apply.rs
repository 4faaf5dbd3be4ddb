//! Application of commands: the one place where user input changes the state.

use super::App;
use crate::command::Command;
use crate::feature::open::state::Opening;
use crate::feature::optimise::state::phase::RunEnd;
use crate::state::files::FileAction;
use crate::state::results::Shown;
use crate::state::slot::Slot;
use crate::state::{Selection, Workspace};
use crate::view::ViewState;

impl App {
    /// Applies a command, then derives the statuses of the displayed results: no dose outlives its case.
    pub(super) fn apply(&mut self, command: Command) {
        let goes_back = matches!(command, Command::Undo | Command::Redo | Command::StepTo(_));
        self.carry_out(command);
        if !goes_back {
            self.requests().follow_apertures();
        }
        self.state.settle_drawing();
        self.state.derive_standing();
    }

    /// Undoes and redoes. A run of the optimisation is the last that was done: it is undone first.
    fn go_through_history(&mut self, command: &Command) {
        let of_case = self.state.workspace != Workspace::Register;
        match command {
            Command::Undo if of_case && self.requests().end_phase(RunEnd::Undone) => return,
            Command::Undo => self.state.undo(),
            Command::Redo => self.state.redo(),
            Command::StepTo(done) => {
                let end = if *done <= self.state.history.done() {
                    RunEnd::Undone
                } else {
                    // Maps that land now would take the place of what is redone.
                    RunEnd::TakenBack
                };
                self.requests().end_phase(end);
                self.state.step_to(*done);
            }
            _ => {}
        }
        if of_case {
            self.state.optimise.ghost.clear();
            self.state.take_as_answered();
        }
    }

    fn carry_out(&mut self, command: Command) {
        let state = &mut self.state;
        match command {
            Command::Undo | Command::Redo | Command::StepTo(_) => self.go_through_history(&command),
            Command::Edit { edit, gesture } => state.edit(*edit, gesture),
            Command::AddPlan => state.add_plan(),
            Command::Plans(action) => state.change_plans(action),
            Command::AddShape(shape) => state.add_shape(shape),
            Command::Draw(action) => state.draw(action),
            Command::RemoveStructure { number, sure } => state.remove_structure(number, sure),
            Command::AskRemoval(number) => state.removal = number,
            Command::Reshape {
                structure,
                shape,
                gesture,
            } => state.reshape(structure, shape, gesture),
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
                let numbers = state
                    .history
                    .case()
                    .structures
                    .structures
                    .iter()
                    .map(|s| s.number);
                state.hidden = if shown {
                    Default::default()
                } else {
                    numbers.collect()
                };
            }
            Command::ShowBeams(shown) => state.show_beams = shown,
            Command::Room(room) => state.room = room,
            Command::Window(window) => state.window = window,
            Command::DoseDisplay(display) => state.dose_display = display,
            Command::DvhDisplay(display) => state.dvh_display = display,
            Command::SetUpErrors(errors) => state.set_up_errors = errors,
            Command::Compute(settings) => state.results.settings = settings,
            Command::Engine { plan, choice } => {
                state.results.engines.insert(plan, choice);
                let has_beam_doses = !choice.engine.is_statistical();
                if !has_beam_doses
                    && matches!(state.results.shown, Shown::Beam(_) | Shown::Point(..))
                {
                    state.results.shown = Shown::Plan;
                }
            }
            Command::KeepRun => state.keep_run(),
            Command::ShowDose(shown) => state.results.shown = shown,
            Command::Workspace(workspace) => state.workspace = workspace,
            Command::Compare(compare) => state.compare = compare,
            Command::SaveReport(path) => self.write(FileAction::SaveReport, path, false),
            Command::Goals(action) => state.change_goals(action),
            Command::MakeDose(weights) => self.requests().make_dose(weights),
            Command::Aperture(action) => self.requests().aperture(action),
            Command::Contouring(action) => self.requests().contouring(action),
            Command::Register(action) => self.requests().register(action),
            Command::MachineFit(action) => self.requests().machine_fit(action),
            Command::Optimise(action) => self.requests().optimise(action),
            Command::Measure(action) => state.measure(action),
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
            Command::Gantry {
                beam,
                gantry_deg,
                gesture,
            } => state.turn_gantry(beam, gantry_deg, gesture),
            Command::CentreOn(mm) => state.crosshair_mm = mm,
            Command::GoTo(mm) => {
                state.crosshair_mm = mm;
                for view in self.views.iter_mut().filter(|v| v.centre_mm.is_some()) {
                    view.centre_mm = Some(mm);
                }
            }
            Command::Cancel(slot) if slot.is_inverse() => {
                self.requests().end_phase(RunEnd::Stopped);
            }
            Command::Cancel(slot) => {
                if let Slot::Result(place) = slot {
                    state.results.cancelled(place);
                }
                state.jobs.cancel(slot);
                self.worker.cancel(slot);
            }
            Command::Dismiss(id) => state.notices.dismiss(id),
            Command::DismissAll => state.notices.dismiss_all(),
            Command::Notice(kind, text) => state.notices.add(kind, text),
            Command::About(open) => state.about_open = open,
            Command::AddCouch(below_mm) => state.add_couch(below_mm),
            Command::Theme(choice) => state.theme = choice,
            Command::CouchFromCt(density) => self.requests().couch_from_ct(density),
            Command::AddBody => self.requests().add_body(),
            Command::Open(word) => self.open(&word),
            Command::OpenChoice(choice) => {
                if let Some(word) = state.origin.as_ref().map(|o| o.word.clone()) {
                    self.open_or_ask(Opening {
                        choice,
                        ..Opening::new(word)
                    });
                }
            }
            Command::ShowReferences(open) => state.references_open = open,
            Command::ReplyPatients(reply) => {
                if let Some(opening) = state
                    .patients
                    .take()
                    .and_then(|question| question.answered(reply))
                {
                    self.begin_opening(opening);
                }
            }
            Command::ReplyDose(accepted) => self.requests().answer_strange_dose(accepted),
            Command::Recompute => state.results.forget_failures(),
            Command::Pick(ask) => self.pick(ask),
            Command::OpenHuTable(path) => self.requests().open_hu_table(path),
            Command::SaveHuTable(path) => self.write(FileAction::SaveHuTable, path, false),
            Command::HuDraft(draft) => state.hu_draft = draft,
            Command::UseHuDraft => state.use_hu_draft(),
            Command::Save => self.save(),
            Command::Reply(reply) => self.reply(reply),
            Command::Replace(sure) => self.replace(sure),
            Command::Recover(path) => self.recover(path),
            Command::DiscardLeftOver(path) => self.discard_left_over(path),
            Command::ForgetRecent(word) => self.forget_recent(word),
            Command::Tour(action) => self.tour(action),
            Command::DismissRecoverable => state.recoverable.clear(),
            Command::SavePlan(path) => self.write(FileAction::SavePlan, path, false),
            Command::SaveSession(path) => self.write(FileAction::SaveSession, path, false),
            Command::ExportChoice(choice) => state.export = choice,
            Command::Network(action) => self.network(action),
            Command::SecondCheck(action) => self.second_check(action),
            Command::Protocol(action) => self.protocol(action),
            Command::Export(path) => self.write(FileAction::Export, path, false),
            Command::SaveRegistration(path) => {
                self.write(FileAction::SaveRegistration, path, false)
            }
        }
    }
}
