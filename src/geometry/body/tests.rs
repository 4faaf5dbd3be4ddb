use super::*;
use crate::Mask;
use std::f64::consts::PI;
use std::sync::Arc;

const SEMI_X: f64 = 90.0;
const SEMI_Y: f64 = 60.0;

/// An elliptic body (0 HU) with two lungs, blurred at the skin, lying on the 4 mm shell of a hollow couch that it
/// touches, and a small rod beside it.
fn phantom() -> Volume<f32> {
    let planes: Vec<f64> = (0..8).map(|k| 3.0 * f64::from(k)).collect();
    let grid = Grid::new(
        DVec3::new(-150.0, -120.0, 40.0),
        DVec3::X,
        DVec3::Y,
        [1.5, 1.5],
        [201, 161],
        &planes,
    )
    .expect("a valid grid");
    let mut data = Vec::new();
    for k in 0..8 {
        for j in 0..161 {
            for i in 0..201 {
                let p = grid.centre_mm(i, j, k);
                let ellipse = ((p.x / SEMI_X).powi(2) + (p.y / SEMI_Y).powi(2)).sqrt();
                // Distance from the skin, near enough: mm inwards.
                let inwards = (1.0 - ellipse) * (p.x * p.x + p.y * p.y).sqrt() / ellipse.max(1e-9);
                let lung = (((p.x.abs() - 40.0) / 25.0).powi(2) + (p.y / 35.0).powi(2)) < 1.0;
                let couch = is_in_couch_box(0.0, p) && !is_in_couch_box(4.0, p);
                let rod = (p.x + 120.0).powi(2) + (p.y + 80.0).powi(2) < 64.0;
                let body = if lung {
                    -800.0
                } else {
                    (-500.0 + 250.0 * inwards).clamp(-1000.0, 0.0)
                };
                data.push(if couch || rod { body.max(-100.0) } else { body } as f32);
            }
        }
    }
    Volume::new(Arc::new(grid), data)
}

fn is_in_couch_box(m: f64, p: DVec3) -> bool {
    p.x.abs() < 130.0 - m && (p.y - 78.0).abs() < 20.0 - m
}

#[test]
fn the_body_is_outlined_without_couch_and_with_its_lungs() {
    let hu = phantom();
    let BodyOutline { contours, left_out } =
        body_contours(&hu, -500.0, &|_| true).expect("not stopped");
    assert_eq!(contours.len(), 8, "one a plane");
    let sides: Vec<&str> = left_out.iter().map(|part| part.side).collect();
    assert_eq!(sides, ["posterior", "anterior"], "couch and rod");
    let slices: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    let mask = Mask::from_contours(hu.grid(), &slices, &|_| true).expect("a mask");
    let want = PI * SEMI_X * SEMI_Y * 24.0 / 1000.0;
    // A little more: the part of the couch under the body belongs to the outline.
    let off = mask.volume_cm3() / want - 1.0;
    assert!(
        (0.0..0.012).contains(&off),
        "{} for {want}",
        mask.volume_cm3()
    );
    // Away from the couch the skin is where the interpolated threshold says, to a tenth of a voxel.
    for p in contours[3].iter().filter(|p| p.y < 40.0) {
        let ellipse = ((p.x / SEMI_X).powi(2) + (p.y / SEMI_Y).powi(2)).sqrt();
        assert!((ellipse - 1.0).abs() * SEMI_Y < 0.2, "{p}");
    }
}

#[test]
fn nothing_dense_has_no_outline_and_a_stop_is_heeded() {
    let hu = phantom();
    assert_eq!(
        body_contours(&hu, 3000.0, &|_| true),
        Some(BodyOutline::default())
    );
    assert_eq!(body_contours(&hu, -500.0, &|_| false), None);
}

/// HU of a phantom's part at a point; the last part painted there counts.
type Paint = Box<dyn Fn(DVec3) -> Option<f32>>;

const AIR_HU: f32 = -1000.0;
const WATER: f32 = 0.0;
const LUNG: f32 = -750.0;
const ALUMINIUM: f32 = 2200.0;
const FOAM: f32 = -950.0;

/// 120 x 120 voxels of 2.5 mm, 40 planes of 3 mm, each voxel the mean of eight points, about the origin.
fn painted(paints: &[Paint]) -> Volume<f32> {
    let planes: Vec<f64> = (0..40).map(|k| 3.0 * f64::from(k)).collect();
    let first = DVec3::new(-148.75, -148.75, -58.5);
    let grid = Grid::new(first, DVec3::X, DVec3::Y, [2.5, 2.5], [120, 120], &planes)
        .expect("a valid grid");
    let hu_at = |p: DVec3| {
        paints
            .iter()
            .rev()
            .find_map(|paint| paint(p))
            .unwrap_or(AIR_HU)
    };
    let mut data = Vec::with_capacity(grid.len());
    for n in 0..grid.len() {
        let centre = grid.centre_mm(n % 120, n / 120 % 120, n / 14_400);
        data.push(
            (0..8)
                .map(|c| {
                    hu_at({
                        centre
                            + DVec3::new(
                                2.5 * corner_side(0, c),
                                2.5 * corner_side(1, c),
                                3.0 * corner_side(2, c),
                            )
                    })
                })
                .sum::<f32>()
                / 8.0,
        );
    }
    Volume::new(Arc::new(grid), data)
}

