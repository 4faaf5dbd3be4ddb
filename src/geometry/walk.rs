//! Voxel walks on the CPU; `kernels/walk.cuh` lists those on a card.
//!
//! | walk | job | why |
//! | --- | --- | --- |
//! | [`nested`] | radiological depth where rays are not steep along columns, the body's outline, selftest | exact, uneven planes |
//! | [`pieces`] | radiological depth by columns | a row of rays crosses the columns' planes at the same `alpha` |
//! | [`even`] | Monte Carlo | rays from anywhere on an even lattice: no table of planes |
//! | [`lattice`] | collapsed cone | parallel lines are alike: one walk serves a direction |
//! | `engine::drr::cpu::exact` | exact radiographs | layer by layer: predictable planes take half the time of [`nested`] |
//! | `engine::cccs::reference` | the reference of collapsed cone | plain, and shared with nobody |
//!
//! [`nested`] and [`pieces`] are the 3D digital differential analyser (3D-DDA): Algorithm 1 of Xiao et al., "Efficient
//! implementation of the 3D-DDA ray traversal algorithm on GPU", Med. Phys. 2012, on grids whose z planes may be uneven, as in
//! de Greef et al., "Accelerated ray tracing for radiotherapy dose calculations on a GPU", Med. Phys. 36:4095, 2009 (section II
//! and appendix). As there, a ray is `p = p1 + alpha (p2 - p1)`, and `alpha` runs from 0 at the source to 1 at the target.
//!
//! Two things differ from the papers, both for accuracy:
//!
//! * The papers sum `alpha_x += delta_alpha_x`, which sums rounding too (de Greef, section IV: up to 0.06 mm). Here each crossing
//!   is computed from its own plane, as equation (9) does for z.
//! * Planes are measured from the source ([`Planes::seen_from`]), so that a crossing is one product of two numbers each
//!   rounded once. A ray almost along a plane keeps its full relative accuracy.
//!
//! A ray exactly in the plane between two voxels runs in the one of the higher index; a ray in the outermost plane at
//! the high end is outside.

pub mod even;
pub mod lattice;

use super::Grid;
use glam::DVec3;
use std::ops::Range;

/// The part of a ray `from + t way`, `t` in 0 to 1, in a box: where it enters and leaves; `None` where it misses the box.
pub fn clipped(low: DVec3, high: DVec3, from: DVec3, way: DVec3) -> Option<[f64; 2]> {
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for axis in 0..3 {
        let inverse = way[axis].recip();
        if inverse.is_finite() {
            let (a, b) = (
                (low[axis] - from[axis]) * inverse,
                (high[axis] - from[axis]) * inverse,
            );
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        } else if !(low[axis] <= from[axis] && from[axis] < high[axis]) {
            return None;
        }
    }
    (enter < leave).then_some([enter, leave])
}

/// The planes between the voxels of a grid, as a walk needs them: in the grid's frame, mm from the point where all
/// its rays start.
#[derive(Clone, Debug)]
pub struct Planes {
    /// Along each axis the `size + 1` voxel edges, with an infinite one added at either end, so that a walk may ask
    /// for the plane beyond the last. Voxel `i` lies between entries `i + 1` and `i + 2`.
    edges: [Vec<f64>; 3],
    /// How far apart neighbours along each axis lie in voxel data.
    strides: [usize; 3],
}

impl Planes {
    /// The planes of `grid` as seen from `start_mm` (patient LPS).
    pub fn seen_from(grid: &Grid, start_mm: DVec3) -> Self {
        Self::part_seen_from(grid, start_mm, &grid.size().map(|n| 0..n))
    }

