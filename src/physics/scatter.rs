//! The extra-focal source seen through jaws and leaves: smooth, so a coarse map at a few distances will do.

use super::ExtraFocal;
use super::aperture::Raster;
use super::normal::cumulative;
use rayon::prelude::*;

/// Cells across the source along each axis; they reach over three standard deviations to either side.
const CELLS: usize = 24;
const REACH_SIGMAS: f64 = 3.0;

/// Distances of the maps relative to the isocentre's, mm; linear between them.
const PLANES_MM: [f64; 3] = [-200.0, 0.0, 200.0];

/// Geometry of the head: distances from the target, axes u and v.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub sad_mm: f64,
    pub jaw_distance_mm: [f64; 2],
    pub jaw_transmission: f64,
    pub leaf_distance_mm: f64,
}

/// Jaws and the transmission of the leaves within them (coarse, on a separate raster), for a share of the units.
pub struct Shutter<'a> {
    pub edges: [[f64; 2]; 2],
    pub weight: f64,
    pub leaves: &'a [f32],
    pub raster: &'a Raster,
}

/// Part of the source that is seen, over the isocentre plane's coordinates and the distance.
#[derive(Clone, Debug)]
pub struct ScatterMap {
    source: ExtraFocal,
    head: Head,
    raster: Raster,
    planes: Vec<Vec<f32>>,
}

/// A cell of the source as seen from a point along one axis: its open share and where its ray crosses the leaves.
struct Ray {
    share: f64,
    /// Lower pixel of the leaves' raster and the way to the next.
    pixel: usize,
    part: f64,
}

impl Ray {
    /// The pixel of which it has a part; of none the same.
    fn next(&self) -> usize {
        self.pixel + usize::from(self.part > 0.0)
    }
}

impl ScatterMap {
    /// Nothing is seen yet from the points of `raster`.
    pub fn dark(source: &ExtraFocal, head: &Head, raster: Raster) -> Self {
        Self {
            source: *source,
            head: *head,
            raster,
            planes: vec![vec![0.0; raster.len()]; PLANES_MM.len()],
        }
    }

    /// Adds the cells of the source that each point sees at each distance.
    pub fn add(&mut self, shutter: &Shutter<'_>) {
        let Self {
            source,
            head,
            raster,
            planes,
        } = self;
        planes
            .par_iter_mut()
            .zip(PLANES_MM)
            .for_each(|(plane, offset)| {
                let distance = head.sad_mm + offset;
                let rays = [0, 1].map(|axis| -> Vec<Vec<Ray>> {
                    let points = 0..raster.size[axis];
                    points
                        .map(|n| {
                            rays(
                                source,
                                head,
                                shutter,
                                axis,
                                raster.centre(axis, n),
                                distance,
                            )
                        })
                        .collect()
                });
                let by_row: Vec<Vec<f64>> = rays[0]
                    .iter()
                    .map(|along| seen_by_row(along, shutter))
                    .collect();
                for (line, across) in plane.chunks_mut(raster.size[0]).zip(&rays[1]) {
                    for (value, rows) in line.iter_mut().zip(&by_row) {
                        *value += (shutter.weight * seen(across, rows)) as f32;
                    }
                }
            });
    }

    pub fn raster(&self) -> &Raster {
        &self.raster
    }

    /// At each of the distances.
    pub fn planes(&self) -> &[Vec<f32>] {
        &self.planes
    }

    /// Share of the source seen from a point: isocentre plane coordinates and distance from the target along the axis.
    pub fn at(&self, iso_mm: [f64; 2], distance_mm: f64) -> f64 {
        let step = PLANES_MM[1] - PLANES_MM[0];
        let k = ((distance_mm - self.head.sad_mm - PLANES_MM[0]) / step)
            .clamp(0.0, (PLANES_MM.len() - 1) as f64);
        let below = (k as usize).min(PLANES_MM.len() - 2);
        let along_u = low_and_part(&self.raster, 0, iso_mm[0]);
        let along_v = low_and_part(&self.raster, 1, iso_mm[1]);
        let [low, high] = [below, below + 1]
            .map(|k| bilinear(&self.planes[k], self.raster.size[0], [along_u, along_v]));
        low + (k - below as f64) * (high - low)
    }
}

