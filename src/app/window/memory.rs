//! Autosave of unsaved work against a crash, and its recovery at the next start.

use super::App;
use super::recent::RecentChanges;
use crate::feature::open;
use crate::feature::open::state::Opening;
use crate::jobs::{JobAnswer, Remembered, WindowAnswer};
use crate::state::NoticeKind;
use crate::state::record::Record;
use crate::state::slot::Slot;
use crate::state::unsaved::Work;
use ::open::CaseWord;
use files::{Keeper, KeptDoses, Recoverable, recent_cases};
use geometry::VolumeId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use worker::Task;

/// Longest interval between autosaves, which also keep the display settings.
const AT_LEAST: Duration = Duration::from_secs(60);
/// Shortest interval between autosaves: edits by key are faster than file writes.
const AT_MOST: Duration = Duration::from_millis(500);

/// Shortest interval between autosaves while an optimisation publishes maps.
const PUBLISHED_AT_MOST: Duration = Duration::from_secs(2);

/// Interval between two looks for work of windows that end while the first page is on show.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest interval between two writings of computed doses.
const DOSES_AT_MOST: Duration = Duration::from_secs(10);

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The window's persistent memory. Without a state folder it is empty.
#[derive(Default)]
pub(super) struct Memory {
    folder: Option<PathBuf>,
    keeper: Option<Arc<Keeper>>,
    /// The work submitted last.
    kept: Option<Work>,
    since: Option<Instant>,
    /// The doses kept last, and when.
    doses: Vec<VolumeId>,
    doses_since: Option<Instant>,
    /// The last look for work of other windows; one is under way.
    looked: Option<Instant>,
    is_looking: bool,
    /// Changes of the recent cases that wait.
    pub(super) recent: RecentChanges,
    /// Replaces the system clock.
    pub(super) clock: Option<Clock>,
    /// Autosave of a killed window that this window has recovered: deleted after this window's first own autosave.
    taken_up: Option<PathBuf>,
}

impl Memory {
    pub(super) fn now(&self) -> Instant {
        self.clock
            .as_ref()
            .map_or_else(Instant::now, |clock| clock())
    }

    /// The time left until an interval has passed.
    fn left(&self, since: Option<Instant>, interval: Duration) -> Option<Duration> {
        let passed = self.now().saturating_duration_since(since?);
        interval.checked_sub(passed).filter(|left| !left.is_zero())
    }

    /// The doses beside recovered work, which stay with it.
    pub(super) fn doses_of(&self, recovered: &Path) -> KeptDoses {
        match &self.keeper {
            Some(keeper) => keeper.adopt_doses(recovered),
            None => KeptDoses::of_unsaved(recovered),
        }
    }
}

impl App {
    /// Folder where choices are kept from run to run.
    pub(super) fn state_folder(&self) -> Option<PathBuf> {
        self.memory.folder.clone()
    }

    /// Reads, at the start, the leftovers of earlier windows from the state folder.
    pub(super) fn begin_memory(&mut self, folder: PathBuf) {
        self.memory.folder = Some(folder.clone());
        let task = Task::new("Looking for unsaved work", move |_| {
            let unsaved = folder.join("unsaved");
            let keeper = Keeper::begin(&unsaved).map_err(|e| {
                let why = format!("{} refuses: {e}", unsaved.display());
                format!("unsaved work is not kept against a crash: {why}; set BEAMSIGHT_STATE to a folder of yours")
            })?;
            let recoverable = keeper.claim_recoverable();
            let recent = recent_cases(&folder);
            Ok::<_, String>(JobAnswer::Window(WindowAnswer::Remembered(Box::new(
                Remembered {
                    keeper,
                    recoverable,
                    recent,
                },
            ))))
        });
        self.worker.submit(Slot::Memory, task);
    }

    pub(super) fn take_remembered(&mut self, remembered: Remembered) {
        let Remembered {
            keeper,
            recoverable,
            recent,
        } = remembered;
        self.memory.keeper = Some(Arc::new(keeper));
        self.memory.looked = Some(self.memory.now());
        self.state.recoverable = recoverable;
        // A case opened in the meantime is already in the list.
        if self.state.recent.is_empty() {
            self.state.recent = recent;
        }
    }

    /// Looks again for the work of other windows while the first page is on show: a killed one of many GB holds its lock for
    /// seconds, in which the user may have started this one.
    pub(super) fn look_for_recoverable(&mut self, ctx: &egui::Context) {
        let Some(keeper) = self
            .memory
            .keeper
            .clone()
            .filter(|_| !self.state.is_loaded())
        else {
            return;
        };
        if self.memory.is_looking {
            return;
        }
        let left = self.memory.left(self.memory.looked, LOOK_EVERY);
        ctx.request_repaint_after(left.unwrap_or(LOOK_EVERY));
        if left.is_some() {
            return;
        }
        (self.memory.looked, self.memory.is_looking) = (Some(self.memory.now()), true);
        let task = Task::new("Looking for unsaved work", move |_| {
            Ok::<_, String>(JobAnswer::Window(WindowAnswer::Recoverable(
                keeper.claim_recoverable(),
            )))
        });
        self.worker.submit(Slot::Memory, task);
    }

    pub(super) fn take_recoverable(&mut self, left_over: Vec<Recoverable>) {
        self.memory.is_looking = false;
        self.state.recoverable.extend(left_over);
    }

