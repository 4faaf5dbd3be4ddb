//! A spatial registration read by the items of PS3.3 C.20.2, without our types, as another program does.

use beamsight::dicom::Registration;
use dicom_dictionary_std::tags;
use dicom_object::{InMemDicomObject, Tag};
use glam::DMat4;
use std::path::Path;

fn text(object: &InMemDicomObject, tag: Tag) -> String {
    let value = object
        .element(tag)
        .expect("the attribute")
        .to_str()
        .expect("text");
    value.trim_end_matches(['\0', ' ']).to_owned()
}

fn items(object: &InMemDicomObject, tag: Tag) -> Vec<InMemDicomObject> {
    object
        .element(tag)
        .expect("the sequence")
        .items()
        .expect("items")
        .to_vec()
}

/// The two frames of reference, and the one matrix of the frame that is mapped into the other.
pub fn read_registration(path: &Path) -> Registration {
    let object = dicom_object::open_file(path)
        .expect("a DICOM file")
        .into_inner();
    let registered_frame_uid = text(&object, tags::FRAME_OF_REFERENCE_UID);
    let frames = items(&object, tags::REGISTRATION_SEQUENCE);
    let uid = |frame: &InMemDicomObject| text(frame, tags::FRAME_OF_REFERENCE_UID);
    let moving = frames
        .iter()
        .find(|frame| uid(frame) != registered_frame_uid)
        .expect("a second frame");
    let steps = items(moving, tags::MATRIX_REGISTRATION_SEQUENCE);
    let matrices: Vec<_> = steps
        .iter()
        .flat_map(|step| items(step, tags::MATRIX_SEQUENCE))
        .collect();
    let [matrix] = &matrices[..] else {
        panic!("{} matrices", matrices.len())
    };
    assert_eq!(
        text(matrix, tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX_TYPE),
        "RIGID"
    );
    let rows = matrix
        .element(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX)
        .expect("a matrix");
    let rows: [f64; 16] = rows
        .to_multi_float64()
        .expect("numbers")
        .try_into()
        .expect("4 x 4");
    Registration {
        source_frame_uid: uid(moving),
        registered_frame_uid,
        matrix: DMat4::from_cols_array(&rows).transpose(),
        label: text(&object, tags::CONTENT_LABEL),
        // Of type 2: other programs leave it out.
        description: object
            .get(tags::CONTENT_DESCRIPTION)
            .map(|_| text(&object, tags::CONTENT_DESCRIPTION))
            .unwrap_or_default(),
    }
}
