//! Damaged DICOM: for any bytes, opening a file gives an answer or an error that names it, never a panic.

use crate::common::synthetic::{Folder, arc, dose, fixed, plan, slice, structures};
use beamsight::dicom::{Choice, load, scan};
use dicom_dictionary_std::uids;
use dicom_object::InMemDicomObject;
use std::path::Path;

/// Opens one file like a user; an error must name it.
fn open(path: &Path) -> bool {
    let case = scan(path, &|_| true).and_then(|found| load(&found, Choice::default(), &|_| true));
    match case {
        Ok(_) => true,
        Err(error) => {
            let words = error.to_string();
            assert!(words.contains("victim.dcm"), "{words}");
            false
        }
    }
}

fn objects() -> [InMemDicomObject; 4] {
    [
        slice(1, 0.0, 5),
        structures(),
        plan(vec![arc(), fixed("9", &[])]),
        dose(32, &[0.0, 2.0, 4.0]),
    ]
}

#[test]
fn files_cut_short_anywhere() {
    let folder = Folder::new("cut");
    for syntax in [
        uids::EXPLICIT_VR_LITTLE_ENDIAN,
        uids::IMPLICIT_VR_LITTLE_ENDIAN,
    ] {
        for object in objects() {
            let path = folder.put_as("victim.dcm", &object, syntax);
            assert!(open(&path), "the file as it is opens");
            let bytes = std::fs::read(&path).unwrap();
            for length in (0..bytes.len()).step_by(5) {
                std::fs::write(&path, &bytes[..length]).unwrap();
                open(&path);
            }
        }
    }
}

#[test]
fn bytes_changed_anywhere() {
    let folder = Folder::new("flip");
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: usize| {
        // xorshift64: equal damage in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut opened = 0;
    let mut refused = 0;
    for syntax in [
        uids::EXPLICIT_VR_LITTLE_ENDIAN,
        uids::IMPLICIT_VR_LITTLE_ENDIAN,
        uids::JPEG_LOSSLESS_SV1,
    ] {
        for object in objects() {
            let path = folder.put_as("victim.dcm", &object, syntax);
            let bytes = std::fs::read(&path).unwrap();
            for _ in 0..150 {
                let mut damaged = bytes.clone();
                for _ in 0..=next(3) {
                    let at = 132 + next(bytes.len() - 132);
                    damaged[at] = next(256) as u8;
                }
                std::fs::write(&path, &damaged).unwrap();
                if open(&path) {
                    opened += 1
                } else {
                    refused += 1
                }
            }
        }
    }
    // Both outcomes occur: the damage is neither harmless nor always fatal.
    assert!(
        opened > 100 && refused > 100,
        "{opened} opened, {refused} refused"
    );
}
