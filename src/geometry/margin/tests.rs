use super::*;
use crate::polygons::{Ring, area_mm2};
use crate::{Grid, Mask, interpolated, smoothed, sphere_contours};
use glam::DVec3;
use std::f64::consts::PI;
use std::sync::Arc;

/// 121 x 121 points of 1 mm, planes `step` mm apart, with the origin of patient space on a plane in its middle.
fn grid(step: f64, planes: usize) -> Arc<Grid> {
    let z = -0.5 * step * (planes as f64 - 1.0);
    let grid = Grid::axis_aligned(
        DVec3::new(-60.0, -60.0, z),
        DVec3::new(1.0, 1.0, step),
        [121, 121, planes],
    );
    Arc::new(grid.expect("a grid"))
}

fn stack(grid: &Grid, contours: &[Vec<DVec3>]) -> Stack {
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Stack::new(grid, &contours).expect("a stack")
}

fn with_margin(grid: &Grid, stack: &Stack, mm: [[f64; 2]; 3], grow: bool) -> Vec<Plane> {
    shrunk_or_grown(stack, &Margins { mm, grow }, grid.planes_mm(), &|_| true).expect("planes")
}

/// Corners of the planes, patient LPS, mm.
fn corners(grid: &Grid, planes: &[Plane]) -> Vec<DVec3> {
    planes
        .iter()
        .flat_map(|p: &Plane| -> Vec<DVec3> {
            p.rings
                .iter()
                .flatten()
                .map(|c| grid.patient_from_local(DVec3::new(c[0], c[1], p.z_mm)))
                .collect()
        })
        .collect()
}

fn volume_cm3(grid: &Arc<Grid>, planes: &[Plane]) -> f64 {
    let contours: Vec<Vec<DVec3>> = planes
        .iter()
        .flat_map(|p| {
            p.rings
                .iter()
                .map(|r| ring_in_patient(p.z_mm, r, grid))
                .collect::<Vec<_>>()
        })
        .collect();
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &contours, &|_| true)
        .expect("a mask")
        .volume_cm3()
}

fn ring_in_patient(z: f64, r: &Ring, grid: &Grid) -> Vec<DVec3> {
    r.iter()
        .map(|c| grid.patient_from_local(DVec3::new(c[0], c[1], z)))
        .collect()
}

fn ball_cm3(radius: f64) -> f64 {
    4.0 / 3.0 * PI * radius.powi(3) / 1000.0
}

/// Every corner of a grown ball lies on the larger ball, and so in a shrunk one; the volume agrees.
#[test]
fn a_sphere_with_a_margin_is_a_sphere() {
    for step in [1.0, 2.5] {
        let grid = grid(step, (100.0 / step) as usize | 1);
        let ball = stack(
            &grid,
            &sphere_contours(&grid, DVec3::new(0.3, -0.2, 0.1), 20.0),
        );
        for (margin, grow) in [(10.0, true), (3.0, true), (5.0, false), (1.0, false)] {
            let planes = with_margin(&grid, &ball, [[margin; 2]; 3], grow);
            let radius = if grow { 20.0 + margin } else { 20.0 - margin };
            let centre = DVec3::new(0.3, -0.2, 0.1);
            // The drawn ball ends with its last plane: what is made of its poles is known to half a step.

            let off = corners(&grid, &planes)
                .into_iter()
                .filter(|p| (p.z - centre.z).abs() / radius < 0.75);
            let worst = off
                .map(|p| (p.distance(centre) - radius).abs())
                .fold(0.0, f64::max);
            assert!(
                worst <= 0.3,
                "{margin} mm, planes of {step}: off by {worst} mm"
            );
            let cm3 = volume_cm3(&grid, &planes);
            assert!(
                (cm3 / ball_cm3(radius) - 1.0).abs() < 0.02,
                "{margin}, {step}: {cm3} cm3"
            );
        }
    }
}

