//! Voxels laid out for trilinear samples.

use crate::cache::{ByteSize, Cache};
use crate::drr::rays::Rays;
use geometry::Volume;
use glam::Vec4;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The box of voxels that are not 0, with an empty voxel around where there is one: samples clamped to its edge equal samples of the
/// whole volume.
pub(super) struct Block<'a> {
    pub low: [usize; 3],
    pub size: [usize; 3],
    voxels: Voxels<'a>,
    pairs: Option<Arc<Pairs>>,
}

/// Added to a number from 0 on below 2^22, it leaves the nearest whole one in the low bits.
pub(super) const WHOLE: f32 = 12_582_912.0;
const MARK: u32 = WHOLE.to_bits();

/// The four neighbours of a sample in a row of x and the four in the next, each `(x, z) = (0, 0), (0, 1), (1, 0), (1, 1)`.
pub(super) trait Neighbours {
    /// Index of the neighbours of the lowest one `[x, y, z]`, given as the bits of each with [`WHOLE`] added.
    fn place(&self, low: [u32; 3]) -> u32;
    fn at(&self, place: u32) -> [Vec4; 2];
}

/// As the volume has them.
pub(super) struct Voxels<'a> {
    values: &'a [f32],
    /// To the neighbour along each axis, 0 where there is none.
    strides: [usize; 3],
    rows: [u32; 2],
    reach: usize,
}

/// Each voxel with the one above it, so that four neighbours lie side by side: half the time, twice the memory.
pub(super) struct Pairs {
    values: Vec<f32>,
    size: [usize; 3],
}

impl<'a> Block<'a> {
    /// Voxels of a block that is laid out in pairs at most: 1 GiB of them.
    const MOST: usize = 128 << 20;
    /// Minimum samples for each voxel with which the pairs repay their memory.
    const REPAYS: f64 = 0.5;

    /// `None` where there is nothing but air. `samples` is about their number.
    pub fn new(rays: &'a Rays, samples: f64, cache: &Cache) -> Option<Self> {
        let volume = &rays.attenuation;
        let volume_size = volume.grid().size();
        let part = rays.content.part.as_ref()?;
        let wide = [0, 1, 2]
            .map(|a| part[a].start.saturating_sub(1)..(part[a].end + 1).min(volume_size[a]));
        let (low, size) = (
            [0, 1, 2].map(|a| wide[a].start),
            [0, 1, 2].map(|a| wide[a].len()),
        );
        let count = size.iter().product::<usize>();
        let repays = samples >= count as f64 * Self::REPAYS;
        let fits = count <= Self::MOST && size[0] > 1 && size[1] > 1;
        let pairs = fits
            .then(|| Pairs::cached(volume, &wide, repays, cache))
            .flatten();
        Some(Self {
            low,
            size,
            voxels: Voxels::new(volume, low, size),
            pairs,
        })
    }

    pub fn pairs(&self) -> Option<&Pairs> {
        self.pairs.as_deref()
    }

    pub fn voxels(&self) -> &Voxels<'a> {
        &self.voxels
    }
}

impl<'a> Voxels<'a> {
    fn new(volume: &'a Volume<f32>, low: [usize; 3], size: [usize; 3]) -> Self {
        let [nx, ny, _] = volume.grid().size();
        let stride = |axis: usize, stride: usize| if size[axis] > 1 { stride } else { 0 };
        let strides = [stride(0, 1), stride(1, nx), stride(2, nx * ny)];
        let values = &volume.data()[volume.grid().index(low[0], low[1], low[2])..];
        Self {
            values,
            strides,
            rows: [nx as u32, (nx * ny) as u32],
            reach: strides.iter().sum(),
        }
    }
}

impl Neighbours for Voxels<'_> {
    #[inline(always)]
    fn place(&self, low: [u32; 3]) -> u32 {
        unmarked(low, self.rows)
    }

    #[inline(always)]
    fn at(&self, place: u32) -> [Vec4; 2] {
        let eight = &self.values[place as usize..][..=self.reach];
        let [x, y, z] = self.strides;
        let row = |first: usize| {
            Vec4::new(
                eight[first],
                eight[first + z],
                eight[first + x],
                eight[first + x + z],
            )
        };
        [row(0), row(y)]
    }
}

impl ByteSize for Pairs {
    fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

impl Pairs {
    /// The pairs of a box of a volume: cached, or new where it `repays`.
    fn cached(
        volume: &Volume<f32>,
        part: &[Range<usize>; 3],
        repays: bool,
        cache: &Cache,
    ) -> Option<Arc<Self>> {
        let key = (volume.id(), [0, 1, 2].map(|a| part[a].start));
        match cache.find(&key) {
            None if repays => Some(cache.put(key, Self::new(volume, part))),
            found => found,
        }
    }

    fn new(volume: &Volume<f32>, part: &[Range<usize>; 3]) -> Self {
        let size = [0, 1, 2].map(|a| part[a].len());
        let plane = size[0] * size[1] * 2;
        let mut values = vec![0.0; plane * (size[2] - 1).max(1)];
        values
            .par_chunks_mut(plane)
            .enumerate()
            .for_each(|(k, pairs)| {
                let low = volume.plane(part[2].start + k);
                let high = volume.plane((part[2].start + k + 1).min(part[2].end - 1));
                for (j, pairs) in part[1].clone().zip(pairs.chunks_exact_mut(2 * size[0])) {
                    let row = j * volume.grid().size()[0] + part[0].start;
                    let both = low[row..row + size[0]]
                        .iter()
                        .zip(&high[row..row + size[0]]);
                    pairs
                        .chunks_exact_mut(2)
                        .zip(both)
                        .for_each(|(pair, (low, high))| pair.copy_from_slice(&[*low, *high]));
                }
            });
        Self { values, size }
    }
}

impl Neighbours for Pairs {
    #[inline(always)]
    fn place(&self, low: [u32; 3]) -> u32 {
        let columns = self.size[0] as u32;
        unmarked(low, [columns, columns.wrapping_mul(self.size[1] as u32)]) << 1
    }

    #[inline(always)]
    fn at(&self, place: u32) -> [Vec4; 2] {
        // Two slices of one length: one bounds check serves both.
        let (row, place) = (2 * self.size[0], place as usize);
        let count = self.values.len() - row;
        let (low, high) = (&self.values[..count], &self.values[row..][..count]);
        [
            Vec4::from_slice(&low[place..place + 4]),
            Vec4::from_slice(&high[place..place + 4]),
        ]
    }
}

/// `x + y rows[0] + z rows[1]`, of each the bits with [`WHOLE`] added.
#[inline(always)]
fn unmarked([x, y, z]: [u32; 3], [row, plane]: [u32; 2]) -> u32 {
    let marks = MARK.wrapping_mul(row.wrapping_add(plane).wrapping_add(1));
    let place = z
        .wrapping_mul(plane)
        .wrapping_add(y.wrapping_mul(row))
        .wrapping_add(x);
    place.wrapping_sub(marks)
}
