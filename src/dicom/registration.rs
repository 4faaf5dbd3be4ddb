//! Spatial registration -> which frame of reference is taken into which, and how (PS3.3 C.20.2).

use super::DicomError;
use super::object::{Attributes, Item, open};
use dicom_dictionary_std::{tags, uids};
use glam::{DMat4, DVec4};
use std::path::Path;

/// A rigid registration of two frames of reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The frame positions are taken from, and the one they are taken to.
    pub source_frame_uid: String,
    pub registered_frame_uid: String,
    /// Takes `(x, y, z, 1)` of the source frame, mm, into the registered one.
    pub matrix: DMat4,
    pub label: String,
}

/// Reads a rigid registration.
///
/// # Errors
/// [`DicomError`]: another kind of object, one that registers no second frame, matrices that are missing or not rigid.
pub fn read_registration(path: &Path) -> Result<Registration, DicomError> {
    let object = open(path)?;
    let class = object.text(tags::SOP_CLASS_UID).unwrap_or_default();
    if class != uids::SPATIAL_REGISTRATION_STORAGE {
        let what = "it is no spatial registration; name a REG object".to_owned();
        return Err(DicomError::Unsupported { path: path.to_owned(), what });
    }
    let missing = |attribute| DicomError::Missing { path: path.to_owned(), attribute };
    let target = object.text(tags::FRAME_OF_REFERENCE_UID).ok_or_else(|| missing("FrameOfReferenceUID"))?;
    let items = object.items(tags::REGISTRATION_SEQUENCE);
    let frame = |item: &Item| item.text(tags::FRAME_OF_REFERENCE_UID).unwrap_or_default();
    let own = |item: &Item| matrix_of(item, path);
    // The item of the registered frame itself holds the identity, or another way into it.
    let moving = items.iter().find(|i| frame(i) != target).ok_or_else(|| DicomError::Unsupported {
        path: path.to_owned(),
        what: "it registers no second frame of reference".to_owned(),
    })?;
    Ok(Registration {
        source_frame_uid: frame(moving),
        registered_frame_uid: target,
        matrix: own(moving)?,
        label: object.text(tags::CONTENT_LABEL).unwrap_or_default(),
    })
}

/// The product of an item's matrices, the first applied first.
fn matrix_of(item: &Item, path: &Path) -> Result<DMat4, DicomError> {
    let mut product = DMat4::IDENTITY;
    let mut count = 0;
    for step in item.items(tags::MATRIX_REGISTRATION_SEQUENCE) {
        for matrix in step.items(tags::MATRIX_SEQUENCE) {
            let kind = matrix.text(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX_TYPE);
            if let Some(kind) = kind.filter(|k| k != "RIGID") {
                let what = format!("its matrix is {kind}; only rigid ones are read");
                return Err(DicomError::Unsupported { path: path.to_owned(), what });
            }
            let numbers = matrix.numbers(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX);
            let rows: [f64; 16] = numbers.try_into().map_err(|_| DicomError::Missing {
                path: path.to_owned(),
                attribute: "FrameOfReferenceTransformationMatrix of 16 numbers",
            })?;
            let matrix = DMat4::from_cols_array(&rows).transpose();
            if !matrix.is_finite() || (matrix.row(3) - DVec4::W).length() > 1e-6 {
                let what = "its matrix is no transformation".to_owned();
                return Err(DicomError::Contradiction { path: path.to_owned(), what });
            }
            product = matrix * product;
            count += 1;
        }
    }
    if count == 0 {
        let attribute = "FrameOfReferenceTransformationMatrix";
        return Err(DicomError::Missing { path: path.to_owned(), attribute });
    }
    Ok(product)
}
