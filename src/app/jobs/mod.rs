//! The window's jobs and their answers.
//!
//! `request.rs` requests the missing results of the case, `open.rs` and `xray.rs` read files, `register.rs` requests
//! the results that the Register workspace shows.

mod request;
mod texture;

use super::render::Gpu;
use super::state::State;
use super::state::files::Target;
use super::state::slot::Slot;
use super::state::unsaved::Work;
use crate::feature::beam::jobs::Fitted;
use crate::feature::check::state::{Checked, ModelsAsk};
use crate::feature::commission::jobs::MachineFitAnswer;
use crate::feature::leaves::jobs::LeavesAnswer;
use crate::feature::open::state::{Opened, PatientQuestion};
use crate::feature::optimise::jobs::OptimiseAnswer;
use crate::feature::register::jobs::RegisterAnswer;
use crate::feature::structures::state::ContouringAction;
use ::open::DoseFile;
use analysis::Side;
use analysis::contouring::MadeContours;
use analysis::second_check::MachineUse;
use case::{Contours, DensityOverride, Dose, Remark, Structure};
use dicom::Exported;
use files::{GoalTemplate, Keeper, RecentCase, Recoverable, StructureTemplate};
use physics::{HuTable, MachineContents};
use results::Delivery;
use std::path::PathBuf;
use std::sync::Arc;

/// The window's worker.
pub type Worker = worker::Worker<Slot, Answer>;

/// The state, with the worker that computes its missing results.
pub struct Requests<'a> {
    pub state: &'a mut State,
    pub worker: &'a Worker,
    pub gpu: &'a Gpu,
    pub ctx: &'a egui::Context,
}

/// Contents of the state folder at the start.
#[derive(Debug)]
pub struct Remembered {
    pub keeper: Keeper,
    pub recoverable: Vec<Recoverable>,
    pub recent: Vec<RecentCase>,
}

/// Contours that were calculated, and of what.
#[derive(Debug)]
pub struct Contoured {
    pub action: ContouringAction,
    /// Numbers and contours of the structures they are made of.
    pub sources: Vec<(u32, Option<u64>)>,
    /// The contours of each structure, by ROI number.
    pub made: Vec<(u32, MadeContours)>,
}

/// The answer of a worker's job to the window.
#[derive(Debug)]
pub enum Answer {
    Opened(Box<Opened>),
    /// Nothing is opened: the folder has objects of several patients.
    AskPatients(Box<PatientQuestion>),
    Saved(PathBuf),
    /// A case is written as DICOM files into this folder.
    Exported(PathBuf, Box<Exported>),
    /// Nothing is written: the file already exists, and replacing it is not confirmed.
    IsThere(Target),
    /// A session is written that holds this work, of the case with this number; and why it has no doses beside it.
    SessionSaved(PathBuf, Box<Work>, u64, Option<String>),
    /// Beams of the case with this number that are computed again though their doses were kept, in a sentence.
    ComputedAgain(Option<String>, u64),
    Remembered(Box<Remembered>),
    /// Unsaved work of windows that have ended since the start.
    Recoverable(Vec<Recoverable>),
    Recent(Vec<RecentCase>),
    /// Unsaved work is kept, or no longer needs to be.
    Kept,
    HuTable(Arc<HuTable>),
    /// A template of goals for the case.
    Goals(Box<GoalTemplate>),
    /// A template of structures for the case.
    Structures(Box<StructureTemplate>),
    /// A result of the current case.
    Result(Delivery),
    /// A dose from a file, for a side of the comparison if one is named.
    DoseRead(Box<DoseFile>, Option<Side>),
    /// A dose made of others of the case.
    NewDose(Arc<Dose>),
    /// The body found in the CT, with its remark.
    Body(Structure, Remark),
    /// Contours of matter in the CT outside the body, its volume in cm3, and the density it was asked for with.
    Couch(Contours, f64, DensityOverride),
    /// Apertures of a plan.
    Apertures(Box<Fitted>),
    /// State of the files behind the names of machines.
    MachineContents(Vec<(String, MachineContents)>),
    /// A machine fitted to measured data, or compared with them.
    MachineFit(Box<MachineFitAnswer>),
    /// Contours made of a structure.
    Contoured(Box<Contoured>),
    /// The models of a plan's machines, or why there are none.
    CheckModels(ModelsAsk, Result<Vec<MachineUse>, String>),
    /// A second check, with what is to be told of the remembered machines.
    Checked(Box<Checked>, Vec<String>),
    /// A step of an optimisation.
    Optimised(Box<OptimiseAnswer>),
    /// Leaves of a plan.
    Leaves(Box<LeavesAnswer>),
    /// An answer for the Register workspace.
    Register(RegisterAnswer),
}
