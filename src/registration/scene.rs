//! CT and X-rays at one pyramid level: the metric of a pose, on a card or on the CPU.

use super::error::RegistrationError;
use super::metric::{self, Metric, MetricError, Sample, Similarity};
use super::view::Picture;
use case::Pose;
use engine::cuda::{CudaError, Device};
use engine::drr_gradient::cpu;
use engine::drr_gradient::cuda::LevelOnCard;
use engine::drr_gradient::{AXES, Compared, CorrelationAtPose, Features, Level, Sums};
use engine::{Cache, Cancelled, Compute, JobControl, else_cpu, note_card_failure};
use geometry::{Projection, Volume};
use glam::DVec3;
use std::cell::RefCell;
use std::sync::Arc;

/// The CT and the X-rays at one resolution.
pub struct PyramidLevel {
    level: Arc<Level>,
    views: Vec<LevelView>,
    centre_mm: DVec3,
    step_mm: f64,
    /// `None` on the CPU, and after a card has failed.
    card: RefCell<Option<(Arc<Device>, LevelOnCard)>>,
}

struct LevelView {
    projection: Projection,
    similarity: Similarity,
}

/// Coarseness of a level, and its pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coarseness {
    /// Sides of voxels, and of pixels at the pose centre's depth, mm.
    pub side_mm: f64,
    pub metric: Metric,
    pub sample: Sample,
    /// Fewest (where the view has them) and most pixels of a view.
    pub pixels: [usize; 2],
}

impl PyramidLevel {
    /// # Errors
    /// [`RegistrationError`]: views with an empty mask or a flat picture.
    pub fn new(
        attenuation: &Volume<f32>,
        pictures: &[(String, Picture)],
        centre_mm: DVec3,
        coarseness: Coarseness,
        device: &Compute,
        cache: &Cache,
    ) -> Result<Self, RegistrationError> {
        let level = Level::kept(attenuation, coarseness.side_mm, cache);
        let views = pictures
            .iter()
            .map(|(image, picture)| LevelView::new(image, picture, centre_mm, coarseness))
            .collect::<Result<Vec<_>, RegistrationError>>()?;
        let step_mm = level.side_mm();
        let card = match device {
            Compute::Cpu | Compute::Wgpu(_) => None,
            Compute::Cuda(device) => match on_card(device, &level, &views, centre_mm, step_mm) {
                Ok(work) => Some((device.clone(), work)),
                Err(error) => {
                    note_card_failure("registering", error);
                    None
                }
            },
        };
        Ok(Self {
            level,
            views,
            centre_mm,
            step_mm,
            card: RefCell::new(card),
        })
    }

    /// DRRs of one pose.
    pub fn views(&self) -> usize {
        self.views.len()
    }

    /// Whether a card computes the metric.
    pub fn is_on_card(&self) -> bool {
        self.card.borrow().is_some()
    }

    /// Mean of the views' metrics, of each pose; `None` where one is undefined.
    pub fn values(
        &self,
        poses: &[Pose],
        control: &JobControl,
    ) -> Result<Vec<Option<f64>>, Cancelled> {
        self.answer(
            |device, work| self.card_values(device, work, poses, control),
            || {
                poses
                    .iter()
                    .map(|pose| self.cpu_value(pose, control))
                    .collect()
            },
        )
    }

    /// As [`PyramidLevel::values`] of one pose.
    pub fn value(&self, pose: &Pose, control: &JobControl) -> Result<Option<f64>, Cancelled> {
        Ok(self
            .values(std::slice::from_ref(pose), control)?
            .pop()
            .flatten())
    }

    /// As [`PyramidLevel::value`] with its gradient by the six numbers; `None` also where the metric has none.
    pub fn correlation(
        &self,
        pose: &Pose,
        control: &JobControl,
    ) -> Result<Option<CorrelationAtPose>, Cancelled> {
        self.answer(
            |device, work| self.card_correlation(device, work, pose, control),
            || self.cpu_correlation(pose, control),
        )
    }

    /// The card's answer, or the CPU's where there is none; a failing card is not used again.
    fn answer<T>(
        &self,
        on_card: impl FnOnce(&Device, &LevelOnCard) -> Result<T, CudaError>,
        on_cpu: impl FnOnce() -> Result<T, Cancelled>,
    ) -> Result<T, Cancelled> {
        let by_card = match &*self.card.borrow() {
            Some((device, work)) => on_card(device, work),
            None => return on_cpu(),
        };
        else_cpu(by_card, |why| {
            note_card_failure("registering", why);
            *self.card.borrow_mut() = None;
            on_cpu()
        })
    }

    fn card_values(
        &self,
        device: &Device,
        work: &LevelOnCard,
        poses: &[Pose],
        control: &JobControl,
    ) -> Result<Vec<Option<f64>>, CudaError> {
        if !self.is_correlation() {
            let values = work.similarity(device, poses, control)?;
            return Ok(values
                .chunks_exact(self.views.len())
                .map(mean_value)
                .collect());
        }
        let sums = work.sums(device, poses, control)?;
        let groups = sums.len() / poses.len().max(1);
        Ok(sums
            .chunks_exact(groups.max(1))
            .map(|sums| self.mean_of(sums))
            .collect())
    }

    fn card_correlation(
        &self,
        device: &Device,
        work: &LevelOnCard,
        pose: &Pose,
        control: &JobControl,
    ) -> Result<Option<CorrelationAtPose>, CudaError> {
        let sums = work.products(device, pose, control)?;
        let mut sums = sums.as_slice();
        let each = self.views.iter().map(|view| {
            let correlation = view.similarity.correlation()?;
            let (view_sums, remaining) =
                sums.split_at_checked(correlation.features().groups.len())?;
            sums = remaining;
            correlation.at_pose_of(view_sums)
        });
        Ok(mean_correlation(each))
    }

