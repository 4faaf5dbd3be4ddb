//! Opening and saving: words to jobs, dialogs on threads of their own.

use super::App;
use super::display::DoseReference;
use super::follow::{Answer, Opened, Shown, work};
use super::roi;
use super::state::{NoticeKind, Origin, Selection};
use crate::case::{Edit, Severity, Structure};
use crate::dicom::Choice;
use crate::files::plan_toml;
use crate::open::CaseWord;
use crate::worker::{Slot, Task};
use std::path::PathBuf;

impl App {
    /// Opens a CASE word; what is loaded stays until the new case is whole.
    pub fn open(&mut self, word: &str) {
        self.open_with(word, Choice::default(), None);
    }

    /// As [`Self::open`], with the image series (where a folder has several) and a plan file put first.
    pub fn open_with(&mut self, word: &str, choice: Choice, plan: Option<PathBuf>) {
        let word: CaseWord = match word.parse() {
            Ok(word) => word,
            Err(error) => {
                self.state.notices.add(NoticeKind::Error, format!("Not opened: {error}."));
                return;
            }
        };
        let task = Task::new(format!("Opening {word}"), move |watch| {
            work::open(&word, choice, plan.as_deref(), watch).map(Answer::Opened)
        });
        self.worker.submit(Slot::Open, task);
        self.idle_frames = 0;
    }

    /// Puts a new case on show.
    pub(super) fn show_case(&mut self, opened: Opened) {
        let Opened { case, word, series, structures } = opened;
        let state = &mut self.state;
        state.origin = Some(Origin { word, series, structures });
        for remark in case.remarks.iter().filter(|r| r.severity == Severity::Warning) {
            state.notices.add(NoticeKind::Warning, &remark.message);
        }
        state.follow.reset(state.plan, &self.worker);
        state.hidden.clear();
        state.shapes = Default::default();
        state.plan = 0;
        state.pointer_mm = None;
        let first_beam = case.plans.first().and_then(|p| p.beams.first());
        state.selection = match (first_beam, &case.ct) {
            (Some(beam), _) => Selection::Beam(beam.number),
            (None, Some(_)) => Selection::Ct,
            (None, None) => Selection::Nothing,
        };
        state.follow.shown =
            if first_beam.is_none() && !case.doses.is_empty() { Shown::Imported(0) } else { Shown::Plan };
        // Without a prescription 100 % is the largest dose, and the views say so.
        state.dose_display.reference = match case.plans.first().and_then(|p| p.prescription_gy) {
            Some(_) => DoseReference::Prescription,
            None => DoseReference::Maximum,
        };
        let isocentre = first_beam.map(|b| b.isocentre_mm);
        let grid = case.ct.as_ref().map(|ct| ct.hu.grid()).or(case.doses.first().map(|d| d.gy.grid()));
        let middle = grid.map(|g| g.middle_mm());
        let target = roi::target_middle_mm(&case);
        state.crosshair_mm = isocentre.or(target).or(middle).unwrap_or_default();
        for view in &mut self.views {
            view.fit();
        }
        if let Err(error) = state.history.apply(Edit::Load(Box::new(case)), None) {
            state.notices.add(NoticeKind::Error, error.to_string());
        }
    }

    /// Asks the desktop for a folder or file on a thread of its own; the answer is opened with the next frame.
    pub(super) fn pick(&mut self, folder: bool) {
        let sender = self.picked.0.clone();
        let ctx = self.ctx.clone();
        let ask = move || {
            let dialog = rfd::FileDialog::new().set_title("Open in Beamsight");
            let path = if folder { dialog.pick_folder() } else { dialog.pick_file() };
            // The window may be gone by now.
            if sender.send(path).is_ok() {
                ctx.request_repaint();
            }
        };
        if let Err(error) = std::thread::Builder::new().name("dialog".to_owned()).spawn(ask) {
            self.state
                .notices
                .add(NoticeKind::Error, format!("No file dialog: {error}. Type the path instead."));
        }
    }

    /// What the dialogs answered since the last frame.
    pub(super) fn take_picked(&mut self) {
        let picked: Vec<Option<PathBuf>> = self.picked.1.try_iter().collect();
        for path in picked.into_iter().flatten() {
            self.open(&path.display().to_string());
        }
    }

    pub(super) fn save_plan(&mut self, path: PathBuf) {
        let Some(plan) = self.state.plan().cloned() else { return };
        let task = Task::new(format!("Saving {}", path.display()), move |_| {
            plan_toml::write(&path, &plan).map(|()| Answer::Saved(path))
        });
        self.worker.submit(Slot::Save, task);
    }

    pub(super) fn save_session(&mut self, path: PathBuf) {
        let state = &self.state;
        let Some(origin) = state.origin.clone() else { return };
        let case = state.case().clone();
        let view = serde_json::json!({
            "window_hu": [state.window.width_hu, state.window.level_hu],
            "crosshair_mm": state.crosshair_mm.to_array(),
        });
        let task = Task::new(format!("Saving {}", path.display()), move |_| {
            work::save_session(&path, &case, &origin, view).map(|()| Answer::Saved(path))
        });
        self.worker.submit(Slot::Save, task);
    }

    /// Looks for the body in the CT.
    pub(super) fn add_body(&mut self) {
        let Some(ct) = self.state.case().ct.clone() else { return };
        let set = self.state.case().structures.clone();
        let task = Task::new("Body from CT", move |watch| work::body(&ct, &set, watch).map(Answer::Body));
        self.worker.submit(Slot::Body, task);
    }

    /// Adds the body that was found.
    pub(super) fn take_body(&mut self, structure: Structure) {
        let number = structure.number;
        self.apply(super::command::Command::Edit { edit: Edit::AddStructure(structure), gesture: None });
        self.state.selection = Selection::Structure(number);
    }
}
