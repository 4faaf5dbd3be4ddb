//! Masks against closed forms and brute force.

use super::*;
use std::f64::consts::{PI, TAU};

fn mask(grid: &Arc<Grid>, contours: &[Vec<DVec3>]) -> Result<Mask, MaskError> {
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &contours, &|_| true)
}

fn even(spacing: DVec3, size: [usize; 3]) -> Arc<Grid> {
    let middle = spacing * DVec3::from(size.map(|n| 0.5 * (n as f64 - 1.0)));
    Arc::new(Grid::axis_aligned(-middle, spacing, size).expect("a valid grid"))
}

fn circle(centre: DVec3, u: DVec3, v: DVec3, radius: f64) -> Vec<DVec3> {
    (0..180)
        .map(|n: i32| (TAU * f64::from(n) / 180.0).sin_cos())
        .map(|(s, c)| centre + u * (radius * c) + v * (radius * s))
        .collect()
}

/// Circles where planes at `heights` along the normal cut a sphere.
fn sphere(
    centre: DVec3,
    radius: f64,
    u: DVec3,
    v: DVec3,
    heights: impl Iterator<Item = f64>,
) -> Vec<Vec<DVec3>> {
    let normal = u.cross(v);
    heights
        .filter(|h| radius * radius - h * h > 0.0)
        .map(|h| circle(centre + normal * h, u, v, (radius * radius - h * h).sqrt()))
        .collect()
}

fn sphere_cm3(radius: f64) -> f64 {
    4.0 / 3.0 * PI * radius.powi(3) / 1000.0
}

/// A bar of 10 x 10 mm along x, of 60 mm in a grid that ends 10 mm from the middle; then one along z, and spheres cut in halves.
#[test]
fn what_the_grid_cuts_off_is_told() {
    let grid = even(DVec3::splat(2.0), [10, 20, 20]);
    for (contours, inside_cm3, outside_cm3) in [
        (bar([-8.0, 8.0], -3..3), 1.92, 0.0),
        // Half a pixel beyond the images: their rim.
        (bar([-11.0, 8.0], -3..3), 2.16, 0.0),
        (bar([-20.0, 40.0], -3..3), 2.4, 4.8),
        // Planes up to 20 mm of the grid, drawn up to 30 mm.
        (bar([-5.0, 5.0], 5..15), 1.0, 1.0),
        (bar([-20.0, 40.0], 5..15), 2.0, 10.0),
    ] {
        let m = mask(&grid, &contours).expect("a mask");
        let got = [m.volume_cm3(), m.outside_cm3()];
        assert!(
            (got[0] - inside_cm3).abs() < 0.02 && (got[1] - outside_cm3).abs() < 1e-9,
            "{got:?}"
        );
    }
    // A sphere about the middle of a side, drawn along the planes and across them.
    let (half, centre) = (0.5 * sphere_cm3(12.0), DVec3::new(10.0, 0.0, 0.0));
    for [u, v] in [[DVec3::X, DVec3::Y], [DVec3::Z, DVec3::Y]] {
        let drawn = sphere(
            centre,
            12.0,
            u,
            v,
            (-12..=12).map(|n| f64::from(2 * n) + 1.0),
        );
        let m = mask(&grid, &drawn).expect("a mask");
        let got = [m.volume_cm3(), m.outside_cm3()];
        assert!(
            got.iter().all(|cm3| (cm3 / half - 1.0).abs() < 0.03),
            "{got:?}, not {half}"
        );
    }
}

fn bar(x: [f64; 2], planes: std::ops::Range<i32>) -> Vec<Vec<DVec3>> {
    let corners = [(x[0], -5.0), (x[1], -5.0), (x[1], 5.0), (x[0], 5.0)];
    planes
        .map(|k| {
            corners
                .map(|(x, y)| DVec3::new(x, y, f64::from(2 * k + 1)))
                .to_vec()
        })
        .collect()
}

