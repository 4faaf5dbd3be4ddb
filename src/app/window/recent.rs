//! The list of recent cases: a case enters it when it is opened, and gets its picture when it is left.

use super::App;
use crate::feature::open::state::Origin;
use crate::gather;
use crate::jobs::JobAnswer;
use crate::state::slot::Slot;
use chrono::Local;
use files::{RecentCase, RecentChange, change_recent_cases};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use worker::Task;

/// A change that a worker makes: pictures are drawn there.
type Change = Box<dyn FnOnce() -> Option<RecentChange> + Send>;

/// Changes of the list on disk that wait. Shared with the worker: the next job also takes the changes of a superseded one.
#[derive(Clone, Default)]
pub(super) struct RecentChanges(Arc<Mutex<Vec<Change>>>);

impl RecentChanges {
    fn add(&self, change: impl FnOnce() -> Option<RecentChange> + Send + 'static) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(change));
    }

    /// Makes the changes, in order; two jobs do not write at once.
    fn make(&self, folder: &Path) -> io::Result<Vec<RecentCase>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change_recent_cases(folder, waiting.drain(..).filter_map(|change| change()))
    }
}

/// The CASE argument by which a case is listed: its session, if it has one. Demos have their own buttons.
fn listed_word(origin: &Origin) -> Option<String> {
    let word = match &origin.session {
        Some(path) => path.to_str().map(str::to_owned),
        None => origin.word.in_utf8(),
    };
    word.filter(|word| !word.starts_with("demo:"))
}

impl App {
    /// Puts the case on show first among the recent ones.
    pub(super) fn remember_case(&mut self) {
        let Some(word) = self.state.origin.as_ref().and_then(listed_word) else {
            return;
        };
        let patient = self.state.case().patient.in_words();
        let opened = Local::now().format("%Y-%m-%d").to_string();
        let case = RecentCase {
            word,
            patient,
            opened,
            picture: None,
        };
        self.memory
            .recent
            .add(move || Some(RecentChange::Opened(case)));
        self.change_recent();
    }

    /// Keeps a picture of the case on show, which is left: of the axial plane through the isocentre or the target.
    pub(super) fn picture_left_case(&mut self) {
        let listed = self.state.origin.as_ref().and_then(listed_word);
        let Some(word) =
            listed.filter(|word| self.state.recent.iter().any(|case| case.word == *word))
        else {
            return;
        };
        if let Some(pictures) = gather::of_recent(&self.state) {
            self.memory.recent.add(move || {
                Some(RecentChange::Picture(
                    word,
                    gather::drawn_recent(&pictures)?,
                ))
            });
        }
    }

    /// Forgets a recent case, or (`None`) all.
    pub(super) fn forget_recent(&mut self, word: Option<String>) {
        self.state
            .recent
            .retain(|case| word.as_ref().is_some_and(|word| case.word != *word));
        self.memory
            .recent
            .add(move || Some(RecentChange::Forget(word)));
        self.change_recent();
    }

    /// Submits the changes that wait.
    pub(super) fn change_recent(&mut self) {
        let Some(folder) = self.state_folder() else {
            return;
        };
        let changes = self.memory.recent.clone();
        let task = Task::new("Recent cases", move |_| {
            changes
                .make(&folder)
                .map(|cases| JobAnswer::then(move |window| window.state.recent = cases))
        });
        self.worker.submit(Slot::Recent, task);
    }

    /// Makes the last changes at closing, when no worker does.
    pub(super) fn end_recent(&mut self) {
        self.picture_left_case();
        if let Some(folder) = self.state_folder()
            && let Err(why) = self.memory.recent.make(&folder)
        {
            tracing::warn!("the recent cases are not kept: {why}");
        }
    }
}
