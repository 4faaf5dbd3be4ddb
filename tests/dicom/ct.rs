//! CT series as hospitals send them: each test makes its own files.

use crate::common::synthetic::{
    Folder, SERIES, numbers, object, set, set_u16, set_words, slice, structures, words,
};
use beamsight::case::{Case, Ct, Remark, Severity};
use beamsight::dicom::{Catalogue, Choice, DicomError, load, scan};
use beamsight::files::session;
use beamsight::geometry::PatientPosition;
use beamsight::open::{CaseWord, OpenOptions};
use dicom_core::value::{PixelFragmentSequence, Value};
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use glam::DVec3;
use std::sync::Arc;

fn catalogue(folder: &Folder) -> Catalogue {
    scan(&folder.0, &|_| true).unwrap()
}

fn open(folder: &Folder) -> Result<Case, DicomError> {
    load(&catalogue(folder), Choice::default(), &|_| true)
}

fn ct(folder: &Folder) -> Arc<Ct> {
    open(folder).unwrap().ct.unwrap()
}

/// HU of the first pixel of each plane.
fn bases(ct: &Ct) -> Vec<f32> {
    (0..ct.hu.grid().size()[2])
        .map(|k| ct.hu.plane(k)[0])
        .collect()
}

fn said<'a>(remarks: &'a [Remark], words: &str) -> &'a Remark {
    remarks
        .iter()
        .find(|r| r.message.contains(words))
        .unwrap_or_else(|| panic!("'{words}' in {remarks:#?}"))
}

/// The error's message, which must name the file.
fn names(error: DicomError, file: &str) -> String {
    let words = error.to_string();
    assert!(words.contains(file), "'{file}' in '{words}'");
    words
}

