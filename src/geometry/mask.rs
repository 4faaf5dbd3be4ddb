//! Contours -> voxels: how much of each voxel a structure fills.
//!
//! A contour speaks for the slab half-way to the contour planes on either side, so a structure drawn on every plane of
//! the CT fills those planes' voxels, one drawn on every second plane fills those between, and contours between CT
//! planes or on another grid's planes are shared out by overlap. One plane that was not drawn (the next
//! is over 1.5 times the structure's usual step away, and not on the neighbouring plane of an unevenly spaced grid) is
//! bridged by those contours that overlap one on its other side. Elsewhere, and where the gap is over 2.5 usual steps, it is
//! a real one. There and at its ends a structure ends half a usual step beyond its last contour, and no further than the plane
//! of the grid on which that lies. On one plane contours combine by exclusive-or.

mod parts;

use super::Grid;
use super::raster::{self, Window};
use super::sheets::Sheets;
use super::slabs::{self, Slab};
use glam::DVec3;
use parts::KeptParts;
pub use parts::{Division, MOST_PARTS, PartShares, middle_of_part};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// A contour whose points leave its plane by less than this is flat, mm.
pub(super) const FLAT_MM: f64 = 0.25;

/// Samples along each axis of a voxel where contours lie oblique to the grid.
const OBLIQUE_SAMPLES: usize = 4;

/// A structure that reaches no further beyond the grid lies within it, voxels: outlines along the rim of an image are drawn through
/// the outer edge of its pixels or a little beyond.
pub const RIM_VOXELS: f64 = 0.5;

/// Coverage of a grid's voxels by a structure, stored for the structure's box alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    parent: Arc<Grid>,
    /// First voxel of the box in the parent grid, and the box's voxels along x, y, z.
    offset: [usize; 3],
    size: [usize; 3],
    /// Planes of the box, from the first on. A mask that is redrawn shares the planes that stay as they are.
    planes: Vec<Arc<MaskPlane>>,
    /// Counted once: a list of structures shows the volume in every frame, and DVHs choose their samples by the voxels.
    covered: usize,
    volume_cm3: f64,
    /// Volume of the contours, cut off at the grid.
    outside_cm3: f64,
    parts: KeptParts,
}

/// Coverage of a plane of the grid; outside the window it is 0.
#[derive(Debug, Default, PartialEq)]
struct MaskPlane {
    /// Voxels of the parent grid.
    window: Window,
    /// Rows of x, 255 = the voxel lies wholly inside.
    coverage: Vec<u8>,
    /// The sum of the values, and how many are not 0.
    sum: u64,
    covered: usize,
}

impl MaskPlane {
    fn new(window: Window, fractions: &[f32]) -> Self {
        let coverage: Vec<u8> = fractions
            .iter()
            .map(|fraction| (fraction * 255.0).round() as u8)
            .collect();
        let sum = coverage.iter().map(|&c| u64::from(c)).sum();
        let covered = coverage.iter().filter(|c| **c > 0).count();
        Self {
            window,
            coverage,
            sum,
            covered,
        }
    }

    /// The values of row `j` of the parent grid, and the place of the first.
    fn row(&self, j: usize) -> (usize, &[u8]) {
        let Window { low, size } = self.window;
        match j.checked_sub(low[1]).filter(|y| *y < size[1]) {
            Some(y) => (low[0], &self.coverage[y * size[0]..(y + 1) * size[0]]),
            None => (low[0], &[]),
        }
    }

    /// As [`Self::row`], from its first covered voxel to its last.
    fn covered_row(&self, j: usize) -> (usize, &[u8]) {
        let (first, row) = self.row(j);
        let Some(from) = row.iter().position(|c| *c > 0) else {
            return (0, &[]);
        };
        let last = row.iter().rposition(|c| *c > 0).unwrap_or(from);
        (first + from, &row[from..=last])
    }

    /// Whether it covers the same voxels alike.
    fn covers_as(&self, other: &Self) -> bool {
        if self.window == other.window {
            return self.coverage == other.coverage;
        }
        let [a, b] = [self, other].map(|plane| {
            let first = plane.window.low[1];
            first..first + plane.window.size[1]
        });
        let mut rows = a.start.min(b.start)..a.end.max(b.end);
        rows.all(|j| self.covered_row(j) == other.covered_row(j))
    }
}

