//! Position of a point source and a flat image: one definition for every radiograph, computed or measured.

use super::{BeamFrame, PatientPosition};
use glam::{DMat3, DVec3};
use thiserror::Error;

/// A point source and a flat image of `columns` x `rows` pixels, fixed in the room; patient LPS, mm.
///
/// Pixel (0, 0) is the first of the top row as seen from the source; columns count to the right, rows downwards. A ray
/// runs from the source to the centre of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    source_mm: DVec3,
    origin_mm: DVec3,
    column_step_mm: DVec3,
    row_step_mm: DVec3,
    columns: usize,
    rows: usize,
}

/// Why an imaging geometry cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProjectionError {
    #[error("the image has no pixels ({0} x {1}); give columns and rows of at least 1")]
    Empty(usize, usize),
    #[error("an image of {0} x {1} pixels is too large; {most} to a side at most", most = Projection::MOST_PIXELS)]
    TooLarge(usize, usize),
    #[error("{what} is {value}; it must be a number above 0")]
    NotPositive { what: &'static str, value: f64 },
    #[error("{0} is not a finite number")]
    NotFinite(&'static str),
    #[error("the image's columns and rows run the same way; give two directions that span a plane")]
    Flat,
    #[error("the source lies in the plane of the image; move one of them")]
    SourceInPlane,
    #[error(
        "the 3x4 matrix is no projection from a point (its first three columns have no inverse); check its numbers"
    )]
    Singular,
    #[error(
        "the point that must be seen lies in the source's own plane; name a point of the patient"
    )]
    Nowhere,
}

impl Projection {
    /// Columns or rows.
    pub const MOST_PIXELS: usize = 32_768;

    /// `origin_mm` is the centre of pixel (0, 0); `column_step_mm` leads from it to (1, 0), `row_step_mm` to (0, 1).
    ///
    /// # Errors
    /// [`ProjectionError`]: no pixels or far too many, numbers that are not finite, steps that span no plane, a source in
    /// that plane.
    pub fn new(
        source_mm: DVec3,
        origin_mm: DVec3,
        column_step_mm: DVec3,
        row_step_mm: DVec3,
        [columns, rows]: [usize; 2],
    ) -> Result<Self, ProjectionError> {
        if columns == 0 || rows == 0 {
            return Err(ProjectionError::Empty(columns, rows));
        }
        if columns > Self::MOST_PIXELS || rows > Self::MOST_PIXELS {
            return Err(ProjectionError::TooLarge(columns, rows));
        }
        let vectors = [
            ("the source", source_mm),
            ("the image's first pixel", origin_mm),
            ("the image's column step", column_step_mm),
            ("the image's row step", row_step_mm),
        ];
        if let Some((what, _)) = vectors.into_iter().find(|(_, v)| !v.is_finite()) {
            return Err(ProjectionError::NotFinite(what));
        }
        let normal = column_step_mm.cross(row_step_mm);
        if normal.length() <= 1e-6 * column_step_mm.length() * row_step_mm.length() {
            return Err(ProjectionError::Flat);
        }
        let distance = normal.normalize().dot(origin_mm - source_mm).abs();
        if distance < 1e-6 {
            return Err(ProjectionError::SourceInPlane);
        }
        Ok(Self {
            source_mm,
            origin_mm,
            column_step_mm,
            row_step_mm,
            columns,
            rows,
        })
    }

