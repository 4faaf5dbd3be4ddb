//! Fast trilinear reading of a dose: as `Volume::trilinear`, for millions of positions in a row.

use geometry::{Grid, Volume};
use glam::DVec3;
use std::ops::Range;

/// Trilinear reading of a volume from positions in the volume's own frame.
pub(super) struct Sampler<'a> {
    grid: &'a Grid,
    data: &'a [f32],
    size: [usize; 3],
    per_mm: [f64; 2],
    /// Planes per mm, where they are even.
    planes_per_mm: Option<f64>,
}

impl<'a> Sampler<'a> {
    pub fn new(volume: &'a Volume<f32>) -> Self {
        let grid = volume.grid();
        let [dx, dy] = grid.spacing_xy_mm();
        Self {
            grid,
            data: volume.data(),
            size: grid.size(),
            per_mm: [dx.recip(), dy.recip()],
            planes_per_mm: grid.even_plane_spacing_mm().map(f64::recip),
        }
    }

    /// The value at a position in the grid's own frame (mm from the centre of voxel (0,0,0) along its axes); the
    /// outermost half voxels take the value of the outermost centres. `None` further out.
    pub fn at_local(&self, local_mm: DVec3) -> Option<f32> {
        self.within(local_mm, 0.5)
    }

    /// As [`Self::at_local`], with the outermost values reaching `rim` voxels beyond the outermost centres.
    pub fn within(&self, local_mm: DVec3, rim: f64) -> Option<f32> {
        let z = match self.planes_per_mm {
            Some(per_mm) => local_mm.z * per_mm,
            None => self.grid.voxel_from_patient(self.grid.patient_from_local(local_mm)).z,
        };
        let (x0, x1, tx) = cell(local_mm.x * self.per_mm[0], self.size[0], rim)?;
        let (y0, y1, ty) = cell(local_mm.y * self.per_mm[1], self.size[1], rim)?;
        let (z0, z1, tz) = cell(z, self.size[2], rim)?;
        let row = |y: usize, z: usize| {
            let first = self.grid.index(0, y, z);
            let (a, b) = (self.data[first + x0], self.data[first + x1]);
            mix(f64::from(a), f64::from(b), tx)
        };
        let plane = |z: usize| mix(row(y0, z), row(y1, z), ty);
        Some(mix(plane(z0), plane(z1), tz) as f32)
    }
}

impl Sampler<'_> {
    /// The two voxel columns round a position along the rows (mm in the grid's own frame), and the weight of
    /// the second; `None` more than half a voxel outside.
    pub fn columns_at(&self, x_mm: f64) -> Option<Cell> {
        cell(x_mm * self.per_mm[0], self.size[0], 0.5)
    }

    /// The values of the columns `wanted` along a row of the grid at `y_mm` and `z_mm` in its own frame:
    /// positions between two columns interpolate them. `false` where the row lies outside.
    pub fn row_at(&self, y_mm: f64, z_mm: f64, wanted: Range<usize>, values: &mut Vec<f32>) -> bool {
        let z = match self.planes_per_mm {
            Some(per_mm) => z_mm * per_mm,
            None => {
                let place = DVec3::new(0.0, 0.0, z_mm);
                self.grid.voxel_from_patient(self.grid.patient_from_local(place)).z
            }
        };
        let (Some((y0, y1, ty)), Some((z0, z1, tz))) =
            (cell(y_mm * self.per_mm[1], self.size[1], 0.5), cell(z, self.size[2], 0.5))
        else {
            return false;
        };
        let row = |y: usize, z: usize| {
            let first = self.grid.index(0, y, z);
            &self.data[first + wanted.start..first + wanted.end]
        };
        values.clear();
        let (a, b, c, d) = (row(y0, z0), row(y1, z0), row(y0, z1), row(y1, z1));
        values.extend(a.iter().zip(b).zip(c.iter().zip(d)).map(|((a, b), (c, d))| {
            let [low, high] = [(a, b), (c, d)].map(|(a, b)| mix(f64::from(*a), f64::from(*b), ty));
            mix(low, high, tz) as f32
        }));
        true
    }
}

/// Two neighbouring voxels along an axis, and the weight of the second.
pub(super) type Cell = (usize, usize, f64);

/// The two voxels round a continuous index, and the weight of the second.
fn cell(index: f64, size: usize, rim: f64) -> Option<Cell> {
    let last = (size - 1) as f64;
    // The comparison is negated so that a NaN is outside.
    if !(index >= -rim && index <= last + rim) {
        return None;
    }
    let index = index.clamp(0.0, last);
    let low = index as usize;
    Some((low, (low + 1).min(size - 1), index - low as f64))
}

fn mix(a: f64, b: f64, t: f64) -> f64 {
    // A neighbour of zero weight does not count, even if it is NaN.
    if t == 0.0 { a } else { a + (b - a) * t }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn reads_what_the_volume_reads() {
        let (s, c) = 0.4_f64.sin_cos();
        for planes in [[0.0, 2.0, 4.0, 6.0], [0.0, 1.0, 4.0, 6.5]] {
            let origin = DVec3::new(-5.0, 3.0, 8.0);
            let (row, column) = (DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0));
            let grid = Grid::new(origin, row, column, [1.5, 2.5], [7, 6], &planes).unwrap();
            let data = (0..grid.len()).map(|n| ((n * 7919) % 101) as f32).collect();
            let volume = Volume::new(Arc::new(grid), data);
            let sampler = Sampler::new(&volume);
            let mut inside = 0;
            for n in 0..2000 {
                let n = f64::from(n) + 0.123;
                let place =
                    DVec3::new((n * 0.37) % 12.0 - 1.5, (n * 0.53) % 16.0 - 2.0, (n * 0.29) % 9.0 - 1.0);
                let want = volume.trilinear(volume.grid().patient_from_local(place));
                let got = sampler.at_local(place);
                inside += usize::from(want.is_some());
                match (want, got) {
                    (Some(want), Some(got)) => assert!((want - got).abs() < 1e-3, "{want} {got} at {place}"),
                    (want, got) => assert_eq!(want, got, "at {place}"),
                }
            }
            assert!((500..1900).contains(&inside), "{inside}");
        }
    }
}
