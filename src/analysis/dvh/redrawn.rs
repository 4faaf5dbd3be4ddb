//! The DVH of a structure that is being drawn: planes that a stroke leaves alone are not read again.

use super::samples::{MaskedDose, Sampling};
use super::sums::Sums;
use super::{Bins, Dvh, DvhError};
use engine::JobControl;
use geometry::{Mask, Volume, VolumeId};
use std::sync::Arc;

/// The figures of every plane of a large structure in a dose, whose voxels are read once each.
#[derive(Debug)]
pub struct DvhPlanes {
    mask: Arc<Mask>,
    dose: VolumeId,
    sums: Vec<Sums>,
    /// Between the least and the greatest dose; shared by all DVHs with the same planes.
    bins: Vec<Arc<Bins>>,
    range_gy: [f64; 2],
}

impl DvhPlanes {
    /// The number of the plane `k` of the grid, if a mask has the same voxels there.
    fn same(&self, mask: &Mask, k: usize) -> Option<usize> {
        let n = k
            .checked_sub(self.mask.offset()[2])
            .filter(|n| *n < self.sums.len())?;
        mask.has_plane_of(&self.mask, k).then_some(n)
    }
}

impl Dvh {
    /// As [`Dvh::new`], to the bit; planes that are the same as in `former` are taken from there. Returns the planes for
    /// the next change; `None` for a structure of few voxels, which is read as a whole.
    ///
    /// # Errors
    /// [`DvhError`].
    pub fn redrawn(
        mask: &Arc<Mask>,
        dose_gy: &Volume<f32>,
        former: Option<&DvhPlanes>,
        control: &JobControl,
    ) -> Result<(Self, Option<DvhPlanes>), DvhError> {
        let source = MaskedDose::new(mask, dose_gy, Sampling::Full);
        if !source.reads_voxels_once() {
            return Ok((Self::count(&source, control)?, None));
        }
        let former = former.filter(|f| f.dose == dose_gy.id() && f.mask.grid() == mask.grid());
        let first = mask.offset()[2];
        let same = |plane: usize| former.and_then(|f| Some((f, f.same(mask, first + plane)?)));
        let sums = source.planes(control, 0.0, |source, plane| match same(plane) {
            Some((former, n)) => (former.sums[n], Some(n)),
            None => (source.sums(plane), None),
        })?;
        let mut total = Sums::default();
        sums.iter().for_each(|(plane, _)| total.add(plane));
        let range_gy = Self::range_gy(&total)?;
        let same_range = former.filter(|f| f.range_gy == range_gy);
        let planes = source.planes(control, 0.5, |source, plane| {
            match (same_range, sums[plane].1) {
                (Some(former), Some(n)) => Arc::clone(&former.bins[n]),
                _ => Arc::new(source.bins(plane, range_gy[0], range_gy[1])),
            }
        })?;
        let mut bins = Bins::new(range_gy[0], range_gy[1]);
        planes.iter().for_each(|plane| bins.merge(plane));
        let sums = sums.into_iter().map(|(plane, _)| plane).collect();
        let planes = DvhPlanes {
            mask: Arc::clone(mask),
            dose: dose_gy.id(),
            sums,
            bins: planes,
            range_gy,
        };
        Ok((Self::with(&source, &total, range_gy, &bins), Some(planes)))
    }
}
