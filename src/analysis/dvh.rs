//! Dose-volume histograms.

mod held;
mod histogram;
mod isodoses;
mod redrawn;
mod row;
mod samples;
mod sums;

use case::Structure;
use engine::{Cancelled, JobControl};
use geometry::{Mask, MaskError, Volume};
use held::HeldSamples;
use histogram::{BINS, Bins, Histogram};
pub use isodoses::Isodoses;
use rayon::prelude::*;
pub use redrawn::DvhPlanes;
use samples::MaskedDose;
pub use samples::Sampling;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use sums::Sums;
use thiserror::Error;

/// The DVH of a structure smaller than this has little meaning, cm3.
const SMALL_CM3: f64 = 1.0;

/// Bins of the differential curve that is drawn.
const DIFFERENTIAL_BINS: usize = 64;

/// The distribution of dose over the volume of a structure.
///
/// The structure's voxels count by the fraction covered; dose is read trilinearly in patient space, from a
/// grid that need not be the mask's. A sample's dose stands for those across its part of the voxel, by the gradient there:
/// else curves of large structures, of one sample a voxel, would be stairs. The least and the greatest dose are read,
/// at samples and at voxels of the dose inside. Volume outside the dose grid has no dose, which is not zero: it is left
/// out, and its share stated ([`Self::outside_percent`]). All percentages are of the volume that has a dose. Volume outside the
/// CT is no part of the mask; goals count it as volume without a dose ([`Self::whole_cm3`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dvh {
    volume_cm3: f64,
    outside_cm3: f64,
    not_a_number_cm3: f64,
    /// Volume of the contours outside the grid of the mask.
    outside_mask_cm3: f64,
    /// Whether that grid is the dose's: the case has no CT, or one on the voxels of the dose.
    on_dose_grid: bool,
    mean_gy: f64,
    inside: Histogram,
    /// Isodoses of the whole dose, in and outside the structure, where they are counted.
    #[serde(with = "isodoses::shared")]
    isodoses: Option<Arc<Isodoses>>,
    /// Remarks on the contours.
    of_contours: Vec<String>,
}

/// Why a part of a structure has no dose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutDose {
    OutsideDoseGrid,
    OutsideCt,
    NotANumber,
}

