//! Files of the user's choosing: written on the worker, never over the inputs of the case, and over existing files only
//! if the user has confirmed it.

use super::App;
use crate::feature::commission::state::MachineFit;
use crate::feature::open;
use crate::gather;
use crate::jobs::{JobAnswer, WindowAnswer};
use crate::state::NoticeKind;
use crate::state::files::{FileAction, Target};
use crate::state::record::Record;
use crate::state::slot::Slot;
use crate::state::unsaved::Work;
use crate::workspace::room;
use ::open::paths_of;
use dicom::{Belonging, write_registration};
use files::{GoalTemplate, Inputs, StructureTemplate, plan_toml, replace_file, session};
use registration::spatial_registration;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use worker::Task;

impl App {
    /// Writes the requested content into a file; `replaces`: the user has confirmed that an existing file is replaced.
    pub(super) fn write(&mut self, action: FileAction, path: PathBuf, replaces: bool) {
        let full_path = action.with_ending(path.clone());
        self.note_folder(action, &full_path);
        // With an added extension the path differs from the confirmed one.
        let replaces = replaces && full_path == path;
        let target = Target {
            action,
            path: std::path::absolute(&full_path).unwrap_or(full_path),
            replaces,
        };
        match action {
            FileAction::SavePlan => self.save_plan(target),
            FileAction::SaveSession => self.save_session(target),
            FileAction::SaveReport => self.save_report(target),
            FileAction::SavePlanReport => self.save_plan_report(target),
            FileAction::SaveCheckReport => self.save_check_report(target),
            FileAction::SaveDvhs => self.save_dvhs(target),
            FileAction::SaveRegistration => self.save_registration(target),
            FileAction::SaveHuTable => self.save_hu_table(target),
            FileAction::SaveGoals => self.save_goals(target),
            FileAction::SaveStructures => self.save_structures(target),
            FileAction::Export => self.export(target),
            FileAction::SaveMachine => self.save_machine(target),
            FileAction::SaveMachineReport => self.save_machine_report(target),
            FileAction::OpenFolder
            | FileAction::OpenFile
            | FileAction::ArrivalsFolder
            | FileAction::SentFolder
            | FileAction::OpenHuTable
            | FileAction::OpenGoals
            | FileAction::OpenProtocol
            | FileAction::OpenStructures
            | FileAction::OpenDose
            | FileAction::OpenXray
            | FileAction::OpenTank(_)
            | FileAction::OpenCheckModel
            | FileAction::OpenCheckGoals => {}
        }
    }

    /// Submits a write. All files of the user's choosing pass through here, so that none overwrites an input.
    fn submit_write(
        &mut self,
        target: Target,
        write: impl FnOnce(&Path) -> Result<JobAnswer, String> + Send + 'static,
    ) {
        let inputs = self.inputs(&target);
        let task = Task::new(target.in_words(), move |_| {
            if target.is_free(&inputs)? {
                write(&target.path)
            } else {
                Ok(JobAnswer::Window(WindowAnswer::IsThere(target)))
            }
        });
        self.submit_save(task);
    }

    /// Submits a write of which nothing more follows than a word that it is done.
    pub(super) fn submit_file(
        &mut self,
        target: Target,
        write: impl FnOnce(&Path) -> Result<(), String> + Send + 'static,
    ) {
        self.submit_write(target, |path| {
            write(path).map(|()| JobAnswer::Window(WindowAnswer::Saved(path.to_owned())))
        });
    }

    /// Writes the displayed DVHs; refuses stale ones.
    fn save_dvhs(&mut self, target: Target) {
        match gather::dvh_table(&self.state) {
            Ok(text) => self.submit_file(target, move |path| {
                replace_file(path, |file| file.write_all(text.as_bytes()))
                    .map_err(|e| not_written(path, &e))
            }),
            Err(why) => self
                .state
                .notices
                .add(NoticeKind::Error, format!("No DVHs are saved: {why}.")),
        }
    }

    /// Submits a job that writes a file. Each has its own slot, so no job replaces another.
    pub(super) fn submit_save(&mut self, task: Task<JobAnswer>) {
        self.saves += 1;
        self.worker
            .submit(Slot::Save(self.worker.submitted()), task);
    }

