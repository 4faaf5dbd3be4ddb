//! Answers of a machine's fit.

use crate::feature::commission::state::Answered;
use analysis::machine_fit::FittedMachine;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug)]
pub enum MachineFitAnswer {
    /// A stage of the work has begun or ended, in words.
    Stage(String),
    Done(Box<Answered>),
    /// The file of a fitted machine is written.
    Saved(PathBuf, Arc<FittedMachine>),
}
