//! What the window knows: the case with its history, what is selected, how it is shown, notices and jobs.

use super::compare::Compare;
use super::display::{DoseDisplay, WINDOW_PRESETS, WindowLevel};
use super::follow::Follow;
use super::hu_draft::HuDraft;
use super::register::Register;
use super::roi::Shapes;
use super::save::Target;
use super::unsaved::{Question, Work};
use crate::case::{Beam, Case, History, Plan, Receipt, Structure, StructureSet};
use crate::files::LeftOver;
use crate::open::CaseWord;
use glam::DVec3;
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Everything the panels read. They change it only through [`Command`](super::command::Command)s.
#[derive(Debug)]
pub struct State {
    pub history: History,
    /// Where the case came from.
    pub origin: Option<Origin>,
    /// What was last opened or saved; `None` of work that was recovered.
    pub saved: Option<Work>,
    /// Asked before unsaved work would be lost.
    pub question: Option<Question>,
    /// Files to be written that are there already, until the user has said whether they go.
    pub replacing: Vec<Target>,
    /// Unsaved work of windows that are gone.
    pub left_over: Vec<LeftOver>,
    /// CASE words, newest first.
    pub recent: Vec<String>,
    /// The plan on show, by index.
    pub plan: usize,
    pub selection: Selection,
    pub workspace: Workspace,
    pub compare: Compare,
    pub window: WindowLevel,
    pub dose_display: DoseDisplay,
    pub dvh_display: DvhDisplay,
    /// Numbers of the structures that are not shown.
    pub hidden: BTreeSet<u32>,
    pub show_beams: bool,
    pub shapes: Shapes,
    /// Where the three planes meet, patient LPS, mm.
    pub crosshair_mm: DVec3,
    /// Where the pointer rests in a view, patient LPS, mm.
    pub pointer_mm: Option<DVec3>,
    pub follow: Follow,
    pub register: Register,
    pub notices: Notices,
    pub jobs: Jobs,
    pub about_open: bool,
    /// The structure, by ROI number, of which it is asked whether it goes though a plan refers to it.
    pub removal: Option<u32>,
    /// The HU table being edited.
    pub hu_draft: Option<HuDraft>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            history: History::default(),
            origin: None,
            saved: None,
            question: None,
            replacing: Vec::new(),
            left_over: Vec::new(),
            recent: Vec::new(),
            plan: 0,
            selection: Selection::Nothing,
            workspace: Workspace::Plan,
            compare: Compare::default(),
            window: WINDOW_PRESETS[1].1,
            dose_display: DoseDisplay::default(),
            dvh_display: DvhDisplay::default(),
            hidden: BTreeSet::new(),
            show_beams: true,
            shapes: Shapes::default(),
            crosshair_mm: DVec3::ZERO,
            pointer_mm: None,
            follow: Follow::default(),
            register: Register::default(),
            notices: Notices::default(),
            jobs: Jobs::default(),
            about_open: false,
            removal: None,
            hu_draft: None,
        }
    }
}

impl State {
    pub fn case(&self) -> &Case {
        self.history.case()
    }

    /// The plan on show.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.case().plans.get(self.plan)
    }

    /// The selected beam with its index in the plan on show.
    pub fn selected_beam(&self) -> Option<(usize, &Beam)> {
        let Selection::Beam(number) = self.selection else { return None };
        self.plan()?.beams.iter().enumerate().find(|(_, b)| b.number == number)
    }

    /// The selected structure with its index in the set.
    pub fn selected_structure(&self) -> Option<(usize, &Structure)> {
        let Selection::Structure(number) = self.selection else { return None };
        self.case().structures.structures.iter().enumerate().find(|(_, s)| s.number == number)
    }

    /// Whether there is a step to undo: of the pose while X-rays are registered, else of the case.
    pub fn can_undo(&self) -> bool {
        match self.workspace {
            Workspace::Register => self.register.is_free() && self.register.poses.can_undo(),
            _ => self.history.can_undo(),
        }
    }

    /// As [`Self::can_undo`], for a step undone.
    pub fn can_redo(&self) -> bool {
        match self.workspace {
            Workspace::Register => self.register.is_free() && self.register.poses.can_redo(),
            _ => self.history.can_redo(),
        }
    }

    /// Whether anything is loaded.
    pub fn is_loaded(&self) -> bool {
        let case = self.case();
        case.ct.is_some()
            || !case.structures.structures.is_empty()
            || !case.plans.is_empty()
            || !case.doses.is_empty()
    }
}

/// Where a case came from, and what its files held.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The CASE itself, of a session that which it is of.
    pub word: CaseWord,
    /// The session file last opened or saved.
    pub session: Option<PathBuf>,
    /// Counts the cases shown.
    pub number: u64,
    /// Image series of the folder.
    pub series: Vec<SeriesLine>,
    pub structures: Arc<StructureSet>,
}

