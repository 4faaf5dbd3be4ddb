//! The Register workspace as a session keeps it: which X-rays, the pose, how both are shown and matched.

use super::{Display, Reading, Region, Register, STEPS};
use crate::app::App;
use crate::case::{Placement, Pose, Steps};
use crate::engine::drr_gradient::AXES;
use crate::registration::{Method, Metric};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// All optional: a session of an earlier or later version gives what it has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegisterRecord {
    images: Vec<KeptImage>,
    /// In their place the made-up pair of this number.
    made_up: Option<u64>,
    pose: Pose,
    locked: [bool; AXES],
    step: Option<f64>,
    display: Option<Display>,
    reading: Option<Reading>,
    metric: Metric,
    method: Method,
}

/// An X-ray stays where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptImage {
    path: PathBuf,
    /// What was said of its geometry beside its file.
    #[serde(default)]
    placement: Placement,
    #[serde(default)]
    region: Option<Region>,
}

impl RegisterRecord {
    pub fn of(register: &Register) -> Self {
        let kept = register.images.iter().filter_map(|image| {
            let (path, placement) = image.file.clone()?;
            let path = std::path::absolute(&path).unwrap_or(path);
            Some(KeptImage { path, placement, region: image.region })
        });
        Self {
            images: kept.collect(),
            made_up: register.hidden.and(register.made_up.checked_sub(1)),
            pose: *register.poses.now(),
            locked: register.locked,
            step: Some(register.step),
            display: Some(register.display),
            reading: Some(register.reading),
            metric: register.metric,
            method: register.method,
        }
    }
}

impl App {
    /// Begins where a session ended; X-rays are read anew, and what does not open says so as any other.
    pub(in crate::app) fn restore_register(&mut self, record: RegisterRecord) {
        let RegisterRecord { images, made_up, pose, locked, step, display, reading, metric, method } = record;
        let register = &mut self.state.register;
        if pose.translation_mm.is_finite() && pose.rotation_deg.is_finite() {
            register.poses = Steps::at(pose);
        }
        register.locked = locked;
        register.step = step.filter(|s| STEPS.contains(s)).unwrap_or(register.step);
        register.display = display.map_or(register.display, Display::sound);
        register.reading = reading.map_or(register.reading, Reading::sound);
        (register.metric, register.method) = (metric, method);
        if let Some(number) = made_up {
            register.made_up = number;
            self.make_up_xrays();
        }
        for KeptImage { path, placement, region } in images {
            self.open_xray(path, placement, region);
        }
    }
}