#[test]
fn a_box_fills_voxels_by_overlap() {
    let grid = even(DVec3::new(2.0, 3.0, 4.0), [20, 20, 20]);
    // Planes at ..., -2, 2, 6, ...; the box is drawn on three of them.
    let contours: Vec<Vec<DVec3>> = [-2.0, 2.0, 6.0]
        .iter()
        .map(|&z| {
            [(-4.5, -3.0), (7.0, -3.0), (7.0, 8.0), (-4.5, 8.0)]
                .map(|(x, y)| DVec3::new(x, y, z))
                .to_vec()
        })
        .collect();
    let m = mask(&grid, &contours).expect("a mask");
    assert!(
        (m.volume_cm3() - 11.5 * 11.0 * 12.0 / 1000.0).abs() < 2e-3 * 1.5,
        "{}",
        m.volume_cm3()
    );
    assert_eq!((m.offset(), m.size()), ([7, 9, 9], [7, 4, 3]));
    // Voxel 7 spans x -6..-4: a quarter is in; row 12 spans y 6..9: two thirds are.
    assert!((m.coverage_at(7, 10, 9) - 0.25).abs() < 0.003);
    assert!((m.coverage_at(9, 12, 11) - 2.0 / 3.0).abs() < 0.003);
    assert_eq!(m.coverage_at(9, 10, 10), 1.0);
    assert_eq!(
        (m.coverage_at(9, 10, 12), m.coverage_at(0, 0, 0)),
        (0.0, 0.0)
    );
    let mut listed = vec![0.0; grid.len()];
    m.iter().for_each(|(index, weight)| listed[index] = weight);
    for k in 0..20 {
        for j in 0..20 {
            for i in 0..20 {
                assert_eq!(listed[grid.index(i, j, k)], m.coverage_at(i, j, k));
            }
        }
    }
}

/// Every plane, every second plane, between planes, on another grid's planes: the volume is what the drawn planes say, each
/// half-way to its neighbours, the ends half a plane of the grid at the most.
#[test]
fn a_sphere_keeps_its_volume_however_its_planes_lie() {
    let grid = even(DVec3::new(1.1, 0.9, 2.0), [60, 60, 40]);
    let centre = DVec3::new(2.3, -1.2, 0.7);
    for (step, shift) in [
        (2.0, 0.3),
        (4.0, 0.3),
        (2.0, 1.1),
        (2.5, 0.0),
        (3.0, 1.7),
        (0.5, 0.2),
    ] {
        let heights = (-50..50).map(|n| f64::from(n) * step + shift);
        let m = mask(
            &grid,
            &sphere(centre, 20.0, DVec3::X, DVec3::Y, heights.clone()),
        )
        .expect("a mask");
        let drawn: Vec<f64> = heights
            .map(|height: f64| PI * (400.0 - height.powi(2)))
            .filter(|area| *area > 0.0)
            .collect();
        let beyond_mm = (0.5 * step - 1.0).max(0.0);
        let ends = drawn[0] + drawn[drawn.len() - 1];
        let want = (drawn.iter().sum::<f64>() * step - ends * beyond_mm) / 1000.0;
        let off = m.volume_cm3() / want - 1.0;
        assert!(
            off.abs() < 0.003,
            "planes {step} mm apart from {shift}: {off:+.4}"
        );
        assert!(
            (want + ends * beyond_mm / 1000.0) / sphere_cm3(20.0) > 0.99,
            "the planes say what the sphere is"
        );
    }
}

#[test]
fn a_sphere_on_oblique_planes_fills_the_same_voxels() {
    let grid = even(DVec3::new(1.1, 0.9, 2.0), [60, 60, 40]);
    let centre = DVec3::new(2.3, -1.2, 0.7);
    let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.4, -0.7, 1.1);
    let oblique = sphere(
        centre,
        20.0,
        turn.x_axis,
        turn.y_axis,
        (-50..50).map(|n| f64::from(n) * 1.5),
    );
    let m = mask(&grid, &oblique).expect("a mask");
    assert!(
        (m.volume_cm3() / sphere_cm3(20.0) - 1.0).abs() < 0.006,
        "{}",
        m.volume_cm3()
    );
    for (i, j, k) in [
        (32, 28, 20),
        (20, 20, 15),
        (44, 30, 19),
        (32, 28, 29),
        (10, 28, 20),
        (48, 29, 20),
    ] {
        let depth = 20.0 - (grid.centre_mm(i, j, k) - centre).length();
        if depth.abs() > 2.0 {
            assert_eq!(
                m.coverage_at(i, j, k) > 0.5,
                depth > 0.0,
                "voxel {i} {j} {k}, {depth} mm deep"
            );
        }
    }
}

/// A grid turned with its contours: the frame makes no difference.
#[test]
fn an_oblique_grid_with_contours_on_its_own_uneven_planes() {
    let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.4, -0.7, 1.1);
    let planes = [0.0, 3.0, 6.0, 8.0, 10.0, 15.0];
    let grid = Grid::new(
        DVec3::new(9.0, 8.0, 7.0),
        turn.x_axis,
        turn.y_axis,
        [1.0, 1.0],
        [40, 40],
        &planes,
    );
    let grid = Arc::new(grid.expect("a valid grid"));
    let discs: Vec<Vec<DVec3>> = planes[1..5]
        .iter()
        .map(|&z| {
            circle(
                grid.patient_from_local(DVec3::new(20.0, 19.0, z)),
                turn.x_axis,
                turn.y_axis,
                12.0,
            )
        })
        .collect();
    let m = mask(&grid, &discs).expect("a mask");
    // Planes 1 to 4 are the voxels from 1.5 to 12.5 mm; a polygon of 180 corners.
    let want = 90.0 * 144.0 * (TAU / 180.0).sin() * 11.0 / 1000.0;
    assert!(
        (m.volume_cm3() / want - 1.0).abs() < 5e-4,
        "{} for {want}",
        m.volume_cm3()
    );
}

