//! RT plans.

use super::table::*;
use crate::common::synthetic::{Folder, arc, fixed, plan};
use beamsight::analysis::{beams_left_out, is_computed};
use beamsight::case::{Beam, Plan, Severity};
use beamsight::dicom::{DicomError, read_plan};
use dicom_object::InMemDicomObject;

/// Attributes of the first beam, an arc, and of its control points.
macro_rules! beam {
    ($rest:literal) => {
        concat!("BeamSequence[0].", $rest)
    };
}
macro_rules! point {
    ($n:literal, $rest:literal) => {
        concat!("BeamSequence[0].ControlPointSequence[", $n, "].", $rest)
    };
}
macro_rules! jaw {
    ($n:literal, $rest:literal) => {
        concat!(
            "BeamSequence[0].ControlPointSequence[0].BeamLimitingDevicePositionSequence[",
            $n,
            "].",
            $rest
        )
    };
}
macro_rules! device {
    ($n:literal, $rest:literal) => {
        concat!(
            "BeamSequence[0].BeamLimitingDeviceSequence[",
            $n,
            "].",
            $rest
        )
    };
}

/// An arc, and a fixed beam that must not change with errors of the arc.
fn sound() -> InMemDicomObject {
    let mut object = plan(vec![arc(), fixed("9", &[])]);
    for (path, value) in [
        ("FractionGroupSequence[0].NumberOfBeams", "2"),
        ("PatientSetupSequence[0].PatientSetupNumber", "1"),
        (beam!("ReferencedPatientSetupNumber"), "1"),
        ("BeamSequence[1].ReferencedPatientSetupNumber", "1"),
        (beam!("BeamType"), "DYNAMIC"),
        (beam!("NumberOfControlPoints"), "3"),
        (beam!("NumberOfWedges"), "0"),
        (beam!("NumberOfBlocks"), "0"),
        (beam!("NumberOfCompensators"), "0"),
        (beam!("NumberOfBoli"), "0"),
        (device!("2", "NumberOfLeafJawPairs"), "2"),
        (point!("0", "ControlPointIndex"), "0"),
        (point!("1", "ControlPointIndex"), "1"),
        (point!("2", "ControlPointIndex"), "2"),
        (point!("0", "GantryRotationDirection"), "CW"),
        (point!("0", "BeamLimitingDeviceRotationDirection"), "NONE"),
        (point!("0", "PatientSupportRotationDirection"), "NONE"),
        (point!("0", "TableTopEccentricAngle"), "0"),
        (point!("0", "TableTopPitchAngle"), "0"),
        (point!("0", "TableTopRollAngle"), "0"),
        (point!("0", "GantryPitchAngle"), "0"),
        (
            beam!("PrimaryFluenceModeSequence[0].FluenceMode"),
            "STANDARD",
        ),
    ] {
        put(&mut object, path, value);
    }
    object
}

const SECOND_GROUP: [(&str, &str); 2] = [
    (
        "FractionGroupSequence[1].ReferencedBeamSequence[0].ReferencedBeamNumber",
        "9",
    ),
    (
        "FractionGroupSequence[1].ReferencedBeamSequence[0].BeamMeterset",
        "5",
    ),
];

