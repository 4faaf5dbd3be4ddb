//! RT dose -> dose in Gy on its own grid.

use super::DicomError;
use super::catalogue::{frame_of, size_of};
use super::object::{
    AttributeError, Attributes, IfSaid, Object, file_name, keyword, open_header, within,
};
use super::pixels::read_samples;
use case::{Dose, DosePart, DoseStatus, DoseValueError, Remark, Reservations};
use dicom_dictionary_std::{tags, uids};
use geometry::{Grid, GridError, Volume};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// Reads a dose, never resampled: planes ascending along the normal (re-ordered where the file has them
/// otherwise), 16 or 32 bits, times DoseGridScaling. Also returns remarks on the file.
///
/// # Errors
/// [`DicomError`] with the file's name: relative doses and dose errors (no dose in Gy), missing attributes,
/// offsets that fit no convention, truncated pixels.
pub fn read_dose(path: &Path) -> Result<(Dose, Vec<Remark>), DicomError> {
    let object = open_header(path)?;
    check_kind(&object, path)?;
    let scaling = object
        .try_number(tags::DOSE_GRID_SCALING)
        .map_err(DicomError::attribute(path))?;
    if scaling <= 0.0 {
        let what = format!("its DoseGridScaling is {scaling}");
        return Err(DicomError::Contradiction {
            path: path.to_owned(),
            what,
        });
    }
    let (grid, order) = grid_of(&object, path)?;
    let samples = read_samples(&object, path, grid.len())?;
    let area = grid.size()[0] * grid.size()[1];
    let mut gy = Vec::with_capacity(grid.len());
    for &frame in &order {
        let plane = &samples.raw[frame * area..(frame + 1) * area];
        gy.extend(
            plane
                .iter()
                .map(|&raw| (samples.layout.value(raw) as f64 * scaling) as f32),
        );
    }
    if let Some(bad) = gy.iter().find(|v| !v.is_finite()) {
        let what = format!("its DoseGridScaling of {scaling:e} makes doses of {bad} Gy");
        return Err(DicomError::Contradiction {
            path: path.to_owned(),
            what,
        });
    }
    let mut remarks = remarks_of(&object, &gy, path);
    let dvhs = object.items(tags::DVH_SEQUENCE).len();
    if dvhs > 0 {
        remarks.push(Remark::note(
            format!(
                "the file carries {dvhs} DVHs; they are not used: DVHs are recomputed from the dose grid"
            ),
            vec![file_name(path)],
        ));
    }
    let gy = Arc::new(Volume::new(Arc::new(grid), gy));
    let reservations = Reservations::of_remarks(&remarks);
    let below_zero = DoseValueError::caveat(&gy);
    let dose = Dose {
        status: if below_zero.is_some() {
            DoseStatus::Partial
        } else {
            DoseStatus::Imported
        },
        caveats: reservations.caveats.into_iter().chain(below_zero).collect(),
        gy,
        label: format!("{}, {}", label_of(&object), file_name(path)),
        frame_of_reference_uid: frame_of(&object),
        receipt: None,
        remarks: reservations.remarks,
        part: part_of(&object),
    };
    Ok((dose, remarks))
}

/// The caveat of a dose whose gray are weighted: it is not compared with a physical one in silence.
const EFFECTIVE: &str = "biologically effective dose";

fn is_effective(object: &Object) -> bool {
    object.text(tags::DOSE_TYPE).as_deref() == Some("EFFECTIVE")
}

/// Beyond any dose of radiotherapy, Gy: the DoseGridScaling is in other units.
const MOST_GY: f32 = 1000.0;

/// Part of a plan that a dose is of, by its DoseSummationType; `None`: a whole plan or several, or it does not say.
fn part_of(object: &Object) -> Option<DosePart> {
    Some(match object.text(tags::DOSE_SUMMATION_TYPE)?.as_str() {
        "BEAM" | "BEAM_SESSION" => DosePart::Beam,
        "CONTROL_POINT" => DosePart::ControlPoint,
        "FRACTION" | "FRACTION_SESSION" => DosePart::Fraction,
        "BRACHY" | "BRACHY_SESSION" => DosePart::Brachytherapy,
        "RECORD" | "MULTI_RECORD" => DosePart::Record,
        _ => return None,
    })
}

