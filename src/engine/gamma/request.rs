//! Request for gamma.

use super::near_maximum::of_dose;
use super::scan::{Scan, scan};
use super::{GammaError, Role};
use crate::cache::Cache;
use crate::digest::Digest;
use case::Dose;
use geometry::{Mask, Volume};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Request for gamma at the voxels of `reference`.
#[derive(Clone, Debug)]
pub struct GammaRequest {
    /// Gy, 0 or more.
    pub reference: Arc<Volume<f32>>,
    /// Gy, 0 or more, on any grid of the same patient.
    pub evaluated: Arc<Volume<f32>>,
    /// All answered in one pass.
    pub criteria: Vec<Criterion>,
    /// The 100 % of global criteria and of the threshold.
    pub normalisation: Normalisation,
    /// Voxels with less of the reference dose than this share of the normalisation are left out, percent.
    pub threshold_percent: f64,
    /// Farther points are given this value and not searched for; `None`: the search ends where it has found the least.
    pub max_gamma: Option<f32>,
    pub dims: Dims,
    /// Only voxels of which it covers half or more. On the reference's grid.
    pub region: Option<Arc<Mask>>,
    /// Only some of the voxels, chosen at random; their values equal the full answer's.
    pub subset: Option<Subset>,
    pub surface: Surface,
}

/// A dose difference and a distance to agreement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// Percent of the normalisation, or of the reference dose at the point where `local`.
    pub dose_percent: f64,
    pub dta_mm: f64,
    pub local: bool,
}

impl Criterion {
    pub fn global(dose_percent: f64, dta_mm: f64) -> Self {
        Self {
            dose_percent,
            dta_mm,
            local: false,
        }
    }

    /// The dose difference that counts as 1 at a point of the reference, Gy; 0 for a local criterion at no dose.
    pub fn dose_gy(&self, normalisation_gy: f64, reference_gy: f64) -> f64 {
        match self.local {
            true if reference_gy > 0.0 => {
                (0.01 * self.dose_percent * reference_gy).max(self.least_gy(normalisation_gy))
            }
            true => 0.0,
            false => 0.01 * self.dose_percent * normalisation_gy,
        }
    }

    /// No local dose difference is less than a thousand-millionth of the global one, Gy: 32-bit numbers stay in their range.
    pub fn least_gy(&self, normalisation_gy: f64) -> f64 {
        1e-11 * self.dose_percent * normalisation_gy
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.local { "local" } else { "global" };
        write!(f, "{} %/{} mm {kind}", self.dose_percent, self.dta_mm)
    }
}

/// The dose that is 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "of", content = "gy")]
pub enum Normalisation {
    /// The greatest reference dose: of one voxel, which noise or a fault may have raised.
    Maximum,
    /// A reference dose near the maximum that no single voxel moves ([`near_maximum`](super::near_maximum())).
    #[serde(rename = "near-maximum")]
    NearMaximum,
    /// The dose prescribed, Gy.
    Prescription(f64),
    /// As typed, Gy.
    Typed(f64),
}

impl Normalisation {
    pub fn word(self) -> &'static str {
        match self {
            Self::Maximum => "maximum of the reference",
            Self::NearMaximum => "near-maximum of the reference, D2% of its voxels above half",
            Self::Prescription(_) => "prescription",
            Self::Typed(_) => "typed",
        }
    }
}

/// Dimensions in which the nearest point is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Dims {
    /// One plane: the reference has one frame; of an evaluated volume, its dose on that plane.
    #[serde(rename = "2")]
    Plane,
    /// Each plane of the reference by itself.
    #[serde(rename = "2.5")]
    Slices,
    /// In space. With an evaluated dose of one frame, as [`Dims::Slices`].
    #[default]
    #[serde(rename = "3")]
    Volume,
}

/// Points chosen at random without repetition: all where there are no more than `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Subset {
    pub count: usize,
    pub seed: u64,
}

/// Interpolation between the voxels of the evaluated dose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// Six tetrahedra a cell, in a plane two triangles (Ju 2008).
    #[default]
    Simplices,
    /// The trilinear polynomial of each cell. On the CPU.
    Trilinear,
}

/// A request whose numbers and doses are in order.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub normalisation_gy: f64,
    /// Reference doses of this and more are analysed, Gy.
    pub threshold_gy: f64,
}

impl GammaRequest {
    /// 3D, normalised to the maximum, threshold 10 %, search unlimited.
    pub fn new(
        reference: Arc<Volume<f32>>,
        evaluated: Arc<Volume<f32>>,
        criteria: Vec<Criterion>,
    ) -> Self {
        Self {
            reference,
            evaluated,
            criteria,
            normalisation: Normalisation::Maximum,
            threshold_percent: 10.0,
            max_gamma: None,
            dims: Dims::Volume,
            region: None,
            subset: None,
            surface: Surface::Simplices,
        }
    }