    /// The geometry of a 3x4 matrix `p` (rows) that takes a patient position `(x, y, z, 1)` to `w (column, row, 1)`, pixel
    /// centres at whole numbers. A matrix says along which rays pixels look, not how far away the image is: that is
    /// `distance_mm`, from the source along the normal. `seen_mm` is any point that must lie before the source, such as
    /// the isocentre: a matrix holds up to its sign.
    ///
    /// # Errors
    /// [`ProjectionError`].
    pub fn from_matrix(
        p: [[f64; 4]; 3],
        distance_mm: f64,
        size: [usize; 2],
        seen_mm: DVec3,
    ) -> Result<Self, ProjectionError> {
        positive("the distance from source to image", distance_mm)?;
        let rows = p.map(|[x, y, z, _]| DVec3::new(x, y, z));
        let m = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        let fourth = DVec3::new(p[0][3], p[1][3], p[2][3]);
        if !(m.is_finite() && fourth.is_finite()) {
            return Err(ProjectionError::NotFinite("the projection matrix"));
        }
        let inverse = m.inverse();
        let scale = rows[0].length() * rows[1].length() * rows[2].length();
        if m.determinant().abs() <= 1e-12 * scale || !inverse.is_finite() {
            return Err(ProjectionError::Singular);
        }
        let source_mm = -(inverse * fourth);
        let depth = rows[2].dot(seen_mm - source_mm);
        if depth.is_nan() || depth.abs() <= 1e-9 * rows[2].length() {
            return Err(ProjectionError::Nowhere);
        }
        // w grows by |row 2| a mm along the normal.
        let w = depth.signum() * distance_mm * rows[2].length();
        Self::new(
            source_mm,
            source_mm + pixel_step_mm(DVec3::Z, inverse, w),
            pixel_step_mm(DVec3::X, inverse, w),
            pixel_step_mm(DVec3::Y, inverse, w),
            size,
        )
    }

    /// The 3x4 matrix (rows) that takes `(x, y, z, 1)` to `w (column, row, 1)`, `w` the depth before the source as a part
    /// of the image's.
    pub fn matrix(&self) -> [[f64; 4]; 3] {
        let m = DMat3::from_cols(
            self.column_step_mm,
            self.row_step_mm,
            self.origin_mm - self.source_mm,
        );
        let rows = m.inverse().transpose();
        [rows.x_axis, rows.y_axis, rows.z_axis].map(|r| [r.x, r.y, r.z, -r.dot(self.source_mm)])
    }

    /// Image position of a patient position, `[column, row]`, pixel centres at whole numbers; also beyond the image's
    /// edges. `None` at or behind the source.
    pub fn project(&self, patient_mm: DVec3) -> Option<[f64; 2]> {
        let normal = self.column_step_mm.cross(self.row_step_mm);
        let to_image = normal.dot(self.origin_mm - self.source_mm);
        let part = normal.dot(patient_mm - self.source_mm) / to_image;
        if part.is_nan() || part <= 1e-9 {
            return None;
        }
        let on_image = (patient_mm - self.source_mm) / part - (self.origin_mm - self.source_mm);
        let area = normal.length_squared();
        let column = on_image.cross(self.row_step_mm).dot(normal) / area;
        let row = self.column_step_mm.cross(on_image).dot(normal) / area;
        Some([column, row])
    }

    /// Centre of a pixel, or any place between, mm.
    pub fn pixel_mm(&self, column: f64, row: f64) -> DVec3 {
        self.origin_mm + self.column_step_mm * column + self.row_step_mm * row
    }

    pub fn source_mm(&self) -> DVec3 {
        self.source_mm
    }

    /// Centre of pixel (0, 0).
    pub fn origin_mm(&self) -> DVec3 {
        self.origin_mm
    }

    /// From a pixel to the next of its row.
    pub fn column_step_mm(&self) -> DVec3 {
        self.column_step_mm
    }

    /// From a pixel to the one below it.
    pub fn row_step_mm(&self) -> DVec3 {
        self.row_step_mm
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.columns * self.rows
    }

    /// Distance of the image's plane from the source, mm.
    pub fn distance_mm(&self) -> f64 {
        let normal = self.column_step_mm.cross(self.row_step_mm).normalize();
        normal.dot(self.origin_mm - self.source_mm).abs()
    }
}

fn pixel_step_mm(pixel: DVec3, inverse: DMat3, w: f64) -> DVec3 {
    inverse * pixel * w
}

/// A flat imager opposite a treatment head, in the words of IEC 61217 and of the DICOM RT image: its plane is at right
/// angles to the beam axis, its top towards the gantry (+Yg), its left at -Xg, as the picture is seen from the source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImagingSetup {
    pub position: PatientPosition,
    pub gantry_deg: f64,
    pub couch_deg: f64,
    /// Patient LPS, mm.
    pub isocentre_mm: DVec3,
    /// Source to axis and source to image, mm.
    pub sad_mm: f64,
    pub sid_mm: f64,
    /// How far the middle of the image lies from the beam axis along +Xg and +Yg, mm in its own plane.
    pub shift_mm: [f64; 2],
    /// Distance of columns and of rows in the image's own plane, mm.
    pub pixel_mm: [f64; 2],
    pub columns: usize,
    pub rows: usize,
}

