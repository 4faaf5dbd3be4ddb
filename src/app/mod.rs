//! The window: a state, panels and views that read it, commands that change it, and what follows a change.
//!
//! A frame runs `logic` (reports of the worker into the state, then new jobs for what changed) and `ui` (panels and
//! views, which push [`command::Command`]s; `apply` carries them out). Nothing here computes or waits.

mod apply;
mod browser;
pub mod command;
pub mod compare;
mod compare_wish;
mod dialog;
pub mod display;
mod files;
pub mod follow;
pub mod frames;
mod hu_draft;
mod keys;
pub mod offscreen;
pub mod panel;
mod picture;
mod record;
pub mod recovery;
pub mod register;
pub mod render;
pub mod report;
pub mod roi;
mod run;
pub mod save;
pub mod slot;
pub mod state;
pub mod theme;
pub mod unsaved;
pub mod view;
pub mod workspace;

pub use compare_wish::{CompareWish, DoseWord};
pub use dialog::{Ask, Dialog, Picked};
pub use picture::{Compared, Shot, ShotError, picture};
pub use run::{Options, RunError, has_display, run};

use crate::analysis::BodyWord;
use browser::Browser;
use command::Commands;
use crossbeam_channel::{Receiver, Sender};
use dialog::Answered;
use egui::{CentralPanel, Frame, Panel, Ui};
use slot::Worker;
use state::{State, Workspace};
use std::path::PathBuf;
use std::sync::Arc;
use unsaved::Work;
use view::{ViewKind, ViewState};

/// The window.
pub struct App {
    pub state: State,
    worker: Worker,
    gpu: render::Gpu,
    views: [ViewState; 4],
    /// Of the X-rays.
    radiographs: [view::RadiographState; register::MOST_IMAGES],
    drafts: panel::toolbar::Drafts,
    /// Asks the desktop for a file.
    dialog: Dialog,
    /// Its answers.
    picked: (Sender<Answered>, Receiver<Answered>),
    /// In place of a dialog, where the desktop has none, and the folder it was last in.
    browser: Option<Browser>,
    browsed: Option<PathBuf>,
    ctx: egui::Context,
    /// Counts finished gestures: a drag of the same widget later is a new step of the history.
    gestures: u64,
    /// Doses read or made since the start: each job has a slot of its own.
    new_doses: usize,
    /// X-rays asked for so far.
    new_xrays: usize,
    /// What the next case that opens is to be compared by.
    wish: Option<CompareWish>,
    /// What the first plan of the next case that opens is computed with.
    engine_wish: Option<follow::EngineChoice>,
    /// What counts of the next case that opens.
    body_wish: Option<BodyWord>,
    /// A report to be written once everything is computed.
    report: Option<PathBuf>,
    /// What the next case that opens is to be registered with.
    register_wish: Option<register::RegisterWish>,
    /// Frames since the worker was last busy.
    idle_frames: u32,
    /// From run to run.
    memory: recovery::Memory,
    /// Cases shown so far.
    cases: u64,
    /// Files written so far, and those being written.
    new_saves: usize,
    saves: usize,
    /// Work that the case being opened may take the place of.
    may_go: Option<Work>,
    /// Nothing keeps the window open any more.
    closing: bool,
    close_once_written: bool,
    title: String,
}

impl App {
    /// A window with nothing in it.
    ///
    /// # Errors
    /// When the system gives no thread for the worker.
    pub fn new(cc: &eframe::CreationContext<'_>) -> std::io::Result<Self> {
        theme::apply(&cc.egui_ctx);
        let repaint = cc.egui_ctx.clone();
        let worker = Worker::start(Arc::new(move || repaint.request_repaint()))?;
        Ok(Self {
            state: State::default(),
            worker,
            gpu: cc.wgpu_render_state.as_ref().map(render::install).unwrap_or_default(),
            views: ViewKind::ALL.map(ViewState::new),
            radiographs: Default::default(),
            drafts: panel::toolbar::Drafts::default(),
            dialog: dialog::desktop_dialog(),
            picked: crossbeam_channel::unbounded(),
            browser: None,
            browsed: None,
            ctx: cc.egui_ctx.clone(),
            gestures: 0,
            new_doses: 0,
            new_xrays: 0,
            wish: None,
            engine_wish: None,
            body_wish: None,
            report: None,
            register_wish: None,
            idle_frames: 0,
            memory: recovery::Memory::default(),
            cases: 0,
            new_saves: 0,
            saves: 0,
            may_go: None,
            closing: false,
            close_once_written: false,
            title: String::new(),
        })
    }

