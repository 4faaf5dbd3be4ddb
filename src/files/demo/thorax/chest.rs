//! Composition of the organs: Hounsfield units of the chest, painted from the outside in. HU of tissues at
//! 120 kV from ICRU 44 compositions: fat about -100, muscle 50, blood 45, liver 60, marrow 150 to 300,
//! cortical bone 800 and more, inflated lung -850 to -700.

use super::super::noise::texture;
use super::super::shape::{Solid, ellipsoid, ramp, slab, smooth_max};
use super::super::{AIR_HU, Canvas};
use super::{anatomy as a, between};
use glam::{DMat3, DVec3};

const SKIN_HU: f32 = 10.0;
const FAT_HU: f32 = -105.0;
const MUSCLE_HU: f32 = 52.0;
const BLOOD_HU: f32 = 44.0;
const LIVER_HU: f32 = 60.0;
const CORTEX_HU: f32 = 850.0;

/// Skin 2 mm, fat thicker in front and at the back, muscle marbled with fat.
pub fn paint_wall(canvas: &mut Canvas, body: &Solid) {
    canvas.paint(body, |p, distance| {
        let depth = -distance;
        let fat = 9.0 + 5.0 * ramp(p.y.abs(), 40.0, 110.0) + 2.0 * texture(p, 40.0, 3);
        let marbling = texture(p, 11.0, 5);
        let muscle = MUSCLE_HU - 60.0 * ramp(marbling, 0.25, 0.7) as f32;
        let inner = between(FAT_HU, muscle, (depth - fat) / 2.0);
        between(SKIN_HU, inner, depth - 1.5)
    });
    // Fat fills the rib cage outside the organs.
    let inside = Solid::new(
        DVec3::new(-134.0, -90.0, -160.0),
        DVec3::new(134.0, 100.0, 128.0),
        |p| (a::cage(p) + 0.5).max(p.z - 126.0),
    );
    canvas.paint(&inside, |p, _| {
        FAT_HU + 15.0 + 12.0 * texture(p, 8.0, 7) as f32
    });
}

/// Ribs with their cartilage, spine, sternum, shoulder blades, collar bones.
pub fn paint_bones(canvas: &mut Canvas) {
    canvas.paint(&a::ribs(), |p, d| {
        if a::is_cartilage(p) {
            95.0
        } else {
            bone_hu(d, 220.0, 1.2)
        }
    });
    let column = Solid::new(
        DVec3::new(-19.0, 30.0, -160.0),
        DVec3::new(19.0, 76.0, 160.0),
        a::vertebral_column,
    );
    canvas.paint(&column, |p, d| {
        let level = (p.z / a::VERTEBRA_MM - (p.z / a::VERTEBRA_MM).round()).abs() * a::VERTEBRA_MM;
        // Discs of 5 mm lie half-way between the arches.
        if level > 9.5 {
            85.0
        } else {
            between(480.0, 190.0 + 40.0 * texture(p, 4.0, 11) as f32, -d - 1.5)
        }
    });
    let arches = Solid::new(
        DVec3::new(-46.0, 50.0, -160.0),
        DVec3::new(46.0, 112.0, 160.0),
        a::arch,
    );
    canvas.paint(&arches, |_, d| bone_hu(d, 350.0, 1.0));
    canvas.paint(&a::canal(), |_, _| 12.0);
    canvas.paint(&a::cord(), |_, _| 38.0);
    let sternum = Solid::new(
        DVec3::new(-22.0, -102.0, -62.0),
        DVec3::new(22.0, -40.0, 96.0),
        |p| {
            let bar = smooth_max((a::cage(p) - 6.5).abs() - 5.5, p.x.abs() - 17.0, 6.0);
            smooth_max(bar, slab(p.z, [-60.0, 94.0]), 6.0).max(p.y + 30.0)
        },
    );
    canvas.paint(&sternum, |_, d| bone_hu(d, 120.0, 0.8));
    for side in [-1.0, 1.0] {
        let middle = DVec3::new(side * 96.0, 66.0, 78.0);
        let blade = Solid::new(
            middle - DVec3::new(42.0, 42.0, 62.0),
            middle + DVec3::new(42.0, 42.0, 62.0),
            move |p| {
                let turned = DMat3::from_rotation_z(side * 0.75) * (p - middle);
                ellipsoid(turned, DVec3::new(40.0, 4.5, 60.0))
            },
        );
        canvas.paint(&blade, |_, d| bone_hu(d, 300.0, 1.0));
        let collar = Solid::tube(&[
            (DVec3::new(side * 22.0, -52.0, 98.0), 7.0),
            (DVec3::new(side * 70.0, -48.0, 116.0), 5.5),
            (DVec3::new(side * 108.0, -20.0, 140.0), 6.0),
        ]);
        canvas.paint(&collar, |_, d| bone_hu(d, 250.0, 1.2));
    }
}

