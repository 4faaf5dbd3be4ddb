//! The plane of a view in patient space, and the coordinates of a grid on it.

use bytemuck::{Pod, Zeroable};
use geometry::{Grid, Mask};
use glam::DVec3;

/// The plane of a view in patient space (LPS, mm): position of its top left corner and size of a pixel.
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
    /// The grid in the plane's coordinates. Differences are computed in f64, so that a large zoom far from the origin
    /// stays exact.
    pub(super) fn new(grid: &Grid, frame: &PlaneFrame) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        let [nx, ny, nz] = grid.size();
        let edges = grid.edges_mm(2);
        let [origin, right, down] = [
            grid.local_from_patient(frame.top_left_mm),
            grid.local_direction(frame.right_mm),
            grid.local_direction(frame.down_mm),
        ]
        .map(|v| [(v.x / dx) as f32, (v.y / dy) as f32, v.z as f32, 0.0]);
        Self {
            origin,
            right,
            down,
            size: [
                nx as f32,
                ny as f32,
                nz as f32,
                grid.even_plane_spacing_mm().unwrap_or(0.0) as f32,
            ],
            faces: [edges[0] as f32, edges[nz] as f32, 0.0, 0.0],
        }
    }

    /// A mask's box as a grid, in whose coordinates voxel (0, 0, 0) is the first of the box. Its coverage falls to zero
    /// one voxel beyond the outermost centres.
    pub(super) fn of_mask(mask: &Mask, frame: &PlaneFrame) -> Self {
        let grid = mask.grid();
        let [i, j, k] = mask.offset();
        let [nx, ny, nz] = mask.size();
        let planes = &grid.planes_mm()[k..k + nz];
        // A single plane extends through its slab.
        let even = if nz == 1 {
            Some(grid.plane_thickness_mm(k))
        } else {
            grid.even_plane_spacing_mm()
        };
        let mut u = Self::new(grid, frame);
        u.origin[0] -= i as f32;
        u.origin[1] -= j as f32;
        u.origin[2] -= planes[0] as f32;
        u.size = [nx as f32, ny as f32, nz as f32, even.unwrap_or(0.0) as f32];
        u.faces = [0.0; 4];
        u
    }
}

/// Corners of a mask's box, patient LPS, mm: one voxel beyond the outermost centres, see [`GridUniform::of_mask`].
pub(super) fn corners_mm(mask: &Mask) -> [DVec3; 8] {
    let (grid, offset, size) = (mask.grid(), mask.offset(), mask.size());
    std::array::from_fn(|corner| {
        let voxel = [0, 1, 2].map(|axis| {
            if corner >> axis & 1 == 0 {
                offset[axis] as f64 - 1.0
            } else {
                (offset[axis] + size[axis]) as f64
            }
        });
        grid.patient_from_voxel(DVec3::from_array(voxel))
    })
}

/// The part of the view that a mask's box covers, `[left, top, right, bottom]` in pixels; `None` where the plane
/// does not meet it.
pub(super) fn covered_px(mask: &Mask, frame: &PlaneFrame) -> Option<[f32; 4]> {
    let normal = frame.right_mm.cross(frame.down_mm).normalize_or_zero();
    let (per_right, per_down) = (
        frame.right_mm.length_squared(),
        frame.down_mm.length_squared(),
    );
    let mut low = DVec3::MAX;
    let mut high = DVec3::MIN;
    for corner_mm in corners_mm(mask) {
        let d = corner_mm - frame.top_left_mm;
        let p = DVec3::new(
            d.dot(frame.right_mm) / per_right,
            d.dot(frame.down_mm) / per_down,
            d.dot(normal),
        );
        low = low.min(p);
        high = high.max(p);
    }
    let [width, height] = frame.size_px.map(f64::from);
    let (left, right) = (low.x.max(0.0), high.x.min(width));
    let (top, bottom) = (low.y.max(0.0), high.y.min(height));
    let met = low.z <= 0.0 && high.z >= 0.0 && left < right && top < bottom;
    met.then(|| [left, top, right, bottom].map(|v| v as f32))
}
