//! Clearance of the gantry head: how near it comes to the patient and the couch at the angles of a beam.
//!
//! Head and couch top are assumed (`assets/PHYSICS.md`, Room): a hint, no substitute for a dry run. What the CT does not
//! show, arms and cones among it, is not counted.

use super::couch::COUCH_MM;
use case::Beam;
use geometry::{BeamFrame, Mesh, PatientPosition};
use glam::DVec3;
use rayon::prelude::*;

/// Radius of the head, a cylinder about the beam axis, mm. Assumed.
pub const HEAD_RADIUS_MM: f64 = 350.0;
/// Distance of the head's face from the isocentre, mm. Assumed.
pub const HEAD_FACE_MM: f64 = 400.0;
/// A clearance below this is warned of, mm. Assumed.
pub const LEAST_CLEARANCE_MM: f64 = 50.0;
/// How far that top reaches beyond the body, towards the gantry and away from it, mm. Assumed.
const COUCH_BEYOND_MM: [f64; 2] = [100.0, 600.0];
/// Distance of the points that stand for its surface, mm.
const COUCH_STEP_MM: f64 = 20.0;
/// Between control points the gantry is tested about this often, degrees.
const ARC_STEP_DEG: f64 = 2.0;
/// Control points further apart do not say which way the gantry turns, degrees.
const KNOWN_WAY_DEG: f64 = 20.0;

/// Distance of a patient position (LPS, mm) from the head at a beam's frame, mm; 0 inside.
pub fn head_clearance_mm(frame: &BeamFrame, patient_mm: DVec3) -> f64 {
    let p = frame.device_from_patient(patient_mm);
    let radial_mm = (p.x.hypot(p.y) - HEAD_RADIUS_MM).max(0.0);
    let axial_mm = (HEAD_FACE_MM - p.z).max(0.0);
    radial_mm.hypot(axial_mm)
}

/// A couch top of assumed size under a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CouchTop {
    /// Unit vectors of the table top frame in patient LPS: across, towards the gantry, up.
    axes: [DVec3; 3],
    /// Lowest and highest corner in that frame, mm.
    low: DVec3,
    high: DVec3,
}

impl CouchTop {
    /// The top that touches the lowest point of a body; `None` for an empty one.
    pub fn below(body: &Mesh, position: PatientPosition) -> Option<Self> {
        let [low, high] = body.bounds_mm()?;
        let m = position.patient_from_table();
        // The table axes of every position are the patient's axes, up to their signs.
        let ends = [low, high].map(|p| m.transpose() * p);
        let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let middle = 0.5 * (low.x + high.x);
        Some(Self {
            axes: [m.x_axis, m.y_axis, m.z_axis],
            low: DVec3::new(
                middle - 0.5 * COUCH_MM[0],
                low.y - COUCH_BEYOND_MM[1],
                low.z - COUCH_MM[1],
            ),
            high: DVec3::new(
                middle + 0.5 * COUCH_MM[0],
                high.y + COUCH_BEYOND_MM[0],
                low.z,
            ),
        })
    }

    /// A position in its box, from 0 (lowest corner) to 1 along each axis; patient LPS, mm.
    fn at(&self, share: DVec3) -> DVec3 {
        let p = self.low + (self.high - self.low) * share;
        self.axes[0] * p.x + self.axes[1] * p.y + self.axes[2] * p.z
    }

    /// Its corners (bits: across, towards the gantry, up), patient LPS, mm.
    pub fn corners_mm(&self) -> [DVec3; 8] {
        std::array::from_fn(|corner| {
            let [x, y, z] = [0, 1, 2].map(|axis| f64::from(u8::from(corner >> axis & 1 == 1)));
            self.at(DVec3::new(x, y, z))
        })
    }

    /// Points of its upper and lower face, patient LPS, mm.
    pub fn points_mm(&self) -> Vec<DVec3> {
        let size = self.high - self.low;
        let [across, along] =
            [size.x, size.y].map(|mm| (mm / COUCH_STEP_MM).ceil().max(1.0) as usize);
        let mut points = Vec::with_capacity(2 * (across + 1) * (along + 1));
        for up in [0.0, 1.0] {
            for j in 0..=along {
                let y = j as f64 / along as f64;
                points.extend(
                    (0..=across).map(|i| self.at(DVec3::new(i as f64 / across as f64, y, up))),
                );
            }
        }
        points
    }
}

