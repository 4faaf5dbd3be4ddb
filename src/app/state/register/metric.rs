//! What the metric of the X-rays is made from.

use super::Reading;
use crate::case::Pose;
use crate::engine::DeviceChoice;
use crate::geometry::VolumeId;
use crate::physics::HuTable;
use crate::registration::{Metric, MetricEvaluator};
use glam::DVec3;
use std::sync::Arc;

/// What an attenuation is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationInputs {
    pub ct: VolumeId,
    pub table: Arc<HuTable>,
    pub reading: Reading,
}

/// What a metric is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterInputs {
    pub attenuation: VolumeId,
    /// Of the images.
    pub version: u64,
    pub centre_mm: DVec3,
    pub metric: Metric,
    pub device: DeviceChoice,
}

/// A pose, and what it was measured with.
pub type Valued = (MeterInputs, Pose);

/// What the metric needs, with black and white of each DRR.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub inputs: MeterInputs,
    pub meter: Arc<MetricEvaluator>,
    pub ranges: Vec<[f32; 2]>,
}