    /// The input files of the current case. A session may be written back to its own file.
    pub(super) fn inputs(&self, target: &Target) -> Inputs {
        let mut inputs = Inputs::default();
        self.state
            .machine_fit
            .inputs()
            .for_each(|(what, path)| inputs.add(what, path));
        // A dose on show would be of a machine that is no more.
        let beams = self
            .state
            .case()
            .plans
            .iter()
            .flat_map(|plan| plan.beams.iter().map(|b| plan.machine_of(b)));
        beams.for_each(|machine| inputs.add("the machine of a plan", machine.into()));
        let Some(origin) = &self.state.origin else {
            return inputs;
        };
        let session = origin.session.clone();
        if target.action == FileAction::SaveSession && session.as_ref() == Some(&target.path) {
            return inputs;
        }
        paths_of(&origin.word)
            .into_iter()
            .for_each(|path| inputs.add("the case", path));
        session
            .into_iter()
            .for_each(|path| inputs.add("the session on show", path));
        let images = self
            .state
            .register
            .images()
            .iter()
            .filter_map(|image| image.file.clone());
        images.for_each(|(path, _)| inputs.add("an X-ray on show", path));
        inputs
    }

    /// Asks whether to replace an existing file; the window stays open until the user answers.
    pub(super) fn ask_to_replace(&mut self, target: Target) {
        self.close_once_written = false;
        self.state.replacing.push(target);
    }

    /// Applies the user's answer on the first file to be replaced.
    pub(super) fn replace(&mut self, sure: bool) {
        if self.state.replacing.is_empty() {
            return;
        }
        let Target { action, path, .. } = self.state.replacing.remove(0);
        if sure {
            self.write(action, path, true);
        } else {
            self.save_ended();
        }
    }

    fn save_plan(&mut self, target: Target) {
        let Some(plan) = self.state.plan().cloned() else {
            return;
        };
        self.submit_file(target, move |path| {
            plan_toml::write(path, &plan).map_err(|e| e.to_string())
        });
    }

    fn save_session(&mut self, target: Target) {
        let state = &self.state;
        let Some(origin) = state.origin.clone() else {
            return;
        };
        let case = state.case().clone();
        let before_maps = state.plans_before_maps(&case);
        let (record, work, doses) = (Record::new(state), Work::new(state), state.doses_to_keep());
        self.submit_write(target, move |path| {
            let view = serde_json::to_value(record).map_err(|e| e.to_string())?;
            let session = open::jobs::session_of(&case, before_maps, &origin, view)?;
            // The file that is replaced comes first: it is of the case as it was saved last.
            let earlier: Vec<PathBuf> = [path.to_owned()]
                .into_iter()
                .chain(origin.session)
                .collect();
            let written = session::write_with_doses(path, session, &doses.digested(), &earlier);
            let without = written
                .map_err(|e| e.to_string())?
                .map(|why| why.to_string());
            Ok(JobAnswer::Window(WindowAnswer::SessionSaved {
                path: path.to_owned(),
                work: Box::new(work),
                case: origin.number,
                without_doses: without,
            }))
        });
    }

    fn save_goals(&mut self, target: Target) {
        let state = &self.state;
        let name = target
            .path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        let template = GoalTemplate::of_goals(
            name.as_deref().unwrap_or("Goals"),
            &state.goals(),
            &state.case().structures,
        );
        self.submit_file(target, move |path| {
            template.write(path).map_err(|e| e.to_string())
        });
    }

    fn save_structures(&mut self, target: Target) {
        let name = target
            .path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        let set = &self.state.case().structures;
        let template = StructureTemplate::of_case(name.as_deref().unwrap_or("Structures"), set);
        self.submit_file(target, move |path| {
            template.write(path).map_err(|e| e.to_string())
        });
    }

    /// Saves the edited table, if it is valid, else the applied one.
    fn save_hu_table(&mut self, target: Target) {
        let text = match &self.state.hu_draft {
            None => self.state.results.settings.hu_table.to_toml(),
            Some(draft) => match draft.table() {
                Ok(table) => table.to_toml(),
                Err(why) => {
                    self.state.notices.add(
                        NoticeKind::Error,
                        format!("The HU table is not saved: {why}."),
                    );
                    return;
                }
            },
        };
        self.submit_file(target, move |path| {
            replace_file(path, |out| out.write_all(text.as_bytes()))
                .map_err(|e| not_written(path, &e))
        });
    }

