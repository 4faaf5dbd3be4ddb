//! Opening and saving: words to jobs, dialogs on threads of their own.

use super::App;
use super::state::NoticeKind;
use std::path::PathBuf;

impl App {
    /// Opens a CASE word; what is loaded stays until the new case is whole.
    pub fn open(&mut self, word: String) {
        self.state.notices.add(NoticeKind::Error, format!("{word}: not there yet"));
    }

    pub(super) fn pick(&mut self, _folder: bool) {}

    pub(super) fn save_plan(&mut self, _path: PathBuf) {}

    pub(super) fn save_session(&mut self, _path: PathBuf) {}

    pub(super) fn add_body(&mut self) {}
}