    /// The planes of a box of its voxels only, which are then numbered within the box. An axis whose range is empty is
    /// left out: the box is one endless voxel along it.
    pub fn part_seen_from(grid: &Grid, start_mm: DVec3, part: &[Range<usize>; 3]) -> Self {
        let start = grid.local_from_patient(start_mm);
        let edges = std::array::from_fn(|axis| {
            let range = &part[axis];
            let mut padded = vec![f64::NEG_INFINITY];
            if range.is_empty() {
                padded.extend([f64::NEG_INFINITY, f64::INFINITY]);
            } else {
                let edges = &grid.edges_mm(axis)[range.start..=range.end];
                padded.extend(edges.iter().map(|e| e - start[axis]));
            }
            padded.push(f64::INFINITY);
            padded
        });
        let [nx, ny] = [0, 1].map(|axis| part[axis].len().max(1));
        Self {
            edges,
            strides: [1, nx, nx * ny],
        }
    }
}

/// A walk before its first step: lines 1 to 14 of Algorithm 1.
struct Start {
    /// Position of the ray: on entering the grid, or 0 for a source inside it.
    alpha: f64,
    /// End of the ray: at the target, or on leaving the grid.
    alpha_end: f64,
    /// `alpha` at the next plane along each axis; infinite along an axis that the ray does not move along.
    next: [f64; 3],
    /// Index of that plane among the axis's edges.
    plane: [usize; 3],
    /// One over the ray's extent along each axis, 1/mm.
    inverse: [f64; 3],
    /// Index of the voxel in voxel data.
    voxel: usize,
    /// Increment of a step along each axis (wrapping) to `plane` and to `voxel`.
    plane_step: [usize; 3],
    voxel_step: [usize; 3],
}

impl Start {
    /// `None` where the ray misses the grid or ends before it.
    fn new(planes: &Planes, to_mm: DVec3) -> Option<Self> {
        let mut start = Self {
            alpha: 0.0,
            alpha_end: 1.0,
            next: [f64::INFINITY; 3],
            plane: [0; 3],
            inverse: [0.0; 3],
            voxel: 0,
            plane_step: [0; 3],
            voxel_step: [0; 3],
        };
        let inverse = to_mm.to_array().map(f64::recip);
        for axis in 0..3 {
            let edges = &planes.edges[axis];
            let (low, high) = (edges[1], edges[edges.len() - 2]);
            if low.is_nan() || low >= high {
                return None;
            }
            if inverse[axis].is_finite() {
                start.inverse[axis] = inverse[axis];
                let (a, b) = (low * inverse[axis], high * inverse[axis]);
                start.alpha = start.alpha.max(a.min(b));
                start.alpha_end = start.alpha_end.min(a.max(b));
            } else if !(low <= 0.0 && 0.0 < high) {
                return None;
            }
        }
        if start.alpha >= start.alpha_end {
            return None;
        }
        for axis in 0..3 {
            let edges = &planes.edges[axis];
            let moves = inverse[axis].is_finite();
            let inverse = start.inverse[axis];
            // The plane in front is found with the very products that the walk compares, so that the first voxel fits
            // them whatever the rounding.
            let (plane, voxel) = if !moves {
                let above = edges.partition_point(|&e| e <= 0.0);
                (above, above - 2)
            } else if inverse > 0.0 {
                let ahead =
                    1 + edges[1..edges.len() - 1].partition_point(|&e| e * inverse <= start.alpha);
                start.plane_step[axis] = 1;
                start.voxel_step[axis] = planes.strides[axis];
                (ahead, ahead - 2)
            } else {
                let ahead =
                    edges[1..edges.len() - 1].partition_point(|&e| e * inverse > start.alpha);
                start.plane_step[axis] = 1usize.wrapping_neg();
                start.voxel_step[axis] = planes.strides[axis].wrapping_neg();
                (ahead, ahead - 1)
            };
            if moves {
                start.next[axis] = edges[plane] * inverse;
            }
            start.plane[axis] = plane;
            start.voxel += voxel * planes.strides[axis];
        }
        Some(start)
    }

