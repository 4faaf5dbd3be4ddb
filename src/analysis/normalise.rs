//! The factor of a normalisation on all monitor units of a plan.

use super::{Dvh, DvhError, PlanSumError, Sampling, Spread};
use case::{Normalisation, NormalisedAt};
use engine::JobControl;
use geometry::{Mask, Volume};
use glam::DVec3;
use thiserror::Error;

/// A point or a volume gets no dose to scale by where it gets less than this share of the greatest: the rest of the plan would get
/// a hundred times the requested dose. Chosen.
const LEAST_SHARE: f64 = 0.01;

/// A normalisation with what it needs of its case.
#[derive(Clone, Copy, Debug)]
pub struct Normalising<'a> {
    pub to: &'a Normalisation,
    /// The requested dose, Gy for the whole course.
    pub gy: f64,
    /// Mask of the structure that is normalised to, if one is.
    pub mask: Option<&'a Mask>,
    /// How densely the dose is read there: as for the DVHs of the sum, which then meet the requested dose.
    pub sampling: Sampling,
}

/// Why a plan cannot be normalised.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum CannotNormalise {
    #[error(
        "{percent} % of the structure get {gy:.4} Gy, less than 1 % of the greatest dose, {most_gy:.2} Gy: no monitor units can turn \
         that into the dose asked for"
    )]
    Volume { percent: f64, gy: f64, most_gy: f64 },
    #[error("the structure has no voxels")]
    NoMask,
    #[error("the point {:.1}, {:.1}, {:.1} mm lies outside the dose grid: choose one inside the patient", .0.x, .0.y, .0.z)]
    Outside(DVec3),
    #[error("the dose at the point {:.1}, {:.1}, {:.1} mm is not known: a beam's dose grid does not reach it", .0.x, .0.y, .0.z)]
    Unknown(DVec3),
    #[error(
        "the point {:.1}, {:.1}, {:.1} mm gets {gy:.4} Gy, less than 1 % of the greatest dose, {most_gy:.2} Gy: choose one in the \
         beams", .mm.x, .mm.y, .mm.z
    )]
    NoDose { mm: DVec3, gy: f64, most_gy: f64 },
    #[error("the greatest dose is {0} Gy: no monitor units can turn that into the dose asked for")]
    Maximum(f64),
}

impl Normalising<'_> {
    /// One standard deviation of the dose that is normalised to, percent of it: the monitor units are as uncertain. Of a volume the
    /// mean of its voxels.
    pub fn uncertainty_percent(&self, spread: &Spread) -> Option<f64> {
        match (&self.to.at, self.mask) {
            (NormalisedAt::Volume { .. }, mask) => spread.mean_percent(mask?),
            (NormalisedAt::Point(mm), _) => spread.percent_at(*mm),
            (NormalisedAt::Maximum, _) => spread.percent_of_greatest(),
        }
    }

    /// The factor on all monitor units with which the plan gets the dose of the normalisation; `sum` is its present dose.
    pub(super) fn factor(
        &self,
        sum: &Volume<f32>,
        control: &JobControl,
    ) -> Result<f64, PlanSumError> {
        let most_gy = f64::from(sum.greatest());
        let now_gy = match &self.to.at {
            NormalisedAt::Volume { volume_percent, .. } => {
                let mask = self
                    .mask
                    .ok_or_else(|| self.fault(CannotNormalise::NoMask))?;
                let dvh = Dvh::sampled(mask, sum, self.sampling, control).map_err(|e| match e {
                    DvhError::Cancelled(stopped) => PlanSumError::Cancelled(stopped),
                    other => self.fault(other),
                })?;
                dvh.dose_at_percent(*volume_percent)
            }
            NormalisedAt::Point(mm) => dose_at(sum, *mm, most_gy).map_err(|why| self.fault(why))?,
            NormalisedAt::Maximum => most_gy,
        };
        let factor = self.gy / now_gy;
        if now_gy >= LEAST_SHARE * most_gy && factor.is_finite() && factor > 0.0 {
            return Ok(factor);
        }
        let why = match self.to.at {
            NormalisedAt::Volume { volume_percent, .. } => CannotNormalise::Volume {
                percent: volume_percent,
                gy: now_gy,
                most_gy,
            },
            NormalisedAt::Point(mm) => CannotNormalise::NoDose {
                mm,
                gy: now_gy,
                most_gy,
            },
            NormalisedAt::Maximum => CannotNormalise::Maximum(now_gy),
        };
        Err(self.fault(why))
    }

    fn fault(&self, why: impl ToString) -> PlanSumError {
        PlanSumError::Normalisation {
            to: self.to.at.to_string(),
            why: why.to_string(),
        }
    }
}

