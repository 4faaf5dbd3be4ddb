//! Bad input of the issue: each gets one clear message with the file and the remedy, and exit code 1.

use crate::program::{beamsight, refused, scratch, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Two planes and the structures of a demo, as DICOM files in a folder of their own.
fn small_case(folder: &Path, demo: &str) -> PathBuf {
    let whole = folder.join(format!("{demo}-whole"));
    assert!(beamsight(&["demo", demo, "--out", text(&whole)]).status.success());
    let small = folder.join(demo);
    fs::create_dir(&small).unwrap();
    for file in ["CT0040.dcm", "CT0041.dcm", "RS.dcm"] {
        fs::copy(whole.join(file), small.join(file)).unwrap();
    }
    fs::remove_dir_all(whole).unwrap();
    small
}

#[test]
fn folders_without_a_case() {
    let folder = scratch("folders");
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    refused(&["info", text(&empty)], &["empty", "DICOM"]);
    let photos = folder.join("photos");
    fs::create_dir(&photos).unwrap();
    for n in 0..3 {
        fs::write(
            photos.join(format!("IMG_{n}.jpg")),
            b"\xff\xd8\xff\xe0\x00\x10JFIF\x00 not really a photo",
        )
        .unwrap();
    }
    refused(&["info", text(&photos)], &["photos", "IMG_0.jpg", "DICOM"]);
    refused(&["info", text(&photos.join("IMG_1.jpg"))], &["IMG_1.jpg", "not a DICOM file"]);
    refused(&["info", text(&folder.join("nowhere"))], &["nowhere", "demo:thorax"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn broken_files() {
    let folder = scratch("broken");
    let case = small_case(&folder, "water");
    let file = case.join("CT0040.dcm");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    refused(&["path", text(&case)], &["CT0040.dcm", "again"]);

    // Without pixel data: the last element (group 7FE0) is cut off whole.
    let at = bytes.windows(4).rposition(|w| w == [0xe0, 0x7f, 0x10, 0x00]).unwrap();
    fs::write(&file, &bytes[..at]).unwrap();
    refused(&["path", text(&case)], &["CT0040.dcm", "again"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_patients_in_one_folder() {
    let folder = scratch("two");
    small_case(&folder, "water");
    small_case(&folder, "slab");
    refused(&["info", text(&folder)], &["2 patients", "DEMO-WATER", "DEMO-SLAB", "folder"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn volumes_that_cannot_be() {
    let folder = scratch("volumes");
    let header = |spacing: &str, size: &str| {
        format!(
            "NDims = 3\nDimSize = {size}\nElementSpacing = {spacing}\nElementType = MET_SHORT\nElementDataFile = LOCAL\n"
        )
    };
    for (name, text_of, words) in [
        ("nan.mha", header("1 nan 1", "2 2 2"), ["nan.mha", "NaN"]),
        ("zero.mha", header("1 0 1", "2 2 2"), ["zero.mha", "not a positive"]),
        ("short.mha", header("1 1 1", "200 200 200"), ["short.mha", "damaged"]),
        ("huge.mha", header("1 1 1", "900000 900000 900000"), ["huge.mha", "damaged"]),
    ] {
        let path = folder.join(name);
        fs::write(&path, [text_of.as_bytes(), &[0u8; 16]].concat()).unwrap();
        refused(&["info", text(&path)], &words);
    }
    fs::write(folder.join("s.json"), "{\"version\": 1").unwrap();
    refused(&["info", text(&folder.join("s.json"))], &["s.json", "not a session"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_beam_that_does_not_belong_to_the_ct() {
    refused(
        &["path", "demo:water", "--isocentre", "0,0,900"],
        &["0.0,0.0,900.0", "outside the CT", "demo:water"],
    );
    refused(&["path", "demo:water", "--position", "FFS"], &["demo:water", "HFS", "FFS", "--position"]);
    refused(&["path", "demo:water", "--hu-table", "nosuch"], &["nosuch", "HU table"]);
}

#[test]
fn output_that_cannot_be_written() {
    let folder = scratch("output");
    let missing = folder.join("missing").join("depth.mha");
    refused(&["path", "demo:water", "--out", text(&missing)], &["depth.mha", "missing", "make it first"]);
    let a_folder = folder.join("d.mha");
    fs::create_dir(&a_folder).unwrap();
    refused(&["path", "demo:water", "--out", text(&a_folder)], &["d.mha", "is a folder"]);
    // Root may write anywhere; a path through a file fails even for root.
    fs::write(folder.join("file"), "").unwrap();
    refused(&["demo", "water", "--out", text(&folder.join("file").join("x"))], &["file", "--out"]);
    fs::remove_dir_all(folder).unwrap();
}
