//! The metric of consecutive poses, displayed while a pose is moved by hand.

use super::error::RegistrationError;
use super::metric::{Metric, Sample};
use super::scene::{Coarseness, PyramidLevel};
use super::view::View;
use case::Pose;
use engine::{Cache, Cancelled, Compute, JobControl};
use geometry::Volume;
use glam::DVec3;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// CT and X-rays at a level coarse enough for a value within a few ms.
pub struct MetricEvaluator {
    /// The card's buffers of a level serve one thread at a time.
    scene: Mutex<PyramidLevel>,
}

/// Sides of voxels and pixels, mm.
pub const METRIC_SIDE_MM: f64 = 4.0;
/// Fewest and most pixels of a view.
const PIXELS: [usize; 2] = [256, 6_000];

impl fmt::Debug for MetricEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricEvaluator").finish_non_exhaustive()
    }
}

impl MetricEvaluator {
    /// `attenuation` in 1/mm; poses turn about `centre_mm`, patient LPS.
    ///
    /// # Errors
    /// [`RegistrationError`]: views with an empty mask or a flat picture.
    pub fn new(
        attenuation: &Volume<f32>,
        views: &[View],
        centre_mm: DVec3,
        metric: Metric,
        device: &Compute,
        cache: &Cache,
    ) -> Result<Self, RegistrationError> {
        let pictures = views
            .iter()
            .map(|view| Ok((view.radiograph.label.clone(), view.picture()?)))
            .collect::<Result<Vec<_>, RegistrationError>>()?;
        let coarseness = Coarseness {
            side_mm: METRIC_SIDE_MM,
            metric,
            sample: Sample::ALL,
            pixels: PIXELS,
        };
        let scene =
            PyramidLevel::new(attenuation, &pictures, centre_mm, coarseness, device, cache)?;
        Ok(Self {
            scene: Mutex::new(scene),
        })
    }

    /// The metric; `None` where it is undefined (the DRR is flat).
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn value(&self, pose: &Pose, control: &JobControl) -> Result<Option<f64>, Cancelled> {
        self.scene
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .value(pose, control)
    }
}
