//! RT image, DX, CR, XA -> radiograph: its geometry, and pixels that grow or fall with attenuation.

use super::DicomError;
use super::catalogue::{frame_of, patient_of, size_of};
use super::object::{Attributes, Item, Object, file_name, open_header};
use super::pixels::read_samples;
use super::rtimage;
use case::{PixelMeaning, Placement, Radiograph, Remark, opened};
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use geometry::{BeamFrame, ImagingSetup, Projection};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// Reads an RT image, a projection X-ray (DX, CR) or the first frame of an angiogram (XA). The geometry in
/// `given` overrides the file's. Also returns remarks on the file.
///
/// # Errors
/// [`DicomError::NoGeometry`] names the values that neither file nor `given` has; images other than X-rays;
/// errors in the file.
pub fn read_radiograph(
    path: &Path,
    entered: &Placement,
) -> Result<(Radiograph, Vec<Remark>), DicomError> {
    let object = open_header(path)?;
    let modality = object.text(tags::MODALITY).unwrap_or_default();
    let is_rt = modality == "RTIMAGE";
    if !is_rt && !matches!(modality.as_str(), "DX" | "CR" | "XA" | "RF" | "DR" | "RG") {
        let what = format!("it is {modality}, not an X-ray (RTIMAGE, DX, CR, XA)");
        return Err(DicomError::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    let size = size_of(&object).ok_or_else(|| DicomError::Missing {
        path: path.to_owned(),
        attribute: "Rows and Columns",
    })?;
    let mut remarks = Vec::new();
    let mut say = |message: String| remarks.push(Remark::warning(message, vec![file_name(path)]));
    let item = object.item();
    let declared = if is_rt {
        rtimage::placement(item)
    } else {
        placement(item)
    };
    if let (Some(file), Some(entered_position)) = (declared.position, entered.position)
        && file != entered_position
    {
        say(format!(
            "the file says the patient lies {file}; {entered_position} is used, as given"
        ));
    }
    let setup = entered
        .or(&declared)
        .setup(size)
        .map_err(|missing| DicomError::NoGeometry {
            path: path.to_owned(),
            missing,
        })?;
    let mut values = values(&object, path, size)?;
    let (projection, setup, open) = if is_rt {
        let (projection, setup) = rtimage::projection(item, setup, path)?;
        let open =
            rtimage::jaws(item).and_then(|jaws| within(&projection, &declared, jaws, &mut say));
        (projection, setup, open)
    } else {
        let (projection, setup) = upright(item, setup, path, &mut values, size, &mut say)?;
        (projection, setup, None)
    };
    let open = match (entered.field_mm, setup) {
        (Some(field), Some(setup)) => Some(opened(&setup, field)),
        _ => open,
    };
    let (meaning, values) = sense(item, values, entered.bone_is_bright, &mut say);
    let frame = if entered.isocentre_mm.is_some() {
        String::new()
    } else {
        frame_of(item)
    };
    let radiograph = Radiograph {
        setup,
        label: file_name(path),
        frame_of_reference_uid: frame,
        patient: patient_of(item),
        accepted_patient: entered.accepted_patient.clone(),
        open: open.map(Arc::new),
        ..Radiograph::new(values, meaning, projection, "")
    };
    Ok((radiograph, remarks))
}

/// The geometry in an X-ray's file.
///
/// # Errors
/// [`DicomError`] where the file cannot be read.
pub fn read_placement(path: &Path) -> Result<Placement, DicomError> {
    let object = open_header(path)?;
    let is_rt = object.text(tags::MODALITY).as_deref() == Some("RTIMAGE");
    Ok(if is_rt {
        rtimage::placement(object.item())
    } else {
        placement(object.item())
    })
}

/// Stored values with the modality's rescale; padding becomes the least value.
fn values(
    object: &Object,
    path: &Path,
    [columns, rows]: [usize; 2],
) -> Result<Vec<f32>, DicomError> {
    let samples = read_samples(object, path, columns * rows)?;
    let slope = object
        .number(tags::RESCALE_SLOPE)
        .filter(|s| *s != 0.0)
        .unwrap_or(1.0);
    let intercept = object.number(tags::RESCALE_INTERCEPT).unwrap_or(0.0);
    let table = lookup(object.item());
    let padding = object.whole(tags::PIXEL_PADDING_VALUE);
    let stored = samples.raw.iter().map(|&raw| samples.layout.value(raw));
    let mut values: Vec<f32> = stored
        .map(|stored| match &table {
            _ if padding == Some(stored) => f32::NAN,
            Some((first, entries)) => {
                let index = (stored - first).clamp(0, entries.len() as i64 - 1);
                entries[index as usize]
            }
            None => (stored as f64 * slope + intercept) as f32,
        })
        .collect();
    let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
    let lowest = if lowest.is_finite() { lowest } else { 0.0 };
    values
        .iter_mut()
        .filter(|v| v.is_nan())
        .for_each(|v| *v = lowest);
    Ok(values)
}

/// The modality LUT: the stored value of its first entry, and its entries. (A VOI LUT or window only defines
/// the display.)
fn lookup(item: &Item) -> Option<(i64, Vec<f32>)> {
    let lut = item.items(tags::MODALITY_LUT_SEQUENCE).first()?;
    let descriptor = lut.numbers(tags::LUT_DESCRIPTOR);
    let entries: Vec<f32> = lut
        .numbers(tags::LUT_DATA)
        .into_iter()
        .map(|v| v as f32)
        .collect();
    let first = descriptor.get(1).copied().filter(|v| v.is_finite())?;
    (!entries.is_empty()).then_some((first as i64, entries))
}

/// The meaning of the values, which are inverted where their direction contradicts it.
///
/// PixelIntensityRelationship states whether a value is linear in the beam's intensity or its logarithm, its
/// sign whether it grows with it. Without a sign the displayed image counts: bone bright, by
/// PhotometricInterpretation.
fn sense(
    item: &Item,
    values: Vec<f32>,
    declared: Option<bool>,
    say: &mut impl FnMut(String),
) -> (PixelMeaning, Vec<f32>) {
    let sign = item.whole(tags::PIXEL_INTENSITY_RELATIONSHIP_SIGN);
    let inverse = item.text(tags::PHOTOMETRIC_INTERPRETATION).as_deref() == Some("MONOCHROME1");
    let bone_is_high = match (declared, sign) {
        (Some(bright), _) => bright != inverse,
        (None, Some(sign)) => sign < 0,
        (None, None) => !inverse,
    };
    let linear = item.text(tags::PIXEL_INTENSITY_RELATIONSHIP).as_deref() == Some("LIN");
    if declared.is_none()
        && sign.is_none()
        && item.text(tags::PIXEL_INTENSITY_RELATIONSHIP).is_none()
    {
        say("the file does not say how its pixels follow the beam; they are taken as bone bright when shown"
            .to_owned());
    }
    match (linear, bone_is_high) {
        (true, false) => (PixelMeaning::Transmission, values),
        (true, true) => (PixelMeaning::Transmission, turned_round(values)),
        (false, true) => (PixelMeaning::Attenuation, values),
        (false, false) => (PixelMeaning::Attenuation, turned_round(values)),
    }
}

fn turned_round(values: Vec<f32>) -> Vec<f32> {
    let (low, high) = values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
    values.into_iter().map(|v| low + (high - v)).collect()
}

/// The geometry of a projection X-ray: angles of the positioner, distances, pixels at the detector (PS3.3
/// C.8.7.5, C.8.11.4). The detector of an angiograph at 0 lies before the patient's chest and moves to his
/// left: the source is opposite.
fn placement(item: &Item) -> Placement {
    let by_positioner = item
        .number(tags::POSITIONER_PRIMARY_ANGLE)
        .map(|a| (180.0 + a).rem_euclid(360.0));
    Placement {
        // These angles are relative to the patient in any position.
        position: None,
        gantry_deg: by_positioner.or_else(|| match item.text(tags::VIEW_POSITION)?.as_str() {
            "AP" => Some(0.0),
            "PA" => Some(180.0),
            // The named side is at the detector.
            "LL" => Some(270.0),
            "RL" => Some(90.0),
            _ => None,
        }),
        couch_deg: None,
        isocentre_mm: item.vector(tags::ISOCENTER_POSITION),
        sad_mm: item
            .number(tags::DISTANCE_SOURCE_TO_PATIENT)
            .filter(|v| *v > 0.0),
        sid_mm: item
            .number(tags::DISTANCE_SOURCE_TO_DETECTOR)
            .filter(|v| *v > 0.0),
        pixel_mm: (match item.numbers(tags::IMAGER_PIXEL_SPACING)[..] {
            [dy, dx] if dx > 0.0 && dy > 0.0 => Some([dx, dy]),
            _ => None,
        }),
        shift_mm: None,
        field_mm: None,
        bone_is_bright: None,
        accepted_patient: None,
    }
}

/// Mirrors a picture displayed as if the viewer faced the patient into one seen from the source, and places
/// it. An angiograph that is tilted to head or feet has no setup.
fn upright(
    item: &Item,
    setup: ImagingSetup,
    path: &Path,
    values: &mut [f32],
    size: [usize; 2],
    say: &mut impl FnMut(String),
) -> Result<(Projection, Option<ImagingSetup>), DicomError> {
    let projection = setup.projection().map_err(DicomError::projection(path))?;
    let shown = item.numbers_of_words(tags::PATIENT_ORIENTATION);
    match shown {
        Some([right, down]) => {
            if right.dot(projection.column_step_mm()) < 0.0 {
                values.chunks_exact_mut(size[0]).for_each(<[f32]>::reverse);
            }
            if down.dot(projection.row_step_mm()) < 0.0 {
                let rows: Vec<f32> = values.chunks_exact(size[0]).rev().flatten().copied().collect();
                values.copy_from_slice(&rows);
            }
        }
        None => say(
            "the file does not say where in the picture the patient's left and head are; it is taken as seen from the source"
                .to_owned(),
        ),
    }
    let tilt = item.number(tags::POSITIONER_SECONDARY_ANGLE).unwrap_or(0.0);
    if tilt.abs() < 1e-9 {
        return Ok((projection, Some(setup)));
    }
    tilted(&setup, tilt)
        .map(|p| (p, None))
        .map_err(DicomError::projection(path))
}

/// Source and image tilted together towards the head by `tilt_deg`, about the isocentre and the axis across
/// the beam.
fn tilted(setup: &ImagingSetup, tilt_deg: f64) -> Result<Projection, geometry::ProjectionError> {
    let p = setup.projection()?;
    let frame = BeamFrame::new(
        setup.position,
        setup.gantry_deg,
        0.0,
        setup.couch_deg,
        setup.isocentre_mm,
        setup.sad_mm,
    );
    // A turn about +Xg raises the detector, at -Zg, to +Yg: the patient's head, as positioner angles are the
    // patient's.
    let turn = glam::DQuat::from_axis_angle(frame.axes[0], tilt_deg.to_radians());
    Projection::new(
        turned_about_isocentre(p.source_mm(), setup, turn),
        turned_about_isocentre(p.origin_mm(), setup, turn),
        turn * p.column_step_mm(),
        turn * p.row_step_mm(),
        [p.columns(), p.rows()],
    )
}

fn turned_about_isocentre(v: DVec3, setup: &ImagingSetup, turn: glam::DQuat) -> DVec3 {
    setup.isocentre_mm + turn * (v - setup.isocentre_mm)
}

/// Pixels within the jaws, without 3 mm of penumbra; `None` where the jaws leave the whole picture open or
/// are uncertain.
fn within(
    projection: &Projection,
    declared: &Placement,
    jaws: rtimage::JawOpening,
    say: &mut impl FnMut(String),
) -> Option<Vec<bool>> {
    let [x, y] = jaws.sides_mm;
    let (gantry, couch) = (declared.gantry_deg?, declared.couch_deg.unwrap_or(0.0));
    let frame = BeamFrame::new(
        declared.position.unwrap_or_default(),
        gantry,
        jaws.collimator_deg,
        couch,
        declared.isocentre_mm?,
        declared.sad_mm?,
    );
    let columns = projection.columns();
    let open: Vec<bool> = (0..projection.pixels())
        .map(|n| {
            let pixel = projection.pixel_mm((n % columns) as f64, (n / columns) as f64);
            frame
                .project(pixel)
                .is_some_and(|([px, py], _)| is_within_jaws(px, x) && is_within_jaws(py, y))
        })
        .collect();
    let count = open.iter().filter(|o| **o).count();
    if count == 0 {
        say("the jaws leave none of the picture open; they are not looked at".to_owned());
    }
    (count > 0 && count < open.len()).then_some(open)
}

/// Margin along each jaw in which no pixel is compared, mm.
const PENUMBRA_MM: f64 = 3.0;

fn is_within_jaws(v: f64, [low, high]: [f64; 2]) -> bool {
    v > low + PENUMBRA_MM && v < high - PENUMBRA_MM
}

/// Patient directions as letters.
trait Words {
    fn numbers_of_words(&self, tag: Tag) -> Option<[DVec3; 2]>;
}

impl Words for Item {
    /// Patient directions of rows and columns, from letters such as `L\F`; the first letter of each counts.
    fn numbers_of_words(&self, tag: Tag) -> Option<[DVec3; 2]> {
        let text = self.text(tag)?;
        let (row, column) = text.split_once('\\')?;
        Some([direction_of_letter(row)?, direction_of_letter(column)?])
    }
}

fn direction_of_letter(word: &str) -> Option<DVec3> {
    match word.trim().chars().next()? {
        'L' => Some(DVec3::X),
        'R' => Some(DVec3::NEG_X),
        'P' => Some(DVec3::Y),
        'A' => Some(DVec3::NEG_Y),
        'H' => Some(DVec3::Z),
        'F' => Some(DVec3::NEG_Z),
        _ => None,
    }
}
