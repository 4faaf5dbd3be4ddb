//! Registration -> spatial registration storage (PS3.3 A.39.1).

use super::data_set::{DataSet, new_series, now, shortened};
use super::{Belonging, WriteError};
use case::{Ct, new_uid};
use dicom_dictionary_std::{tags, uids};
use glam::DMat4;
use std::path::Path;

/// A rigid registration of two frames of reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The frame in which positions are given, and the one into which they are mapped.
    pub source_frame_uid: String,
    pub registered_frame_uid: String,
    /// Maps `(x, y, z, 1)` of the source frame, mm, into the registered one.
    pub matrix: DMat4,
    pub label: String,
    pub description: String,
}

/// Writes a rigid registration: of the CT's frame (the source) into the frame of an X-ray's room. The CT's planes are named
/// where they have UIDs.
///
/// # Errors
/// [`WriteError`]; a matrix that is not finite and two equal frames are refused.
pub fn write_registration(
    path: &Path,
    registration: &Registration,
    ct: &Ct,
    belonging: &Belonging,
) -> Result<(), WriteError> {
    let Registration {
        source_frame_uid,
        registered_frame_uid,
        matrix,
        label,
        description,
    } = registration;
    if !matrix.is_finite() {
        return Err(WriteError::content(
            path,
            "the matrix holds what is no number",
        ));
    }
    if source_frame_uid.is_empty() || source_frame_uid == registered_frame_uid {
        return Err(WriteError::content(
            path,
            "source and registered frame of reference must be two",
        ));
    }
    let (date, time) = now();
    let series = new_series("REG", 5, "2D/3D registration");
    let mut set = DataSet::object(
        uids::SPATIAL_REGISTRATION_STORAGE,
        &new_uid(),
        belonging,
        &series,
    );
    set.text(tags::SERIES_DATE, &date);
    set.text(tags::SERIES_TIME, &time);
    set.text(tags::LATERALITY, "");
    set.text(tags::DEVICE_SERIAL_NUMBER, "0");
    set.text(tags::FRAME_OF_REFERENCE_UID, registered_frame_uid);
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    set.text(tags::CONTENT_DATE, &date);
    set.text(tags::CONTENT_TIME, &time);
    set.text(tags::CONTENT_LABEL, &code_string(label));
    set.text(tags::CONTENT_DESCRIPTION, &shortened(description, 64));
    set.text(tags::CONTENT_CREATOR_NAME, "");
    let planes = || -> Vec<DataSet> {
        ct.plane_uids
            .iter()
            .map(|uid| DataSet::reference(uids::CT_IMAGE_STORAGE, uid))
            .collect()
    };
    let mut source = frame(source_frame_uid, *matrix);
    if !ct.plane_uids.is_empty() {
        source.items(tags::REFERENCED_IMAGE_SEQUENCE, planes());
        let mut series = DataSet::new();
        series.text(tags::SERIES_INSTANCE_UID, &ct.series_uid);
        series.items(tags::REFERENCED_INSTANCE_SEQUENCE, planes());
        set.items(tags::REFERENCED_SERIES_SEQUENCE, vec![series]);
    }
    let items = vec![frame(registered_frame_uid, DMat4::IDENTITY), source];
    set.items(tags::REGISTRATION_SEQUENCE, items);
    set.write(path)
}

/// One frame of reference and the matrix that maps it into the registered one.
fn frame(uid: &str, matrix: DMat4) -> DataSet {
    let mut matrix_item = DataSet::new();
    matrix_item.text(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX_TYPE, "RIGID");
    matrix_item.numbers(
        tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX,
        &matrix.transpose().to_cols_array(),
    );
    let mut step = DataSet::new();
    step.items(tags::MATRIX_SEQUENCE, vec![matrix_item]);
    step.items(tags::REGISTRATION_TYPE_CODE_SEQUENCE, Vec::new());
    let mut item = DataSet::new();
    item.text(tags::FRAME_OF_REFERENCE_UID, uid);
    item.items(tags::MATRIX_REGISTRATION_SEQUENCE, vec![step]);
    item
}

/// Capital letters, digits, blanks and underlines, at most 16.
fn code_string(label: &str) -> String {
    let word: String = label
        .chars()
        .map(|c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .take(16)
        .collect();
    if word.is_empty() {
        "REGISTRATION".to_owned()
    } else {
        word
    }
}
