//! Opening and saving: words to jobs, dialogs on threads of their own.

use super::App;
use super::browser::{self, Browser, Outcome};
use super::compare::{Compare, Side, Source};
use super::dialog::{Answered, Ask, Picked};
use super::display::DoseReference;
use super::follow::{Answer, Opened, Shown, work};
use super::record::Record;
use super::roi;
use super::save::Target;
use super::state::{NoticeKind, Origin, Selection};
use super::unsaved::Work;
use crate::analysis::{BodyChoice, combined, contradiction, is_computed};
use crate::app::slot::Slot;
use crate::case::{Case, Dose, Edit, Placement, Remark, Severity, Structure};
use crate::dicom::Choice;
use crate::files::{plan_toml, replace_file, session};
use crate::open::CaseWord;
use crate::physics::HuTable;
use crate::results::patient_grid;
use crate::worker::Task;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A case to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub word: CaseWord,
    pub choice: Choice,
    /// A plan file, put before the case's own plans.
    pub plan: Option<PathBuf>,
    /// The word is unsaved work that a window left here.
    pub recovers: Option<PathBuf>,
}

impl Opening {
    pub fn of(word: CaseWord) -> Self {
        Self { word, choice: Choice::default(), plan: None, recovers: None }
    }
}

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
        self.open_or_ask(Opening { choice, plan, ..Opening::of(word) });
    }

    /// As [`Self::open`], by a path that need not be UTF-8.
    pub(super) fn open_path(&mut self, path: PathBuf) {
        self.open_or_ask(Opening::of(CaseWord::of_path(path)));
    }

    /// Gives a case to the worker to be read, over work that may go.
    pub(super) fn begin_opening(&mut self, opening: Opening) {
        let Opening { word, choice, plan, recovers } = opening;
        let body = self.body_wish.take();
        self.may_go = Some(Work::of(&self.state));
        let gpu = self.gpu.clone();
        let task = Task::new(format!("Opening {}", word.short()), move |control| {
            let opened = work::open(&word, choice, plan.as_deref(), body.as_ref(), control)?;
            // The case before closes: the engines keep nothing of its volumes.
            crate::engine::empty_caches();
            if let Some(ct) = &opened.case.ct {
                gpu.prepare_ct(&ct.hu);
            }
            Ok::<_, String>(Answer::Opened(Box::new(Opened { recovers, ..*opened })))
        });
        self.worker.submit(Slot::Open, task);
        self.idle_frames = 0;
    }

    /// Puts a new case on show.
    pub(super) fn show_case(&mut self, opened: Opened) {
        let Opened { mut case, word, series, structures, mut record, body, mut session, recovers } = opened;
        if recovers.is_some() {
            // The file of a window that is gone is no session of the user's.
            session = record.as_mut().and_then(Record::take_session_file);
            case.source =
                session.as_ref().map_or_else(|| word.to_string(), |path| path.display().to_string());
        }
        self.cases += 1;
        // What was to be written was another case's.
        self.state.replacing.clear();
        let remembered =
            session.as_ref().map_or_else(|| word.in_utf8(), |path| path.to_str().map(str::to_owned));
        let state = &mut self.state;
        state.origin = Some(Origin { word, session, number: self.cases, series, structures });
        for remark in case.remarks.iter().filter(|r| r.severity == Severity::Warning) {
            state.notices.add(NoticeKind::Warning, notice_of(remark));
        }
        state.follow.reset(state.plan, &self.worker);
        // Numbers of structures mean nothing in another case.
        state.follow.settings.body = BodyChoice::default();
        state.hidden.clear();
        state.shapes = Default::default();
        state.hu_draft = None;
        state.plan = 0;
        state.pointer_mm = None;
        let first_beam = case.plans.first().and_then(|p| p.beams.first());
        state.selection = match (first_beam, &case.ct) {
            (Some(beam), _) => Selection::Beam(beam.number),
            (None, Some(_)) => Selection::Ct,
            (None, None) => Selection::Nothing,
        };
        state.follow.shown = first_shown(&case);
        state.compare.sides = Compare::for_case(&case, |plan| can_compute(&case, plan));
        // Without a prescription 100 % is the largest dose, and the views say so.
        state.dose_display.reference = match case.plans.first().and_then(|p| p.prescription_gy) {
            Some(_) => DoseReference::Prescription,
            None => DoseReference::Maximum,
        };
        let isocentre = first_beam.map(|b| b.isocentre_mm);
        let grid = patient_grid(&case).map(|(grid, _)| grid);
        let middle = grid.as_ref().map(|grid| grid.middle_mm());
        let target = roi::target_middle_mm(&case);
        // A plan that lies beside its images is said; what is shown are the images.
        let isocentre = isocentre.filter(|mm| grid.as_ref().is_none_or(|grid| grid.voxel_at(*mm).is_some()));
        state.crosshair_mm = isocentre.or(target).or(middle).unwrap_or_default();
        for view in &mut self.views {
            view.fit();
        }
        if let Err(error) = state.history.apply(Edit::Load(Box::new(case)), None) {
            state.notices.add(NoticeKind::Error, error.to_string());
        }
        let register = record.as_mut().and_then(Record::take_register);
        if let Some(trouble) = record.and_then(|r| r.restore(state)) {
            state.notices.add(NoticeKind::Warning, trouble);
        }
        self.reset_register();
        if let Some(register) = register {
            self.restore_register(register);
        }
        if let Some(body) = body {
            self.state.follow.settings.body = body;
        }
        if let BodyChoice::Structure(number) = self.state.follow.settings.body {
            // In a session the structure may be gone.
            self.state.history.spend(number);
        }
        if let Some(engine) = self.engine_wish.take() {
            self.state.follow.engines.insert(0, engine);
        }
        if let Some(wish) = self.wish.take() {
            self.grant(wish);
        }
        if let Some(wish) = self.register_wish.take() {
            self.begin_register(wish);
        }
        self.state.saved = Some(Work::of(&self.state));
        match recovers {
            Some(path) => self.recovered(path),
            None => self.remember_case(remembered.as_deref()),
        }
    }

    /// Asks for a folder or file on a thread of its own; the answer is taken up with the next frame.
    pub(super) fn pick(&mut self, ask: Ask) {
        let sender = self.picked.0.clone();
        let (ctx, dialog) = (self.ctx.clone(), Arc::clone(&self.dialog));
        let wait = move || {
            // The window may be gone by now.
            if sender.send((ask, dialog(ask))).is_ok() {
                ctx.request_repaint();
            }
        };
        if std::thread::Builder::new().name("dialog".to_owned()).spawn(wait).is_err() {
            self.browse(ask);
        }
    }

    /// Opens the window's own file browser, where it was last used, else beside the last case.
    fn browse(&mut self, ask: Ask) {
        let known = self.browsed.clone().or_else(|| self.places().into_iter().next());
        let folder = known.or_else(|| std::env::current_dir().ok()).or_else(browser::home);
        self.browser = Some(Browser::new(ask, folder.unwrap_or_else(|| PathBuf::from("/")), &self.ctx));
    }

    /// The folders of the recent cases.
    fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = Vec::new();
        for folder in self.state.recent.iter().filter_map(|word| Path::new(word).parent()) {
            if !places.iter().any(|p| p == folder) {
                places.push(folder.to_owned());
            }
        }
        places
    }

    pub(super) fn show_browser(&mut self, ctx: &egui::Context) {
        let places = if self.browser.is_some() { self.places() } else { Vec::new() };
        let Some(browser) = &mut self.browser else { return };
        let Some(outcome) = browser.show(ctx, &places) else { return };
        let (ask, folder) = (browser.ask, browser.folder().to_owned());
        (self.browsed, self.browser) = (Some(folder), None);
        match outcome {
            Outcome::Path(path) => self.take_path(ask, path, false),
            Outcome::Cancelled => self.save_ended(),
        }
    }

    /// What the dialogs answered since the last frame.
    pub(super) fn take_picked(&mut self) {
        let picked: Vec<Answered> = self.picked.1.try_iter().collect();
        for (ask, answer) in picked {
            match answer {
                Picked::NoDialog => self.browse(ask),
                Picked::Nothing => self.save_ended(),
                // Desktops ask themselves.
                Picked::Path(path) => self.take_path(ask, path, true),
            }
        }
    }

    /// `replaces`: what is there was asked about.
    fn take_path(&mut self, ask: Ask, path: PathBuf, replaces: bool) {
        match ask {
            Ask::OpenFolder | Ask::OpenFile => self.open_path(path),
            Ask::OpenXray => self.open_xray(path, Placement::default(), None),
            Ask::OpenHuTable => self.open_hu_table(path),
            Ask::OpenDose => self.open_dose(path, None),
            _ => self.write(ask, path, replaces),
        }
    }

    /// What is dropped on the window is opened.
    pub(super) fn take_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.clone());
        match dropped.as_slice() {
            [] => {}
            [one] => self.open_path(one.path().to_owned()),
            more => {
                let text = format!("{} files were dropped: drop one, or the folder they are in.", more.len());
                self.state.notices.add(NoticeKind::Warning, text);
            }
        }
    }

    pub(super) fn save_plan(&mut self, target: Target) {
        let Some(plan) = self.state.plan().cloned() else { return };
        self.submit_write(target, move |path| {
            plan_toml::write(path, &plan).map_err(|e| e.to_string())?;
            Ok(Answer::Saved(path.to_owned()))
        });
    }

    pub(super) fn save_session(&mut self, target: Target) {
        let state = &self.state;
        let Some(origin) = state.origin.clone() else { return };
        let case = state.case().clone();
        let (record, work) = (Record::of(state), Work::of(state));
        self.submit_write(target, move |path| {
            let view = serde_json::to_value(record).map_err(|e| e.to_string())?;
            let session = work::session_of(&case, &origin, view)?;
            session::write(path, &session).map_err(|e| e.to_string())?;
            Ok(Answer::SessionSaved(path.to_owned(), Box::new(work), origin.number))
        });
    }

    /// Reads a HU table and puts it in force.
    pub(super) fn open_hu_table(&mut self, path: PathBuf) {
        let task = Task::new("Reading a HU table", move |_| {
            HuTable::resolve(&path.display().to_string()).map(|table| Answer::HuTable(Arc::new(table)))
        });
        self.worker.submit(Slot::HuTable, task);
    }

    pub(super) fn take_hu_table(&mut self, table: Arc<HuTable>) {
        self.state.follow.settings.hu_table = table;
        self.state.hu_draft = None;
    }

    /// Saves the table being edited, if it is sound, else the one in force.
    pub(super) fn save_hu_table(&mut self, target: Target) {
        let text = match &self.state.hu_draft {
            None => self.state.follow.settings.hu_table.to_toml(),
            Some(draft) => match draft.table() {
                Ok(table) => table.to_toml(),
                Err(why) => {
                    self.state.notices.add(NoticeKind::Error, format!("The HU table is not saved: {why}."));
                    return;
                }
            },
        };
        self.submit_write(target, move |path| {
            replace_file(path, |out| out.write_all(text.as_bytes())).map_err(|e| {
                format!("cannot write {}: {e}; choose a folder you may write to", path.display())
            })?;
            Ok(Answer::Saved(path.to_owned()))
        });
    }

    /// Reads a dose from a file into the case, for a side of the comparison where one is named.
    pub(super) fn open_dose(&mut self, path: PathBuf, side: Option<Side>) {
        let task = Task::new(format!("Opening dose {}", path.display()), move |_| {
            work::read_dose(&path).map(|(dose, remarks)| Answer::NewDose { dose, remarks, side })
        });
        self.submit_dose(task);
    }

    /// Makes a dose of the case from A and B.
    pub(super) fn make_dose(&mut self, weights: [f64; 2]) {
        let [a, b] = Side::BOTH.map(|side| self.state.follow.side(side).cloned());
        // With a weight of nothing the other dose stands in.
        let (Some(a), Some(b)) = (a.clone().or_else(|| b.clone()), b.or(a)) else { return };
        let label = made_label(self.state.case(), [&a.label, &b.label], weights);
        let task = Task::new(label.clone(), move |_| {
            let made = combined(&label, &a, &b, weights);
            made.map(|dose| Answer::NewDose { dose: Arc::new(dose), remarks: Vec::new(), side: None })
        });
        self.submit_dose(task);
    }

    /// Doses come into the case one by one: none takes the place of another.
    fn submit_dose(&mut self, task: Task<Answer>) {
        self.worker.submit(Slot::NewDose(self.new_doses), task);
        self.new_doses += 1;
        self.idle_frames = 0;
    }

    /// Adds a dose to the case, for a side of the comparison or for one that has none yet.
    pub(super) fn take_dose(&mut self, dose: Arc<Dose>, remarks: &[Remark], side: Option<Side>) {
        for remark in remarks.iter().filter(|r| r.severity == Severity::Warning) {
            self.state.notices.add(NoticeKind::Warning, notice_of(remark));
        }
        let index = self.state.case().doses.len();
        self.apply(super::command::Command::Edit { edit: Edit::AddDose(dose), gesture: None });
        let sides = &mut self.state.compare.sides;
        let free = || [Side::B, Side::A].into_iter().find(|side| sides[side.index()].is_none());
        if let Some(side) = side.or_else(free) {
            sides[side.index()] = Some(Source::Dose(index));
        }
    }

    /// Looks for the body in the CT.
    pub(super) fn add_body(&mut self) {
        let Some(ct) = self.state.case().ct.clone() else { return };
        let set = self.state.case().structures.clone();
        let task = Task::new("Body from CT", move |control| {
            let (structure, remark) = work::body(&ct, &set, control)?;
            Ok::<_, String>(Answer::Body(structure, remark))
        });
        self.worker.submit(Slot::Body, task);
    }

    /// Adds the body that was found.
    pub(super) fn take_body(&mut self, found: Structure, remark: Remark) {
        // Structures may have come since the CT was searched.
        let set = &self.state.case().structures;
        let (number, name) = (self.state.case().free_number(), set.free_name("BODY"));
        let structure = Structure { number, name, ..found };
        self.state.notices.add(NoticeKind::Info, format!("{}: {}.", structure.name, remark.message));
        self.apply(super::command::Command::Edit { edit: Edit::AddStructure(structure), gesture: None });
        self.state.selection = Selection::Structure(number);
    }
}

