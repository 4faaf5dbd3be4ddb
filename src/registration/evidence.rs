//! How sure a match is: each image alone against all together, searches begun beside the pose, and the metric along the direction
//! that the images see least.
//!
//! The metric of a search alone does not tell a right match: two X-rays of which one has a wrong angle still give four fifths of
//! it. The thresholds are chosen by hidden poses (`assets/PHYSICS.md`).

use super::error::RegistrationError;
use super::flipped::Flipped;
use super::metric::Sample;
use super::request::{Method, Request};
use super::scene::{Coarseness, PyramidLevel};
use super::search::{FINEST_MM, LEAST_PIXELS, MOST_PIXELS, SIDES_MM, search};
use super::view::View;
use case::{PixelMeaning, Pose, Radiograph};
use engine::{Compute, JobControl};
use geometry::Projection;
use glam::DVec3;
use std::sync::Arc;

/// Searches of the evidence begin so far beside the pose, mm and degrees.
pub const BESIDE: [f64; 2] = [15.0, 5.0];
/// Levels of these searches: all but the finest, as they tell mm from cm.
pub(super) const LEVELS_MM: [f64; 2] = [SIDES_MM[0], SIDES_MM[1]];
/// A search that ends at less than this part of the match's metric has failed, and says nothing of the match.
const RIVAL: f64 = 0.9;
/// The metric counts as the same within this part of it.
const SAME_METRIC: f64 = 0.01;
/// Steps from the pose at which the metric is looked at, mm. The last is the most that is told.
const STEPS_MM: [f64; 13] = [
    0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
];
/// Distances are means over the corners of a cube of twice this side about the centre.
const CORNER_MM: f64 = 50.0;

/// Evidence for a pose beside its metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// In the order of the views.
    pub images: Vec<ImageEvidence>,
    /// Greatest distance from the pose, as the images see it, at which a search begun beside it ends with a metric like the metric of the
    /// match, mm.
    pub again_mm: f64,
    /// How far along the direction that the images see least the metric stays the same, mm; `None` where shifts along it are locked.
    pub depth_mm: Option<f64>,
    /// Metric of the search with all pixels turned round, where the match is none and that one is better.
    pub negative: Option<f64>,
    /// X-rays that match much better mirrored or upside down.
    pub flipped: Vec<Flipped>,
}

/// An image by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageEvidence {
    pub image: String,
    /// At the pose.
    pub metric: f64,
    /// Found by this image without the other, where there is another.
    pub alone: Option<Alone>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    pub pose: Pose,
    pub metric: f64,
    /// Distance of the two poses as the image sees it, mm.
    pub off_mm: f64,
}

/// # Errors
/// [`RegistrationError`] of the views; cancellation.
pub fn evidence(
    request: &Request,
    matched: &Pose,
    device: &Compute,
    control: &JobControl,
) -> Result<Evidence, RegistrationError> {
    let by = Examiner {
        request,
        found: matched,
        device,
        control,
    };
    let (mut images, mut flipped) = (Vec::new(), Vec::new());
    for view in &request.views {
        let image = by.image(view)?;
        let alone = image.alone.map_or(f64::NEG_INFINITY, |alone| alone.metric);
        flipped.extend(by.flipped(view, [image.metric, alone])?);
        images.push(image);
    }
    let scene = by.scene(&request.views, FINEST_MM)?;
    let direction = by.least_seen();
    let depth_mm = direction
        .map(|direction| by.depth(&scene, direction))
        .transpose()?;
    Ok(Evidence {
        images,
        again_mm: by.again(&scene, direction)?,
        depth_mm,
        negative: None,
        flipped,
    })
}

/// The metric of a search for which all pixels are turned round, bone dark for bright.
///
/// # Errors
/// Cancellation.
pub fn negative(
    request: &Request,
    device: &Compute,
    control: &JobControl,
) -> Result<Option<f64>, RegistrationError> {
    let views = request.views.iter().map(|view| View {
        radiograph: turned_round(&view.radiograph),
        ..view.clone()
    });
    let request = Request {
        views: views.collect(),
        method: Method::Auto,
        ..request.clone()
    };
    let by = Examiner {
        request: &request,
        found: &request.start,
        device,
        control,
    };
    Ok(by.pose_of(&request, &LEVELS_MM)?.map(|(_, metric)| metric))
}