/// Transmission of each row of the leaves' picture to the cells along u: the same for all points in a line across.
fn seen_by_row(along: &[Ray], shutter: &Shutter<'_>) -> Vec<f64> {
    shutter
        .leaves
        .chunks_exact(shutter.raster.size[0])
        .map(|row: &[f32]| -> f64 {
            along
                .iter()
                .map(|u: &Ray| {
                    let (low, high) = (f64::from(row[u.pixel]), f64::from(row[u.next()]));
                    u.share * (low + u.part * (high - low))
                })
                .sum()
        })
        .collect()
}

fn seen(across: &[Ray], rows: &[f64]) -> f64 {
    across
        .iter()
        .map(|v| v.share * (rows[v.pixel] + v.part * (rows[v.next()] - rows[v.pixel])))
        .sum()
}

fn rays(
    source: &ExtraFocal,
    head: &Head,
    shutter: &Shutter<'_>,
    axis: usize,
    point_iso_mm: f64,
    distance_mm: f64,
) -> Vec<Ray> {
    let point = point_iso_mm * distance_mm / head.sad_mm;
    let jaw = head.jaw_distance_mm[axis];
    let window = shutter.edges[axis]
        .map(|edge| on_source(source, point, distance_mm, edge * jaw / head.sad_mm, jaw));
    let width = 2.0 * REACH_SIGMAS * source.sigma_mm / CELLS as f64;
    (0..CELLS)
        .map(|n: usize| {
            // The outermost cells take the tails along.
            let low = if n == 0 {
                f64::NEG_INFINITY
            } else {
                (n as f64 - 0.5 * CELLS as f64) * width
            };
            let high = if n + 1 == CELLS {
                f64::INFINITY
            } else {
                (n as f64 + 1.0 - 0.5 * CELLS as f64) * width
            };
            let (open_low, open_high) = (low.max(window[0]), high.min(window[1]));
            let open = if open_high > open_low {
                probability_between(open_low, open_high, source)
            } else {
                0.0
            };
            let share = head.jaw_transmission * probability_between(low, high, source)
                + (1.0 - head.jaw_transmission) * open;
            let middle = if open > 0.0 {
                0.5 * (within_cells(open_low, width) + within_cells(open_high, width))
            } else {
                0.5 * (within_cells(low, width) + within_cells(high, width))
            };
            let leaf = head.leaf_distance_mm;
            let at_leaves = point
                + (middle - point) * (distance_mm - leaf) / (distance_mm - source.distance_mm);
            let (pixel, part) = low_and_part(shutter.raster, axis, at_leaves * head.sad_mm / leaf);
            Ray { share, pixel, part }
        })
        .filter(|r| r.share > 1e-9)
        .collect()
}

fn probability_between(a: f64, b: f64, source: &ExtraFocal) -> f64 {
    (cumulative(b / source.sigma_mm) - cumulative(a / source.sigma_mm)).max(0.0)
}

fn within_cells(x: f64, width: f64) -> f64 {
    x.clamp(-0.5 * CELLS as f64 * width, 0.5 * CELLS as f64 * width)
}

/// Position on the plane of the source, mm, of the line from a point through a position at `plane_mm`.
pub fn on_source(
    source: &ExtraFocal,
    point_mm: f64,
    distance_mm: f64,
    through_mm: f64,
    plane_mm: f64,
) -> f64 {
    point_mm
        + (through_mm - point_mm) * (distance_mm - source.distance_mm) / (distance_mm - plane_mm)
}

fn low_and_part(r: &Raster, axis: usize, mm: f64) -> (usize, f64) {
    let last = r.size[axis] - 1;
    let x = r.index(axis, mm).clamp(0.0, last as f64);
    let low = (x as usize).min(last.saturating_sub(1));
    (low, x - low as f64)
}

/// The value between four pixels; `place` has the lower pixel and the part of the way to the next, along u and v.
fn bilinear(image: &[f32], width: usize, place: [(usize, f64); 2]) -> f64 {
    let [(i, s), (j, t)] = place;
    let (right, above) = (
        if s > 0.0 { i + 1 } else { i },
        if t > 0.0 { j + 1 } else { j },
    );
    let low = pixel_at(i, j, image, width)
        + s * (pixel_at(right, j, image, width) - pixel_at(i, j, image, width));
    let high = pixel_at(i, above, image, width)
        + s * (pixel_at(right, above, image, width) - pixel_at(i, above, image, width));
    low + t * (high - low)
}

fn pixel_at(i: usize, j: usize, image: &[f32], width: usize) -> f64 {
    f64::from(image[j * width + i])
}