/// Why contours make no mask.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MaskError {
    #[error("the structure has no closed contour (three points or more)")]
    NoContours,
    #[error(
        "contour {0} of the structure has a coordinate that is no number; correct it in the planning system"
    )]
    NotFinite(usize),
    #[error("contour {0} of the structure is not flat, or not parallel with the others")]
    NotParallel(usize),
    #[error("the structure lies wholly outside the image")]
    Outside,
    #[error("cancelled")]
    Cancelled,
}

/// Receives the progress of a job (0 to 1), from any thread; returns `false` to cancel it.
pub type Progress<'a> = &'a (dyn Fn(f32) -> bool + Sync);

impl Mask {
    /// The voxels of `grid` inside closed planar contours (patient LPS, mm). See the module for how planes, gaps and
    /// holes are read. Contours of fewer than three points are passed over.
    ///
    /// # Errors
    /// [`MaskError`].
    pub fn from_contours(
        grid: &Arc<Grid>,
        contours: &[&[DVec3]],
        progress: Progress<'_>,
    ) -> Result<Self, MaskError> {
        Self::drawn(grid, contours, None, progress)
    }

    /// The same mask, to the bit, of contours that differ little from others whose mask is known: planes on which both
    /// say the same are shared with that, the others are rasterised.
    ///
    /// # Errors
    /// [`MaskError`].
    pub fn redrawn(
        grid: &Arc<Grid>,
        contours: &[&[DVec3]],
        (earlier, mask): (&[&[DVec3]], &Self),
        progress: Progress<'_>,
    ) -> Result<Self, MaskError> {
        let earlier_local: Vec<Vec<DVec3>> = local(grid, earlier).map(|(_, c)| c).collect();
        let is_known = mask.parent == *grid
            && !earlier_local.is_empty()
            && earlier_local.iter().all(|c| is_level(c));
        let slabs = if is_known {
            slabs::level(&earlier_local, grid)
        } else {
            Vec::new()
        };
        Self::drawn(
            grid,
            contours,
            is_known.then_some(Former {
                mask,
                slabs: &slabs,
            }),
            progress,
        )
    }

    fn drawn(
        grid: &Arc<Grid>,
        contours: &[&[DVec3]],
        former: Option<Former<'_>>,
        progress: Progress<'_>,
    ) -> Result<Self, MaskError> {
        if let Some(n) = contours
            .iter()
            .position(|c| c.iter().any(|p| !p.is_finite()))
        {
            return Err(MaskError::NotFinite(n));
        }
        let local: Vec<(usize, Vec<DVec3>)> = local(grid, contours).collect();
        let Some((_, largest)) = local
            .iter()
            .max_by(|a, b| newell(&a.1).length().total_cmp(&newell(&b.1).length()))
        else {
            return Err(MaskError::NoContours);
        };
        if local.iter().all(|(_, c)| is_level(c)) {
            let contours: Vec<Vec<DVec3>> = local.into_iter().map(|(_, c)| c).collect();
            return Self::level(grid, &slabs::level(&contours, grid), former, progress);
        }
        let normal = newell(largest).normalize_or(DVec3::Z);
        if let Some((n, _)) = local.iter().find(|(_, c)| off_plane(c, normal) >= FLAT_MM) {
            return Err(MaskError::NotParallel(*n));
        }
        let contours: Vec<Vec<DVec3>> = local.into_iter().map(|(_, c)| c).collect();
        Self::oblique(grid, &contours, normal, progress)
    }