/// Two parts side by side, one plane between them not drawn: nothing fills it. What goes on over the plane does.
#[test]
fn a_plane_not_drawn_is_bridged_by_what_goes_on_over_it() {
    let grid = even(DVec3::new(2.0, 2.0, 3.0), [80, 40, 21]);
    // 80 mm apart: the left part ends where the right one begins two planes up.
    let mut apart: Vec<_> = heights_mm(-4, -1)
        .map(|z| square_at(-40.0, z, 10.0))
        .collect();
    apart.extend(heights_mm(1, 4).map(|z| square_at(40.0, z, 10.0)));
    let m = mask(&grid, &apart).expect("a mask");
    let want = 8.0 * 3.0 * 0.4;
    assert!(
        (m.volume_cm3() - want).abs() < 1e-3 * want,
        "{} cm3 for {want}",
        m.volume_cm3()
    );
    assert!(
        (0..80).all(|i| m.coverage_at(i, 20, 10) == 0.0),
        "the plane between is empty"
    );
    // A left part with a hole that goes on, beside a right part that ends: the left one is bridged, with its hole.
    let mut one_goes_on: Vec<_> = heights_mm(-4, 4)
        .filter(|z| *z != 0.0)
        .flat_map(|z| [square_at(-40.0, z, 10.0), square_at(-40.0, z, 4.0)])
        .collect();
    one_goes_on.extend(heights_mm(-4, -1).map(|z| square_at(40.0, z, 10.0)));
    let m = mask(&grid, &one_goes_on).expect("a mask");
    let want = 9.0 * 3.0 * (0.4 - 0.064) + 4.0 * 3.0 * 0.4;
    assert!(
        (m.volume_cm3() - want).abs() < 1e-3 * want,
        "{} cm3 for {want}",
        m.volume_cm3()
    );
    // Across the grid's planes the same.
    let grid = even(DVec3::splat(1.0), [40, 40, 120]);
    let m = mask(&grid, &turned_to_sagittal(apart)).expect("a mask");
    assert!((m.volume_cm3() - 9.6).abs() < 0.3, "{} cm3", m.volume_cm3());
}

fn square_at(x: f64, z: f64, half: f64) -> Vec<DVec3> {
    [(half, half), (-half, half), (-half, -half), (half, -half)]
        .map(|(dx, dy)| DVec3::new(x + dx, dy, z))
        .to_vec()
}

fn heights_mm(low: i32, high: i32) -> impl Iterator<Item = f64> {
    (low..=high).map(|k| 3.0 * f64::from(k))
}

fn turned_to_sagittal(contours: Vec<Vec<DVec3>>) -> Vec<Vec<DVec3>> {
    contours
        .into_iter()
        .map(|c| c.into_iter().map(|p| DVec3::new(p.z, p.y, p.x)).collect())
        .collect()
}

#[test]
fn what_makes_no_mask_says_why() {
    let grid = even(DVec3::ONE, [10, 10, 10]);
    let disc = circle(DVec3::ZERO, DVec3::X, DVec3::Y, 3.0);
    assert_eq!(mask(&grid, &[]), Err(MaskError::NoContours));
    assert_eq!(
        mask(&grid, &[disc[..2].to_vec()]),
        Err(MaskError::NoContours)
    );
    let far: Vec<DVec3> = disc.iter().map(|p| *p + DVec3::X * 90.0).collect();
    assert_eq!(mask(&grid, &[far]), Err(MaskError::Outside));
    let mut broken = disc.clone();
    broken[3].y = f64::NAN;
    assert_eq!(
        mask(&grid, &[disc.clone(), broken]),
        Err(MaskError::NotFinite(1))
    );
    let sagittal = circle(DVec3::ZERO, DVec3::Y, DVec3::Z, 2.0);
    assert_eq!(
        mask(&grid, &[disc.clone(), sagittal]),
        Err(MaskError::NotParallel(1))
    );
    let stopped = Mask::from_contours(&grid, &[&disc], &|_| false);
    assert_eq!(stopped, Err(MaskError::Cancelled));
}