/// Remarks on what a dose is of: biological effect, another anatomy, another place.
fn remarks_of_kind(object: &Object, path: &Path) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if is_effective(object) {
        forbid_use(
            "the dose is a biologically effective one, not the physical dose".to_owned(),
            EFFECTIVE,
            &mut remarks,
            path,
        );
    }
    // PS3.3 C.8.8.3: the image, densities given to structures, or water.
    let corrected = object
        .text(tags::TISSUE_HETEROGENEITY_CORRECTION)
        .unwrap_or_default();
    if corrected.split('\\').any(|what| what.trim() == "WATER") {
        let message = format!(
            "the dose was computed as if the patient were water (TissueHeterogeneityCorrection {corrected})"
        );
        forbid_use(message, "computed in water", &mut remarks, path);
    }
    if let Some(moved) = object
        .text(tags::SPATIAL_TRANSFORM_OF_DOSE)
        .filter(|moved| moved != "NONE")
    {
        let how = if moved == "RIGID" {
            "moved"
        } else {
            "deformed"
        };
        let message = format!(
            "the dose was {how} to other images (SpatialTransformOfDose {moved}): it was not computed on these"
        );
        forbid_use(
            message,
            &format!("{how} to other images"),
            &mut remarks,
            path,
        );
    }
    remarks
}

fn forbid_use(message: String, caveat: &str, remarks: &mut Vec<Remark>, path: &Path) {
    remarks.push(Remark::warning(message, vec![file_name(path)]).forbidding(caveat));
}

/// Remarks on a dose.
fn remarks_of(object: &Object, gy: &[f32], path: &Path) -> Vec<Remark> {
    let mut remarks = remarks_of_kind(object, path);
    let highest_gy = gy.iter().copied().fold(0.0, f32::max);
    if gy.iter().any(|&v| v < 0.0) {
        warn("the dose has negative values", &mut remarks, path);
    } else if highest_gy == 0.0 {
        warn("the dose is zero everywhere", &mut remarks, path);
    }
    if highest_gy > MOST_GY {
        let scaling = object.text(tags::DOSE_GRID_SCALING).unwrap_or_default();
        warn(
            &format!(
                "the dose goes up to {highest_gy} Gy, more than any treatment gives: its DoseGridScaling of {scaling} is that of another unit?"
            ),
            &mut remarks,
            path,
        );
    }
    match object.text(tags::DOSE_TYPE).as_deref() {
        Some("PHYSICAL" | "EFFECTIVE") => {}
        Some(other) => warn(
            &format!("its DoseType '{other}' is not known; it is shown as a physical dose"),
            &mut remarks,
            path,
        ),
        None => warn(
            "it has no DoseType; it is shown as a physical dose",
            &mut remarks,
            path,
        ),
    }
    match object.text(tags::DOSE_SUMMATION_TYPE).as_deref() {
        Some(summation) if SUMMATIONS.contains(&summation) => {}
        Some(other) => warn(
            &format!("its DoseSummationType '{other}' is not known: a dose of what?"),
            &mut remarks,
            path,
        ),
        None => warn(
            "it has no DoseSummationType: it does not say whether it is that of a plan, a fraction or a beam",
            &mut remarks,
            path,
        ),
    }
    remarks
}

fn warn(message: &str, remarks: &mut Vec<Remark>, path: &Path) {
    remarks.push(Remark::warning(message, vec![file_name(path)]))
}

/// The standard's values of DoseSummationType.
const SUMMATIONS: [&str; 12] = [
    "PLAN",
    "MULTI_PLAN",
    "PLAN_OVERVIEW",
    "FRACTION",
    "BEAM",
    "BRACHY",
    "FRACTION_SESSION",
    "BEAM_SESSION",
    "BRACHY_SESSION",
    "CONTROL_POINT",
    "RECORD",
    "MULTI_RECORD",
];

