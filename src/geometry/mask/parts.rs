//! The structure within voxels that it covers in part.

use super::Mask;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Greatest number of parts along a side of a voxel, in the plane.
pub const MOST_PARTS: usize = 8;

/// Divisions that are kept of a mask: previews have one, full results another.
const KEPT: usize = 2;

/// How voxels are divided: into equal parts along x and y, and across each plane of the mask's box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// 1 to [`MOST_PARTS`].
    pub along: usize,
    pub across: Vec<usize>,
}

/// The share of the structure in each part of each partly covered voxel.
#[derive(Debug, PartialEq)]
pub struct PartShares {
    planes: Vec<PlaneShares>,
}

#[derive(Debug, PartialEq)]
struct PlaneShares {
    shares: Vec<f32>,
    /// The place of each row's first share, and the end of the last.
    rows: Vec<usize>,
}

impl PartShares {
    /// The shares of the partly covered voxels of a row of the mask's box, one voxel after the other, `[across][y][x]` in each.
    pub fn row(&self, y: usize, plane: usize) -> &[f32] {
        let PlaneShares { shares, rows } = &self.planes[plane];
        &shares[rows[y]..rows[y + 1]]
    }
}

/// The shares of parts that a mask has computed: its voxels stay, and doses are read in them again and again.
#[derive(Debug, Default)]
pub(super) struct KeptParts(Mutex<Vec<(Division, Arc<PartShares>)>>);

impl Clone for KeptParts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Masks of the same voxels are equal, whatever shares they hold.
impl PartialEq for KeptParts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Mask {
    fn kept_parts(&self) -> MutexGuard<'_, Vec<(Division, Arc<PartShares>)>> {
        self.parts.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The share of the structure in each part of the voxels that it covers in part: the surface in a voxel is approximated by the
    /// plane across the gradient of coverage that cuts off the covered part (Youngs 1982, "Time-dependent multi-material flow with
    /// large fluid distortion"; there for fluids).
    pub fn parts(&self, division: Division) -> Arc<PartShares> {
        if let Some((_, shares)) = self
            .kept_parts()
            .iter()
            .find(|(cached, _)| *cached == division)
        {
            return Arc::clone(shares);
        }
        let planes = (0..self.size[2])
            .into_par_iter()
            .map(|z| self.shares_of_plane(z, &division))
            .collect();
        let shares = Arc::new(PartShares { planes });
        let mut kept = self.kept_parts();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((division, Arc::clone(&shares)));
        shares
    }

    fn shares_of_plane(&self, z: usize, division: &Division) -> PlaneShares {
        let (mut shares, mut rows) = (Vec::new(), vec![0]);
        for y in 0..self.size[1] {
            let (first, coverage) = self.covered_row(y, z);
            for (x, _) in (first..)
                .zip(coverage)
                .filter(|(_, c)| (1..255).contains(*c))
            {
                self.add_shares([x, y, z], [division.along, division.across[z]], &mut shares);
            }
            rows.push(shares.len());
        }
        PlaneShares { shares, rows }
    }

    /// Adds the share of the structure in each part of a voxel.
    fn add_shares(&self, voxel: [usize; 3], [along, across]: [usize; 2], shares: &mut Vec<f32>) {
        let gradient = self.gradient(voxel);
        let count = along * along * across;
        let inside = f32::from(self.value(voxel)) / 255.0 * count as f32;
        let first = shares.len();
        let parts: [f32; MOST_PARTS] =
            std::array::from_fn(|part| middle_of_part(part, along) as f32);
        for z in (0..across).map(|part| middle_of_part(part, across) as f32) {
            for y in &parts[..along] {
                shares.extend(
                    parts[..along]
                        .iter()
                        .map(|x: &f32| gradient[0] * x + gradient[1] * y + gradient[2] * z),
                );
            }
        }
        let mut sorted = shares[first..].to_vec();
        let last = (inside as usize).min(count - 1);
        let (_, &mut surface, _) = sorted.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
        let deeper = sorted.iter().filter(|d| **d > surface).count() as f32;
        let level = sorted.iter().filter(|d| **d == surface).count() as f32;
        // Parts on the surface share the rest.
        let left = (inside - deeper) / level;
        for d in &mut shares[first..] {
            *d = if *d > surface {
                1.0
            } else if *d < surface {
                0.0
            } else {
                left
            };
        }
    }

    /// Towards where the structure covers more, per voxel, as positions of parts are: the voxel's sides cancel.
    fn gradient(&self, voxel: [usize; 3]) -> [f32; 3] {
        let mut gradient = [0.0_f32; 3];
        for around in 0..27 {
            let step = [around % 3, around / 3 % 3, around / 9];
            let place: [usize; 3] = std::array::from_fn(|a| (voxel[a] + step[a]).wrapping_sub(1));
            if (0..3).any(|a| place[a] >= self.size[a]) {
                continue;
            }
            let weight = step
                .map(|s| if s == 1 { 2.0 } else { 1.0 })
                .iter()
                .product::<f32>();
            let covered = weight * f32::from(self.value(place));
            (0..3).for_each(|a| gradient[a] += covered * (step[a] as f32 - 1.0));
        }
        gradient
    }
}

/// The middle of a part of `count` along a side of a voxel, as a share of it.
pub fn middle_of_part(part: usize, count: usize) -> f64 {
    (part as f64 + 0.5) / count as f64
}
