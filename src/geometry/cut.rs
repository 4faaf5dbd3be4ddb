//! The outline that a structure's contours alone leave on a plane across the grid's planes.

use super::Grid;
use super::slabs::{self, Slab};
use glam::DVec3;

/// The outline of a structure (contours in patient LPS, mm, parallel to the planes of `grid`) in the plane where the
/// grid's `axis` (0 or 1) has the coordinate of `at_mm`: lines along and across the grid's planes, patient LPS, mm.
pub fn cut_across(
    grid: &Grid,
    contours: &[&[DVec3]],
    axis: usize,
    at_mm: DVec3,
) -> Vec<[DVec3; 2]> {
    let position = grid.local_from_patient(at_mm)[axis];
    let mut lines = Vec::new();
    let mut level = |mut ends: Vec<f64>, z: f64| {
        // The ends of either side's spans together bound what one side has and the other has not.
        ends.sort_by(f64::total_cmp);
        lines.extend(ends.chunks_exact(2).map(|e| {
            [
                upright_point(e[0], z, grid, axis, position),
                upright_point(e[1], z, grid, axis, position),
            ]
        }));
    };
    let mut upright = Vec::new();
    let mut below: Option<(f64, Vec<f64>)> = None;
    for ([low, high], ends) in spans(grid, contours, axis, position) {
        upright.extend(ends.iter().map(|&e| {
            [
                upright_point(e, low, grid, axis, position),
                upright_point(e, high, grid, axis, position),
            ]
        }));
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

fn upright_point(along: f64, z: f64, grid: &Grid, axis: usize, position: f64) -> DVec3 {
    let [x, y] = if axis == 0 {
        [position, along]
    } else {
        [along, position]
    };
    grid.patient_from_local(DVec3::new(x, y, z))
}

/// The reach of each slab across the grid's planes, and where its polygons cross the line at `at` along an axis.
fn spans(
    grid: &Grid,
    contours: &[&[DVec3]],
    axis: usize,
    position: f64,
) -> Vec<([f64; 2], Vec<f64>)> {
    // The section of a structure that is being drawn is made in each frame: its points are read once, and not copied.
    let (z, ends) = slabs::grouped(
        contours
            .iter()
            .filter(|c| c.len() > 2)
            .map(|c| contour_crossings(grid, c, axis, position))
            .collect(),
    );
    if let Some(reaches) = slabs::unbridged(&z, grid) {
        return reaches
            .into_iter()
            .zip(ends.into_iter().map(|ends: Vec<Vec<f64>>| {
                let mut ends = ends.concat();
                ends.sort_by(f64::total_cmp);
                ends
            }))
            .collect();
    }
    bridged_spans(grid, contours, axis, position)
}

/// The same for any slabs.
fn bridged_spans(
    grid: &Grid,
    contours: &[&[DVec3]],
    axis: usize,
    position: f64,
) -> Vec<([f64; 2], Vec<f64>)> {
    let closed = contours.iter().filter(|c| c.len() > 2);
    let local: Vec<Vec<DVec3>> = closed
        .map(|c| c.iter().map(|&p| grid.local_from_patient(p)).collect())
        .collect();
    if local.is_empty() {
        return Vec::new();
    }
    slabs::level(&local, grid)
        .iter()
        .map(|slab| (slab.reach_mm, crossings(slab, axis, position)))
        .collect()
}

/// The height of a contour in the grid's frame, and where its sides cross the line.
fn contour_crossings(
    grid: &Grid,
    contour: &[DVec3],
    axis: usize,
    position: f64,
) -> (f64, Vec<f64>) {
    let (mut ends, mut height) = (Vec::new(), 0.0);
    let first = grid.local_from_patient(contour[0]);
    let mut from = first;
    let next = contour[1..]
        .iter()
        .map(|p| grid.local_from_patient(*p))
        .chain([first]);
    for to in next {
        height += from.z;
        ends.extend(crossing([from.x, from.y], [to.x, to.y], axis, position));
        from = to;
    }
    (height / contour.len() as f64, ends)
}

/// Crossing of a side with the line.
fn crossing(a: [f64; 2], b: [f64; 2], axis: usize, position: f64) -> Option<f64> {
    let other = 1 - axis;
    ((a[axis] <= position) != (b[axis] <= position))
        .then(|| a[other] + (b[other] - a[other]) * (position - a[axis]) / (b[axis] - a[axis]))
}

/// Crossings of a slab's polygons with the line at `at` along an axis; ascending.
fn crossings(slab: &Slab, axis: usize, position: f64) -> Vec<f64> {
    let mut ends: Vec<f64> = Vec::new();
    for polygon in &slab.polygons {
        let next = polygon.iter().cycle().skip(1);
        ends.extend(
            polygon
                .iter()
                .zip(next)
                .filter_map(|(a, b)| crossing(*a, *b, axis, position)),
        );
    }
    ends.sort_by(f64::total_cmp);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of 20 mm with a hole of 8 mm on one plane, and a square of 10 mm on the next: 2 mm apart.
    #[test]
    fn steps_between_planes_are_drawn_once() {
        let grid = Grid::axis_aligned(DVec3::splat(-30.0), DVec3::new(1.0, 1.0, 2.0), [60, 60, 30])
            .unwrap();
        let contours = [square(10.0, 0.0), square(4.0, 0.0), square(5.0, 2.0)];
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        for axis in 0..2 {
            let lines = cut_across(&grid, &contours, axis, DVec3::new(1.0, 1.0, 0.0));
            assert!(
                (length_at_height(-1.0, &lines) - 12.0).abs() < 1e-9,
                "{}",
                length_at_height(-1.0, &lines)
            );
            // Below and not above: from 5 to 10 mm on either side; above and not below: over the hole.
            assert!(
                (length_at_height(1.0, &lines) - (10.0 + 8.0)).abs() < 1e-9,
                "{}",
                length_at_height(1.0, &lines)
            );
            assert!(
                (length_at_height(3.0, &lines) - 10.0).abs() < 1e-9,
                "{}",
                length_at_height(3.0, &lines)
            );
            let upright = lines
                .iter()
                .filter(|[a, b]| (a.z - b.z).abs() > 1e-9)
                .count();
            assert_eq!(upright, 4 + 2);
            assert!(cut_across(&grid, &contours, axis, DVec3::splat(20.0)).is_empty());
        }
    }

    fn square(half: f64, z: f64) -> Vec<DVec3> {
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
            .map(|[x, y]| DVec3::new(x * half, y * half, z))
            .to_vec()
    }

    /// Length of the lines that lie at a height, mm.
    fn length_at_height(z: f64, lines: &[[DVec3; 2]]) -> f64 {
        let on = lines
            .iter()
            .filter(|[a, b]| (a.z - z).abs() < 1e-9 && (b.z - z).abs() < 1e-9);
        on.map(|[a, b]| a.distance(*b)).sum::<f64>()
    }

    /// Contours read one by one give the lines of their slabs, to the bit, where no plane is bridged.
    #[test]
    fn contours_read_one_by_one_are_their_slabs() {
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.2, 0.5, -0.7);
        let heights: Vec<f64> = (0..40).map(|k| 1.5 * f64::from(k)).collect();
        let origin = DVec3::new(4.0, 5.0, 6.0);
        let grid = Grid::new(
            origin,
            turn.x_axis,
            turn.y_axis,
            [1.0, 1.2],
            [80, 70],
            &heights,
        )
        .unwrap();
        let mut contours: Vec<Vec<DVec3>> = (4..30)
            .map(|k| circle_on(8.0 + f64::from(k % 7), 1.5 * f64::from(k), &grid))
            .collect();
        contours.push(circle_on(5.0, 15.0, &grid));
        for without in [None, Some(9)] {
            if let Some(n) = without {
                contours.remove(n);
            }
            let contour_points: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
            for (axis, position) in [(0, 40.3), (0, 31.0), (1, 35.0), (1, 90.0)] {
                assert_eq!(
                    spans(&grid, &contour_points, axis, position),
                    bridged_spans(&grid, &contour_points, axis, position)
                );
            }
        }
    }

    fn circle_on(radius: f64, z: f64, grid: &Grid) -> Vec<DVec3> {
        let local = (0..30)
            .map(|n: i32| (f64::from(n) * 0.21).sin_cos())
            .map(|(s, c)| DVec3::new(40.0 + radius * c, 35.0 + radius * s, z));
        local.map(|p| grid.patient_from_local(p)).collect()
    }
}
