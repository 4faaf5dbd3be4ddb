//! Answer of gamma.

use super::{Checked, Criterion, GammaError, GammaRequest, Layers, Locate};
use crate::cache::Cache;
use case::Receipt;
use geometry::Volume;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// The answer to a [`GammaRequest`].
#[derive(Clone, Debug)]
pub struct GammaResult {
    /// One for each criterion, in order.
    pub maps: Vec<GammaMap>,
    /// Dose of 100 %, Gy.
    pub normalisation_gy: f64,
    /// Reference doses of this and more were analysed, Gy.
    pub threshold_gy: f64,
    /// Whether each plane was searched by itself.
    pub flat: bool,
    pub receipt: Arc<Receipt>,
}

/// Gamma for one criterion.
#[derive(Clone, Debug)]
pub struct GammaMap {
    pub criterion: Criterion,
    /// On the reference's grid; NaN where nothing was evaluated.
    pub gamma: Arc<Volume<f32>>,
    pub counts: Counts,
}

/// Numbers of points by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Points that have a gamma.
    pub analysed: usize,
    /// Points with gamma of at most 1.
    pub passing: usize,
    /// Points over the threshold outside the evaluated dose: no gamma, neither passing nor failing.
    pub outside: usize,
    /// Points of 0 Gy under a local criterion, which is no criterion there: no gamma.
    pub undefined: usize,
}

impl Counts {
    /// Points over the threshold, in the region, of the subset.
    pub fn points(&self) -> usize {
        self.analysed + self.outside + self.undefined
    }

    /// Share of the analysed points that pass, percent.
    pub fn pass_rate_percent(&self) -> f64 {
        100.0 * self.passing as f64 / self.analysed as f64
    }

    /// Points without gamma, neither passing nor failing.
    pub fn unjudged(&self) -> usize {
        self.outside + self.undefined
    }

    /// Share of the points without gamma, percent.
    pub fn unjudged_percent(&self) -> f64 {
        100.0 * self.unjudged() as f64 / self.points().max(1) as f64
    }
}

/// Map value of a point outside the evaluated dose: a NaN, like every voxel without gamma.
pub const OUTSIDE: f32 = f32::from_bits(0x7fc0_0001);
/// Map value of a point of 0 Gy under a local criterion: another NaN.
pub const UNDEFINED: f32 = f32::from_bits(0x7fc0_0002);

/// A gamma this little over 1 is 1: doses are 32-bit numbers, and a difference of exactly the criterion must not fail by
/// their rounding.
pub const ROUNDING: f32 = 1e-5;

/// A squared distance as the gamma that is given out.
#[inline]
pub fn settled(squared: f32) -> f32 {
    let gamma = squared.sqrt();
    if gamma > 1.0 && gamma <= 1.0 + ROUNDING {
        1.0
    } else {
        gamma
    }
}

/// A call of a card, for its receipt.
pub struct CardCall {
    pub device: String,
    pub start: Instant,
    /// By the card's own clock.
    pub phases_ms: Vec<(String, f64)>,
}

impl GammaResult {
    /// The answer of a card that has chosen the points itself. What the phases leave of the call is its phase `host`.
    ///
    /// # Errors
    /// [`GammaError::NothingToAnalyse`] without a point, and the errors of [`Self::new`].
    pub(crate) fn by_card(
        request: &GammaRequest,
        checked: Checked,
        layers: &Layers,
        maps: Vec<GammaMap>,
        call: CardCall,
        cache: &Cache,
    ) -> Result<Self, GammaError> {
        let points = maps
            .first()
            .map(|map| map.counts.points())
            .unwrap_or_default();
        if points == 0 {
            let threshold_gy = checked.threshold_gy;
            return Err(GammaError::NothingToAnalyse {
                threshold_gy,
                in_region: false,
            });
        }
        let digest = request.digest(cache);
        let CardCall {
            device,
            start,
            mut phases_ms,
        } = call;
        let on_card: f64 = phases_ms.iter().map(|(_, ms)| ms).sum();
        phases_ms.push((
            "host".to_owned(),
            (start.elapsed().as_secs_f64() * 1e3 - on_card).max(0.0),
        ));
        let job = "gamma".to_owned();
        let receipt = Receipt {
            job,
            digest,
            device,
            phases_ms,
            warnings: Vec::new(),
            work: points as u64,
        };
        Self::new(checked, layers, maps, receipt)
    }

