//! What the Register workspace knows: X-rays, the pose the patient is given by hand or by the search, how both are shown.
//!
//! The pose is what is found: where the patient lies, beside where the plan has him ([`Pose`]). Its steps are undone apart
//! from those of the case, which it does not change.

mod apply;
mod couch;
mod demo;
mod display;
mod follow;
mod image;
mod moves;
mod open;
mod record;
mod save;

pub use apply::RegisterAction;
pub use couch::CouchShift;
pub use display::{Display, Mode, Pair};
pub use follow::RegisterAnswer;
pub use image::{Image, Region};
pub use moves::{held, seen_axes, shifted, turned};
pub use open::GeometryDraft;
pub use record::RegisterRecord;

use crate::case::{Case, Pose, Steps};
use crate::engine::drr_gradient::AXES;
use crate::geometry::Volume;
use crate::physics::{AttenuationCurve, CurveKind};
use crate::registration::{Found, Method, Metric, MetricEvaluator, Step, check_place};
use follow::{AttenuationInputs, MeterInputs, Trace};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

/// X-rays shown together at most.
pub const MOST_IMAGES: usize = 2;
/// Steps of keys and buttons, mm and degrees.
pub const STEPS: [f64; 3] = [0.1, 1.0, 5.0];
/// Values of the metric that its curve shows.
const CURVE: usize = 240;

/// What the workspace begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegisterWish {
    /// X-rays to open.
    pub images: Vec<PathBuf>,
    /// In place of them, a made-up pair.
    pub made_up: bool,
    pub pose: Option<Pose>,
    pub mode: Option<Mode>,
    pub pair: Option<Pair>,
    pub bone_dark: bool,
}

/// How the HU of the CT are read for its DRRs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub curve: CurveKind,
    /// Energy of the photons.
    pub kev: f64,
}

impl Reading {
    /// Of X-ray tubes and treatment beams; the tables go further.
    pub const KEV: RangeInclusive<f64> = 20.0..=6000.0;

    /// Within what is offered.
    #[must_use]
    pub fn sound(self) -> Self {
        let kev = if self.kev.is_finite() { self.kev } else { Self::default().kev };
        Self { kev: kev.clamp(*Self::KEV.start(), *Self::KEV.end()), ..self }
    }
}

impl Default for Reading {
    fn default() -> Self {
        Self { curve: CurveKind::default(), kev: 1000.0 * AttenuationCurve::KILOVOLT_MEV }
    }
}

/// The Register workspace's part of the state.
#[derive(Debug)]
pub struct Register {
    images: Vec<Arc<Image>>,
    /// Changes whenever `images` do.
    version: u64,
    /// Made-up pairs so far.
    made_up: u64,
    /// Where the hand has put the patient.
    pub poses: Steps<Pose>,
    /// In the order of a pose.
    pub locked: [bool; AXES],
    pub step: f64,
    pub display: Display,
    pub reading: Reading,
    pub metric: Metric,
    pub method: Method,
    /// The next drag in a view marks the region that the metric looks at.
    pub marking: bool,
    /// Of the made-up pair on show: the pose to be found.
    hidden: Option<Pose>,
    /// An X-ray that waits for its geometry.
    draft: Option<Box<GeometryDraft>>,
    search: Search,
    /// Values of the metric, the newest last.
    curve: VecDeque<f64>,
    attenuation: Option<(AttenuationInputs, Arc<Volume<f32>>)>,
    attenuation_asked: Option<AttenuationInputs>,
    meter: Option<Prepared>,
    meter_asked: Option<MeterInputs>,
    /// Why there is no metric, and for what.
    meter_failure: Option<(MeterInputs, String)>,
    /// What the metric was last asked for, and what it said.
    value_asked: Option<Valued>,
    value: Option<(Valued, Option<f64>)>,
}

/// A pose, and what it was measured with.
type Valued = (MeterInputs, Pose);

/// What the metric needs, with black and white of each DRR.
#[derive(Clone, Debug)]
pub struct Prepared {
    inputs: MeterInputs,
    meter: Arc<MetricEvaluator>,
    ranges: Vec<[f32; 2]>,
}

/// The pose search.
#[derive(Debug, Default)]
pub enum Search {
    #[default]
    Idle,
    Running(Arc<Trace>),
    /// Its answer waits to be accepted or rejected.
    Ended(Proposal),
}

/// A pose found, or the best when the search was stopped.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub pose: Pose,
    pub found: Option<Found>,
}

