//! User-given geometry of an X-ray.

use geometry::{ImagingSetup, PatientPosition};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Geometry of an X-ray as far as the user gives it: in the window's dialog, in words, in a file beside the
/// image. It overrides the image's own file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    pub position: Option<PatientPosition>,
    pub gantry_deg: Option<f64>,
    pub couch_deg: Option<f64>,
    /// Patient LPS, mm, in the frame of the CT.
    pub isocentre_mm: Option<DVec3>,
    pub sad_mm: Option<f64>,
    pub sid_mm: Option<f64>,
    /// Distance of columns and of rows in the image's own plane, mm.
    pub pixel_mm: Option<[f64; 2]>,
    /// Offset of the image's middle from the beam axis along +Xg and +Yg, mm in its own plane.
    pub shift_mm: Option<[f64; 2]>,
    /// Opening of the jaws at the axis, mm, about the beam axis; pixels outside hold no information.
    pub field_mm: Option<[f64; 2]>,
    /// Whether bone is bright; `None`: as the file states, else bright.
    pub bone_is_bright: Option<bool>,
    /// The patient ID of the image, where the user has answered that it is of the case's patient all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_patient: Option<String>,
}

impl Placement {
    /// The values given here, else the values of `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            position: self.position.or(other.position),
            gantry_deg: self.gantry_deg.or(other.gantry_deg),
            couch_deg: self.couch_deg.or(other.couch_deg),
            isocentre_mm: self.isocentre_mm.or(other.isocentre_mm),
            sad_mm: self.sad_mm.or(other.sad_mm),
            sid_mm: self.sid_mm.or(other.sid_mm),
            pixel_mm: self.pixel_mm.or(other.pixel_mm),
            shift_mm: self.shift_mm.or(other.shift_mm),
            field_mm: self.field_mm.or(other.field_mm),
            bone_is_bright: self.bone_is_bright.or(other.bone_is_bright),
            accepted_patient: self
                .accepted_patient
                .clone()
                .or_else(|| other.accepted_patient.clone()),
        }
    }

    /// The contradictions between these values and the image's file, beyond the rounding of angles and
    /// distances, in words.
    pub fn against(&self, declared: &Self) -> Vec<String> {
        let mut compared: Vec<(&str, [Option<f64>; 2], Differs)> = vec![
            (
                "the gantry angle (degrees)",
                [self.gantry_deg, declared.gantry_deg],
                is_turned,
            ),
            (
                "the couch angle (degrees)",
                [self.couch_deg, declared.couch_deg],
                is_turned,
            ),
            (
                "the source to axis distance (mm)",
                [self.sad_mm, declared.sad_mm],
                is_apart,
            ),
            (
                "the source to image distance (mm)",
                [self.sid_mm, declared.sid_mm],
                is_apart,
            ),
        ];
        compared.extend([0, 1].map(|axis| {
            let pixels_mm = [self, declared].map(|p| p.pixel_mm.map(|mm| mm[axis]));
            (
                "the distance of pixels (mm)",
                pixels_mm,
                is_scaled as Differs,
            )
        }));
        let contradictions = compared
            .into_iter()
            .filter_map(|(what, [user, file], differs)| {
                let (user, file) = user
                    .zip(file)
                    .filter(|(user, file)| differs(*user, *file))?;
                Some(format!(
                    "{what} is given as {user}, and the file says {file}"
                ))
            });
        contradictions.collect()
    }

    /// The setup of an image of this many columns and rows. Defaults: couch 0, no shift, a supine patient,
    /// head first.
    ///
    /// # Errors
    /// The names of the missing values.
    pub fn setup(&self, [columns, rows]: [usize; 2]) -> Result<ImagingSetup, Vec<&'static str>> {
        let needed = [
            (self.gantry_deg.is_some(), "gantry angle"),
            (self.isocentre_mm.is_some(), "isocentre"),
            (self.sad_mm.is_some(), "source to axis distance"),
            (self.sid_mm.is_some(), "source to image distance"),
            (self.pixel_mm.is_some(), "pixel size"),
        ];
        let (Some(gantry_deg), Some(isocentre_mm), Some(sad_mm), Some(sid_mm), Some(pixel_mm)) = (
            self.gantry_deg,
            self.isocentre_mm,
            self.sad_mm,
            self.sid_mm,
            self.pixel_mm,
        ) else {
            return Err(needed.into_iter().filter(|n| !n.0).map(|n| n.1).collect());
        };
        Ok(ImagingSetup {
            position: self.position.unwrap_or_default(),
            gantry_deg,
            couch_deg: self.couch_deg.unwrap_or(0.0),
            isocentre_mm,
            sad_mm,
            sid_mm,
            shift_mm: self.shift_mm.unwrap_or([0.0; 2]),
            pixel_mm,
            columns,
            rows,
        })
    }
}

