//! The second check: what it is asked, its answer, and its report.

use super::App;
use crate::feature::check::jobs::CheckInputs;
use crate::feature::check::state::{CheckAction, CheckGoals, CheckPhase, Checked, ModelsAsk};
use crate::jobs::JobAnswer;
use crate::state::NoticeKind;
use crate::state::State;
use crate::state::files::{FileAction, Target};
use crate::state::slot::Slot;
use analysis::second_check::MachineUse;
use std::path::PathBuf;
use std::sync::Arc;
use worker::{Lane, Task};

impl App {
    pub(super) fn second_check(&mut self, action: CheckAction) {
        let second_check = &mut self.state.second_check;
        match action {
            CheckAction::Open(open) => {
                second_check.is_open = open;
                // What is remembered may have changed since.
                second_check.models_of = None;
            }
            CheckAction::Draft(draft) => second_check.draft = draft,
            CheckAction::PickFile(machine, quality) => {
                second_check.picks_file_for = Some((machine, quality));
                self.pick(FileAction::OpenCheckModel);
            }
            CheckAction::Run if second_check.running.is_some() => {}
            CheckAction::Run => self.run_check(),
        }
    }

    fn check_inputs(&self) -> CheckInputs {
        CheckInputs {
            case: self.state.case().clone(),
            catalogue: self
                .state
                .folder()
                .map(|folder| Arc::clone(&folder.catalogue)),
            loaded: self
                .state
                .origin
                .as_ref()
                .map(|origin| Arc::clone(&origin.structures)),
            state_folder: self.state_folder(),
        }
    }

    /// Asks, while the box is open, which models would compute the plan on show.
    pub(super) fn request_check_models(&mut self) {
        if !self.state.second_check.is_open {
            return;
        }
        let models_ask = self.state.models_to_ask();
        if models_ask.is_none() || self.state.second_check.models_of == models_ask {
            return;
        }
        let inputs = self.check_inputs();
        let second_check = &mut self.state.second_check;
        second_check.models = None;
        second_check.models_of.clone_from(&models_ask);
        let Some(models_ask) = models_ask else { return };
        let task = Task::new("Looking up machines", move |_| {
            let models = inputs.look_up(&models_ask.plan, models_ask.picked.clone());
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.state.take_check_models(&models_ask, models)
            }))
        });
        self.worker.submit(Slot::CheckModels, task.quick());
    }

    fn run_check(&mut self) {
        let ask = match self.state.check_to_ask() {
            Ok(ask) => ask,
            Err(why) => {
                self.state.notices.add(NoticeKind::Warning, why);
                return;
            }
        };
        let (inputs, phase) = (self.check_inputs(), Arc::new(CheckPhase::default()));
        let second_check = &mut self.state.second_check;
        second_check.answer = None;
        second_check.running = Some(Arc::clone(&phase));
        let name = format!("Second check of {}", ask.plan.name);
        let task = Task::new(name, move |control| {
            inputs.check(ask, control, &phase).map(|(checked, notes)| {
                JobAnswer::then(move |window| window.state.take_checked(checked, notes))
            })
        });
        self.worker.submit(Slot::SecondCheck, task.on(Lane::Device));
    }

    /// Ends a check of the case before, and drops its answer.
    pub(super) fn close_check(&mut self) {
        self.worker.cancel(Slot::SecondCheck);
        let second_check = &mut self.state.second_check;
        (
            second_check.running,
            second_check.answer,
            second_check.models_of,
            second_check.models,
        ) = (None, None, None, None);
        second_check.draft.goals = CheckGoals::default();
        second_check.draft.picked = Default::default();
    }

    /// Takes the file of a model or of goals for the check.
    pub(super) fn take_check_file(&mut self, action: FileAction, path: PathBuf) {
        let path = std::path::absolute(&path).unwrap_or(path);
        let Some(word) = path.to_str().map(str::to_owned) else {
            let text = format!(
                "The name of {} is not UTF-8: rename the file.",
                path.display()
            );
            self.state.notices.add(NoticeKind::Error, text);
            return;
        };
        let second_check = &mut self.state.second_check;
        match (action, second_check.picks_file_for.take()) {
            (FileAction::OpenCheckGoals, _) => {
                second_check.draft.goals = CheckGoals::Template(word)
            }
            (_, Some((machine, quality))) => {
                second_check.draft.picked.choose(&machine, &quality, &word)
            }
            (_, None) => {}
        }
    }

    /// Writes the report of the check on show; refuses a stale one.
    pub(super) fn save_check_report(&mut self, target: Target) {
        let refused = match &self.state.second_check.answer {
            None => Some("there is no second check".to_owned()),
            Some(_) => self.state.check_is_stale(),
        };
        let answer = self
            .state
            .second_check
            .answer
            .as_ref()
            .filter(|_| refused.is_none());
        let Some(answer) = answer else {
            let why = refused.unwrap_or_default();
            self.state.notices.add(
                NoticeKind::Error,
                format!("No report is written: {}.", why.trim_end_matches('.')),
            );
            return;
        };
        let bytes = report::check::draw(&[&answer.check], &[]);
        self.submit_file(target, move |path| report::save(path, &bytes));
    }
}

impl State {
    fn take_check_models(&mut self, ask: &ModelsAsk, models: Result<Vec<MachineUse>, String>) {
        if self.second_check.models_of.as_ref() == Some(ask) {
            self.second_check.models = Some(models);
        }
    }

    /// Takes a second check, with what is to be told of the remembered machines.
    fn take_checked(&mut self, checked: Checked, notes: Vec<String>) {
        // An answer that comes late is of the case before.
        let is_of_case = self
            .origin
            .as_ref()
            .is_some_and(|origin| origin.number == checked.ask.case);
        self.second_check.answer = is_of_case.then(|| Box::new(checked));
        for note in notes {
            self.notices
                .add(NoticeKind::Warning, format!("Second check: {note}."));
        }
    }
}
