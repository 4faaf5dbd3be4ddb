//! What can be asked of the worker.

use crate::engine::JobControl;
use std::fmt::Display;
use std::sync::Arc;

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
    /// The sum that is dose A (0) or B (1) of a comparison.
    Side(usize),
    /// Dose of a plan that is not on show, by index.
    OtherPlan(usize),
    /// Gamma of A and B.
    Gamma,
    /// Histogram, structures and clusters of a gamma.
    GammaFigures,
    /// DVHs of dose A (0) or B (1).
    SideDvh(usize),
    /// A dose made or read for the case; each has a number of its own.
    NewDose(usize),
    /// DVHs of what is on show.
    Dvh,
    /// Monte Carlo dose of the plan on show.
    MonteCarlo,
    /// Dose of one beam, by the indices of plan and beam.
    BeamDose { plan: usize, beam: usize },
    /// Radiological depth from one source.
    Path,
    /// Writing to disk; each asking has a number of its own.
    Save(usize),
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
    /// The CT's attenuation, for DRRs.
    Attenuation,
    /// The metric made ready for X-rays.
    MetricEvaluator,
    /// The metric of the pose on show.
    MetricValue,
    /// The pose looked for.
    Search,
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

/// One thing to do: a call of the engine or of the floors above, as closures that answer a `T`.
pub struct Task<T> {
    pub(super) name: Arc<str>,
    pub(super) lane: Lane,
    pub(super) preview: Option<Step<T>>,
    pub(super) full: Step<T>,
    /// The full work is as quick as a preview, and is treated like one.
    pub(super) quick: bool,
}

/// One stretch of work: a preview or the full job.
pub(super) enum Step<T> {
    Once(Once<T>),
    /// May be stopped for the preview of another slot and begun again.
    Again(Again<T>),
    /// Gives answers on the way, each better than the one before.
    Refining(Refining<T>),
}

type Once<T> = Box<dyn FnOnce(&JobControl) -> Result<T, String> + Send>;
type Refining<T> = Box<dyn FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, String> + Send>;
type Again<T> = Arc<dyn Fn(&JobControl) -> Result<T, String> + Send + Sync>;

impl<T> Step<T> {
    fn once<E: Display>(work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static) -> Self {
        Self::Once(Box::new(move |control| work(control).map_err(|error| format!("{error:#}"))))
    }

    /// The same work once more, where it may be done again.
    pub fn another(&self) -> Option<Self> {
        match self {
            Self::Once(_) | Self::Refining(_) => None,
            Self::Again(work) => Some(Self::Again(work.clone())),
        }
    }

    /// `partial` is given the answers on the way.
    pub fn run(self, control: &JobControl, partial: &mut dyn FnMut(T)) -> Result<T, String> {
        match self {
            Self::Refining(work) => work(control, partial),
            Self::Once(work) => work(control),
            Self::Again(work) => work(control),
        }
    }
}

impl<T> Task<T> {
    /// Work for the host lane. `name` says what it does, in words (`opening demo:thorax`). It should ask
    /// `control` every few ms of work and may return any error once that says stop.
    pub fn new<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static,
    ) -> Self {
        Self::of(name, Step::once(work))
    }

    /// As [`Task::new`], for long work that may be stopped while the preview of another slot has its turn, and begun
    /// again: a beam that is dragged does not wait for the full dose of the others.
    pub fn restartable<E: Display>(
        name: impl Into<String>,
        work: impl Fn(&JobControl) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let work = move |control: &JobControl| work(control).map_err(|error| format!("{error:#}"));
        Self::of(name, Step::Again(Arc::new(work)))
    }

    /// As [`Task::new`], for an answer that improves: what `work` hands out on the way comes as
    /// [`News::Partial`](super::News::Partial).
    pub fn refining<E: Display>(
        name: impl Into<String>,
        work: impl FnOnce(&JobControl, &mut dyn FnMut(T)) -> Result<T, E> + Send + 'static,
    ) -> Self {
        let work = |control: &JobControl, partial: &mut dyn FnMut(T)| {
            work(control, partial).map_err(|error| format!("{error:#}"))
        };
        Self::of(name, Step::Refining(Box::new(work)))
    }

    fn of(name: impl Into<String>, full: Step<T>) -> Self {
        Self { name: name.into().into(), lane: Lane::Host, preview: None, full, quick: false }
    }

    /// Says that there is no more to it than a preview: it goes before full work, and a newer job of the slot lets it
    /// finish.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// Answers `preview` first, as [`News::Partial`](super::News::Partial). A newer job of the slot lets a running
    /// preview finish, and cancels the full work.
    #[must_use]
    pub fn after_preview<E: Display>(
        mut self,
        preview: impl FnOnce(&JobControl) -> Result<T, E> + Send + 'static,
    ) -> Self {
        self.preview = Some(Step::once(preview));
        self
    }

    #[must_use]
    pub fn on(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }
}