fn solid(grid: &Grid, half_z: f64, ring: &[[f64; 2]]) -> Vec<Vec<DVec3>> {
    let heights = grid.planes_mm().iter().map(|z| z + grid.origin_mm().z);
    heights
        .filter(|z| z.abs() < half_z)
        .map(|z| ring.iter().map(|p| DVec3::new(p[0], p[1], z)).collect())
        .collect()
}

/// Each face of a box moves by its own margin, and no other does.
#[test]
fn the_faces_of_a_box_move_each_by_its_margin() {
    let grid = grid(2.0, 50);
    let side = [[-15.0, -10.0], [15.0, -10.0], [15.0, 10.0], [-15.0, 10.0]];
    let cuboid = stack(&grid, &solid(&grid, 20.0, &side));
    let mm = [[2.0, 7.0], [0.0, 5.0], [4.0, 8.0]];
    for grow in [true, false] {
        let planes = with_margin(&grid, &cuboid, mm, grow);
        let sign = if grow { 1.0 } else { -1.0 };
        let corner_points = corners(&grid, &planes);
        for axis in 0..2 {
            let (low, high) = corner_points
                .iter()
                .fold((f64::MAX, f64::MIN), |(l, h), p| {
                    (l.min(p[axis]), h.max(p[axis]))
                });
            let half = [15.0, 10.0][axis];
            assert!(
                (low - (-half - sign * mm[axis][0])).abs() < 0.15,
                "{axis} {low} {grow}"
            );
            assert!(
                (high - (half + sign * mm[axis][1])).abs() < 0.15,
                "{axis} {high} {grow}"
            );
        }
        // The box ends at 20 mm; planes stand for 1 mm either way.
        let heights: Vec<f64> = planes.iter().map(|p| p.z_mm + grid.origin_mm().z).collect();
        assert_eq!(heights[0] - 1.0, -20.0 - sign * 4.0, "{grow}");
        assert_eq!(
            heights[heights.len() - 1] + 1.0,
            20.0 + sign * 8.0,
            "{grow}"
        );
    }
}

/// A cylinder along z grown by m: a cylinder of r + m over its length, a quarter of a torus round its rims.
#[test]
fn a_cylinder_grows_as_steiner_says() {
    let grid = grid(1.0, 100);
    let (radius, half, margin) = (12.0, 20.0, 6.0);
    let ring: Ring = (0..240)
        .map(|n| f64::from(n) * PI / 120.0)
        .map(|a| [radius * a.cos(), radius * a.sin()])
        .collect();
    let cylinder = stack(&grid, &solid(&grid, half, &ring));
    let planes = with_margin(&grid, &cylinder, [[margin; 2]; 3], true);
    for plane in planes
        .iter()
        .filter(|p| (p.z_mm + grid.origin_mm().z).abs() < 18.0)
    {
        let want = PI * (radius + margin) * (radius + margin);
        assert!((area_mm2(&plane.rings) / want - 1.0).abs() < 0.005);
    }
    // V + S m + M m^2 + 4/3 pi m^3, with M = pi L + pi^2 r of a cylinder.
    let (v, length) = (PI * radius * radius * 2.0 * half, 2.0 * half);
    let surface = 2.0 * PI * radius * (radius + length);
    let mean = PI * length + PI * PI * radius;
    let want = v + surface * margin + mean * margin * margin + 4.0 / 3.0 * PI * margin.powi(3);
    let cm3 = volume_cm3(&grid, &planes);
    // 0.3 mm at each of the rounded ends, some 17 cm2 together, are 1 %.
    assert!(
        (cm3 * 1000.0 / want - 1.0).abs() < 0.012,
        "{cm3} cm3, not {}",
        want / 1000.0
    );
}

