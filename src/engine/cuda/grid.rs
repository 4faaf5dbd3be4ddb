//! A grid as `kernels/walk.cuh` walks it.

use super::device::int;
use crate::drr::rays::Image;
use bytemuck::{Pod, Zeroable};
use geometry::Grid;
use glam::DVec3;
use std::ops::Range;

/// `struct Exact` of `kernels/walk.cuh`: a number as the sum of two, the second within the rounding of the first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct Exact {
    hi: f32,
    lo: f32,
}

impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        let hi = value as f32;
        Self {
            hi,
            lo: (value - f64::from(hi)) as f32,
        }
    }
}

/// `struct WalkGrid` of `kernels/walk.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct WalkGrid {
    box_low: [i32; 3],
    box_high: [i32; 3],
    stride_y: i32,
    stride_z: i32,
}

/// A grid seen by the kernels, x and y exchanged where `swapped`: positions are in voxels from the low edge of voxel 0
/// along x and y, in mm from the middle of the grid along z.
pub(crate) struct Frame<'a> {
    grid: &'a Grid,
    middle_z_mm: f64,
    pub swapped: bool,
}

impl<'a> Frame<'a> {
    pub fn new(grid: &'a Grid, swapped: bool) -> Self {
        Self {
            grid,
            middle_z_mm: grid.local_from_patient(grid.middle_mm()).z,
            swapped,
        }
    }

    pub fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// A position of the patient.
    pub fn position(&self, patient_mm: DVec3) -> [Exact; 3] {
        let [dx, dy] = self.grid.spacing_xy_mm();
        let local = self.grid.local_from_patient(patient_mm);
        self.turned([
            local.x / dx + 0.5,
            local.y / dy + 0.5,
            local.z - self.middle_z_mm,
        ])
    }

    /// A direction or step of the patient.
    pub fn direction(&self, patient_mm: DVec3) -> [Exact; 3] {
        let [dx, dy] = self.grid.spacing_xy_mm();
        let local = self.grid.local_direction(patient_mm);
        self.turned([local.x / dx, local.y / dy, local.z])
    }

    /// A source and image of the grid's frame, in f64; not exchanged.
    pub fn image(&self, image: &Image) -> Image {
        let [dx, dy] = self.grid.spacing_xy_mm();
        let scale = DVec3::new(dx.recip(), dy.recip(), 1.0);
        let shift = DVec3::new(0.5, 0.5, -self.middle_z_mm);
        Image {
            source: image.source * scale + shift,
            origin: image.origin * scale + shift,
            column_step: image.column_step * scale,
            row_step: image.row_step * scale,
        }
    }

    /// mm to a unit along x, y, z; not exchanged.
    pub fn mm(&self) -> [f64; 3] {
        let [dx, dy] = self.grid.spacing_xy_mm();
        [dx, dy, 1.0]
    }

    fn turned(&self, [x, y, z]: [f64; 3]) -> [Exact; 3] {
        if self.swapped { [y, x, z] } else { [x, y, z] }.map(Exact::from)
    }

    /// Voxels along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        let [nx, ny, nz] = self.grid.size();
        if self.swapped {
            [ny, nx, nz]
        } else {
            [nx, ny, nz]
        }
    }

    /// Along x and y.
    pub fn spacing_mm(&self) -> [f32; 2] {
        let [dx, dy] = self.grid.spacing_xy_mm().map(|d| d as f32);
        if self.swapped { [dy, dx] } else { [dx, dy] }
    }

    /// The edges of its planes, for `plane_edges_mm`.
    pub fn plane_edges_mm(&self) -> Vec<Exact> {
        self.grid
            .edges_mm(2)
            .iter()
            .map(|z| Exact::from(z - self.middle_z_mm))
            .collect()
    }

    /// For walks through a box of its voxels (ranges along the grid's own x, y, z). Data are `[z][y][x]` with x and y
    /// exchanged where swapped and `rows` rows to a plane, of which the first are the grid's.
    pub fn walk_grid(&self, part: &[Range<usize>; 3], rows: usize) -> WalkGrid {
        let [x, y] = if self.swapped { [1, 0] } else { [0, 1] };
        let row = self.grid.size()[x];
        WalkGrid {
            box_low: [&part[x], &part[y], &part[2]].map(|r| int(r.start)),
            box_high: [&part[x], &part[y], &part[2]].map(|r| int(r.end)),
            stride_y: int(row),
            stride_z: int(row * rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_holds_what_one_float_loses() {
        for value in [1000.1, -0.3, 1e-9, 123_456.789] {
            let Exact { hi, lo } = Exact::from(value);
            let off = (f64::from(hi) + f64::from(lo) - value).abs();
            assert!(off <= value.abs() * 2.0_f64.powi(-47), "{value}: {off}");
        }
    }

    #[test]
    fn centres_of_voxels_are_halves() {
        let planes = [0.0, 2.0, 6.0];
        let grid = Grid::new(
            DVec3::new(3.0, -7.0, 40.0),
            DVec3::Y,
            DVec3::Z,
            [0.7, 1.1],
            [9, 5],
            &planes,
        )
        .unwrap();
        let frame = Frame::new(&grid, true);
        let [x, y, z] = frame
            .position(grid.centre_mm(4, 2, 1))
            .map(|e| f64::from(e.hi) + f64::from(e.lo));
        // Edges along z are -1, 1, 4, 8: the middle is 3.5.
        assert!(
            (x - 2.5).abs() < 1e-12 && (y - 4.5).abs() < 1e-12 && (z + 1.5).abs() < 1e-12,
            "{x} {y} {z}"
        );
        assert_eq!(frame.size(), [5, 9, 3]);
        let walk = frame.walk_grid(&[1..8, 0..5, 0..3], 10);
        assert_eq!((walk.box_low, walk.box_high), ([0, 1, 0], [5, 8, 3]));
        assert_eq!((walk.stride_y, walk.stride_z), (5, 50));
    }
}
