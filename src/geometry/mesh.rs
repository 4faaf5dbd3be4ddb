//! Surfaces as triangles: of a mask at half coverage, of a volume at a level.
//!
//! Naive surface nets (Gibson, MICCAI 1998, LNCS 1496:888): each cell of a lattice that the surface crosses has one
//! vertex, at the mean of the crossings of its edges; each crossed edge has two triangles between its four cells.

use super::{Grid, Mask, Volume};
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// A corner of triangles, as graphics devices read it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct MeshVertex {
    /// Patient LPS, mm.
    pub at_mm: [f32; 3],
    /// Unit vector out of the volume.
    pub normal: [f32; 3],
}

/// A surface of triangles, counter-clockwise as seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    pub vertices: Vec<MeshVertex>,
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// A surface of corners (patient LPS, mm) and triangles; normals are means over the triangles of a corner, by area.
    pub fn new(corners_mm: &[DVec3], triangles: Vec<[u32; 3]>) -> Self {
        let mut normals = vec![DVec3::ZERO; corners_mm.len()];
        for triangle in &triangles {
            let [a, b, c] = triangle.map(|n| corners_mm[n as usize]);
            let normal = (b - a).cross(c - a);
            triangle.iter().for_each(|n| normals[*n as usize] += normal);
        }
        Self {
            vertices: corners_mm
                .iter()
                .zip(normals)
                .map(|(place_mm, normal): (&DVec3, DVec3)| MeshVertex {
                    at_mm: place_mm.as_vec3().to_array(),
                    normal: normal.normalize_or_zero().as_vec3().to_array(),
                })
                .collect(),
            triangles,
        }
    }

    /// The surface of a mask at half coverage, sampled about every `step_mm`, no finer than its voxels.
    pub fn of_mask(mask: &Mask, step_mm: f64) -> Self {
        let blocks: [Blocks; 3] = std::array::from_fn(|axis| {
            let first = mask.offset()[axis];
            let edges = &mask.grid().edges_mm(axis)[first..=first + mask.size()[axis]];
            Blocks::new(edges, step_mm)
        });
        let [nx, ny, nz] = [0, 1, 2].map(|axis| blocks[axis].voxels.len() + 2);
        let mut values = vec![0.0_f32; nx * ny * nz];
        values
            .par_chunks_mut(nx * ny)
            .enumerate()
            .skip(1)
            .take(nz - 2)
            .for_each(|(k, plane)| {
                let planes = blocks[2].voxels[k - 1].clone();
                let share = 1.0 / (255.0 * blocks[2].total_mm(planes.clone()));
                for z in planes {
                    let weight = blocks[2].width_mm(z) * share;
                    for (j, rows) in blocks[1].voxels.iter().enumerate() {
                        for y in rows.clone() {
                            let (first, row) = mask.row(y, z);
                            for (i, voxels) in blocks[0].voxels.iter().enumerate() {
                                let sum: u32 = row[place_in_row(voxels.start, first, row)
                                    ..place_in_row(voxels.end, first, row)]
                                    .iter()
                                    .map(|c| u32::from(*c))
                                    .sum();
                                let mean = f64::from(sum) / (voxels.len() * rows.len()) as f64;
                                plane[(j + 1) * nx + i + 1] += (weight * mean) as f32;
                            }
                        }
                    }
                }
            });
        Lattice {
            at_mm: blocks.map(|b| b.nodes_mm()),
            values,
        }
        .surface(mask.grid(), 0.5)
    }

    /// The surface on which a volume has the value `level`, over zero: higher values are inside. Sampled at every
    /// voxel, or every few where voxels are much smaller than `step_mm`: parts smaller than that may be missing. It is
    /// closed where the volume ends.
    pub fn of_level(volume: &Volume<f32>, level: f32, step_mm: f64) -> Self {
        if level.is_nan() || level <= 0.0 {
            return Self::default();
        }
        let Some(inside) = volume.box_of(|v| v >= level) else {
            return Self::default();
        };
        let grid = volume.grid();
        let size = grid.size();
        let indices: [Vec<i64>; 3] = std::array::from_fn(|axis| {
            let edges = grid.edges_mm(axis);
            let spacing = (edges[size[axis]] - edges[0]) / size[axis] as f64;
            let stride = ((step_mm / spacing).round() as i64).max(1);
            let Range { start, end } = inside[axis];
            let count = (end as i64 - start as i64 + stride - 1) / stride + 2;
            (0..count)
                .map(|n| start as i64 + (n - 1) * stride)
                .collect()
        });
        let at_mm: [Vec<f64>; 3] = std::array::from_fn(|axis| {
            indices[axis]
                .iter()
                .map(|i| centre_mm(grid, axis, *i))
                .collect()
        });
        let [nx, ny, nz] = [0, 1, 2].map(|axis| indices[axis].len());
        let mut values = vec![0.0_f32; nx * ny * nz];
        let voxel = |axis: usize, n: usize| {
            usize::try_from(indices[axis][n])
                .ok()
                .filter(|i| *i < size[axis])
        };
        values
            .par_chunks_mut(nx * ny)
            .enumerate()
            .for_each(|(k, plane)| {
                for (n, value) in plane.iter_mut().enumerate() {
                    if let (Some(x), Some(y), Some(z)) =
                        (voxel(0, n % nx), voxel(1, n / nx), voxel(2, k))
                    {
                        *value = volume.at(x, y, z);
                    }
                }
            });
        Lattice { at_mm, values }.surface(grid, level)
    }

    /// The enclosed volume, mm3, by the divergence theorem.
    pub fn volume_mm3(&self) -> f64 {
        self.triangles
            .iter()
            .map(|t| {
                let [a, b, c] =
                    t.map(|n| DVec3::from(self.vertices[n as usize].at_mm.map(f64::from)));
                a.dot(b.cross(c)) / 6.0
            })
            .sum()
    }

    /// The corners, patient LPS, mm.
    pub fn corners_mm(&self) -> impl Iterator<Item = DVec3> + '_ {
        self.vertices
            .iter()
            .map(|v| DVec3::from(v.at_mm.map(f64::from)))
    }

    /// Its box: the lowest and the highest corner, patient LPS, mm; `None` without corners.
    pub fn bounds_mm(&self) -> Option<[DVec3; 2]> {
        (!self.vertices.is_empty()).then(|| {
            self.corners_mm().fold(
                [DVec3::MAX, DVec3::MIN],
                |[low, high]: [DVec3; 2], p: DVec3| [low.min(p), high.max(p)],
            )
        })
    }
}

