//! Contours -> voxels: how much of each voxel a structure fills.
//!
//! A contour speaks for the slab half-way to the contour planes on either side, so a structure drawn on every plane of
//! the CT fills those planes' voxels, one drawn on every second plane fills those between, and contours between CT
//! planes or on another grid's planes are shared out by overlap. One plane that was not drawn (the next
//! is over 1.5 times the structure's usual step away, and not on the neighbouring plane of an unevenly spaced grid) is
//! bridged by those contours that overlap one on its other side. Elsewhere, and where the gap is over 2.5 usual steps, it is
//! a real one: either side ends half a usual step beyond its last contour. On one plane contours combine by exclusive-or.

use super::Grid;
use super::raster::{self, Window};
use super::sheets::Sheets;
use super::slabs::{self, Slab};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// A contour whose points leave its plane by less than this is flat, mm.
pub(super) const FLAT_MM: f64 = 0.25;

/// Samples along each axis of a voxel where contours lie oblique to the grid.
const OBLIQUE_SAMPLES: usize = 4;

/// Coverage of a grid's voxels by a structure, stored for the structure's box alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    parent: Arc<Grid>,
    /// First voxel of the box in the parent grid, and the box's voxels along x, y, z.
    offset: [usize; 3],
    size: [usize; 3],
    /// `[z][y][x]` in the box, 255 = the voxel lies wholly inside.
    coverage: Vec<u8>,
    /// Summed once: a list of structures shows it in every frame.
    volume_cm3: f64,
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
        if let Some(n) = contours.iter().position(|c| c.iter().any(|p| !p.is_finite())) {
            return Err(MaskError::NotFinite(n));
        }
        let local: Vec<(usize, Vec<DVec3>)> = contours
            .iter()
            .enumerate()
            .filter(|(_, c)| c.len() >= 3)
            .map(|(n, c)| (n, c.iter().map(|&p| grid.local_from_patient(p)).collect()))
            .collect();
        let Some((_, largest)) =
            local.iter().max_by(|a, b| newell(&a.1).length().total_cmp(&newell(&b.1).length()))
        else {
            return Err(MaskError::NoContours);
        };
        if local.iter().all(|(_, c)| off_plane(c, DVec3::Z) < FLAT_MM) {
            let contours: Vec<Vec<DVec3>> = local.into_iter().map(|(_, c)| c).collect();
            return Self::level(grid, &slabs::level(&contours, grid), progress);
        }
        let normal = newell(largest).normalize_or(DVec3::Z);
        if let Some((n, _)) = local.iter().find(|(_, c)| off_plane(c, normal) >= FLAT_MM) {
            return Err(MaskError::NotParallel(*n));
        }
        let contours: Vec<Vec<DVec3>> = local.into_iter().map(|(_, c)| c).collect();
        Self::oblique(grid, &contours, normal, progress)
    }

    /// Slabs along the grid's own normal (the grid's frame, mm).
    fn level(grid: &Arc<Grid>, slabs: &[Slab], progress: Progress<'_>) -> Result<Self, MaskError> {
        let (low, high) = bounds(slabs.iter().flat_map(|s| s.corners()));
        let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| grid.edges_mm(axis));
        let (offset, size) = cells(&edges, low, high).ok_or(MaskError::Outside)?;
        let [dx, dy] = grid.spacing_xy_mm();
        // Pixel i of the raster covers [i, i + 1), so its centre, the grid's i dx, is at i + 1/2.
        let slabs: Vec<Slab> = slabs.iter().map(|s| s.map(|p| [p[0] / dx + 0.5, p[1] / dy + 0.5])).collect();
        let window = Window { low: [offset[0], offset[1]], size: [size[0], size[1]] };
        let coverage = planes(size, progress, |plane| {
            let (bottom, top) = (edges[2][offset[2] + plane], edges[2][offset[2] + plane + 1]);
            let mut pixels = vec![0.0_f32; size[0] * size[1]];
            for slab in &slabs {
                let share = slab.overlap_mm(bottom, top) / (top - bottom);
                if share > 1e-6 {
                    raster::add_coverage(&slab.polygons, window, share as f32, &mut pixels);
                }
            }
            pixels
        })?;
        Ok(Self::of(grid, offset, size, coverage))
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
            let at = |s: usize| (s as f64 + 0.5) / OBLIQUE_SAMPLES as f64;
            let cells = edges[axis][offset[axis]..=offset[axis] + size[axis]].windows(2);
            cells.flat_map(|c| (0..OBLIQUE_SAMPLES).map(move |s| c[0] + (c[1] - c[0]) * at(s))).collect()
        });
        let share = (OBLIQUE_SAMPLES as f32).powi(-3);
        let coverage = planes(size, progress, |plane| {
            let mut pixels = vec![0.0_f32; size[0] * size[1]];
            for &z in &samples[2][plane * OBLIQUE_SAMPLES..(plane + 1) * OBLIQUE_SAMPLES] {
                for (sy, &y) in samples[1].iter().enumerate() {
                    let row = (sy / OBLIQUE_SAMPLES) * size[0];
                    for (sx, &x) in samples[0].iter().enumerate() {
                        pixels[row + sx / OBLIQUE_SAMPLES] += share * sheets.at(DVec3::new(x, y, z));
                    }
                }
            }
            pixels
        })?;
        Ok(Self::of(grid, offset, size, coverage))
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

    /// The box's values, `[z][y][x]`; 255 = the voxel lies wholly inside.
    pub fn coverage(&self) -> &[u8] {
        &self.coverage
    }

    /// The covered fraction of voxel `(i, j, k)` of the parent grid, 0 to 1.
    pub fn coverage_at(&self, i: usize, j: usize, k: usize) -> f32 {
        let inside = |a: usize, n: usize| (n >= self.offset[a]).then(|| n - self.offset[a]);
        match (inside(0, i), inside(1, j), inside(2, k)) {
            (Some(x), Some(y), Some(z)) if x < self.size[0] && y < self.size[1] && z < self.size[2] => {
                f32::from(self.coverage[(z * self.size[1] + y) * self.size[0] + x]) / 255.0
            }
            _ => 0.0,
        }
    }

    /// Whether a patient position lies in a voxel that is covered by half or more.
    pub fn holds(&self, patient_mm: DVec3) -> bool {
        self.grid().voxel_at(patient_mm).is_some_and(|[i, j, k]| self.coverage_at(i, j, k) >= 0.5)
    }

    /// Every voxel that is covered at all: its index in the parent grid's data and the covered fraction.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        let [sx, sy, _] = self.size;
        self.coverage.chunks_exact(sx).enumerate().flat_map(move |(row, values)| {
            let (j, k) = (self.offset[1] + row % sy, self.offset[2] + row / sy);
            let first = self.parent.index(self.offset[0], j, k);
            let covered = values.iter().enumerate().filter(|(_, c)| **c > 0);
            covered.map(move |(x, &c)| (first + x, f32::from(c) / 255.0))
        })
    }

    /// Volume inside the grid, cm3.
    pub fn volume_cm3(&self) -> f64 {
        self.volume_cm3
    }

    fn of(parent: &Arc<Grid>, offset: [usize; 3], size: [usize; 3], coverage: Vec<u8>) -> Self {
        let sums = coverage.chunks_exact(size[0] * size[1]).enumerate().map(|(z, values)| {
            let sum: u64 = values.iter().map(|&c| u64::from(c)).sum();
            sum as f64 / 255.0 * parent.voxel_cm3(offset[2] + z)
        });
        let volume_cm3 = sums.sum();
        Self { parent: Arc::clone(parent), offset, size, coverage, volume_cm3 }
    }
}

