//! RT structure sets.

use super::table::*;
use crate::common::synthetic::{self, Folder, set_items};
use beamsight::case::Severity;
use beamsight::dicom::read_structures;
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;

macro_rules! contour {
    ($rest:literal) => {
        concat!("ROIContourSequence[0].ContourSequence[0].", $rest)
    };
}

/// One structure of one square contour.
fn sound() -> InMemDicomObject {
    let mut object = synthetic::structures();
    set_items(
        &mut object,
        tags::RTROI_OBSERVATIONS_SEQUENCE,
        vec![InMemDicomObject::new_empty()],
    );
    put(
        &mut object,
        "RTROIObservationsSequence[0].ReferencedROINumber",
        "7",
    );
    put(
        &mut object,
        "RTROIObservationsSequence[0].RTROIInterpretedType",
        "ORGAN",
    );
    object
}

const ROWS: &[Row] = &[
    Row("StructureSetROISequence", &[(Missing, FileRefused)]),
    Row("ROIContourSequence", &[(Missing, LeftOut)]),
    Row(
        "ROIContourSequence[0].ContourSequence",
        &[(Missing, LeftOut)],
    ),
    Row(
        "StructureSetROISequence[0].ROINumber",
        &[
            (Missing, LeftOut),
            (Unreadable("7,0"), LeftOut),
            (OutOfRange("-7"), LeftOut),
            (
                Contradicting(
                    "8",
                    &[
                        ("StructureSetROISequence[1].ROINumber", "8"),
                        ("StructureSetROISequence[1].ROIName", "Twin"),
                    ],
                ),
                LeftOut,
            ),
        ],
    ),
    Row(
        "StructureSetROISequence[0].ReferencedFrameOfReferenceUID",
        &[
            (Missing, Meant),
            (Unreadable("frame"), LeftOut),
            (Contradicting("1.2.3.999", &[]), LeftOut),
        ],
    ),
    Row(
        "ROIContourSequence[0].ReferencedROINumber",
        &[
            (Missing, LeftOut),
            (Unreadable("seven"), LeftOut),
            (OutOfRange("-7"), LeftOut),
            (Contradicting("9", &[]), LeftOut),
            (
                Contradicting("7", &[("ROIContourSequence[1].ReferencedROINumber", "7")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        contour!("ContourGeometricType"),
        &[
            (Missing, Remarked),
            (Unreadable("CURVED"), LeftOut),
            (Contradicting("OPEN_PLANAR", &[]), LeftOut),
            (Contradicting("CLOSEDPLANAR_XOR", &[]), Meant),
        ],
    ),
    Row(
        contour!("NumberOfContourPoints"),
        &[
            (Missing, Meant),
            (Unreadable("four"), Remarked),
            (Contradicting("5", &[]), Remarked),
        ],
    ),
    Row(
        contour!("ContourData"),
        &[
            (Missing, LeftOut),
            (Unreadable("0\\0\\0\\9,5\\0\\0\\9\\9\\0"), LeftOut),
            (Unreadable("0\\0\\0\\9\\0\\0\\9\\9"), LeftOut),
            (OutOfRange("0\\0\\0\\90000\\0\\0\\9\\9\\0"), LeftOut),
            (Contradicting("0\\0\\0\\9\\0\\0", &[]), LeftOut),
        ],
    ),
    Row(
        contour!("ContourOffsetVector"),
        &[
            (Missing, Meant),
            (Unreadable("0\\0"), LeftOut),
            (OutOfRange("0\\0\\5"), LeftOut),
            (Contradicting("0\\0\\0", &[]), Meant),
        ],
    ),
    Row(
        "RTROIObservationsSequence[0].ReferencedROINumber",
        &[
            (Missing, Remarked),
            (Unreadable("seven"), Remarked),
            (OutOfRange("-7"), Remarked),
        ],
    ),
    Row(
        "RTROIObservationsSequence[0].ROIPhysicalPropertiesSequence[0].ROIPhysicalProperty",
        &[
            (Missing, Meant),
            (Unreadable("HEAVY"), Remarked),
            (Contradicting("REL_ELEC_DENSITY", &[]), Remarked),
        ],
    ),
    Row(
        "RTROIObservationsSequence[0].ROIPhysicalPropertiesSequence[0].ROIPhysicalPropertyValue",
        &[
            (Missing, Meant),
            (Unreadable("1,5"), Remarked),
            (Contradicting("1.5", &[]), Remarked),
        ],
    ),
];

#[test]
fn every_attribute_that_structures_depend_on() {
    let folder = Folder::new("attributes-structures");
    let read = |object: &InMemDicomObject| {
        let set = match read_structures(&folder.put("file.dcm", object)) {
            Err(error) => return (FileRefused, error.to_string()),
            Ok(set) => set,
        };
        let said: Vec<&str> = set.remarks.iter().map(|r| r.message.as_str()).collect();
        let warned = set.remarks.iter().any(|r| r.severity == Severity::Warning);
        let whole = set
            .structures
            .iter()
            .any(|s| s.contours.iter().any(|c| c.points_mm.len() == 4));
        let outcome = match (whole, warned) {
            (false, _) => LeftOut,
            (true, false) => Meant,
            (true, true) => Remarked,
        };
        (outcome, said.join("; "))
    };
    assert_eq!(read(&sound()), (Meant, String::new()));
    check(&sound(), ROWS, read);
}