    /// Writes the fitted machine; one of other files or settings than are chosen now is refused.
    fn save_machine(&mut self, target: Target) {
        let fit = &self.state.machine_fit;
        let fitted = fit
            .answer
            .as_ref()
            .filter(|_| !fit.is_stale())
            .and_then(|a| a.outcome.fitted())
            .cloned();
        let Some(fitted) = fitted else {
            let text =
                "No machine is saved: the fit on show is of other files or settings; fit again.";
            self.state.notices.add(NoticeKind::Error, text);
            return;
        };
        self.submit_write(target, move |path| {
            let text = fitted.text(path);
            replace_file(path, |file| file.write_all(text.as_bytes()))
                .map_err(|e| not_written(path, &e))?;
            let path = path.to_owned();
            Ok(JobAnswer::then(move |window| {
                window.state.take_saved_machine(path, &fitted)
            }))
        });
    }

    /// Writes every point of the comparison, or its curves drawn; refuses a stale one.
    fn save_machine_report(&mut self, target: Target) {
        let fit = &self.state.machine_fit;
        let Some(answer) = fit.answer.clone().filter(|_| !fit.is_stale()) else {
            let text =
                "No report is written: the comparison on show is of other files or settings.";
            self.state.notices.add(NoticeKind::Error, text);
            return;
        };
        self.submit_file(target, move |path| {
            let machine = MachineFit::machine_words(&answer);
            report::machine::write(path, &machine, answer.outcome.report())
                .map_err(|e| not_written(path, &e))
        });
    }

    /// Writes the manual or accepted pose; a proposal of the search must be accepted first.
    fn save_registration(&mut self, target: Target) {
        let state = &mut self.state;
        let (Some(ct), Some(image)) = (
            state.case().ct.clone(),
            state.register.images.first().cloned(),
        ) else {
            let text = "A registration is of a CT and an X-ray: open both first.";
            state.notices.add(NoticeKind::Warning, text);
            return;
        };
        if !state.register.is_free() {
            let text = "The search's pose is not yet accepted: accept or reject it, then save.";
            state.notices.add(NoticeKind::Warning, text);
            return;
        }
        let case = state.case().clone();
        let (pose, centre_mm) = (*state.register.poses.now(), state.register.centre_mm(&case));
        let standing = state.register.standing();
        self.submit_file(target, move |path| {
            let object =
                spatial_registration((&pose, &standing), centre_mm, &image.radiograph, &ct, &case);
            write_registration(path, &object, &ct, &Belonging::new(&case))
                .map_err(|e| e.to_string())
        });
    }

    /// Writes the report of the displayed plan, once the surfaces of its picture of the room are there.
    fn save_plan_report(&mut self, target: Target) {
        self.state.report_waits = Some(target);
        self.ctx.request_repaint();
    }

    /// The report that has waited; it says on every page where the dose is not final.
    pub(super) fn write_waiting_report(&mut self) {
        // Surfaces that the user has cancelled do not come.
        let is_ready = self.state.results.is_room_ready() || self.is_idle();
        if self.state.report_waits.is_none() || !is_ready {
            return;
        }
        let Some(target) = self.state.report_waits.take() else {
            return;
        };
        let report = match gather::plan(&self.state) {
            Ok(report) => {
                let look = room::look(&self.state, &self.gpu, report::plan::ROOM_PX);
                gather::with_room(report, look, &self.state)
            }
            Err(why) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("No report is written: {why}."));
                return;
            }
        };
        self.submit_file(target, move |path| report::plan::write(&report, path));
    }

    /// Writes the report of the displayed comparison; refuses stale results.
    fn save_report(&mut self, target: Target) {
        let report = match gather::comparison(&self.state) {
            Ok(report) => report,
            Err(why) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("No report is written: {why}."));
                return;
            }
        };
        self.submit_file(target, move |path| report::comparison::write(&report, path));
    }
}

fn not_written(path: &Path, error: &io::Error) -> String {
    format!(
        "cannot write {}: {error}; choose a folder you may write to",
        path.display()
    )
}
