//! Positions of the organs: x to the patient's left, y to the back, z to the head, mm.

use super::super::noise::texture;
use super::super::shape::{Solid, ellipsoid, ramp, smooth_max, superellipse};
use glam::{DMat3, DVec3};

/// Middle of the tumour, which is also the isocentre.
pub const TUMOUR_MM: DVec3 = DVec3::new(-72.0, 14.0, 25.0);
pub const TUMOUR_RADII_MM: DVec3 = DVec3::new(14.0, 13.0, 15.0);
pub const PTV_MARGIN_MM: f64 = 8.0;

/// Height of one vertebra with its disc, mm; the ribs have the same spacing.
pub const VERTEBRA_MM: f64 = 24.0;

/// Heights beyond the image, below and above.
const BELOW: f64 = -160.0;
const ABOVE: f64 = 160.0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Right,
    Left,
}

/// The skin: an oval that narrows to the neck from the shoulders up.
pub fn body() -> Solid {
    Solid::new(
        DVec3::new(-176.0, -116.0, BELOW),
        DVec3::new(176.0, 128.0, ABOVE),
        |p| {
            let up = ramp(p.z, 40.0, 150.0);
            let waist = ramp(-p.z, 60.0, 150.0);
            let rx = 174.0 - 44.0 * up - 8.0 * waist;
            let ry = 119.0 - 24.0 * up - 3.0 * waist;
            superellipse(p.x, p.y - 6.0, [rx, ry], 2.5)
        },
    )
}

/// The inside of the rib cage on an axial plane: middle in y and half-axes.
fn cage_axes(z: f64) -> (f64, [f64; 2]) {
    let t = ((z + 60.0) / 195.0).clamp(0.0, 0.95);
    let narrowing = (1.0 - t * t).sqrt();
    (
        12.0 * ramp(z, 0.0, 120.0),
        [132.0 * narrowing, 86.0 * narrowing],
    )
}

/// Signed distance to the inside of the rib cage, in the axial plane.
pub fn cage(p: DVec3) -> f64 {
    let (middle, radii) = cage_axes(p.z);
    superellipse(p.x, p.y - middle, radii, 2.2)
}

/// Signed distance to the nearest rib: an oval bar in the wall, lower in front than behind.
pub fn rib(p: DVec3) -> f64 {
    let (middle, [rx, ry]) = cage_axes(p.z);
    let angle = (p.x.abs() / rx).atan2((p.y - middle) / ry);
    let height = p.z + 62.0 * ramp(angle, 0.0, 2.4);
    let nearest = height - (height / VERTEBRA_MM).round() * VERTEBRA_MM;
    let bar = (((cage(p) - 5.5) / 4.2).hypot(nearest / 6.5) - 1.0) * 4.2;
    let ends = (0.22 - angle).max(angle - 2.65) * rx;
    smooth_max(bar, ends.max(p.z - 116.0), 3.0)
}

/// All ribs; the bounding box is the rib cage's.
pub fn ribs() -> Solid {
    Solid::new(
        DVec3::new(-145.0, -100.0, BELOW),
        DVec3::new(145.0, 105.0, 122.0),
        rib,
    )
}

/// Whether a point of a rib is cartilage: the ribs' front ends.
pub fn is_cartilage(p: DVec3) -> bool {
    let (middle, [rx, ry]) = cage_axes(p.z);
    (p.x.abs() / rx).atan2((p.y - middle) / ry) > 2.35
}

/// y of the middle of the vertebral bodies: the spine bends a little.
pub fn spine_y(z: f64) -> f64 {
    60.0 - 8.0 * ramp(z, 20.0, 150.0) - 4.0 * ramp(-z, 60.0, 150.0)
}

/// Signed distance to the column of vertebral bodies and discs.
pub fn vertebral_column(p: DVec3) -> f64 {
    superellipse(p.x, p.y - spine_y(p.z), [18.0, 14.0], 2.3)
}

/// Signed distance to the bony arch behind the canal: ring, spinous and transverse processes.
pub fn arch(p: DVec3) -> f64 {
    let q = DVec3::new(p.x.abs(), p.y - canal_y(p.z), 0.0);
    let ring = (q.x.hypot(q.y) - 12.0).abs() - 2.5;
    // Between two arches there is a gap; processes are thinner still.
    let phase = p.z / VERTEBRA_MM - (p.z / VERTEBRA_MM).round();
    let level = phase.abs() * VERTEBRA_MM;
    let spinous = (q.x - 2.6).max(11.0 - q.y).max(q.y - 26.0).max(level - 6.0);
    // The transverse process points outward and back.
    let along = DVec3::new(0.88, 0.47, 0.0);
    let t = q.dot(along);
    let transverse = (q - along * t).length().max(level * 0.8).max(0.0) - 4.0
        + 100.0 * (t - 36.0).max(8.0 - t).max(0.0);
    ring.max(level - 9.0).min(spinous).min(transverse)
}

/// y of the middle of the spinal canal.
pub fn canal_y(z: f64) -> f64 {
    spine_y(z) + 23.0
}

pub fn canal() -> Solid {
    Solid::new(
        DVec3::new(-12.0, 50.0, BELOW),
        DVec3::new(12.0, 100.0, ABOVE),
        |p| p.x.hypot(p.y - canal_y(p.z)) - 9.0,
    )
}

pub fn cord() -> Solid {
    Solid::new(
        DVec3::new(-7.0, 60.0, BELOW),
        DVec3::new(7.0, 95.0, ABOVE),
        |p| superellipse(p.x, p.y - canal_y(p.z), [5.5, 4.5], 2.0),
    )
}

