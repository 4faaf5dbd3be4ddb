//! Damaged DICOM: whatever bytes a file has, opening it is an answer or an error that names it, never a panic.

#[path = "common/synthetic.rs"]
mod synthetic;

use beamsight::dicom::{Choice, load, scan};
use dicom_dictionary_std::uids;
use dicom_object::InMemDicomObject;
use std::path::Path;
use synthetic::{Folder, arc, dose, fixed, plan, slice, structures};

/// Opens one file as a user would; an error must name it.
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
    [slice(1, 0.0, 5), structures(), plan(vec![arc(), fixed("9", &[])]), dose(32, &[0.0, 2.0, 4.0])]
}

#[test]
fn files_cut_short_anywhere() {
    let folder = Folder::new("cut");
    for syntax in [uids::EXPLICIT_VR_LITTLE_ENDIAN, uids::IMPLICIT_VR_LITTLE_ENDIAN] {
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