fn place_in_row(x: usize, first: usize, row: &[u8]) -> usize {
    x.saturating_sub(first).min(row.len())
}

/// Voxels of an axis in groups of about equal width.
struct Blocks {
    /// Sides of all voxels, mm.
    edges_mm: Vec<f64>,
    voxels: Vec<Range<usize>>,
}

impl Blocks {
    fn new(edges_mm: &[f64], step_mm: f64) -> Self {
        let size = edges_mm.len() - 1;
        let count = (((edges_mm[size] - edges_mm[0]) / step_mm).round() as usize).clamp(1, size);
        let voxels = (0..count)
            .map(|n| n * size / count..(n + 1) * size / count)
            .collect();
        Self {
            edges_mm: edges_mm.to_vec(),
            voxels,
        }
    }

    fn width_mm(&self, voxel: usize) -> f64 {
        self.edges_mm[voxel + 1] - self.edges_mm[voxel]
    }

    fn total_mm(&self, voxels: Range<usize>) -> f64 {
        self.edges_mm[voxels.end] - self.edges_mm[voxels.start]
    }

    /// Middles of the blocks, between the middles of an empty block at either end, mm.
    fn nodes_mm(&self) -> Vec<f64> {
        let inner: Vec<f64> = self
            .voxels
            .iter()
            .map(|v: &Range<usize>| 0.5 * (self.edges_mm[v.start] + self.edges_mm[v.end]))
            .collect();
        let (first, last) = (self.edges_mm[0], self.edges_mm[self.edges_mm.len() - 1]);
        // The half of an empty neighbour is as wide as the outermost block's half: half coverage lies on the rim.
        let ends = [2.0 * first - inner[0], 2.0 * last - inner[inner.len() - 1]];
        std::iter::once(ends[0])
            .chain(inner)
            .chain(std::iter::once(ends[1]))
            .collect()
    }
}

/// Centre of a voxel along an axis in the grid's frame, mm; beyond the grid the outermost spacing goes on.
fn centre_mm(grid: &Grid, axis: usize, index: i64) -> f64 {
    if axis < 2 {
        return index as f64 * grid.spacing_xy_mm()[axis];
    }
    let planes = grid.planes_mm();
    let last = planes.len() - 1;
    let inside = index.clamp(0, last as i64);
    let beyond = (index - inside) as f64;
    let end = if index < 0 { 0 } else { last };
    planes[inside as usize] + beyond * grid.plane_thickness_mm(end)
}

