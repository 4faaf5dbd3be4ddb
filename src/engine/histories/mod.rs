//! Runs of histories, for every engine that samples them: batches, parts and their merging, statistics, refinement on screen; and the
//! head source from which histories start.

mod alias;
pub(crate) mod contaminant;
mod faults;
pub mod head;
mod on_cpu;
mod part;
mod request;
mod run;
mod shared;
mod tally;

pub(crate) use faults::Faults;
pub(crate) use on_cpu::{Batch, CpuSimulation, OnCpu};
pub use part::{OfPartsError, PartError, PartTally, RunPart};
pub use request::{HistoriesDose, Next, RunLength, Until};
pub(crate) use request::{bits, digest_of_request};
pub use run::FINAL_PERCENT;
pub(crate) use run::{DoseGrid, Run, Runner, Simulation};
pub(crate) use shared::{Shared, Sharing};
pub(crate) use tally::Tally;
