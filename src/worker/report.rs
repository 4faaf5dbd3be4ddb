//! What the worker says about its jobs.

use crate::case::Receipt;
use std::fmt;
use std::sync::Arc;

/// Names a submitted job; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub(super) u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// An event in the life of a job.
#[derive(Debug)]
pub struct Report<S, T> {
    pub job: JobId,
    pub slot: S,
    /// What the job does, in words: `dose of beam AP`.
    pub name: Arc<str>,
    /// When this was drained a newer job for the slot had been submitted: what comes with it belongs to an earlier
    /// request, and may be shown as a preview at most.
    pub superseded: bool,
    pub event: JobEvent<T>,
}

#[derive(Debug)]
pub enum JobEvent<T> {
    /// It left the queue.
    Started,
    /// Share done, 0 to 1; never falls during a job.
    Progress(f32),
    /// One of several answers that improve; the full one follows.
    Partial(T),
    /// The answer. Nothing more comes from this job.
    Done(T, Arc<Receipt>),
    /// Why there is no answer, naming the job. Nothing more comes from this job.
    Failed { message: String },
    /// A newer job took its place, or somebody cancelled it. Nothing more comes from this job.
    Cancelled,
}

impl<T> JobEvent<T> {
    /// Whether this is the last event of its job.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(..) | Self::Failed { .. } | Self::Cancelled)
    }
}
