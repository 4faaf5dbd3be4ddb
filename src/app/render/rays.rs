//! What `kernels/rays.wgsl` is told: a source, a sheet of points its rays go through, and the box they meet.

use crate::geometry::{Grid, Mask};
use bytemuck::{Pod, Zeroable};
use glam::DVec3;

/// Rays from a source through the texels of a sheet; patient LPS, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sheet {
    pub source_mm: DVec3,
    /// Centre of texel (0, 0), and from a texel to its right and lower neighbours.
    pub first_mm: DVec3,
    pub right_mm: DVec3,
    pub down_mm: DVec3,
    /// Columns, rows.
    pub texels: [u32; 2],
    pub step_mm: f64,
}

/// `struct Cast` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct CastUniform {
    source: [f32; 4],
    corner: [f32; 4],
    right: [f32; 4],
    down: [f32; 4],
    low: [f32; 4],
    high: [f32; 4],
    size: [f32; 4],
    scale: [f32; 4],
}

/// The box of voxels that is cast through, in a grid's coordinates (voxel, voxel, mm) counted from `shift`.
struct Part {
    shift: DVec3,
    low: [f64; 3],
    high: [f64; 3],
    size: [usize; 3],
    even_mm: Option<f64>,
}

impl CastUniform {
    /// Through all voxels of a grid.
    pub(super) fn of_grid(grid: &Grid, sheet: &Sheet) -> Self {
        let edges_mm = grid.edges_mm(2);
        let [nx, ny, nz] = grid.size();
        let part = Part {
            shift: DVec3::ZERO,
            low: [-0.5, -0.5, edges_mm[0]],
            high: [nx as f64 - 0.5, ny as f64 - 0.5, edges_mm[nz]],
            size: [nx, ny, nz],
            even_mm: grid.even_plane_spacing_mm(),
        };
        Self::new(grid, &part, sheet)
    }

    /// Through the box of a mask, one voxel beyond its outermost centres.
    pub(super) fn of_mask(mask: &Mask, sheet: &Sheet) -> Self {
        let grid = mask.grid();
        let [i, j, k] = mask.offset();
        let [nx, ny, nz] = mask.size();
        let planes = &grid.planes_mm()[k..k + nz];
        let even_mm = if nz == 1 { Some(grid.plane_thickness_mm(k)) } else { grid.even_plane_spacing_mm() };
        let below = even_mm.unwrap_or_else(|| planes[1] - planes[0]);
        let above = even_mm.unwrap_or_else(|| planes[nz - 1] - planes[nz - 2]);
        let part = Part {
            shift: DVec3::new(i as f64, j as f64, planes[0]),
            low: [-1.0, -1.0, -below],
            high: [nx as f64, ny as f64, planes[nz - 1] - planes[0] + above],
            size: [nx, ny, nz],
            even_mm,
        };
        Self::new(grid, &part, sheet)
    }

    fn new(grid: &Grid, part: &Part, sheet: &Sheet) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        let scaled = |v: DVec3| DVec3::new(v.x / dx, v.y / dy, v.z);
        let point = |p: DVec3| scaled(grid.local_from_patient(p)) - part.shift;
        let direction = |d: DVec3| scaled(grid.local_direction(d));
        let four = |v: DVec3, w: f64| [v.x as f32, v.y as f32, v.z as f32, w as f32];
        let [nx, ny, nz] = part.size.map(|n| n as f32);
        Self {
            source: four(point(sheet.source_mm), 0.0),
            corner: four(point(sheet.first_mm), 0.0),
            right: four(direction(sheet.right_mm), 0.0),
            down: four(direction(sheet.down_mm), 0.0),
            low: four(DVec3::from(part.low), 0.0),
            high: four(DVec3::from(part.high), 0.0),
            size: [nx, ny, nz, part.even_mm.unwrap_or(0.0) as f32],
            scale: [dx as f32, dy as f32, 1.0, sheet.step_mm as f32],
        }
    }
}
