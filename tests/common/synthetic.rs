//! Small synthetic DICOM objects, with one deviation at a time.
#![allow(dead_code, reason = "each test file uses a part")]

use dicom_core::{DataElement, PrimitiveValue, Tag, VR, value::DataSetSequence};
use dicom_dictionary_std::{tags, uids};
use dicom_object::{FileMetaTableBuilder, InMemDicomObject};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own that is removed with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!(
            "{name}-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
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
        object
            .clone()
            .with_meta(meta)
            .unwrap()
            .write_to_file(&path)
            .unwrap();
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
    object.put(DataElement::new(
        tags::PIXEL_DATA,
        VR::OW,
        PrimitiveValue::U16(words.into()),
    ));
}

pub fn numbers(values: &[f64]) -> String {
    values
        .iter()
        .map(f64::to_string)
        .collect::<Vec<_>>()
        .join("\\")
}

pub const FRAME: &str = "1.2.3.100";
pub const SERIES: &str = "1.2.3.200";

/// The attributes of every object.
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
    set(
        &mut o,
        tags::IMAGE_POSITION_PATIENT,
        VR::DS,
        &numbers(&[-10.0, -20.0, z]),
    );
    set(
        &mut o,
        tags::IMAGE_ORIENTATION_PATIENT,
        VR::DS,
        "1\\0\\0\\0\\1\\0",
    );
    set(&mut o, tags::PIXEL_SPACING, VR::DS, "2.5\\1.5");
    set_u16(&mut o, tags::SAMPLES_PER_PIXEL, 1);
    set(
        &mut o,
        tags::PHOTOMETRIC_INTERPRETATION,
        VR::CS,
        "MONOCHROME2",
    );
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
    set_items(
        &mut study,
        tags::RT_REFERENCED_SERIES_SEQUENCE,
        vec![series],
    );
    let mut frame = InMemDicomObject::new_empty();
    set(&mut frame, tags::FRAME_OF_REFERENCE_UID, VR::UI, FRAME);
    set_items(&mut frame, tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    set_items(
        &mut o,
        tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE,
        vec![frame],
    );
    set_items(
        &mut o,
        tags::STRUCTURE_SET_ROI_SEQUENCE,
        vec![roi("7", "Heart")],
    );
    let square = contour(
        "CLOSED_PLANAR",
        &[0., 0., 0., 9., 0., 0., 9., 9., 0., 0., 9., 0.],
    );
    set_items(
        &mut o,
        tags::ROI_CONTOUR_SEQUENCE,
        vec![drawn("7", vec![square])],
    );
    o
}

