//! The patient's position relative to the plan: six degrees of freedom.

use glam::{DMat3, DMat4, DVec3};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Moves the patient (the CT and its structures) within the room, in which source and image stay: a turn
/// about a centre, the isocentre by default, then a shift. A point `p` of the CT moves to
///
/// ```text
/// p' = centre + R (p - centre) + t,    R = Rz Ry Rx
/// ```
///
/// in fixed patient LPS axes: x to the patient's left, y to his back, z to his head. `R` turns by `rx` about
/// x, then by `ry` about y, then by `rz` about z, each anticlockwise as seen from the axis's tip
/// (right-handed). Written `tx,ty,tz,rx,ry,rz` in mm and degrees everywhere: window, command line,
/// registration object, whose matrix is [`Pose::matrix`]. The picture is `assets/drr/pose.svg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    pub translation_mm: DVec3,
    pub rotation_deg: DVec3,
}

impl Pose {
    pub fn new([tx, ty, tz]: [f64; 3], [rx, ry, rz]: [f64; 3]) -> Self {
        Self {
            translation_mm: DVec3::new(tx, ty, tz),
            rotation_deg: DVec3::new(rx, ry, rz),
        }
    }

    pub fn is_identity(&self) -> bool {
        *self == Self::default()
    }

    /// `Rz Ry Rx`.
    pub fn rotation(&self) -> DMat3 {
        let [x, y, z] = self.rotation_deg.to_array().map(f64::to_radians);
        DMat3::from_rotation_z(z) * DMat3::from_rotation_y(y) * DMat3::from_rotation_x(x)
    }

    /// The moved position of a point of the CT.
    pub fn apply(&self, point_mm: DVec3, centre_mm: DVec3) -> DVec3 {
        centre_mm + self.rotation() * (point_mm - centre_mm) + self.translation_mm
    }

    /// The point of the CT that is moved to a place of the room.
    pub fn undo(&self, place_mm: DVec3, centre_mm: DVec3) -> DVec3 {
        centre_mm + self.rotation().transpose() * (place_mm - centre_mm - self.translation_mm)
    }

    /// Maps CT positions `(x, y, z, 1)` to moved positions.
    pub fn matrix(&self, centre_mm: DVec3) -> DMat4 {
        let rotation = self.rotation();
        let shift = centre_mm - rotation * centre_mm + self.translation_mm;
        DMat4::from_cols(
            rotation.x_axis.extend(0.0),
            rotation.y_axis.extend(0.0),
            rotation.z_axis.extend(0.0),
            shift.extend(1.0),
        )
    }

    /// The pose about `centre_mm` that a rigid matrix stands for; `None` where it is not rigid to 1e-4. At
    /// `ry` of 90 degrees, where x and z turn about one axis, `rx` gets all of the turn.
    pub fn from_matrix(matrix: DMat4, centre_mm: DVec3) -> Option<Self> {
        let r = DMat3::from_mat4(matrix);
        let off = r * r.transpose() - DMat3::IDENTITY;
        let rigid = matrix.is_finite()
            && off.to_cols_array().iter().all(|v| v.abs() < 1e-4)
            && r.determinant() > 0.0
            && (matrix.row(3) - glam::DVec4::W).length() < 1e-9;
        if !rigid {
            return None;
        }
        let sin_y = -r.x_axis.z;
        let y = sin_y.clamp(-1.0, 1.0).asin();
        let (x, z) = if sin_y.abs() < 1.0 - 1e-12 {
            (r.y_axis.z.atan2(r.z_axis.z), r.x_axis.y.atan2(r.x_axis.x))
        } else {
            ((sin_y.signum() * r.y_axis.x).atan2(r.y_axis.y), 0.0)
        };
        let translation_mm = matrix.transform_point3(centre_mm) - centre_mm;
        let rotation_deg = DVec3::new(x, y, z).map(f64::to_degrees);
        Some(Self {
            translation_mm,
            rotation_deg,
        })
    }
}

