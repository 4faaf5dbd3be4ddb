//! Slots of the window's jobs.

use results::{JobTarget, LeavesOf, OptimumOf, Query, RunOfPlan};

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
    /// A look at the machine files in use.
    MachineFiles,
    /// A machine fitted to measured data.
    MachineFit,
    /// The models of a plan's machines, for a second check.
    CheckModels,
    SecondCheck,
    /// Preparation of a plan by protocol.
    Protocol,
}

impl Slot {
    /// Whether the job is one of inverse planning: of an optimum, or of leaves.
    pub fn is_inverse(self) -> bool {
        self.is_for::<OptimumOf>() || self.is_for::<LeavesOf>()
    }

    /// Whether the job answers a query of a kind.
    pub fn is_for<Q: Query>(self) -> bool {
        matches!(self, Self::Result(place) if place.is::<Q>())
    }

    /// Whether the job is a Monte Carlo run.
    pub fn is_run(self) -> bool {
        self.is_for::<RunOfPlan>()
    }

    /// Words on what is left after the user has cancelled the job, and how to go on; `None` where the canceller itself
    /// says so, or where nothing is left to do.
    pub fn after_cancel(self) -> Option<&'static str> {
        Some(match self {
            Self::Open => "What was open stays. Open it again to go on.",
            Self::Result(_) => {
                "What it is needed for is not final. Press 'Compute again' to go on."
            }
            Self::Apertures => "The fields are as they were. Fit again to go on.",
            Self::Body => "No structure is added. Ask for it again to go on.",
            Self::Contouring => {
                "The structures are as they were. Press 'Change' or 'Create' again to go on."
            }
            Self::NewDose(_) => "No dose is added. Open or make it again to go on.",
            Self::Save(_) => "Nothing is written. Save or export again to go on.",
            Self::HuTable | Self::Goals => "Nothing is read. Open the file again to go on.",
            Self::Xray(_) => "No X-ray is added. Open it again to go on.",
            Self::MachineFit => "The machine is as it was. Press 'Fit' or 'Only compare' to go on.",
            Self::SecondCheck => "There is no result. Press 'Check' to go on.",
            Self::Protocol => "No plan is made. Choose the protocol again to go on.",
            Self::Search
            | Self::Autosave
            | Self::KeptDoses
            | Self::Memory
            | Self::Recent
            | Self::MachineFiles
            | Self::CheckModels => return None,
        })
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
            | Self::MachineFiles => false,
            _ => true,
        }
    }
}
