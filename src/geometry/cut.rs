//! Where a plane across a grid's planes cuts a structure, from its contours alone.

use super::Grid;
use super::slabs::{self, Slab};
use glam::DVec3;

/// The outline of a structure (contours in patient LPS, mm, parallel to the planes of `grid`) in the plane where the
/// grid's `axis` (0 or 1) has the coordinate of `at_mm`: lines along and across the grid's planes, patient LPS, mm.
pub fn cut_across(grid: &Grid, contours: &[&[DVec3]], axis: usize, at_mm: DVec3) -> Vec<[DVec3; 2]> {
    let closed = contours.iter().filter(|c| c.len() > 2);
    let local: Vec<Vec<DVec3>> =
        closed.map(|c| c.iter().map(|&p| grid.local_from_patient(p)).collect()).collect();
    if local.is_empty() {
        return Vec::new();
    }
    let at = grid.local_from_patient(at_mm)[axis];
    let point = |along: f64, z: f64| {
        let [x, y] = if axis == 0 { [at, along] } else { [along, at] };
        grid.patient_from_local(DVec3::new(x, y, z))
    };
    let mut lines = Vec::new();
    let mut level = |mut ends: Vec<f64>, z: f64| {
        // The ends of either side's spans together bound what one side has and the other has not.
        ends.sort_by(f64::total_cmp);
        lines.extend(ends.chunks_exact(2).map(|e| [point(e[0], z), point(e[1], z)]));
    };
    let mut upright = Vec::new();
    let mut below: Option<(f64, Vec<f64>)> = None;
    for slab in slabs::level(&local, grid) {
        let ends = crossings(&slab, axis, at);
        let [low, high] = slab.reach_mm;
        upright.extend(ends.iter().map(|&e| [point(e, low), point(e, high)]));
        match below.take() {
            Some((top, others)) if low - top < 1e-6 => level([others, ends.clone()].concat(), low),
            other => {
                if let Some((top, others)) = other {
                    level(others, top);
                }
                level(ends.clone(), low);
            }
        }
        below = Some((high, ends));
    }
    if let Some((top, ends)) = below {
        level(ends, top);
    }
    lines.extend(upright);
    lines
}

/// Where the sides of a slab's polygons cross the line at `at` along an axis; ascending.
fn crossings(slab: &Slab, axis: usize, at: f64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for polygon in &slab.polygons {
        for (n, a) in polygon.iter().enumerate() {
            let b = polygon[(n + 1) % polygon.len()];
            if (a[axis] <= at) != (b[axis] <= at) {
                let other = 1 - axis;
                all.push(a[other] + (b[other] - a[other]) * (at - a[axis]) / (b[axis] - a[axis]));
            }
        }
    }
    all.sort_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of 20 mm with a hole of 8 mm on one plane, and a square of 10 mm on the next: 2 mm apart.
    #[test]
    fn steps_between_planes_are_drawn_once() {
        let grid = Grid::axis_aligned(DVec3::splat(-30.0), DVec3::new(1.0, 1.0, 2.0), [60, 60, 30]).unwrap();
        let square = |half: f64, z: f64| {
            [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
                .map(|[x, y]| DVec3::new(x * half, y * half, z))
                .to_vec()
        };
        let contours = [square(10.0, 0.0), square(4.0, 0.0), square(5.0, 2.0)];
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        for axis in 0..2 {
            let lines = cut_across(&grid, &contours, axis, DVec3::new(1.0, 1.0, 0.0));
            let flat = |z: f64| {
                let on = lines.iter().filter(|[a, b]| (a.z - z).abs() < 1e-9 && (b.z - z).abs() < 1e-9);
                on.map(|[a, b]| a.distance(*b)).sum::<f64>()
            };
            assert!((flat(-1.0) - 12.0).abs() < 1e-9, "{}", flat(-1.0));
            // Below and not above: from 5 to 10 mm on either side; above and not below: over the hole.
            assert!((flat(1.0) - (10.0 + 8.0)).abs() < 1e-9, "{}", flat(1.0));
            assert!((flat(3.0) - 10.0).abs() < 1e-9, "{}", flat(3.0));
            let upright = lines.iter().filter(|[a, b]| (a.z - b.z).abs() > 1e-9).count();
            assert_eq!(upright, 4 + 2);
            assert!(cut_across(&grid, &contours, axis, DVec3::splat(20.0)).is_empty());
        }
    }
}