    /// Visits the voxel and leaves it through its next plane across an axis (lines 18 and 19 and their like).
    #[inline(always)]
    fn cross<const AXIS: usize>(
        &mut self,
        planes: &Planes,
        visit: &mut impl FnMut(usize, f64, f64),
    ) {
        // Not `f64::min`, which also looks for NaN.
        let next = self.next[AXIS];
        let crossing = if self.alpha_end < next {
            self.alpha_end
        } else {
            next
        };
        visit(self.voxel, self.alpha, crossing);
        self.alpha = crossing;
        self.voxel = self.voxel.wrapping_add(self.voxel_step[AXIS]);
        self.plane[AXIS] = self.plane[AXIS].wrapping_add(self.plane_step[AXIS]);
        self.next[AXIS] = planes.edges[AXIS][self.plane[AXIS]] * self.inverse[AXIS];
    }
}

/// Walks from the planes' start to the target `to_mm` (the grid's frame, mm from that start) and calls
/// `visit(voxel, length_mm)` for the voxels passed, in order: the original 3D-DDA (Xiao 2012, Algorithm 1; de Greef
/// 2009, appendix). Where the ray passes an edge or corner it goes round it in steps of length 0.
pub fn nested(planes: &Planes, to_mm: DVec3, mut visit: impl FnMut(usize, f64)) {
    let length_mm = to_mm.length();
    pieces(planes, to_mm, |voxel, from, until| {
        visit(voxel, (until - from) * length_mm)
    });
}

