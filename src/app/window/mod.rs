//! The window: the steps of a frame, in order, and the state between frames.
//!
//! A frame runs `logic` (chosen files, the worker's reports into the state, then jobs for missing results) and `ui`
//! (panels and views push [`Command`]s; `apply` applies them, and the changed results are requested in the same frame).
//! Neither computes or waits.

mod access_tree;
mod apply;
mod browser;
mod cases;
mod check;
mod closing;
mod dialog;
mod drag;
mod export;
mod folders;
mod kept_doses;
mod machine_files;
mod memory;
mod network;
mod options;
mod protocol;
mod receive;
mod recent;
mod save;
mod tour;
mod typed_ahead;
mod wheel;

pub use dialog::{Dialog, Picked};
pub use memory::Clock;
pub use options::{CompareOptions, DoseWord, OneView, Options, RegisterOptions};

use super::command::{Command, Commands};
use super::jobs::{Requests, Worker};
use super::state::unsaved::Work;
use super::state::{State, ViewKind, Workspace};
use crate::feature::register::state::MOST_IMAGES;
use crate::feature::register::view::RadiographState;
use crate::kit::{held, theme};
use crate::view::ViewState;
use crate::{feature, keys, panel, render, workspace};
use access_tree::AccessTree;
use dialog::Dialogs;
use drag::Drag;
use egui::{CentralPanel, Frame, Panel, Ui};
use files::Layout;
use memory::Memory;
use network::Conversations;
use options::StartOptions;
use std::sync::Arc;
use typed_ahead::TypedAhead;

/// The window.
pub struct App {
    pub state: State,
    worker: Worker,
    ctx: egui::Context,
    gpu: render::Gpu,
    views: [ViewState; 4],
    /// View states of the X-rays.
    radiographs: [RadiographState; MOST_IMAGES],
    drafts: panel::toolbar::Drafts,
    dialogs: Dialogs,
    conversations: Conversations,
    start: StartOptions,
    /// Memory across runs of the program.
    memory: Memory,
    /// Size of the window and its panels.
    layout: Layout,
    /// Cases shown so far.
    cases: u64,
    /// Files being written.
    saves: usize,
    /// Work that the case being opened may replace.
    may_go: Option<Work>,
    /// The close is decided: the window no longer stays open.
    closing: bool,
    close_once_written: bool,
    title: String,
    /// Frames since the worker was last busy, and jobs submitted by then.
    idle_frames: u32,
    jobs_seen: u64,
    /// Events that a notch of the wheel makes.
    wheel_events: f32,
    drag: Drag,
}

impl App {
    /// An empty window.
    ///
    /// # Errors
    /// If the system gives no thread for the worker.
    pub fn new(cc: &eframe::CreationContext<'_>) -> std::io::Result<Self> {
        theme::apply(&cc.egui_ctx);
        // Before all other readers of events.
        cc.egui_ctx.add_plugin(TypedAhead::default());
        let repaint = cc.egui_ctx.clone();
        let worker = Worker::start(Arc::new(move || repaint.request_repaint()))?;
        Ok(Self {
            state: State::default(),
            worker,
            ctx: cc.egui_ctx.clone(),
            gpu: cc
                .wgpu_render_state
                .as_ref()
                .map(render::install)
                .unwrap_or_default(),
            views: ViewKind::ALL.map(ViewState::new),
            radiographs: Default::default(),
            drafts: panel::toolbar::Drafts::default(),
            dialogs: Dialogs::default(),
            conversations: Conversations::default(),
            start: StartOptions::default(),
            memory: Memory::default(),
            layout: Layout::default(),
            cases: 0,
            saves: 0,
            may_go: None,
            closing: false,
            close_once_written: false,
            title: String::new(),
            idle_frames: 0,
            jobs_seen: 0,
            wheel_events: 1.0,
            drag: Drag::default(),
        })
    }