/// Fills the planes of a box in parallel; `fill` gives the covered fractions of one.
fn planes(
    size: [usize; 3],
    progress: Progress<'_>,
    fill: impl Fn(usize) -> Vec<f32> + Sync,
) -> Result<Vec<u8>, MaskError> {
    let mut coverage = vec![0_u8; size[0] * size[1] * size[2]];
    let done = AtomicUsize::new(0);
    coverage.par_chunks_mut(size[0] * size[1]).enumerate().try_for_each(|(plane, out)| {
        for (out, fraction) in out.iter_mut().zip(fill(plane)) {
            *out = (fraction * 255.0).round() as u8;
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if progress(done as f32 / size[2] as f32) { Ok(()) } else { Err(MaskError::Cancelled) }
    })?;
    Ok(coverage)
}

/// The box of voxels that a box in the grid's frame (mm) touches: its first voxel and its size. `None` outside.
fn cells(edges: &[Vec<f64>; 3], low: DVec3, high: DVec3) -> Option<([usize; 3], [usize; 3])> {
    let mut offset = [0; 3];
    let mut size = [0; 3];
    for axis in 0..3 {
        let e = &edges[axis];
        let first = e.partition_point(|&x| x <= low[axis]).saturating_sub(1);
        let end = e.partition_point(|&x| x < high[axis]).min(e.len() - 1);
        if first >= end {
            return None;
        }
        (offset[axis], size[axis]) = (first, end - first);
    }
    Some((offset, size))
}

/// Lowest and highest coordinates.
fn bounds(points: impl Iterator<Item = DVec3>) -> (DVec3, DVec3) {
    points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)))
}