/// The plan's dose where one can be computed, else what the files brought.
fn first_shown(case: &Case) -> Shown {
    let computed = can_compute(case, 0);
    if !computed && !case.doses.is_empty() { Shown::Imported(0) } else { Shown::Plan }
}

/// Whether a plan, by index, has a beam whose dose can be computed.
fn can_compute(case: &Case, plan: usize) -> bool {
    case.plans.get(plan).zip(case.ct.as_ref()).is_some_and(|(plan, ct)| {
        plan.beams.iter().any(|b| is_computed(b) && contradiction(plan, b, ct).is_none())
    })
}

/// What a dose made of others is called: what it is, and a number where there is one of that name.
fn made_label(case: &Case, [a, b]: [&str; 2], [wa, wb]: [f64; 2]) -> String {
    let base = match (wa, wb) {
        (1.0, 0.0) => format!("Copy of {a}"),
        (0.0, 1.0) => format!("Copy of {b}"),
        (1.0, 1.0) => format!("{a} + {b}"),
        (-1.0, 1.0) => format!("{b} - {a}"),
        (1.0, -1.0) => format!("{a} - {b}"),
        _ => format!("{wa} × {a} + {wb} × {b}"),
    };
    let taken = |label: &str| case.doses.iter().any(|d| d.label == label);
    let mut label = base.clone();
    let mut count = 2;
    while taken(&label) {
        label = format!("{base} ({count})");
        count += 1;
    }
    label
}

/// A remark as a notice: with the file it is about.
fn notice_of(remark: &Remark) -> String {
    match remark.files.as_slice() {
        [] => remark.message.clone(),
        [file] => format!("{} ({file})", remark.message),
        [file, rest @ ..] => format!("{} ({file} and {} more)", remark.message, rest.len()),
    }
}