impl ImagingSetup {
    /// Positions of the source and the pixels.
    ///
    /// # Errors
    /// [`ProjectionError`].
    pub fn projection(&self) -> Result<Projection, ProjectionError> {
        positive("the source to axis distance", self.sad_mm)?;
        positive("the source to image distance", self.sid_mm)?;
        positive("the distance of columns", self.pixel_mm[0])?;
        positive("the distance of rows", self.pixel_mm[1])?;
        let frame = BeamFrame::new(
            self.position,
            self.gantry_deg,
            0.0,
            self.couch_deg,
            self.isocentre_mm,
            self.sad_mm,
        );
        let [right, up, towards_source] = frame.axes;
        let column_step_mm = right * self.pixel_mm[0];
        let row_step_mm = -up * self.pixel_mm[1];
        let middle = frame.source_mm - towards_source * self.sid_mm
            + right * self.shift_mm[0]
            + up * self.shift_mm[1];
        let [half_columns, half_rows] = [self.columns, self.rows].map(|n| 0.5 * (n as f64 - 1.0));
        let origin_mm = middle - column_step_mm * half_columns - row_step_mm * half_rows;
        Projection::new(
            frame.source_mm,
            origin_mm,
            column_step_mm,
            row_step_mm,
            [self.columns, self.rows],
        )
    }
}

