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

    pub fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// The values of the grid's voxels.
    pub fn data(&self) -> &'a [f32] {
        self.data
    }

    /// The value at a position in the grid's own frame (mm from the centre of voxel (0,0,0) along its axes); the
    /// outermost half voxels take the value of the outermost centres. `None` further out.
    pub fn at_local(&self, local_mm: DVec3) -> Option<f32> {
        self.within(local_mm, 0.5)
    }

    /// As [`Self::at_local`], with the outermost values reaching `rim` voxels beyond the outermost centres.
    pub fn within(&self, local_mm: DVec3, rim: f64) -> Option<f32> {
        let ([a, b, c, d], [tx, ty, tz], _) = self.corners(local_mm, rim)?;
        let row = |[a, b]: [f32; 2]| mix(f64::from(a), f64::from(b), tx);
        Some(mix(mix(row(a), row(b), ty), mix(row(c), row(d), ty), tz) as f32)
    }

    /// As [`Self::at_local`], with the gradient there, per mm along the grid's axes; it is no number beside a value
    /// that is none.
    pub fn with_gradient(&self, local_mm: DVec3) -> Option<(f32, DVec3)> {
        let ([a, b, c, d], [tx, ty, tz], z0) = self.corners(local_mm, 0.5)?;
        // Value and slope along the row.
        let row = |[a, b]: [f32; 2]| {
            let [a, b] = [a, b].map(f64::from);
            [mix(a, b, tx), b - a]
        };
        let plane = |a: [f32; 2], b: [f32; 2]| {
            let ([a, slope_a], [b, slope_b]) = (row(a), row(b));
            [mix(a, b, ty), mix(slope_a, slope_b, ty), b - a]
        };
        let (near, far) = (plane(a, b), plane(c, d));
        let [value, along_x, along_y] = std::array::from_fn(|n| mix(near[n], far[n], tz));
        let along_z = (far[0] - near[0]) * self.per_mm_after(z0);
        Some((
            value as f32,
            DVec3::new(along_x * self.per_mm[0], along_y * self.per_mm[1], along_z),
        ))
    }

    /// The four pairs of neighbours along x round a position, the second and fourth further along y, the last two along z; the
    /// weights of the neighbours further on, and the first plane.
    #[inline]
    fn corners(&self, local_mm: DVec3, rim: f64) -> Option<([[f32; 2]; 4], [f64; 3], usize)> {
        let index = [
            local_mm.x * self.per_mm[0],
            local_mm.y * self.per_mm[1],
            self.plane_at(local_mm.z),
        ];
        let [nx, ny, nz] = self.size;
        let low = index.map(|index| index as i32);
        // Inside, where most positions are, neighbours lie at known steps.
        let inside = index.iter().all(|index| *index >= 0.0)
            && [nx, ny, nz]
                .iter()
                .zip(low)
                .all(|(n, low)| low < *n as i32 - 1);
        if inside {
            let [x, y, z] = low.map(|low| low as usize);
            let pairs = |first: usize| {
                let rows = self.data.get(first..first + nx + 2)?;
                Some([[rows[0], rows[1]], [rows[nx], rows[nx + 1]]])
            };
            let first = (z * ny + y) * nx + x;
            let ([a, b], [c, d]) = (pairs(first)?, pairs(first + nx * ny)?);
            return Some((
                [a, b, c, d],
                std::array::from_fn(|n| index[n] - f64::from(low[n])),
                z,
            ));
        }
        let [(x0, x1, tx), (y0, y1, ty), (z0, z1, tz)] = [
            cell(index[0], nx, rim)?,
            cell(index[1], ny, rim)?,
            cell(index[2], nz, rim)?,
        ];
        let pair = |y: usize, z: usize| {
            let first = self.grid.index(0, y, z);
            [self.data[first + x0], self.data[first + x1]]
        };
        Some((
            [pair(y0, z0), pair(y1, z0), pair(y0, z1), pair(y1, z1)],
            [tx, ty, tz],
            z0,
        ))
    }

    /// The plane at a position along the grid's normal, in parts.
    fn plane_at(&self, z_mm: f64) -> f64 {
        match self.planes_per_mm {
            Some(per_mm) => z_mm * per_mm,
            None => {
                let place = DVec3::new(0.0, 0.0, z_mm);
                self.grid
                    .voxel_from_patient(self.grid.patient_from_local(place))
                    .z
            }
        }
    }

    /// One over the distance of a plane from the next, 1/mm; 0 after the last.
    fn per_mm_after(&self, z: usize) -> f64 {
        self.planes_per_mm
            .unwrap_or_else(|| self.per_mm_between(z, (z + 1).min(self.size[2] - 1)))
    }

    /// One over the distance of two planes, 1/mm.
    fn per_mm_between(&self, z0: usize, z1: usize) -> f64 {
        let planes_mm = self.grid.planes_mm();
        if z1 > z0 {
            (planes_mm[z1] - planes_mm[z0]).recip()
        } else {
            0.0
        }
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
    pub fn row_at(
        &self,
        y_mm: f64,
        z_mm: f64,
        wanted: Range<usize>,
        values: &mut Vec<f32>,
    ) -> bool {
        let Some((rows, y, z)) = self.rows_round(y_mm, z_mm, wanted) else {
            return false;
        };
        values_between(rows, [y.2, z.2], values);
        true
    }

    /// As [`Self::row_at`], with how much the value changes within `half_mm` along x, y and z between each column and the next: the
    /// sum of squares, 0 beside a value that is no number.
    pub fn row_with_changes_at(
        &self,
        [y_mm, z_mm]: [f64; 2],
        half_mm: [f64; 3],
        wanted: Range<usize>,
        values: &mut Vec<f32>,
        changes_sq: &mut Vec<f32>,
    ) -> bool {
        let Some((rows, (_, _, ty), (z0, z1, tz))) = self.rows_round(y_mm, z_mm, wanted) else {
            return false;
        };
        values_between(rows, [ty, tz], values);
        let [a, b, c, d] = rows;
        let [ty, tz] = [ty, tz].map(|t| t as f32);
        let [half_x, half_y] = [0, 1].map(|axis| (half_mm[axis] * self.per_mm[axis]) as f32);
        let half_z = (half_mm[2] * self.per_mm_between(z0, z1)) as f32;
        changes_sq.clear();
        changes_sq.extend(
            a.iter()
                .zip(b)
                .zip(c.iter().zip(d))
                .map(|((a, b), (c, d))| {
                    let [near, far] = [b - a, d - c];
                    let along_y = half_y * (near + (far - near) * tz);
                    let along_z = half_z * (c - a + (far - near) * ty);
                    number_or_0(along_y * along_y + along_z * along_z)
                }),
        );
        for (change_sq, pair) in changes_sq.iter_mut().zip(values.windows(2)) {
            let along_x = half_x * (pair[1] - pair[0]);
            *change_sq += number_or_0(along_x * along_x);
        }
        true
    }

    /// As [`Self::row_with_changes_at`], of the row of voxels whose centres are nearest, and each change that between a voxel's
    /// neighbours on both sides: at a peak there is none.
    pub fn voxels_at<const WIDE: bool>(
        &self,
        [y_mm, z_mm]: [f64; 2],
        half_mm: [f64; 3],
        wanted: Range<usize>,
        values: &mut Vec<f32>,
        changes_sq: &mut Vec<f32>,
    ) -> bool {
        let Some((_, y, z)) = self.rows_round(y_mm, z_mm, wanted.clone()) else {
            return false;
        };
        let [y, z] = [y, z].map(|(first, second, t)| if t < 0.5 { first } else { second });
        let [(y0, y1), (z0, z1)] = [neighbours(y, self.size[1]), neighbours(z, self.size[2])];
        let half_x = (half_mm[0] * self.per_mm[0]) as f32 / 2.0;
        let half_y = (half_mm[1] * self.per_mm[1]) as f32 / (y1 - y0).max(1) as f32;
        let half_z = (half_mm[2] * self.per_mm_between(z0, z1)) as f32;
        let centre = self.row(y, z, &wanted);
        values.clear();
        values.extend_from_slice(centre);
        if !WIDE {
            return true;
        }
        changes_sq.clear();
        let adjacent = (self
            .row(y0, z, &wanted)
            .iter()
            .zip(self.row(y1, z, &wanted)))
        .zip(
            self.row(y, z0, &wanted)
                .iter()
                .zip(self.row(y, z1, &wanted)),
        );
        changes_sq.extend(adjacent.map(|((a, b), (c, d))| {
            let [along_y, along_z] = [(b - a) * half_y, (d - c) * half_z];
            number_or_0(along_y * along_y + along_z * along_z)
        }));
        if let ([first, inner @ .., last], [a, b, ..], [.., c, d]) =
            (&mut changes_sq[..], centre, centre)
        {
            add_square(first, (b - a) * 2.0 * half_x);
            add_square(last, (d - c) * 2.0 * half_x);
            inner
                .iter_mut()
                .zip(centre.windows(3))
                .for_each(|(sq, centre)| add_square(sq, (centre[2] - centre[0]) * half_x));
        }
        true
    }

    /// The four rows of voxels round a position across them, and how they are weighed along y and z; `None` outside.
    fn rows_round(
        &self,
        y_mm: f64,
        z_mm: f64,
        wanted: Range<usize>,
    ) -> Option<([&[f32]; 4], Cell, Cell)> {
        let y = cell(y_mm * self.per_mm[1], self.size[1], 0.5)?;
        let z = cell(self.plane_at(z_mm), self.size[2], 0.5)?;
        let rows =
            [(y.0, z.0), (y.1, z.0), (y.0, z.1), (y.1, z.1)].map(|(y, z)| self.row(y, z, &wanted));
        Some((rows, y, z))
    }

    fn row(&self, y: usize, z: usize, columns: &Range<usize>) -> &[f32] {
        let first = self.grid.index(0, y, z);
        &self.data[first + columns.start..first + columns.end]
    }
}