    /// As [`GammaRequest::new`], for two doses of a case.
    ///
    /// # Errors
    /// [`GammaError::FrameOfReference`] where both name their frame and the names differ.
    pub fn of_doses(
        reference: &Dose,
        evaluated: &Dose,
        criteria: Vec<Criterion>,
    ) -> Result<Self, GammaError> {
        let (a, b) = (
            &reference.frame_of_reference_uid,
            &evaluated.frame_of_reference_uid,
        );
        if !a.is_empty() && !b.is_empty() && a != b {
            return Err(GammaError::FrameOfReference {
                reference: a.clone(),
                evaluated: b.clone(),
            });
        }
        Ok(Self::new(
            Arc::clone(&reference.gy),
            Arc::clone(&evaluated.gy),
            criteria,
        ))
    }

    /// Checks the numbers, and every voxel of both doses once for each volume.
    ///
    /// # Errors
    /// [`GammaError`] naming what is wrong.
    pub fn check(&self, cache: &Cache) -> Result<Checked, GammaError> {
        if self.criteria.is_empty() {
            return Err(GammaError::NoCriterion);
        }
        let positive = |v: f64| v.is_finite() && v > 0.0;
        for &Criterion {
            dose_percent,
            dta_mm,
            ..
        } in &self.criteria
        {
            if !(positive(dose_percent) && positive(dta_mm)) {
                return Err(GammaError::Criterion {
                    dose_percent,
                    dta_mm,
                });
            }
        }
        let percent = self.threshold_percent;
        if !(0.0..=100.0).contains(&percent) {
            return Err(GammaError::Threshold { percent });
        }
        if let Some(max_gamma) = self
            .max_gamma
            .filter(|&max_gamma| !(max_gamma.is_finite() && max_gamma > 0.0))
        {
            return Err(GammaError::MaxGamma(max_gamma));
        }
        if self.subset.is_some_and(|subset| subset.count == 0) {
            return Err(GammaError::EmptySubset);
        }
        if self
            .region
            .as_ref()
            .is_some_and(|mask| mask.grid() != self.reference.grid())
        {
            return Err(GammaError::OtherGrid);
        }
        let reference = check_dose(&self.reference, Role::Reference, cache)?;
        check_dose(&self.evaluated, Role::Evaluated, cache)?;
        let normalisation_gy = match self.normalisation {
            Normalisation::Maximum => f64::from(reference.most),
            Normalisation::NearMaximum => f64::from(of_dose(&self.reference, cache)),
            Normalisation::Prescription(gy) | Normalisation::Typed(gy) => gy,
        };
        if !positive(normalisation_gy) {
            return Err(GammaError::Normalisation {
                gy: normalisation_gy,
            });
        }
        Ok(Checked {
            normalisation_gy,
            threshold_gy: 0.01 * percent * normalisation_gy,
        })
    }

    /// Equal requests have equal digests (64 bits, hexadecimal).
    pub fn digest(&self, cache: &Cache) -> String {
        let mut hash = Digest::default();
        for dose in [&self.reference, &self.evaluated] {
            hash.add_grid(dose.grid());
            hash.add(scan(dose, cache).hash);
        }
        if let Some(region) = &self.region {
            region
                .offset()
                .iter()
                .chain(&region.size())
                .for_each(|&n| hash.add(n as u64));
            region
                .values_of(0..region.size()[2])
                .iter()
                .for_each(|&c| hash.add(u64::from(c)));
        }
        // The numbers in words: `{:?}` writes every digit of a float.
        let numbers = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.criteria,
            self.normalisation,
            self.threshold_percent,
            self.max_gamma,
            self.dims,
            self.subset,
            self.surface,
            self.region.is_some(),
        );
        numbers.bytes().for_each(|byte| hash.add(u64::from(byte)));
        hash.to_string()
    }
}

fn check_dose(dose: &Volume<f32>, role: Role, cache: &Cache) -> Result<Scan, GammaError> {
    let [nx, ny, _] = dose.grid().size();
    if u32::try_from(dose.grid().len()).is_err() {
        return Err(GammaError::TooLarge {
            role,
            voxels: dose.grid().len(),
        });
    }
    if role == Role::Evaluated && (nx < 2 || ny < 2) {
        return Err(GammaError::TooSmall {
            role,
            size_x: nx,
            size_y: ny,
        });
    }
    let scan = scan(dose, cache);
    if let Some(n) = scan.first_bad {
        let (voxel, value) = (dose.grid().voxel_of(n), dose.data()[n]);
        return Err(match value.is_finite() {
            true => GammaError::Negative {
                role,
                at: voxel,
                value,
            },
            false => GammaError::NotANumber {
                role,
                at: voxel,
                value,
            },
        });
    }
    Ok(scan)
}