fn corner_side(bit: usize, c: usize) -> f64 {
    if c >> bit & 1 == 0 { -0.25 } else { 0.25 }
}

fn cuboid(low: [f64; 3], high: [f64; 3], hu: f32) -> Paint {
    Box::new(move |p| {
        let p = p.to_array();
        (0..3)
            .all(|a| low[a] <= p[a] && p[a] < high[a])
            .then_some(hu)
    })
}

/// A cylinder along z.
fn cylinder(x: f64, y: f64, semi: [f64; 2], z: [f64; 2], hu: f32) -> Paint {
    Box::new(move |p| {
        let inside = ((p.x - x) / semi[0]).powi(2) + ((p.y - y) / semi[1]).powi(2) < 1.0;
        (inside && z[0] <= p.z && p.z < z[1]).then_some(hu)
    })
}

const ALL_Z: [f64; 2] = [-100.0, 100.0];

/// A couch with a shell of 5 mm round foam, by the depth below its top of a point and how far aside it lies.
fn couch(depth_and_aside: impl Fn(DVec3) -> [f64; 2] + 'static, filling: f32) -> Paint {
    Box::new(move |p| {
        let [depth, aside] = depth_and_aside(p);
        is_in_couch(0.0, depth, aside).then(|| {
            if is_in_couch(5.0, depth, aside) {
                filling
            } else {
                50.0
            }
        })
    })
}

fn is_in_couch(m: f64, depth: f64, aside: f64) -> bool {
    (m..50.0 - m).contains(&depth) && aside.abs() < 140.0 - m
}

/// The outline's mask, and the parts left out.
fn found(hu: &Volume<f32>) -> (Mask, Vec<LeftOut>) {
    let BodyOutline { contours, left_out } =
        body_contours(hu, -350.0, &|_| true).expect("not stopped");
    let slices: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    (
        Mask::from_contours(hu.grid(), &slices, &|_| true).expect("a mask"),
        left_out,
    )
}

/// The share of the paint's voxels (by their centres) that the mask holds.
fn share_in(mask: &Mask, paint: &Paint) -> f64 {
    let grid = mask.grid();
    let centres = (0..grid.len()).map(|n| [n % 120, n / 120 % 120, n / 14_400]);
    let distances: Vec<_> = centres
        .filter(|&[i, j, k]| paint(grid.centre_mm(i, j, k)).is_some())
        .collect();
    assert!(!distances.is_empty());
    distances
        .iter()
        .filter(|&&[i, j, k]| mask.coverage_at(i, j, k) >= 0.5)
        .count() as f64
        / distances.len() as f64
}

/// Slabs across an axis: water, aluminium, lung, water.
fn layers(axis: usize, half_width: f64) -> Vec<Paint> {
    // All of them within the 120 mm of the planes.
    vec![
        slab_across(-55.0, -30.0, WATER, axis, half_width),
        slab_across(-30.0, -20.0, ALUMINIUM, axis, half_width),
        slab_across(-20.0, 25.0, LUNG, axis, half_width),
        slab_across(25.0, 55.0, WATER, axis, half_width),
    ]
}

fn slab_across(from: f64, to: f64, hu: f32, axis: usize, half_width: f64) -> Paint {
    let (mut low, mut high) = ([-half_width; 3], [half_width; 3]);
    (low[axis], high[axis]) = (from, to);
    cuboid(low, high, hu)
}

/// In air and to the edges of the image, across each axis.
#[test]
fn layers_of_a_stack_belong_to_it_the_light_ones_too() {
    for axis in 0..3 {
        for half_width in [100.0, 1000.0] {
            let slabs = layers(axis, half_width);
            let (mask, left_out) = found(&painted(&slabs));
            for (n, slab) in slabs.iter().enumerate() {
                let share = share_in(&mask, slab);
                assert!(
                    share > 0.999,
                    "axis {axis}, {half_width} mm, slab {n}: {share}"
                );
            }
            assert_eq!(left_out, []);
        }
    }
}