fn positive(what: &'static str, value: f64) -> Result<(), ProjectionError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(ProjectionError::NotPositive { what, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PatientPosition::*;

    fn setup(position: PatientPosition, gantry_deg: f64, couch_deg: f64) -> ImagingSetup {
        ImagingSetup {
            position,
            gantry_deg,
            couch_deg,
            isocentre_mm: DVec3::new(12.0, -7.0, 33.0),
            sad_mm: 1000.0,
            sid_mm: 1500.0,
            shift_mm: [0.0, 0.0],
            pixel_mm: [0.4, 0.4],
            columns: 751,
            rows: 501,
        }
    }

    /// Landmarks on the axes of the table of assets/CONVENTIONS.md, by the similar triangles of a picture seen from the source:
    /// a point `right` of the axis and `up` from it in the isocentre's plane lies 1.5 times as far in the image's.
    #[test]
    fn landmarks_of_the_conventions_project_where_they_are_seen() {
        // Position, gantry, couch; the directions right and up as seen from the source, in patient LPS.
        let cases = [
            (Hfs, 0.0, 0.0, DVec3::X, DVec3::Z),
            (Hfs, 90.0, 0.0, DVec3::Y, DVec3::Z),
            (Hfs, 180.0, 0.0, DVec3::NEG_X, DVec3::Z),
            (Hfs, 270.0, 0.0, DVec3::NEG_Y, DVec3::Z),
            (Hfp, 0.0, 0.0, DVec3::NEG_X, DVec3::Z),
            (Ffs, 0.0, 0.0, DVec3::NEG_X, DVec3::NEG_Z),
            (Ffs, 90.0, 0.0, DVec3::Y, DVec3::NEG_Z),
            (Ffp, 0.0, 0.0, DVec3::X, DVec3::NEG_Z),
            // The table turned anticlockwise: at couch 90 a supine patient's head lies at -Xf.
            (Hfs, 0.0, 90.0, DVec3::NEG_Z, DVec3::X),
        ];
        for (position, gantry, couch, right, up) in cases {
            let s = setup(position, gantry, couch);
            let p = s.projection().expect("a geometry");
            let seen = p
                .project(s.isocentre_mm + right * 20.0 + up * 12.0)
                .expect("before the source");
            let want = [375.0 + 20.0 * 1.5 / 0.4, 250.0 - 12.0 * 1.5 / 0.4];
            assert!(
                (seen[0] - want[0]).abs() < 0.01 && (seen[1] - want[1]).abs() < 0.01,
                "{position} gantry {gantry} couch {couch}: {seen:?} for {want:?}"
            );
        }
    }

    #[test]
    fn a_shifted_imager_sees_the_isocentre_beside_its_middle() {
        let s = ImagingSetup {
            shift_mm: [8.0, -4.0],
            ..setup(Hfs, 30.0, 20.0)
        };
        let seen = s
            .projection()
            .expect("a geometry")
            .project(s.isocentre_mm)
            .expect("in front");
        assert!(
            (seen[0] - 355.0).abs() < 1e-9 && (seen[1] - 240.0).abs() < 1e-9,
            "{seen:?}"
        );
    }

    #[test]
    fn matrix_and_geometry_are_each_others_inverse() {
        for position in PatientPosition::ALL {
            let s = ImagingSetup {
                shift_mm: [3.0, 5.0],
                pixel_mm: [0.4, 0.6],
                ..setup(position, 211.0, 17.0)
            };
            let p = s.projection().expect("a geometry");
            let matrix = p.matrix();
            let point = s.isocentre_mm + DVec3::new(40.0, -25.0, 60.0);
            let seen = p.project(point).expect("in front");
            assert!(
                (homogeneous(0, &matrix, point) / homogeneous(2, &matrix, point) - seen[0]).abs()
                    < 1e-9
                    && (homogeneous(1, &matrix, point) / homogeneous(2, &matrix, point) - seen[1])
                        .abs()
                        < 1e-9
            );
            // Up to any factor, negative ones too.
            let scaled = matrix.map(|r| r.map(|v| v * -3.7));
            let back =
                Projection::from_matrix(scaled, s.sid_mm, [s.columns, s.rows], s.isocentre_mm);
            let back = back.expect("a geometry");
            for (a, b) in [
                (back.source_mm, p.source_mm),
                (back.origin_mm, p.origin_mm),
                (back.column_step_mm, p.column_step_mm),
                (back.row_step_mm, p.row_step_mm),
            ] {
                assert!((a - b).length() < 1e-8, "{position}: {a} for {b}");
            }
            assert!((back.distance_mm() - 1500.0).abs() < 1e-9);
        }
    }

    fn homogeneous(r: usize, matrix: &[[f64; 4]; 3], point: DVec3) -> f64 {
        DVec3::new(matrix[r][0], matrix[r][1], matrix[r][2]).dot(point) + matrix[r][3]
    }

    #[test]
    fn pixels_project_onto_themselves_and_nothing_is_seen_behind_the_source() {
        let p = setup(Ffp, 71.0, 340.0).projection().expect("a geometry");
        let half_way = p.source_mm.lerp(p.pixel_mm(17.0, 401.0), 0.3);
        let seen = p.project(half_way).expect("in front");
        assert!((seen[0] - 17.0).abs() < 1e-9 && (seen[1] - 401.0).abs() < 1e-9);
        let behind = p.source_mm + (p.source_mm - half_way);
        assert_eq!(p.project(behind), None);
        assert_eq!(p.project(p.source_mm), None);
    }

    #[test]
    fn impossible_geometries_are_refused() {
        let (x, y, far) = (DVec3::X, DVec3::Y, DVec3::Z * 1000.0);
        assert!(matches!(
            projection_from(far, x, y, [0, 4]),
            Err(ProjectionError::Empty(0, 4))
        ));
        assert!(matches!(
            projection_from(far, x, y, [40_000, 4]),
            Err(ProjectionError::TooLarge(..))
        ));
        assert!(matches!(
            projection_from(far, x, x * 2.0, [4, 4]),
            Err(ProjectionError::Flat)
        ));
        assert!(matches!(
            projection_from(far, x, DVec3::NAN, [4, 4]),
            Err(ProjectionError::NotFinite(_))
        ));
        assert!(matches!(
            projection_from(x * 7.0, x, y, [4, 4]),
            Err(ProjectionError::SourceInPlane)
        ));
        let flat = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 1.0],
        ];
        let singular = Projection::from_matrix(flat, 1500.0, [4, 4], DVec3::ZERO);
        assert_eq!(singular, Err(ProjectionError::Singular));
        let s = ImagingSetup {
            sid_mm: -1.0,
            ..setup(Hfs, 0.0, 0.0)
        };
        assert!(matches!(
            s.projection(),
            Err(ProjectionError::NotPositive { .. })
        ));
    }

    fn projection_from(
        source: DVec3,
        x: DVec3,
        y: DVec3,
        size: [usize; 2],
    ) -> Result<Projection, ProjectionError> {
        Projection::new(source, DVec3::ZERO, x, y, size)
    }
}
