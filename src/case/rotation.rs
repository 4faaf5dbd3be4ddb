//! Directions of rotation. DICOM states each as seen from another place: the gantry's from the isocentre, the collimator's from the source,
//! the couch's from above (PS3.3 C.8.8.14, GantryRotationDirection, BeamLimitingDeviceRotationDirection, PatientSupportRotationDirection).

use super::{ControlPoint, bounds};

/// A part of the machine that turns while the beam delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationAxis {
    Gantry,
    Collimator,
    Couch,
}

/// A direction of rotation, as seen from where DICOM looks at the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationDirection {
    Clockwise,
    CounterClockwise,
}

impl RotationDirection {
    pub const fn opposite(self) -> Self {
        match self {
            Self::Clockwise => Self::CounterClockwise,
            Self::CounterClockwise => Self::Clockwise,
        }
    }
}

impl RotationAxis {
    pub const ALL: [Self; 3] = [Self::Gantry, Self::Collimator, Self::Couch];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Gantry => "gantry",
            Self::Collimator => "collimator",
            Self::Couch => "couch",
        }
    }

    pub const fn angle_deg(self, point: &ControlPoint) -> f64 {
        match self {
            Self::Gantry => point.gantry_deg,
            Self::Collimator => point.collimator_deg,
            Self::Couch => point.couch_deg,
        }
    }

    /// The direction in which the angle of IEC 61217 rises. Positive turns are right-handed: about +Yf, which points away from who looks
    /// at the gantry from the isocentre, and about +Zg and +Zf, which point at who looks from the source and from above.
    pub const fn rising(self) -> RotationDirection {
        match self {
            Self::Gantry => RotationDirection::Clockwise,
            Self::Collimator | Self::Couch => RotationDirection::CounterClockwise,
        }
    }

    /// The direction of a turn, degrees, positive where the angle rises; `None` where nothing turns.
    pub fn direction(self, turn_deg: f64) -> Option<RotationDirection> {
        match turn_deg {
            turn if turn > 0.0 => Some(self.rising()),
            turn if turn < 0.0 => Some(self.rising().opposite()),
            _ => None,
        }
    }

    /// Whether a turn the short way, degrees, runs against a stated direction: the long way round is meant then.
    pub fn is_against(self, turn_deg: f64, stated: RotationDirection) -> bool {
        turn_deg.abs() > bounds::SAME_DEG && self.direction(turn_deg) != Some(stated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{BeamFrame, PatientPosition};
    use glam::DVec3;

    fn frame(gantry_deg: f64, collimator_deg: f64, couch_deg: f64) -> BeamFrame {
        let position = PatientPosition::Hfs;
        BeamFrame::new(
            position,
            gantry_deg,
            collimator_deg,
            couch_deg,
            DVec3::ZERO,
            1000.0,
        )
    }

    fn is_counter_clockwise(start: DVec3, end: DVec3, to_eye: DVec3) -> bool {
        start.cross(end).dot(to_eye) > 0.0
    }

    /// A pointer on each part, seen on a plane with the eye above it, once before and once after a small turn: the sign of the cross
    /// product of both says which way it went.
    #[test]
    fn rising_angles_turn_as_dicom_sees_them() {
        // Patient LPS of a supine patient, head to the gantry: Xf is +x, Yf is +z, Zf is -y.
        let [xf, yf, zf] = [DVec3::X, DVec3::Z, -DVec3::Y];

        let at_start = frame(0.0, 0.0, 0.0);
        // The eye at the isocentre looks at the gantry along +Yf, so that -Yf points at it.

        assert!(
            !is_counter_clockwise(at_start.source_mm, frame(10.0, 0.0, 0.0).source_mm, -yf),
            "the gantry rises clockwise"
        );
        assert!(
            (at_start.source_mm - 1000.0 * zf).length() < 1e-9
                && frame(90.0, 0.0, 0.0).source_mm.dot(xf) > 999.0
        );

        assert!(
            is_counter_clockwise(at_start.axes[0], frame(0.0, 10.0, 0.0).axes[0], zf),
            "the collimator rises counter-clockwise"
        );
        // In the patient's frame the room turns the other way than the couch does.
        assert!(
            !is_counter_clockwise(at_start.axes[0], frame(0.0, 0.0, 10.0).axes[0], zf),
            "the couch rises counter-clockwise"
        );
        for (axis, rising) in
            RotationAxis::ALL
                .into_iter()
                .zip(["Clockwise", "CounterClockwise", "CounterClockwise"])
        {
            assert_eq!(format!("{:?}", axis.direction(5.0).unwrap()), rising);
            assert!(axis.is_against(-5.0, axis.rising()) && !axis.is_against(5.0, axis.rising()));
            assert_eq!(
                (axis.direction(0.0), axis.is_against(0.0, axis.rising())),
                (None, false)
            );
        }
    }
}
