//! Commands: panels push them, the window applies them in one place.

mod handle;

use crate::feature::beam::command::ApertureAction;
use crate::feature::check::state::CheckAction;
use crate::feature::commission::state::MachineFitAction;
use crate::feature::compare::state::Compare;
use crate::feature::ct::state::HuDraft;
use crate::feature::draw::command::DrawAction;
use crate::feature::goals::command::GoalAction;
use crate::feature::measure::command::MeasureAction;
use crate::feature::network::state::NetworkAction;
use crate::feature::open::state::PatientReply;
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::plan::command::PlanAction;
use crate::feature::protocol::state::ProtocolAction;
use crate::feature::register::command::RegisterAction;
use crate::feature::robust::state::SetUpErrors;
use crate::feature::room::state::Room;
use crate::feature::start::state::TourAction;
use crate::feature::structures::state::ContouringAction;
use crate::kit::Pointer;
use crate::state::display::{DoseDisplay, WindowLevel};
use crate::state::export::ExportChoice;
use crate::state::files::FileAction;
use crate::state::roi::Shape;
use crate::state::slot::Slot;
use crate::state::unsaved::Reply;
use crate::state::{DvhDisplay, NoticeKind, Selection, ViewKind, Workspace};
use case::{DensityOverride, Edit};
use dicom::Choice;
use egui::Id;
use files::ThemeChoice;
pub use handle::DraggedHandle;
use std::path::PathBuf;

/// One command of the user.
#[derive(Debug)]
pub enum Command {
    /// Opens a CASE word: a folder, a file, `demo:NAME`.
    Open(String),
    /// Opens the folder of the case once more, with other objects of it.
    OpenChoice(Choice),
    /// Shows or hides what belongs to what in the folder.
    ShowReferences(bool),
    /// Answers whose objects of a folder are opened.
    ReplyPatients(PatientReply),
    /// Answers whether the first dose of another patient is shown.
    ReplyDose(bool),
    /// Opens a file dialog, then uses the chosen file or folder as `FileAction` states.
    Pick(FileAction),
    /// Saves the session to its last file, else asks for a file.
    Save,
    /// Answers the question about unsaved work.
    Reply(Reply),
    /// Answers whether an existing file is replaced.
    Replace(bool),
    /// Opens, discards or (`None`) postpones the unsaved work of an earlier window.
    Recover(PathBuf),
    DiscardLeftOver(PathBuf),
    DismissRecoverable,
    /// Forgets a recent case by its word, or (`None`) all.
    ForgetRecent(Option<String>),
    /// Begins, pages or leaves the tour.
    Tour(TourAction),
    SavePlan(PathBuf),
    SaveSession(PathBuf),
    /// Sets what an export writes.
    ExportChoice(ExportChoice),
    /// Listens to, asks or sends to other systems.
    Network(NetworkAction),
    /// Sets, begins or shows the second check.
    SecondCheck(CheckAction),
    /// A command of plans by protocol.
    Protocol(ProtocolAction),
    /// Writes the case as DICOM files into a new folder.
    Export(PathBuf),
    /// Writes the pose as a DICOM registration.
    SaveRegistration(PathBuf),
    OpenHuTable(PathBuf),
    /// Saves the edited HU table, else the applied one.
    SaveHuTable(PathBuf),
    /// Begins, changes or (`None`) drops the editing of a HU table.
    HuDraft(Option<HuDraft>),
    /// Applies the edited HU table.
    UseHuDraft,
    Undo,
    Redo,
    /// Undoes or redoes until this many steps of the history are done.
    StepTo(usize),
    /// Changes the case. Edits of one `gesture` (a drag) undo together.
    Edit {
        edit: Box<Edit>,
        gesture: Option<u64>,
    },
    AddPlan,
    /// A command for plans and beams.
    Plans(PlanAction),
    /// Adds a sphere or box at the crosshair.
    AddShape(NewShape),
    /// Draws contours.
    Draw(DrawAction),
    /// Adds a couch, its top this far below the body, mm.
    AddCouch(f64),
    /// Adds what the CT shows outside the body as a structure of this density.
    CouchFromCt(DensityOverride),
    /// Adds the body, found in the CT.
    AddBody,
    /// Deletes a structure, by ROI number; if a plan refers to it, only after confirmation.
    RemoveStructure {
        number: u32,
        sure: bool,
    },
    /// Opens the question whether to delete a structure that a plan refers to, or (`None`) closes it.
    AskRemoval(Option<u32>),
    /// Moves or resizes a structure that is a shape.
    Reshape {
        structure: u32,
        shape: Shape,
        gesture: Option<u64>,
    },
    Select(Selection),
    /// Displays a plan, by index, and selects it.
    ShowPlan(usize),
    ShowStructure {
        number: u32,
        shown: bool,
    },
    ShowAllStructures(bool),
    ShowBeams(bool),
    /// Sets the room view.
    Room(Room),
    Window(WindowLevel),
    DoseDisplay(DoseDisplay),
    DvhDisplay(DvhDisplay),
    /// Sets the set-up errors under which the displayed plan is shown.
    SetUpErrors(SetUpErrors),
    Compute(crate::state::results::Settings),
    /// Sets the dose engine of a plan, by index.
    Engine {
        plan: usize,
        choice: crate::state::results::EngineChoice,
    },
    /// Ends the current Monte Carlo run and keeps its dose so far.
    KeepRun,
    /// Recomputes cancelled and failed results.
    Recompute,
    ShowDose(crate::state::results::Shown),
    Workspace(Workspace),
    /// Sets the Compare workspace.
    Compare(Compare),
    /// Writes the report of the comparison in the format of the path's extension.
    SaveReport(PathBuf),
    /// Changes the clinical goals.
    Goals(GoalAction),
    /// Begins, ends or takes back the optimisation of the plan on show.
    Optimise(OptimiseAction),
    /// Makes a dose of the case from A and B by their weights; 1 and 0 keep a copy of A.
    MakeDose([f64; 2]),
    /// A command of the aperture tools.
    Aperture(ApertureAction),
    /// Makes or changes a structure by calculation.
    Contouring(ContouringAction),
    /// A command of the Register workspace.
    Register(RegisterAction),
    /// A machine fitted to measured data.
    MachineFit(MachineFitAction),
    /// A command of the measuring tools.
    Measure(MeasureAction),
    ToggleMaximise(ViewKind),
    /// Fits the whole patient into all views.
    FitViews,
    /// Moves the crosshair, patient LPS, mm.
    CentreOn(glam::DVec3),
    /// As [`Self::CentreOn`]; panned views also scroll to the position.
    GoTo(glam::DVec3),
    /// The pointer's position in a view, patient LPS, mm.
    Hover(Option<glam::DVec3>),
    /// Turns a beam (by index) so that its control point on show stands at this gantry angle, degrees.
    Gantry {
        beam: usize,
        gantry_deg: f64,
        gesture: Option<u64>,
    },
    Cancel(Slot),
    Dismiss(u64),
    DismissAll,
    /// Shows a notice to the user.
    Notice(NoticeKind, String),
    About(bool),
    /// Sets the theme of the panels.
    Theme(ThemeChoice),
}

