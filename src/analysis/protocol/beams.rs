//! Beams of a protocol, placed by the targets.

use case::{Beam, GantryArc, Jaws};
use files::{Arrangement, Protocol};
use geometry::{BeamFrame, PatientPosition};
use glam::DVec3;

/// Sides of the fields before maps set their jaws, mm.
const FIELD_MM: f64 = 100.0;
/// Monitor units before maps set them.
const MU: f64 = 100.0;

/// Arcs have their collimators turned, every second one to the other side, so that leakage between leaves is spread out. Chosen.
const ARC_COLLIMATOR_DEG: f64 = 10.0;

/// Half arc from straight above over the left of one who faces the gantry, and its mirror image.
const LEFT_HALF: GantryArc = GantryArc {
    start_deg: 0.0,
    stop_deg: 179.0,
    clockwise: true,
};
const RIGHT_HALF: GantryArc = GantryArc {
    start_deg: 181.0,
    stop_deg: 0.0,
    clockwise: true,
};

/// Place of the targets, patient LPS, mm.
pub(super) struct Place {
    pub position: PatientPosition,
    pub isocentre_mm: DVec3,
    pub sad_mm: f64,
    /// Corners of the targets.
    pub targets: Vec<DVec3>,
    /// Middle of the body.
    pub middle_mm: DVec3,
}

/// Collimator and couch angles: one for all beams, one for each, or none.
#[derive(Clone, Copy)]
struct Angles<'a> {
    collimator_deg: &'a [f64],
    couch_deg: &'a [f64],
}

/// Beams of a protocol's delivery; none where it has none for it.
pub(super) fn of_protocol(protocol: &Protocol, place: &Place) -> Vec<Beam> {
    let Some((arrangement, collimator_deg, couch_deg)) =
        protocol.beams.of_delivery(protocol.delivery)
    else {
        return Vec::new();
    };
    let angles = Angles {
        collimator_deg,
        couch_deg,
    };
    match arrangement {
        Arrangement::Arcs { count, half } => arcs(angles, usize::from(*count), *half, place),
        Arrangement::Fields(gantries_deg) => fields(angles, gantries_deg, "G", place),
        Arrangement::Tangents => fields(angles, &place.tangents_deg(), "T", place),
    }
}

/// Angle of a beam.
fn angle_deg(angles_deg: &[f64], n: usize) -> Option<f64> {
    angles_deg.get(n).or(angles_deg.first()).copied()
}

fn fields(angles: Angles<'_>, gantries_deg: &[f64], letter: &str, place: &Place) -> Vec<Beam> {
    let mut fields = Vec::with_capacity(gantries_deg.len());
    for (n, gantry_deg) in gantries_deg.iter().enumerate() {
        let name = format!("{letter}{gantry_deg:03.0}");
        let mut beam = place.beam(&name, n, *gantry_deg);
        let couch_deg = angle_deg(angles.couch_deg, n).unwrap_or(0.0);
        let collimator_deg = angle_deg(angles.collimator_deg, n)
            .unwrap_or_else(|| place.collimator_deg(*gantry_deg, couch_deg));
        for point in &mut beam.control_points {
            (point.collimator_deg, point.couch_deg) = (collimator_deg, couch_deg);
        }
        fields.push(beam);
    }
    fields
}

fn arcs(angles: Angles<'_>, count: usize, half: bool, place: &Place) -> Vec<Beam> {
    let mut arcs = Vec::with_capacity(count);
    for n in 0..count {
        let couch_deg = angle_deg(angles.couch_deg, n).unwrap_or(0.0);
        let usual_deg = match n.is_multiple_of(2) {
            true => ARC_COLLIMATOR_DEG,
            false => 360.0 - ARC_COLLIMATOR_DEG,
        };
        let collimator_deg = angle_deg(angles.collimator_deg, n).unwrap_or(usual_deg);
        let turn = place.turn(half, couch_deg);
        let turn = match n.is_multiple_of(2) {
            true => turn,
            false => GantryArc {
                start_deg: turn.stop_deg,
                stop_deg: turn.start_deg,
                clockwise: !turn.clockwise,
            },
        };
        let mut beam = place.beam(&format!("ARC{}", n + 1), n, turn.start_deg);
        for point in &mut beam.control_points {
            point.meterset_weight = 0.0;
            (point.collimator_deg, point.couch_deg) = (collimator_deg, couch_deg);
        }
        arcs.push(beam.along_arc(turn));
    }
    arcs
}