#[test]
fn a_stack_with_a_thin_first_slab_and_slits_of_air_is_whole_and_its_couch_is_not_in_it() {
    for filling in [AIR_HU, FOAM] {
        let slabs = [
            slab_of_chest(-80.0, -75.0, WATER),
            slab_of_chest(-75.0, -40.0, LUNG),
            slab_of_chest(-37.5, 0.0, LUNG),
            slab_of_chest(0.0, 60.0, WATER),
        ];
        let mut parts = vec![couch_below(filling)];
        parts.extend(slabs);
        let (mask, left_out) = found(&painted(&parts));
        for (n, slab) in parts[1..].iter().enumerate() {
            assert!(
                share_in(&mask, slab) > 0.99,
                "slab {n}: {}",
                share_in(&mask, slab)
            );
        }
        assert!(
            share_in(&mask, &couch_below(filling)) < 0.1,
            "{}",
            share_in(&mask, &couch_below(filling))
        );
        assert_eq!(left_out[0].side, "posterior");
        // The shell over all planes, less two voxels under the slabs and beside them, which the body's outline blurs into.
        let shell = (280.0 * 50.0 - 270.0 * 40.0 - 185.0 * 5.0) * 120.0 / 1000.0;
        let left_out_cm3: f64 = left_out.iter().map(|part| part.volume_cm3).sum();
        assert!(
            (left_out_cm3 / shell - 1.0).abs() < 0.03,
            "{left_out_cm3} of {shell} cm3"
        );
        assert_eq!(left_out[0].z_mm, [-60.0, 60.0]);
    }
}

fn slab_of_chest(from: f64, to: f64, hu: f32) -> Paint {
    cuboid([-90.0, from, -1000.0], [90.0, to, 1000.0], hu)
}

fn couch_below(filling: f32) -> Paint {
    couch(|p| [p.y - 60.0, p.x], filling)
}

#[test]
fn arms_legs_a_head_and_a_bolus_off_the_skin_belong_to_the_patient() {
    let parts = [
        arm(-115.0),
        arm(115.0),
        leg(-45.0),
        leg(45.0),
        cylinder(0.0, 0.0, [80.0, 55.0], [-30.0, 20.0], WATER),
        cylinder(0.0, 0.0, [25.0, 25.0], [20.0, 36.0], WATER),
        cylinder(0.0, 0.0, [35.0, 45.0], [36.0, 60.0], WATER),
        // 5 mm thick, 3 mm from the skin, round the front.
        Box::new(|p: DVec3| {
            let front = p.y < -20.0 && p.x.abs() < 50.0 && (-25.0..15.0).contains(&p.z);
            (front && squared_ellipse_radius(3.0, p) > 1.0 && squared_ellipse_radius(8.0, p) < 1.0)
                .then_some(100.0)
        }),
    ];
    let gap = cuboid([-85.0, 0.0, -25.0], [-82.0, 10.0, 0.0], AIR_HU);
    let rod = cylinder(-120.0, -120.0, [6.0, 6.0], ALL_Z, WATER);
    let mut bodies = Vec::from(parts);
    bodies.push(cylinder(-120.0, -120.0, [6.0, 6.0], ALL_Z, WATER));
    let (mask, left_out) = found(&painted(&bodies));
    for (n, part) in bodies[..8].iter().enumerate() {
        let share = share_in(&mask, part);
        // The skin is where a voxel is two thirds full.
        assert!(share > 0.92, "part {n}: {share}");
    }
    assert!(share_in(&mask, &gap) < 0.1, "the air between arm and trunk");
    assert_eq!(share_in(&mask, &rod), 0.0);
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(
        (left_out[0].volume_cm3 / (PI * 36.0 * 0.12) - 1.0).abs() < 0.2,
        "{left_out:?}"
    );
}

fn arm(x: f64) -> Paint {
    cylinder(x, 10.0, [22.0, 22.0], [-60.0, 0.0], WATER)
}

fn leg(x: f64) -> Paint {
    cylinder(x, 0.0, [35.0, 40.0], [-60.0, -30.0], WATER)
}

fn squared_ellipse_radius(m: f64, p: DVec3) -> f64 {
    (p.x / (80.0 + m)).powi(2) + (p.y / (55.0 + m)).powi(2)
}

#[test]
fn couches_stay_out_however_they_lie() {
    let (sin, cos) = 8.0_f64.to_radians().sin_cos();
    type Make = fn() -> Paint;
    let shapes: [(&str, Make); 5] = [
        ("hollow", || couch(|p| [p.y - 70.0, p.x], AIR_HU)),
        ("touching", || couch(|p| [p.y - 58.0, p.x], FOAM)),
        ("above", || couch(|p| [-p.y - 62.0, p.x], FOAM)),
        ("curved", || {
            couch(|p| [p.y - 75.0 + 0.002 * p.x * p.x, p.x], AIR_HU)
        }),
        ("thin", || {
            Box::new(|p| ((66.0..70.0).contains(&p.y) && p.x.abs() < 140.0).then_some(50.0))
        }),
    ];
    let couches = shapes
        .iter()
        .map(|(name, make)| (*name, make()))
        .chain([("tilted", {
            couch(
                move |p| [p.y * cos + p.x * sin - 76.0, p.x * cos - p.y * sin],
                FOAM,
            )
        })]);
    for (name, under) in couches {
        let hu = painted(&[under, cylinder(0.0, 0.0, [95.0, 60.0], ALL_Z, WATER)]);
        let (mask, left_out) = found(&hu);
        let area = PI * 95.0 * 60.0;
        let off = mask.volume_cm3() / (area * 120.0 / 1000.0) - 1.0;
        assert!((-0.02..0.01).contains(&off), "{name}: {off}");
        assert!(!left_out.is_empty(), "{name}");
    }
}
