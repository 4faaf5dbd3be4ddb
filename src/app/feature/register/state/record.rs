//! The Register workspace as a session keeps it: which X-rays, the pose, how both are shown and matched.

use super::{AcceptedPose, AttenuationChoice, Display, Region, Register};
use case::{Placement, Pose};
use engine::drr_gradient::AXES;
use registration::{Method, Metric};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// All optional: a session of an earlier or later version gives what it has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegisterRecord {
    pub images: Vec<KeptImage>,
    /// In their place the made-up pair of this number.
    pub made_up: Option<u64>,
    pub pose: Pose,
    pub accepted: Option<AcceptedPose>,
    pub locked: [bool; AXES],
    pub step: Option<f64>,
    pub display: Option<Display>,
    pub reading: Option<AttenuationChoice>,
    pub metric: Metric,
    pub method: Method,
}

/// An X-ray stays where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptImage {
    pub path: PathBuf,
    /// Geometry stated beside its file.
    #[serde(default)]
    pub placement: Placement,
    #[serde(default)]
    pub region: Option<Region>,
}

impl RegisterRecord {
    pub fn new(register: &Register) -> Self {
        let kept = register.images.iter().filter_map(|image| {
            let (path, placement) = image.file.clone()?;
            let path = std::path::absolute(&path).unwrap_or(path);
            Some(KeptImage {
                path,
                placement,
                region: image.region,
            })
        });
        Self {
            images: kept.collect(),
            made_up: register.hidden.and(register.made_up.checked_sub(1)),
            pose: *register.poses.now(),
            accepted: register.accepted.clone(),
            locked: register.locked,
            step: Some(register.step),
            display: Some(register.display),
            reading: Some(register.reading),
            metric: register.metric,
            method: register.method,
        }
    }
}