/// Positions of a beam's head: gantry and couch angles in turn, degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadPath {
    /// The beam's number.
    pub beam: u32,
    pub position: PatientPosition,
    pub isocentre_mm: DVec3,
    pub angles_deg: Vec<[f64; 2]>,
}

impl HeadPath {
    /// The angles of all control points, and of the way between those that are near each other.
    pub fn new(beam: &Beam, position: PatientPosition) -> Self {
        let mut angles_deg: Vec<[f64; 2]> = Vec::new();
        for point in &beam.control_points {
            let to = [point.gantry_deg, point.couch_deg];
            if angles_deg.last() == Some(&to) {
                continue;
            }
            if let Some(&from) = angles_deg.last() {
                let turn = [0, 1].map(|n| (to[n] - from[n] + 180.0).rem_euclid(360.0) - 180.0);
                let largest = turn[0].abs().max(turn[1].abs());
                if largest <= KNOWN_WAY_DEG {
                    let steps = (largest / ARC_STEP_DEG).ceil() as usize;
                    angles_deg.extend((1..steps).map(|n| {
                        let share = n as f64 / steps as f64;
                        [0, 1].map(|a| from[a] + turn[a] * share)
                    }));
                }
            }
            angles_deg.push(to);
        }
        Self {
            beam: beam.number,
            position,
            isocentre_mm: beam.isocentre_mm,
            angles_deg,
        }
    }

    /// The least distance of these points (patient LPS, mm) from the head on its way; `None` without points.
    pub fn closest(&self, points_mm: &[DVec3]) -> Option<Closest> {
        let clearances = self
            .angles_deg
            .par_iter()
            .filter_map(|&[gantry_deg, couch_deg]| {
                // Neither the collimator nor the distance of the source moves a round head.
                let frame = BeamFrame::new(
                    self.position,
                    gantry_deg,
                    0.0,
                    couch_deg,
                    self.isocentre_mm,
                    1000.0,
                );
                let mm = points_mm
                    .iter()
                    .map(|p| head_clearance_mm(&frame, *p))
                    .min_by(f64::total_cmp)?;
                Some(Closest {
                    mm,
                    gantry_deg: gantry_deg.rem_euclid(360.0),
                })
            });
        clearances.min_by(|a, b| a.mm.total_cmp(&b.mm))
    }
}

