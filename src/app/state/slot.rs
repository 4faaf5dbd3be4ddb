//! Slots of the window's jobs.

use results::{JobTarget, RunOfPlan};

/// A newer job for a slot replaces the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Opening of a case.
    Open,
    /// A result of the case.
    Result(JobTarget),
    /// Apertures fitted to a structure.
    Apertures,
    /// Search for the body or the couch in the CT.
    Body,
    /// Contours made of a structure.
    Contouring,
    /// A dose made or read for the case; each has its own number.
    NewDose(u64),
    /// Writing to disk; each request has its own number.
    Save(u64),
    /// Autosave of unsaved work.
    Autosave,
    /// Doses kept beside it.
    KeptDoses,
    /// Unsaved work and recent cases of earlier windows.
    Memory,
    /// The list of recent cases.
    Recent,
    /// A HU table read from a file.
    HuTable,
    /// A template of goals read from a file.
    Goals,
    /// X-rays read or made up; each request has its own number.
    Xray(usize),
    /// Search for the pose.
    Search,
    /// A step of the optimisation.
    Optimise,
    /// Leaves cut from maps.
    Leaves,
    /// A look at the machine files in use.
    MachineFiles,
    /// A machine fitted to measured data.
    MachineFit,
    /// The models of a plan's machines, for a second check.
    CheckModels,
    SecondCheck,
}

impl Slot {
    /// Whether the job is a Monte Carlo run.
    pub fn is_run(self) -> bool {
        matches!(self, Self::Result(place) if place.is::<RunOfPlan>())
    }

    /// Masks, sums and DVHs are computed by the dozen: they are listed only while they run long, and when they fail.
    pub fn is_listed(self) -> bool {
        match self {
            Self::Result(place) => place.listed,
            Self::Autosave
            | Self::KeptDoses
            | Self::Memory
            | Self::Recent
            | Self::CheckModels
            | Self::Optimise
            | Self::MachineFiles => false,
            _ => true,
        }
    }
}
