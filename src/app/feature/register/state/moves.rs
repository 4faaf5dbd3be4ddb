//! Moving the patient by hand: shifts and turns along what is seen, and what undoes them.

use case::Pose;
use engine::drr_gradient::{numbers, pose_of};
use geometry::Projection;
use glam::{DMat3, DMat4, DVec3};

/// A pose shifted in the room, patient LPS, mm.
pub fn shifted(pose: &Pose, by_mm: DVec3) -> Pose {
    Pose {
        translation_mm: pose.translation_mm + by_mm,
        ..*pose
    }
}

/// A pose turned about an axis of the room through where its centre has come to lie, anticlockwise as seen from the
/// axis's tip; the centre stays where it is.
pub fn turned(pose: &Pose, axis: DVec3, by_deg: f64) -> Pose {
    let turn = DMat3::from_axis_angle(axis.normalize_or(DVec3::Z), by_deg.to_radians());
    let matrix = DMat4::from_mat3(turn * pose.rotation());
    match Pose::from_matrix(matrix, DVec3::ZERO) {
        Some(new) => Pose {
            rotation_deg: new.rotation_deg,
            ..*pose
        },
        None => *pose,
    }
}

/// `to`, with the numbers that are locked as they are in `from`.
pub fn held(from: &Pose, to: &Pose, locked: [bool; 6]) -> Pose {
    let (from, mut to) = (numbers(from), numbers(to));
    for axis in 0..6 {
        if locked[axis] {
            to[axis] = from[axis];
        }
    }
    pose_of(to)
}

/// Axes of an image: right, up, and towards the source; unit vectors in patient LPS.
pub fn seen_axes(image: &Projection) -> [DVec3; 3] {
    let right = image.column_step_mm().normalize();
    let down = image.row_step_mm().normalize();
    let normal = right.cross(down).normalize();
    let towards = image.source_mm() - image.origin_mm();
    [right, -down, normal * normal.dot(towards).signum()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn about a room axis takes every point where rotating it about that axis through the moved centre does.
    #[test]
    fn turns_go_about_the_moved_centre() {
        let centre = DVec3::new(10.0, 20.0, -30.0);
        let start = Pose::new([4.0, -3.0, 8.0], [10.0, -20.0, 35.0]);
        let axis = DVec3::new(0.3, -0.9, 0.5).normalize();
        let turned_pose = turned(&start, axis, 12.0);
        let (s, c) = 12.0_f64.to_radians().sin_cos();
        for p in [DVec3::ZERO, DVec3::new(50.0, 10.0, 7.0), centre] {
            let start_mm = start.apply(p, centre);
            let v = start_mm - (centre + start.translation_mm);
            // Rodrigues.
            let want = v * c
                + axis.cross(v) * s
                + axis * axis.dot(v) * (1.0 - c)
                + centre
                + start.translation_mm;
            assert!((turned_pose.apply(p, centre) - want).length() < 1e-9);
        }
        let locked = held(
            &start,
            &turned_pose,
            [false, false, false, true, false, true],
        );
        assert_eq!(locked.rotation_deg.x, 10.0);
        assert_eq!(locked.rotation_deg.z, 35.0);
        assert_ne!(locked.rotation_deg.y, -20.0);
    }
}
