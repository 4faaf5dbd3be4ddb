//! Couch movement after which the patient lies as planned.

use case::Pose;
use geometry::{BeamFrame, PatientPosition};
use glam::{DMat3, DMat4, DVec3};

/// Shifts and turns of the table top in its own IEC 61217 axes, which coincide with the room's axes at couch 0: x to the right and
/// y to the gantry as seen from the table's foot, z up. First the shift, then the turns about the isocentre: pitch about x,
/// then roll about y, then yaw about z, each anticlockwise as seen from the axis's tip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CouchShift {
    /// x, y, z: lateral, longitudinal, vertical.
    pub shift_mm: [f64; 3],
    /// About x, y, z.
    pub pitch_roll_yaw_deg: [f64; 3],
}

impl CouchShift {
    /// Undoes a pose: from where the patient lies to where he was planned.
    pub fn undoing(pose: &Pose, position: PatientPosition) -> Self {
        let room = BeamFrame::new(position, 0.0, 0.0, 0.0, DVec3::ZERO, 1000.0).axes;
        // Rows are the room's axes in patient LPS.
        let to_room = DMat3::from_cols(room[0], room[1], room[2]).transpose();
        let turn = to_room * pose.rotation().transpose() * to_room.transpose();
        let turns = Pose::from_matrix(DMat4::from_mat3(turn), DVec3::ZERO).unwrap_or_default();
        Self {
            shift_mm: without_negative_zero(to_room * -pose.translation_mm),
            pitch_roll_yaw_deg: without_negative_zero(turns.rotation_deg),
        }
    }
}

/// Numbers for a table, in which -0 would look odd.
fn without_negative_zero(v: DVec3) -> [f64; 3] {
    v.to_array().map(|v| v + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A supine patient, head to the gantry: his left is the room's x, his head its y, his front its z (assets/CONVENTIONS.md).
    #[test]
    fn a_patient_too_far_left_is_moved_right() {
        let c = CouchShift::undoing(&Pose::new([3.0, -5.0, 7.0], [0.0; 3]), PatientPosition::Hfs);
        assert!(
            c.shift_mm
                .iter()
                .zip([-3.0, -7.0, -5.0])
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{c:?}"
        );
        // Feet first, supine: left is -x, head is -y.
        let c = CouchShift::undoing(&Pose::new([3.0, -5.0, 7.0], [0.0; 3]), PatientPosition::Ffs);
        assert!(
            c.shift_mm
                .iter()
                .zip([3.0, 7.0, -5.0])
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{c:?}"
        );
        // Turned about the patient's z (head, the room's y): rolled back.
        let c = CouchShift::undoing(&Pose::new([0.0; 3], [0.0, 0.0, 2.0]), PatientPosition::Hfs);
        assert!(
            c.pitch_roll_yaw_deg
                .iter()
                .zip([0.0, -2.0, 0.0])
                .all(|(a, b)| (a - b).abs() < 1e-9),
            "{c:?}"
        );
        // About the patient's back (y, the room's -z) by 2: the table yaws by +2 about z.
        let c = CouchShift::undoing(&Pose::new([0.0; 3], [0.0, 2.0, 0.0]), PatientPosition::Hfs);
        assert!(
            c.pitch_roll_yaw_deg
                .iter()
                .zip([0.0, 0.0, 2.0])
                .all(|(a, b)| (a - b).abs() < 1e-9),
            "{c:?}"
        );
    }

    /// Applied to where the patient lies, the couch's motion brings every point back.
    #[test]
    fn the_couch_undoes_any_pose() {
        for position in PatientPosition::ALL {
            let pose = Pose::new([12.0, -7.0, 4.0], [3.0, -6.0, 9.0]);
            let couch = CouchShift::undoing(&pose, position);
            let room = BeamFrame::new(position, 0.0, 0.0, 0.0, DVec3::ZERO, 1000.0).axes;
            let to_room = DMat3::from_cols(room[0], room[1], room[2]).transpose();
            let moves = Pose::new([0.0; 3], couch.pitch_roll_yaw_deg);
            for p in [DVec3::new(40.0, 0.0, -10.0), DVec3::new(-5.0, 60.0, 33.0)] {
                let lies = to_room * pose.apply(p, DVec3::ZERO);
                let back = moves.rotation() * (lies + DVec3::from(couch.shift_mm));
                assert!((back - to_room * p).length() < 1e-9, "{position}");
            }
        }
    }
}
