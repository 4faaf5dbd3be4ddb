//! What panels ask for: they push commands, the window applies them in one place.

mod register;

pub use register::RegisterAction;

use crate::app::state::compare::Compare;
use crate::app::state::display::{DoseDisplay, WindowLevel};
use crate::app::state::files::Ask;
use crate::app::state::hu_draft::HuDraft;
use crate::app::state::roi::Shape;
use crate::app::state::slot::Slot;
use crate::app::state::unsaved::Reply;
use crate::app::state::{DvhDisplay, NoticeKind, Selection, ViewKind, Workspace};
use crate::case::Edit;
use std::path::PathBuf;

/// One thing the user asked for.
#[derive(Debug)]
pub enum Command {
    /// Opens a CASE word: a folder, a file, `demo:NAME`.
    Open(String),
    /// Opens another image series of the folder on show, by its index there.
    OpenSeries(usize),
    /// Asks the desktop for a folder or file, then does with it what it was asked for.
    Pick(Ask),
    /// Saves the session where it was last saved, else asks where.
    Save,
    /// What becomes of unsaved work.
    Reply(Reply),
    /// Whether the file that is there already goes.
    Replace(bool),
    /// Opens, throws away or (`None`) leaves for later what an earlier window left.
    Recover(PathBuf),
    DiscardLeftOver(PathBuf),
    LeaveLeftOvers,
    SavePlan(PathBuf),
    SaveSession(PathBuf),
    /// Writes the pose as a DICOM registration.
    SaveRegistration(PathBuf),
    OpenHuTable(PathBuf),
    /// Saves the HU table being edited, else the one in force.
    SaveHuTable(PathBuf),
    /// Begins, changes or (`None`) drops the editing of a HU table.
    HuDraft(Option<HuDraft>),
    /// Puts the edited HU table in force.
    UseHuDraft,
    Undo,
    Redo,
    /// Changes the case. Edits of one `gesture` (a drag) undo together.
    Edit {
        edit: Edit,
        gesture: Option<u64>,
    },
    AddPlan,
    AddBeam,
    /// A sphere or box at the crosshair.
    AddShape(NewShape),
    /// The body, made from the CT.
    AddBody,
    /// Deletes a structure, by ROI number; one that a plan refers to only where the user is sure.
    RemoveStructure {
        number: u32,
        sure: bool,
    },
    /// Opens the question whether a structure that a plan refers to goes, or (`None`) closes it.
    AskRemoval(Option<u32>),
    /// Moves or sizes a structure that is a shape.
    Reshape {
        structure: u32,
        shape: Shape,
        gesture: Option<u64>,
    },
    Select(Selection),
    /// Puts a plan on show, by index, and selects it.
    ShowPlan(usize),
    ShowStructure {
        number: u32,
        shown: bool,
    },
    ShowAllStructures(bool),
    ShowBeams(bool),
    Window(WindowLevel),
    DoseDisplay(DoseDisplay),
    DvhDisplay(DvhDisplay),
    Compute(crate::app::state::results::Settings),
    /// What the plan, by index, is computed with.
    Engine {
        plan: usize,
        choice: crate::app::state::results::EngineChoice,
    },
    /// Ends the Monte Carlo run under way and keeps its dose as it stands.
    KeepRun,
    /// Computes again what was cancelled or failed.
    Recompute,
    ShowDose(crate::app::state::results::Shown),
    Workspace(Workspace),
    /// Sets the Compare workspace.
    Compare(Compare),
    /// Writes the report of the comparison; its ending says in which form.
    SaveReport(PathBuf),
    /// Makes a dose of the case from A and B by their weights; 1 and 0 keep a copy of A.
    MakeDose([f64; 2]),
    /// In the Register workspace.
    Register(RegisterAction),
    ToggleMaximise(ViewKind),
    /// All views show the whole patient again.
    FitViews,
    /// Moves the crosshair, patient LPS, mm.
    CentreOn(glam::DVec3),
    /// As [`Self::CentreOn`]; views that were panned show that place.
    GoTo(glam::DVec3),
    /// The pointer rests here in a view, patient LPS, mm.
    Hover(Option<glam::DVec3>),
    /// Turns a beam (by index) to this gantry angle, degrees.
    Gantry {
        beam: usize,
        gantry_deg: f64,
        gesture: Option<u64>,
    },
    Cancel(Slot),
    Dismiss(u64),
    /// Says something to the user.
    Notice(NoticeKind, String),
    About(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewShape {
    Sphere,
    Box,
}

/// Commands of one frame, in order.
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    /// All of these, in order.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Command>) {
        self.0.extend(more);
    }

    pub fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// An edit that is one undoable step.
    pub fn edit(&mut self, edit: Edit) {
        self.push(Command::Edit { edit, gesture: None });
    }

    /// An edit made with a widget: as long as that widget is dragged, its edits undo together.
    pub fn edit_with(&mut self, response: &egui::Response, edit: Edit) {
        self.push(Command::Edit { edit, gesture: gesture(response) });
    }

    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0)
    }
}

/// The gesture a dragged widget makes; `None` for a click or a typed value.
pub fn gesture(response: &egui::Response) -> Option<u64> {
    (response.dragged() || response.drag_stopped()).then(|| response.id.value())
}