fn turned_round(radiograph: &Radiograph) -> Arc<Radiograph> {
    let meaning = match radiograph.meaning {
        PixelMeaning::Attenuation => PixelMeaning::Transmission,
        PixelMeaning::Transmission => PixelMeaning::Attenuation,
    };
    Arc::new(Radiograph {
        meaning,
        ..radiograph.clone()
    })
}

/// A pose found, and what more is looked for beside it.
pub(super) struct Examiner<'a> {
    pub request: &'a Request,
    pub found: &'a Pose,
    pub device: &'a Compute,
    pub control: &'a JobControl,
}

impl Examiner<'_> {
    /// Pose and metric of a search at coarse levels; `None` where it cannot be made, such as from a start at which nothing is seen.
    pub fn pose_of(
        &self,
        request: &Request,
        sides_mm: &[f64],
    ) -> Result<Option<(Pose, f64)>, RegistrationError> {
        match search(
            request,
            sides_mm,
            self.device,
            &self.control.child(),
            &|_| (),
        ) {
            Ok(outcome) => Ok(Some((outcome.pose, outcome.after))),
            Err(RegistrationError::Cancelled(why)) => Err(RegistrationError::Cancelled(why)),
            Err(_) => Ok(None),
        }
    }

    /// The views at a level; the match's metric is taken at the finest.
    pub fn scene(&self, views: &[View], side_mm: f64) -> Result<PyramidLevel, RegistrationError> {
        let Request {
            attenuation,
            centre_mm,
            metric,
            share,
            seed,
            ..
        } = self.request;
        let pictures = views
            .iter()
            .map(|view| Ok((view.radiograph.label.clone(), view.picture()?)))
            .collect::<Result<Vec<_>, RegistrationError>>()?;
        let coarseness = Coarseness {
            side_mm,
            metric: *metric,
            sample: Sample {
                share: *share,
                seed: *seed,
            },
            pixels: [LEAST_PIXELS, MOST_PIXELS],
        };
        PyramidLevel::new(
            attenuation,
            &pictures,
            *centre_mm,
            coarseness,
            self.device,
            self.control.cache(),
        )
    }

    fn image(&self, view: &View) -> Result<ImageEvidence, RegistrationError> {
        let scene = self.scene(std::slice::from_ref(view), FINEST_MM)?;
        let metric = |pose: &Pose| {
            Ok::<_, RegistrationError>(scene.value(pose, self.control)?.unwrap_or(f64::NAN))
        };
        let image = view.radiograph.label.clone();
        let metric_here = metric(self.found)?;
        if self.request.views.len() < 2 {
            return Ok(ImageEvidence {
                image,
                metric: metric_here,
                alone: None,
            });
        }
        let request = Request {
            views: vec![view.clone()],
            ..self.beside(&Pose::default())
        };
        let alone = match self.pose_of(&request, &LEVELS_MM)? {
            Some((pose, _)) => {
                let off_mm = self.seen_mm(&view.radiograph.projection, &pose);
                Some(Alone {
                    pose,
                    metric: metric(&pose)?,
                    off_mm,
                })
            }
            None => None,
        };
        Ok(ImageEvidence {
            image,
            metric: metric_here,
            alone,
        })
    }

    /// A search from beside the pose found, by the method that needs the least luck.
    pub fn beside(&self, by: &Pose) -> Request {
        let start = Pose {
            translation_mm: self.found.translation_mm + by.translation_mm,
            rotation_deg: self.found.rotation_deg + by.rotation_deg,
        };
        Request {
            start,
            method: Method::Auto,
            reach_mm: self.request.reach_mm.max(2.0 * BESIDE[0]),
            reach_deg: self.request.reach_deg.max(3.0 * BESIDE[1]),
            ..self.request.clone()
        }
    }

    fn again(
        &self,
        scene: &PyramidLevel,
        direction: Option<DVec3>,
    ) -> Result<f64, RegistrationError> {
        let free = |first: usize| {
            DVec3::from_array(std::array::from_fn(|n| {
                f64::from(u8::from(!self.request.locked[first + n]))
            }))
        };
        let shift = direction.unwrap_or_else(|| free(0).normalize_or_zero()) * BESIDE[0];
        let shifted = Pose {
            translation_mm: shift,
            rotation_deg: free(3) * BESIDE[1],
        };
        let opposite = Pose {
            translation_mm: -shift,
            rotation_deg: -shifted.rotation_deg,
        };
        let metric_here = scene.value(self.found, self.control)?.unwrap_or(f64::NAN);
        let mut farthest_mm: f64 = 0.0;
        for by in [shifted, opposite] {
            let Some((pose, _)) = self.pose_of(&self.beside(&by), &LEVELS_MM)? else {
                continue;
            };
            let metric_there = scene.value(&pose, self.control)?.unwrap_or(f64::NAN);
            if metric_there >= metric_here - (1.0 - RIVAL) * metric_here.abs() {
                let seen = self
                    .request
                    .views
                    .iter()
                    .map(|view| self.seen_mm(&view.radiograph.projection, &pose));
                farthest_mm = seen.fold(farthest_mm, f64::max);
            }
        }
        Ok(farthest_mm)
    }

    fn depth(&self, scene: &PyramidLevel, direction: DVec3) -> Result<f64, RegistrationError> {
        let steps = || STEPS_MM.into_iter();
        let poses: Vec<Pose> = std::iter::once(0.0)
            .chain(steps())
            .chain(steps().map(|mm| -mm))
            .map(|mm: f64| Pose {
                translation_mm: self.found.translation_mm + direction * mm,
                ..*self.found
            })
            .collect();
        let values = scene.values(&poses, self.control)?;
        let values: Vec<f64> = values
            .into_iter()
            .map(|v| v.unwrap_or(f64::NEG_INFINITY))
            .collect();
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let threshold = best - SAME_METRIC * best.abs();
        let [fore, back] =
            [0, STEPS_MM.len()].map(|first| extent(values[0], &values[1 + first..], threshold));
        Ok(fore.max(back))
    }

    /// The direction of shifts that changes the images least: the beam of one, the bisector of two, as far as it is free.
    fn least_seen(&self) -> Option<DVec3> {
        let beams: Vec<DVec3> = self
            .request
            .views
            .iter()
            .map(|view: &View| {
                (self.request.centre_mm - view.radiograph.projection.source_mm())
                    .normalize_or_zero()
            })
            .collect();
        let direction = match beams[..] {
            [a, b] if (a - b).length() > (a + b).length() => a - b,
            _ => beams.iter().sum(),
        };
        let direction = DVec3::from_array(std::array::from_fn(|n: usize| {
            if self.request.locked[n] {
                0.0
            } else {
                direction.normalize_or_zero()[n]
            }
        }));
        // Of less than that a shift along an axis is mostly across the direction.
        (direction.length() > 0.5).then(|| direction.normalize())
    }

    /// Mean distance of points at the pose found from their rays at another (van de Kraats 2005, reprojection distance).
    fn seen_mm(&self, projection: &Projection, pose: &Pose) -> f64 {
        let (source_mm, centre_mm) = (projection.source_mm(), self.request.centre_mm);
        (0..8)
            .map(|n: u32| {
                let corner =
                    centre_mm + DVec3::new(corner_mm(0, n), corner_mm(1, n), corner_mm(2, n));
                let ray = (pose.apply(corner, centre_mm) - source_mm).normalize();
                (self.found.apply(corner, centre_mm) - source_mm)
                    .cross(ray)
                    .length()
            })
            .sum::<f64>()
            / 8.0
    }
}