const PLAN_ROWS: &[Row] = &[
    Row("BeamSequence", &[(Missing, FileRefused)]),
    Row(beam!("ControlPointSequence"), &[(Missing, FileRefused)]),
    Row(beam!("BeamLimitingDeviceSequence"), &[(Missing, LeftOut)]),
    Row(
        point!("0", "BeamLimitingDevicePositionSequence"),
        &[(Missing, LeftOut)],
    ),
    Row("FractionGroupSequence", &[(Missing, LeftOut)]),
    Row(
        "FractionGroupSequence[0].ReferencedBeamSequence",
        &[(Missing, LeftOut)],
    ),
    Row("DoseReferenceSequence", &[(Missing, Meant)]),
    Row(
        "PatientSetupSequence",
        &[(
            Missing,
            NotModelled("position of the patient not stated, HFS taken"),
        )],
    ),
    Row(
        "FractionGroupSequence[0].NumberOfFractionsPlanned",
        &[
            (Missing, NotModelled("fractions not known, 1 counted")),
            (Unreadable("25,0"), NotModelled("fractions not known")),
            (Unreadable("2.5"), NotModelled("fractions not known")),
            (OutOfRange("0"), NotModelled("fractions not known")),
            (OutOfRange("-3"), NotModelled("fractions not known")),
            (OutOfRange("70000"), NotModelled("fractions not known")),
        ],
    ),
    Row(
        "FractionGroupSequence[0].NumberOfBeams",
        &[
            (Missing, Meant),
            (Unreadable("x"), Meant),
            (Contradicting("3", &[]), Remarked),
        ],
    ),
    Row(
        "FractionGroupSequence[0].ReferencedBeamSequence[0].ReferencedBeamNumber",
        &[
            (Missing, LeftOut),
            (Unreadable("x"), LeftOut),
            (Contradicting("77", &[]), LeftOut),
            (Contradicting("9", &[]), LeftOut),
        ],
    ),
    Row(
        "FractionGroupSequence[0].ReferencedBeamSequence[0].BeamMeterset",
        &[
            (Missing, LeftOut),
            (Unreadable("123,5"), LeftOut),
            (Unreadable("1e999"), LeftOut),
            (Unreadable("1\\2"), LeftOut),
            (OutOfRange("-1"), LeftOut),
        ],
    ),
    Row(
        "DoseReferenceSequence[1].TargetPrescriptionDose",
        &[
            (Missing, Meant),
            (Unreadable("50,4"), Remarked),
            (OutOfRange("-50"), Remarked),
            (OutOfRange("5000"), Remarked),
        ],
    ),
    Row(
        "PatientSetupSequence[0].PatientPosition",
        &[
            (
                Missing,
                NotModelled("position of the patient not stated, HFS taken"),
            ),
            (Unreadable("SITTING"), LeftOut),
            (
                Contradicting(
                    "FFS",
                    &[
                        ("PatientSetupSequence[1].PatientPosition", "HFS"),
                        ("PatientSetupSequence[1].PatientSetupNumber", "1"),
                        ("PatientSetupSequence[0].PatientSetupNumber", "2"),
                    ],
                ),
                LeftOut,
            ),
        ],
    ),
];