    /// Slabs along the grid's own normal (the grid's frame, mm).
    fn level(
        grid: &Arc<Grid>,
        slabs: &[Slab],
        former: Option<Former<'_>>,
        progress: Progress<'_>,
    ) -> Result<Self, MaskError> {
        let (low, high) = bounds(slabs.iter().flat_map(|s| s.corners()));
        let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| grid.edges_mm(axis));
        let (offset, size) = cells(&edges, low, high).ok_or(MaskError::Outside)?;
        let outside_cm3 = if is_within(&edges, low, high) {
            0.0
        } else {
            outside_cm3(slabs, &edges)
        };
        let [dx, dy] = grid.spacing_xy_mm();
        let planes = planes(size[2], progress, |plane| {
            let k = offset[2] + plane;
            let reach = [edges[2][k], edges[2][k + 1]];
            if let Some(Former {
                mask,
                slabs: before,
            }) = former
                && parts(before, reach).eq(parts(slabs, reach))
            {
                return mask.plane(k).map(Arc::clone).unwrap_or_default();
            }
            let corners = parts(slabs, reach).flat_map(|(slab, _)| slab.corners());
            let (low, high) = bounds(corners);
            let Some(window) = window(&edges, low, high) else {
                return Arc::default();
            };
            let mut pixels = vec![0.0_f32; window.size[0] * window.size[1]];
            for (slab, share) in parts(slabs, reach) {
                // Pixel i of the raster covers [i, i + 1), so its centre, the grid's i dx, is at i + 1/2.
                let slab = slab.map(|p| [p[0] / dx + 0.5, p[1] / dy + 0.5]);
                raster::add_coverage(&slab.polygons, window, share as f32, &mut pixels);
            }
            Arc::new(MaskPlane::new(window, &pixels))
        })?;
        Ok(Self {
            outside_cm3,
            ..Self::from_planes(grid, offset, size, planes)
        })
    }

    /// Parallel contours across the grid's planes (the grid's frame, mm): rasterised on their own planes, then sampled
    /// at 4 x 4 x 4 points of each voxel.
    fn oblique(
        grid: &Arc<Grid>,
        contours: &[Vec<DVec3>],
        normal: DVec3,
        progress: Progress<'_>,
    ) -> Result<Self, MaskError> {
        let sheets = Sheets::new(grid, contours, normal);
        let (low, high) = bounds(sheets.corners_mm());
        let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| grid.edges_mm(axis));
        let (offset, size) = cells(&edges, low, high).ok_or(MaskError::Outside)?;
        let samples: [Vec<f64>; 3] = std::array::from_fn(|axis| {
            let cells = edges[axis][offset[axis]..=offset[axis] + size[axis]].windows(2);
            cells
                .flat_map(|c| {
                    (0..OBLIQUE_SAMPLES).map(move |s| {
                        c[0] + (c[1] - c[0]) * ((s as f64 + 0.5) / OBLIQUE_SAMPLES as f64)
                    })
                })
                .collect()
        });
        let share = (OBLIQUE_SAMPLES as f32).powi(-3);
        let window = Window {
            low: [offset[0], offset[1]],
            size: [size[0], size[1]],
        };
        let planes = planes(size[2], progress, |plane| {
            let mut pixels = vec![0.0_f32; size[0] * size[1]];
            for &z in &samples[2][plane * OBLIQUE_SAMPLES..(plane + 1) * OBLIQUE_SAMPLES] {
                for (sy, &y) in samples[1].iter().enumerate() {
                    let row = (sy / OBLIQUE_SAMPLES) * size[0];
                    for (sx, &x) in samples[0].iter().enumerate() {
                        pixels[row + sx / OBLIQUE_SAMPLES] +=
                            share * sheets.at(DVec3::new(x, y, z));
                    }
                }
            }
            Arc::new(MaskPlane::new(window, &pixels))
        })?;
        let inside = Self::from_planes(grid, offset, size, planes);
        let outside_cm3 = if is_within(&edges, low, high) {
            0.0
        } else {
            // Contours across the planes of the grid have no closed form of the part outside it.
            (sheets.volume_cm3() - inside.volume_cm3).max(0.0)
        };
        Ok(Self {
            outside_cm3,
            ..inside
        })
    }

    /// The grid whose voxels are counted.
    pub fn grid(&self) -> &Arc<Grid> {
        &self.parent
    }

    /// First voxel of the box that is kept.
    pub fn offset(&self) -> [usize; 3] {
        self.offset
    }

    /// Voxels of the box that is kept, along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Row `y` of plane `z` of the box: the place of the first stored value in the box, and the values, 255 = the voxel
    /// lies wholly inside. All other voxels of the row are not covered.
    pub fn row(&self, y: usize, z: usize) -> (usize, &[u8]) {
        let (first, row) = self.planes[z].row(self.offset[1] + y);
        (first.saturating_sub(self.offset[0]), row)
    }

    /// As [`Self::row`], from its first covered voxel to its last; empty where none is covered.
    pub fn covered_row(&self, y: usize, z: usize) -> (usize, &[u8]) {
        let (first, row) = self.planes[z].covered_row(self.offset[1] + y);
        (first.saturating_sub(self.offset[0]), row)
    }

    /// The value of a voxel of the box.
    pub fn value(&self, [x, y, z]: [usize; 3]) -> u8 {
        let (first, row) = self.row(y, z);
        x.checked_sub(first)
            .and_then(|x| row.get(x))
            .copied()
            .unwrap_or(0)
    }

    /// All values of some planes of the box, `[z][y][x]`.
    pub fn values_of(&self, planes: std::ops::Range<usize>) -> Vec<u8> {
        let [sx, sy, _] = self.size;
        let mut values = vec![0; planes.len() * sy * sx];
        for (n, out) in values.chunks_exact_mut(sx).enumerate() {
            let (first, row) = self.row(n % sy, planes.start + n / sy);
            out[first..first + row.len()].copy_from_slice(row);
        }
        values
    }

    /// The covered fraction of voxel `(i, j, k)` of the parent grid, 0 to 1.
    pub fn coverage_at(&self, i: usize, j: usize, k: usize) -> f32 {
        let Some(plane) = self.plane(k) else {
            return 0.0;
        };
        let (first, row) = plane.row(j);
        i.checked_sub(first)
            .and_then(|x| row.get(x))
            .map_or(0.0, |c| f32::from(*c) / 255.0)
    }

    /// Whether a patient position lies in a voxel that is covered by half or more.
    pub fn holds(&self, patient_mm: DVec3) -> bool {
        self.grid()
            .voxel_at(patient_mm)
            .is_some_and(|[i, j, k]| self.coverage_at(i, j, k) >= 0.5)
    }

    /// Whether another mask of the same grid covers the same voxels of plane `k` alike.
    pub fn has_plane_of(&self, other: &Self, k: usize) -> bool {
        match (self.plane(k), other.plane(k)) {
            (Some(contours), Some(theirs)) => {
                Arc::ptr_eq(contours, theirs) || contours.covers_as(theirs)
            }
            (Some(only), None) | (None, Some(only)) => only.covered == 0,
            (None, None) => true,
        }
    }

    /// Plane `k` of the parent grid.
    fn plane(&self, k: usize) -> Option<&Arc<MaskPlane>> {
        k.checked_sub(self.offset[2])
            .and_then(|z| self.planes.get(z))
    }

    /// Every voxel that is covered at all: its index in the parent grid's data and the covered fraction.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.planes
            .iter()
            .zip(self.offset[2]..)
            .flat_map(move |(plane, k)| {
                let Window { low, size } = plane.window;
                plane
                    .coverage
                    .chunks_exact(size[0].max(1))
                    .zip(low[1]..)
                    .flat_map(move |(row, j)| {
                        let first = self.parent.index(low[0], j, k);
                        let covered = row.iter().enumerate().filter(|(_, c)| **c > 0);
                        covered.map(move |(x, &c)| (first + x, f32::from(c) / 255.0))
                    })
            })
    }

    /// Voxels that are covered at all.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// Whether no voxel is covered in part: the structure is a list of voxels.
    pub fn has_whole_voxels_only(&self) -> bool {
        self.planes
            .iter()
            .all(|plane| plane.sum == 255 * plane.covered as u64)
    }

    /// Volume inside the grid, cm3.
    pub fn volume_cm3(&self) -> f64 {
        self.volume_cm3
    }

    /// Volume of the contours outside the grid, cm3; 0 of a structure that reaches beyond it by less than half a voxel.
    pub fn outside_cm3(&self) -> f64 {
        self.outside_cm3
    }

    fn from_planes(
        parent: &Arc<Grid>,
        offset: [usize; 3],
        size: [usize; 3],
        planes: Vec<Arc<MaskPlane>>,
    ) -> Self {
        let volume_cm3 = planes
            .iter()
            .zip(offset[2]..)
            .map(|(plane, k): (&Arc<MaskPlane>, usize)| {
                plane.sum as f64 / 255.0 * parent.voxel_cm3(k)
            })
            .sum();
        let covered = planes.iter().map(|plane| plane.covered).sum();
        let (parent, outside_cm3, parts) = (Arc::clone(parent), 0.0, KeptParts::default());
        Self {
            parent,
            offset,
            size,
            planes,
            covered,
            volume_cm3,
            outside_cm3,
            parts,
        }
    }
}

