//! What can be asked of the worker.

use super::Outcome;
use crate::case::Receipt;
use crate::engine::Watch;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

/// What a job answers to. A newer job for a slot takes the place of the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The case on show.
    Open,
    /// Densities and materials of the CT on show.
    Patient,
    /// Masks of all structures.
    Masks,
    /// Mask of the structure with this index (while it is placed or dragged).
    Mask(usize),
    /// The body looked for in the CT.
    Body,
    /// The dose on show, made of the beams' doses.
    Shown,
    /// DVHs of what is on show.
    Dvh,
    /// Dose of one beam, by the indices of plan and beam.
    BeamDose { plan: usize, beam: usize },
    /// Radiological depth from one source.
    Path,
    /// Writing to disk.
    Save,
}

/// Which of the two threads does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Owns the devices: doses, paths.
    Device,
    /// Everything else: files, masks, DVHs.
    Host,
}

impl Lane {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
        }
    }
}

/// One thing to do.
pub enum Job<T> {
    Task(Task<T>),
}

/// Work of the floors above, as closures.
pub struct Task<T> {
    name: String,
    lane: Lane,
    preview: Option<Step<T>>,
    work: Step<T>,
}

type Step<T> = Box<dyn FnOnce(&Watch) -> Result<T, String> + Send>;

fn step<T, E: Display>(work: impl FnOnce(&Watch) -> Result<T, E> + Send + 'static) -> Step<T> {
    Box::new(move |watch| work(watch).map_err(|error| format!("{error:#}")))
}

impl<T> Task<T> {
    /// Work for the host lane. `name` says what it does, in words (`opening demo:thorax`). It should ask
    /// `watch` every few ms of work and may return any error once that says stop.
    pub fn new<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&Watch) -> Result<T, E> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), lane: Lane::Host, preview: None, work: step(work) }
    }

    /// Answers `preview` first, as [`News::Partial`](super::News::Partial). A newer job of the slot lets a running
    /// preview finish, and cancels the full work.
    #[must_use]
    pub fn after_preview<E: Display>(
        mut self,
        preview: impl FnOnce(&Watch) -> Result<T, E> + Send + 'static,
    ) -> Self {
        self.preview = Some(step(preview));
        self
    }

    #[must_use]
    pub fn on(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }
}

impl<T> From<Task<T>> for Job<T> {
    fn from(task: Task<T>) -> Self {
        Self::Task(task)
    }
}

/// A job's answer, with how it came about.
pub(super) type Answer<T> = (Outcome<T>, Arc<Receipt>);

/// One stretch of work: a preview or the full job.
pub(super) type Run<T> = Box<dyn FnOnce(&Watch) -> Result<Answer<T>, String> + Send>;

/// A job taken apart into what the lanes need.
pub(super) struct Parts<T> {
    pub name: Arc<str>,
    pub lane: Lane,
    pub preview: Option<Run<T>>,
    pub full: Run<T>,
}

impl<T: 'static> Job<T> {
    pub(super) fn into_parts(self) -> Parts<T> {
        match self {
            Self::Task(task) => {
                let name: Arc<str> = task.name.into();
                let run = |step: Step<T>| -> Run<T> {
                    let name = name.clone();
                    Box::new(move |watch| {
                        let start = Instant::now();
                        let value = step(watch)?;
                        let receipt = Receipt {
                            job: name.to_string(),
                            device: task.lane.word().to_owned(),
                            phases_ms: vec![("work".to_owned(), 1000.0 * start.elapsed().as_secs_f64())],
                            ..Receipt::default()
                        };
                        Ok((Outcome::Task(value), Arc::new(receipt)))
                    })
                };
                let (preview, full) = (task.preview.map(run), run(task.work));
                Parts { lane: task.lane, preview, full, name }
            }
        }
    }
}
