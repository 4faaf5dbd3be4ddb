//! Structures by CT number.

use super::{ContouringError, MadeContours, OperationContext};
use case::Structure;
use geometry::polygons::{self, Boolean, Ring};
use geometry::{Plane, Stack, field_rings};
use glam::DVec3;

/// A rectangle of voxels of a plane.
struct Window {
    low: [usize; 2],
    size: [usize; 2],
}

impl OperationContext<'_> {
    /// The part of a structure within CT numbers; between voxel centres the outline runs where their linear
    /// interpolation crosses a limit.
    pub(super) fn threshold(
        &self,
        structure: &Structure,
        stack: &Stack,
        hu: [f32; 2],
    ) -> Result<MadeContours, ContouringError> {
        let [low, high] = range(hu)?;
        let planes = self.by_hu(stack, |_, value| (low - value).max(value - high))?;
        self.finished(planes, || ContouringError::NoHu {
            structure: structure.name.clone(),
            low,
            high,
        })
    }

    /// The voxels within CT numbers that hang together by their faces with the one at a position, within a structure.
    pub(super) fn region(
        &self,
        structure: &Structure,
        stack: &Stack,
        hu: [f32; 2],
        from_mm: DVec3,
    ) -> Result<MadeContours, ContouringError> {
        let [low, high] = range(hu)?;
        let outside = || ContouringError::SeedOutside(structure.name.clone());
        let seed = self.grid.voxel_at(from_mm).ok_or_else(outside)?;
        let allowed = self.allowed(stack)?;
        let [nx, ny, nz] = self.grid.size();
        let data = self.ct.hu.data();
        let first = self.grid.index(seed[0], seed[1], seed[2]);
        if !allowed[first] {
            return Err(outside());
        }
        if !(low..=high).contains(&data[first]) {
            return Err(ContouringError::SeedHu {
                at: data[first],
                low,
                high,
            });
        }
        let mut reached = vec![false; data.len()];
        let mut open = vec![first];
        reached[first] = true;
        let mut count = 0_usize;
        while let Some(voxel) = open.pop() {
            count += 1;
            if count.is_multiple_of(1 << 16) {
                self.check()?;
                self.control.report(count as f32 / data.len() as f32);
            }
            let (i, j, k) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
            let neighbours = [
                (i > 0, voxel.wrapping_sub(1)),
                (i + 1 < nx, voxel + 1),
                (j > 0, voxel.wrapping_sub(nx)),
                (j + 1 < ny, voxel + nx),
                (k > 0, voxel.wrapping_sub(nx * ny)),
                (k + 1 < nz, voxel + nx * ny),
            ];
            for (is_there, n) in neighbours {
                if is_there && !reached[n] && allowed[n] && (low..=high).contains(&data[n]) {
                    reached[n] = true;
                    open.push(n);
                }
            }
        }
        let planes = self.by_hu(stack, |n, value| {
            let beyond = (low - value).max(value - high);
            // Voxels of the range that do not hang together lie outside; a voxel on a limit still counts.
            if reached[n] {
                beyond.min(-1e-3)
            } else {
                beyond.abs().max(1.0)
            }
        })?;
        self.finished(planes, outside)
    }

    /// Voxels whose centre lies in the structure.
    fn allowed(&self, stack: &Stack) -> Result<Vec<bool>, ContouringError> {
        let mut allowed = vec![false; self.grid.len()];
        let [dx, dy] = self.grid.spacing_xy_mm();
        for (k, &z_mm) in self.grid.planes_mm().iter().enumerate() {
            self.check()?;
            let rings = stack.section(z_mm);
            let Some(window) = self.window(rings) else {
                continue;
            };
            for j in window.low[1]..window.low[1] + window.size[1] {
                let row = row_spans(rings, j as f64 * dy);
                for span in row.chunks_exact(2) {
                    let first = (span[0] / dx).ceil().max(0.0) as usize;
                    let end = ((span[1] / dx).floor() + 1.0).clamp(0.0, self.grid.size()[0] as f64)
                        as usize;
                    let base = self.grid.index(0, j, k);
                    if first < end {
                        allowed[base + first..base + end]
                            .iter_mut()
                            .for_each(|v| *v = true);
                    }
                }
            }
        }
        Ok(allowed)
    }

    /// Outlines of where `field` (of a voxel's index and CT number) is negative, within the structure, on the CT's planes.
    fn by_hu(
        &self,
        stack: &Stack,
        field: impl Fn(usize, f32) -> f32,
    ) -> Result<Vec<Plane>, ContouringError> {
        let data = self.ct.hu.data();
        let [dx, dy] = self.grid.spacing_xy_mm();
        let heights = self.grid.planes_mm();
        let mut planes = Vec::new();
        for (k, &z_mm) in heights.iter().enumerate() {
            self.check()?;
            self.control.report(k as f32 / heights.len() as f32);
            let section = stack.section(z_mm);
            let Some(window) = self.window(section) else {
                continue;
            };
            let values: Vec<f32> = (0..window.size[1])
                .flat_map(|j| {
                    let base = self.grid.index(window.low[0], window.low[1] + j, k);
                    (base..base + window.size[0])
                        .map(|n| field(n, data[n]))
                        .collect::<Vec<_>>()
                })
                .collect();
            let [i0, j0] = window.low.map(|low| low as f64);
            let rings: Vec<Ring> = field_rings(&values, window.size)
                .iter()
                .map(|ring| {
                    ring.iter()
                        .map(|[i, j]| [(i + i0) * dx, (j + j0) * dy])
                        .collect()
                })
                .map(|ring: Ring| polygons::thinned(&ring, 0.05))
                .collect();
            let rings = polygons::combine(&rings, section, Boolean::Intersection);
            if !rings.is_empty() {
                planes.push(Plane { z_mm, rings });
            }
        }
        Ok(planes)
    }

    /// The voxels round rings, with two more on every side where the CT has them.
    fn window(&self, rings: &[Ring]) -> Option<Window> {
        let spacing = self.grid.spacing_xy_mm();
        let size = self.grid.size();
        let mut window = Window {
            low: [0; 2],
            size: [0; 2],
        };
        for axis in 0..2 {
            let voxels = rings.iter().flatten().map(|p| p[axis] / spacing[axis]);
            let (low, high) = voxels.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            let first = (low - 2.0).floor().max(0.0);
            let end = (high + 3.0).ceil().min(size[axis] as f64);
            if first >= end {
                return None;
            }
            window.low[axis] = first as usize;
            window.size[axis] = end as usize - first as usize;
        }
        Some(window)
    }
}

/// Crossings of a level line with the rings, ascending.
fn row_spans(rings: &[Ring], y: f64) -> Vec<f64> {
    let mut spans = Vec::new();
    for ring in rings {
        let Some(mut from) = ring.last() else {
            continue;
        };
        for to in ring {
            if (from[1] > y) != (to[1] > y) {
                spans.push(from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]));
            }
            from = to;
        }
    }
    spans.sort_by(f64::total_cmp);
    spans
}

fn range([low, high]: [f32; 2]) -> Result<[f32; 2], ContouringError> {
    if low < high {
        Ok([low, high])
    } else {
        Err(ContouringError::Range)
    }
}