/// Contours changed on a few planes, at an end, beyond the box and between planes: the mask of the change is the mask
/// made from scratch.
#[test]
fn a_redrawn_mask_is_the_mask_to_the_bit() {
    let grid = even(DVec3::new(1.1, 0.9, 2.0), [60, 60, 40]);
    let heights_mm: Vec<f64> = (-20..20).map(|n| 2.0 * f64::from(n) + 1.0).collect();
    let heights = heights_mm.iter().copied().filter(|z| z.abs() < 21.0);
    let contours = sphere(DVec3::ZERO, 20.0, DVec3::X, DVec3::Y, heights);
    let count = contours.len();
    let mut cases = vec![contours.clone()];
    // A bump on one plane, which widens the box; a hole; a plane less, bridged; a further plane; everything moved.
    let mut bumped = contours.clone();
    bumped[count / 2] = disc(DVec3::new(4.0, 3.0, contours[count / 2][0].z), 23.0);
    cases.push(bumped.clone());
    bumped.push(disc(DVec3::new(1.0, 1.0, contours[5][0].z), 3.0));
    cases.push(bumped.clone());
    bumped.remove(3);
    cases.push(bumped.clone());
    bumped.push(disc(DVec3::Z * (contours[count - 1][0].z + 2.0), 4.0));
    cases.push(bumped.clone());
    cases.push(
        bumped
            .iter()
            .map(|c| c.iter().map(|p| *p + DVec3::new(0.3, 0.0, 0.5)).collect())
            .collect(),
    );
    cases.push(vec![disc(DVec3::new(20.0, 20.0, 7.0), 5.0)]);
    for from in &cases {
        let old = mask(&grid, from).expect("a mask");
        let of_old: Vec<&[DVec3]> = from.iter().map(Vec::as_slice).collect();
        for to in &cases {
            let of_new: Vec<&[DVec3]> = to.iter().map(Vec::as_slice).collect();
            let redrawn =
                Mask::redrawn(&grid, &of_new, (&of_old, &old), &|_| true).expect("a mask");
            assert!(redrawn == mask(&grid, to).expect("a mask"));
        }
    }
    // A mask of another grid tells nothing.
    let other = even(DVec3::new(1.1, 0.9, 2.0), [50, 60, 40]);
    let of_before: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    let elsewhere = mask(&other, &contours).expect("a mask");
    let redrawn =
        Mask::redrawn(&grid, &of_before, (&of_before, &elsewhere), &|_| true).expect("a mask");
    assert!(redrawn == mask(&grid, &contours).expect("a mask"));
}

fn disc(centre: DVec3, radius: f64) -> Vec<DVec3> {
    circle(centre, DVec3::X, DVec3::Y, radius)
}

/// A bar that ends a quarter into its last voxels: their first quarter is the structure's. Of a sphere, parts hold what voxels hold.
#[test]
fn parts_of_a_voxel_lie_where_the_structure_is() {
    let grid = even(DVec3::splat(2.0), [10, 20, 20]);
    let corners = [(-8.0, -4.0), (8.5, -4.0), (8.5, 4.0), (-8.0, 4.0)];
    let bar: Vec<Vec<DVec3>> = (-4..4)
        .map(|k| {
            corners
                .map(|(x, y)| DVec3::new(x, y, f64::from(2 * k + 1)))
                .to_vec()
        })
        .collect();
    let bar = mask(&grid, &bar).expect("a mask");
    let parts = bar.parts(division_of(&bar));
    let middle = parts.row(bar.size()[1] / 2, bar.size()[2] / 2);
    assert_eq!(
        middle.len(),
        4 * 4 * 3,
        "one voxel of the row is covered in part"
    );
    for (n, share) in middle.iter().enumerate() {
        assert!(
            (share - if n % 4 == 0 { 1.0 } else { 0.0 }).abs() < 0.01,
            "part {n}: {share}"
        );
    }
    let heights = (-9..=9).map(|k| f64::from(2 * k + 1));
    let ball = mask(
        &grid,
        &sphere(DVec3::ZERO, 8.3, DVec3::X, DVec3::Y, heights),
    )
    .expect("a mask");
    let parts = ball.parts(division_of(&ball));
    for (y, z) in (0..ball.size()[2]).flat_map(|z| (0..ball.size()[1]).map(move |y| (y, z))) {
        let partly = ball.row(y, z).1.iter().filter(|c| (1..255).contains(*c));
        let held: Vec<f32> = parts
            .row(y, z)
            .chunks(4 * 4 * 3)
            .map(|voxel| voxel.iter().sum())
            .collect();
        assert_eq!(held.len(), partly.clone().count());
        for (held, covered) in held.iter().zip(partly) {
            assert!(
                (held / 48.0 - f32::from(*covered) / 255.0).abs() < 1e-3,
                "{held} of {covered}"
            );
        }
    }
}

fn division_of(mask: &Mask) -> Division {
    Division {
        along: 4,
        across: vec![3; mask.size()[2]],
    }
}