/// A mask, and the slabs that it was made of.
#[derive(Clone, Copy)]
struct Former<'a> {
    mask: &'a Mask,
    slabs: &'a [Slab],
}

/// The slabs that reach into a plane, each with its share of the plane's thickness.
fn parts(slabs: &[Slab], [bottom, top]: [f64; 2]) -> impl Iterator<Item = (&Slab, f64)> {
    slabs
        .iter()
        .map(move |slab| (slab, slab.overlap_mm(bottom, top) / (top - bottom)))
        .filter(|(_, share)| *share > 1e-6)
}

/// Closed contours in the grid's frame, mm, each with its number.
fn local(grid: &Grid, contours: &[&[DVec3]]) -> impl Iterator<Item = (usize, Vec<DVec3>)> {
    let closed = contours.iter().enumerate().filter(|(_, c)| c.len() >= 3);
    closed.map(|(n, c)| (n, c.iter().map(|&p| grid.local_from_patient(p)).collect()))
}

/// Whether a contour lies in a plane of the grid's frame.
fn is_level(contour: &[DVec3]) -> bool {
    off_plane(contour, DVec3::Z) < FLAT_MM
}

/// The planes of a box, made in parallel.
fn planes(
    count: usize,
    progress: Progress<'_>,
    make: impl Fn(usize) -> Arc<MaskPlane> + Sync,
) -> Result<Vec<Arc<MaskPlane>>, MaskError> {
    let done = AtomicUsize::new(0);
    (0..count)
        .into_par_iter()
        .map(|plane| {
            let plane_bits = make(plane);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if progress(done as f32 / count as f32) {
                Ok(plane_bits)
            } else {
                Err(MaskError::Cancelled)
            }
        })
        .collect()
}