#[test]
fn planes_stand_where_their_files_put_them() {
    let folder = Folder::new("order");
    // Neither file names nor instance numbers are in the order of the positions, and the planes are uneven.
    for (name, number, z, base) in [
        ("a", 4, 5.0, 20),
        ("b", 1, 5.5, 30),
        ("c", 2, -1.0, 0),
        ("d", 3, 1.0, 10),
    ] {
        let mut o = slice(number, z, base);
        // Another rescale: 0.5 x (stored) + an intercept that gives the same HU.
        if name == "b" {
            set(&mut o, tags::RESCALE_SLOPE, VR::DS, "0.25");
            set(&mut o, tags::RESCALE_INTERCEPT, VR::DS, "-227.5");
        }
        folder.put(name, &o);
    }
    let ct = ct(&folder);
    let grid = ct.hu.grid();
    assert_eq!(grid.size(), [3, 2, 4]);
    assert_eq!(
        grid.spacing_xy_mm(),
        [1.5, 2.5],
        "columns are 1.5 mm apart, rows 2.5 mm"
    );
    assert_eq!(grid.origin_mm(), DVec3::new(-10.0, -20.0, -1.0));
    assert_eq!(grid.planes_mm(), [0.0, 2.0, 6.0, 6.5]);
    assert_eq!(ct.hu.plane(1), [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
    assert_eq!(ct.hu.plane(3), [30.0, 30.25, 30.5, 30.75, 31.0, 31.25]);
    assert_eq!(
        ct.plane_uids,
        ["1.2.3.300.2", "1.2.3.300.3", "1.2.3.300.4", "1.2.3.300.1"]
    );
    assert_eq!(ct.position, PatientPosition::Hfs);
    let uneven = said(&ct.remarks, "uneven: 0.50 to 4.00 mm");
    assert_eq!(uneven.severity, Severity::Note);
}

#[test]
fn every_transfer_syntax_gives_the_same_values() {
    for syntax in [
        uids::EXPLICIT_VR_LITTLE_ENDIAN,
        uids::IMPLICIT_VR_LITTLE_ENDIAN,
        "1.2.840.10008.1.2.2",
        uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
    ] {
        let folder = Folder::new("syntax");
        folder.put_as("a", &slice(1, 0.0, 7), syntax);
        assert_eq!(
            ct(&folder).hu.data(),
            [7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
            "{syntax}"
        );
    }
}

#[test]
fn compressed_pixels_are_decoded() {
    for (syntax, bytes) in [
        (uids::RLE_LOSSLESS, rle(&words(7))),
        (uids::JPEG_LOSSLESS_SV1, jpeg_lossless(3, 2, &words(7))),
    ] {
        let folder = Folder::new("compressed");
        let mut o = slice(1, 0.0, 0);
        let fragments = PixelFragmentSequence::new_fragments(vec![bytes]);
        o.put(DataElement::new(
            tags::PIXEL_DATA,
            VR::OB,
            Value::PixelSequence(fragments),
        ));
        folder.put_as("a", &o, syntax);
        assert_eq!(
            ct(&folder).hu.data(),
            [7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
            "{syntax}"
        );
    }
}

/// JPEG-LS has no decoder here: the message names the compression, the file and the remedy.
#[test]
fn jpeg_ls_is_refused_in_words() {
    for syntax in [uids::JPEGLS_LOSSLESS, uids::JPEGLS_NEAR_LOSSLESS] {
        let folder = Folder::new("jpegls");
        let mut o = slice(1, 0.0, 0);
        let fragments =
            PixelFragmentSequence::new_fragments(vec![vec![0xff, 0xd8, 0xff, 0xf7, 0xff, 0xd9]]);
        o.put(DataElement::new(
            tags::PIXEL_DATA,
            VR::OB,
            Value::PixelSequence(fragments),
        ));
        folder.put_as("ls.dcm", &o, syntax);
        let words = names(open(&folder).unwrap_err(), "ls.dcm");
        assert!(
            words.contains("JPEG-LS") && words.contains("export it uncompressed"),
            "{words}"
        );
    }
}

/// RLE (PS3.5 annex G): high bytes, then low bytes, each as one literal run.
fn rle(words: &[u16]) -> Vec<u8> {
    let run = |byte: fn(u16) -> u8| -> Vec<u8> {
        let mut segment = vec![words.len() as u8 - 1];
        segment.extend(words.iter().map(|&w| byte(w)));
        segment.resize(segment.len().next_multiple_of(2), 0);
        segment
    };
    let (high, low) = (run(|w| (w >> 8) as u8), run(|w| w as u8));
    let mut header = [0u32; 16];
    header[..3].copy_from_slice(&[2, 64, 64 + high.len() as u32]);
    let mut bytes: Vec<u8> = header.iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes.extend(high);
    bytes.extend(low);
    bytes
}

/// JPEG lossless, process 14, predictor 1 (ITU-T T.81, annex H), all categories with codes of five bits.
fn jpeg_lossless(columns: u16, rows: u16, words: &[u16]) -> Vec<u8> {
    let [ch, cl] = columns.to_be_bytes();
    let [rh, rl] = rows.to_be_bytes();
    let mut bytes = vec![
        0xff, 0xd8, 0xff, 0xc3, 0, 11, 16, rh, rl, ch, cl, 1, 1, 0x11, 0,
    ];
    bytes.extend([0xff, 0xc4, 0, 2 + 1 + 16 + 17, 0]);
    bytes.extend([0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(0..17u8);
    bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 1, 0, 0]);
    let mut bits = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        let left = match (at % usize::from(columns), at / usize::from(columns)) {
            (0, 0) => 1 << 15,
            (0, _) => i32::from(words[at - usize::from(columns)]),
            _ => i32::from(words[at - 1]),
        };
        let difference = i32::from(word) - left;
        let category = 32 - difference.unsigned_abs().leading_zeros();
        let extra = if difference < 0 {
            difference - 1
        } else {
            difference
        } as u32;
        bits.extend((0..5).rev().map(|b| category >> b & 1));
        bits.extend((0..category).rev().map(|b| extra >> b & 1));
    }
    bits.resize(bits.len().next_multiple_of(8), 1);
    for byte in bits.chunks(8) {
        let value = byte.iter().fold(0, |v, b| v << 1 | b) as u8;
        bytes.push(value);
        if value == 0xff {
            bytes.push(0);
        }
    }
    bytes.extend([0xff, 0xd9]);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes
}

#[test]
fn signed_values_padding_and_bits() {
    let folder = Folder::new("signed");
    let mut o = slice(1, 0.0, 0);
    set_u16(&mut o, tags::PIXEL_REPRESENTATION, 1);
    set_u16(&mut o, tags::BITS_STORED, 12);
    set_u16(&mut o, tags::HIGH_BIT, 11);
    set(&mut o, tags::RESCALE_INTERCEPT, VR::DS, "0");
    o.put(DataElement::new(
        tags::PIXEL_PADDING_VALUE,
        VR::SS,
        PrimitiveValue::from(-2000i16),
    ));
    // -1 in 12 bits; 5 with an old overlay in the high bits; the padding value in all 16 bits.
    set_words(&mut o, &[0x0fff, 0xf005, (-2000i16) as u16, 40, 0, 0x0800]);
    folder.put("a", &o);
    let ct = ct(&folder);
    assert_eq!(ct.hu.data(), [-1.0, 5.0, -1000.0, 40.0, 0.0, -2048.0]);
    assert!(
        said(&ct.remarks, "1 pixels are padding")
            .files
            .contains(&"a".to_owned())
    );
}

#[test]
fn a_range_of_padding_is_left_out() {
    let folder = Folder::new("padding");
    let mut o = slice(1, 0.0, 0);
    set_u16(&mut o, tags::PIXEL_PADDING_VALUE, 0);
    set_u16(&mut o, tags::PIXEL_PADDING_RANGE_LIMIT, 10);
    set_words(&mut o, &[0, 5, 10, 11, 1000, 2000]);
    folder.put("a", &o);
    assert_eq!(
        ct(&folder).hu.data(),
        [-1000.0, -1000.0, -1000.0, -989.0, 0.0, 1000.0]
    );
}

/// Planes turned about x by 20 degrees.
fn tilted(number: u32, position: DVec3) -> InMemDicomObject {
    let (s, c) = 20f64.to_radians().sin_cos();
    let mut o = slice(number, 0.0, 0);
    set(
        &mut o,
        tags::IMAGE_ORIENTATION_PATIENT,
        VR::DS,
        &numbers(&[1.0, 0.0, 0.0, 0.0, c, s]),
    );
    set(
        &mut o,
        tags::IMAGE_POSITION_PATIENT,
        VR::DS,
        &numbers(&position.to_array()),
    );
    o
}

#[test]
fn a_tilted_stack_keeps_its_own_axes() {
    let (s, c) = 20f64.to_radians().sin_cos();
    let normal = DVec3::new(0.0, -s, c);
    let folder = Folder::new("tilt");
    for k in 0..4u32 {
        folder.put(
            &format!("s{k}"),
            &tilted(k, DVec3::new(1.0, 2.0, 3.0) + normal * 4.0 * f64::from(k)),
        );
    }
    let ct = ct(&folder);
    assert!((ct.hu.grid().axes()[2] - normal).length() < 1e-9);
    assert!((ct.hu.grid().planes_mm()[3] - 12.0).abs() < 1e-9);
    said(&ct.remarks, "tilted by 20.00 degrees");
}

/// Enhanced CT: refused with a message alone, left out with a remark beside structures.
#[test]
fn an_enhanced_ct_says_what_to_do() {
    let folder = Folder::new("enhanced");
    let mut o = object(uids::ENHANCED_CT_IMAGE_STORAGE, "CT", "1.2.3.300.1");
    set(&mut o, tags::SERIES_INSTANCE_UID, VR::UI, SERIES);
    set(&mut o, tags::NUMBER_OF_FRAMES, VR::IS, "1");
    set_u16(&mut o, tags::ROWS, 2);
    set_u16(&mut o, tags::COLUMNS, 3);
    set_u16(&mut o, tags::BITS_ALLOCATED, 16);
    set_words(&mut o, &words(0));
    folder.put("enhanced.dcm", &o);
    assert!(catalogue(&folder).series[0].multiframe);
    let words = names(open(&folder).unwrap_err(), "enhanced.dcm");
    assert!(
        words.contains("enhanced CT") && words.contains("single images"),
        "{words}"
    );
    folder.put("rs", &structures());
    let case = open(&folder).unwrap();
    assert!(case.ct.is_none() && case.structures.structures.len() == 1);
    said(&case.remarks, "enhanced CT");
}

/// Three phases of four planes under one series UID; `tell` writes the attribute of the phase (0 to 2).
fn four_d(name: &str, tell: impl Fn(&mut InMemDicomObject, u32)) -> Folder {
    let folder = Folder::new(name);
    for plane in 0..4 {
        for phase in 0..3 {
            // Numbered plane by plane, in files without order.
            let mut o = slice(
                3 * plane + phase + 1,
                2.0 * f64::from(plane),
                (100 * phase + 30 * plane) as u16,
            );
            set(&mut o, tags::SERIES_DESCRIPTION, VR::LO, "Thorax 4D");
            tell(&mut o, phase);
            folder.put(&format!("{}-{plane}", (phase * 7 + plane * 5) % 12), &o);
        }
    }
    folder
}

fn tell(tag: Tag, values: [&str; 3]) -> impl Fn(&mut InMemDicomObject, u32) {
    move |o, phase| set(o, tag, VR::DS, values[phase as usize])
}

/// 4D CT under one series UID: each phase is a series to choose, for any attribute that separates them.
#[test]
fn phases_of_a_four_d_ct_are_told_apart() {
    let position = four_d(
        "position",
        tell(tags::TEMPORAL_POSITION_IDENTIFIER, ["1", "2", "10"]),
    );
    let trigger = four_d("trigger", tell(tags::TRIGGER_TIME, ["0", "400", "1200.5"]));
    let breath = four_d(
        "breath",
        tell(
            tags::NOMINAL_PERCENTAGE_OF_RESPIRATORY_PHASE,
            ["0", "30", "60"],
        ),
    );
    // Only the instance numbers at each position differ.
    let order = four_d("order", |_, _| {});
    for (folder, named) in [
        (
            &position,
            [
                "temporal position 1",
                "temporal position 2",
                "temporal position 10",
            ],
        ),
        (&trigger, ["0 ms after", "400 ms after", "1200.5 ms after"]),
        (
            &breath,
            [
                "0 % of the breath",
                "30 % of the breath",
                "60 % of the breath",
            ],
        ),
        (&order, ["phase 1 of 3", "phase 2 of 3", "phase 3 of 3"]),
    ] {
        let catalogue = catalogue(folder);
        assert_eq!(catalogue.series.len(), 3, "{}", folder.0.display());
        said(&catalogue.remarks, "3 phases");
        assert!(
            catalogue
                .remarks
                .iter()
                .all(|r| !r.message.contains("mixes images"))
        );
        for (index, series) in catalogue.series.iter().enumerate() {
            let words = &series.description;
            assert!(
                words.starts_with(&format!("Thorax 4D phase {} of 3", index + 1)),
                "{words}"
            );
            assert!(words.contains(named[index]), "{words}");
            let choice = Choice {
                series: Some(index),
                ..Choice::default()
            };
            let ct = load(&catalogue, choice, &|_| true).unwrap().ct.unwrap();
            let base = 100.0 * index as f32;
            assert_eq!(
                bases(&ct),
                [base, base + 30.0, base + 60.0, base + 90.0],
                "{words}"
            );
            assert!(ct.remarks.is_empty(), "{:?}", ct.remarks);
            assert_eq!((&ct.description, ct.series_uid.as_str()), (words, SERIES));
        }
        // The default is the first one.
        assert_eq!(
            bases(
                &load(&catalogue, Choice::default(), &|_| true)
                    .unwrap()
                    .ct
                    .unwrap()
            )[0],
            0.0
        );
    }
}

/// The phase that the structures reference is the one that opens.
#[test]
fn structures_name_their_phase() {
    let folder = four_d(
        "drawn",
        tell(tags::TEMPORAL_POSITION_IDENTIFIER, ["1", "2", "3"]),
    );
    let image = |number: u32| {
        let mut item = InMemDicomObject::new_empty();
        set(
            &mut item,
            tags::REFERENCED_SOP_CLASS_UID,
            VR::UI,
            uids::CT_IMAGE_STORAGE,
        );
        set(
            &mut item,
            tags::REFERENCED_SOP_INSTANCE_UID,
            VR::UI,
            &format!("1.2.3.300.{number}"),
        );
        item
    };
    let mut o = structures();
    // Images 2 and 5 are planes of the second phase.
    crate::common::synthetic::refer_to_images(&mut o, vec![image(2), image(5)]);
    folder.put("rs", &o);
    let case = open(&folder).unwrap();
    assert_eq!(bases(&case.ct.unwrap()), [100.0, 130.0, 160.0, 190.0]);
    assert_eq!(case.structures.structures.len(), 1);
}

/// A session opens with its own phase.
#[test]
fn a_session_keeps_its_phase() {
    let folder = four_d(
        "session",
        tell(tags::TEMPORAL_POSITION_IDENTIFIER, ["1", "2", "3"]),
    );
    let wishes = OpenOptions {
        choice: Choice {
            series: Some(2),
            ..Choice::default()
        },
        ..OpenOptions::default()
    };
    let word = CaseWord::Dicom(folder.0.clone());
    let case = beamsight::open::open(&word, wishes, &|_| true).unwrap();
    let path = folder.0.join("s.json");
    let saved = session::Session::new(
        &case,
        &word.to_string(),
        &case.structures,
        serde_json::Value::Null,
    );
    session::write(&path, &saved).unwrap();
    let again =
        beamsight::open::open(&CaseWord::Session(path), OpenOptions::default(), &|_| true).unwrap();
    assert_eq!(bases(&again.ct.unwrap())[0], 200.0);
}

/// A scan in two pieces that share a plane, and duplicated images, are no phases.
#[test]
fn pieces_and_copies_are_no_phases() {
    let folder = Folder::new("pieces");
    for k in 0..9u32 {
        let mut o = slice(k + 1, f64::from(if k < 5 { k } else { k - 1 }), 0);
        set(
            &mut o,
            tags::ACQUISITION_NUMBER,
            VR::IS,
            if k < 5 { "1" } else { "2" },
        );
        folder.put(&format!("p{k}"), &o);
    }
    assert_eq!(catalogue(&folder).series.len(), 1);
    let folder = Folder::new("twice");
    for k in 0..4u32 {
        for copy in ["a", "b"] {
            folder.put(&format!("{copy}{k}"), &slice(k + 1, f64::from(k), 0));
        }
    }
    assert_eq!(catalogue(&folder).series.len(), 1);
    said(&ct(&folder).remarks, "copies");
}

#[test]
fn series_are_told_apart() {
    let folder = Folder::new("series");
    for k in 0..3u32 {
        folder.put(&format!("a{k}"), &slice(k, f64::from(k), 0));
    }
    // A longer series without structures; the shorter one has them.
    for k in 0..5u32 {
        let mut o = slice(100 + k, f64::from(k), 50);
        set(&mut o, tags::SERIES_INSTANCE_UID, VR::UI, "1.2.3.201");
        set(&mut o, tags::FRAME_OF_REFERENCE_UID, VR::UI, "1.2.3.101");
        folder.put(&format!("b{k}"), &o);
    }
    // A scout under the UID of the first series, and an MR.
    let mut scout = slice(9, 0.0, 0);
    set(
        &mut scout,
        tags::IMAGE_ORIENTATION_PATIENT,
        VR::DS,
        "1\\0\\0\\0\\0\\-1",
    );
    folder.put("scout", &scout);
    let mut mr = slice(9, 0.0, 0);
    set(&mut mr, tags::MODALITY, VR::CS, "MR");
    set(&mut mr, tags::SOP_CLASS_UID, VR::UI, uids::MR_IMAGE_STORAGE);
    folder.put("mr", &mr);
    folder.put("rs", &structures());
    std::fs::write(folder.0.join("notes.txt"), "hello").unwrap();

    let catalogue = catalogue(&folder);
    let mut planes: Vec<(&str, usize)> = catalogue
        .series
        .iter()
        .map(|s| (s.modality.as_str(), s.planes))
        .collect();
    planes.sort_unstable();
    assert_eq!(planes, [("CT", 1), ("CT", 3), ("CT", 5), ("MR", 1)]);
    assert_eq!(catalogue.not_dicom, ["notes.txt"]);
    said(&catalogue.remarks, "mixes images of different size");

    let case = load(&catalogue, Choice::default(), &|_| true).unwrap();
    assert_eq!(case.ct.as_ref().unwrap().series_uid, SERIES);
    assert_eq!(case.ct.unwrap().hu.grid().size()[2], 3);
    assert_eq!(case.structures.structures.len(), 1);

    // The other series by choice: the structures are in another frame and are left out, not overlaid.
    let other = catalogue.series.iter().position(|s| s.planes == 5);
    let case = load(
        &catalogue,
        Choice {
            series: other,
            ..Choice::default()
        },
        &|_| true,
    )
    .unwrap();
    assert!(case.structures.structures.is_empty());
    let left_out = said(&case.remarks, "another frame of reference");
    assert_eq!(
        (left_out.severity, &left_out.files[..]),
        (Severity::Warning, &["rs".to_owned()][..])
    );

    let mr = catalogue.series.iter().position(|s| s.modality == "MR");
    let choice = Choice {
        series: mr,
        ..Choice::default()
    };
    assert!(
        load(&catalogue, choice, &|_| true)
            .unwrap_err()
            .to_string()
            .contains("only CT")
    );
    let choice = Choice {
        series: Some(17),
        ..Choice::default()
    };
    assert!(
        load(&catalogue, choice, &|_| true)
            .unwrap_err()
            .to_string()
            .contains("17")
    );
}

#[test]
fn two_patients_need_a_choice() {
    let folder = Folder::new("patients");
    folder.put("a", &slice(1, 0.0, 5));
    let mut o = slice(2, 1.0, 0);
    set(&mut o, tags::PATIENT_ID, VR::LO, "T2");
    set(&mut o, tags::PATIENT_NAME, VR::PN, "Test^Two");
    folder.put("b", &o);
    let error = open(&folder).unwrap_err();
    assert!(matches!(error, DicomError::SeveralPatients { .. }));
    let words = error.to_string();
    assert!(
        words.contains("T1") && words.contains("Test^Two"),
        "{words}"
    );

    let catalogue = catalogue(&folder);
    let first = catalogue
        .series
        .iter()
        .position(|s| catalogue.patients[s.patient].id == "T1");
    let case = load(
        &catalogue,
        Choice {
            series: first,
            ..Choice::default()
        },
        &|_| true,
    )
    .unwrap();
    assert_eq!(case.patient.id, "T1");
    assert_eq!(case.ct.unwrap().hu.data()[0], 5.0);
}

#[test]
fn files_without_preamble_or_meta_group_open() {
    let folder = Folder::new("preamble");
    let path = folder.put("a", &slice(1, 0.0, 3));
    let bytes = std::fs::read(&path).unwrap();
    // Without preamble the meta group is first. Without both, the data set, after a meta group of known
    // length.
    let meta_length = u32::from_le_bytes(bytes[140..144].try_into().unwrap()) as usize;
    for start in [128, 132, 144 + meta_length] {
        std::fs::write(&path, &bytes[start..]).unwrap();
        assert_eq!(ct(&folder).hu.data()[0], 3.0, "from byte {start}");
    }
}

#[test]
fn a_read_stops_when_told() {
    let folder = Folder::new("stop");
    for k in 0..4u32 {
        folder.put(&format!("s{k}"), &slice(k, f64::from(k), 0));
    }
    assert!(matches!(
        scan(&folder.0, &|_| false),
        Err(DicomError::Cancelled)
    ));
    let catalogue = catalogue(&folder);
    assert!(matches!(
        load(&catalogue, Choice::default(), &|_| false),
        Err(DicomError::Cancelled)
    ));
}