    /// # Errors
    /// [`GammaError::NoOverlap`] where not one point lies in the evaluated dose.
    pub(crate) fn new(
        checked: Checked,
        layers: &Layers,
        maps: Vec<GammaMap>,
        receipt: Receipt,
    ) -> Result<Self, GammaError> {
        if let Some(Counts {
            analysed: 0,
            undefined: 0,
            outside,
            ..
        }) = maps.first().map(|map| map.counts)
        {
            return Err(GammaError::NoOverlap { points: outside });
        }
        Ok(Self {
            maps,
            normalisation_gy: checked.normalisation_gy,
            threshold_gy: checked.threshold_gy,
            flat: layers.flat(),
            receipt: Arc::new(receipt),
        })
    }
}

impl Counts {
    /// Counts of a map's values.
    fn count(values: &[f32]) -> Self {
        values.par_chunks(1 << 16).map(Self::of_part).sum()
    }

    /// Counts of a part of a map that has less than 4 Gi values.
    pub(crate) fn of_part(values: &[f32]) -> Self {
        // In 32 bits sums never overflow: the compiler does several at once.
        let mut sums = [0_u32; 4];
        for value in values {
            let bits = value.to_bits();
            let is = [
                !value.is_nan(),
                *value <= 1.0,
                bits == OUTSIDE.to_bits(),
                bits == UNDEFINED.to_bits(),
            ];
            for (sum, is) in sums.iter_mut().zip(is) {
                *sum = sum.wrapping_add(u32::from(is));
            }
        }
        let [analysed, passing, outside, undefined] = sums.map(|sum| sum as usize);
        Self {
            analysed,
            passing,
            outside,
            undefined,
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |a, b| Self {
            analysed: a.analysed + b.analysed,
            passing: a.passing + b.passing,
            outside: a.outside + b.outside,
            undefined: a.undefined + b.undefined,
        })
    }
}

impl GammaMap {
    pub(crate) fn new(criterion: Criterion, gamma: Volume<f32>) -> Self {
        let counts = Counts::count(gamma.data());
        Self::counted(criterion, gamma, counts)
    }

    /// A map whose voxels have been counted.
    pub(crate) fn counted(criterion: Criterion, gamma: Volume<f32>, counts: Counts) -> Self {
        Self {
            criterion,
            gamma: Arc::new(gamma),
            counts,
        }
    }

    /// Gamma with the sign of evaluated minus reference at the point, for display: failing cold spots and hot spots apart.
    pub fn signed(&self, request: &GammaRequest) -> Volume<f32> {
        let grid = self.gamma.grid();
        let [nx, ny, _] = grid.size();
        let mut values = self.gamma.data().to_vec();
        // A request that has an answer has layers.
        let Ok(layers) = Layers::new(request) else {
            return Volume::new(Arc::clone(grid), values);
        };
        let locate = Locate::new(grid, &layers);
        values
            .par_chunks_mut(nx)
            .enumerate()
            .for_each(|(row, values)| {
                let (j, k) = (row % ny, row / ny);
                for (i, value) in values
                    .iter_mut()
                    .enumerate()
                    .filter(|(_, value)| !value.is_nan())
                {
                    let reference = request.reference.at(i, j, k);
                    let evaluated = locate.at([i, j, k]).map(|place| layers.dose_at(&place));
                    if evaluated.is_some_and(|evaluated| evaluated < reference) {
                        *value = -*value;
                    }
                }
            });
        Volume::new(Arc::clone(grid), values)
    }
}