    /// A window that opens a case at once.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_options(cc: &eframe::CreationContext<'_>, options: Options) -> std::io::Result<Self> {
        let mut app = Self::new(cc)?;
        app.state.workspace = options.workspace;
        app.state.follow.settings.device = options.device;
        if let Some(mm) = options.grid_mm {
            app.state.follow.settings.grid_mm = mm;
        }
        app.state.dose_display.wash_of = options.wash_of;
        app.wish = options.compare;
        app.engine_wish = options.engine;
        app.body_wish = options.body;
        app.register_wish = options.register;
        if let Some(folder) = options.state_folder {
            app.begin_memory(folder);
        }
        if let Some(word) = &options.case {
            app.open_with(word, Default::default(), options.plan);
        }
        Ok(app)
    }

    /// Asks for files in another way than with the desktop's dialogs.
    pub fn set_dialog(&mut self, dialog: Dialog) {
        self.dialog = dialog;
    }

    /// Goes by another clock when unsaved work is kept.
    pub fn set_clock(&mut self, clock: recovery::Clock) {
        self.memory.clock = Some(clock);
    }

    /// Carries out what a panel might have asked for.
    pub fn command(&mut self, command: command::Command) {
        self.apply(command);
        self.ask();
    }

    /// Jobs asked of the worker so far.
    pub fn jobs_asked(&self) -> u64 {
        self.worker.submitted()
    }

    /// Jobs waiting or running.
    pub fn live_jobs(&self) -> usize {
        self.worker.live_jobs()
    }

    /// Whether everything the case needs is there: for two frames no job waited or ran, and none had reported.
    pub fn is_settled(&self) -> bool {
        self.idle_frames >= 2 && self.worker.live_jobs() == 0
    }

    fn panels(&mut self, ui: &mut Ui, commands: &mut Commands) {
        let state = &self.state;
        Panel::top("toolbar").frame(theme::bar_frame()).show(ui, |ui| {
            panel::toolbar::show(ui, state, &mut self.drafts, commands);
        });
        Panel::bottom("status").frame(theme::bar_frame()).exact_size(28.0).show(ui, |ui| {
            panel::status::show(ui, state);
        });
        if state.workspace == Workspace::Compare && state.is_loaded() {
            panel::compare::show(ui, state, commands);
        }
        if state.workspace == Workspace::Register {
            panel::register::show(ui, state, commands);
        }
        if state.workspace == Workspace::Plan {
            Panel::left("tree")
                .frame(theme::panel_frame())
                .default_size(252.0)
                .size_range(180.0..=420.0)
                .show(ui, |ui| {
                    panel::tree::show(ui, state, commands);
                });
            Panel::right("inspector")
                .frame(theme::panel_frame())
                .default_size(320.0)
                .size_range(260.0..=480.0)
                .show(ui, |ui| {
                    // Jobs stand below the inspector, beside the DVH: its curves have the width to themselves.
                    let jobs = Panel::bottom("jobs").frame(Frame::new());
                    jobs.default_size(200.0).size_range(60.0..=600.0).show(ui, |ui| {
                        panel::section(ui, "Jobs");
                        panel::jobs::show(ui, state, commands);
                    });
                    panel::inspector::show(ui, state, commands);
                });
            Panel::bottom("figures")
                .frame(theme::panel_frame())
                .default_size(236.0)
                .size_range(90.0..=600.0)
                .show(ui, |ui| {
                    panel::dvh::show(ui, state, commands);
                    ui.take_available_space();
                });
        }
        CentralPanel::default().frame(Frame::new().fill(theme::GROUND)).show(ui, |ui| {
            panel::unsaved::left_over(ui, state, commands);
            panel::notices::show(ui, state, commands);
            match state.workspace {
                Workspace::Plan => workspace::plan::show(ui, state, &self.gpu, &mut self.views, commands),
                Workspace::Compare => {
                    workspace::compare::show(ui, state, &self.gpu, &mut self.views, commands)
                }
                Workspace::Register => {
                    workspace::register::show(ui, state, &self.gpu, &mut self.radiographs, commands);
                }
            }
        });
        let facts = panel::about::Facts { graphics: self.gpu.device_name() };
        panel::about::show(ui.ctx(), state, &facts, commands);
        panel::removal::show(ui.ctx(), state, commands);
        panel::unsaved::question(ui.ctx(), state, commands);
        panel::replace::show(ui.ctx(), state, commands);
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.take_picked();
        self.follow();
        self.report_when_settled();
        self.watch_closing(ctx);
        self.keep_unsaved(ctx);
        self.show_title(ctx);
    }

    fn on_exit(&mut self) {
        self.end_memory();
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let mut commands = Commands::default();
        let keyboard = keys::Keyboard::of(ui.ctx());
        self.panels(ui, &mut commands);
        keys::commands(ui.ctx(), keyboard, &self.state, &mut commands);
        self.show_browser(ui.ctx());
        self.take_dropped(ui.ctx());
        let commands = commands.take();
        let changed = !commands.is_empty();
        commands.into_iter().for_each(|command| self.apply(command));
        if changed {
            // In the frame of the change, not in the next.
            self.ask();
        }
        if ui.input(|i| i.pointer.any_released()) {
            self.gestures += 1;
            // What waits until nothing is dragged any more begins.
            self.ctx.request_repaint();
        }
    }
}
