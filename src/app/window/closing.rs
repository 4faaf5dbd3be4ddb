//! The window's title, and the questions before unsaved work is lost.

use super::App;
use crate::feature::open::state::{Opened, Opening};
use crate::state::files::FileAction;
use crate::state::unsaved::{Question, Reply, Then, Work};
use crate::state::{NoticeKind, State};
use egui::ViewportCommand;
use std::path::PathBuf;

/// The window's title without a case.
const TITLE: &str = "Beamsight (not for clinical use)";

/// The title: the patient and the case, with a star if there is unsaved work.
fn title(state: &State) -> String {
    let Some(origin) = state.origin.as_ref().filter(|_| state.is_loaded()) else {
        return TITLE.to_owned();
    };
    let star = if state.is_unsaved() { "* " } else { "" };
    let who = match state.case().patient.in_words() {
        who if who.is_empty() => who,
        who => format!("{who} - "),
    };
    format!("{star}{who}{} - {TITLE}", origin.name())
}

impl App {
    /// The text of the title bar.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn show_title(&mut self, ctx: &egui::Context) {
        let title = title(&self.state);
        if title != self.title {
            ctx.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Keeps the window open until the user has decided about unsaved work, and until all files are written.
    pub(super) fn watch_closing(&mut self, ctx: &egui::Context) {
        if ctx.input(|i| i.viewport().close_requested()) && !self.closing {
            if self.state.is_unsaved() {
                ctx.send_viewport_cmd(ViewportCommand::CancelClose);
                self.state.question.get_or_insert(Question {
                    then: Then::Close,
                    saving: false,
                });
                ctx.request_repaint();
            } else if self.saves > 0 || !self.state.replacing.is_empty() {
                ctx.send_viewport_cmd(ViewportCommand::CancelClose);
                self.close_once_written = self.state.replacing.is_empty();
            }
        }
        if self.close_once_written && self.saves == 0 {
            self.close_once_written = false;
            self.close(ctx);
        }
    }

    fn close(&mut self, ctx: &egui::Context) {
        self.closing = true;
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }

    /// Opens a case at once, or asks first about unsaved work.
    pub(super) fn open_or_ask(&mut self, opening: Opening) {
        if self.state.is_unsaved() {
            self.state.question = Some(Question {
                then: Then::Open(Box::new(opening)),
                saving: false,
            });
        } else {
            self.begin_opening(opening);
        }
    }

    /// Receives a case that was read: loads it, or asks first if the work changed during the reading.
    pub(super) fn take_case(&mut self, opened: Opened) {
        if self.state.is_unsaved() && self.may_go.as_ref() != Some(&Work::new(&self.state)) {
            self.state.question = Some(Question {
                then: Then::Show(Box::new(opened)),
                saving: false,
            });
        } else {
            self.show_case(opened);
        }
    }

    /// Applies the user's answer about unsaved work.
    pub(super) fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Cancel => {
                self.state.question = None;
                self.state.tour = self.state.tour.filter(|_| self.state.is_tour_case());
            }
            Reply::Discard => self.go_on(),
            Reply::Save => {
                if let Some(question) = &mut self.state.question {
                    question.saving = true;
                    self.save();
                }
            }
        }
    }

    fn go_on(&mut self) {
        let Some(question) = self.state.question.take() else {
            return;
        };
        match question.then {
            Then::Close => self.close(&self.ctx.clone()),
            Then::Open(opening) => self.begin_opening(*opening),
            Then::Show(opened) => self.show_case(*opened),
        }
    }

    /// Saves the session to its last file, else asks for a file.
    pub(super) fn save(&mut self) {
        match self.state.origin.as_ref().map(|o| o.session.clone()) {
            None => {}
            Some(Some(path)) => self.write(FileAction::SaveSession, path, true),
            Some(None) => self.pick(FileAction::SaveSession),
        }
    }

    /// Records a written session as saved, unless another case is loaded by now.
    pub(super) fn session_saved(
        &mut self,
        path: PathBuf,
        work: Work,
        of_case: u64,
        without_doses: Option<String>,
    ) {
        self.state
            .notices
            .add(NoticeKind::Success, format!("Saved {}.", path.display()));
        if let Some(why) = without_doses {
            let text = format!(
                "The session is saved without its doses, which are computed again when it is opened: {why}."
            );
            self.state.notices.add(NoticeKind::Warning, text);
        }
        let Some(origin) = self.state.origin.as_mut().filter(|o| o.number == of_case) else {
            return;
        };
        origin.session = Some(path);
        self.remember_case();
        self.state.saved = Some(work);
        if self.state.question.as_ref().is_some_and(|q| q.saving) {
            if self.state.is_unsaved() {
                // The work changed during the writing: the question is asked again.
                self.save_ended();
            } else {
                self.go_on();
            }
        }
    }

    /// The saving failed or was cancelled: the question is asked again.
    pub(super) fn save_ended(&mut self) {
        self.close_once_written = false;
        if let Some(question) = &mut self.state.question {
            question.saving = false;
        }
    }
}
