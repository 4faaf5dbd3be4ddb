//! Opening and loading of cases.

use super::App;
use crate::feature::compare::state::Compare;
use crate::feature::leaves::state::Leaves;
use crate::feature::open;
use crate::feature::open::state::{Opened, Opening, Origin};
use crate::jobs::{JobAnswer, WindowAnswer};
use crate::state::display::DoseReference;
use crate::state::record::Record;
use crate::state::results::Shown;
use crate::state::slot::Slot;
use crate::state::unsaved::Work;
use crate::state::{NoticeKind, Selection, roi};
use ::open::CaseWord;
use analysis::{BodyChoice, contradiction, is_computed};
use case::{Case, Edit, Severity};
use dicom::Choice;
use results::patient_grid;
use std::path::PathBuf;
use worker::Task;

impl App {
    /// Opens a CASE word; the loaded case stays until the new one is complete.
    pub fn open(&mut self, word: &str) {
        self.open_with(word, Choice::default(), None);
    }

    /// As [`Self::open`], with the image series (if a folder has several) and a plan file put first.
    pub fn open_with(&mut self, word: &str, choice: Choice, plan: Option<PathBuf>) {
        let word: CaseWord = match word.parse() {
            Ok(word) => word,
            Err(error) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("Not opened: {error}."));
                return;
            }
        };
        self.open_or_ask(Opening {
            choice,
            plan,
            ..Opening::new(word)
        });
    }

    /// As [`Self::open`], for a path that need not be UTF-8.
    pub(super) fn open_path(&mut self, path: PathBuf) {
        self.open_or_ask(Opening::new(CaseWord::of_path(path)));
    }

    /// Submits the reading of a case, which may replace the present work.
    pub(super) fn begin_opening(&mut self, opening: Opening) {
        let body = self.start.body.take();
        self.may_go = Some(Work::new(&self.state));
        let gpu = self.gpu.clone();
        let name = self.state.opening_in_words(&opening);
        let task = Task::new(name, move |control| {
            let opened = match open::jobs::open(&opening, body.as_ref(), control)? {
                open::jobs::Outcome::Opened(opened) => opened,
                open::jobs::Outcome::Asks(question) => {
                    return Ok(JobAnswer::then(move |window| {
                        window.state.patients = Some(question)
                    }));
                }
            };
            // The previous case closes: the engines release its volumes.
            engine::empty_caches(control.cache());
            if let Some(ct) = &opened.case.ct {
                gpu.prepare_ct(&ct.hu);
            }
            Ok::<_, String>(JobAnswer::Window(WindowAnswer::Opened(Box::new(Opened {
                recovers: opening.recovers,
                ..*opened
            }))))
        });
        self.worker.submit(Slot::Open, task);
    }

    /// Loads a new case into the state.
    pub(crate) fn show_case(&mut self, opened: Opened) {
        let Opened {
            mut case,
            word,
            series,
            folder,
            structures,
            mut record,
            body,
            plans_before_maps,
            doses,
            mut session,
            recovers,
        } = opened;
        if recovers.is_some() {
            // The autosave file of a closed window is no session of the user's.
            session = record.as_mut().and_then(Record::take_session_file);
            case.source = session
                .as_ref()
                .map_or_else(|| word.to_string(), |path| path.display().to_string());
        }
        self.cases += 1;
        // Pending files belong to the previous case.
        self.state.replacing.clear();
        self.state.strange_doses.clear();
        self.state.report_waits = None;
        self.close_check();
        self.close_protocol();
        self.picture_left_case();
        let state = &mut self.state;
        let session_file = session.clone();
        let is_same_case = state.origin.as_ref().is_none_or(|shown| shown.word == word);
        state.export.plans_left_out.clear();
        let origin = Origin {
            word,
            session,
            number: self.cases,
            series,
            folder,
            structures,
        };
        state.notices.begin_case(&origin.name());
        state.origin = Some(origin);
        for remark in case
            .remarks
            .iter()
            .filter(|r| r.severity == Severity::Warning)
        {
            state.notices.add(NoticeKind::Warning, remark.with_files());
        }
        state.optimise.reset();
        state.leaves = Leaves {
            technique: state.leaves.technique,
            ..Leaves::default()
        };
        state
            .results
            .reset(state.plan)
            .into_iter()
            .for_each(|slot| self.worker.cancel(slot));
        // Jobs of the previous case ran on while this one was read: their densities and images are volumes that are gone.
        self.worker.cache().empty();
        // Structure numbers are meaningless in another case.
        state.results.settings.body = BodyChoice::default();
        if !is_same_case && let Some(text) = state.results.settings.begin_case() {
            state.notices.add(NoticeKind::Info, text);
        }
        state.hidden.clear();
        state.shapes = Default::default();
        state.hu_draft = None;
        state.plan = record.as_ref().map_or(0, |record| record.plan_of(&case));
        let plan = case.plans.get(state.plan);
        state.pointer_mm = None;
        state.measures = Default::default();
        let first_beam = plan.and_then(|p| p.beams.first());
        state.selection = match (first_beam, &case.ct) {
            (Some(beam), _) => Selection::Beam(beam.number),
            (None, Some(_)) => Selection::Ct,
            (None, None) => Selection::Nothing,
        };
        state.results.shown = first_shown(&case, state.plan);
        state.compare.sides = Compare::for_case(&case, |plan| can_compute(&case, plan));
        // Without a prescription 100 % is the largest dose, and the views state that.
        state.dose_display.reference = match plan.and_then(|p| p.prescription_gy) {
            Some(_) => DoseReference::Prescription,
            None => DoseReference::Maximum,
        };
        let isocentre = first_beam.map(|b| b.isocentre_mm);
        let grid = patient_grid(&case).map(|(grid, _)| grid);
        let middle = grid.as_ref().map(|grid| grid.middle_mm());
        let target = roi::target_middle_mm(&case);
        // An isocentre outside the images is reported; the crosshair stays inside them.
        let isocentre = isocentre.filter(|mm| {
            grid.as_ref()
                .is_none_or(|grid| grid.voxel_at(*mm).is_some())
        });
        state.crosshair_mm = isocentre.or(target).or(middle).unwrap_or_default();
        for view in &mut self.views {
            view.fit();
        }
        if let Err(error) = state.history.apply(Edit::Load(Box::new(case)), None) {
            state.notices.add(NoticeKind::Error, error.to_string());
        }
        state.history.set_plans_before_load(plans_before_maps);
        let register = record.as_mut().and_then(Record::take_register);
        if let Some(trouble) = record.and_then(|r| r.restore(state)) {
            state.notices.add(NoticeKind::Warning, trouble);
        }
        self.requests().reset_register();
        if let Some(register) = register {
            self.requests().restore_register(register);
        }
        if let Some(body) = body {
            self.state.results.settings.body = body;
        }
        if let Some(mm) = self.start.grid_mm.take() {
            self.state.results.settings.grid_mm = mm;
        }
        if let BodyChoice::Structure(number) = self.state.results.settings.body {
            // The structure of a session may be missing.
            self.state.history.reserve_number(number);
        }
        if let Some(engine) = self.start.engine.take() {
            self.state.results.engines.insert(0, engine);
        }
        if let Some(options) = self.start.compare.take() {
            self.begin_comparison(options);
        }
        if let Some(options) = self.start.register.take() {
            self.begin_registration(options);
        }
        self.take_kept_doses(recovers.as_deref(), session_file.as_deref(), doses);
        self.state.saved = Some(Work::new(&self.state));
        match recovers {
            Some(path) => self.recovered(path),
            None => self.remember_case(),
        }
        self.follow_tour();
    }
}

/// The plan's dose if it can be computed, else the first dose of the files.
fn first_shown(case: &Case, plan: usize) -> Shown {
    let computed = can_compute(case, plan);
    if !computed && !case.doses.is_empty() {
        Shown::Imported(0)
    } else {
        Shown::Plan
    }
}

/// Whether a plan, by index, has a beam whose dose can be computed.
fn can_compute(case: &Case, plan: usize) -> bool {
    case.plans
        .get(plan)
        .zip(case.ct.as_ref())
        .is_some_and(|(plan, ct)| {
            plan.beams
                .iter()
                .any(|b| is_computed(b) && contradiction(plan, b, ct).is_none())
        })
}