/// The dose at a point that a plan may be normalised to, Gy.
fn dose_at(sum: &Volume<f32>, mm: DVec3, most_gy: f64) -> Result<f64, CannotNormalise> {
    let gy = f64::from(sum.trilinear(mm).ok_or(CannotNormalise::Outside(mm))?);
    match gy {
        gy if !gy.is_finite() => Err(CannotNormalise::Unknown(mm)),
        gy if gy < LEAST_SHARE * most_gy => Err(CannotNormalise::NoDose { mm, gy, most_gy }),
        gy => Ok(gy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::NormalisedDose;
    use geometry::Grid;
    use std::sync::Arc;

    /// Dose of x + 0.001 Gy at x mm, 0 to 100 mm; unknown from z = 50 mm on.
    fn wedge() -> Volume<f32> {
        let grid =
            Grid::axis_aligned(DVec3::ZERO, DVec3::splat(10.0), [11, 3, 11]).expect("a grid");
        let data = (0..grid.len())
            .map(|n| {
                let p = grid.centre_mm(n % 11, n / 11 % 3, n / 33);
                if p.z >= 50.0 {
                    f32::NAN
                } else {
                    (p.x + 0.001) as f32
                }
            })
            .collect();
        Volume::new(Arc::new(grid), data)
    }

    fn factor(place: NormalisedAt, gy: f64) -> Result<f64, String> {
        let to = Normalisation {
            at: place,
            dose: NormalisedDose::Gy(gy),
        };
        let normalising = Normalising {
            to: &to,
            gy,
            mask: None,
            sampling: Sampling::Full,
        };
        normalising
            .factor(&wedge(), &JobControl::new())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_point_and_the_maximum_scale_to_the_dose_asked_for() {
        let point = |x: f64, z: f64| NormalisedAt::Point(DVec3::new(x, 12.0, z));
        // Linear, so exact between the voxels.
        let got = factor(point(43.0, 7.0), 60.0).expect("a factor");
        assert!((got - 60.0 / 43.001).abs() < 1e-5, "{got}");
        let got = factor(NormalisedAt::Maximum, 50.0).expect("a factor");
        assert!((got - 50.0 / 100.001).abs() < 1e-6, "{got}");
        for (place, words) in [
            (point(120.0, 7.0), "outside the dose grid"),
            (point(43.0, 90.0), "not known"),
            (point(0.4, 7.0), "less than 1 % of the greatest dose"),
        ] {
            let why = factor(place, 60.0).expect_err(words);
            assert!(
                why.contains(words) && why.contains("normalised to the point"),
                "{why}"
            );
        }
        assert!(
            factor(NormalisedAt::Maximum, 0.0).is_err() && factor(point(43.0, 7.0), -1.0).is_err()
        );
    }

    /// Doses of 10, 9, ... 1 Gy along x, each with 0.1 Gy: monitor units are as uncertain as the dose that they are scaled to.
    #[test]
    fn monitor_units_are_as_uncertain_as_the_dose_they_are_normalised_to() {
        let grid = Arc::new(
            Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [10, 4, 4]).expect("a grid"),
        );
        let by_x = |gy: &dyn Fn(usize) -> f32| {
            Arc::new(Volume::new(
                Arc::clone(&grid),
                (0..160).map(|n| gy(n % 10)).collect(),
            ))
        };
        let spread = Spread::new(by_x(&|i| 10.0 - i as f32), by_x(&|_| 0.1));
        let square = [(-1.0, -1.0), (3.0, -1.0), (3.0, 7.0), (-1.0, 7.0)];
        let contours: Vec<Vec<DVec3>> = (0..4)
            .map(|k| {
                square
                    .map(|(x, y)| DVec3::new(x, y, 2.0 * f64::from(k)))
                    .to_vec()
            })
            .collect();
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        let mask = Mask::from_contours(&grid, &contours, &|_| true).expect("a mask");
        let percent = |place: NormalisedAt, mask: Option<&Mask>| {
            let to = Normalisation {
                at: place,
                dose: NormalisedDose::Gy(60.0),
            };
            Normalising {
                to: &to,
                gy: 60.0,
                mask,
                sampling: Sampling::Full,
            }
            .uncertainty_percent(&spread)
        };
        let near = |got: Option<f64>, want: f64| {
            assert!(
                (got.expect("known") - want).abs() < 1e-4,
                "{got:?}, not {want}"
            )
        };
        near(percent(NormalisedAt::Maximum, None), 1.0);
        near(
            percent(NormalisedAt::Point(DVec3::new(10.0, 2.0, 2.0)), None),
            2.0,
        );
        let volume = || Normalisation::to_named("PTV", 95.0, 60.0).at;
        // Voxels of 10 and 9 Gy.
        near(
            percent(volume(), Some(&mask)),
            100.0 * 0.1 * (1.0 / 10.0 + 1.0 / 9.0) / 2.0,
        );
        assert_eq!(percent(volume(), None), None);
        assert_eq!(
            percent(NormalisedAt::Point(DVec3::new(40.0, 2.0, 2.0)), None),
            None
        );
    }
}
