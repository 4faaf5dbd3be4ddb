//! Contours outside the images.

use crate::common::synthetic::{Folder, contour, drawn, item, roi, set_items, slice, structures};
use beamsight::case::{Case, Remark, Severity};
use beamsight::dicom::{Choice, DicomError, load, scan};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;

fn open(folder: &Folder) -> Result<Case, DicomError> {
    load(&scan(&folder.0, &|_| true)?, Choice::default(), &|_| true)
}

fn said<'a>(remarks: &'a [Remark], words: &str) -> &'a Remark {
    remarks
        .iter()
        .find(|r| r.message.contains(words))
        .unwrap_or_else(|| panic!("'{words}' in {remarks:#?}"))
}

/// Three planes.
fn three() -> Folder {
    let folder = Folder::new("images");
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        folder.put(name, &slice(number, f64::from(number), 0));
    }
    folder
}

/// A structure drawn inside the images of `three`, whose pixels are at x -10 to -7, y -20 to -17.5, z 1 to 3.
fn inside(z: f64) -> InMemDicomObject {
    contour(
        "CLOSED_PLANAR",
        &[-10., -20., z, -7., -20., z, -7., -18., z, -10., -18., z],
    )
}

fn on_image(mut contour: InMemDicomObject, uid: &str) -> InMemDicomObject {
    let image = item(&[(tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid)]);
    set_items(&mut contour, tags::CONTOUR_IMAGE_SEQUENCE, vec![image]);
    contour
}

#[test]
fn contours_that_do_not_lie_on_the_images_are_told() {
    let folder = three();
    let mut sound = structures();
    set_items(
        &mut sound,
        tags::ROI_CONTOUR_SEQUENCE,
        vec![drawn("7", vec![on_image(inside(2.0), "1.2.3.300.2")])],
    );
    folder.put("rs", &sound);
    assert_eq!(open(&folder).unwrap().remarks, []);

    let mut odd = sound.clone();
    set_items(
        &mut odd,
        tags::STRUCTURE_SET_ROI_SEQUENCE,
        vec![roi("7", "Heart"), roi("8", "Liver")],
    );
    let far = contour(
        "CLOSED_PLANAR",
        &[90., -20., 2., 99., -20., 2., 99., -18., 2.],
    );
    let heart = vec![inside(2.0), inside(1.4), on_image(inside(3.0), "1.2.3.999")];
    let liver = vec![far, inside(40.0), on_image(inside(3.0), "1.2.3.300.1")];
    set_items(
        &mut odd,
        tags::ROI_CONTOUR_SEQUENCE,
        vec![drawn("7", heart), drawn("8", liver)],
    );
    folder.put("rs", &odd);
    let case = open(&folder).unwrap();
    for (words, severity) in [
        (
            "2 contour(s) lie wholly or partly outside the CT, and count inside it only: Liver",
            Severity::Warning,
        ),
        (
            "1 contour(s) lie between the planes of the CT, up to 0.40 mm off, and are shared out over them: Heart",
            Severity::Note,
        ),
        (
            "1 contour(s) name images that are not of this CT (ContourImageSequence)",
            Severity::Warning,
        ),
        (
            "1 contour(s) lie up to 2.00 mm from the images that they name",
            Severity::Warning,
        ),
    ] {
        assert_eq!(said(&case.remarks, words).severity, severity);
    }
    assert_eq!(case.remarks.len(), 4, "{:#?}", case.remarks);
}
