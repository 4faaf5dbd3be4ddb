//! State of the Register workspace: X-rays, the pose the patient is given by hand or by the search, how both are shown.
//!
//! The pose is what is found: where the patient lies, beside where the plan has him ([`Pose`]). Its steps are undone apart
//! from the steps of the case, which it does not change.

mod couch;
mod display;
mod draft;
mod image;
mod moves;
mod record;
mod search;

pub use couch::CouchShift;
pub use display::{Display, Mode, Pair};
pub use draft::{GeometryDraft, StrangeXray};
pub use image::{Image, Region};
pub use moves::{held, seen_axes, shifted, turned};
pub use record::{KeptImage, RegisterRecord};
pub use search::{AcceptedPose, Proposal, Search, Trace};

use case::{Case, Pose, Steps};
use engine::drr_gradient::AXES;
use glam::DVec3;
use physics::{AttenuationCurve, CurveKind, HuTable};
use registration::{Method, Metric, PoseStanding, Step, check_place};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// X-rays shown together at most.
pub const MOST_IMAGES: usize = 2;
/// Steps of keys and buttons, mm and degrees.
pub const STEPS: [f64; 3] = [0.1, 1.0, 5.0];
/// Values of the metric that its curve shows.
const CURVE: usize = 240;

/// How the HU of the CT are read for its DRRs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttenuationChoice {
    pub curve: CurveKind,
    /// Energy of the photons.
    pub kev: f64,
}

impl AttenuationChoice {
    /// Energies of X-ray tubes and treatment beams, keV; the tables go further.
    pub const KEV: RangeInclusive<f64> = 20.0..=6000.0;

    /// Within what is offered.
    #[must_use]
    pub fn sound(self) -> Self {
        let kev = if self.kev.is_finite() {
            self.kev
        } else {
            Self::default().kev
        };
        Self {
            kev: kev.clamp(*Self::KEV.start(), *Self::KEV.end()),
            ..self
        }
    }

    pub fn curve(self, table: &HuTable) -> AttenuationCurve {
        AttenuationCurve::new(self.curve, table, 1e-3 * self.kev)
    }
}

impl Default for AttenuationChoice {
    fn default() -> Self {
        Self {
            curve: CurveKind::default(),
            kev: 1000.0 * AttenuationCurve::KILOVOLT_MEV,
        }
    }
}

/// The Register workspace's part of the state.
#[derive(Debug)]
pub struct Register {
    pub(crate) images: Vec<Arc<Image>>,
    /// X-rays requested so far: each job has a separate slot.
    pub requested: usize,
    /// Made-up pairs so far.
    pub(crate) made_up: u64,
    /// Poses that the patient was given by hand.
    pub poses: Steps<Pose>,
    /// In the order of a pose.
    pub locked: [bool; AXES],
    pub step: f64,
    pub display: Display,
    pub reading: AttenuationChoice,
    pub metric: Metric,
    pub method: Method,
    /// The next drag in a view marks the region that the metric looks at.
    pub marking: bool,
    /// Pose to be found, of the made-up pair on show.
    pub(crate) hidden: Option<Pose>,
    /// An X-ray that waits for its geometry.
    pub(crate) draft: Option<Box<GeometryDraft>>,
    /// X-rays of other patient IDs that wait for an answer.
    pub strange: Vec<StrangeXray>,
    pub(crate) search: Search,
    pub(crate) accepted: Option<AcceptedPose>,
    /// Values of the metric, the newest last.
    pub(crate) curve: VecDeque<f64>,
}

impl Default for Register {
    fn default() -> Self {
        Self {
            images: Vec::new(),
            requested: 0,
            made_up: 0,
            poses: Steps::default(),
            locked: [false; AXES],
            step: STEPS[1],
            display: Display::default(),
            reading: AttenuationChoice::default(),
            metric: Metric::default(),
            method: Method::default(),
            marking: false,
            hidden: None,
            draft: None,
            strange: Vec::new(),
            search: Search::Idle,
            accepted: None,
            curve: VecDeque::new(),
        }
    }
}