/// The normal of a polygon, as long as twice its area (Newell).
pub(super) fn newell(polygon: &[DVec3]) -> DVec3 {
    let first = polygon[0];
    polygon.windows(2).map(|w| (w[0] - first).cross(w[1] - first)).sum()
}

/// How far the points of a polygon spread along a normal, mm.
pub(super) fn off_plane(polygon: &[DVec3], normal: DVec3) -> f64 {
    let (low, high) = polygon
        .iter()
        .map(|p| p.dot(normal))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), d| (low.min(d), high.max(d)));
    high - low
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    fn mask(grid: &Arc<Grid>, contours: &[Vec<DVec3>]) -> Result<Mask, MaskError> {
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        Mask::from_contours(grid, &contours, &|_| true)
    }

    fn even(spacing: DVec3, size: [usize; 3]) -> Arc<Grid> {
        let middle = spacing * DVec3::from(size.map(|n| 0.5 * (n as f64 - 1.0)));
        Arc::new(Grid::axis_aligned(-middle, spacing, size).expect("a valid grid"))
    }

    fn circle(centre: DVec3, u: DVec3, v: DVec3, radius: f64) -> Vec<DVec3> {
        let corner = |n: i32| (TAU * f64::from(n) / 180.0).sin_cos();
        (0..180).map(corner).map(|(s, c)| centre + u * (radius * c) + v * (radius * s)).collect()
    }

    /// Circles where planes at `heights` along the normal cut a sphere.
    fn sphere(
        centre: DVec3,
        radius: f64,
        u: DVec3,
        v: DVec3,
        heights: impl Iterator<Item = f64>,
    ) -> Vec<Vec<DVec3>> {
        let normal = u.cross(v);
        let cut = |h: f64| (radius * radius - h * h > 0.0).then(|| (h, (radius * radius - h * h).sqrt()));
        heights.filter_map(cut).map(|(h, r)| circle(centre + normal * h, u, v, r)).collect()
    }

    fn sphere_cm3(radius: f64) -> f64 {
        4.0 / 3.0 * PI * radius.powi(3) / 1000.0
    }

    #[test]
    fn a_box_fills_voxels_by_overlap() {
        let grid = even(DVec3::new(2.0, 3.0, 4.0), [20, 20, 20]);
        // Planes at ..., -2, 2, 6, ...; the box is drawn on three of them.
        let contours: Vec<Vec<DVec3>> = [-2.0, 2.0, 6.0]
            .iter()
            .map(|&z| {
                [(-4.5, -3.0), (7.0, -3.0), (7.0, 8.0), (-4.5, 8.0)]
                    .map(|(x, y)| DVec3::new(x, y, z))
                    .to_vec()
            })
            .collect();
        let m = mask(&grid, &contours).expect("a mask");
        assert!((m.volume_cm3() - 11.5 * 11.0 * 12.0 / 1000.0).abs() < 2e-3 * 1.5, "{}", m.volume_cm3());
        assert_eq!((m.offset(), m.size()), ([7, 9, 9], [7, 4, 3]));
        // Voxel 7 spans x -6..-4: a quarter is in; row 12 spans y 6..9: two thirds are.
        assert!((m.coverage_at(7, 10, 9) - 0.25).abs() < 0.003);
        assert!((m.coverage_at(9, 12, 11) - 2.0 / 3.0).abs() < 0.003);
        assert_eq!(m.coverage_at(9, 10, 10), 1.0);
        assert_eq!((m.coverage_at(9, 10, 12), m.coverage_at(0, 0, 0)), (0.0, 0.0));
        let mut listed = vec![0.0; grid.len()];
        m.iter().for_each(|(index, weight)| listed[index] = weight);
        for k in 0..20 {
            for j in 0..20 {
                for i in 0..20 {
                    assert_eq!(listed[grid.index(i, j, k)], m.coverage_at(i, j, k));
                }
            }
        }
    }

    /// Every plane, every second plane, between planes, on another grid's planes: the volume is the same.
    #[test]
    fn a_sphere_keeps_its_volume_however_its_planes_lie() {
        let grid = even(DVec3::new(1.1, 0.9, 2.0), [60, 60, 40]);
        let centre = DVec3::new(2.3, -1.2, 0.7);
        let want = sphere_cm3(20.0);
        for (step, shift) in [(2.0, 0.3), (4.0, 0.3), (2.0, 1.1), (2.5, 0.0), (3.0, 1.7), (0.5, 0.2)] {
            let heights = (-50..50).map(|n| f64::from(n) * step + shift);
            let m = mask(&grid, &sphere(centre, 20.0, DVec3::X, DVec3::Y, heights)).expect("a mask");
            let off = m.volume_cm3() / want - 1.0;
            assert!(off.abs() < 0.006, "planes {step} mm apart from {shift}: {off:+.4}");
        }
    }

    #[test]
    fn a_sphere_on_oblique_planes_fills_the_same_voxels() {
        let grid = even(DVec3::new(1.1, 0.9, 2.0), [60, 60, 40]);
        let centre = DVec3::new(2.3, -1.2, 0.7);
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.4, -0.7, 1.1);
        let heights = || (-50..50).map(|n| f64::from(n) * 1.5);
        let oblique = sphere(centre, 20.0, turn.x_axis, turn.y_axis, heights());
        let m = mask(&grid, &oblique).expect("a mask");
        assert!((m.volume_cm3() / sphere_cm3(20.0) - 1.0).abs() < 0.006, "{}", m.volume_cm3());
        for (i, j, k) in [(32, 28, 20), (20, 20, 15), (44, 30, 19), (32, 28, 29), (10, 28, 20), (48, 29, 20)]
        {
            let depth = 20.0 - (grid.centre_mm(i, j, k) - centre).length();
            if depth.abs() > 2.0 {
                assert_eq!(m.coverage_at(i, j, k) > 0.5, depth > 0.0, "voxel {i} {j} {k}, {depth} mm deep");
            }
        }
    }

    /// A grid turned with its contours: the frame makes no difference.
    #[test]
    fn an_oblique_grid_with_contours_on_its_own_uneven_planes() {
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.4, -0.7, 1.1);
        let planes = [0.0, 3.0, 6.0, 8.0, 10.0, 15.0];
        let grid =
            Grid::new(DVec3::new(9.0, 8.0, 7.0), turn.x_axis, turn.y_axis, [1.0, 1.0], [40, 40], &planes);
        let grid = Arc::new(grid.expect("a valid grid"));
        let discs: Vec<Vec<DVec3>> = planes[1..5]
            .iter()
            .map(|&z| {
                circle(grid.patient_from_local(DVec3::new(20.0, 19.0, z)), turn.x_axis, turn.y_axis, 12.0)
            })
            .collect();
        let m = mask(&grid, &discs).expect("a mask");
        // Planes 1 to 4 are the voxels from 1.5 to 12.5 mm; a polygon of 180 corners.
        let want = 90.0 * 144.0 * (TAU / 180.0).sin() * 11.0 / 1000.0;
        assert!((m.volume_cm3() / want - 1.0).abs() < 5e-4, "{} for {want}", m.volume_cm3());
    }

    /// Two parts side by side, one plane between them not drawn: nothing fills it. What goes on over the plane does.
    #[test]
    fn a_plane_not_drawn_is_bridged_by_what_goes_on_over_it() {
        let grid = even(DVec3::new(2.0, 2.0, 3.0), [80, 40, 21]);
        let square = |x: f64, z: f64, half: f64| -> Vec<DVec3> {
            [(half, half), (-half, half), (-half, -half), (half, -half)]
                .map(|(dx, dy)| DVec3::new(x + dx, dy, z))
                .to_vec()
        };
        let heights = |low: i32, high: i32| (low..=high).map(|k| 3.0 * f64::from(k));
        // 80 mm apart: the left part ends where the right one begins two planes up.
        let mut apart: Vec<_> = heights(-4, -1).map(|z| square(-40.0, z, 10.0)).collect();
        apart.extend(heights(1, 4).map(|z| square(40.0, z, 10.0)));
        let m = mask(&grid, &apart).expect("a mask");
        let want = 8.0 * 3.0 * 0.4;
        assert!((m.volume_cm3() - want).abs() < 1e-3 * want, "{} cm3 for {want}", m.volume_cm3());
        assert!((0..80).all(|i| m.coverage_at(i, 20, 10) == 0.0), "the plane between is empty");
        // A left part with a hole that goes on, beside a right part that ends: the left one is bridged, with its hole.
        let mut one_goes_on: Vec<_> = heights(-4, 4)
            .filter(|z| *z != 0.0)
            .flat_map(|z| [square(-40.0, z, 10.0), square(-40.0, z, 4.0)])
            .collect();
        one_goes_on.extend(heights(-4, -1).map(|z| square(40.0, z, 10.0)));
        let m = mask(&grid, &one_goes_on).expect("a mask");
        let want = 9.0 * 3.0 * (0.4 - 0.064) + 4.0 * 3.0 * 0.4;
        assert!((m.volume_cm3() - want).abs() < 1e-3 * want, "{} cm3 for {want}", m.volume_cm3());
        // Across the grid's planes the same.
        let turned = |contours: Vec<Vec<DVec3>>| -> Vec<Vec<DVec3>> {
            contours.into_iter().map(|c| c.into_iter().map(|p| DVec3::new(p.z, p.y, p.x)).collect()).collect()
        };
        let grid = even(DVec3::splat(1.0), [40, 40, 120]);
        let m = mask(&grid, &turned(apart)).expect("a mask");
        assert!((m.volume_cm3() - 9.6).abs() < 0.3, "{} cm3", m.volume_cm3());
    }

    #[test]
    fn what_makes_no_mask_says_why() {
        let grid = even(DVec3::ONE, [10, 10, 10]);
        let disc = circle(DVec3::ZERO, DVec3::X, DVec3::Y, 3.0);
        assert_eq!(mask(&grid, &[]), Err(MaskError::NoContours));
        assert_eq!(mask(&grid, &[disc[..2].to_vec()]), Err(MaskError::NoContours));
        let far: Vec<DVec3> = disc.iter().map(|p| *p + DVec3::X * 90.0).collect();
        assert_eq!(mask(&grid, &[far]), Err(MaskError::Outside));
        let mut broken = disc.clone();
        broken[3].y = f64::NAN;
        assert_eq!(mask(&grid, &[disc.clone(), broken]), Err(MaskError::NotFinite(1)));
        let sagittal = circle(DVec3::ZERO, DVec3::Y, DVec3::Z, 2.0);
        assert_eq!(mask(&grid, &[disc.clone(), sagittal]), Err(MaskError::NotParallel(1)));
        let stopped = Mask::from_contours(&grid, &[&disc], &|_| false);
        assert_eq!(stopped, Err(MaskError::Cancelled));
    }
}
