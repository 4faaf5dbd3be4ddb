//! The exact sum over the voxels that a ray passes.
//!
//! Planes are measured from the source and every crossing is a separate product, as in [`geometry::walk`]. There are two
//! loops: layer by layer along the axis whose planes the ray crosses most often, and within a layer the one or two planes across,
//! if any. The inner loop is mostly empty, which branch prediction handles: half the time of one loop over the next axis.

use crate::drr::rays::{Image, Rays};
use glam::DVec3;

pub(super) struct Walk<'a> {
    rays: &'a Rays,
    image: &'a Image,
    /// Along each axis the edges of the voxels that hold anything, mm from the source; empty where none does.
    edges: [Vec<f64>; 3],
    strides: [usize; 3],
    /// Index of the first voxel of that box.
    first: usize,
}

impl<'a> Walk<'a> {
    pub fn new(rays: &'a Rays, image: &'a Image) -> Self {
        let grid = rays.attenuation.grid();
        let [nx, ny, _] = grid.size();
        let part = rays.content.part.clone().unwrap_or([0..0, 0..0, 0..0]);
        let edges = [0, 1, 2].map(|axis| match &rays.content.part {
            Some(part) => {
                let volume_edges = grid.edges_mm(axis);
                volume_edges[part[axis].start..=part[axis].end]
                    .iter()
                    .map(|e| e - image.source[axis])
                    .collect()
            }
            None => Vec::new(),
        });
        let first = grid.index(part[0].start, part[1].start, part[2].start);
        Self {
            rays,
            image,
            edges,
            strides: [1, nx, nx * ny],
            first,
        }
    }

    pub fn fill(&self, pixels: &[u32], out: &mut [f32]) {
        for (&pixel, out) in pixels.iter().zip(out) {
            let ray = self.image.ray(pixel, self.rays.columns);
            *out = self.integral(ray.to - ray.from) as f32;
        }
    }

    /// `to`: from the source to the pixel, mm.
    fn integral(&self, to: DVec3) -> f64 {
        let Some([enter, leave]) = self.clipped(to) else {
            return 0.0;
        };
        let crossings = |axis: usize| {
            let edges = &self.edges[axis];
            to[axis].abs() * (edges.len() - 1) as f64 / (edges[edges.len() - 1] - edges[0])
        };
        // The axis crossed most is the outer loop: the inner one, over the others, is seldom entered, which processors predict.
        let outer = if crossings(1) >= crossings(0) { 1 } else { 0 };
        let outer = if crossings(2) > crossings(outer) {
            2
        } else {
            outer
        };
        let [across, other] = [[1, 2], [0, 2], [0, 1]][outer];
        let mut voxel = self.first;
        let mut axis = |axis: usize| {
            Axis::new(
                &self.edges[axis],
                self.strides[axis],
                to[axis],
                enter,
                &mut voxel,
            )
        };
        let (mut along, mut across, mut other) = (axis(outer), axis(across), axis(other));
        let values = self.rays.attenuation.data();
        let (mut sum, mut alpha) = (0.0, enter);
        loop {
            let end = along.next.min(leave);
            while across.next < end || other.next < end {
                // Not by a reference to either, which would keep both in memory.
                let crossing = across.next.min(other.next);
                sum += f64::from(values[voxel]) * (crossing - alpha);
                alpha = crossing;
                if across.next <= other.next {
                    across.cross(&mut voxel);
                } else {
                    other.cross(&mut voxel);
                }
            }
            sum += f64::from(values[voxel]) * (end - alpha);
            alpha = end;
            if end >= leave {
                return sum * to.length();
            }
            along.cross(&mut voxel);
        }
    }

    /// Parameters at which the ray enters and leaves the box, 0 at the source to 1 at the pixel: the very products that
    /// the walk compares, so that no rounding leads out of it.
    fn clipped(&self, to: DVec3) -> Option<[f64; 2]> {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for axis in 0..3 {
            let edges = &self.edges[axis];
            let (low, high) = (*edges.first()?, *edges.last()?);
            let inverse = to[axis].recip();
            if inverse.is_finite() {
                let (a, b) = (low * inverse, high * inverse);
                enter = enter.max(a.min(b));
                leave = leave.min(a.max(b));
            } else if !(low <= 0.0 && 0.0 < high) {
                return None;
            }
        }
        (enter < leave).then_some([enter, leave])
    }
}

/// A walk along one axis.
struct Axis<'a> {
    edges: &'a [f64],
    inverse: f64,
    /// The next plane, and `alpha` there; infinite beyond the last.
    plane: usize,
    next: f64,
    /// Increment of a step (wrapping) to `plane` and to the voxel's index.
    plane_step: usize,
    voxel_step: usize,
}

impl<'a> Axis<'a> {
    /// At `enter`; adds to `voxel` how far it lies along the axis.
    fn new(edges: &'a [f64], stride: usize, to: f64, enter: f64, voxel: &mut usize) -> Self {
        let inverse = to.recip();
        let count = edges.len() - 1;
        if !inverse.is_finite() {
            *voxel += (edges.partition_point(|&e| e <= 0.0).clamp(1, count) - 1) * stride;
            return Self {
                edges,
                inverse,
                plane: 0,
                next: f64::INFINITY,
                plane_step: 0,
                voxel_step: 0,
            };
        }
        let (plane, low, plane_step, voxel_step) = if inverse > 0.0 {
            let ahead = edges
                .partition_point(|&e| e * inverse <= enter)
                .clamp(1, count);
            (ahead, ahead - 1, 1, stride)
        } else {
            let ahead = edges
                .partition_point(|&e| e * inverse > enter)
                .clamp(1, count)
                - 1;
            (ahead, ahead, 1_usize.wrapping_neg(), stride.wrapping_neg())
        };
        *voxel += low * stride;
        Self {
            edges,
            inverse,
            plane,
            next: edges[plane] * inverse,
            plane_step,
            voxel_step,
        }
    }

    #[inline(always)]
    fn cross(&mut self, voxel: &mut usize) {
        *voxel = voxel.wrapping_add(self.voxel_step);
        self.plane = self.plane.wrapping_add(self.plane_step);
        self.next = self
            .edges
            .get(self.plane)
            .map_or(f64::INFINITY, |edge| edge * self.inverse);
    }
}