/// References the images of a structure set.
pub fn refer_to_images(structures: &mut InMemDicomObject, images: Vec<InMemDicomObject>) {
    let mut series = InMemDicomObject::new_empty();
    set(&mut series, tags::SERIES_INSTANCE_UID, VR::UI, SERIES);
    set_items(&mut series, tags::CONTOUR_IMAGE_SEQUENCE, images);
    let mut study = InMemDicomObject::new_empty();
    set_items(
        &mut study,
        tags::RT_REFERENCED_SERIES_SEQUENCE,
        vec![series],
    );
    let mut frame = InMemDicomObject::new_empty();
    set(&mut frame, tags::FRAME_OF_REFERENCE_UID, VR::UI, FRAME);
    set_items(&mut frame, tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    set_items(
        structures,
        tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE,
        vec![frame],
    );
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
    set(
        &mut item,
        tags::NUMBER_OF_CONTOUR_POINTS,
        VR::IS,
        &(values.len() / 3).to_string(),
    );
    set(&mut item, tags::CONTOUR_DATA, VR::DS, &numbers(values));
    item
}

pub fn item(values: &[(Tag, VR, &str)]) -> InMemDicomObject {
    let mut item = InMemDicomObject::new_empty();
    for &(tag, vr, text) in values {
        match (vr, text.parse::<f32>()) {
            (VR::FL, Ok(number)) => {
                item.put(DataElement::new(tag, vr, PrimitiveValue::from(number)))
            }
            _ => item.put(DataElement::new(tag, vr, PrimitiveValue::from(text))),
        };
    }
    item
}

pub fn device(kind: &str, values: &[f64]) -> InMemDicomObject {
    item(&[
        (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind),
        (tags::LEAF_JAW_POSITIONS, VR::DS, &numbers(values)),
    ])
}

pub fn control_point(
    values: &[(Tag, VR, &str)],
    devices: Vec<InMemDicomObject>,
) -> InMemDicomObject {
    let mut point = item(values);
    if !devices.is_empty() {
        set_items(
            &mut point,
            tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE,
            devices,
        );
    }
    point
}

/// A beam of two leaf pairs in which the gantry turns and the leaves move; its jaws are given once.
pub fn arc() -> InMemDicomObject {
    let mut beam = item(&[
        (tags::BEAM_NUMBER, VR::IS, "3"),
        (tags::BEAM_NAME, VR::LO, "Arc"),
        (tags::RADIATION_TYPE, VR::CS, "PHOTON"),
        (tags::TREATMENT_DELIVERY_TYPE, VR::CS, "TREATMENT"),
        (tags::TREATMENT_MACHINE_NAME, VR::SH, "LINAC7"),
        (tags::PRIMARY_DOSIMETER_UNIT, VR::CS, "MU"),
        (tags::SOURCE_AXIS_DISTANCE, VR::DS, "1000"),
        (tags::FINAL_CUMULATIVE_METERSET_WEIGHT, VR::DS, "4"),
    ]);
    let mlc = item(&[
        (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, "MLCX"),
        (tags::LEAF_POSITION_BOUNDARIES, VR::DS, "-10\\0\\10"),
    ]);
    let jaw = |kind| item(&[(tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind)]);
    set_items(
        &mut beam,
        tags::BEAM_LIMITING_DEVICE_SEQUENCE,
        vec![jaw("ASYMX"), jaw("Y"), mlc],
    );
    let first = control_point(
        &[
            (tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, "0"),
            (tags::NOMINAL_BEAM_ENERGY, VR::DS, "10"),
            (tags::GANTRY_ANGLE, VR::DS, "350"),
            (tags::BEAM_LIMITING_DEVICE_ANGLE, VR::DS, "15"),
            (tags::PATIENT_SUPPORT_ANGLE, VR::DS, "5"),
            (tags::ISOCENTER_POSITION, VR::DS, "1\\2\\3"),
        ],
        vec![
            device("ASYMX", &[-40.0, 30.0]),
            device("Y", &[-9.0, 8.0]),
            device("MLCX", &[-1.0, -2.0, 3.0, 4.0]),
        ],
    );
    let second = control_point(
        &[
            (tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, "1"),
            (tags::GANTRY_ANGLE, VR::DS, "355"),
        ],
        vec![device("MLCX", &[-5.0, -6.0, 7.0, 8.0])],
    );
    let third = control_point(
        &[
            (tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, "4"),
            (tags::GANTRY_ANGLE, VR::DS, "0"),
        ],
        vec![],
    );
    set_items(
        &mut beam,
        tags::CONTROL_POINT_SEQUENCE,
        vec![first, second, third],
    );
    beam
}

/// A beam without MLC with two equal control points.
pub fn fixed(number: &str, extra: &[(Tag, VR, &str)]) -> InMemDicomObject {
    let mut beam = item(&[
        (tags::BEAM_NUMBER, VR::IS, number),
        (tags::BEAM_NAME, VR::LO, &format!("Fixed {number}")),
        (tags::RADIATION_TYPE, VR::CS, "PHOTON"),
        (tags::FINAL_CUMULATIVE_METERSET_WEIGHT, VR::DS, "1"),
    ]);
    let point = |weight: &str| {
        let mut values = vec![
            (tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, weight),
            (tags::NOMINAL_BEAM_ENERGY, VR::DS, "6"),
            (tags::GANTRY_ANGLE, VR::DS, "90"),
            (tags::BEAM_LIMITING_DEVICE_ANGLE, VR::DS, "0"),
            (tags::PATIENT_SUPPORT_ANGLE, VR::DS, "0"),
            (tags::ISOCENTER_POSITION, VR::DS, "1\\2\\3"),
        ];
        values.extend(
            extra
                .iter()
                .filter(|(tag, ..)| tag.group() == 0x300a && tag.element() >= 0x0100),
        );
        control_point(
            &values,
            vec![
                device("ASYMX", &[-40.0, 30.0]),
                device("ASYMY", &[-20.0, 10.0]),
            ],
        )
    };
    let jaw = |kind| item(&[(tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind)]);
    set_items(
        &mut beam,
        tags::BEAM_LIMITING_DEVICE_SEQUENCE,
        vec![jaw("ASYMX"), jaw("ASYMY")],
    );
    set_items(
        &mut beam,
        tags::CONTROL_POINT_SEQUENCE,
        vec![point("0"), point("1")],
    );
    for (tag, vr, text) in extra.iter().filter(|(tag, ..)| tag.element() < 0x0100) {
        set(&mut beam, *tag, *vr, text);
    }
    beam
}

pub fn plan(beams: Vec<InMemDicomObject>) -> InMemDicomObject {
    let mut o = object(uids::RT_PLAN_STORAGE, "RTPLAN", "1.2.3.500");
    set(&mut o, tags::RT_PLAN_LABEL, VR::SH, "PLAN");
    let mut group = item(&[(tags::NUMBER_OF_FRACTIONS_PLANNED, VR::IS, "25.0")]);
    let meterset = |b: &InMemDicomObject| {
        let number = b
            .get(tags::BEAM_NUMBER)
            .unwrap()
            .to_str()
            .unwrap()
            .into_owned();
        item(&[
            (tags::REFERENCED_BEAM_NUMBER, VR::IS, &number),
            (tags::BEAM_METERSET, VR::DS, "123.5"),
        ])
    };
    set_items(
        &mut group,
        tags::REFERENCED_BEAM_SEQUENCE,
        beams.iter().map(meterset).collect(),
    );
    set_items(&mut o, tags::FRACTION_GROUP_SEQUENCE, vec![group]);
    let target = |gy| {
        item(&[
            (tags::DOSE_REFERENCE_TYPE, VR::CS, "TARGET"),
            (tags::TARGET_PRESCRIPTION_DOSE, VR::DS, gy),
        ])
    };
    set_items(
        &mut o,
        tags::DOSE_REFERENCE_SEQUENCE,
        vec![target("50"), target("50"), item(&[])],
    );
    set_items(
        &mut o,
        tags::PATIENT_SETUP_SEQUENCE,
        vec![item(&[(tags::PATIENT_POSITION, VR::CS, "HFS")])],
    );
    set_items(&mut o, tags::BEAM_SEQUENCE, beams);
    o
}

/// A dose of 3 x 2 x `planes.len()` voxels; frame `f` holds `100 f + p` in units of 0.01 Gy.
pub fn dose(bits: u16, planes: &[f64]) -> InMemDicomObject {
    let mut o = object(uids::RT_DOSE_STORAGE, "RTDOSE", "1.2.3.600");
    set(&mut o, tags::DOSE_UNITS, VR::CS, "GY");
    set(&mut o, tags::DOSE_TYPE, VR::CS, "PHYSICAL");
    set(&mut o, tags::DOSE_SUMMATION_TYPE, VR::CS, "PLAN");
    set(&mut o, tags::DOSE_GRID_SCALING, VR::DS, "0.01");
    set(
        &mut o,
        tags::NUMBER_OF_FRAMES,
        VR::IS,
        &planes.len().to_string(),
    );
    set(
        &mut o,
        tags::GRID_FRAME_OFFSET_VECTOR,
        VR::DS,
        &numbers(planes),
    );
    set(&mut o, tags::IMAGE_POSITION_PATIENT, VR::DS, "-10\\-20\\5");
    set(
        &mut o,
        tags::IMAGE_ORIENTATION_PATIENT,
        VR::DS,
        "1\\0\\0\\0\\1\\0",
    );
    set(&mut o, tags::PIXEL_SPACING, VR::DS, "2.5\\1.5");
    set_u16(&mut o, tags::SAMPLES_PER_PIXEL, 1);
    set_u16(&mut o, tags::ROWS, 2);
    set_u16(&mut o, tags::COLUMNS, 3);
    set_u16(&mut o, tags::BITS_ALLOCATED, bits);
    set_u16(&mut o, tags::BITS_STORED, bits);
    set_u16(&mut o, tags::HIGH_BIT, bits - 1);
    set_u16(&mut o, tags::PIXEL_REPRESENTATION, 0);
    let values = (0..planes.len() as u32).flat_map(|f| (0..6).map(move |p| 100 * f + p));
    let words: Vec<u16> = match bits {
        16 => values.map(|v| v as u16).collect(),
        // Low word first; the high word is not zero.
        _ => values.flat_map(|v| [v as u16, 1]).collect(),
    };
    set_words(&mut o, &words);
    o
}