    /// A window that opens a case at once.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_options(
        cc: &eframe::CreationContext<'_>,
        options: Options,
    ) -> std::io::Result<Self> {
        let mut app = Self::new(cc)?;
        app.state.workspace = options.workspace;
        app.state.results.settings.device = options.device;
        app.start.grid_mm = options.grid_mm;
        app.state.dose_display.wash_of = options.wash_of;
        app.start.report = options.plan_report;
        if let Some(view) = options.view {
            app.state.room.shown = view == OneView::Room;
            app.apply(Command::ToggleMaximise(view.kind()));
        }
        app.start.compare = options.compare;
        app.start.engine = options.engine;
        app.start.body = options.body;
        app.start.register = options.register;
        if let Some(folder) = options.state_folder {
            app.layout = Layout::load(&folder);
            app.state.network.settings = app.layout.peers.clone();
            app.begin_memory(folder);
        }
        if let Some(path) = options.access_tree {
            app.ctx.add_plugin(AccessTree::new(path));
        }
        app.state.theme = options.theme.unwrap_or(app.layout.theme);
        theme::choose(&app.ctx, app.state.theme);
        if let Some(word) = &options.case {
            app.open_with(word, Default::default(), options.plan);
        }
        Ok(app)
    }

    /// The window on the display of this process, whose wheel it asks for.
    pub fn on_this_display(mut self) -> Self {
        self.wheel_events = wheel::events_per_notch();
        self
    }

    /// Replaces the desktop's file dialogs.
    pub fn set_dialog(&mut self, dialog: Dialog) {
        self.dialogs.dialog = dialog;
    }

    /// Replaces the clock of the autosave.
    pub fn set_clock(&mut self, clock: Clock) {
        self.memory.clock = Some(clock);
    }

    /// Applies a command as if a panel had pushed it.
    pub fn command(&mut self, command: Command) {
        self.apply(command);
        self.requests().request();
    }

    /// Number of jobs submitted to the worker.
    pub fn jobs_asked(&self) -> u64 {
        self.worker.submitted()
    }

    /// Jobs waiting or running.
    pub fn live_jobs(&self) -> usize {
        self.worker.live_jobs()
    }

    /// Whether all results of the case are available and no file dialog is open: for two frames no job waited or ran, and none was submitted or
    /// reported.
    pub fn is_settled(&self) -> bool {
        self.is_idle() && !self.dialogs.has_open() && self.state.report_waits.is_none()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle_frames >= 2
            && self.worker.live_jobs() == 0
            && self.worker.submitted() == self.jobs_seen
    }

    fn requests(&mut self) -> Requests<'_> {
        Requests {
            state: &mut self.state,
            worker: &self.worker,
            gpu: &self.gpu,
            ctx: &self.ctx,
        }
    }

    fn panels(&mut self, ui: &mut Ui, commands: &mut Commands) {
        let (state, layout) = (&self.state, &mut self.layout);
        if let Some(rect) = ui.input(|i| i.viewport().inner_rect) {
            let maximised = ui.input(|i| i.viewport().maximized).unwrap_or_default();
            layout.note_window(rect.size().into(), maximised);
        }
        Panel::top("toolbar")
            .frame(theme::bar_frame(ui))
            .show(ui, |ui| {
                panel::toolbar::show(ui, state, &mut self.drafts, commands);
            });
        Panel::bottom("status")
            .frame(theme::bar_frame(ui))
            .exact_size(28.0)
            .show(ui, |ui| {
                panel::status::show(ui, state, commands);
            });
        if state.workspace == Workspace::Compare && state.is_loaded() {
            feature::compare::panel::show(ui, state, commands);
        }
        if state.workspace == Workspace::Register {
            feature::register::panel::show(ui, state, commands);
        }
        if state.workspace == Workspace::Plan && state.is_loaded() {
            // The side panels leave the views two fifths of a narrow window.
            let width = ui.ctx().content_rect().width();
            let [tree_sizes, inspector_sizes] = [(0.26, 180.0, 420.0), (0.34, 260.0, 480.0)]
                .map(|(share, low, high): (f32, f32, f32)| low..=high.min(share * width).max(low));
            let tree = Panel::left("tree")
                .frame(theme::panel_frame(ui))
                .default_size(layout.panel("tree", 252.0))
                .size_range(tree_sizes)
                .show(ui, |ui| {
                    held(ui, |ui| panel::tree::show(ui, state, commands));
                });
            layout.note_panel("tree", tree.response.rect.width());
            let inspector = Panel::right("inspector")
                .frame(theme::panel_frame(ui))
                .default_size(layout.panel("inspector", 320.0))
                .size_range(inspector_sizes)
                .show(ui, |ui| {
                    // Jobs are below the inspector, beside the DVH, whose curves get the full width.
                    let height = panel::jobs::height(ui, state);
                    let jobs = Panel::bottom("jobs").frame(Frame::new()).resizable(false);
                    jobs.exact_size(height).show(ui, |ui| {
                        held(ui, |ui| panel::jobs::show(ui, state, commands));
                    });
                    held(ui, |ui| panel::inspector::show(ui, state, commands));
                });
            layout.note_panel("inspector", inspector.response.rect.width());
            let height = (0.27 * ui.ctx().content_rect().height()).clamp(150.0, 236.0);
            let figures = Panel::bottom("figures")
                .frame(theme::panel_frame(ui))
                .default_size(layout.panel("figures", height))
                .size_range(90.0..=(0.45 * ui.ctx().content_rect().height()).clamp(150.0, 600.0))
                .show(ui, |ui| {
                    feature::dose::panel::dvh::show(ui, state, commands);
                    ui.take_available_space();
                });
            layout.note_panel("figures", figures.response.rect.height());
        }
        if feature::measure::panel::is_shown(state) && state.workspace != Workspace::Register {
            Panel::bottom("measure")
                .frame(theme::panel_frame(ui))
                .default_size(170.0)
                .size_range(70.0..=400.0)
                .show(ui, |ui| feature::measure::panel::show(ui, state, commands));
        }
        CentralPanel::default()
            .frame(Frame::new().fill(theme::palette(ui).ground))
            .show(ui, |ui| {
                let views = ui.max_rect();
                if !state.is_loaded() {
                    panel::unsaved::recoverable(ui, state, commands);
                }
                match state.workspace {
                    Workspace::Plan => {
                        workspace::plan::show(ui, state, &self.gpu, &mut self.views, commands)
                    }
                    Workspace::Compare => {
                        workspace::compare::show(ui, state, &self.gpu, &mut self.views, commands)
                    }
                    Workspace::Register => {
                        workspace::register::show(
                            ui,
                            state,
                            &self.gpu,
                            &mut self.radiographs,
                            commands,
                        );
                    }
                }
                panel::notices::show(ui.ctx(), views, state, commands);
            });
        let facts = panel::about::Facts {
            graphics: self.gpu.device_name(),
        };
        panel::about::show(ui.ctx(), state, &facts, commands);
        feature::network::panel::show(ui.ctx(), state, commands);
        feature::commission::panel::show(ui.ctx(), state, commands);
        feature::check::panel::show(ui.ctx(), state, commands);
        feature::protocol::panel::show(ui.ctx(), state, commands);
        feature::open::panel::references::show(ui.ctx(), state, commands);
        feature::open::panel::patients::show(ui.ctx(), state, commands);
        panel::removal::show(ui.ctx(), state, commands);
        panel::unsaved::question(ui.ctx(), state, commands);
        panel::replace::show(ui.ctx(), state, commands);
        feature::start::panel::tour::show(ui.ctx(), state, commands);
    }
}

