//! IEC 61217 angles and the DICOM patient frame (LPS); assets/CONVENTIONS.md has the frames, tables and sources.

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the patient lies on the couch: DICOM PatientPosition (0018,5100).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PatientPosition {
    #[default]
    Hfs,
    Hfp,
    Ffs,
    Ffp,
    Hfdl,
    Hfdr,
    Ffdl,
    Ffdr,
}

impl PatientPosition {
    pub const ALL: [Self; 8] = [
        Self::Hfs,
        Self::Hfp,
        Self::Ffs,
        Self::Ffp,
        Self::Hfdl,
        Self::Hfdr,
        Self::Ffdl,
        Self::Ffdr,
    ];

    /// The DICOM code string.
    pub fn code(self) -> &'static str {
        match self {
            Self::Hfs => "HFS",
            Self::Hfp => "HFP",
            Self::Ffs => "FFS",
            Self::Ffp => "FFP",
            Self::Hfdl => "HFDL",
            Self::Hfdr => "HFDR",
            Self::Ffdl => "FFDL",
            Self::Ffdr => "FFDR",
        }
    }

    /// Rotation taking a vector of the IEC table top frame (couch at 0: the fixed frame) into patient LPS.
    pub fn patient_from_table(self) -> DMat3 {
        // psi about X, phi about Y, theta about Z of the patient relative to the table top.
        let (psi, phi, theta): (f64, f64, f64) = match self {
            Self::Hfs => (0.0, 0.0, 0.0),
            Self::Hfp => (0.0, 180.0, 0.0),
            Self::Ffs => (0.0, 0.0, 180.0),
            Self::Ffp => (180.0, 0.0, 0.0),
            Self::Hfdl => (0.0, 90.0, 0.0),
            Self::Hfdr => (0.0, 270.0, 0.0),
            Self::Ffdl => (180.0, 270.0, 0.0),
            Self::Ffdr => (180.0, 90.0, 0.0),
        };
        let table_from_iec_patient = DMat3::from_rotation_x(psi.to_radians())
            * DMat3::from_rotation_y(phi.to_radians())
            * DMat3::from_rotation_z(theta.to_radians());
        // IEC patient (x left, y head, z anterior) -> LPS: (x, y, z) becomes (x, -z, y).
        let lps_from_iec = DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y);
        lps_from_iec * table_from_iec_patient.transpose()
    }
}

impl fmt::Display for PatientPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for PatientPosition {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let code = s.trim();
        Self::ALL.into_iter().find(|p| p.code().eq_ignore_ascii_case(code)).ok_or_else(|| {
            format!("'{code}' is not a patient position (HFS, HFP, FFS, FFP, HFDL, HFDR, FFDL, FFDR)")
        })
    }
}

/// The beam limiting device's frame in patient space: where the source is and how the field lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamFrame {
    /// Patient LPS, mm.
    pub source_mm: DVec3,
    /// Patient LPS, mm.
    pub isocentre_mm: DVec3,
    /// Source-axis distance, mm.
    pub sad_mm: f64,
    /// Unit vectors in patient LPS of the IEC beam limiting device axes: Xb, Yb, Zb (isocentre to source).
    pub axes: [DVec3; 3],
}

impl BeamFrame {
    /// The frame of a beam at the given IEC 61217 angles (degrees).
    pub fn new(
        position: PatientPosition,
        gantry_deg: f64,
        collimator_deg: f64,
        couch_deg: f64,
        isocentre_mm: DVec3,
        sad_mm: f64,
    ) -> Self {
        let fixed_from_gantry = DMat3::from_rotation_y(gantry_deg.to_radians());
        let gantry_from_device = DMat3::from_rotation_z(collimator_deg.to_radians());
        let table_from_fixed = DMat3::from_rotation_z(-couch_deg.to_radians());
        let m = position.patient_from_table()
            * table_from_fixed
            * fixed_from_gantry
            * gantry_from_device;
        Self {
            source_mm: isocentre_mm + m.z_axis * sad_mm,
            isocentre_mm,
            sad_mm,
            axes: [m.x_axis, m.y_axis, m.z_axis],
        }
    }

    /// Gantry, collimator and couch angle, degrees, at which a beam limiting device has these axes in patient LPS. Two sets of angles
    /// give them; that with the couch nearer to `couch_deg` is taken, and its own angle where the gantry is at 0 or 180 degrees, where
    /// couch and collimator turn about one axis.
    pub fn angles_deg(position: PatientPosition, axes: [DVec3; 3], couch_deg: f64) -> [f64; 3] {
        let [x, y, z] = axes.map(|axis| position.patient_from_table().transpose() * axis);
        let sine = z.x.hypot(z.y);
        let [gantry, collimator, couch] = if sine < 1e-12 {
            let turn = x.y.atan2(x.x).to_degrees();
            if z.z > 0.0 {
                [0.0, turn + couch_deg, couch_deg]
            } else {
                [180.0, 180.0 - couch_deg - turn, couch_deg]
            }
        } else {
            let [gantry, collimator, couch] =
                [sine.atan2(z.z), y.z.atan2(-x.z), -z.y.atan2(z.x)].map(f64::to_degrees);
            // The other set has the couch half a turn further, and its gantry on the other side.
            let is_near = wrapped_deg(couch - couch_deg + 90.0) < 180.0;
            if is_near {
                [gantry, collimator, couch]
            } else {
                [-gantry, collimator + 180.0, couch + 180.0]
            }
        };
        [gantry, collimator, couch].map(wrapped_deg)
    }

    /// Patient position -> device frame centred on the isocentre: (x, y) across the field, z towards the source, mm.
    pub fn device_from_patient(&self, patient_mm: DVec3) -> DVec3 {
        let d = patient_mm - self.isocentre_mm;
        DVec3::new(
            d.dot(self.axes[0]),
            d.dot(self.axes[1]),
            d.dot(self.axes[2]),
        )
    }