/// Values at the nodes of a lattice along the axes of a grid; the outermost ones are outside of the surface.
struct Lattice {
    /// In the grid's frame, ascending.
    at_mm: [Vec<f64>; 3],
    /// `[z][y][x]`.
    values: Vec<f32>,
}

/// No vertex.
const NONE: u32 = u32::MAX;

impl Lattice {
    fn surface(&self, grid: &Grid, level: f32) -> Mesh {
        let [nx, ny, nz] = [0, 1, 2].map(|axis| self.at_mm[axis].len());
        let step = [1, nx, nx * ny];
        let inside = |n: usize| self.values[n] >= level;
        let mut vertex_of = vec![NONE; self.values.len()];
        let mut corners = Vec::new();
        for (z, y, x) in cells([nx, ny, nz]) {
            let first = node_index(x, y, z, [nx, ny]);
            let count = (0..8)
                .filter(|c| inside(corner_node(*c, first, step)))
                .count();
            if count == 0 || count == 8 {
                continue;
            }
            let place = |c: usize| {
                let [i, j, k] = [x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)];
                DVec3::new(self.at_mm[0][i], self.at_mm[1][j], self.at_mm[2][k])
            };
            let (mut sum, mut crossings) = (DVec3::ZERO, 0.0);
            for (a, b) in EDGES {
                let (from, to) = (
                    self.values[corner_node(a, first, step)],
                    self.values[corner_node(b, first, step)],
                );
                if (from >= level) != (to >= level) {
                    let share = f64::from((level - from) / (to - from));
                    // A dose that is no number is outside, and the surface half-way to it.
                    let share = if share.is_finite() {
                        share.clamp(0.0, 1.0)
                    } else {
                        0.5
                    };
                    sum += place(a).lerp(place(b), share);
                    crossings += 1.0;
                }
            }
            vertex_of[first] = corners.len() as u32;
            corners.push(grid.patient_from_local(sum / crossings));
        }
        let mut triangles = Vec::with_capacity(2 * corners.len());
        for (z, y, x) in cells([nx, ny, nz]) {
            let from = node_index(x, y, z, [nx, ny]);
            for axis in 0..3 {
                let to = from + step[axis];
                if inside(from) == inside(to) {
                    continue;
                }
                // The outermost nodes are outside, so there are four cells round the edge: counter-clockwise as seen
                // against the axis.
                let (u, v) = (step[(axis + 1) % 3], step[(axis + 2) % 3]);
                let mut round =
                    [from - u - v, from - v, from, from - u].map(|cell| vertex_of[cell]);
                if round.contains(&NONE) {
                    continue;
                }
                if !inside(from) {
                    round.reverse();
                }
                let [a, b, c, d] = round;
                let [corner_a, corner_b, corner_c, corner_d] = round.map(|n| corners[n as usize]);
                if corner_a.distance_squared(corner_c) <= corner_b.distance_squared(corner_d) {
                    triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    triangles.extend([[a, b, d], [b, c, d]]);
                }
            }
        }
        Mesh::new(&corners, triangles)
    }
}

fn node_index(x: usize, y: usize, z: usize, [nx, ny]: [usize; 2]) -> usize {
    (z * ny + y) * nx + x
}

/// The node at a corner of a cell: bits 0 to 2 of `c` are steps along x, y and z.
fn corner_node(c: usize, first: usize, step: [usize; 3]) -> usize {
    first + (c & 1) * step[0] + (c >> 1 & 1) * step[1] + (c >> 2) * step[2]
}

/// Pairs of a cell's corners (bits: x, y, z) that an edge joins.
const EDGES: [(usize, usize); 12] = [
    (0, 1),
    (2, 3),
    (4, 5),
    (6, 7),
    (0, 2),
    (1, 3),
    (4, 6),
    (5, 7),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
];

/// Cells of a lattice with this number of nodes: z, y, x.
fn cells(nodes: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    let [columns, rows, planes] = nodes.map(|count| count.saturating_sub(1));
    (0..planes).flat_map(move |z| (0..rows).flat_map(move |y| (0..columns).map(move |x| (z, y, x))))
}

#[cfg(test)]
mod tests;