fn corner_mm(bit: u32, n: u32) -> f64 {
    if n >> bit & 1 == 1 {
        CORNER_MM
    } else {
        -CORNER_MM
    }
}

/// How far values, at [`STEPS_MM`] from a first one, stay above the least; straight between them.
fn extent(first: f64, values: &[f64], threshold: f64) -> f64 {
    let (mut from_mm, mut from) = (0.0, first);
    for (mm, value) in STEPS_MM.into_iter().zip(values) {
        if *value < threshold {
            let part = ((from - threshold) / (from - value)).clamp(0.0, 1.0);
            return from_mm + part * (mm - from_mm);
        }
        (from_mm, from) = (mm, *value);
    }
    from_mm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_stays_above_as_far_as_its_root() {
        let values: Vec<f64> = STEPS_MM
            .into_iter()
            .map(|mm| 1.0 - 0.01 * (mm / 5.0).powi(2))
            .collect();
        // 1 % is lost at 5 mm; between 4 and 6 the chord is a little lower.
        assert!(
            (extent(1.0, &values, 0.99) - 5.0).abs() < 0.15,
            "{}",
            extent(1.0, &values, 0.99)
        );
        assert_eq!(extent(1.0, &[1.0; 13], 0.99), 30.0);
        assert_eq!(extent(0.98, &[0.9; 13], 0.99), 0.0);
    }
}
