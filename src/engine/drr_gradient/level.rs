//! DRRs and their gradient by pose, for the pose search: on an even grid, at listed pixels.
//!
//! The derivative of a pixel by a number of the pose is the line integral of the attenuation's gradient times the
//! velocity of the ray's points, taken where it is trilinear. [`Level`] is a CT made coarse enough for a level of the
//! search.

use super::information::Information;
use super::rank::Rank;
use super::sums::Features;
use crate::cache::{ByteSize, Cache};
use case::Pose;
use geometry::{Grid, Projection, Volume, VolumeId};
use glam::DVec3;
use rayon::prelude::*;
use std::convert::Infallible;
use std::sync::Arc;

/// Numbers of a pose: `tx ty tz` in mm, `rx ry rz` in degrees.
pub const AXES: usize = 6;

/// X-rays of several views, prepared for comparison with DRRs.
#[derive(Clone, Debug)]
pub enum Compared<'a> {
    /// Rays count view after view.
    Correlation(Features),
    Information(Vec<&'a Information>),
    Rank(Vec<&'a Rank>),
}

/// Line integrals (no unit) with their derivatives by each number of the pose (1/mm, 1/degree), one a pixel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrrWithGradient {
    pub integrals: Vec<f32>,
    pub gradient: [Vec<f32>; AXES],
}

/// Attenuation on an even grid whose outermost voxels are 0, as is everything outside.
#[derive(Clone, Debug)]
pub struct Level {
    /// 1/mm, `[z][y][x]`, x fastest; the outermost voxels are 0.
    values: Vec<f32>,
    size: [usize; 3],
    spacing_mm: DVec3,
    /// Patient LPS position of the centre of voxel (0, 0, 0).
    origin_mm: DVec3,
    /// Unit vectors of x, y, z in patient LPS.
    axes: [DVec3; 3],
    /// The averaged attenuation, and the requested side of voxels.
    of: (VolumeId, f64),
}

impl ByteSize for Level {
    fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

impl Level {
    /// As [`Level::new`], cached: a search is often followed by another of the same CT.
    pub fn kept(attenuation: &Volume<f32>, side_mm: f64, cache: &Cache) -> Arc<Self> {
        let Ok(level) = cache.get((attenuation.id(), side_mm), || {
            Ok::<_, Infallible>(Self::new(attenuation, side_mm))
        });
        level
    }

    /// Its key in a card's cache; `None` for sides that searches do not use.
    pub fn key(&self) -> Option<(VolumeId, &'static str)> {
        let names = [
            (8.0, "8 mm level"),
            (4.0, "4 mm level"),
            (2.0, "2 mm level"),
        ];
        names
            .iter()
            .find(|n| n.0 == self.of.1)
            .map(|n| (self.of.0, n.1))
    }

    /// Averages an attenuation (1/mm) over voxels with sides of `side_mm`, or its own where they are longer. Uneven planes
    /// become even ones. Values that are not finite count as 0; empty planes around the patient are left out.
    pub fn new(attenuation: &Volume<f32>, side_mm: f64) -> Self {
        let grid = attenuation.grid();
        let mut parts: [Vec<AxisWeights>; 3] =
            std::array::from_fn(|axis| parts(grid, axis, side_mm));
        let part = attenuation
            .box_of(|v| v.is_finite() && v > 0.0)
            .unwrap_or([0..1, 0..1, 0..1]);
        let first = std::array::from_fn::<usize, 3, _>(|axis| {
            let touches = |p: &AxisWeights| {
                p.from < part[axis].end && p.from + p.weights.len() > part[axis].start
            };
            let begin = parts[axis].iter().position(touches).unwrap_or(0);
            let end = parts[axis]
                .iter()
                .rposition(touches)
                .map_or(begin + 1, |last| last + 1);
            parts[axis].truncate(end);
            parts[axis].drain(..begin);
            begin
        });
        let inner = [0, 1, 2].map(|axis| parts[axis].len());
        let size = inner.map(|n| n + 2);
        let edges = [0, 1, 2].map(|axis| grid.edges_mm(axis));
        let spacing_mm = DVec3::from([0, 1, 2].map(|axis| {
            let e = &edges[axis];
            (e[e.len() - 1] - e[0]) / count(grid, axis, side_mm) as f64
        }));
        let corner = DVec3::from(
            [0, 1, 2].map(|axis| edges[axis][0] + (first[axis] as f64 - 0.5) * spacing_mm[axis]),
        );
        Self {
            values: averaged(attenuation, &parts, size),
            size,
            spacing_mm,
            origin_mm: grid.patient_from_local(corner),
            axes: grid.axes(),
            of: (attenuation.id(), side_mm),
        }
    }

    /// 1/mm, `[z][y][x]`, x fastest; the outermost voxels are 0.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Voxels along x, y, z, with the empty border.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Sides of a voxel, mm.
    pub fn spacing_mm(&self) -> DVec3 {
        self.spacing_mm
    }

    /// The smallest side of a voxel, mm.
    pub fn side_mm(&self) -> f64 {
        self.spacing_mm.min_element()
    }

    /// Patient position -> continuous voxel index.
    fn index(&self, p: DVec3) -> DVec3 {
        self.direction(p - self.origin_mm)
    }

    fn direction(&self, d: DVec3) -> DVec3 {
        DVec3::new(
            d.dot(self.axes[0]),
            d.dot(self.axes[1]),
            d.dot(self.axes[2]),
        ) / self.spacing_mm
    }