impl FromStr for Pose {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let numbers = word
            .split(',')
            .map(|w| w.trim().parse().ok().filter(|v: &f64| v.is_finite()));
        match numbers.collect::<Option<Vec<f64>>>().as_deref() {
            Some(&[tx, ty, tz, rx, ry, rz]) => Ok(Self::new([tx, ty, tz], [rx, ry, rz])),
            _ => Err(
                "it is six numbers with commas between: tx,ty,tz in mm, rx,ry,rz in degrees, like \
                      5,0,-2.5,0,0,1.5"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for Pose {
    /// All digits, or as many decimals as `{pose:.1}` asks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.translation_mm, self.rotation_deg].map(|v| v.to_array());
        for (n, number) in numbers.as_flattened().iter().enumerate() {
            if n > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(number, f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CENTRE: DVec3 = DVec3::new(10.0, -20.0, 30.0);

    fn moved(translation_mm: [f64; 3], rotation_deg: [f64; 3], offset_mm: DVec3) -> DVec3 {
        Pose::new(translation_mm, rotation_deg).apply(CENTRE + offset_mm, CENTRE) - CENTRE
    }

    fn close(got: DVec3, want: DVec3) {
        assert!((got - want).length() < 1e-9, "{got} for {want}");
    }

    /// The picture's definition, point by point.
    #[test]
    fn signs_and_order() {
        // To the left, to the back, to the head.
        close(
            moved([1.0, 2.0, 3.0], [0.0; 3], DVec3::ZERO),
            DVec3::new(1.0, 2.0, 3.0),
        );
        // Right-handed: about x the back (y) turns to the head (z), about y the head to the left, about z the left to the back.
        close(moved([0.0; 3], [90.0, 0.0, 0.0], DVec3::Y), DVec3::Z);
        close(moved([0.0; 3], [0.0, 90.0, 0.0], DVec3::Z), DVec3::X);
        close(moved([0.0; 3], [0.0, 0.0, 90.0], DVec3::X), DVec3::Y);
        // x first, then y, then z: y -> z (about x), z -> x (about y), x -> y (about z).
        close(moved([0.0; 3], [90.0; 3], DVec3::Y), DVec3::Y);
        // Turned first, then shifted.
        close(
            moved([5.0, 0.0, 0.0], [0.0, 0.0, 90.0], DVec3::X),
            DVec3::new(5.0, 1.0, 0.0),
        );
    }

    #[test]
    fn matrix_and_numbers_are_each_others_inverse() {
        for pose in [
            Pose::default(),
            Pose::new([1.0, -2.0, 3.5], [10.0, -20.0, 170.0]),
            Pose::new([-40.0, 0.0, 7.0], [-95.0, 60.0, -120.0]),
            Pose::new([0.5, 0.25, 0.0], [30.0, 90.0, 0.0]),
            Pose::new([0.5, 0.25, 0.0], [30.0, -90.0, 0.0]),
        ] {
            let matrix = pose.matrix(CENTRE);
            let p = DVec3::new(-3.0, 55.0, 8.0);
            let moved = pose.apply(p, CENTRE);
            assert!(
                (matrix.transform_point3(p) - moved).length() < 1e-9,
                "{pose}"
            );
            assert!((pose.undo(moved, CENTRE) - p).length() < 1e-9, "{pose}");
            let back = Pose::from_matrix(matrix, CENTRE).expect("rigid");
            let same = (back.translation_mm - pose.translation_mm).length() < 1e-9
                && (back.rotation_deg - pose.rotation_deg).length() < 1e-5;
            assert!(same, "{pose} came back as {back}");
        }
        assert_eq!(
            Pose::from_matrix(DMat4::from_scale(DVec3::splat(1.1)), CENTRE),
            None
        );
        assert_eq!(
            Pose::from_matrix(DMat4::from_scale(DVec3::new(1.0, 1.0, -1.0)), CENTRE),
            None
        );
    }

    #[test]
    fn six_numbers_and_no_others() {
        let pose: Pose = "1,-2, 3.5,0,0,-1e1".parse().expect("six numbers");
        assert_eq!(pose, Pose::new([1.0, -2.0, 3.5], [0.0, 0.0, -10.0]));
        assert_eq!(pose.to_string().parse::<Pose>(), Ok(pose));
        assert_eq!(format!("{pose:.1}"), "1.0,-2.0,3.5,0.0,0.0,-10.0");
        for wrong in [
            "",
            "1,2,3",
            "1,2,3,4,5,6,7",
            "1,2,3,4,5,x",
            "1,2,3,4,5,nan",
            "1,2,3,4,5,inf",
        ] {
            assert!(wrong.parse::<Pose>().is_err(), "{wrong}");
        }
    }
}