fn check_kind(object: &Object, path: &Path) -> Result<(), DicomError> {
    let modality = object
        .text(tags::MODALITY)
        .unwrap_or_else(|| "of no modality".to_owned());
    if modality != "RTDOSE"
        && object.text(tags::SOP_CLASS_UID).as_deref() != Some(uids::RT_DOSE_STORAGE)
    {
        return Err(DicomError::unsupported(
            path,
            format!("it is {modality}, not a dose; name an RTDOSE file"),
        ));
    }
    match object.text(tags::DOSE_UNITS).as_deref() {
        Some("GY") => {}
        Some("RELATIVE") => {
            return Err(DicomError::unsupported(
                path,
                "its dose is relative (DoseUnits RELATIVE), not in Gy, and is not shown; export the dose in Gy",
            ));
        }
        Some(other) => {
            return Err(DicomError::unsupported(
                path,
                format!("its DoseUnits '{other}' are not GY; export the dose in Gy"),
            ));
        }
        None => {
            let source = AttributeError::Missing(tags::DOSE_UNITS);
            return Err(DicomError::Attribute {
                path: path.to_owned(),
                source,
            });
        }
    }
    if object.text(tags::DOSE_TYPE).as_deref() == Some("ERROR") {
        return Err(DicomError::unsupported(
            path,
            "it holds the error of a dose (DoseType ERROR), not a dose, and is not shown",
        ));
    }
    Ok(())
}

/// The DoseSummationType in words.
fn label_of(object: &Object) -> String {
    let kind = if is_effective(object) {
        "effective dose"
    } else {
        "dose"
    };
    let summed = match object.text(tags::DOSE_SUMMATION_TYPE).as_deref() {
        Some("PLAN") => "plan".to_owned(),
        Some("BEAM") => match beam_number(object) {
            Some(number) => format!("beam {number}"),
            None => "beam".to_owned(),
        },
        Some(other) => other.to_ascii_lowercase().replace('_', " "),
        None => String::new(),
    };
    let comment = object
        .text(tags::DOSE_COMMENT)
        .map(|c| format!(" ({c})"))
        .unwrap_or_default();
    format!("{summed} {kind}{comment}").trim_start().to_owned()
}

fn beam_number(object: &Object) -> Option<i64> {
    object
        .items(tags::REFERENCED_RT_PLAN_SEQUENCE)
        .first()?
        .items(tags::REFERENCED_FRACTION_GROUP_SEQUENCE)
        .first()?
        .items(tags::REFERENCED_BEAM_SEQUENCE)
        .first()?
        .whole(tags::REFERENCED_BEAM_NUMBER)
}