    /// The rays of a view at a pose.
    pub fn shot(&self, projection: &Projection, pose: &Pose, centre_mm: DVec3) -> Shot {
        let turned = pose.rotation().transpose();
        let vector = |v: DVec3| self.direction(turned * v);
        Shot {
            source: self.index(pose.undo(projection.source_mm(), centre_mm)),
            origin: self.index(pose.undo(projection.origin_mm(), centre_mm)),
            column_step: vector(projection.column_step_mm()),
            row_step: vector(projection.row_step_mm()),
            columns: projection.columns(),
            spacing_mm: self.spacing_mm,
        }
    }

    /// How the rays of a view move with each number of the pose.
    pub fn motion(&self, projection: &Projection, pose: &Pose, centre_mm: DVec3) -> [Shot; AXES] {
        // Central differences of exact expressions in f64: good to about 1e-9.
        const STEP: f64 = 1e-3;
        std::array::from_fn(|axis| {
            let [ahead, behind] = [STEP, -STEP]
                .map(|step| self.shot(projection, &moved(pose, axis, step), centre_mm));
            ahead.minus(&behind, 0.5 / STEP)
        })
    }
}

/// A pose with one of its numbers changed.
pub fn moved(pose: &Pose, axis: usize, by: f64) -> Pose {
    let mut numbers = numbers(pose);
    numbers[axis] += by;
    pose_of(numbers)
}

/// `tx ty tz rx ry rz`.
pub fn numbers(pose: &Pose) -> [f64; AXES] {
    let (t, r) = (pose.translation_mm, pose.rotation_deg);
    [t.x, t.y, t.z, r.x, r.y, r.z]
}

/// The pose of `tx ty tz rx ry rz`.
pub fn pose_of([tx, ty, tz, rx, ry, rz]: [f64; AXES]) -> Pose {
    Pose::new([tx, ty, tz], [rx, ry, rz])
}

/// Source and image in voxel indices of a level, or their derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    pub source: DVec3,
    /// Centre of pixel (0, 0).
    pub origin: DVec3,
    pub column_step: DVec3,
    pub row_step: DVec3,
    pub columns: usize,
    pub spacing_mm: DVec3,
}

impl Shot {
    fn minus(&self, other: &Self, scale: f64) -> Self {
        Self {
            source: (self.source - other.source) * scale,
            origin: (self.origin - other.origin) * scale,
            column_step: (self.column_step - other.column_step) * scale,
            row_step: (self.row_step - other.row_step) * scale,
            ..*self
        }
    }

    /// From the source to a pixel's centre.
    pub fn way(&self, pixel: u32) -> DVec3 {
        let (column, row) = (pixel as usize % self.columns, pixel as usize / self.columns);
        self.origin + self.column_step * column as f64 + self.row_step * row as f64 - self.source
    }
}

/// Source voxels along an axis that a coarse voxel averages, with their weights.
struct AxisWeights {
    from: usize,
    weights: Vec<f32>,
}

/// How many voxels of `side_mm` along an axis, or its own.
fn count(grid: &Grid, axis: usize, side_mm: f64) -> usize {
    let edges = grid.edges_mm(axis);
    let length = edges[edges.len() - 1] - edges[0];
    ((length / side_mm).ceil().max(1.0) as usize).min(grid.size()[axis])
}

fn parts(grid: &Grid, axis: usize, side_mm: f64) -> Vec<AxisWeights> {
    let edges = grid.edges_mm(axis);
    let count = count(grid, axis, side_mm);
    let side = (edges[edges.len() - 1] - edges[0]) / count as f64;
    (0..count)
        .map(|n| {
            let low = edges[0] + n as f64 * side;
            let high = low + side;
            // A hair of a neighbour is none of it.
            let hair = 1e-6 * side;
            let from = edges.partition_point(|e| *e <= low + hair).max(1) - 1;
            let end = edges
                .partition_point(|e| *e < high - hair)
                .min(edges.len() - 1);
            AxisWeights {
                from,
                weights: (from..end.max(from + 1))
                    .map(|v| ((edges[v + 1].min(high) - edges[v].max(low)).max(0.0) / side) as f32)
                    .collect(),
            }
        })
        .collect()
}

fn averaged(
    attenuation: &Volume<f32>,
    parts: &[Vec<AxisWeights>; 3],
    size: [usize; 3],
) -> Vec<f32> {
    let [nx, _, _] = attenuation.grid().size();
    let mut values = vec![0.0; size[0] * size[1] * size[2]];
    let planes = values[size[0] * size[1]..].par_chunks_mut(size[0] * size[1]);
    planes.zip(&parts[2]).for_each(|(plane, z)| {
        let mut row = vec![0.0f32; nx];
        for (j, y) in parts[1].iter().enumerate() {
            row.fill(0.0);
            for (k, wz) in z.weights.iter().enumerate() {
                let old = attenuation.plane(z.from + k);
                for (l, wy) in y.weights.iter().enumerate() {
                    let weight = wz * wy;
                    let first = (y.from + l) * nx;
                    for (sum, v) in row.iter_mut().zip(&old[first..first + nx]) {
                        *sum += if v.is_finite() { weight * v } else { 0.0 };
                    }
                }
            }
            let out = &mut plane[(j + 1) * size[0] + 1..(j + 2) * size[0] - 1];
            for (out, x) in out.iter_mut().zip(&parts[0]) {
                *out = x
                    .weights
                    .iter()
                    .zip(&row[x.from..])
                    .map(|(w, v)| w * v)
                    .sum();
            }
        }
    });
    values
}