impl Command {
    /// Whether it moves what the pointer drags in a view.
    pub fn moves_under_the_pointer(&self) -> bool {
        matches!(
            self,
            Self::Draw(
                DrawAction::Brush { .. } | DrawAction::Corner { .. } | DrawAction::Close { .. }
            ) | Self::Reshape { .. }
                | Self::Gantry { .. }
                | Self::Aperture(ApertureAction::Move { .. })
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewShape {
    Sphere,
    Box,
}

/// Commands of one frame, in order.
#[derive(Debug, Default)]
pub struct Commands {
    list: Vec<Command>,
    handle: Option<DraggedHandle>,
    followed: Option<Id>,
}

impl Commands {
    /// Commands of a frame in which the handle `followed` was moved already.
    pub fn beside(followed: Option<Id>) -> Self {
        Self {
            followed,
            ..Self::default()
        }
    }

    /// Whether a handle's move is applied already.
    pub fn has_followed(&self, response: &egui::Response) -> bool {
        self.followed == Some(response.id)
    }

    /// Names the handle that is dragged, and the command of each place of the pointer.
    pub fn follow(
        &mut self,
        response: &egui::Response,
        command: impl Fn(Pointer) -> Option<Command> + 'static,
    ) {
        self.handle = DraggedHandle::new(response, command).or(self.handle.take());
    }

    pub fn take_handle(&mut self) -> Option<DraggedHandle> {
        self.handle.take()
    }

    /// Adds all commands, in order.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Command>) {
        self.list.extend(more);
    }

    pub fn push(&mut self, command: Command) {
        self.list.push(command);
    }

    /// Pushes an edit that is one undoable step.
    pub fn edit(&mut self, edit: Edit) {
        self.push(Command::Edit {
            edit: edit.into(),
            gesture: None,
        });
    }

    /// Pushes a widget's edit: all edits of one drag undo together.
    pub fn edit_with(&mut self, response: &egui::Response, edit: Edit) {
        self.push(Command::Edit {
            edit: edit.into(),
            gesture: gesture(response),
        });
    }

    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.list)
    }
}

/// The gesture of a dragged widget; `None` for a click or a typed value.
pub fn gesture(response: &egui::Response) -> Option<u64> {
    (response.dragged() || response.drag_stopped()).then(|| response.id.value())
}

/// Gesture of a click or of a typed value alone: what answers the change joins its step of the history.
pub fn single_gesture(response: &egui::Response) -> u64 {
    response.id.with(response.ctx.cumulative_frame_nr()).value()
}