impl Default for Register {
    fn default() -> Self {
        Self {
            images: Vec::new(),
            version: 0,
            made_up: 0,
            poses: Steps::default(),
            locked: [false; AXES],
            step: STEPS[1],
            display: Display::default(),
            reading: Reading::default(),
            metric: Metric::default(),
            method: Method::default(),
            marking: false,
            hidden: None,
            draft: None,
            search: Search::Idle,
            curve: VecDeque::new(),
            attenuation: None,
            attenuation_asked: None,
            meter: None,
            meter_asked: None,
            meter_failure: None,
            value_asked: None,
            value: None,
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
        let Search::Running(trace) = &self.search else { return None };
        trace.best()
    }

    /// Puts the patient where the hand says.
    pub(super) fn set_pose(&mut self, pose: Pose, gesture: Option<u64>) {
        if pose != *self.poses.now() {
            self.poses.set(pose, gesture);
        }
    }

    /// What the views show: what the search proposes, else where the hand has put the patient.
    pub fn shown_pose(&self) -> Pose {
        match &self.search {
            Search::Idle => *self.poses.now(),
            Search::Running(trace) => trace.best().map_or_else(|| *self.poses.now(), |step| step.pose),
            Search::Ended(proposal) => proposal.pose,
        }
    }

    /// Whether the pose may be moved by hand: not while a search runs, or waits for an answer.
    pub fn is_free(&self) -> bool {
        matches!(self.search, Search::Idle)
    }

    /// What poses turn about, patient LPS, mm: the isocentre of the X-rays, else of the plan, else the CT's middle.
    pub fn centre_mm(&self, case: &Case) -> DVec3 {
        let of_image = || self.images.first()?.radiograph.setup.map(|s| s.isocentre_mm);
        let of_plan = || Some(case.plans.first()?.beams.first()?.isocentre_mm);
        let of_ct = || Some(case.ct.as_ref()?.hu.grid().middle_mm());
        of_image().or_else(of_plan).or_else(of_ct).unwrap_or_default()
    }

    /// The CT's attenuation, 1/mm, once it is computed.
    pub fn attenuation(&self) -> Option<&Arc<Volume<f32>>> {
        self.attenuation.as_ref().map(|(_, volume)| volume)
    }

    /// Black and white of the DRR of image number `image`; before they are known, of a chest.
    pub fn drr_range(&self, image: usize) -> [f32; 2] {
        let known = self.meter.as_ref().and_then(|m| m.ranges.get(image));
        known.copied().unwrap_or([0.0, 6.0])
    }

    /// The newest value of the metric with whether it is of the pose on show. `None` before there is any, and where it is
    /// undefined.
    pub fn metric_value(&self) -> Option<(f64, bool)> {
        if let Some(step) = self.best() {
            return Some((step.metric, true));
        }
        let (valued, value) = self.value.as_ref()?;
        Some(((*value)?, valued.1 == self.shown_pose() && self.meter_asked.as_ref() == Some(&valued.0)))
    }

    /// Why there is no metric.
    pub fn metric_failure(&self) -> Option<&str> {
        let (inputs, why) = self.meter_failure.as_ref()?;
        (self.meter_asked.as_ref() == Some(inputs)).then_some(why)
    }

    /// Values of the metric, the newest last.
    pub fn curve(&self) -> impl ExactSizeIterator<Item = f64> {
        self.curve.iter().copied()
    }

    /// Why image number `image` shows nothing of the CT, or less than it should: what lies in the wrong order.
    pub fn place_trouble(&self, image: usize, case: &Case) -> Option<String> {
        let (image, ct) = (self.images.get(image)?, case.ct.as_ref()?);
        let (pose, centre_mm) = (self.shown_pose(), self.centre_mm(case));
        check_place(&image.radiograph, ct.hu.grid(), &pose, centre_mm).err().map(|e| e.to_string())
    }

    fn note_value(&mut self, value: f64) {
        self.curve.push_back(value);
        if self.curve.len() > CURVE {
            self.curve.pop_front();
        }
    }

    fn set_images(&mut self, images: Vec<Arc<Image>>) {
        self.images = images;
        // What was found, or is being looked for, was of the others.
        self.search = Search::Idle;
        self.version += 1;
        self.curve.clear();
        self.value = None;
    }

    /// Another case is on show: how things are shown stays.
    pub(super) fn reset(&mut self) {
        let old = std::mem::take(self);
        let Self { display, reading, metric, method, step, version, .. } = old;
        *self = Self { display, reading, metric, method, step, version: version + 1, ..Self::default() };
    }
}
