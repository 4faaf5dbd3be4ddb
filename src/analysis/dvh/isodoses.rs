//! Volumes of the isodoses of a whole dose: they show how much dose lies outside a structure.

use super::super::sampler::{Cell, Sampler};
use super::histogram::{Bins, Histogram};
use super::row::between;
use engine::{Cancelled, JobControl};
use geometry::{Volume, middle_of_part};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Isodoses are counted from this share of the greatest dose on: no prescription is lower, and most voxels
/// are.
const LEAST_SHARE: f32 = 0.25;

/// Voxels above get several samples each, until there are about this many: an isodose may be a few voxels.
const ENOUGH_SAMPLES: usize = 60_000;

/// Most samples along each axis of a voxel.
const MOST_PER_AXIS: usize = 8;

/// Blocks of planes that are counted in parallel and added in order: the result is equal for any number of
/// threads.
const BLOCKS: usize = 64;

/// Voxels that are tested together: most are all low.
const FEW: usize = 64;

/// The cumulative distribution of a dose over all its voxels.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Isodoses {
    /// `None` of a dose that is nowhere above 0 Gy.
    histogram: Option<Histogram>,
}

impl Isodoses {
    /// Counts a dose in Gy.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn count(dose_gy: &Volume<f32>, control: &JobControl) -> Result<Self, Cancelled> {
        control.check()?;
        let isodoses = Self {
            histogram: histogram(dose_gy),
        };
        control.check()?;
        Ok(isodoses)
    }

    /// Volume that gets at least `gy`, cm3; `None` for doses too low to be counted.
    pub fn cm3_at(&self, gy: f64) -> Option<f64> {
        let Some(histogram) = &self.histogram else {
            return Some(0.0).filter(|_| gy > 0.0);
        };
        (gy >= histogram.min_gy).then(|| histogram.cm3_at(gy))
    }
}

/// Isodoses that DVHs share, written with each of them.
pub mod shared {
    use super::Isodoses;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(
        isodoses: &Option<Arc<Isodoses>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        isodoses.as_deref().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Arc<Isodoses>>, D::Error> {
        Option::<Isodoses>::deserialize(from).map(|isodoses| isodoses.map(Arc::new))
    }
}

fn histogram(dose_gy: &Volume<f32>) -> Option<Histogram> {
    let grid = dose_gy.grid();
    let [nx, ny, nz] = grid.size();
    let block = nz.div_ceil(BLOCKS) * nx * ny;
    let max_gy = dose_gy.greatest();
    if max_gy <= 0.0 {
        return None;
    }
    let least_gy = LEAST_SHARE * max_gy;
    let counts = |gy: f32| gy >= least_gy && gy < f32::INFINITY;
    // The voxels from the least dose on, block by block.
    let voxels = |(n, gy): (usize, &[f32])| {
        let mut high: Vec<usize> = Vec::new();
        for (first, few) in (n * block..).step_by(FEW).zip(gy.chunks(FEW)) {
            if few.iter().fold(false, |any, gy| any | (*gy >= least_gy)) {
                high.extend(
                    (first..)
                        .zip(few)
                        .filter(|(_, gy)| counts(**gy))
                        .map(|(voxel, _)| voxel),
                );
            }
        }
        high
    };
    let blocks: Vec<Vec<usize>> = dose_gy
        .data()
        .par_chunks(block)
        .enumerate()
        .map(voxels)
        .collect();
    let count: usize = blocks.iter().map(Vec::len).sum();
    let per_axis = (1..MOST_PER_AXIS)
        .find(|s| count * s.pow(3) >= ENOUGH_SAMPLES)
        .unwrap_or(MOST_PER_AXIS);
    let samples = per_axis.pow(3);
    let (sampler, edges_z_mm, [dx, dy]) = (
        Sampler::new(dose_gy),
        grid.edges_mm(2),
        grid.spacing_xy_mm(),
    );
    let position = |n: usize| (n / per_axis) as f64 - 0.5 + middle_of_part(n % per_axis, per_axis);
    let columns: Vec<Option<Cell>> = (0..nx * per_axis)
        .map(|n| sampler.columns_at(position(n) * dx))
        .collect();
    let (low, high) = (f64::from(least_gy), f64::from(max_gy));
    let fill = |voxels: &Vec<usize>| {
        let (mut bins, mut values) = (Bins::new(low, high), Vec::new());
        for row in voxels.chunk_by(|a, b| a / nx == b / nx) {
            let (j, k) = (row[0] / nx % ny, row[0] / (nx * ny));
            let cm3 = grid.voxel_cm3(k) / samples as f64;
            if per_axis == 1 {
                row.iter()
                    .for_each(|n| bins.add(dose_gy.data()[*n], 0.0, cm3));
                continue;
            }
            let (first, last) = (row[0] % nx, row[row.len() - 1] % nx);
            let used = first.saturating_sub(1)..(last + 2).min(nx);
            let (bottom, top) = (edges_z_mm[k], edges_z_mm[k + 1]);
            for sub in 0..per_axis * per_axis {
                let y_mm = position(j * per_axis + sub % per_axis) * dy;
                let z_mm = bottom + (top - bottom) * middle_of_part(sub / per_axis, per_axis);
                if !sampler.row_at(y_mm, z_mm, used.clone(), &mut values) {
                    continue;
                }
                let cells = row
                    .iter()
                    .flat_map(|n| &columns[n % nx * per_axis..][..per_axis])
                    .flatten();
                for &(column, _, share) in cells {
                    let gy = between(&values, column - used.start, share as f32);
                    if counts(gy) {
                        bins.add(gy, 0.0, cm3);
                    }
                }
            }
        }
        bins
    };
    let mut bins = Bins::new(low, high);
    blocks
        .par_iter()
        .map(fill)
        .collect::<Vec<_>>()
        .iter()
        .for_each(|block| bins.merge(block));
    Some(Histogram::new(low, high, &bins))
}
