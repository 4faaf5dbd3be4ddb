//! Radiograph -> RT image storage.

use super::data_set::{DataSet, decimal, new_series, shortened};
use super::{Belonging, WriteError};
use case::{PixelMeaning, Radiograph, new_uid};
use dicom_core::value::{C, PrimitiveValue};
use dicom_dictionary_std::{tags, uids};
use std::path::Path;

/// Writes a computed radiograph: 16 bits over the range of its values, its geometry in IEC terms (DICOM PS3.3, C.8.8.2):
/// the position of the first pixel is in the plane of the image, relative to the middle of the receptor, which the
/// receptor's translation shifts.
///
/// # Errors
/// [`WriteError`]; values that are not finite and an image of unknown angles and distances are refused.
pub fn write_radiograph(
    path: &Path,
    image: &Radiograph,
    belonging: &Belonging,
) -> Result<(), WriteError> {
    let Some(setup) = image.setup else {
        return Err(WriteError::content(
            path,
            "an RT image needs gantry and couch angles, and this image's are not known",
        ));
    };
    if image.values.iter().any(|v| !v.is_finite()) {
        return Err(WriteError::content(
            path,
            "the image has pixels without a value",
        ));
    }
    let [low, high] = image
        .values
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &v| {
            [a.min(f64::from(v)), b.max(f64::from(v))]
        });
    let slope = if high > low {
        (high - low) / 65_535.0
    } else {
        1.0
    };
    let stored: C<u16> = image
        .values
        .iter()
        .map(|v| ((f64::from(*v) - low) / slope).round().clamp(0.0, 65_535.0) as u16)
        .collect();
    let series = new_series("RTIMAGE", 5, &image.label);
    let mut set = DataSet::object(uids::RT_IMAGE_STORAGE, &new_uid(), belonging, &series);
    set.text(tags::IMAGE_TYPE, "DERIVED\\SECONDARY\\DRR");
    set.text(tags::CONVERSION_TYPE, "WSD");
    set.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    set.text(tags::PATIENT_ORIENTATION, "");
    set.text(tags::PATIENT_POSITION, setup.position.code());
    set.whole(tags::SAMPLES_PER_PIXEL, 1);
    set.text(tags::PHOTOMETRIC_INTERPRETATION, "MONOCHROME2");
    // Readers must tell them apart: a line integral is the negative logarithm of the transmitted intensity.
    let (relationship, sign) = match image.meaning {
        PixelMeaning::Attenuation => ("LOG", -1_i16),
        PixelMeaning::Transmission => ("LIN", 1),
    };
    set.text(tags::PIXEL_INTENSITY_RELATIONSHIP, relationship);
    set.put(
        tags::PIXEL_INTENSITY_RELATIONSHIP_SIGN,
        PrimitiveValue::from(sign),
    );
    set.whole(tags::ROWS, setup.rows as i64);
    set.whole(tags::COLUMNS, setup.columns as i64);
    set.whole(tags::BITS_ALLOCATED, 16);
    set.whole(tags::BITS_STORED, 16);
    set.whole(tags::HIGH_BIT, 15);
    set.whole(tags::PIXEL_REPRESENTATION, 0);
    set.text(tags::RESCALE_INTERCEPT, &decimal(low));
    set.text(tags::RESCALE_SLOPE, &decimal(slope));
    set.text(tags::RESCALE_TYPE, "US");
    set.text(tags::RT_IMAGE_LABEL, &shortened(&image.label, 16));
    set.text(
        tags::RT_IMAGE_DESCRIPTION,
        match image.meaning {
            PixelMeaning::Attenuation => "line integral of attenuation",
            PixelMeaning::Transmission => "intensity",
        },
    );
    set.text(tags::RT_IMAGE_PLANE, "NORMAL");
    let [right, up] = setup.shift_mm;
    set.numbers(
        tags::X_RAY_IMAGE_RECEPTOR_TRANSLATION,
        &[right, up, setup.sad_mm - setup.sid_mm],
    );
    set.numbers(tags::X_RAY_IMAGE_RECEPTOR_ANGLE, &[0.0]);
    set.numbers(tags::RT_IMAGE_ORIENTATION, &[1.0, 0.0, 0.0, 0.0, -1.0, 0.0]);
    set.numbers(
        tags::IMAGE_PLANE_PIXEL_SPACING,
        &[setup.pixel_mm[1], setup.pixel_mm[0]],
    );
    let first = [
        -half_side_mm(setup.columns, setup.pixel_mm[0]),
        half_side_mm(setup.rows, setup.pixel_mm[1]),
    ];
    set.numbers(tags::RT_IMAGE_POSITION, &first);
    set.text(tags::RADIATION_MACHINE_NAME, "");
    set.numbers(tags::RADIATION_MACHINE_SAD, &[setup.sad_mm]);
    set.numbers(tags::RT_IMAGE_SID, &[setup.sid_mm]);
    set.text(tags::PRIMARY_DOSIMETER_UNIT, "MU");
    set.numbers(tags::GANTRY_ANGLE, &[setup.gantry_deg]);
    set.numbers(tags::BEAM_LIMITING_DEVICE_ANGLE, &[0.0]);
    set.numbers(tags::PATIENT_SUPPORT_ANGLE, &[setup.couch_deg]);
    set.numbers(tags::ISOCENTER_POSITION, &setup.isocentre_mm.to_array());
    set.put(tags::PIXEL_DATA, PrimitiveValue::U16(stored));
    set.write(path)
}

fn half_side_mm(count: usize, mm: f64) -> f64 {
    0.5 * (count as f64 - 1.0) * mm
}