/// The grid, and the file's frame of each of its planes.
fn grid_of(object: &Object, path: &Path) -> Result<(Grid, Vec<usize>), DicomError> {
    let size = size_of(object).ok_or_else(|| DicomError::Missing {
        path: path.to_owned(),
        attribute: "Rows and Columns",
    })?;
    if size.contains(&0) {
        return Err(DicomError::contradiction(
            path,
            format!("its Rows are {}, its Columns {}", size[1], size[0]),
        ));
    }
    let frames = object
        .try_whole(tags::NUMBER_OF_FRAMES)
        .optional()
        .map_err(DicomError::attribute(path))?
        .unwrap_or(1);
    let frames = usize::try_from(frames).ok().filter(|&n| n > 0);
    let frames = frames.ok_or_else(|| {
        let declared = object.text(tags::NUMBER_OF_FRAMES).unwrap_or_default();
        DicomError::contradiction(path, format!("its NumberOfFrames is {declared}"))
    })?;
    let [dy, dx] = object
        .try_array(tags::PIXEL_SPACING)
        .map_err(DicomError::attribute(path))?;
    for mm in [dx, dy] {
        // Voxels of less than a micrometre or more than a metre are an error of units.
        within(tags::PIXEL_SPACING, mm, 1e-3..=1e3).map_err(DicomError::attribute(path))?;
    }
    let axes: [f64; 6] = object
        .try_array(tags::IMAGE_ORIENTATION_PATIENT)
        .map_err(DicomError::attribute(path))?;
    let (row, column) = (DVec3::from_slice(&axes[..3]), DVec3::from_slice(&axes[3..]));
    let position = object
        .try_array(tags::IMAGE_POSITION_PATIENT)
        .map_err(DicomError::attribute(path))
        .map(DVec3::from)?;
    let offsets = object
        .try_numbers(tags::GRID_FRAME_OFFSET_VECTOR)
        .optional()
        .map_err(DicomError::attribute(path))?;
    let offsets = offsets.unwrap_or_default();
    let offsets = along_normal(&offsets, frames, position, row.cross(column))
        .map_err(|what| DicomError::contradiction(path, what))?;
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_by(|&a, &b| offsets[a].total_cmp(&offsets[b]));
    let planes: Vec<f64> = order.iter().map(|&frame| offsets[frame]).collect();
    let grid = Grid::new(position, row, column, [dx, dy], size, &planes).map_err(|source| match source {
        GridError::Axes { dot } => {
            let declared = object.text(tags::IMAGE_ORIENTATION_PATIENT).unwrap_or_default();
            let name = keyword(tags::IMAGE_ORIENTATION_PATIENT);
            DicomError::contradiction(path, format!(
                "its {name} {declared} are no unit vectors at right angles (dot product {dot:.6})"
            ))
        }
        GridError::Planes { before, after, .. } => DicomError::contradiction(path, format!(
            "its {} do not ascend ({before} mm, then {after} mm)",
            keyword(tags::GRID_FRAME_OFFSET_VECTOR)
        )),
        source => DicomError::Grid { path: path.to_owned(), source },
    })?;
    Ok((grid, order))
}

/// GridFrameOffsetVector as offsets along the normal from the position. Both conventions of PS3.3 C.8.8.3.2 occur:
/// offsets (the first is 0) and, on transverse planes, z coordinates (the first is the z of the position).
fn along_normal(
    offsets: &[f64],
    frames: usize,
    position: DVec3,
    normal: DVec3,
) -> Result<Vec<f64>, String> {
    if offsets.is_empty() && frames <= 1 {
        return Ok(vec![0.0]);
    }
    if offsets.len() != frames {
        return Err(format!(
            "it has {frames} frames and {} offsets of planes (NumberOfFrames, GridFrameOffsetVector)",
            offsets.len()
        ));
    }
    let first = offsets[0];
    if first == 0.0 {
        return Ok(offsets.to_vec());
    }
    if (first - position.z).abs() < 0.01 && normal.z.abs() > 0.999 {
        return Ok(offsets
            .iter()
            .map(|z| (z - first) * normal.z.signum())
            .collect());
    }
    if frames == 1 {
        // A planar dose: its position alone defines its plane.
        return Ok(vec![0.0]);
    }
    Err(format!(
        "its first GridFrameOffsetVector, {first} mm, is neither 0 nor the z of its position ({} mm)",
        position.z
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_conventions_of_plane_offsets_give_the_same_planes() {
        let first_mm = DVec3::new(1.0, 2.0, -50.0);
        let want = vec![0.0, 2.5, 6.0];
        assert_eq!(
            along_normal(&[0.0, 2.5, 6.0], 3, first_mm, DVec3::Z).unwrap(),
            want
        );
        assert_eq!(
            along_normal(&[-50.0, -47.5, -44.0], 3, first_mm, DVec3::Z).unwrap(),
            want
        );
        // The normal points to the feet: z falls from plane to plane.
        assert_eq!(
            along_normal(&[-50.0, -52.5, -56.0], 3, first_mm, DVec3::NEG_Z).unwrap(),
            want
        );
        assert_eq!(along_normal(&[], 1, first_mm, DVec3::Z).unwrap(), vec![0.0]);
        assert!(along_normal(&[0.0, 2.5], 3, first_mm, DVec3::Z).is_err());
        assert!(along_normal(&[7.0, 9.5], 2, first_mm, DVec3::Z).is_err());
    }
}