/// Why a structure has no DVH.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DvhError {
    #[error("the structure has no volume inside the image")]
    Empty,
    #[error("the structure lies wholly outside the dose grid")]
    Outside,
    #[error("the dose is not a number anywhere in the structure; compute or export it again")]
    NotANumber,
    #[error(transparent)]
    Mask(#[from] MaskError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Planes whose samples are counted one after the other. A fixed number, not one by threads: sums then have the same bits everywhere.
const PLANES_OF_A_GROUP: usize = 8;

/// The bins of the samples of some planes.
fn counted(planes: &[(HeldSamples, Sums)], min_gy: f64, max_gy: f64) -> Bins {
    let mut bins = Bins::new(min_gy, max_gy);
    planes
        .iter()
        .for_each(|(samples, _)| samples.visit(&mut bins));
    bins
}

impl Dvh {
    /// The DVH of a structure in a dose (Gy). Equal for any number of threads.
    ///
    /// # Errors
    /// [`DvhError`].
    pub fn new(mask: &Mask, dose_gy: &Volume<f32>, control: &JobControl) -> Result<Self, DvhError> {
        Self::sampled(mask, dose_gy, Sampling::Full, control)
    }

    /// As [`Self::new`], of more or fewer samples.
    ///
    /// # Errors
    /// [`DvhError`].
    pub fn sampled(
        mask: &Mask,
        dose_gy: &Volume<f32>,
        sampling: Sampling,
        control: &JobControl,
    ) -> Result<Self, DvhError> {
        Self::count(&MaskedDose::new(mask, dose_gy, sampling), control)
    }

    /// The DVH of single points of a structure: of each its dose (Gy) and the volume (cm3) that it stands for. A point's dose stands for
    /// those up to its neighbours in the order of doses. `None` without a point that has volume and a finite dose.
    pub fn of_points(points: impl Iterator<Item = (f32, f32)>) -> Option<Self> {
        let mut points: Vec<(f32, f32)> = points
            .filter(|(gy, cm3)| gy.is_finite() && *cm3 > 0.0)
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (min_gy, max_gy) = (f64::from(points.first()?.0), f64::from(points.last()?.0));
        let mut bins = Bins::new(min_gy, max_gy);
        let (mut volume_cm3, mut sum) = (0.0, 0.0);
        for (n, (gy, cm3)) in points.iter().enumerate() {
            let low = points[n.saturating_sub(1)].0;
            let high = points[(n + 1).min(points.len() - 1)].0;
            let half = 0.5 * (high - low);
            bins.add(*gy, half * half, f64::from(*cm3));
            volume_cm3 += f64::from(*cm3);
            sum += f64::from(*cm3) * f64::from(*gy);
        }
        Some(Self {
            volume_cm3,
            outside_cm3: 0.0,
            not_a_number_cm3: 0.0,
            outside_mask_cm3: 0.0,
            on_dose_grid: false,
            mean_gy: (sum / volume_cm3).clamp(min_gy, max_gy),
            inside: Histogram::new(min_gy, max_gy, &bins),
            isodoses: None,
            of_contours: Vec::new(),
        })
    }

    fn count(source: &MaskedDose<'_>, control: &JobControl) -> Result<Self, DvhError> {
        // Few samples are held for the second pass, many are read again.
        let planes = source.planes(control, 0.0, |source, plane| match source.is_held() {
            true => source.samples_and_sums(plane),
            false => (HeldSamples::default(), source.sums(plane)),
        })?;
        let mut sums = Sums::default();
        planes.iter().for_each(|(_, plane)| sums.add(plane));
        let [min_gy, max_gy] = Self::range_gy(&sums)?;
        let mut bins = Bins::new(min_gy, max_gy);
        if source.is_held() {
            let groups: Vec<Bins> = planes
                .par_chunks(PLANES_OF_A_GROUP)
                .map(|planes| counted(planes, min_gy, max_gy))
                .collect();
            groups.iter().for_each(|group| bins.merge(group));
        } else {
            let planes = source.planes(control, 0.5, |s, k| s.bins(k, min_gy, max_gy))?;
            planes.iter().for_each(|plane| bins.merge(plane));
        }
        Ok(Self::with(source, &sums, [min_gy, max_gy], &bins))
    }

    /// The least and the greatest dose.
    fn range_gy(sums: &Sums) -> Result<[f64; 2], DvhError> {
        if sums.volume_cm3() <= 0.0 {
            return Err(DvhError::Empty);
        }
        if sums.inside_cm3 <= 0.0 {
            return Err(if sums.not_a_number_cm3 > 0.0 {
                DvhError::NotANumber
            } else {
                DvhError::Outside
            });
        }
        Ok([sums.min_gy, sums.max_gy].map(f64::from))
    }

    fn with(source: &MaskedDose<'_>, sums: &Sums, [min_gy, max_gy]: [f64; 2], bins: &Bins) -> Self {
        Self {
            volume_cm3: sums.volume_cm3(),
            outside_cm3: sums.outside_cm3,
            not_a_number_cm3: sums.not_a_number_cm3,
            outside_mask_cm3: source.outside_mask_cm3(),
            on_dose_grid: source.on_dose_grid(),
            // Rounding must not push the mean of a uniform dose past its own bounds.
            mean_gy: (sums.gy_cm3 / sums.inside_cm3).clamp(min_gy, max_gy),
            inside: Histogram::new(min_gy, max_gy, bins),
            isodoses: None,
            of_contours: Vec::new(),
        }
    }

    /// Adds the isodoses of its dose, which all structures share.
    #[must_use]
    pub fn with_isodoses(self, isodoses: Arc<Isodoses>) -> Self {
        Self {
            isodoses: Some(isodoses),
            ..self
        }
    }

    /// Adds what was remarked on reading the contours of its structure.
    #[must_use]
    pub fn of_structure(self, structure: &Structure) -> Self {
        Self {
            of_contours: structure.reservations().remarks,
            ..self
        }
    }

    /// Volume of the structure inside its image, with or without dose, cm3.
    pub fn volume_cm3(&self) -> f64 {
        self.volume_cm3
    }

    /// Volume of the structure in and outside its image, cm3.
    pub fn whole_cm3(&self) -> f64 {
        self.volume_cm3 + self.outside_mask_cm3
    }

    /// Share of the volume inside the image that lies outside the dose grid, percent.
    pub fn outside_percent(&self) -> f64 {
        100.0 * self.outside_cm3 / self.volume_cm3
    }

    /// Share of the structure's volume where the dose is not a number, percent.
    pub fn not_a_number_percent(&self) -> f64 {
        100.0 * self.not_a_number_cm3 / self.volume_cm3
    }

    /// Volume of the structure where no dose is known, in and outside its image, cm3.
    pub fn without_dose_cm3(&self) -> f64 {
        self.outside_cm3 + self.not_a_number_cm3 + self.outside_mask_cm3
    }

    /// The largest part of the structure without a dose: its share of the whole, percent, and why it has none.
    pub fn without_dose(&self) -> (f64, WithoutDose) {
        let beyond = if self.on_dose_grid {
            WithoutDose::OutsideDoseGrid
        } else {
            WithoutDose::OutsideCt
        };
        let parts = [
            (self.not_a_number_cm3, WithoutDose::NotANumber),
            (self.outside_cm3, WithoutDose::OutsideDoseGrid),
            (self.outside_mask_cm3, beyond),
        ];
        let largest = parts
            .into_iter()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or(parts[0]);
        let alike = parts
            .iter()
            .filter(|part| part.1 == largest.1)
            .map(|part| part.0)
            .sum::<f64>();
        (100.0 * alike / self.whole_cm3(), largest.1)
    }

    pub fn min_gy(&self) -> f64 {
        self.inside.min_gy
    }

    pub fn max_gy(&self) -> f64 {
        self.inside.max_gy
    }

    pub fn mean_gy(&self) -> f64 {
        self.mean_gy
    }

    /// D(v %): the dose that the hottest `percent` of the volume get at least, Gy.
    pub fn dose_at_percent(&self, percent: f64) -> f64 {
        self.inside
            .dose_at_cm3(percent / 100.0 * self.inside.whole_cm3())
    }

    /// D(v cm3): the dose that the hottest `cm3` get at least, Gy; the least dose where the structure is smaller.
    pub fn dose_at_cm3(&self, cm3: f64) -> f64 {
        self.inside.dose_at_cm3(cm3)
    }

    /// V(Gy): share of the volume that gets at least `gy`, percent.
    pub fn percent_at(&self, gy: f64) -> f64 {
        100.0 * self.inside.cm3_at(gy) / self.inside.whole_cm3()
    }

    /// V(Gy): volume that gets at least `gy`, cm3.
    pub fn cm3_at(&self, gy: f64) -> f64 {
        self.inside.cm3_at(gy)
    }

    /// Volume of the whole dose, in and outside the structure, that gets at least `gy`, cm3; `None` below a
    /// quarter of the greatest dose, and for a preview, whose isodoses are not counted.
    pub fn isodose_cm3(&self, gy: f64) -> Option<f64> {
        self.isodoses.as_ref()?.cm3_at(gy)
    }

    /// The mean of the `a`-th powers of the doses, to the power 1/a, Gy; of 0 its limit, the geometric mean. `None` where doses
    /// are below 0.
    pub fn geud_gy(&self, a: f64) -> Option<f64> {
        let (low, high) = (self.inside.min_gy, self.inside.max_gy);
        if low < 0.0 {
            return None;
        }
        // Powers relative to the dose of the greatest weight do not overflow.
        let reference_gy = if a < 0.0 { low } else { high };
        if reference_gy <= 0.0 || (low <= 0.0 && a == 0.0) {
            return Some(0.0);
        }
        let powers = self.inside.bins().map(|(gy, cm3)| {
            let relative = gy / reference_gy;
            let power = if a == 0.0 {
                relative.ln()
            } else {
                relative.powf(a)
            };
            power * cm3
        });
        let sum: f64 = powers.sum();
        let mean = sum / self.inside.whole_cm3();
        let scale = if a == 0.0 {
            mean.exp()
        } else {
            mean.powf(a.recip())
        };
        Some((reference_gy * scale).clamp(low, high))
    }

    /// The cumulative curve for drawing: (Gy, percent of the volume at or above it), from 0 Gy on, ascending
    /// in dose, some hundred points.
    pub fn cumulative(&self) -> Vec<[f64; 2]> {
        let scale = 100.0 / self.inside.whole_cm3();
        let start = (self.inside.min_gy > 0.0).then_some([0.0, 100.0]);
        start
            .into_iter()
            .chain(self.inside.edges(16).map(|[gy, cm3]| [gy, cm3 * scale]))
            .collect()
    }

    /// The differential curve for drawing: (Gy at the middle of a bin, percent of volume per Gy). Empty for a
    /// uniform dose, which has no differential curve.
    pub fn differential(&self) -> Vec<[f64; 2]> {
        let edges: Vec<[f64; 2]> = self.inside.edges(BINS / DIFFERENTIAL_BINS).collect();
        let bins = edges.windows(2).filter(|edges| edges[1][0] > edges[0][0]);
        let scale = 100.0 / self.inside.whole_cm3();
        bins.map(|edges| {
            let [[low, more], [high, less]] = [edges[0], edges[1]];
            [0.5 * (low + high), scale * (more - less) / (high - low)]
        })
        .collect()
    }

    /// Height of the differential curve at a dose, percent of volume per Gy; 0 beyond its ends and of a uniform dose.
    pub fn percent_per_gy_at(&self, gy: f64) -> f64 {
        let width = (self.max_gy() - self.min_gy()) / DIFFERENTIAL_BINS as f64;
        if !(width > 0.0 && (self.min_gy()..=self.max_gy()).contains(&gy)) {
            return 0.0;
        }
        let low = self.min_gy() + width * ((gy - self.min_gy()) / width).floor();
        (self.percent_at(low) - self.percent_at(low + width)) / width
    }

    /// The remarks beside the curve: contours that were not read as they are, shares outside the dose grid and the CT, NaN values, tiny
    /// volumes.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.of_contours.clone();
        let outside = self.outside_percent();
        if outside >= 0.05 {
            remarks.push(format!(
                "{outside:.1} % of the volume lie outside the dose grid and are not counted"
            ));
        }
        let beyond = 100.0 * self.outside_mask_cm3 / self.whole_cm3();
        if beyond >= 0.05 {
            let what = if self.on_dose_grid { "dose grid" } else { "CT" };
            remarks.push(format!(
                "{beyond:.1} % of the contours' volume lie outside the {what} and are not counted"
            ));
        }
        let broken = self.not_a_number_percent();
        if broken > 0.0 {
            remarks.push(format!(
                "the dose is not a number in {broken:.1} % of the volume; it is not counted"
            ));
        }
        if self.volume_cm3 < SMALL_CM3 {
            remarks.push(format!(
                "{:.2} cm3 only: too small for a reliable DVH",
                self.volume_cm3
            ));
        }
        remarks
    }
}

#[cfg(test)]
mod tests;
