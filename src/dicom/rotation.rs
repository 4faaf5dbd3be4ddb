//! Directions of rotation in the words of DICOM, for plans that are read and written.

use case::{RotationAxis, RotationDirection};
use dicom_core::Tag;
use dicom_dictionary_std::tags;

/// The attribute that states the direction of an axis.
pub(crate) fn rotation_tag(axis: RotationAxis) -> Tag {
    match axis {
        RotationAxis::Gantry => tags::GANTRY_ROTATION_DIRECTION,
        RotationAxis::Collimator => tags::BEAM_LIMITING_DEVICE_ROTATION_DIRECTION,
        RotationAxis::Couch => tags::PATIENT_SUPPORT_ROTATION_DIRECTION,
    }
}

/// A stated direction; `None` for `NONE`, and for words that the standard does not have.
pub(crate) fn read_rotation(word: &str) -> Option<RotationDirection> {
    match word {
        "CW" => Some(RotationDirection::Clockwise),
        // Files have both.
        "CC" | "CCW" => Some(RotationDirection::CounterClockwise),
        _ => None,
    }
}

pub(crate) fn rotation_word(direction: Option<RotationDirection>) -> &'static str {
    match direction {
        Some(RotationDirection::Clockwise) => "CW",
        Some(RotationDirection::CounterClockwise) => "CC",
        None => "NONE",
    }
}
