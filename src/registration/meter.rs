//! The metric of one pose after another: what is shown while a pose is moved by hand.

use super::error::RegistrationError;
use super::metric::{Metric, Sample};
use super::scene::{Coarseness, Scene};
use super::view::View;
use crate::case::Pose;
use crate::engine::{Compute, Stopped, Watch};
use crate::geometry::Volume;
use glam::DVec3;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// CT and X-rays made ready, coarse enough for a value within a few ms.
pub struct Meter {
    /// What a scene holds for a card is for one thread at a time.
    scene: Mutex<Scene>,
}

/// Sides of voxels and pixels, mm, and pixels of a view at least and at most.
const SIDE_MM: f64 = 4.0;
const PIXELS: [usize; 2] = [256, 6_000];

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

impl Meter {
    /// `attenuation` in 1/mm; poses turn about `centre_mm`, patient LPS.
    ///
    /// # Errors
    /// [`RegistrationError`]: views in which nothing counts or all is flat.
    pub fn new(
        attenuation: &Volume<f32>,
        views: &[View],
        centre_mm: DVec3,
        metric: Metric,
        device: &Compute,
    ) -> Result<Self, RegistrationError> {
        let pictures = views
            .iter()
            .map(|view| Ok((view.radiograph.label.clone(), view.picture()?)))
            .collect::<Result<Vec<_>, RegistrationError>>()?;
        let coarseness = Coarseness { side_mm: SIDE_MM, metric, sample: Sample::ALL, pixels: PIXELS };
        let scene = Scene::new(attenuation, &pictures, centre_mm, coarseness, device)?;
        Ok(Self { scene: Mutex::new(scene) })
    }

    /// Whether a card answers.
    pub fn is_on_card(&self) -> bool {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner).is_on_card()
    }

    /// The metric; `None` where it is undefined (the DRR has one value only).
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn value(&self, pose: &Pose, watch: &Watch) -> Result<Option<f64>, Stopped> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner).value(pose, watch)
    }
}