fn bone_hu(distance: f64, marrow: f32, cortex_mm: f64) -> f32 {
    between(CORTEX_HU, marrow, (-distance - cortex_mm) / 1.5)
}

/// Liver, stomach and spleen under the domes; heart in its fat, great vessels, oesophagus.
pub fn paint_middle(canvas: &mut Canvas) {
    for (side, hu) in [(a::Side::Right, LIVER_HU), (a::Side::Left, 48.0)] {
        let dome = a::dome(side);
        let (low, high) = (dome.low_mm, dome.high_mm);
        let organ = Solid::new(low, high, move |p| {
            smooth_max(a::cage(p) + 3.0, dome.distance_mm(p) + 2.0, 8.0)
        });
        canvas.paint(&organ, |p, _| hu + 6.0 * texture(p, 12.0, 13) as f32);
    }
    let lobe = Solid::ellipsoid(DVec3::new(4.0, -38.0, -150.0), DVec3::new(60.0, 38.0, 34.0));
    canvas.paint(&lobe, |_, _| LIVER_HU);
    let bubble = Solid::ellipsoid(
        DVec3::new(58.0, -30.0, -122.0),
        DVec3::new(26.0, 18.0, 15.0),
    );
    canvas.paint(&bubble, |_, _| -960.0);
    canvas.paint(&a::heart(3.0), |_, _| FAT_HU + 10.0);
    canvas.paint(&a::heart(0.0), |p, _| {
        BLOOD_HU + 5.0 * texture(p, 14.0, 17) as f32
    });
    for vessel in great_vessels() {
        canvas.paint(&vessel, |_, _| BLOOD_HU);
    }
    canvas.paint(&a::oesophagus(), |_, d| {
        between(34.0, -180.0, (-d - 5.0) / 2.0)
    });
}

fn great_vessels() -> Vec<Solid> {
    let trunk = [20.0, -28.0, 24.0];
    vec![
        a::aorta(),
        tube(&[([22.0, -42.0, -10.0], 14.0), (trunk, 13.0)]),
        tube(&[
            (trunk, 11.0),
            ([0.0, -8.0, 22.0], 10.0),
            ([-34.0, 0.0, 20.0], 9.0),
        ]),
        tube(&[
            (trunk, 11.0),
            ([32.0, -6.0, 32.0], 10.0),
            ([42.0, 4.0, 28.0], 9.0),
        ]),
        tube(&[
            ([-26.0, -24.0, -20.0], 10.0),
            ([-25.0, -16.0, 60.0], 9.0),
            ([-22.0, -8.0, 110.0], 8.0),
        ]),
        tube(&[
            ([-22.0, -16.0, 96.0], 7.0),
            ([10.0, -22.0, 98.0], 7.0),
            ([34.0, -10.0, 116.0], 6.0),
        ]),
        tube(&[
            ([-2.0, -14.0, 70.0], 5.0),
            ([-16.0, 4.0, 120.0], 5.0),
            ([-20.0, 10.0, 160.0], 4.5),
        ]),
        tube(&[
            ([12.0, 4.0, 74.0], 4.5),
            ([18.0, 10.0, 120.0], 4.5),
            ([20.0, 12.0, 160.0], 4.5),
        ]),
    ]
}