const BEAM_ROWS: &[Row] = &[
    Row(
        beam!("BeamNumber"),
        &[
            (Missing, FileRefused),
            (Unreadable("one"), FileRefused),
            (OutOfRange("-4"), FileRefused),
            (Contradicting("9", &[]), FileRefused),
        ],
    ),
    Row(
        beam!("RadiationType"),
        &[
            (Missing, LeftOut),
            (Unreadable("PHOTONS"), LeftOut),
            (Contradicting("NEUTRON", &[]), LeftOut),
        ],
    ),
    Row(
        beam!("TreatmentDeliveryType"),
        &[(Missing, Meant), (Unreadable("TREATED"), LeftOut)],
    ),
    Row(
        beam!("PrimaryDosimeterUnit"),
        &[
            (Missing, Meant),
            (Unreadable("M U"), LeftOut),
            (Contradicting("MINUTE", &[]), LeftOut),
        ],
    ),
    Row(
        beam!("SourceAxisDistance"),
        &[
            (Missing, Meant),
            (Unreadable("1000,0"), LeftOut),
            (OutOfRange("800"), LeftOut),
            (OutOfRange("0"), LeftOut),
        ],
    ),
    Row(
        beam!("BeamType"),
        &[
            (Missing, Meant),
            (Unreadable("MOVING"), Meant),
            (Contradicting("STATIC", &[]), Remarked),
        ],
    ),
    Row(
        beam!("NumberOfControlPoints"),
        &[
            (Missing, Meant),
            (Unreadable("3,0"), LeftOut),
            (OutOfRange("0"), LeftOut),
            (Contradicting("4", &[]), LeftOut),
        ],
    ),
    Row(
        beam!("NumberOfWedges"),
        &[
            (Missing, Meant),
            (Unreadable("one"), LeftOut),
            (OutOfRange("-1"), LeftOut),
            (Contradicting("1", &[]), LeftOut),
            (
                Contradicting("0", &[(beam!("WedgeSequence[0].WedgeType"), "DYNAMIC")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        beam!("NumberOfBlocks"),
        &[
            (Missing, Meant),
            (Unreadable("one"), LeftOut),
            (OutOfRange("-1"), LeftOut),
            (Contradicting("1", &[]), LeftOut),
            (
                Contradicting("0", &[(beam!("BlockSequence[0].BlockType"), "SHIELDING")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        beam!("NumberOfCompensators"),
        &[
            (Missing, Meant),
            (Unreadable("one"), LeftOut),
            (OutOfRange("-1"), LeftOut),
            (Contradicting("1", &[]), LeftOut),
            (
                Contradicting("0", &[(beam!("CompensatorSequence[0].CompensatorID"), "C")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        beam!("NumberOfBoli"),
        &[
            (Missing, Meant),
            (Unreadable("one"), LeftOut),
            (OutOfRange("1"), NotModelled("bolus")),
            (
                Contradicting(
                    "0",
                    &[(beam!("ReferencedBolusSequence[0].ReferencedROINumber"), "4")],
                ),
                NotModelled("bolus"),
            ),
        ],
    ),
    Row(
        beam!("ApplicatorSequence[0].ApplicatorType"),
        &[
            (Missing, Meant),
            (Unreadable("TUBE"), LeftOut),
            (Contradicting("STEREOTACTIC", &[]), LeftOut),
            (Contradicting("ELECTRON_SQUARE", &[]), LeftOut),
        ],
    ),
    Row(
        beam!("GeneralAccessorySequence[0].GeneralAccessoryType"),
        &[
            (Missing, Meant),
            (Unreadable("TRAY"), NotModelled("accessory TRAY")),
            (Contradicting("RETICLE", &[]), Meant),
        ],
    ),
    Row(
        beam!("GeneralAccessorySequence[0].GeneralAccessoryID"),
        &[
            (Missing, Meant),
            (Unreadable("T1"), NotModelled("accessory 'T1'")),
            (
                Contradicting(
                    "T1",
                    &[(
                        beam!("GeneralAccessorySequence[0].GeneralAccessoryType"),
                        "RETICLE",
                    )],
                ),
                Meant,
            ),
        ],
    ),
    Row(
        beam!("HighDoseTechniqueType"),
        &[
            (Missing, Meant),
            (Unreadable("TBI"), NotModelled("technique TBI")),
        ],
    ),
    Row(
        beam!("EnhancedRTBeamLimitingDeviceDefinitionFlag"),
        &[
            (Missing, Meant),
            (Unreadable("NO"), Meant),
            (Contradicting("YES", &[]), LeftOut),
        ],
    ),
    Row(
        beam!("PrimaryFluenceModeSequence[0].FluenceMode"),
        &[
            (Missing, NotModelled("fluence mode not stated")),
            (Unreadable("SRS"), NotModelled("fluence mode SRS")),
            (
                Contradicting(
                    "NON_STANDARD",
                    &[(beam!("PrimaryFluenceModeSequence[0].FluenceModeID"), "SRS")],
                ),
                NotModelled("fluence mode SRS"),
            ),
        ],
    ),
    Row(
        beam!("ReferencedPatientSetupNumber"),
        &[
            (Missing, Meant),
            (Unreadable("x"), Meant),
            (
                Contradicting(
                    "3",
                    &[
                        ("PatientSetupSequence[1].PatientPosition", "HFP"),
                        ("PatientSetupSequence[1].PatientSetupNumber", "2"),
                    ],
                ),
                LeftOut,
            ),
        ],
    ),
    Row(
        beam!("FinalCumulativeMetersetWeight"),
        &[
            (Missing, LeftOut),
            (Unreadable("4,0"), LeftOut),
            (OutOfRange("0"), LeftOut),
            (OutOfRange("-4"), LeftOut),
            (Contradicting("8", &[]), LeftOut),
        ],
    ),
    Row(
        "BeamSequence[1].FinalCumulativeMetersetWeight",
        &[
            // A static beam: the weights between do not matter.
            (Missing, Meant),
            (Unreadable("1,0"), LeftOut),
            (OutOfRange("0"), LeftOut),
            (Contradicting("2", &[]), LeftOut),
        ],
    ),
    Row(
        device!("2", "RTBeamLimitingDeviceType"),
        &[
            (Missing, LeftOut),
            (Unreadable("LEAVES"), LeftOut),
            // Its positions belong to another device.
            (Contradicting("MLCY", &[]), LeftOut),
            (
                Contradicting(
                    "MLCX",
                    &[
                        (device!("3", "RTBeamLimitingDeviceType"), "MLCX"),
                        (device!("3", "LeafPositionBoundaries"), "-10\\0\\10"),
                    ],
                ),
                LeftOut,
            ),
        ],
    ),
    Row(
        device!("0", "RTBeamLimitingDeviceType"),
        &[
            (Missing, LeftOut),
            (Unreadable("Z"), LeftOut),
            (Contradicting("Y", &[]), LeftOut),
        ],
    ),
    Row(
        device!("2", "LeafPositionBoundaries"),
        &[
            (Missing, LeftOut),
            (Unreadable("-10\\0,5\\10"), LeftOut),
            (OutOfRange("-10\\0\\10000"), LeftOut),
            (Contradicting("-10\\10\\0", &[]), LeftOut),
            (Contradicting("-10\\0\\10\\20", &[]), LeftOut),
        ],
    ),
    Row(
        device!("2", "NumberOfLeafJawPairs"),
        &[
            (Missing, Meant),
            (Unreadable("two"), LeftOut),
            (OutOfRange("0"), LeftOut),
            (Contradicting("3", &[]), LeftOut),
        ],
    ),
];

const POINT_ROWS: &[Row] = &[
    Row(
        point!("0", "NominalBeamEnergy"),
        &[
            (Missing, LeftOut),
            (Unreadable("6,0"), LeftOut),
            (Unreadable("6X"), LeftOut),
            (OutOfRange("0"), LeftOut),
            (OutOfRange("6000"), LeftOut),
        ],
    ),
    Row(
        point!("1", "NominalBeamEnergy"),
        &[
            (Missing, Meant),
            (Unreadable("6X"), LeftOut),
            (Contradicting("6", &[]), LeftOut),
        ],
    ),
    Row(
        point!("0", "IsocenterPosition"),
        &[
            (Missing, LeftOut),
            (Unreadable("1\\2,5\\3"), LeftOut),
            (Unreadable("1\\2"), LeftOut),
        ],
    ),
    Row(
        point!("2", "IsocenterPosition"),
        &[
            (Missing, Meant),
            (Unreadable("1\\x\\3"), LeftOut),
            (Contradicting("1\\2\\4", &[]), LeftOut),
        ],
    ),
    Row(
        point!("0", "GantryAngle"),
        &[
            (Missing, LeftOut),
            (Unreadable("350,5"), LeftOut),
            (Unreadable("AP"), LeftOut),
            (OutOfRange("400"), LeftOut),
        ],
    ),
    Row(
        point!("1", "GantryAngle"),
        &[
            (Missing, Meant),
            (Unreadable("355,5"), LeftOut),
            (OutOfRange("-400"), LeftOut),
        ],
    ),
    Row(
        point!("0", "BeamLimitingDeviceAngle"),
        &[
            (Missing, LeftOut),
            (Unreadable("15,5"), LeftOut),
            (OutOfRange("400"), LeftOut),
        ],
    ),
    Row(
        point!("0", "PatientSupportAngle"),
        &[
            (Missing, LeftOut),
            (Unreadable("5,5"), LeftOut),
            (OutOfRange("400"), LeftOut),
        ],
    ),
    Row(
        point!("0", "GantryRotationDirection"),
        &[
            (Missing, Meant),
            (Unreadable("ROUND"), Meant),
            (Contradicting("CC", &[]), LeftOut),
            // The direction of half a circle is ambiguous.
            (
                Contradicting("CW", &[(point!("1", "GantryAngle"), "170")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        point!("0", "BeamLimitingDeviceRotationDirection"),
        &[
            (Missing, Meant),
            (Unreadable("ROUND"), Meant),
            // Seen as DICOM sees it, a rising angle turns counter-clockwise (PS3.3 C.8.8.14).
            (
                Contradicting("CW", &[(point!("1", "BeamLimitingDeviceAngle"), "30")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        point!("0", "PatientSupportRotationDirection"),
        &[
            (Missing, Meant),
            (Unreadable("ROUND"), Meant),
            // Seen as DICOM sees it, a rising angle turns counter-clockwise (PS3.3 C.8.8.14).
            (
                Contradicting("CW", &[(point!("1", "PatientSupportAngle"), "30")]),
                LeftOut,
            ),
        ],
    ),
    Row(
        point!("1", "TableTopPitchAngle"),
        &[
            (Missing, Meant),
            (Unreadable("NaN"), LeftOut),
            (OutOfRange("90"), LeftOut),
            (
                Contradicting("3", &[]),
                NotModelled("table pitch 3 degrees"),
            ),
            (
                Contradicting("357", &[]),
                NotModelled("table pitch -3 degrees"),
            ),
        ],
    ),
    Row(
        point!("0", "TableTopRollAngle"),
        &[
            (Missing, Meant),
            (Unreadable("NaN"), LeftOut),
            (OutOfRange("90"), LeftOut),
            (
                Contradicting("2.5", &[]),
                NotModelled("table roll 2.5 degrees"),
            ),
        ],
    ),
    Row(
        point!("0", "GantryPitchAngle"),
        &[
            (Missing, Meant),
            (Unreadable("NaN"), LeftOut),
            (OutOfRange("30"), LeftOut),
            (
                Contradicting("1", &[]),
                NotModelled("gantry pitch 1 degrees"),
            ),
        ],
    ),
    Row(
        point!("0", "TableTopEccentricAngle"),
        &[
            (Missing, Meant),
            (Unreadable("1,5"), LeftOut),
            (OutOfRange("90"), LeftOut),
            (
                Contradicting("4", &[]),
                NotModelled("table eccentric angle 4 degrees"),
            ),
        ],
    ),
    Row(
        point!("1", "CumulativeMetersetWeight"),
        &[
            (Missing, LeftOut),
            (Unreadable("1,0"), LeftOut),
            (OutOfRange("-1"), LeftOut),
            (Contradicting("5", &[]), LeftOut),
        ],
    ),
    Row(
        point!("0", "CumulativeMetersetWeight"),
        &[
            (Missing, LeftOut),
            (Unreadable("0,0"), LeftOut),
            (Contradicting("1", &[]), LeftOut),
        ],
    ),
    Row(
        point!("2", "CumulativeMetersetWeight"),
        &[
            (Missing, LeftOut),
            (Unreadable("4,0"), LeftOut),
            (Contradicting("3", &[]), LeftOut),
        ],
    ),
    Row(
        point!("1", "ControlPointIndex"),
        &[
            (Missing, Meant),
            (Unreadable("x"), LeftOut),
            (Contradicting("2", &[]), LeftOut),
        ],
    ),
    Row(
        point!("1", "WedgePositionSequence[0].WedgePosition"),
        &[
            (Missing, Meant),
            (Unreadable("HALF"), LeftOut),
            (Contradicting("IN", &[]), LeftOut),
            (Contradicting("OUT", &[]), Meant),
        ],
    ),
    Row(
        jaw!("0", "LeafJawPositions"),
        &[
            (Missing, LeftOut),
            (Unreadable("-40,5\\30"), LeftOut),
            (OutOfRange("-4000\\3000"), LeftOut),
            (Contradicting("30\\-40", &[]), LeftOut),
            (Contradicting("40", &[]), LeftOut),
        ],
    ),
    Row(
        jaw!("1", "RTBeamLimitingDeviceType"),
        &[
            (Missing, LeftOut),
            (Unreadable("Z"), LeftOut),
            (Contradicting("ASYMX", &[]), LeftOut),
        ],
    ),
    Row(
        jaw!("2", "LeafJawPositions"),
        &[
            (Missing, LeftOut),
            (Unreadable("-1\\-2\\3,5\\4"), LeftOut),
            (OutOfRange("-1\\-2\\3\\4000"), LeftOut),
            (Contradicting("-1\\5\\3\\4", &[]), LeftOut),
            (Contradicting("-1\\-2\\3", &[]), LeftOut),
        ],
    ),
];

fn read(object: &InMemDicomObject) -> Result<Plan, DicomError> {
    let folder = Folder::new("attributes-plan");
    read_plan(&folder.put("file.dcm", object), None)
}

#[test]
fn the_sound_plan_is_computed_whole_and_without_a_warning() {
    let plan = read(&sound()).unwrap();
    assert!(plan.beams.iter().all(is_computed), "{:?}", plan.beams);
    assert!(plan.beams.iter().all(|b| b.parts_of_its_file().is_empty()));
    assert_eq!(beams_left_out(&plan), None);
    assert!(
        plan.remarks.iter().all(|r| r.severity == Severity::Note),
        "{:#?}",
        plan.remarks
    );
    assert_eq!(plan.remarks.len(), 1, "{:#?}", plan.remarks);
}

/// The outcome of a broken plan, and its messages.
fn outcome(read: Result<Plan, DicomError>) -> (Outcome, String) {
    let plan = match read {
        Err(error) => return (FileRefused, error.to_string()),
        Ok(plan) => plan,
    };
    let warnings = || {
        plan.remarks
            .iter()
            .filter(|r| r.severity == Severity::Warning)
            .map(|r| r.message.as_str())
    };
    let said = warnings().collect::<Vec<_>>().join("; ");
    let refused: Vec<&str> = plan
        .beams
        .iter()
        .filter_map(|b| b.read_only.as_deref())
        .collect();
    if !refused.is_empty() {
        assert!(
            plan.beams.iter().all(|b| !b.setup),
            "a treatment beam is no setup field"
        );
        assert!(beams_left_out(&plan).is_some(), "the plan is partial");
        return (LeftOut, format!("{}; {said}", refused.join("; ")));
    }
    let words: Vec<String> = plan
        .beams
        .iter()
        .flat_map(Beam::parts_of_its_file)
        .collect();
    if !words.is_empty() {
        return (NotModelled(""), format!("{}; {said}", words.join("; ")));
    }
    if said.is_empty() {
        (Meant, said)
    } else {
        (Remarked, said)
    }
}

#[test]
fn every_attribute_that_a_plans_dose_depends_on() {
    for rows in [PLAN_ROWS, BEAM_ROWS, POINT_ROWS] {
        check(&sound(), rows, |object| outcome(read(object)));
    }
}

/// Beams of a second fraction group with other fractions cannot share the plan's fractions.
#[test]
fn a_beam_of_other_fractions_is_left_out() {
    for (fractions, computed) in [("10", false), ("25", true)] {
        let mut object = sound();
        put(
            &mut object,
            "FractionGroupSequence[0].ReferencedBeamSequence[1].ReferencedBeamNumber",
            "8",
        );
        SECOND_GROUP
            .iter()
            .for_each(|(path, value)| put(&mut object, path, value));
        put(
            &mut object,
            "FractionGroupSequence[1].NumberOfFractionsPlanned",
            fractions,
        );
        let plan = read(&object).unwrap();
        assert_eq!(
            is_computed(&plan.beams[1]),
            computed,
            "{:?}",
            plan.beams[1].read_only
        );
        assert!(is_computed(&plan.beams[0]));
    }
}

/// Setup fields and portal images are not missing from the sum, and are no part of it.
#[test]
fn what_takes_a_picture_is_no_missing_beam() {
    for kind in ["SETUP", "OPEN_PORTFILM", "TRMT_PORTFILM"] {
        let mut object = sound();
        put(&mut object, beam!("TreatmentDeliveryType"), kind);
        let plan = read(&object).unwrap();
        assert!(plan.beams[0].setup && plan.beams[0].mu == 0.0 && !is_computed(&plan.beams[0]));
        assert_eq!(beams_left_out(&plan), None);
        let said = plan.remarks.iter().any(|r| r.message.contains("123.5 MU"));
        assert!(said, "{:#?}", plan.remarks);
    }
}