/// The least clearance of a beam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// 0: the head touches.
    pub mm: f64,
    pub gantry_deg: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{ControlPoint, Jaws};

    fn beam(gantry_deg: f64, couch_deg: f64) -> Beam {
        let mut beam = Beam::fixed(
            "B",
            1,
            gantry_deg,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            1.0,
        );
        beam.control_points[0].couch_deg = couch_deg;
        beam
    }

    fn sphere(middle: DVec3, radius: f64) -> Vec<DVec3> {
        let mut points = Vec::new();
        for i in 0..=180 {
            let (s, c) = f64::from(i).to_radians().sin_cos();
            for j in 0..360 {
                let (t, d) = f64::from(j).to_radians().sin_cos();
                points.push(middle + DVec3::new(s * d, s * t, c) * radius);
            }
        }
        points
    }

    fn closest_mm(beam: &Beam, points: &[DVec3]) -> f64 {
        HeadPath::new(beam, PatientPosition::Hfs)
            .closest(points)
            .expect("points")
            .mm
    }

    /// A sphere round the isocentre is as far from the face at any angle; one beside the head is as far as its middle
    /// from the nearest rim.
    #[test]
    fn a_sphere_is_its_radius_nearer_than_its_middle() {
        for (gantry, couch) in [(0.0, 0.0), (90.0, 0.0), (215.0, 40.0)] {
            let got = closest_mm(&beam(gantry, couch), &sphere(DVec3::ZERO, 200.0));
            assert!((got - (HEAD_FACE_MM - 200.0)).abs() < 0.1, "{got}");
        }
        // Gantry 0 of HFS: the head is at -y. The middle lies 150 mm beside its mantle and 40 mm before its face.
        let middle = DVec3::new(HEAD_RADIUS_MM + 150.0, -(HEAD_FACE_MM - 40.0), 0.0);
        let got = closest_mm(&beam(0.0, 0.0), &sphere(middle, 100.0));
        assert!((got - (150.0_f64.hypot(40.0) - 100.0)).abs() < 0.1, "{got}");
        assert_eq!(
            closest_mm(
                &beam(0.0, 0.0),
                &sphere(DVec3::new(0.0, -350.0, 0.0), 100.0)
            ),
            0.0,
            "it hits"
        );
    }

    /// A box of 400 x 200 mm: from the front its half height counts, from the side its half width.
    #[test]
    fn a_box_is_nearest_with_the_side_it_shows() {
        let points: Vec<DVec3> = (0..8)
            .map(|n| {
                let corner = DVec3::new(
                    f64::from(n & 1) - 0.5,
                    f64::from(n >> 1 & 1) - 0.5,
                    f64::from(n >> 2) - 0.5,
                );
                corner * DVec3::new(400.0, 200.0, 300.0)
            })
            .collect();
        for (gantry, half) in [(0.0, 100.0), (90.0, 200.0), (180.0, 100.0), (270.0, 200.0)] {
            let got = closest_mm(&beam(gantry, 0.0), &points);
            assert!(
                (got - (HEAD_FACE_MM - half)).abs() < 1e-6,
                "gantry {gantry}: {got}"
            );
        }
        // An arc over it is nearest where a corner faces the head.
        let mut arc = beam(60.0, 0.0);
        let first = arc.control_points[0].clone();
        arc.control_points = (0..=6)
            .map(|n| ControlPoint {
                gantry_deg: (60.0 + 10.0 * f64::from(n)).rem_euclid(360.0),
                ..first.clone()
            })
            .collect();
        let path = HeadPath::new(&arc, PatientPosition::Hfs);
        assert_eq!(path.angles_deg.len(), 31, "every two degrees");
        let closest = path.closest(&points).expect("points");
        let corner_mm = 200.0_f64.hypot(100.0);
        assert!(
            (closest.mm - (HEAD_FACE_MM - corner_mm)).abs() < 0.1,
            "{closest:?}"
        );
        let from_lateral = 100.0_f64.atan2(200.0).to_degrees();
        assert!(
            ((closest.gantry_deg - 90.0).abs() - from_lateral).abs() < 2.1,
            "{closest:?}"
        );
    }

    /// The way over north is the short one; which way a half turn goes is not said.
    #[test]
    fn the_way_between_control_points_is_the_short_one() {
        let mut arc = beam(356.0, 0.0);
        let mut second = arc.control_points[0].clone();
        second.gantry_deg = 4.0;
        arc.control_points.push(second.clone());
        let gantry: Vec<f64> = HeadPath::new(&arc, PatientPosition::Hfs)
            .angles_deg
            .iter()
            .map(|a| a[0].rem_euclid(360.0))
            .collect();
        assert_eq!(gantry, [356.0, 358.0, 0.0, 2.0, 4.0]);
        arc.control_points[1].gantry_deg = 180.0;
        assert_eq!(
            HeadPath::new(&arc, PatientPosition::Hfs).angles_deg.len(),
            2
        );
    }

    /// Under a supine patient the top is posterior, under a prone one anterior; from below the head clears it by its
    /// face less the depth of its lower side.
    #[test]
    fn the_couch_is_below_the_body() {
        let corners: Vec<DVec3> = [-1.0, 1.0]
            .iter()
            .flat_map(|x| [-1.0, 1.0].map(|z| (*x, z)))
            .flat_map(|(x, z)| [-1.0, 1.0].map(|y| DVec3::new(x * 200.0, y * 120.0, z * 150.0)))
            .collect();
        let body = Mesh::new(&corners, Vec::new());
        for (position, y) in [(PatientPosition::Hfs, 1.0), (PatientPosition::Hfp, -1.0)] {
            let couch = CouchTop::below(&body, position).expect("a couch");
            let points = couch.points_mm();
            assert!(
                points.iter().all(|p| p.y * y > 119.9 && p.y * y < 170.1),
                "{position}"
            );
            // Gantry 180 is below the table in any position.
            let closest = HeadPath::new(&beam(180.0, 0.0), position)
                .closest(&points)
                .expect("points");
            assert!(
                (closest.mm - (HEAD_FACE_MM - 170.0)).abs() < 1e-6,
                "{position}: {closest:?}"
            );
            let corners = couch.corners_mm();
            assert!((corners[0].distance(corners[1]) - COUCH_MM[0]).abs() < 1e-9);
            assert!((corners[0].distance(corners[2]) - (300.0 + 700.0)).abs() < 1e-9);
        }
    }
}
