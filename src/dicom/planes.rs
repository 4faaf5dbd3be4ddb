//! The images of a series as a stack of planes: order, duplicates, gaps, tilt.

use super::DicomError;
use super::catalogue::{Image, Series};
use super::object::{Attributes as _, Item, file_name};
use case::Remark;
use dicom_dictionary_std::tags;
use geometry::Grid;
use glam::DVec3;

/// Planes within this distance are one plane.
const SAME_PLANE_MM: f64 = 0.01;
/// Shifts within the planes up to this are rounding of the positions.
const ROUNDING_MM: f64 = 0.05;

/// The planes of a series, lowest first, and remarks on them.
pub struct Stack<'a> {
    pub grid: Grid,
    pub images: Vec<&'a Image>,
    pub remarks: Vec<Remark>,
}

/// Orders a series along its normal. `same_pixels` decides whether two images at one position are copies.
///
/// # Errors
/// [`DicomError`] where attributes are missing or the planes form no rectangular grid.
pub fn stack<'a>(
    series: &'a Series,
    same_pixels: impl Fn(&Image, &Image) -> bool,
) -> Result<Stack<'a>, DicomError> {
    let first = first_of(series)?;
    if series.size.contains(&0) {
        return Err(DicomError::missing(&first.path, "Rows and Columns"));
    }
    let spacing = series
        .spacing_mm
        .ok_or_else(|| DicomError::missing(&first.path, "PixelSpacing"))?;
    let [row, column] = series
        .orientation
        .ok_or_else(|| DicomError::missing(&first.path, "ImageOrientationPatient"))?;
    let normal = row.cross(column);
    let mut remarks = Vec::new();
    let images = slices_of(series, &mut remarks)?;
    let mut planes = Vec::with_capacity(images.len());
    for image in images {
        let position = image.position_mm.ok_or_else(|| DicomError::Missing {
            path: image.path.clone(),
            attribute: "ImagePositionPatient",
        })?;
        if !position.is_finite() {
            let what = "its ImagePositionPatient has a value that is no number".to_owned();
            return Err(DicomError::Contradiction {
                path: image.path.clone(),
                what,
            });
        }
        planes.push(Plane {
            image,
            position,
            height: position.dot(normal),
        });
    }
    planes.sort_by(|a, b| {
        a.height
            .total_cmp(&b.height)
            .then(instance_or_last(a).cmp(&instance_or_last(b)))
            .then_with(|| a.image.path.cmp(&b.image.path))
    });
    drop_duplicates(&mut planes, same_pixels, &mut remarks);
    check_shift(&planes, normal, spacing, &mut remarks)?;
    let heights: Vec<f64> = planes.iter().map(|p| p.height - planes[0].height).collect();
    let grid = Grid::new(
        planes[0].position,
        row,
        column,
        spacing,
        series.size,
        &heights,
    )
    .map_err(|source| DicomError::Grid {
        path: first.path.clone(),
        source,
    })?;
    remark_spacing(&planes, &mut remarks);
    remark_orientation(&grid, &mut remarks);
    Ok(Stack {
        grid,
        images: planes.iter().map(|p| p.image).collect(),
        remarks,
    })
}

fn instance_or_last(p: &Plane) -> i64 {
    p.image.instance.unwrap_or(i64::MAX)
}

fn first_of(series: &Series) -> Result<&Image, DicomError> {
    let Some(first) = series.images.first() else {
        let (place, what) = (format!("series {}", series.uid), "no images".to_owned());
        return Err(DicomError::NothingToShow { place, what });
    };
    if series.modality != "CT" {
        return Err(DicomError::unsupported(
            &first.path,
            format!(
                "its modality is {}; only CT is shown as HU",
                series.modality
            ),
        ));
    }
    if series.multiframe {
        return Err(DicomError::unsupported(
            &first.path,
            "it holds several frames (enhanced CT); export the CT as single images".to_owned(),
        ));
    }
    Ok(first)
}

/// Kinds of images of a CT series that are no slice of the patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSlice {
    Localizer,
    /// Maxima, minima or sums along rays.
    Projection,
}

impl NoSlice {
    /// By ImageType.
    pub fn read(item: &Item) -> Option<Self> {
        let kind = item.text(tags::IMAGE_TYPE)?.to_ascii_uppercase();
        let values: Vec<&str> = kind.split('\\').map(str::trim).collect();
        if values.get(2) == Some(&"LOCALIZER") {
            return Some(Self::Localizer);
        }
        let mut words = values
            .iter()
            .skip(2)
            .flat_map(|v| v.split(|c: char| !c.is_ascii_alphanumeric()));
        let projected = words.any(|word| matches!(word, "MIP" | "MINIP" | "MAXIP" | "PROJECTION"));
        (values[0] == "DERIVED" && projected).then_some(Self::Projection)
    }
}