/// A ball grown to the left alone is a ball drawn out to the left by an ellipsoid's half: by m at its pole, by nothing
/// on its right.
#[test]
fn an_asymmetric_margin_grows_one_side() {
    let grid = grid(1.0, 101);
    let ball = stack(&grid, &sphere_contours(&grid, DVec3::ZERO, 15.0));
    let planes = with_margin(&grid, &ball, [[0.0, 9.0], [3.0, 3.0], [3.0, 3.0]], true);
    let middle = planes
        .iter()
        .find(|p| (p.z_mm + grid.origin_mm().z).abs() < 1e-6)
        .expect("a plane");
    let x: Vec<f64> = middle.rings.iter().flatten().map(|p| p[0] - 60.0).collect();
    let (low, high) = x
        .iter()
        .fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
    assert!(
        (low + 15.0).abs() < 0.2 && (high - 24.0).abs() < 0.2,
        "{low} {high}"
    );
    // Brute force: the support of the sum of two convex bodies is the sum of their supports.
    for n in 0..72 {
        let (sin, cos) = (f64::from(n) * PI / 36.0).sin_cos();
        let reach = middle
            .rings
            .iter()
            .flatten()
            .map(|p| (p[0] - 60.0) * cos + (p[1] - 60.0) * sin);
        let ellipsoid = (9.0 * cos.max(0.0)).hypot(3.0 * sin);
        let off = reach.fold(f64::MIN, f64::max) - 15.0 - ellipsoid;
        assert!(off.abs() < 0.3, "{n}: {off}");
    }
}

#[test]
fn a_margin_may_leave_nothing() {
    let grid = grid(2.0, 41);
    let ball = stack(&grid, &sphere_contours(&grid, DVec3::ZERO, 8.0));
    assert!(with_margin(&grid, &ball, [[9.0; 2]; 3], false).is_empty());
    assert!(with_margin(&grid, &Stack::default(), [[9.0; 2]; 3], true).is_empty());
    let stopped = Margins {
        mm: [[5.0; 2]; 3],
        grow: true,
    };
    let stopped = shrunk_or_grown(&ball, &stopped, grid.planes_mm(), &|_| false);
    assert_eq!(stopped, Err(StackError::Cancelled));
}

/// A cone drawn at its ends alone is interpolated to what it is between.
#[test]
fn planes_between_drawn_ones_are_interpolated() {
    let grid = grid(2.0, 51);
    let drawn = stack(&grid, &[circle(10.0, -20.0), circle(30.0, 20.0)]);
    let interpolated_planes = interpolated(&drawn, grid.planes_mm(), &|_| true).expect("planes");
    assert_eq!(interpolated_planes.len(), 19);
    for plane in interpolated_planes {
        let radius = 20.0 + 0.5 * (plane.z_mm + grid.origin_mm().z);
        let radius_mm = (area_mm2(&plane.rings) / PI).sqrt();
        assert!((radius_mm - radius).abs() < 0.2, "{radius_mm} at {radius}");
    }
}

fn circle(radius: f64, z: f64) -> Vec<DVec3> {
    let angle = (0..180).map(|n| f64::from(n) * PI / 90.0);
    angle
        .map(|a| DVec3::new(radius * a.cos(), radius * a.sin(), z))
        .collect()
}

#[test]
fn smoothing_levels_a_ragged_edge_and_keeps_the_ball() {
    let grid = grid(1.0, 81);
    let ball: Vec<Vec<DVec3>> = sphere_contours(&grid, DVec3::ZERO, 25.0)
        .iter()
        .map(|contour: &Vec<DVec3>| -> Vec<DVec3> {
            contour
                .iter()
                .enumerate()
                .map(|(n, p)| DVec3::new(p.x * radial_factor(n), p.y * radial_factor(n), p.z))
                .collect()
        })
        .collect();
    let planes = smoothed(&stack(&grid, &ball), 2.0, &|_| true).expect("planes");
    let middle = corners(&grid, &planes)
        .into_iter()
        .filter(|p| p.z.abs() < 10.0);
    let worst = middle
        .map(|p| (p.length() - 25.0).abs())
        .fold(0.0, f64::max);
    assert!(worst < 0.6, "off by {worst} of 1 mm teeth");
}

fn radial_factor(n: usize) -> f64 {
    if n.is_multiple_of(2) { 1.04 } else { 0.96 }
}
