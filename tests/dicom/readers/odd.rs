//! Sound files with oddities, and refusals: the messages are true.

use super::bytes::*;
use crate::common::program::{beamsight, refused, scratch, text as word};
use crate::common::synthetic::{Folder, arc, device, dose, plan, set, set_items};
use beamsight::dicom::{Choice, load, read_dose, read_plan, scan};
use dicom_core::VR;
use dicom_dictionary_std::tags;
use std::path::Path;

fn remarks(path: &Path) -> (beamsight::case::Case, Vec<String>) {
    let found = scan(path, &|_| true).unwrap();
    let case = load(&found, Choice::default(), &|_| true).unwrap();
    let said = case.remarks.iter().map(|r| format!("{} {:?}", r.message, r.files)).collect();
    (case, said)
}

fn said(remarks: &[String], words: &str) -> bool {
    remarks.iter().any(|r| r.contains(words))
}

fn ct(more: Vec<Vec<u8>>) -> Vec<u8> {
    [ct_header(3, 2, more), pixels(&[1000, 1001, 1002, 1003, 1004, 1005])].concat()
}

#[test]
fn a_long_title_in_the_meta_group_is_remarked_on() {
    let folder = scratch("odd-title");
    let title = text(0x0002_0016, b"AE", "EIGHTEEN_LETTERS_X");
    put(&folder, "a.dcm", &file(EXPLICIT, &title, &ct(vec![])));
    let (case, told) = remarks(&folder);
    assert_eq!(case.ct.unwrap().hu.data(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!(
        told.len() == 1 && said(&told, "SourceApplicationEntityTitle") && said(&told, "a.dcm"),
        "{told:?}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A file without transfer syntax is read by its appearance; the length of the meta group may be wrong.
#[test]
fn odd_meta_groups_open() {
    let folder = scratch("odd-meta");
    let mut wrong = file(EXPLICIT, &[], &ct(vec![]));
    wrong[140..144].copy_from_slice(&9999u32.to_le_bytes());
    put(&folder, "length.dcm", &wrong);
    let (_, told) = remarks(&folder.join("length.dcm"));
    assert!(told.is_empty(), "{told:?}");
    let mut none = file(EXPLICIT, &[], &ct(vec![]));
    let at = none.windows(4).position(|w| w == [2, 0, 0x10, 0]).unwrap();
    none[at + 2] = 0x99;
    put(&folder, "none.dcm", &none);
    let (_, told) = remarks(&folder.join("none.dcm"));
    assert!(said(&told, "no transfer syntax"), "{told:?}");
    let own = file("1.2.840.113619.5.2", &[], &ct(vec![]));
    let path = put(&folder, "own.dcm", &own);
    refused(&["info", word(&path)], &["own.dcm", "1.2.840.113619.5.2", "Explicit VR Little Endian"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Elements of unknown VR have that of the dictionary (PS3.5 6.2.2), also in a sequence of unknown VR.
#[test]
fn elements_of_unknown_vr_are_known_by_their_tag() {
    let folder = scratch("odd-un");
    let unknown = |tag: u32, value: &[u8]| element(tag, b"UN", value);
    let more = vec![
        unknown(0x0008_0060, b"CT"),
        unknown(0x0020_0032, b"-10\\-20\\5 "),
        unknown(0x0028_0010, &2u16.to_le_bytes()),
        unknown(0x0028_1052, b"-990"),
    ];
    put(&folder, "a.dcm", &file(EXPLICIT, &[], &ct(more)));
    let (case, told) = remarks(&folder);
    let ct = case.ct.unwrap();
    assert_eq!(ct.hu.data(), [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
    assert_eq!(ct.hu.grid().origin_mm(), glam::DVec3::new(-10.0, -20.0, 5.0));
    assert!(told.is_empty(), "{told:?}");

    let folder = scratch("odd-un-sequence");
    let implicit = |tag: u32, value: &[u8]| [bare(tag, value.len() as u32), value.to_vec()].concat();
    let roi = [
        bare(0xfffe_e000, UNDEFINED),
        implicit(0x3006_0022, b"7 "),
        implicit(0x3006_0026, "Herz Ä".as_bytes()),
        bare(0xfffe_e00d, 0),
    ];
    let sequence = [long(0x3006_0020, b"UN", UNDEFINED), roi.concat(), bare(0xfffe_e0dd, 0)].concat();
    let set = [
        text(0x0008_0005, b"CS", "ISO_IR 192"),
        text(0x0008_0016, b"UI", "1.2.840.10008.5.1.4.1.1.481.3"),
        text(0x0008_0060, b"CS", "RTSTRUCT"),
        text(0x0020_0052, b"UI", "1.2.3.3"),
        sequence,
    ];
    let path = put(&folder, "rs.dcm", &file(EXPLICIT, &[], &set.concat()));
    let (case, _) = remarks(&path);
    let names: Vec<&str> = case.structures.structures.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["Herz Ä"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A file truncated at an element's end would be a structure set with fewer contours.
#[test]
fn a_sequence_that_does_not_end_is_refused() {
    let folder = scratch("odd-cut");
    let whole = Folder::new("odd-cut-whole");
    let path = whole.put("rs.dcm", &crate::common::synthetic::structures());
    let bytes = std::fs::read(path).unwrap();
    let end = bytes.windows(4).rposition(|w| w == [0xfe, 0xff, 0x0d, 0xe0]).unwrap();
    let path = put(&folder, "rs.dcm", &bytes[..end]);
    refused(&["info", word(&path)], &["rs.dcm", "ends inside the sequence", "again"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_ct_without_image_is_said_to_have_none() {
    let folder = scratch("odd-imageless");
    let header = ct_header(3, 2, vec![]);
    let rows = header.windows(4).position(|w| w == [0x28, 0, 0x10, 0]).unwrap();
    put(&folder, "cut.dcm", &file(EXPLICIT, &[], &header[..rows]));
    refused(&["info", word(&folder)], &["1 CT file(s)", "cut.dcm", "hold no image", "again"]);
    // Beside sound files such files are named.
    put(&folder, "sound.dcm", &file(EXPLICIT, &[], &ct(vec![])));
    let (_, told) = remarks(&folder);
    assert!(said(&told, "1 CT file(s) hold no image") && said(&told, "cut.dcm"), "{told:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_number_is_not_called_missing() {
    let folder = Folder::new("odd-nan");
    for (tag, name, value) in [
        (tags::DOSE_GRID_SCALING, "DoseGridScaling", "NaN"),
        (tags::IMAGE_POSITION_PATIENT, "ImagePositionPatient", "0\\NaN\\0"),
    ] {
        let mut o = dose(16, &[0.0, 2.0]);
        set(&mut o, tag, VR::DS, value);
        let error = read_dose(&folder.put("rd.dcm", &o)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("NaN") && !error.contains("has no"), "{error}");
    }
    let path =
        put(&folder.0, "ct.dcm", &file(EXPLICIT, &[], &ct(vec![text(0x0020_0032, b"DS", "0\\nan\\0")])));
    refused(&["info", word(&path)], &["ct.dcm", "ImagePositionPatient has a value that is no number"]);
}

#[test]
fn compressions_that_are_not_read_are_named() {
    let folder = scratch("odd-jpeg");
    for (syntax, name) in [
        ("1.2.840.10008.1.2.4.53", "spectral selection"),
        ("1.2.840.10008.1.2.4.55", "full progression"),
        ("1.2.840.10008.1.2.4.80", "JPEG-LS"),
        ("1.2.840.10008.1.2.4.104", "a kind that is not known"),
    ] {
        let data_set = [ct_header(3, 2, vec![]), fragments(&[&[0xff, 0xd8, 0xff, 0xd9]])].concat();
        let path = put(&folder, "c.dcm", &file(syntax, &[], &data_set));
        let words = ["c.dcm", name, syntax, "not read", "export it uncompressed"];
        refused(&["info", word(&path)], &words);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A beam with two MLC layers of one name is shown, not computed; its plan opens.
#[test]
fn two_mlc_layers_of_one_name() {
    let folder = Folder::new("odd-layers");
    let mut beam = arc();
    let layer = |boundaries: &str| {
        crate::common::synthetic::item(&[
            (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, "MLCX"),
            (tags::LEAF_POSITION_BOUNDARIES, VR::DS, boundaries),
        ])
    };
    let mut devices = beam.element(tags::BEAM_LIMITING_DEVICE_SEQUENCE).unwrap().items().unwrap().to_vec();
    devices.push(layer("-5\\0\\5\\10"));
    set_items(&mut beam, tags::BEAM_LIMITING_DEVICE_SEQUENCE, devices);
    let mut points = beam.element(tags::CONTROL_POINT_SEQUENCE).unwrap().items().unwrap().to_vec();
    let mut positions =
        points[0].element(tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE).unwrap().items().unwrap().to_vec();
    positions.push(device("MLCX", &[-1.0, -2.0, -3.0, 3.0, 4.0, 5.0]));
    set_items(&mut points[0], tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE, positions);
    set_items(&mut beam, tags::CONTROL_POINT_SEQUENCE, points);
    let read = read_plan(&folder.put("rp.dcm", &plan(vec![beam])), None).unwrap();
    let refusal = read.beams[0].read_only.as_deref().unwrap_or_default();
    assert!(refusal.contains("MLC of 2 layers"), "{refusal}");
}

#[test]
fn words_that_are_no_verb_and_files_that_are_no_dose() {
    let output = beamsight(&["doze", "demo:water"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no verb 'doze'") && said.contains("gamma") && said.contains("dose"), "{said}");
    let output = beamsight(&["--device", "cpu", "frob", "info"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no verb 'frob'"));

    let folder = scratch("odd-gamma");
    let path = put(&folder, "ct.dcm", &file(EXPLICIT, &[], &ct(vec![])));
    refused(&["gamma", word(&path), word(&path)], &["ct.dcm", "it is CT, not a dose", "RTDOSE"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Neither texts in files nor file names reach the terminal as control sequences.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = scratch("odd-escape");
    let red = "\u{1b}[31mRED\u{1b}]0;title\u{7}\u{8}";
    let case = folder.join("case\u{1b}[2J");
    std::fs::create_dir(&case).unwrap();
    let named = text(0x0010_0010, b"PN", red);
    put(&case, "ct\u{1b}[5m.dcm", &file(EXPLICIT, &[], &ct(vec![named, text(0x0008_103e, b"LO", red)])));
    put(&case, "broken\u{1b}[5m.dcm", &file(EXPLICIT, &[], b"\x08\0\x16\0UI\xff\xff"));
    let toml = format!(
        "name = \"\\u001b[31m\\u009b2J\"\nmachine = \"no\\u001bsuch\"\n{}",
        "[[beam]]\nname = \"\\u001bc\"\n"
    );
    let toml = put(&folder, "plan.toml", toml.as_bytes());
    for words in [
        vec!["info", word(&case)],
        vec!["info", word(&case), "--json"],
        vec!["info", word(&case.join("nowhere"))],
        vec!["dose", "demo:water", "--plan", word(&toml)],
    ] {
        let output = beamsight(&words);
        for stream in [output.stdout, output.stderr] {
            let said = String::from_utf8(stream).unwrap();
            let bad: String = said.chars().filter(|c| c.is_control() && *c != '\n' && *c != '\t').collect();
            assert!(bad.is_empty(), "{words:?}: {bad:?} in {said:?}");
        }
    }
    let (case, _) = remarks(&case);
    assert_eq!(case.patient.name, "[31mRED]0;title");
    std::fs::remove_dir_all(folder).unwrap();
}
