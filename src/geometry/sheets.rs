//! Contours on parallel planes that lie oblique to a grid.

use super::Grid;
use super::raster::{self, Window};
use super::slabs::{self, Slab};
use glam::DVec3;

/// Pixels along a side at the most: a stray point far away coarsens the raster and does not fill the memory.
const MOST_PIXELS: f64 = 2048.0;

/// Each contour plane rasterised in its own frame, at half the finest spacing of the grid it is meant for.
pub(super) struct Sheets {
    /// Two directions in the planes and their normal, in the grid's frame.
    axes: [DVec3; 3],
    /// Points in mm along the first two axes; ascending along the third.
    slabs: Vec<Slab>,
    /// Covered fraction of each pixel of each slab, rows of x.
    coverage: Vec<Vec<f32>>,
    /// Low corner of pixel (0, 0), mm along the axes.
    low_mm: [f64; 2],
    pixel_mm: f64,
    size: [usize; 2],
}

impl Sheets {
    /// `contours` in the grid's frame, mm, each flat across `normal`.
    pub fn new(grid: &Grid, contours: &[Vec<DVec3>], normal: DVec3) -> Self {
        let across = normal.any_orthonormal_vector();
        let axes = [across, normal.cross(across), normal];
        let [dx, dy] = grid.spacing_xy_mm();
        let edges = grid.edges_mm(2);
        let finest = edges
            .windows(2)
            .map(|e| e[1] - e[0])
            .fold(dx.min(dy), f64::min);
        let turned: Vec<Vec<DVec3>> = contours
            .iter()
            .map(|c| {
                c.iter()
                    .map(|p| DVec3::from(axes.map(|a| a.dot(*p))))
                    .collect()
            })
            .collect();
        let slabs = slabs::free(&turned, finest);
        let (low, high) = slabs
            .iter()
            .flat_map(|s| s.corners())
            .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
                (low.min(p), high.max(p))
            });
        let extent = (high.x - low.x).max(high.y - low.y);
        let pixel_mm = (0.5 * finest).max(extent / MOST_PIXELS);
        let size = [(high.x - low.x) / pixel_mm, (high.y - low.y) / pixel_mm]
            .map(|n| n.ceil().max(1.0) as usize);
        let window = Window { low: [0, 0], size };
        let coverage = slabs.iter().map(|slab| {
            let in_pixels = slab.map(|p| [(p[0] - low.x) / pixel_mm, (p[1] - low.y) / pixel_mm]);
            let mut pixels = vec![0.0; size[0] * size[1]];
            raster::add_coverage(&in_pixels.polygons, window, 1.0, &mut pixels);
            pixels
        });
        let coverage = coverage.collect();
        Self {
            axes,
            slabs,
            coverage,
            low_mm: [low.x, low.y],
            pixel_mm,
            size,
        }
    }

    /// The corners of the slabs, the grid's frame, mm.
    pub fn corners_mm(&self) -> impl Iterator<Item = DVec3> + '_ {
        let corners = self.slabs.iter().flat_map(|s| s.corners());
        corners.map(|p| self.axes[0] * p.x + self.axes[1] * p.y + self.axes[2] * p.z)
    }

    /// Volume of the slabs, in and outside the grid, cm3.
    pub fn volume_cm3(&self) -> f64 {
        let everywhere = [[f64::NEG_INFINITY; 2], [f64::INFINITY; 2]];
        self.slabs
            .iter()
            .map(|s: &Slab| {
                (s.reach_mm[1] - s.reach_mm[0])
                    * raster::area_and_outside(&s.polygons, everywhere)[0]
            })
            .sum::<f64>()
            / 1000.0
    }

    /// Covered fraction of the pixel that holds a point of the grid's frame, mm; 0 outside.
    pub fn at(&self, local_mm: DVec3) -> f32 {
        let along = self.axes[2].dot(local_mm);
        let n = self.slabs.partition_point(|s| s.reach_mm[0] <= along);
        if n == 0 || along >= self.slabs[n - 1].reach_mm[1] {
            return 0.0;
        }
        let pixel = [0, 1].map(|a| {
            let p = ((self.axes[a].dot(local_mm) - self.low_mm[a]) / self.pixel_mm).floor();
            (p >= 0.0 && p < self.size[a] as f64).then_some(p as usize)
        });
        match pixel {
            [Some(x), Some(y)] => self.coverage[n - 1][y * self.size[0] + x],
            _ => 0.0,
        }
    }
}
