//! Reports of the worker on its jobs.

use case::Receipt;
use std::fmt;
use std::sync::Arc;

/// Identifies a submitted job; later ones are greater.
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
    /// The job in words: `dose of beam AP`.
    pub name: Arc<str>,
    /// A newer job for the slot had been submitted before this drain: the answer belongs to an earlier
    /// request, and may be shown as a preview at most.
    pub superseded: bool,
    pub event: JobEvent<T>,
}

#[derive(Debug)]
pub enum JobEvent<T> {
    /// The job left the queue.
    Started,
    /// Share done, 0 to 1; falls only to 0, where the job was preempted and begins anew.
    Progress(f32),
    /// One of several improving answers; the full one follows.
    Partial(T),
    /// The answer, the last event of this job.
    Done(T, Arc<Receipt>),
    /// Why there is no answer, with the name of the job. The last event of this job.
    Failed { message: String },
    /// Superseded by a newer job, or cancelled. The last event of this job.
    Cancelled,
}

impl<T> JobEvent<T> {
    /// Whether this is the last event of its job.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done(..) | Self::Failed { .. } | Self::Cancelled)
    }
}