impl Series {
    /// Number of images that are slices of the patient.
    pub(super) fn slices(&self) -> usize {
        self.images.iter().filter(|i| i.no_slice.is_none()).count()
    }
}

/// The images of a series that are slices, with a remark on the others. A series of projections alone is
/// shown as such.
fn slices_of<'a>(
    series: &'a Series,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<&'a Image>, DicomError> {
    let [localizers, projections] = [NoSlice::Localizer, NoSlice::Projection].map(|kind| {
        images_of_kind(Some(kind), series)
            .map(|i| file_name(&i.path))
            .collect::<Vec<_>>()
    });
    let mut slices: Vec<&Image> = images_of_kind(None, series).collect();
    if slices.is_empty() {
        slices = images_of_kind(Some(NoSlice::Projection), series).collect();
        if slices.is_empty() {
            let what = "the series holds nothing but localizers (ImageType), no slices".to_owned();
            return Err(DicomError::Unsupported {
                path: series.images[0].path.clone(),
                what,
            });
        }
        remarks.push(
            Remark::warning(
                concat!(
                    "the images are projections (ImageType DERIVED, MIP): their HU are those of no tissue; ",
                    "do not compute dose on them"
                ),
                projections,
            )
            .forbidding("projections (MIP), no slices"),
        );
    } else if !projections.is_empty() {
        let message = format!(
            "{} image(s) are projections (ImageType DERIVED, MIP) and are left out",
            projections.len()
        );
        remarks.push(Remark::warning(message, projections).without_bearing());
    }
    if !localizers.is_empty() {
        let message = format!(
            "{} image(s) are localizers (ImageType) and are left out",
            localizers.len()
        );
        remarks.push(Remark::warning(message, localizers).without_bearing());
    }
    Ok(slices)
}

fn images_of_kind(kind: Option<NoSlice>, series: &Series) -> impl Iterator<Item = &Image> {
    series.images.iter().filter(move |i| i.no_slice == kind)
}

struct Plane<'a> {
    image: &'a Image,
    position: DVec3,
    /// Position along the normal, mm.
    height: f64,
}

impl Plane<'_> {
    fn name(&self) -> String {
        file_name(&self.image.path)
    }
}

/// Keeps the image with the lowest instance number of several at one position.
fn drop_duplicates(
    planes: &mut Vec<Plane>,
    same_pixels: impl Fn(&Image, &Image) -> bool,
    remarks: &mut Vec<Remark>,
) {
    let mut copies = Vec::new();
    let mut rivals = Vec::new();
    let mut kept: Vec<Plane> = Vec::with_capacity(planes.len());
    for plane in planes.drain(..) {
        match kept.last() {
            Some(last) if plane.height - last.height < SAME_PLANE_MM => {
                let list = if same_pixels(last.image, plane.image) {
                    &mut copies
                } else {
                    &mut rivals
                };
                list.push(plane.name());
            }
            _ => kept.push(plane),
        }
    }
    *planes = kept;
    if !copies.is_empty() {
        let message = format!(
            "{} image(s) are copies of another and were passed over",
            copies.len()
        );
        remarks.push(Remark::note(message, copies));
    }
    if !rivals.is_empty() {
        let message = format!(
            "{} image(s) lie where another image of the series lies but differ from it (several phases or \
             reconstructions?); the one with the lowest instance number is shown",
            rivals.len()
        );
        remarks.push(Remark::warning(message, rivals));
    }
}

/// Checks that planes lie above one another along the normal: a stack sheared by a gantry tilt is no
/// rectangular grid.
fn check_shift(
    planes: &[Plane],
    normal: DVec3,
    spacing: [f64; 2],
    remarks: &mut Vec<Remark>,
) -> Result<(), DicomError> {
    let base = &planes[0];
    let Some(worst) = planes.iter().max_by(|a, b| {
        shift_from(a, base, normal)
            .length()
            .total_cmp(&shift_from(b, base, normal).length())
    }) else {
        return Ok(());
    };
    let largest_shift_mm = shift_from(worst, base, normal).length();
    if largest_shift_mm <= ROUNDING_MM {
        return Ok(());
    }
    let square: f64 = planes
        .iter()
        .map(|p| (p.height - base.height).powi(2))
        .sum();
    let slope = planes
        .iter()
        .map(|p| shift_from(p, base, normal) * (p.height - base.height))
        .sum::<DVec3>()
        / square.max(1e-9);
    let residual = planes
        .iter()
        .map(|p| (shift_from(p, base, normal) - slope * (p.height - base.height)).length())
        .fold(0.0, f64::max);
    let sheared = residual < 0.1 * largest_shift_mm;
    let path = worst.image.path.clone();
    if largest_shift_mm > 0.5 * spacing[0].min(spacing[1]) {
        let tilt_deg = slope.length().atan().to_degrees();
        return Err(if sheared {
            let what = format!(
                "the planes are sheared by {tilt_deg:.2} degrees (gantry tilt): they lie {largest_shift_mm:.1} mm aside over \
                 the series; re-slice the series at right angles to its axis, then export it again"
            );
            DicomError::Unsupported { path, what }
        } else {
            let what = format!(
                "its plane lies {largest_shift_mm:.1} mm aside of the first one of its series"
            );
            DicomError::Contradiction { path, what }
        });
    }
    remarks.push(Remark::warning(
        format!(
            "planes lie up to {largest_shift_mm:.2} mm aside of one another, less than half a pixel; this is passed over"
        ),
        planes.iter().filter(|p| shift_from(p, base, normal).length() > ROUNDING_MM).map(Plane::name).collect(),
    ));
    Ok(())
}

