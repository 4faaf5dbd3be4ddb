//! Files of the user's choosing: written on the worker, never over what the case is read from, and over what is there only
//! where the user said so.

use super::App;
use super::dialog::Ask;
use super::follow::Answer;
use super::panel;
use super::slot::Slot;
use super::state::NoticeKind;
use crate::files::{Inputs, Place, replace_file};
use crate::open::paths_of;
use crate::worker::Task;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it is to hold.
    pub ask: Ask,
    pub path: PathBuf,
    /// The user knows that what is there goes.
    pub replaces: bool,
}

impl Target {
    /// Whether the file may be written at once; where not, its replacing is to be asked about.
    fn is_free(&self, inputs: &Inputs) -> Result<bool, String> {
        let place = Place::of(&self.path).and_then(|place| {
            place.check_against(inputs)?;
            place.check_replaceable()?;
            Ok(place)
        });
        let place = place.map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        Ok(self.replaces || !place.is_taken())
    }
}

impl App {
    /// Writes what is asked for into a file; `replaces`: the user knows that what is there goes.
    pub(super) fn write(&mut self, ask: Ask, path: PathBuf, replaces: bool) {
        let whole = ask.with_ending(path.clone());
        // With its ending the name is another than the one that the user was asked about.
        let replaces = replaces && whole == path;
        let target = Target { ask, path: std::path::absolute(&whole).unwrap_or(whole), replaces };
        match ask {
            Ask::SavePlan => self.save_plan(target),
            Ask::SaveSession => self.save_session(target),
            Ask::SaveReport => self.save_report(target),
            Ask::SaveDvhs => self.save_dvhs(target),
            Ask::SaveRegistration => self.save_registration(target),
            Ask::SaveHuTable => self.save_hu_table(target),
            Ask::OpenFolder | Ask::OpenFile | Ask::OpenHuTable | Ask::OpenDose | Ask::OpenXray => {}
        }
    }

    /// The one way to a file of the user's choosing.
    pub(super) fn submit_write(
        &mut self,
        target: Target,
        write: impl FnOnce(&Path) -> Result<Answer, String> + Send + 'static,
    ) {
        let inputs = self.inputs(&target);
        let task = Task::new(format!("Saving {}", target.path.display()), move |_| {
            if target.is_free(&inputs)? { write(&target.path) } else { Ok(Answer::IsThere(target)) }
        });
        self.submit_save(task);
    }

    /// Writes the DVHs on show; nothing stale.
    fn save_dvhs(&mut self, target: Target) {
        match panel::dvh::csv(&self.state) {
            Ok(text) => self.submit_write(target, move |path| {
                replace_file(path, |file| file.write_all(text.as_bytes())).map_err(|e| {
                    format!("cannot write {}: {e}; choose a folder you may write to", path.display())
                })?;
                Ok(Answer::Saved(path.to_owned()))
            }),
            Err(why) => self.state.notices.add(NoticeKind::Error, format!("No DVHs are saved: {why}.")),
        }
    }

    /// Files are written one by one: none takes the place of another.
    pub(super) fn submit_save(&mut self, task: Task<Answer>) {
        self.new_saves += 1;
        self.saves += 1;
        self.worker.submit(Slot::Save(self.new_saves), task);
    }

    /// What the case on show is read from. A session goes back to its own file, wherever that is.
    fn inputs(&self, target: &Target) -> Inputs {
        let mut inputs = Inputs::default();
        let Some(origin) = &self.state.origin else { return inputs };
        let session = origin.session.clone();
        if target.ask == Ask::SaveSession && session.as_ref() == Some(&target.path) {
            return inputs;
        }
        paths_of(&origin.word).into_iter().for_each(|path| inputs.add("the case", path));
        session.into_iter().for_each(|path| inputs.add("the session on show", path));
        let images = self.state.register.images().iter().filter_map(|image| image.file.clone());
        images.for_each(|(path, _)| inputs.add("an X-ray on show", path));
        inputs
    }

    /// A file is there already: asked about, and the window stays open until the user has said.
    pub(super) fn ask_to_replace(&mut self, target: Target) {
        self.close_once_written = false;
        self.state.replacing.push(target);
    }

    /// The user has answered whether the file asked about goes.
    pub(super) fn replace(&mut self, sure: bool) {
        if self.state.replacing.is_empty() {
            return;
        }
        let Target { ask, path, .. } = self.state.replacing.remove(0);
        if sure {
            self.write(ask, path, true);
        } else {
            self.save_ended();
        }
    }
}