impl eframe::App for App {
    fn raw_input_hook(&mut self, _ctx: &egui::Context, input: &mut egui::RawInput) {
        wheel::share_notches(input, self.wheel_events);
    }

    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        // In every frame: a window without a display gets another theme once the app is made.
        theme::choose(ctx, self.state.theme);
        self.take_picked();
        self.receive();
        self.follow_handle(ctx);
        self.drain_network_events();
        self.request_check_models();
        self.requests().request_protocol();
        self.watch_machine_files();
        self.requests().request();
        self.write_waiting_report();
        self.report_when_settled();
        self.watch_closing(ctx);
        self.keep_unsaved(ctx);
        self.keep_doses(ctx);
        self.look_for_recoverable(ctx);
        self.show_title(ctx);
        self.fade_notices(ctx);
        ctx.with_plugin(|tree: &mut AccessTree| tree.settled = self.is_settled());
    }

    fn on_exit(&mut self) {
        self.end_memory();
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let mut commands = Commands::beside(self.drag.followed);
        let laid_out = self.revision();
        let keyboard = keys::Keyboard::new(ui.ctx());
        self.panels(ui, &mut commands);
        keys::commands(ui.ctx(), keyboard, &self.state, &mut commands);
        self.show_browser(ui.ctx());
        self.take_dropped(ui.ctx());
        self.drag.handle = commands.take_handle().map(|handle| (handle, laid_out));
        let commands = commands.take();
        let changed = !commands.is_empty();
        if commands.iter().any(Command::moves_under_the_pointer) {
            // Panels and views are laid out once more: what the pointer drags is drawn in the frame of its move.
            ui.ctx()
                .request_discard("what is under the pointer has moved");
        }
        commands.into_iter().for_each(|command| self.apply(command));
        if changed {
            // The requests follow in the frame of the change.
            self.requests().request();
        }
        if ui.input(|i| i.pointer.any_released()) {
            self.state.gestures += 1;
            self.state.optimise.drag = None;
            // Starts the jobs that wait for the end of a drag.
            self.ctx.request_repaint();
        }
    }
}