/// Whether two values differ by more than their rounding.
type Differs = fn(f64, f64) -> bool;

/// Angles, degrees.
fn is_turned(a: f64, b: f64) -> bool {
    ((a - b + 180.0).rem_euclid(360.0) - 180.0).abs() > 0.5
}

/// Distances, mm.
fn is_apart(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.5
}

fn is_scaled(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() > 0.01
}

/// Pixels of a setup within a field of the given sides at the axis, about the beam axis.
pub fn opened(setup: &ImagingSetup, field_mm: [f64; 2]) -> Vec<bool> {
    let scale = setup.sid_mm / setup.sad_mm;
    let half = [0, 1].map(|a| 0.5 * field_mm[a] * scale);
    let middle = [setup.columns, setup.rows].map(|n| 0.5 * (n as f64 - 1.0));
    let is_open = (0..setup.columns * setup.rows).map(|n| {
        let (column, row) = ((n % setup.columns) as f64, (n / setup.columns) as f64);
        let across_mm = setup.shift_mm[0] + (column - middle[0]) * setup.pixel_mm[0];
        let up_mm = setup.shift_mm[1] - (row - middle[1]) * setup.pixel_mm[1];
        across_mm.abs() <= half[0] && up_mm.abs() <= half[1]
    });
    is_open.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_named_and_roundings_are_none() {
        let file = Placement {
            gantry_deg: Some(359.9),
            sad_mm: Some(1000.0),
            sid_mm: Some(1500.0),
            pixel_mm: Some([0.4, 0.5]),
            ..Placement::default()
        };
        let same = Placement {
            gantry_deg: Some(-0.1),
            sid_mm: Some(1500.2),
            ..Placement::default()
        };
        assert_eq!(same.against(&file), Vec::<String>::new());
        assert!(
            Placement::default().against(&file).is_empty()
                && file.against(&Placement::default()).is_empty()
        );
        let other = Placement {
            gantry_deg: Some(90.0),
            pixel_mm: Some([0.4; 2]),
            ..Placement::default()
        };
        let said = other.against(&file).join("; ");
        assert!(
            said.contains("given as 90, and the file says 359.9") && said.contains("given as 0.4"),
            "{said}"
        );
        assert_eq!(other.against(&file).len(), 2);
    }

    #[test]
    fn what_is_missing_is_named_and_what_is_given_goes_first() {
        let placement = Placement {
            gantry_deg: Some(90.0),
            sad_mm: Some(1000.0),
            ..Placement::default()
        };
        assert_eq!(
            placement.setup([4, 3]),
            Err(vec!["isocentre", "source to image distance", "pixel size"])
        );
        let file = Placement {
            gantry_deg: Some(5.0),
            shift_mm: Some([0.4, 0.0]),
            isocentre_mm: Some(DVec3::X),
            sid_mm: Some(1500.0),
            pixel_mm: Some([0.4, 0.5]),
            ..Placement::default()
        };
        let setup = placement.or(&file).setup([4, 3]).expect("all is said");
        assert_eq!(
            (setup.gantry_deg, setup.couch_deg, setup.pixel_mm),
            (90.0, 0.0, [0.4, 0.5])
        );
        assert_eq!(
            (setup.columns, setup.rows, setup.position),
            (4, 3, PatientPosition::Hfs)
        );
        // Columns lie at -0.2, 0.2, 0.6, 1.0 mm, rows at 0.5, 0, -0.5; a field of 0.3 x 0.5 mm is half as large again there.
        let open = opened(&setup, [0.3, 0.5]);
        let want: Vec<bool> = (0..12).map(|n| n == 4 || n == 5).collect();
        assert_eq!(open, want);
    }
}