impl Register {
    pub fn images(&self) -> &[Arc<Image>] {
        &self.images
    }

    /// The X-ray that waits for its geometry, with what is said of it so far.
    pub fn draft(&self) -> Option<&GeometryDraft> {
        self.draft.as_deref()
    }

    /// The pose that a made-up pair hides.
    pub fn hidden(&self) -> Option<Pose> {
        self.hidden
    }

    pub fn search(&self) -> &Search {
        &self.search
    }

    /// The best of the search so far, while it runs.
    pub fn best(&self) -> Option<Step> {
        let Search::Running(trace) = &self.search else {
            return None;
        };
        trace.best()
    }

    /// Puts the patient where the hand says.
    pub fn set_pose(&mut self, pose: Pose, gesture: Option<u64>) {
        if pose != *self.poses.now() {
            self.poses.set(pose, gesture);
        }
    }

    /// Pose in the views: the search's pose, else the one set by hand.
    pub fn shown_pose(&self) -> Pose {
        match &self.search {
            Search::Idle => *self.poses.now(),
            Search::Running(trace) => trace
                .best()
                .map_or_else(|| *self.poses.now(), |step| step.pose),
            Search::Ended(proposal) => proposal.pose,
        }
    }

    /// Standing of the pose that the patient was given.
    pub fn standing(&self) -> PoseStanding {
        let images = self
            .images
            .iter()
            .map(|image| image.radiograph.label.as_str());
        AcceptedPose::standing_of(self.accepted.as_ref(), self.poses.now(), images)
    }

    /// Standing of the pose on show, in words; `None` while a search runs.
    pub fn shown_standing(&self) -> Option<PoseStanding> {
        match &self.search {
            Search::Idle => Some(self.standing()),
            Search::Running(_) => None,
            Search::Ended(proposal) => Some(proposal.standing()),
        }
    }

    /// Whether the pose may be moved by hand: not while a search runs, or waits for an answer.
    pub fn is_free(&self) -> bool {
        matches!(self.search, Search::Idle)
    }

    /// Centre about which poses turn, patient LPS, mm: the isocentre of the X-rays, else of the plan, else the CT's
    /// middle.
    pub fn centre_mm(&self, case: &Case) -> DVec3 {
        let image_isocentre = self.images.first().and_then(|image| image.radiograph.setup);
        if let Some(setup) = image_isocentre {
            return setup.isocentre_mm;
        }
        if let Some(beam) = case.plans.first().and_then(|plan| plan.beams.first()) {
            return beam.isocentre_mm;
        }
        case.ct
            .as_ref()
            .map(|ct| ct.hu.grid().middle_mm())
            .unwrap_or_default()
    }

    /// Values of the metric, the newest last.
    pub fn curve(&self) -> impl ExactSizeIterator<Item = f64> {
        self.curve.iter().copied()
    }

    /// Why image number `image` shows nothing of the CT, or less than it should: what lies in the wrong order.
    pub fn place_trouble(&self, image: usize, case: &Case) -> Option<String> {
        let (image, ct) = (self.images.get(image)?, case.ct.as_ref()?);
        let (pose, centre_mm) = (self.shown_pose(), self.centre_mm(case));
        check_place(&image.radiograph, ct.hu.grid(), &pose, centre_mm)
            .err()
            .map(|e| e.to_string())
    }

    pub fn note_value(&mut self, value: f64) {
        self.curve.push_back(value);
        if self.curve.len() > CURVE {
            self.curve.pop_front();
        }
    }

    pub fn set_images(&mut self, images: Vec<Arc<Image>>) {
        self.images = images;
        // Poses found so far belong to the previous X-rays.
        self.search = Search::Idle;
        self.curve.clear();
    }

    /// Another case is on show: how things are shown stays.
    pub fn reset(&mut self) {
        let old = std::mem::take(self);
        let Self {
            display,
            reading,
            metric,
            method,
            step,
            requested,
            ..
        } = old;
        *self = Self {
            display,
            reading,
            metric,
            method,
            step,
            requested,
            ..Self::default()
        };
    }
}