/// As [`nested`], but calls `visit(voxel, from, until)` with the `alpha`s between which the ray is in the voxel.
pub fn pieces(planes: &Planes, to_mm: DVec3, mut visit: impl FnMut(usize, f64, f64)) {
    let Some(mut s) = Start::new(planes, to_mm) else {
        return;
    };
    while s.alpha < s.alpha_end {
        if s.next[0] < s.next[1] {
            if s.next[0] < s.next[2] {
                s.cross::<0>(planes, &mut visit);
            } else {
                s.cross::<2>(planes, &mut visit);
            }
        } else if s.next[1] < s.next[2] {
            s.cross::<1>(planes, &mut visit);
        } else {
            s.cross::<2>(planes, &mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 7 x 5 x 4 voxels, uneven planes, oblique.
    fn grid() -> Grid {
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.3, -0.5, 1.1);
        let planes = [0.0, 2.0, 3.0, 8.0];
        Grid::new(
            DVec3::new(5.0, -3.0, 2.0),
            turn.x_axis,
            turn.y_axis,
            [1.5, 2.0],
            [7, 5],
            &planes,
        )
        .expect("a valid grid")
    }

    /// Voxels and lengths, less the steps of length 0 round edges and corners.
    fn steps(grid: &Grid, from: DVec3, to: DVec3) -> Vec<(usize, f64)> {
        let planes = Planes::seen_from(grid, from);
        let mut steps = Vec::new();
        nested(&planes, grid.local_direction(to - from), |voxel, length| {
            steps.push((voxel, length))
        });
        steps.retain(|s| s.1 > 0.0);
        steps
    }

    /// The part of a segment inside the grid's box, by clipping (Liang and Barsky): its two ends as fractions.
    fn liang_barsky(grid: &Grid, from: DVec3, to: DVec3) -> (f64, f64) {
        let (a, b) = (grid.local_from_patient(from), grid.local_from_patient(to));
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for axis in 0..3 {
            let e = grid.edges_mm(axis);
            for (p, q) in [
                (a[axis] - b[axis], a[axis] - e[0]),
                (b[axis] - a[axis], e[e.len() - 1] - a[axis]),
            ] {
                if p == 0.0 {
                    if q < 0.0 {
                        return (0.0, 0.0);
                    }
                } else if p < 0.0 {
                    low = low.max(q / p);
                } else {
                    high = high.min(q / p);
                }
            }
        }
        if high > low { (low, high) } else { (0.0, 0.0) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Any ray: the lengths sum to the chord, and the middle of each step lies in its voxel.
        #[test]
        fn any_ray(from in prop::array::uniform3(-25.0..35.0), to in prop::array::uniform3(-25.0..35.0)) {
            let g = grid();
            let (from, to) = (DVec3::from(from), DVec3::from(to));
            let a = steps(&g, from, to);
            let (low, high) = liang_barsky(&g, from, to);
            let length = (to - from).length();
            let sum: f64 = a.iter().map(|s| s.1).sum();
            prop_assert!((sum - (high - low) * length).abs() < 1e-9, "{} for {}", sum, (high - low) * length);
            let mut gone = low * length;
            for (voxel, step) in a {
                let middle = from + (to - from) * ((gone + 0.5 * step) / length);
                let v = g.voxel_from_patient(middle);
                let [nx, ny, _] = g.size();
                let local = g.local_from_patient(middle);
                let e = g.edges_mm(2);
                let k = e.partition_point(|&z| z <= local.z) - 1;
                if step > 1e-9 {
                    let (i, j) = ((v.x + 0.5).floor() as usize, (v.y + 0.5).floor() as usize);
                    prop_assert_eq!(voxel, (k * ny + j) * nx + i);
                }
                gone += step;
            }
        }
    }

    /// Unit cubes, 4 to a side, first centre at the origin: edges at -0.5, 0.5, ... 3.5.
    fn cubes() -> Grid {
        Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [4, 4, 4]).expect("a valid grid")
    }

    fn check(from: [f64; 3], to: [f64; 3], want: &[(usize, f64)]) {
        let a = steps(&cubes(), from.into(), to.into());
        assert_eq!(a.len(), want.len(), "{from:?} to {to:?}: {a:?}");
        for (got, want) in a.iter().zip(want) {
            assert!(
                got.0 == want.0 && (got.1 - want.1).abs() < 1e-12,
                "{from:?} to {to:?}: {a:?}"
            );
        }
    }

    #[test]
    fn along_the_axes_both_ways() {
        check(
            [-9.0, 1.0, 2.0],
            [9.0, 1.0, 2.0],
            &[(36, 1.0), (37, 1.0), (38, 1.0), (39, 1.0)],
        );
        check(
            [9.0, 1.0, 2.0],
            [-9.0, 1.0, 2.0],
            &[(39, 1.0), (38, 1.0), (37, 1.0), (36, 1.0)],
        );
        check([1.0, 0.0, 9.0], [1.0, 0.0, 2.25], &[(49, 1.0), (33, 0.25)]);
        check(
            [1.0, 0.0, 1.75],
            [1.0, 9.0, 1.75],
            &[(33, 0.5), (37, 1.0), (41, 1.0), (45, 1.0)],
        );
    }

    #[test]
    fn through_corners_and_edges() {
        let d = 3.0_f64.sqrt();
        check([-1.0; 3], [4.0; 3], &[(0, d), (21, d), (42, d), (63, d)]);
        check([4.0; 3], [-1.0; 3], &[(63, d), (42, d), (21, d), (0, d)]);
        let d = 2.0_f64.sqrt();
        check(
            [-1.0, 4.0, 1.0],
            [4.0, -1.0, 1.0],
            &[(28, d), (25, d), (22, d), (19, d)],
        );
    }

    /// Between two voxels the higher one counts; the face at the high end is outside.
    #[test]
    fn in_a_plane_between_voxels() {
        check([-9.0, 0.5, 0.5], [1.0, 0.5, 0.5], &[(20, 1.0), (21, 0.5)]);
        check([-9.0, -0.5, 0.0], [0.25, -0.5, 0.0], &[(0, 0.75)]);
        check([-9.0, 3.5, 0.0], [9.0, 3.5, 0.0], &[]);
    }

    #[test]
    fn sources_inside_on_a_plane_and_rays_that_miss() {
        check([1.5, 1.0, 1.0], [3.0, 1.0, 1.0], &[(22, 1.0), (23, 0.5)]);
        check([1.5, 1.0, 1.0], [0.0, 1.0, 1.0], &[(21, 1.0), (20, 0.5)]);
        check([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], &[]);
        check([-9.0, 0.0, 0.0], [-1.0, 0.0, 0.0], &[]);
        check([-9.0, 0.0, 0.0], [9.0, 30.0, 0.0], &[]);
        check([f64::NAN, 0.0, 0.0], [9.0, 30.0, 0.0], &[]);
        check([-9.0, 0.0, 0.0], [9.0, f64::NAN, 0.0], &[]);
    }
}
