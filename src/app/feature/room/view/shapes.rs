//! Shapes of the room that follow from numbers: the gantry head, the couch top, the beams.

use crate::view::BeamLayer;
use crate::view::bev::opening_edges;
use crate::view::field::leaf_openings;
use analysis::{CouchTop, HEAD_FACE_MM, HEAD_RADIUS_MM};
use geometry::{BeamFrame, Mesh};
use glam::DVec3;
use std::f64::consts::TAU;

/// Length of the head from its face, mm. Assumed.
pub const HEAD_LENGTH_MM: f64 = 420.0;
const HEAD_SIDES: u32 = 64;

/// The head of a beam: a cylinder about its axis.
pub fn head(frame: &BeamFrame) -> Mesh {
    let (face, back) = (HEAD_FACE_MM, HEAD_FACE_MM + HEAD_LENGTH_MM);
    let middles = [face, back].map(|z| DVec3::new(0.0, 0.0, z));
    // Normals are per corner: mantle and ends share no ring, so that the rims stay sharp.
    let corners: Vec<DVec3> = head_ring(face)
        .chain(head_ring(back))
        .chain(head_ring(face))
        .chain(head_ring(back))
        .chain(middles)
        .collect();
    let n = HEAD_SIDES;
    let mut triangles = Vec::new();
    for a in 0..n {
        let b = (a + 1) % n;
        triangles.extend([[a, b, n + b], [a, n + b, n + a]]);
        triangles.extend([
            [4 * n, 2 * n + b, 2 * n + a],
            [4 * n + 1, 3 * n + a, 3 * n + b],
        ]);
    }
    let corners: Vec<DVec3> = corners
        .into_iter()
        .map(|p| frame.patient_from_device(p))
        .collect();
    Mesh::new(&corners, triangles)
}

/// Corners of the head's mantle at a height above the isocentre, device coordinates, mm.
fn head_ring(z_mm: f64) -> impl Iterator<Item = DVec3> {
    (0..HEAD_SIDES).map(move |n| {
        let (s, c) = (TAU * f64::from(n) / f64::from(HEAD_SIDES)).sin_cos();
        DVec3::new(HEAD_RADIUS_MM * c, HEAD_RADIUS_MM * s, z_mm)
    })
}

/// A couch top of assumed size.
pub fn couch(top: &CouchTop) -> Mesh {
    let ends = top.corners_mm();
    // Faces share no corners, so that the edges stay sharp. They are counter-clockwise as seen from outside; the bits of an
    // index are across, along and up.
    let faces = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let corners: Vec<DVec3> = faces.iter().flatten().map(|n| ends[*n]).collect();
    let triangles = (0..6)
        .flat_map(|f| [[4 * f, 4 * f + 1, 4 * f + 2], [4 * f, 4 * f + 2, 4 * f + 3]])
        .collect();
    Mesh::new(&corners, triangles)
}

/// Lines of the room, patient LPS, mm.
pub type Ends = Vec<[[f32; 3]; 2]>;

/// A beam from its source to `beyond_mm` past the isocentre plane.
pub struct Field {
    frame: BeamFrame,
    beyond_mm: f64,
}

impl Field {
    pub fn new(beam: &BeamLayer, beyond_mm: f64) -> Self {
        Self {
            frame: beam.frame(),
            beyond_mm,
        }
    }

    /// The point where the ray through a point of the isocentre plane reaches a height over that plane, mm.
    fn point_at_height(&self, [x, y]: [f64; 2], z_mm: f64) -> DVec3 {
        let share = (self.frame.sad_mm - z_mm) / self.frame.sad_mm;
        self.frame
            .patient_from_device(DVec3::new(x * share, y * share, z_mm))
    }

    /// The edges of the jaws' field: its corner rays, and its rim where it ends, and at the isocentre plane.
    pub fn jaw_lines(&self, beam: &BeamLayer) -> Ends {
        if !beam.jaws.is_open() {
            return Vec::new();
        }
        let corners = corners(beam);
        let mut ends = Vec::new();
        for (n, corner) in corners.iter().enumerate() {
            let next = corners[(n + 1) % 4];
            ends.push([
                self.frame.source_mm,
                self.point_at_height(*corner, -self.beyond_mm),
            ]);
            for z in [0.0, -self.beyond_mm] {
                ends.push([
                    self.point_at_height(*corner, z),
                    self.point_at_height(next, z),
                ]);
            }
        }
        lines(ends)
    }

    /// The outline of the leaves' opening at the isocentre plane and where the field ends.
    pub fn leaf_lines(&self, beam: &BeamLayer) -> Ends {
        let edges = leaf_edges(beam);
        let ends = [0.0, -self.beyond_mm].into_iter().flat_map(|z_mm| {
            edges
                .iter()
                .map(move |edge| edge.map(|p| self.point_at_height(p, z_mm)))
        });
        lines(ends.collect())
    }

