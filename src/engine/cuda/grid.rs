//! A grid as `kernels/walk.cuh` walks it.

use crate::geometry::Grid;
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use std::ops::Range;

/// `struct WalkGrid` of `kernels/walk.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct WalkGrid {
    low_mm: [f32; 2],
    spacing_mm: [f32; 2],
    box_low: [i32; 3],
    box_high: [i32; 3],
    stride_y: i32,
    stride_z: i32,
}

/// A grid seen by the kernels: positions are mm from its middle along its axes, x and y exchanged where `swapped`.
pub(super) struct Frame<'a> {
    grid: &'a Grid,
    middle_mm: DVec3,
    pub swapped: bool,
}

impl<'a> Frame<'a> {
    pub fn new(grid: &'a Grid, swapped: bool) -> Self {
        Self { grid, middle_mm: grid.local_from_patient(grid.middle_mm()), swapped }
    }

    /// A position of the patient.
    pub fn position(&self, patient_mm: DVec3) -> [f32; 3] {
        self.turned(self.grid.local_from_patient(patient_mm) - self.middle_mm)
    }

    /// A direction or step of the patient.
    pub fn direction(&self, patient: DVec3) -> [f32; 3] {
        self.turned(self.grid.local_direction(patient))
    }

    /// Voxels along x, y, z, exchanged where swapped.
    pub fn size(&self) -> [usize; 3] {
        let [nx, ny, nz] = self.grid.size();
        if self.swapped { [ny, nx, nz] } else { [nx, ny, nz] }
    }

    fn turned(&self, v: DVec3) -> [f32; 3] {
        let [x, y, z] = v.as_vec3().to_array();
        if self.swapped { [y, x, z] } else { [x, y, z] }
    }

    /// The edges of its planes, for `plane_edges_mm`.
    pub fn plane_edges_mm(&self) -> Vec<f32> {
        self.grid.edges_mm(2).iter().map(|z| (z - self.middle_mm.z) as f32).collect()
    }

    /// For walks through a box of its voxels (ranges along the grid's own x, y, z). Data are `[z][y][x]` with x and y
    /// exchanged where swapped and `rows` rows to a plane, of which the first are the grid's.
    pub fn walk_grid(&self, part: &[Range<usize>; 3], rows: usize) -> WalkGrid {
        let [x, y] = if self.swapped { [1, 0] } else { [0, 1] };
        let size = self.grid.size();
        let spacing = self.grid.spacing_xy_mm();
        let low = |axis: usize| (-0.5 * spacing[axis] * size[axis] as f64) as f32;
        let int = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        WalkGrid {
            low_mm: [low(x), low(y)],
            spacing_mm: [spacing[x] as f32, spacing[y] as f32],
            box_low: [&part[x], &part[y], &part[2]].map(|r| int(r.start)),
            box_high: [&part[x], &part[y], &part[2]].map(|r| int(r.end)),
            stride_y: int(size[x]),
            stride_z: int(size[x] * rows),
        }
    }
}
