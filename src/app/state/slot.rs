//! What the window's jobs answer to.

use crate::results::{Place, RunOfPlan};

/// A newer job for a slot takes the place of the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The case on show.
    Open,
    /// A result of the case.
    Result(Place),
    /// The body looked for in the CT.
    Body,
    /// A dose made or read for the case; each has a number of its own.
    NewDose(u64),
    /// Writing to disk; each asking has a number of its own.
    Save(u64),
    /// Unsaved work kept.
    Autosave,
    /// What earlier windows left.
    Memory,
    /// The list of recent cases.
    Recent,
    /// A HU table read from a file.
    HuTable,
    /// X-rays read or made up; each asking has a number of its own.
    Xray(usize),
    /// The pose looked for.
    Search,
}

impl Slot {
    /// Whether it is a Monte Carlo run.
    pub fn is_run(self) -> bool {
        matches!(self, Self::Result(place) if place.is::<RunOfPlan>())
    }

    /// Masks, sums and DVHs come by the dozen: they are listed only while they run long, and when they fail.
    pub fn is_listed(self) -> bool {
        match self {
            Self::Result(place) => place.listed,
            Self::Autosave | Self::Memory | Self::Recent => false,
            _ => true,
        }
    }
}