impl Place {
    fn beam(&self, name: &str, n: usize, gantry_deg: f64) -> Beam {
        let jaws = Jaws::symmetric(FIELD_MM, FIELD_MM);
        Beam::fixed(name, n as u32 + 1, gantry_deg, self.isocentre_mm, jaws, MU)
    }

    fn frame(&self, gantry_deg: f64, couch_deg: f64) -> BeamFrame {
        BeamFrame::new(
            self.position,
            gantry_deg,
            0.0,
            couch_deg,
            self.isocentre_mm,
            self.sad_mm,
        )
    }

    /// Direction from the isocentre to the source.
    fn to_source(&self, gantry_deg: f64, couch_deg: f64) -> DVec3 {
        self.frame(gantry_deg, couch_deg).axes[2]
    }

    /// The turn of an arc: whole, or the half towards the targets' side, with a turned couch towards the head.
    fn turn(&self, half: bool, couch_deg: f64) -> GantryArc {
        /// From here on a whole turn hits the couch or the patient. Chosen.
        const TURNED_COUCH_DEG: f64 = 30.0;
        let is_turned = couch_deg.min(360.0 - couch_deg) > TURNED_COUCH_DEG;
        if !half && !is_turned {
            return GantryArc::FULL;
        }
        let side = match is_turned {
            true => DVec3::Z,
            false => DVec3::X * (self.isocentre_mm.x - self.middle_mm.x).signum(),
        };
        match self.to_source(90.0, couch_deg).dot(side) > 0.0 {
            true => LEFT_HALF,
            false => RIGHT_HALF,
        }
    }

    /// Sides of the box of the targets in the beam's eye view, mm at the isocentre plane.
    fn extent_mm(&self, gantry_deg: f64, couch_deg: f64) -> [f64; 2] {
        let frame = self.frame(gantry_deg, couch_deg);
        let seen = self.targets.iter().filter_map(|mm| frame.project(*mm));
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for (place_mm, _) in seen {
            for axis in 0..2 {
                low[axis] = low[axis].min(place_mm[axis]);
                high[axis] = high[axis].max(place_mm[axis]);
            }
        }
        [0, 1].map(|axis| high[axis] - low[axis])
    }

    /// Leaves travel along the shorter side of the targets: a sweep is shorter, and the carriage holds more fields.
    fn collimator_deg(&self, gantry_deg: f64, couch_deg: f64) -> f64 {
        let [x_mm, y_mm] = self.extent_mm(gantry_deg, couch_deg);
        if x_mm > y_mm { 90.0 } else { 0.0 }
    }

    /// Gantry angles of two opposed fields along which the targets are narrowest. Both are turned by their divergence, so that their
    /// edges towards the middle of the body lie on one line.
    fn tangents_deg(&self) -> Vec<f64> {
        let narrowest = (0..180).map(f64::from).min_by(|a, b| {
            let [a_mm, b_mm] = [a, b].map(|deg| self.extent_mm(*deg, 0.0)[0]);
            a_mm.total_cmp(&b_mm)
        });
        let gantry_deg = narrowest.unwrap_or(0.0);
        let half_mm = 0.5 * self.extent_mm(gantry_deg, 0.0)[0];
        let divergence_deg = (half_mm / self.sad_mm).atan().to_degrees();
        let inwards = self.middle_mm - self.isocentre_mm;
        [gantry_deg, gantry_deg + 180.0]
            .map(|deg| {
                // The source moves inwards.
                let turned = [deg - divergence_deg, deg + divergence_deg];
                let [less, more] = turned.map(|deg| self.to_source(deg, 0.0).dot(inwards));
                let inward_deg = turned[usize::from(more > less)];
                (10.0 * inward_deg).round().rem_euclid(3600.0) / 10.0
            })
            .into()
    }
}