/// How far a plane lies aside of another, in their own plane, mm.
fn shift_from(p: &Plane, base: &Plane, normal: DVec3) -> DVec3 {
    let d = p.position - base.position;
    d - normal * d.dot(normal)
}

/// Remarks on uneven spacing. The positions are not changed.
fn remark_spacing(planes: &[Plane], remarks: &mut Vec<Remark>) {
    if planes.len() < 2 {
        let thickness = planes[0].image.thickness_mm;
        let declared = thickness.map_or(String::new(), |t| format!(" (SliceThickness {t} mm)"));
        remarks.push(
            Remark::warning(
                format!(
                    "the series has a single plane{declared}: it has no extent along its normal"
                ),
                vec![planes[0].name()],
            )
            .forbidding("a single plane"),
        );
        return;
    }
    let steps: Vec<f64> = planes
        .windows(2)
        .map(|w| w[1].height - w[0].height)
        .collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[sorted.len() / 2];
    let tolerance = (0.01 * usual).max(SAME_PLANE_MM);
    let odd: Vec<usize> = (0..steps.len())
        .filter(|&k| (steps[k] - usual).abs() > tolerance)
        .collect();
    // Many odd steps mean a series of several spacings; few mean lost planes.
    let lost = odd.len() * 5 <= steps.len()
        && odd.iter().all(|&k| {
            let times = steps[k] / usual;
            times > 1.5 && (times - times.round()).abs() < 0.1
        });
    if lost {
        for &k in &odd {
            let missing = (steps[k] / usual).round() as usize - 1;
            let message = format!(
                "{missing} plane(s) seem to be missing: {:.2} mm between planes {} and {} where {usual:.2} mm are usual",
                steps[k],
                k + 1,
                k + 2
            );
            let caveat = format!(
                "{missing} plane{} missing",
                if missing == 1 { "" } else { "s" }
            );
            let files = vec![planes[k].name(), planes[k + 1].name()];
            remarks.push(Remark::warning(message, files).forbidding(caveat));
        }
    } else if !odd.is_empty() {
        let message = format!(
            "the planes are uneven: {:.2} to {:.2} mm apart, {usual:.2} mm mostly; the positions of the files are used",
            sorted[0],
            sorted[sorted.len() - 1]
        );
        remarks.push(Remark::note(
            message,
            odd.iter().map(|&k| planes[k + 1].name()).collect(),
        ));
    }
    let thick: Vec<&Plane> = planes
        .iter()
        .filter(|p: &&Plane| {
            p.image
                .thickness_mm
                .is_some_and(|t| (t - usual).abs() > 0.1 * usual)
        })
        .collect();
    if let Some(first) = thick.first() {
        let declared = first.image.thickness_mm.unwrap_or_default();
        let message = format!(
            "SliceThickness is {declared} mm where the planes are {usual:.2} mm apart; the positions are used"
        );
        remarks.push(Remark::note(
            message,
            thick.iter().map(|p| p.name()).collect(),
        ));
    }
}

fn remark_orientation(grid: &Grid, remarks: &mut Vec<Remark>) {
    let normal = grid.axes()[2];
    let off_deg = normal
        .abs()
        .max_element()
        .clamp(-1.0, 1.0)
        .acos()
        .to_degrees();
    if off_deg > 0.01 {
        let message = format!(
            "the planes are tilted by {off_deg:.2} degrees against the patient axes; their own orientation is used"
        );
        remarks.push(Remark::note(message, Vec::new()));
    } else if normal.z.abs() < 0.5 {
        remarks.push(Remark::note(
            "the planes are not transverse; their own orientation is used",
            Vec::new(),
        ));
    }
}