    /// Keeps the full doses of beams beside the unsaved work, once all is computed that the case needs.
    pub(super) fn keep_doses(&mut self, ctx: &egui::Context) {
        let Some(keeper) = self.memory.keeper.clone() else {
            return;
        };
        if self.memory.kept.is_none() || self.worker.live_jobs() > 0 || !self.state.is_unsaved() {
            return;
        }
        let doses: Vec<VolumeId> = self
            .state
            .results
            .full_doses()
            .map(|(_, result)| result.dose.gy.id())
            .collect();
        if doses.is_empty() || doses == self.memory.doses {
            return;
        }
        if let Some(left) = self.memory.left(self.memory.doses_since, DOSES_AT_MOST) {
            ctx.request_repaint_after(left);
            return;
        }
        (self.memory.doses, self.memory.doses_since) = (doses, Some(self.memory.now()));
        let kept_doses = self.state.doses_to_keep();
        let task = Task::new("Keeping doses against a crash", move |_| {
            if let Err(why) = keeper.keep_doses(&kept_doses.digested()) {
                // They can be computed again, and the work itself is kept.
                tracing::warn!("computed doses are not kept against a crash: {why}");
            }
            Ok::<_, String>(JobAnswer::nothing())
        });
        self.worker.submit(Slot::KeptDoses, task);
    }

    /// Submits an autosave of unsaved work: at the end of each edit, and each minute.
    pub(super) fn keep_unsaved(&mut self, ctx: &egui::Context) {
        let Some(keeper) = self.memory.keeper.clone() else {
            return;
        };
        let is_published = self.state.optimise.view.published.is_some();
        if !self.state.is_unsaved() && !is_published {
            if self.memory.kept.take().is_some() {
                self.memory.since = None;
                self.memory.doses.clear();
                let clear = Task::new("Clearing kept work", move |_| {
                    keeper.clear();
                    Ok::<_, String>(JobAnswer::nothing())
                });
                self.worker.submit(Slot::Autosave, clear);
            }
            return;
        }
        let work = Work::to_keep(&self.state);
        let changed = self.memory.kept.as_ref() != Some(&work);
        let time = self.memory.now();
        let age = self
            .memory
            .since
            .map_or(AT_LEAST, |since| time.saturating_duration_since(since));
        let at_rest = !ctx.input(|i| i.pointer.any_down());
        let wait = match changed && at_rest {
            true if is_published => PUBLISHED_AT_MOST,
            true => AT_MOST,
            false => AT_LEAST,
        };
        if let Some(left) = wait.checked_sub(age).filter(|left| !left.is_zero()) {
            ctx.request_repaint_after(left);
            return;
        }
        let Some(origin) = self.state.origin.clone() else {
            return;
        };
        (self.memory.kept, self.memory.since) = (Some(work), Some(time));
        ctx.request_repaint_after(AT_LEAST);
        let case = self.state.case_with_published();
        let before_maps = self.state.plans_before_maps(&case);
        let record = Record::of_unsaved(&self.state);
        let taken_up = self.memory.taken_up.clone();
        let task = Task::new("Keeping unsaved work against a crash", move |_| {
            let view = serde_json::to_value(record).map_err(|e| e.to_string())?;
            keeper
                .write(&open::jobs::session_of(&case, before_maps, &origin, view)?)
                .map_err(|e| e.to_string())?;
            if let Some(path) = taken_up {
                // If the removal fails, the work is offered once too often.
                let _ = Recoverable::remove(&path);
            }
            Ok::<_, String>(JobAnswer::nothing())
        });
        self.worker.submit(Slot::Autosave, task);
    }

    /// Opens the unsaved work of an earlier window; its file stays until this window's first autosave.
    pub(super) fn recover(&mut self, path: PathBuf) {
        let recovers = Some(path.clone());
        self.open_or_ask(Opening {
            recovers,
            ..Opening::new(CaseWord::Session(path))
        });
    }

    /// Marks recovered work as unsaved.
    pub(super) fn recovered(&mut self, path: PathBuf) {
        self.state.recoverable.retain(|l| l.path != path);
        self.state.saved = None;
        self.state.notices.add(
            NoticeKind::Info,
            "The unsaved work is back as it was: save it where you want it.",
        );
        self.memory.taken_up = Some(path);
    }

    /// Discards the unsaved work of an earlier window.
    pub(super) fn discard_left_over(&mut self, path: PathBuf) {
        self.state.recoverable.retain(|l| l.path != path);
        let task = Task::new("Discarding unsaved work of an earlier window", move |_| {
            Recoverable::remove(&path).map(|()| JobAnswer::nothing())
        });
        self.submit_save(task);
    }

    /// Deletes the autosave at closing if the work is saved or discarded; undecided work stays.
    pub(super) fn end_memory(&mut self) {
        self.end_recent();
        self.layout.theme = self.state.theme;
        self.layout.peers = self.state.network.settings.clone();
        if let Some(folder) = &self.memory.folder
            && let Err(why) = self.layout.save(folder)
        {
            tracing::warn!("the sizes of the panels and the theme are not kept: {why}");
        }
        if let Some(keeper) = self.memory.keeper.take()
            && (self.closing || !self.state.is_unsaved())
        {
            keeper.end();
        }
    }
}