fn tube(path: &[([f64; 3], f64)]) -> Solid {
    Solid::tube(
        &path
            .iter()
            .map(|&(p, r)| (DVec3::from(p), r))
            .collect::<Vec<_>>(),
    )
}

/// Lungs, denser towards the back as in a supine patient, with vessels that branch from the roots.
pub fn paint_lungs(canvas: &mut Canvas, lungs: [&Solid; 2]) {
    for (lung, sign) in lungs.into_iter().zip([-1.0, 1.0]) {
        canvas.paint(lung, |p, _| {
            let gravity = -795.0 + 75.0 * (p.y / 80.0);
            (gravity + 22.0 * texture(p, 6.0, 19) + 18.0 * texture(p, 30.0, 23)) as f32
        });
        let root = DVec3::new(sign * 42.0, 8.0, 16.0);
        for (n, aim) in ROOT_BRANCHES.iter().enumerate() {
            let direction = (DVec3::new(sign * aim[0], aim[1], aim[2])).normalize();
            let first = Vessel {
                from: root,
                direction,
                radius: 4.6,
                length: 34.0,
                seed: n as u64 + 31,
            };
            grow(canvas, lung, first);
        }
    }
}

/// Directions of the first branches: outward, back, head.
const ROOT_BRANCHES: [[f64; 3]; 8] = [
    [0.8, -0.5, 0.6],
    [0.6, 0.4, 0.9],
    [1.0, -0.6, -0.2],
    [1.0, 0.5, 0.0],
    [0.7, 0.7, -0.7],
    [0.5, 0.3, -1.0],
    [0.4, -0.9, 0.1],
    [0.9, 0.0, -0.7],
];

struct Vessel {
    from: DVec3,
    direction: DVec3,
    radius: f64,
    length: f64,
    /// Seed of the texture that turns the plane of its branches.
    seed: u64,
}

/// Draws a vessel and its two branches, each thinner by 2^(-1/3) (Murray's law), while they are inside the
/// lung.
fn grow(canvas: &mut Canvas, lung: &Solid, vessel: Vessel) {
    let Vessel {
        from,
        direction,
        radius,
        length,
        seed,
    } = vessel;
    let to = from + direction * length;
    if radius < 0.9 || lung.distance_mm(to) > -2.0 {
        return;
    }
    let vessel = Solid::tube(&[(from, radius), (to, radius * 0.85)]);
    canvas.paint(&vessel, |_, _| BLOOD_HU - 8.0);
    // Each branch has its own plane, from a repeatable texture.
    let side = direction
        .cross(DVec3::new(
            turn(1.0, to, seed),
            turn(2.0, to, seed),
            turn(3.0, to, seed) + 0.3,
        ))
        .normalize_or(DVec3::X);
    for (sign, bend) in [(1.0, 0.55), (-1.0, 0.75)] {
        let next = (direction + side * sign * bend).normalize();
        let branch = Vessel {
            from: to,
            direction: next,
            radius: radius * 0.794,
            length: length * 0.82,
            seed: seed * 2 + u64::from(sign > 0.0),
        };
        grow(canvas, lung, branch);
    }
}

fn turn(n: f64, to: DVec3, seed: u64) -> f64 {
    texture(to + n * 17.3, 1.7, seed)
}

/// Trachea and bronchi with their wall, and the tumour.
pub fn paint_airways_and_tumour(canvas: &mut Canvas) {
    canvas.paint(&a::trachea(2.0), |_, _| 30.0);
    canvas.paint(&a::trachea(0.0), |_, _| AIR_HU + 8.0);
    canvas.paint(&a::tumour(0.0), |p, _| {
        38.0 + 10.0 * texture(p, 6.0, 29) as f32
    });
}
