//! Small DICOM objects made on the spot, one deviation at a time.

use dicom_core::{DataElement, PrimitiveValue, Tag, VR, value::DataSetSequence};
use dicom_dictionary_std::{tags, uids};
use dicom_object::{FileMetaTableBuilder, InMemDicomObject};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own that goes away with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(own);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes an object in explicit VR little endian.
    pub fn put(&self, name: &str, object: &InMemDicomObject) -> PathBuf {
        self.put_as(name, object, uids::EXPLICIT_VR_LITTLE_ENDIAN)
    }

    pub fn put_as(&self, name: &str, object: &InMemDicomObject, syntax: &str) -> PathBuf {
        let path = self.0.join(name);
        let meta = FileMetaTableBuilder::new().transfer_syntax(syntax);
        object.clone().with_meta(meta).unwrap().write_to_file(&path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn set(object: &mut InMemDicomObject, tag: Tag, vr: VR, text: &str) {
    object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
}

pub fn set_u16(object: &mut InMemDicomObject, tag: Tag, value: u16) {
    object.put(DataElement::new(tag, VR::US, PrimitiveValue::from(value)));
}

pub fn set_items(object: &mut InMemDicomObject, tag: Tag, items: Vec<InMemDicomObject>) {
    object.put(DataElement::new(tag, VR::SQ, DataSetSequence::from(items)));
}

pub fn set_words(object: &mut InMemDicomObject, words: &[u16]) {
    object.put(DataElement::new(tags::PIXEL_DATA, VR::OW, PrimitiveValue::U16(words.into())));
}

pub fn numbers(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join("\\")
}

pub const FRAME: &str = "1.2.3.100";
pub const SERIES: &str = "1.2.3.200";

/// What every object has.
pub fn object(class: &str, modality: &str, uid: &str) -> InMemDicomObject {
    let mut o = InMemDicomObject::new_empty();
    set(&mut o, tags::SOP_CLASS_UID, VR::UI, class);
    set(&mut o, tags::SOP_INSTANCE_UID, VR::UI, uid);
    set(&mut o, tags::MODALITY, VR::CS, modality);
    set(&mut o, tags::PATIENT_NAME, VR::PN, "Test^One");
    set(&mut o, tags::PATIENT_ID, VR::LO, "T1");
    set(&mut o, tags::STUDY_INSTANCE_UID, VR::UI, "1.2.3.1");
    set(&mut o, tags::FRAME_OF_REFERENCE_UID, VR::UI, FRAME);
    o
}

/// A transverse CT slice of 3 columns and 2 rows at `z`: pixel `p` (0 to 5, row by row) holds `1000 + base + p`
/// with intercept -1000, so `base + p` HU.
pub fn slice(number: u32, z: f64, base: u16) -> InMemDicomObject {
    let mut o = object(uids::CT_IMAGE_STORAGE, "CT", &format!("1.2.3.300.{number}"));
    set(&mut o, tags::SERIES_INSTANCE_UID, VR::UI, SERIES);
    set(&mut o, tags::INSTANCE_NUMBER, VR::IS, &number.to_string());
    set(&mut o, tags::PATIENT_POSITION, VR::CS, "HFS");
    set(&mut o, tags::IMAGE_POSITION_PATIENT, VR::DS, &numbers(&[-10.0, -20.0, z]));
    set(&mut o, tags::IMAGE_ORIENTATION_PATIENT, VR::DS, "1\\0\\0\\0\\1\\0");
    set(&mut o, tags::PIXEL_SPACING, VR::DS, "2.5\\1.5");
    set_u16(&mut o, tags::SAMPLES_PER_PIXEL, 1);
    set(&mut o, tags::PHOTOMETRIC_INTERPRETATION, VR::CS, "MONOCHROME2");
    set_u16(&mut o, tags::ROWS, 2);
    set_u16(&mut o, tags::COLUMNS, 3);
    set_u16(&mut o, tags::BITS_ALLOCATED, 16);
    set_u16(&mut o, tags::BITS_STORED, 16);
    set_u16(&mut o, tags::HIGH_BIT, 15);
    set_u16(&mut o, tags::PIXEL_REPRESENTATION, 0);
    set(&mut o, tags::RESCALE_SLOPE, VR::DS, "1");
    set(&mut o, tags::RESCALE_INTERCEPT, VR::DS, "-1000");
    set_words(&mut o, &words(base));
    o
}

/// The six pixels of [`slice`].
pub fn words(base: u16) -> [u16; 6] {
    std::array::from_fn(|p| 1000 + base + p as u16)
}

/// A structure set with one square on the plane z = 0, on the images of [`slice`].
pub fn structures() -> InMemDicomObject {
    let mut o = object(uids::RT_STRUCTURE_SET_STORAGE, "RTSTRUCT", "1.2.3.400");
    o.remove_element(tags::FRAME_OF_REFERENCE_UID);
    set(&mut o, tags::STRUCTURE_SET_LABEL, VR::SH, "SET");
    let mut series = InMemDicomObject::new_empty();
    set(&mut series, tags::SERIES_INSTANCE_UID, VR::UI, SERIES);
    let mut study = InMemDicomObject::new_empty();
    set_items(&mut study, tags::RT_REFERENCED_SERIES_SEQUENCE, vec![series]);
    let mut frame = InMemDicomObject::new_empty();
    set(&mut frame, tags::FRAME_OF_REFERENCE_UID, VR::UI, FRAME);
    set_items(&mut frame, tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    set_items(&mut o, tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE, vec![frame]);
    set_items(&mut o, tags::STRUCTURE_SET_ROI_SEQUENCE, vec![roi("7", "Heart")]);
    let square = contour("CLOSED_PLANAR", &[0., 0., 0., 9., 0., 0., 9., 9., 0., 0., 9., 0.]);
    set_items(&mut o, tags::ROI_CONTOUR_SEQUENCE, vec![drawn("7", vec![square])]);
    o
}

pub fn roi(number: &str, name: &str) -> InMemDicomObject {
    let mut item = InMemDicomObject::new_empty();
    set(&mut item, tags::ROI_NUMBER, VR::IS, number);
    set(&mut item, tags::ROI_NAME, VR::LO, name);
    item
}

pub fn drawn(number: &str, contours: Vec<InMemDicomObject>) -> InMemDicomObject {
    let mut item = InMemDicomObject::new_empty();
    set(&mut item, tags::REFERENCED_ROI_NUMBER, VR::IS, number);
    set(&mut item, tags::ROI_DISPLAY_COLOR, VR::IS, "10\\20\\300");
    set_items(&mut item, tags::CONTOUR_SEQUENCE, contours);
    item
}

pub fn contour(form: &str, values: &[f64]) -> InMemDicomObject {
    let mut item = InMemDicomObject::new_empty();
    set(&mut item, tags::CONTOUR_GEOMETRIC_TYPE, VR::CS, form);
    set(&mut item, tags::NUMBER_OF_CONTOUR_POINTS, VR::IS, &(values.len() / 3).to_string());
    set(&mut item, tags::CONTOUR_DATA, VR::DS, &numbers(values));
    item
}