    /// The beam's axis from the source on.
    pub fn axis(&self) -> Ends {
        lines(vec![[
            self.frame.source_mm,
            self.point_at_height([0.0; 2], -self.beyond_mm),
        ]])
    }

    /// The sides of the opening, of the leaves where there are some, else of the jaws.
    pub fn sides(&self, beam: &BeamLayer) -> Mesh {
        let edges = match beam.mlc {
            Some(_) => leaf_edges(beam),
            None if beam.jaws.is_open() => {
                let corners = corners(beam);
                (0..4).map(|n| [corners[n], corners[(n + 1) % 4]]).collect()
            }
            None => Vec::new(),
        };
        let mut points = Vec::with_capacity(3 * edges.len());
        for [a, b] in edges {
            points.extend([
                self.frame.source_mm,
                self.point_at_height(a, -self.beyond_mm),
                self.point_at_height(b, -self.beyond_mm),
            ]);
        }
        let triangles = (0..points.len() as u32 / 3)
            .map(|n| [3 * n, 3 * n + 1, 3 * n + 2])
            .collect();
        Mesh::new(&points, triangles)
    }
}

fn corners(beam: &BeamLayer) -> [[f64; 2]; 4] {
    let ([left, right], [low, high]) = (beam.jaws.x, beam.jaws.y);
    [[left, low], [right, low], [right, high], [left, high]]
}

fn leaf_edges(beam: &BeamLayer) -> Vec<[[f64; 2]; 2]> {
    let Some(mlc) = &beam.mlc else {
        return Vec::new();
    };
    opening_edges(&leaf_openings(&beam.jaws, mlc, &beam.leaves_mm), mlc.axis)
}

fn lines(ends: Vec<[DVec3; 2]>) -> Ends {
    ends.into_iter()
        .map(|ends| ends.map(|p| p.as_vec3().to_array()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::head_clearance_mm;
    use case::{Beam, Jaws};
    use geometry::PatientPosition;
    use std::f64::consts::PI;

    fn layer(gantry_deg: f64) -> BeamLayer {
        let beam = Beam::fixed(
            "B",
            1,
            gantry_deg,
            DVec3::new(5.0, 6.0, 7.0),
            Jaws::symmetric(100.0, 60.0),
            1.0,
        );
        BeamLayer::new(0, &beam, PatientPosition::Hfs, 1000.0, true).expect("a beam")
    }

    /// The head that is drawn is the one that is tested for clearance; its triangles face outwards.
    #[test]
    fn the_head_is_a_cylinder_at_its_place() {
        let frame = layer(30.0).frame();
        let head = head(&frame);
        let want = PI * HEAD_RADIUS_MM.powi(2) * HEAD_LENGTH_MM;
        assert!(
            (head.volume_mm3() / want - 1.0).abs() < 0.01,
            "{}",
            head.volume_mm3()
        );
        assert!(
            head.corners_mm()
                .all(|p| head_clearance_mm(&frame, p) < 0.1)
        );
        let nearest = head
            .corners_mm()
            .map(|p| frame.device_from_patient(p).z)
            .fold(f64::MAX, f64::min);
        assert!((nearest - HEAD_FACE_MM).abs() < 1e-3);
    }

    #[test]
    fn the_couch_top_is_a_box_that_faces_outwards() {
        let body = Mesh::new(
            &[
                DVec3::new(-200.0, -100.0, -50.0),
                DVec3::new(200.0, 100.0, 250.0),
            ],
            Vec::new(),
        );
        for position in PatientPosition::ALL {
            let top = CouchTop::below(&body, position).expect("a couch");
            let [first, .., last] = top.corners_mm();
            let size = (last - first).abs();
            let mm3 = couch(&top).volume_mm3();
            assert!(
                (mm3 / (size.x * size.y * size.z) - 1.0).abs() < 1e-3,
                "{position}: {mm3}"
            );
        }
    }

    /// A pyramid of 100 x 60 mm at 1000 mm, cut 200 mm beyond: its sides end at 120 x 72 mm.
    #[test]
    fn a_field_diverges_from_its_source() {
        let beam = layer(90.0);
        let field = Field::new(&beam, 200.0);
        let frame = beam.frame();
        let sides = field.sides(&beam);
        assert_eq!(sides.triangles.len(), 4);
        for p in sides.corners_mm() {
            let d = frame.device_from_patient(p);
            let at_end = (d.z + 200.0).abs() < 1e-3
                && (d.x.abs() - 60.0).abs() < 1e-3
                && (d.y.abs() - 36.0).abs() < 1e-3;
            assert!(at_end || p.distance(frame.source_mm) < 1e-3, "{d}");
        }
        assert_eq!(
            (field.jaw_lines(&beam).len(), field.leaf_lines(&beam).len()),
            (12, 0)
        );
    }
}