/// The box of voxels that a box in the grid's frame (mm) touches: its first voxel and its size. `None` outside.
fn cells(edges: &[Vec<f64>; 3], low: DVec3, high: DVec3) -> Option<([usize; 3], [usize; 3])> {
    let mut offset = [0; 3];
    let mut size = [0; 3];
    for axis in 0..3 {
        (offset[axis], size[axis]) = cells_along(&edges[axis], low[axis], high[axis])?;
    }
    Some((offset, size))
}

/// The same for a plane.
fn window(edges: &[Vec<f64>; 3], low: DVec3, high: DVec3) -> Option<Window> {
    let (x, y) = (
        cells_along(&edges[0], low.x, high.x)?,
        cells_along(&edges[1], low.y, high.y)?,
    );
    Some(Window {
        low: [x.0, y.0],
        size: [x.1, y.1],
    })
}

/// Whether a box in the grid's frame (mm) lies within the grid, but for its rim.
fn is_within(edges: &[Vec<f64>; 3], low: DVec3, high: DVec3) -> bool {
    (0..3).all(|axis| {
        let edges = &edges[axis];
        let last = edges.len() - 1;
        low[axis] >= edges[0] - rim_mm(0, 1, edges)
            && high[axis] <= edges[last] + rim_mm(last - 1, last, edges)
    })
}

fn rim_mm(a: usize, b: usize, edges: &[f64]) -> f64 {
    RIM_VOXELS * (edges[b] - edges[a]) + 1e-6
}

/// Volume of slabs outside the grid, cm3.
fn outside_cm3(slabs: &[Slab], edges: &[Vec<f64>; 3]) -> f64 {
    let [x, y, z] = [0, 1, 2].map(|axis| [edges[axis][0], edges[axis][edges[axis].len() - 1]]);
    slabs
        .iter()
        .map(|slab: &Slab| {
            let [area, outside] =
                raster::area_and_outside(&slab.polygons, [[x[0], y[0]], [x[1], y[1]]]);
            let (full, inside) = (
                slab.reach_mm[1] - slab.reach_mm[0],
                slab.overlap_mm(z[0], z[1]),
            );
            (full - inside) * area + inside * outside
        })
        .sum::<f64>()
        / 1000.0
}

fn cells_along(edges: &[f64], low: f64, high: f64) -> Option<(usize, usize)> {
    let first = edges.partition_point(|&x| x <= low).saturating_sub(1);
    let end = edges.partition_point(|&x| x < high).min(edges.len() - 1);
    (first < end).then(|| (first, end - first))
}

/// Lowest and highest coordinates.
fn bounds(points: impl Iterator<Item = DVec3>) -> (DVec3, DVec3) {
    points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
        (low.min(p), high.max(p))
    })
}

/// The normal of a polygon, as long as twice its area (Newell).
pub(super) fn newell(polygon: &[DVec3]) -> DVec3 {
    let first = polygon[0];
    polygon
        .windows(2)
        .map(|w| (w[0] - first).cross(w[1] - first))
        .sum()
}

/// How far the points of a polygon spread along a normal, mm.
pub(super) fn off_plane(polygon: &[DVec3], normal: DVec3) -> f64 {
    let (low, high) = polygon
        .iter()
        .map(|p| p.dot(normal))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), d| {
            (low.min(d), high.max(d))
        });
    high - low
}

#[cfg(test)]
mod tests;