    /// Device frame -> patient position (LPS, mm).
    pub fn patient_from_device(&self, device_mm: DVec3) -> DVec3 {
        self.isocentre_mm
            + self.axes[0] * device_mm.x
            + self.axes[1] * device_mm.y
            + self.axes[2] * device_mm.z
    }

    /// Isocentre plane coordinates (x, y in mm) of the ray from the source through a patient position, and the distance
    /// of the position from the source along the axis, mm. `None` at or behind the source.
    pub fn project(&self, patient_mm: DVec3) -> Option<([f64; 2], f64)> {
        let p = self.device_from_patient(patient_mm);
        let depth = self.sad_mm - p.z;
        (depth > 1e-6).then(|| {
            (
                [p.x * self.sad_mm / depth, p.y * self.sad_mm / depth],
                depth,
            )
        })
    }
}

/// Keeps an angle in 0 (included) to 360.
pub fn wrapped_deg(deg: f64) -> f64 {
    let turned = deg.rem_euclid(360.0);
    // A tiny negative angle rounds up to 360 itself.
    if turned >= 360.0 { 0.0 } else { turned }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_stay_in_one_turn() {
        for (deg, want) in [
            (0.0, 0.0),
            (359.0, 359.0),
            (360.0, 0.0),
            (361.5, 1.5),
            (-1.0, 359.0),
            (-720.0, 0.0),
        ] {
            assert_eq!(wrapped_deg(deg), want);
        }
        assert_eq!(wrapped_deg(-1e-17), 0.0);
    }

    use PatientPosition::*;

    const SAD: f64 = 1000.0;

    fn frame(p: PatientPosition, gantry: f64, coll: f64, couch: f64) -> BeamFrame {
        BeamFrame::new(p, gantry, coll, couch, DVec3::ZERO, SAD)
    }

    /// The table of assets/CONVENTIONS.md: source relative to the isocentre.
    #[test]
    fn source_positions_of_the_table() {
        let table = [
            (
                Hfs,
                [
                    [0.0, -1000.0, 0.0],
                    [1000.0, 0.0, 0.0],
                    [0.0, 0.0, -1000.0],
                    [469.85, -866.03, -171.01],
                ],
            ),
            (
                Hfp,
                [
                    [0.0, 1000.0, 0.0],
                    [-1000.0, 0.0, 0.0],
                    [0.0, 0.0, -1000.0],
                    [-469.85, 866.03, -171.01],
                ],
            ),
            (
                Ffs,
                [
                    [0.0, -1000.0, 0.0],
                    [-1000.0, 0.0, 0.0],
                    [0.0, 0.0, 1000.0],
                    [-469.85, -866.03, 171.01],
                ],
            ),
            (
                Ffp,
                [
                    [0.0, 1000.0, 0.0],
                    [1000.0, 0.0, 0.0],
                    [0.0, 0.0, 1000.0],
                    [469.85, 866.03, 171.01],
                ],
            ),
        ];
        let angles = [(0.0, 0.0), (90.0, 0.0), (90.0, 90.0), (30.0, 20.0)];
        for (position, sources) in table {
            for ((gantry, couch), want) in angles.into_iter().zip(sources) {
                let got = frame(position, gantry, 0.0, couch).source_mm;
                assert!(
                    (got - DVec3::from(want)).length() < 0.01,
                    "{position} {gantry} {couch}: {got}"
                );
            }
        }
    }

    #[test]
    fn device_axes_of_the_table() {
        let cases = [
            ((0.0, 0.0, 0.0), [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            ((90.0, 0.0, 0.0), [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
            ((0.0, 90.0, 0.0), [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]),
            (
                (30.0, 15.0, 20.0),
                [0.8746, 0.4830, -0.0429],
                [0.1197, -0.1294, 0.9843],
            ),
        ];
        for ((g, c, t), x, y) in cases {
            let f = frame(Hfs, g, c, t);
            assert!(
                (f.axes[0] - DVec3::from(x)).length() < 2e-4,
                "Xb at {g} {c} {t}: {}",
                f.axes[0]
            );
            assert!(
                (f.axes[1] - DVec3::from(y)).length() < 2e-4,
                "Yb at {g} {c} {t}: {}",
                f.axes[1]
            );
        }
    }

    /// Decubitus by its name: the side on which the patient lies faces the floor.
    #[test]
    fn decubitus_positions_lie_on_the_named_side() {
        let up = DVec3::Z;
        let gantry_wards = DVec3::Y;
        for (p, side_up, toward_gantry) in [
            (Hfdl, DVec3::NEG_X, DVec3::Z),
            (Hfdr, DVec3::X, DVec3::Z),
            (Ffdl, DVec3::NEG_X, DVec3::NEG_Z),
            (Ffdr, DVec3::X, DVec3::NEG_Z),
        ] {
            let m = p.patient_from_table();
            assert!((m * up - side_up).length() < 1e-12, "{p}: up is {}", m * up);
            assert!((m * gantry_wards - toward_gantry).length() < 1e-12, "{p}");
        }
    }

    #[test]
    fn projection_magnifies_to_the_isocentre_plane() {
        let f = frame(Hfs, 40.0, 10.0, 5.0);
        let p = f.patient_from_device(DVec3::new(30.0, -20.0, 500.0));
        let (xy, depth) = f.project(p).expect("in front of the source");
        assert!(
            (depth - 500.0).abs() < 1e-9
                && (xy[0] - 60.0).abs() < 1e-9
                && (xy[1] + 40.0).abs() < 1e-9
        );
        assert_eq!(f.project(f.source_mm), None);
    }
}