impl Origin {
    /// What the case is called: the last part of its path.
    pub fn name(&self) -> String {
        match &self.session {
            Some(path) => CaseWord::Session(path.clone()).short(),
            None => self.word.short(),
        }
    }
}

/// An image series as the tree lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLine {
    /// Index in the catalogue of the folder.
    pub index: usize,
    pub uid: String,
    pub name: String,
    pub detail: String,
    /// A CT that is not the one on show can be opened; other modalities are only listed.
    pub is_ct: bool,
}

/// What the inspector shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    Nothing,
    Ct,
    Plan,
    /// By beam number.
    Beam(u32),
    /// By ROI number.
    Structure(u32),
    /// How dose is drawn.
    DoseDisplay,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    #[default]
    Plan,
    Compare,
    Register,
}

impl Workspace {
    pub const ALL: [Self; 3] = [Self::Plan, Self::Compare, Self::Register];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Compare => "Compare",
            Self::Register => "Register",
        }
    }
}

/// Axes of the DVH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DvhDisplay {
    pub dose: DvhDose,
    pub volume: DvhVolume,
    pub differential: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DvhDose {
    #[default]
    Gy,
    CentiGy,
    /// Of the reference of the dose display.
    Percent,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DvhVolume {
    #[default]
    Percent,
    Cm3,
}

/// Messages to the user that stay until dismissed.
#[derive(Debug, Default)]
pub struct Notices {
    items: Vec<Notice>,
    next: u64,
    /// What is told once.
    told: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: u64,
    pub kind: NoticeKind,
    pub text: String,
    about: About,
}

/// What a notice is about, where it has had its day once something else has taken the place of that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum About {
    #[default]
    Other,
    /// An X-ray that is not shown; until the next is opened.
    XrayRefused,
    /// An X-ray on show, by its label.
    Xray(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    Info,
    Warning,
    Error,
}

/// More notices than this push out the oldest.
const MOST_NOTICES: usize = 6;

impl Notices {
    /// Adds a notice; one that already stands is not repeated.
    pub fn add(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.add_about(About::Other, kind, text);
    }

    /// Adds a notice that [`Self::retain`] may take away.
    pub fn add_about(&mut self, about: About, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        if self.items.iter().any(|n| n.text == text) {
            return;
        }
        self.next += 1;
        self.items.push(Notice { id: self.next, kind, text, about });
        if self.items.len() > MOST_NOTICES {
            self.items.remove(0);
        }
    }

    /// Adds a notice that does not come again once it is dismissed: what every further job would have to say, too.
    pub fn add_once(&mut self, kind: NoticeKind, text: String) {
        if !self.told.contains(&text) {
            self.told.push(text.clone());
            self.add(kind, text);
        }
    }

    pub fn dismiss(&mut self, id: u64) {
        self.items.retain(|n| n.id != id);
    }

    /// Takes away what is about something that no longer matters.
    pub fn retain(&mut self, matters: impl Fn(&About) -> bool) {
        self.items.retain(|n| matters(&n.about));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.items.iter()
    }
}

/// Running jobs and what the finished ones left behind.
#[derive(Debug, Default)]
pub struct Jobs {
    pub live: Vec<LiveJob>,
    /// Newest first.
    pub finished: VecDeque<FinishedJob>,
}

#[derive(Debug)]
pub struct LiveJob {
    pub id: crate::worker::JobId,
    pub slot: crate::app::slot::Slot,
    pub name: Arc<str>,
    /// 0 to 1.
    pub done: f32,
    pub began: Instant,
}

impl LiveJob {
    /// Seconds that are left, by what is done so far; `None` while that is next to nothing.
    pub fn seconds_left(&self) -> Option<f64> {
        let done = f64::from(self.done);
        (done >= 0.03).then(|| self.began.elapsed().as_secs_f64() * (1.0 - done) / done)
    }
}

#[derive(Debug)]
pub struct FinishedJob {
    pub name: Arc<str>,
    pub end: JobEnd,
}

#[derive(Debug)]
pub enum JobEnd {
    Done(Arc<Receipt>),
    Failed(String),
}

const MOST_FINISHED: usize = 50;

impl Jobs {
    pub fn finish(&mut self, name: Arc<str>, end: JobEnd) {
        self.finished.push_front(FinishedJob { name, end });
        self.finished.truncate(MOST_FINISHED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_do_not_pile_up() {
        let mut notices = Notices::default();
        notices.add(NoticeKind::Error, "a");
        notices.add(NoticeKind::Error, "a");
        assert_eq!(notices.iter().count(), 1);
        for i in 0..20 {
            notices.add(NoticeKind::Info, format!("{i}"));
        }
        assert_eq!(notices.iter().count(), MOST_NOTICES);
        let last = notices.iter().last().map(|n| (n.id, n.text.clone()));
        assert_eq!(last.as_ref().map(|(_, t)| t.as_str()), Some("19"));
        notices.dismiss(last.map_or(0, |(id, _)| id));
        assert_eq!(notices.iter().count(), MOST_NOTICES - 1);
    }
}
