//! CT and X-rays at one level of a search: what a pose is worth.

use super::error::RegistrationError;
use super::metric::{self, Likeness, Metric, MetricError, Sample, Slopes};
use super::view::Picture;
use crate::case::Pose;
use crate::engine::cpu;
use crate::engine::slopes::{AXES, Level};
use crate::engine::{Stopped, Watch};
use crate::geometry::{Projection, Volume};
use glam::DVec3;

/// The CT and the X-rays, coarse.
#[derive(Clone, Debug)]
pub struct Scene {
    level: Level,
    views: Vec<Seen>,
    centre_mm: DVec3,
    step_mm: f64,
}

#[derive(Clone, Debug)]
struct Seen {
    projection: Projection,
    likeness: Likeness,
}

/// How coarse a level is, and what is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coarseness {
    /// Sides of voxels, and of pixels at the pose centre's depth, mm.
    pub side_mm: f64,
    pub metric: Metric,
    pub sample: Sample,
    /// Pixels of a view at least, where it has them, and at most.
    pub pixels: [usize; 2],
}

impl Scene {
    /// # Errors
    /// [`RegistrationError`]: views in which nothing counts or all is flat.
    pub fn new(
        attenuation: &Volume<f32>,
        pictures: &[(String, Picture)],
        centre_mm: DVec3,
        coarseness: Coarseness,
    ) -> Result<Self, RegistrationError> {
        let Coarseness { side_mm, metric, sample, pixels: [least, most] } = coarseness;
        let level = Level::new(attenuation, side_mm);
        let views = pictures
            .iter()
            .map(|(image, picture)| {
                let coarse = picture.coarse(side_mm, centre_mm);
                let seen =
                    metric::Picture { size: coarse.size(), values: &coarse.values, mask: &coarse.mask };
                let count = coarse.mask.iter().filter(|m| **m).count().max(1) as f64;
                let share = sample.share.max(least as f64 / count).min(most as f64 / count).min(1.0);
                let likeness = Likeness::new(metric, seen, Sample { share, ..sample }).map_err(|e| {
                    let image = image.clone();
                    match e {
                        MetricError::NoPixels => RegistrationError::NothingCounts { image },
                        MetricError::Flat => RegistrationError::Flat { image },
                    }
                })?;
                Ok(Seen { projection: coarse.projection, likeness })
            })
            .collect::<Result<_, RegistrationError>>()?;
        let step_mm = level.side_mm();
        Ok(Self { level, views, centre_mm, step_mm })
    }

    /// Mean of the views' metrics; `None` where one is undefined.
    pub fn value(&self, pose: &Pose, watch: &Watch) -> Result<Option<f64>, Stopped> {
        let mut sum = 0.0;
        for view in &self.views {
            let shot = self.level.shot(&view.projection, pose, self.centre_mm);
            let drr =
                cpu::slopes::integrals(&self.level, &shot, view.likeness.pixels(), self.step_mm, watch)?;
            let Some(value) = view.likeness.value(&drr) else { return Ok(None) };
            sum += value;
        }
        Ok(Some(sum / self.views.len() as f64))
    }

    /// As [`Scene::value`] of each pose.
    pub fn values(&self, poses: &[Pose], watch: &Watch) -> Result<Vec<Option<f64>>, Stopped> {
        poses.iter().map(|pose| self.value(pose, watch)).collect()
    }

    /// As [`Scene::value`] with its slopes by the six numbers; `None` also where the metric has none.
    pub fn slopes(&self, pose: &Pose, watch: &Watch) -> Result<Option<Slopes>, Stopped> {
        let mut sum = Slopes { value: 0.0, gradient: [0.0; AXES], matrix: [[0.0; AXES]; AXES] };
        let part = (self.views.len() as f64).recip();
        for view in &self.views {
            let shot = self.level.shot(&view.projection, pose, self.centre_mm);
            let motion = self.level.motion(&view.projection, pose, self.centre_mm);
            let pixels = view.likeness.pixels();
            let drr = cpu::slopes::with_slopes(&self.level, &shot, &motion, pixels, self.step_mm, watch)?;
            let derivatives = std::array::from_fn(|axis| drr.slopes[axis].as_slice());
            let own = view.likeness.correlation().and_then(|c| c.slopes(&drr.integrals, &derivatives));
            let Some(own) = own else { return Ok(None) };
            sum.value += part * own.value;
            for a in 0..AXES {
                sum.gradient[a] += part * own.gradient[a];
                for b in 0..AXES {
                    sum.matrix[a][b] += part * own.matrix[a][b];
                }
            }
        }
        Ok(Some(sum))
    }

    /// DRRs that one pose takes.
    pub fn views(&self) -> usize {
        self.views.len()
    }
}
