//! A plane through the patient as a view shows it, and a grid as seen from there.

use crate::geometry::Grid;
use bytemuck::{Pod, Zeroable};
use glam::DVec3;

/// The plane of a view in patient space (LPS, mm): where its top left corner is and what one pixel is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneFrame {
    pub top_left_mm: DVec3,
    /// One pixel to the right, mm.
    pub right_mm: DVec3,
    /// One pixel down, mm.
    pub down_mm: DVec3,
    /// Width and height, pixels.
    pub size_px: [f32; 2],
}

/// `struct Grid` of `kernels/grid.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct GridUniform {
    origin: [f32; 4],
    right: [f32; 4],
    down: [f32; 4],
    size: [f32; 4],
    faces: [f32; 4],
}

impl GridUniform {
    /// The grid as seen from the plane. Differences are taken in f64, so that a large zoom far from the origin
    /// stays exact.
    pub(super) fn new(grid: &Grid, frame: &PlaneFrame) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        let scaled = |v: DVec3| [(v.x / dx) as f32, (v.y / dy) as f32, v.z as f32, 0.0];
        let [nx, ny, nz] = grid.size();
        let edges = grid.edges_mm(2);
        Self {
            origin: scaled(grid.local_from_patient(frame.top_left_mm)),
            right: scaled(grid.local_direction(frame.right_mm)),
            down: scaled(grid.local_direction(frame.down_mm)),
            size: [nx as f32, ny as f32, nz as f32, grid.even_plane_spacing_mm().unwrap_or(0.0) as f32],
            faces: [edges[0] as f32, edges[nz] as f32, 0.0, 0.0],
        }
    }
}
