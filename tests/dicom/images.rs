//! Images that are no slices, impossible HU, and contours outside the images.

use crate::common::synthetic::{Folder, contour, drawn, item, roi, set, set_items, slice, structures};
use beamsight::case::{Case, Ct, Remark, Severity};
use beamsight::dicom::{Choice, DicomError, load, scan};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;
use std::sync::Arc;

fn open(folder: &Folder) -> Result<Case, DicomError> {
    load(&scan(&folder.0, &|_| true)?, Choice::default(), &|_| true)
}

fn ct(folder: &Folder) -> Arc<Ct> {
    open(folder).unwrap().ct.unwrap()
}

fn said<'a>(remarks: &'a [Remark], words: &str) -> &'a Remark {
    remarks.iter().find(|r| r.message.contains(words)).unwrap_or_else(|| panic!("'{words}' in {remarks:#?}"))
}

/// Three planes, the middle one changed.
fn three(change: impl Fn(&mut InMemDicomObject)) -> Folder {
    let folder = Folder::new("images");
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        let mut image = slice(number, f64::from(number), 0);
        if name == "b" {
            change(&mut image);
        }
        folder.put(name, &image);
    }
    folder
}

#[test]
fn a_rescale_that_makes_no_hu_is_refused() {
    for (tag, text, words) in [
        (tags::RESCALE_SLOPE, "1e300", "RescaleSlope of 1"),
        (tags::RESCALE_SLOPE, "3e36", "RescaleSlope of 3"),
        (tags::RESCALE_SLOPE, "1,5", "'1,5', which has a decimal comma"),
        (tags::RESCALE_SLOPE, "inf", "its RescaleSlope is 'inf'"),
        (tags::RESCALE_INTERCEPT, "-1000,0", "decimal comma"),
        (tags::RESCALE_INTERCEPT, "-1e39", "RescaleIntercept of -1"),
    ] {
        let folder = three(|image| set(image, tag, VR::DS, text));
        let error = open(&folder).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("/b"), "'{words}' in '{error}'");
    }
}

#[test]
fn hu_that_16_bits_do_not_hold_are_remarked_on() {
    let folder = three(|image| set(image, tags::RESCALE_SLOPE, VR::DS, "40"));
    let ct = ct(&folder);
    let remark = said(&ct.remarks, "more than 16 bits hold");
    assert_eq!((remark.severity, &remark.files[..]), (Severity::Warning, &["b".to_owned()][..]));
    assert!(remark.message.contains("39200"), "{}", remark.message);
}

#[test]
fn localizers_and_projections_are_left_out_by_name() {
    for (kind, words) in [
        ("ORIGINAL\\PRIMARY\\LOCALIZER", "localizers"),
        ("DERIVED\\SECONDARY\\AXIAL\\CSA MIP", "projections"),
        ("DERIVED\\SECONDARY\\PROJECTION IMAGE", "projections"),
    ] {
        let folder = three(|image| set(image, tags::IMAGE_TYPE, VR::CS, kind));
        let shown = ct(&folder);
        assert_eq!(shown.hu.grid().size()[2], 2, "{kind}");
        assert_eq!(said(&shown.remarks, words).files, ["b"], "{kind}");
    }
    // Reformatted and averaged images are slices.
    for kind in ["ORIGINAL\\PRIMARY\\AXIAL", "DERIVED\\SECONDARY\\MPR", "DERIVED\\SECONDARY\\AXIAL\\AVERAGE"]
    {
        let shown = ct(&three(|image| set(image, tags::IMAGE_TYPE, VR::CS, kind)));
        assert_eq!((shown.hu.grid().size()[2], &shown.remarks[..]), (3, &[][..]), "{kind}");
    }
}

#[test]
fn a_series_of_localizers_is_not_taken_for_the_patient() {
    let folder = Folder::new("localizers");
    let localizer = |number: u32| {
        let mut image = slice(10 + number, 50.0 + f64::from(number), 0);
        set(&mut image, tags::SERIES_INSTANCE_UID, VR::UI, "1.2.3.201");
        set(&mut image, tags::IMAGE_TYPE, VR::CS, "ORIGINAL\\PRIMARY\\LOCALIZER");
        image
    };
    (0..4).for_each(|n| drop(folder.put(&format!("loc{n}"), &localizer(n))));
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.contains("localizers"), "{error}");
    folder.put("one", &slice(1, 0.0, 0));
    assert_eq!(ct(&folder).hu.grid().size()[2], 1, "the one slice, not the four localizers");
}

#[test]
fn a_leaning_gantry_with_upright_planes_is_warned_of_by_file() {
    let folder = three(|image| set(image, tags::GANTRY_DETECTOR_TILT, VR::DS, "-15.5"));
    let ct = ct(&folder);
    let remark = said(&ct.remarks, "GantryDetectorTilt is -15.5 degrees");
    assert_eq!((remark.severity, &remark.files[..]), (Severity::Warning, &["b".to_owned()][..]));
    let upright = three(|image| set(image, tags::GANTRY_DETECTOR_TILT, VR::DS, "0.0"));
    assert_eq!(self::ct(&upright).remarks, []);
}

/// A structure drawn inside the images of `three`, whose pixels are at x -10 to -7, y -20 to -17.5, z 1 to 3.
fn inside(z: f64) -> InMemDicomObject {
    contour("CLOSED_PLANAR", &[-10., -20., z, -7., -20., z, -7., -18., z, -10., -18., z])
}

fn on_image(mut contour: InMemDicomObject, uid: &str) -> InMemDicomObject {
    let image = item(&[(tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid)]);
    set_items(&mut contour, tags::CONTOUR_IMAGE_SEQUENCE, vec![image]);
    contour
}

#[test]
fn contours_that_do_not_lie_on_the_images_are_told() {
    let folder = three(|_| {});
    let mut sound = structures();
    set_items(
        &mut sound,
        tags::ROI_CONTOUR_SEQUENCE,
        vec![drawn("7", vec![on_image(inside(2.0), "1.2.3.300.2")])],
    );
    folder.put("rs", &sound);
    assert_eq!(open(&folder).unwrap().remarks, []);

    let mut odd = sound.clone();
    set_items(&mut odd, tags::STRUCTURE_SET_ROI_SEQUENCE, vec![roi("7", "Heart"), roi("8", "Liver")]);
    let far = contour("CLOSED_PLANAR", &[90., -20., 2., 99., -20., 2., 99., -18., 2.]);
    let heart = vec![inside(2.0), inside(1.4), on_image(inside(3.0), "1.2.3.999")];
    let liver = vec![far, inside(40.0), on_image(inside(3.0), "1.2.3.300.1")];
    set_items(&mut odd, tags::ROI_CONTOUR_SEQUENCE, vec![drawn("7", heart), drawn("8", liver)]);
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
        ("1 contour(s) name images that are not of this CT (ContourImageSequence)", Severity::Warning),
        ("1 contour(s) lie up to 2.00 mm from the images that they name", Severity::Warning),
    ] {
        assert_eq!(said(&case.remarks, words).severity, severity);
    }
    assert_eq!(case.remarks.len(), 4, "{:#?}", case.remarks);
}