/// The voxels before and after one, within the grid.
fn neighbours(index: usize, size: usize) -> (usize, usize) {
    (index.saturating_sub(1), (index + 1).min(size - 1))
}

#[inline]
fn add_square(change_sq: &mut f32, change: f32) {
    *change_sq += number_or_0(change * change);
}

/// The values between four rows, two along y on each of two planes, by the weights of the second row and plane.
fn values_between([a, b, c, d]: [&[f32]; 4], [ty, tz]: [f64; 2], values: &mut Vec<f32>) {
    values.clear();
    let mixed = |a: &f32, b: &f32, t: f64| mix(f64::from(*a), f64::from(*b), t);
    if ty == 0.0 || tz == 0.0 {
        return values.extend(
            a.iter()
                .zip(b)
                .zip(c.iter().zip(d))
                .map(|((a, b), (c, d))| mix(mixed(a, b, ty), mixed(c, d, ty), tz) as f32),
        );
    }
    let [ty, tz] = [ty, tz].map(|t| t as f32);
    values.extend(
        a.iter()
            .zip(b)
            .zip(c.iter().zip(d))
            .map(|((a, b), (c, d))| {
                let (low, high) = (a + (b - a) * ty, c + (d - c) * ty);
                low + (high - low) * tz
            }),
    );
}

/// A change beside a value that is no number is not known.
fn number_or_0(change: f32) -> f32 {
    if change < f32::INFINITY { change } else { 0.0 }
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
                let place = DVec3::new(
                    (n * 0.37) % 12.0 - 1.5,
                    (n * 0.53) % 16.0 - 2.0,
                    (n * 0.29) % 9.0 - 1.0,
                );
                let want = volume.trilinear(volume.grid().patient_from_local(place));
                let got = sampler.at_local(place);
                inside += usize::from(want.is_some());
                match (want, got) {
                    (Some(want), Some(got)) => {
                        assert!((want - got).abs() < 1e-3, "{want} {got} at {place}")
                    }
                    (want, got) => assert_eq!(want, got, "at {place}"),
                }
            }
            assert!((500..1900).contains(&inside), "{inside}");
        }
    }
}