    fn is_correlation(&self) -> bool {
        self.views
            .iter()
            .all(|view| view.similarity.correlation().is_some())
    }

    /// The mean metric of consecutive DRRs.
    fn mean(&self, mut drrs: &[f32]) -> Option<f64> {
        let mut sum = 0.0;
        for view in &self.views {
            let (view_drr, remaining) = drrs.split_at_checked(view.similarity.pixels().len())?;
            drrs = remaining;
            sum += view.similarity.value(view_drr)?;
        }
        Some(sum / self.views.len() as f64)
    }

    /// The mean metric from the sums of all views' groups.
    fn mean_of(&self, mut sums: &[Sums]) -> Option<f64> {
        let mut sum = 0.0;
        for view in &self.views {
            let correlation = view.similarity.correlation()?;
            let (view_sums, remaining) =
                sums.split_at_checked(correlation.features().groups.len())?;
            sums = remaining;
            sum += correlation.value_of(view_sums)?;
        }
        Some(sum / self.views.len() as f64)
    }

    fn cpu_value(&self, pose: &Pose, control: &JobControl) -> Result<Option<f64>, Cancelled> {
        let mut drrs = Vec::new();
        for view in &self.views {
            let shot = self.level.shot(&view.projection, pose, self.centre_mm);
            let pixels = view.similarity.pixels();
            drrs.extend(cpu::integrals(
                &self.level,
                &shot,
                pixels,
                self.step_mm,
                control,
            )?);
        }
        Ok(self.mean(&drrs))
    }

    fn cpu_correlation(
        &self,
        pose: &Pose,
        control: &JobControl,
    ) -> Result<Option<CorrelationAtPose>, Cancelled> {
        let mut each = Vec::new();
        for view in &self.views {
            let shot = self.level.shot(&view.projection, pose, self.centre_mm);
            let motion = self.level.motion(&view.projection, pose, self.centre_mm);
            let pixels = view.similarity.pixels();
            let drr =
                cpu::with_gradient(&self.level, &shot, &motion, pixels, self.step_mm, control)?;
            let derivatives = std::array::from_fn(|axis| drr.gradient[axis].as_slice());
            each.push(
                view.similarity
                    .correlation()
                    .and_then(|c| c.at_pose(&drr.integrals, &derivatives)),
            );
        }
        Ok(mean_correlation(each.into_iter()))
    }
}

impl LevelView {
    fn new(
        image: &str,
        picture: &Picture,
        centre_mm: DVec3,
        coarseness: Coarseness,
    ) -> Result<Self, RegistrationError> {
        let Coarseness {
            side_mm,
            metric,
            sample,
            pixels: [fewest, greatest],
        } = coarseness;
        let coarse = picture.coarse(side_mm, centre_mm);
        let seen = metric::Picture {
            size: coarse.size(),
            values: &coarse.values,
            mask: &coarse.mask,
        };
        let count = coarse.mask.iter().filter(|m| **m).count().max(1) as f64;
        let share = sample
            .share
            .max(fewest as f64 / count)
            .min(greatest as f64 / count)
            .min(1.0);
        let image = || image.to_owned();
        let similarity =
            Similarity::new(metric, seen, Sample { share, ..sample }).map_err(|e| match e {
                MetricError::NoPixels => RegistrationError::NothingCounts { image: image() },
                MetricError::Flat => RegistrationError::Flat { image: image() },
            })?;
        Ok(Self {
            projection: coarse.projection,
            similarity,
        })
    }
}

fn on_card(
    device: &Device,
    level: &Arc<Level>,
    views: &[LevelView],
    centre_mm: DVec3,
    step_mm: f64,
) -> Result<LevelOnCard, CudaError> {
    let looked_at: Vec<(Projection, &[u32])> = views
        .iter()
        .map(|v| (v.projection, v.similarity.pixels()))
        .collect();
    LevelOnCard::prepare(
        device,
        level,
        &looked_at,
        centre_mm,
        step_mm,
        compared(views).as_ref(),
    )
}

/// The reference of the comparison: the same measure in all views.
fn compared(views: &[LevelView]) -> Option<Compared<'_>> {
    let similarities = || views.iter().map(|view| &view.similarity);
    if let Some(information) = similarities().map(Similarity::information).collect() {
        return Some(Compared::Information(information));
    }
    if let Some(ranks) = similarities().map(Similarity::rank).collect() {
        return Some(Compared::Rank(ranks));
    }
    let mut features = Features::default();
    let mut rays = 0;
    for similarity in similarities() {
        features.extend(similarity.correlation()?.features(), rays);
        rays += similarity.pixels().len() as u32;
    }
    Some(Compared::Correlation(features))
}

/// The mean; `None` where one value is.
fn mean_value(each: &[Option<f64>]) -> Option<f64> {
    let sum = each
        .iter()
        .try_fold(0.0, |sum, value| Some(sum + (*value)?))?;
    Some(sum / each.len() as f64)
}

/// The mean; `None` where one correlation is.
fn mean_correlation(
    each: impl ExactSizeIterator<Item = Option<CorrelationAtPose>>,
) -> Option<CorrelationAtPose> {
    let part = (each.len() as f64).recip();
    let mut sum = CorrelationAtPose::default();
    for view_model in each {
        let view_model = view_model?;
        sum.value += part * view_model.value;
        for a in 0..AXES {
            sum.gradient[a] += part * view_model.gradient[a];
            for b in 0..AXES {
                sum.matrix[a][b] += part * view_model.matrix[a][b];
            }
        }
    }
    Some(sum)
}