fn heart_distance(p: DVec3) -> f64 {
    // The long axis points to the left, forward and down.
    let turned = DMat3::from_rotation_z(0.6) * (p - DVec3::new(24.0, -26.0, -44.0));
    let tilted = DMat3::from_rotation_y(-0.35) * turned;
    ellipsoid(tilted, DVec3::new(60.0, 42.0, 47.0))
}

/// The heart, `margin_mm` larger all round.
pub fn heart(margin_mm: f64) -> Solid {
    Solid::new(
        DVec3::new(-45.0, -90.0, -112.0),
        DVec3::new(95.0, 40.0, 25.0),
        move |p| heart_distance(p) - margin_mm,
    )
}

/// The dome of the diaphragm on either side.
pub fn dome(side: Side) -> Solid {
    match side {
        Side::Right => {
            Solid::ellipsoid(DVec3::new(-62.0, 0.0, -150.0), DVec3::new(76.0, 84.0, 78.0))
        }
        Side::Left => Solid::ellipsoid(DVec3::new(66.0, 0.0, -155.0), DVec3::new(70.0, 82.0, 70.0)),
    }
}

/// A lung: the half of the rib cage on its side, less the organs in it.
pub fn lung(side: Side) -> Solid {
    let (low, high) = match side {
        Side::Right => (
            DVec3::new(-134.0, -90.0, -142.0),
            DVec3::new(0.0, 100.0, 128.0),
        ),
        Side::Left => (
            DVec3::new(0.0, -90.0, -142.0),
            DVec3::new(134.0, 100.0, 128.0),
        ),
    };
    let sign = if side == Side::Right { -1.0 } else { 1.0 };
    let diaphragm = dome(side);
    let vessel = aorta();
    Solid::new(low, high, move |p| {
        // The mediastinum is narrow in front, where the lungs nearly meet, and widest at the roots.
        let roots = 10.0 * ramp(p.z, -40.0, 10.0) * ramp(-p.z, -70.0, -20.0);
        let middle = 27.0 - 19.0 * ramp(-p.y, 22.0, 66.0)
            + roots * ramp(p.y, -30.0, 0.0) * ramp(-p.y, -45.0, -20.0);
        let wall = cage(p) + 1.5;
        let floor = -112.0 - 0.32 * p.y - p.z;
        let mut d = smooth_max(wall, middle - sign * p.x, 14.0);
        d = smooth_max(d, floor, 14.0);
        d = smooth_max(d, 4.0 - diaphragm.distance_mm(p), 8.0);
        d = smooth_max(d, 4.0 - vertebral_column(p), 8.0);
        d = smooth_max(d, 3.0 - heart_distance(p), 8.0);
        if side == Side::Left {
            d = smooth_max(d, 3.0 - vessel.distance_mm(p), 6.0);
        }
        smooth_max(d, p.z - 124.0, 10.0)
    })
}

/// Ascending aorta, arch and descending aorta.
pub fn aorta() -> Solid {
    let path = [
        ([-6.0, -26.0, -10.0], 15.0),
        ([-9.0, -30.0, 36.0], 15.0),
        ([-1.0, -16.0, 64.0], 14.0),
        ([17.0, 12.0, 68.0], 13.0),
        ([28.0, 36.0, 54.0], 12.5),
        ([29.0, 44.0, 20.0], 12.0),
        ([26.0, 42.0, -60.0], 11.5),
        ([14.0, 34.0, -160.0], 11.0),
    ];
    Solid::tube(&path.map(|(p, r)| (DVec3::from(p), r)))
}

pub fn oesophagus() -> Solid {
    let path = [
        ([0.0, 24.0, 160.0], 7.5),
        ([2.0, 31.0, 60.0], 7.5),
        ([7.0, 33.0, -10.0], 7.5),
        ([10.0, 27.0, -90.0], 8.0),
        ([22.0, 8.0, -130.0], 9.0),
        ([30.0, 0.0, -160.0], 10.0),
    ];
    Solid::tube(&path.map(|(p, r)| (DVec3::from(p), r)))
}

/// Trachea and main bronchi, `wall_mm` larger all round.
pub fn trachea(wall_mm: f64) -> Solid {
    let fork = DVec3::new(0.0, 15.0, 32.0);
    let windpipe = Solid::tube(&[(DVec3::new(0.0, 6.0, 160.0), 9.0), (fork, 9.0)]);
    let right = Solid::tube(&[
        (fork, 7.5),
        (DVec3::new(-24.0, 13.0, 13.0), 7.0),
        (DVec3::new(-44.0, 12.0, 2.0), 5.0),
    ]);
    let left = Solid::tube(&[
        (fork, 7.5),
        (DVec3::new(27.0, 16.0, 16.0), 6.5),
        (DVec3::new(46.0, 16.0, 6.0), 5.0),
    ]);
    Solid::new(
        DVec3::new(-56.0, -8.0, -10.0),
        DVec3::new(58.0, 30.0, ABOVE),
        move |p| {
            let d = windpipe
                .distance_mm(p)
                .min(right.distance_mm(p))
                .min(left.distance_mm(p));
            d - wall_mm
        },
    )
}

/// The tumour, `margin_mm` larger all round; without a margin its surface is uneven.
pub fn tumour(margin_mm: f64) -> Solid {
    let reach = TUMOUR_RADII_MM + margin_mm + 2.0;
    Solid::new(TUMOUR_MM - reach, TUMOUR_MM + reach, move |p| {
        let smooth = ellipsoid(p - TUMOUR_MM, TUMOUR_RADII_MM + margin_mm);
        if margin_mm > 0.0 {
            smooth
        } else {
            smooth + 1.6 * texture(p, 9.0, 119)
        }
    })
}
