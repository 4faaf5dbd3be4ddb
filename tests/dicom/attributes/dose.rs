//! RT doses.

use super::table::*;
use crate::common::synthetic::{self, Folder};
use beamsight::case::Severity;
use beamsight::dicom::read_dose;
use dicom_object::InMemDicomObject;

fn sound() -> InMemDicomObject {
    synthetic::dose(16, &[0.0, 2.0, 4.0])
}

const ROWS: &[Row] = &[
    Row("PixelData", &[(Missing, FileRefused)]),
    Row(
        "DoseUnits",
        &[
            (Missing, FileRefused),
            (Unreadable("CGY"), FileRefused),
            (Contradicting("RELATIVE", &[]), FileRefused),
        ],
    ),
    Row(
        "DoseType",
        &[
            (Missing, Remarked),
            (Unreadable("BIOLOGICAL"), Remarked),
            (Contradicting("ERROR", &[]), FileRefused),
        ],
    ),
    Row(
        "DoseSummationType",
        &[
            (Missing, Remarked),
            (Unreadable("ALL"), Remarked),
            (Contradicting("FRACTION", &[]), Meant),
        ],
    ),
    Row(
        "DoseGridScaling",
        &[
            (Missing, FileRefused),
            (Unreadable("0,01"), FileRefused),
            (Unreadable("NaN"), FileRefused),
            (OutOfRange("0"), FileRefused),
            (OutOfRange("-0.01"), FileRefused),
            (OutOfRange("1e300"), FileRefused),
            (OutOfRange("10"), Remarked),
        ],
    ),
    Row(
        "NumberOfFrames",
        &[
            (Missing, FileRefused),
            (Unreadable("three"), FileRefused),
            (OutOfRange("0"), FileRefused),
            (OutOfRange("-3"), FileRefused),
            (Contradicting("2", &[]), FileRefused),
        ],
    ),
    Row(
        "Rows",
        &[(Missing, FileRefused), (Unreadable("0"), FileRefused)],
    ),
    Row(
        "Columns",
        &[(Missing, FileRefused), (Unreadable("0"), FileRefused)],
    ),
    Row(
        "PixelSpacing",
        &[
            (Missing, FileRefused),
            (Unreadable("2,5\\1.5"), FileRefused),
            (Unreadable("2.5"), FileRefused),
            (OutOfRange("0\\1.5"), FileRefused),
            (OutOfRange("-2.5\\1.5"), FileRefused),
            (OutOfRange("2.5\\15000"), FileRefused),
        ],
    ),
    Row(
        "ImageOrientationPatient",
        &[
            (Missing, FileRefused),
            (Unreadable("1\\0\\0\\0\\1,0\\0"), FileRefused),
            (Unreadable("1\\0\\0"), FileRefused),
            (OutOfRange("2\\0\\0\\0\\2\\0"), FileRefused),
            (Contradicting("1\\0\\0\\1\\0\\0", &[]), FileRefused),
        ],
    ),
    Row(
        "ImagePositionPatient",
        &[
            (Missing, FileRefused),
            (Unreadable("-10\\-20,5\\5"), FileRefused),
            (Unreadable("-10\\-20"), FileRefused),
        ],
    ),
    Row(
        "GridFrameOffsetVector",
        &[
            (Missing, FileRefused),
            (Unreadable("0\\2,0\\4"), FileRefused),
            (OutOfRange("9\\11\\13"), FileRefused),
            (Contradicting("0\\2", &[]), FileRefused),
            (Contradicting("0\\2\\2", &[]), FileRefused),
        ],
    ),
];

#[test]
fn every_attribute_that_a_dose_depends_on() {
    let folder = Folder::new("attributes-dose");
    let read = |object: &InMemDicomObject| match read_dose(&folder.put("file.dcm", object)) {
        Err(error) => (FileRefused, error.to_string()),
        Ok((_, remarks)) => {
            let said: Vec<&str> = remarks
                .iter()
                .filter(|r| r.severity == Severity::Warning)
                .map(|r| r.message.as_str())
                .collect();
            (
                if said.is_empty() { Meant } else { Remarked },
                said.join("; "),
            )
        }
    };
    assert_eq!(read(&sound()), (Meant, String::new()));
    check(&sound(), ROWS, read);
}
