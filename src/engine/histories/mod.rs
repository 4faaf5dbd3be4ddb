//! Runs of histories, for every engine that samples them: batches, parts and their merging, statistics, refinement on screen; and the
//! head source from which histories start.

mod alias;
pub mod head;
mod part;
mod request;
mod run;
mod shared;
mod tally;

pub use part::{OfPartsError, PartError, PartTally, RunPart};
pub use request::{HistoriesDose, Next, RunLength, Until};
pub use run::FINAL_PERCENT;
pub(crate) use run::{DoseGrid, Run, Runner, Simulation};
pub(crate) use shared::{Shared, Sharing};
pub(crate) use tally::Tally;
