//! Spatial registration -> the rigid matrix between two frames of reference (PS3.3 C.20.2).

use super::object::{AttributeError, Attributes as _, Item, open};
use super::{DicomError, Registration};
use case::Pose;
use dicom_dictionary_std::tags;
use glam::{DMat4, DVec3};
use std::path::Path;

/// Reads a rigid registration of two frames of reference.
///
/// # Errors
/// [`DicomError`]: other than two frames, matrices that are missing, no numbers or not rigid.
pub fn read_registration(path: &Path) -> Result<Registration, DicomError> {
    let object = open(path)?;
    let registered =
        frame_uid(object.item()).ok_or_else(|| DicomError::missing(path, "FrameOfReferenceUID"))?;
    let others: Vec<&Item> = object
        .items(tags::REGISTRATION_SEQUENCE)
        .iter()
        .filter(|item| frame_uid(item).is_some_and(|uid| uid != registered))
        .collect();
    let [moving] = others[..] else {
        return Err(DicomError::contradiction(
            path,
            format!(
                "it registers {} other frames of reference, not one",
                others.len()
            ),
        ));
    };
    let steps = moving.items(tags::MATRIX_REGISTRATION_SEQUENCE).iter();
    let matrices: Vec<&Item> = steps
        .flat_map(|step| step.items(tags::MATRIX_SEQUENCE))
        .collect();
    if matrices.is_empty() {
        return Err(DicomError::missing(path, "MatrixSequence"));
    }
    // The first item is applied first (C.20.2.1.1).
    let matrix = matrices
        .into_iter()
        .try_fold(DMat4::IDENTITY, |product, item| {
            let rows: Result<[f64; 16], AttributeError> =
                item.try_array(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX);
            rows.map(|rows| DMat4::from_cols_array(&rows).transpose() * product)
        });
    let matrix = matrix.map_err(|why| DicomError::contradiction(path, why.to_string()))?;
    if Pose::from_matrix(matrix, DVec3::ZERO).is_none() {
        return Err(DicomError::contradiction(
            path,
            "its matrix is not rigid: it scales, shears or mirrors".to_owned(),
        ));
    }
    Ok(Registration {
        source_frame_uid: frame_uid(moving).unwrap_or_default(),
        registered_frame_uid: registered,
        matrix,
        label: object.text(tags::CONTENT_LABEL).unwrap_or_default(),
        description: object.text(tags::CONTENT_DESCRIPTION).unwrap_or_default(),
    })
}

fn frame_uid(item: &Item) -> Option<String> {
    item.text(tags::FRAME_OF_REFERENCE_UID)
}
