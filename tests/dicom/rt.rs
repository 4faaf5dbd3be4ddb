//! RT plans, doses and structure sets as hospitals send them: each test makes its own files.

use crate::common::synthetic::{
    Folder, arc, contour, control_point, device, dose, drawn, fixed, item, plan, roi, set,
    set_items, set_u16, set_words, slice, structures,
};
use beamsight::case::{
    Case, DensityOverride, DoseStatus, Medium, MlcAxis, Plan, Radiation, Remark, Severity,
    StructureKind,
};
use beamsight::dicom::{
    Choice, DicomError, ExportOptions, ExportPart, PlanDoses, WriteError, export, load, read_dose,
    read_plan, read_structures, scan,
};
use beamsight::geometry::PatientPosition;
use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;
use glam::DVec3;

fn said<'a>(remarks: &'a [Remark], words: &str) -> &'a Remark {
    remarks
        .iter()
        .find(|r| r.message.contains(words))
        .unwrap_or_else(|| panic!("'{words}' in {remarks:#?}"))
}

fn open(folder: &Folder) -> Result<Case, DicomError> {
    load(&scan(&folder.0, &|_| true)?, Choice::default(), &|_| true)
}

fn read(beams: Vec<InMemDicomObject>) -> Result<Plan, DicomError> {
    let folder = Folder::new("plan");
    read_plan(&folder.put("rp.dcm", &plan(beams)), None)
}

#[test]
fn control_points_inherit_what_they_do_not_say() {
    let plan = read(vec![arc()]).unwrap();
    assert_eq!(
        (plan.fractions, plan.prescription_gy, plan.position),
        (25, Some(50.0), PatientPosition::Hfs)
    );
    assert_eq!(plan.machine, "generic-10mv");
    said(&plan.remarks, "LINAC7");
    let beam = &plan.beams[0];
    assert_eq!(
        (beam.number, beam.mu, beam.energy_mv),
        (3, 123.5, Some(10.0))
    );
    assert_eq!(beam.isocentre_mm, DVec3::new(1.0, 2.0, 3.0));
    assert_eq!(beam.read_only, None);
    let mlc = beam.mlc.as_ref().unwrap();
    assert_eq!(
        (mlc.axis, &mlc.boundaries_mm[..]),
        (MlcAxis::X, &[-10.0, 0.0, 10.0][..])
    );
    let weights: Vec<f64> = beam
        .control_points
        .iter()
        .map(|c| c.meterset_weight)
        .collect();
    assert_eq!(weights, [0.0, 0.25, 1.0]);
    let angles: Vec<f64> = beam.control_points.iter().map(|c| c.gantry_deg).collect();
    assert_eq!(angles, [350.0, 355.0, 0.0]);
    assert_eq!(beam.control_points[0].leaves_mm, [[-1.0, 3.0], [-2.0, 4.0]]);
    let last = &beam.control_points[2];
    assert_eq!(last.leaves_mm, [[-5.0, 7.0], [-6.0, 8.0]]);
    assert_eq!((last.jaws.x, last.jaws.y), ([-40.0, 30.0], [-9.0, 8.0]));
    assert_eq!((last.collimator_deg, last.couch_deg), (15.0, 5.0));
}

#[test]
fn beams_that_cannot_be_computed_are_shown_with_the_reason() {
    let plan = read(vec![
        fixed("1", &[]),
        fixed("2", &[(tags::TREATMENT_DELIVERY_TYPE, VR::CS, "SETUP")]),
        fixed("4", &[(tags::RADIATION_TYPE, VR::CS, "ELECTRON")]),
        fixed("5", &[(tags::NUMBER_OF_WEDGES, VR::IS, "1")]),
        fixed("6", &[(tags::PRIMARY_DOSIMETER_UNIT, VR::CS, "MINUTE")]),
        fixed("7", &[(tags::TABLE_TOP_PITCH_ANGLE, VR::FL, "2.5")]),
    ]);
    let plan = plan.unwrap();
    let reason = |k: usize| plan.beams[k].read_only.as_deref().unwrap_or("");
    assert_eq!(reason(0), "");
    assert_eq!(plan.beams[0].control_points.len(), 1, "nothing moves");
    assert_eq!(plan.beams[0].control_points[0].meterset_weight, 1.0);
    assert!(reason(1).contains("setup"));
    assert_eq!(plan.beams[1].mu, 0.0, "never summed");
    assert!(reason(2).contains("electrons"));
    assert_eq!(plan.beams[2].radiation, Radiation::Electron);
    assert!(reason(3).contains("wedge"));
    assert!(reason(4).contains("monitor units"));
    assert_eq!(reason(5), "");
    let pitch = said(&plan.remarks, "table pitch 2.5 degrees: not modelled");
    assert!(pitch.severity == Severity::Warning && pitch.message.contains("Fixed 7"));
}

#[test]
fn a_missing_jaw_is_as_open_as_the_leaves_are() {
    let mut beam = arc();
    let mlc = item(&[
        (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, "MLCX"),
        (tags::LEAF_POSITION_BOUNDARIES, VR::DS, "-10\\0\\10"),
    ]);
    set_items(&mut beam, tags::BEAM_LIMITING_DEVICE_SEQUENCE, vec![mlc]);
    let leaves = vec![device("MLCX", &[-1.0, -2.0, 3.0, 4.0])];
    let point = control_point(&[(tags::CUMULATIVE_METERSET_WEIGHT, VR::DS, "4")], leaves);
    set_items(&mut beam, tags::CONTROL_POINT_SEQUENCE, vec![point]);
    let plan = read(vec![beam]).unwrap();
    let jaws = plan.beams[0].control_points[0].jaws;
    assert_eq!((jaws.x, jaws.y), ([-200.0, 200.0], [-10.0, 10.0]));
    said(&plan.remarks, "no jaws");
    assert!(
        plan.beams[0]
            .read_only
            .as_deref()
            .unwrap()
            .contains("NominalBeamEnergy")
    );
}

#[test]
fn dose_planes_ascend_whatever_the_file_does() {
    let folder = Folder::new("dose");
    // Uneven offsets; the same as z coordinates; descending; and in no order at all.
    let up = [0.0, 2.0, 7.0];
    for (planes, first_z, frames) in [
        (up, 5.0, [0.0, 1.0, 2.0]),
        ([5.0, 7.0, 12.0], 5.0, [0.0, 1.0, 2.0]),
        ([0.0, -5.0, -7.0], -2.0, [2.0, 1.0, 0.0]),
        ([0.0, 7.0, 2.0], 5.0, [0.0, 2.0, 1.0]),
    ] {
        for (bits, more_gy) in [(16, 0.0), (32, 655.36)] {
            let (dose, remarks) = read_dose(&folder.put("rd", &dose(bits, &planes))).unwrap();
            assert_eq!(remarks, []);
            let grid = dose.gy.grid();
            assert_eq!(grid.origin_mm(), DVec3::new(-10.0, -20.0, first_z));
            assert_eq!(grid.planes_mm(), up);
            for k in 0..3 {
                let want: f64 = more_gy + frames[k] + 0.04;
                assert!(
                    (f64::from(dose.gy.at(1, 1, k)) - want).abs() < 1e-4,
                    "{planes:?} {bits} {k}"
                );
            }
            assert_eq!(
                (dose.status, dose.label.as_str()),
                (DoseStatus::Imported, "plan dose, rd")
            );
        }
    }
}

#[test]
fn odd_doses_are_read_and_remarked() {
    let folder = Folder::new("odd-dose");
    let mut planar = dose(16, &[0.0]);
    planar.remove_element(tags::GRID_FRAME_OFFSET_VECTOR);
    planar.remove_element(tags::NUMBER_OF_FRAMES);
    let (read, _) = read_dose(&folder.put("rd", &planar)).unwrap();
    assert_eq!(
        (read.gy.grid().size(), read.gy.grid().origin_mm().z),
        ([3, 2, 1], 5.0)
    );

    set(&mut planar, tags::DOSE_TYPE, VR::CS, "EFFECTIVE");
    set_items(&mut planar, tags::DVH_SEQUENCE, vec![item(&[]), item(&[])]);
    set_words(&mut planar, &[0; 6]);
    let (read, remarks) = read_dose(&folder.put("rd", &planar)).unwrap();
    assert_eq!(read.label, "plan effective dose, rd");
    assert_eq!(read.status_text(), "imported: biologically effective dose");
    for words in ["biologically effective", "zero everywhere", "2 DVHs"] {
        said(&remarks, words);
    }
    set_words(&mut planar, &[0, 0, 0, 0, 0, 0x8000]);
    set_u16(&mut planar, tags::PIXEL_REPRESENTATION, 1);
    let (read, remarks) = read_dose(&folder.put("rd", &planar)).unwrap();
    said(&remarks, "negative");
    assert!(
        read.status_text().contains("values below 0 Gy"),
        "{}",
        read.status_text()
    );
}

#[test]
fn a_plan_without_frame_is_tied_by_its_structure_set_and_its_dose() {
    let link = |object: &mut InMemDicomObject, tag, uid: &str| {
        set_items(
            object,
            tag,
            vec![item(&[(tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid)])],
        );
    };
    let mut lone = plan(vec![fixed("1", &[])]);
    lone.remove_element(tags::FRAME_OF_REFERENCE_UID);
    let mut by_structures = lone.clone();
    link(
        &mut by_structures,
        tags::REFERENCED_STRUCTURE_SET_SEQUENCE,
        "1.2.3.400",
    );
    let mut rd = dose(16, &[0.0, 2.0]);
    link(&mut rd, tags::REFERENCED_RT_PLAN_SEQUENCE, "1.2.3.500");
    for (plan, with_dose, plans) in [
        (&lone, false, 0),
        (&by_structures, false, 1),
        (&lone, true, 1),
    ] {
        let folder = Folder::new("tied");
        folder.put("ct", &slice(1, 0.0, 0));
        folder.put("rs", &structures());
        folder.put("rp", plan);
        if with_dose {
            folder.put("rd", &rd);
        }
        let case = open(&folder).unwrap();
        assert_eq!(case.plans.len(), plans);
        assert_eq!(case.doses.len(), usize::from(with_dose));
        if plans == 0 {
            assert_eq!(said(&case.remarks, "nothing ties it").files, ["rp"]);
        }
    }
}

/// A dose has a caveat where its plan was made with another density than the CT's.
#[test]
fn a_density_given_to_a_structure_stands_with_the_dose() {
    let folder = Folder::new("density");
    folder.put("ct", &slice(1, 0.0, 0));
    folder.put("rp", &plan(vec![fixed("1", &[])]));
    let mut rs = structures();
    let mut observation = item(&[(tags::REFERENCED_ROI_NUMBER, VR::IS, "7")]);
    let property = item(&[
        (tags::ROI_PHYSICAL_PROPERTY, VR::CS, "REL_ELEC_DENSITY"),
        (tags::ROI_PHYSICAL_PROPERTY_VALUE, VR::DS, "0.6"),
    ]);
    set_items(
        &mut observation,
        tags::ROI_PHYSICAL_PROPERTIES_SEQUENCE,
        vec![property],
    );
    set_items(
        &mut rs,
        tags::RTROI_OBSERVATIONS_SEQUENCE,
        vec![observation],
    );
    folder.put("rs", &rs);
    let case = open(&folder).unwrap();
    assert_eq!(
        case.plans[0].beams[0].not_modelled,
        ["density given to 'Heart'"]
    );
    said(
        &case.structures.remarks,
        "REL_ELEC_DENSITY: ROIPhysicalPropertyValue 0.6",
    );
}

/// Densities that this program wrote are taken, but for a structure that has become a bolus since.
#[test]
fn a_density_of_this_programs_files_is_taken() {
    let support = (StructureKind::Support, "SUPPORT");
    let bolus = (StructureKind::Bolus, "BOLUS");
    let water = &[("REL_MASS_DENSITY", "1.0"), ("MEDIUM_WATER", "1")][..];
    for ((kind, code), properties, want) in [
        (
            support,
            &[("AS_SCANNED", "1")][..],
            Some(DensityOverride::AS_SCANNED),
        ),
        (support, water, Some(DensityOverride::preset(Medium::Water))),
        (bolus, water, None),
        (support, &water[..1], None),
    ] {
        let folder = Folder::new("own-density");
        folder.put("ct", &slice(1, 0.0, 0));
        folder.put("rp", &plan(vec![fixed("1", &[])]));
        let mut rs = structures();
        let mut observation = item(&[
            (tags::REFERENCED_ROI_NUMBER, VR::IS, "7"),
            (tags::RTROI_INTERPRETED_TYPE, VR::CS, code),
        ]);
        let property = |(term, value): &(&str, &str)| {
            item(&[
                (tags::ROI_PHYSICAL_PROPERTY, VR::CS, *term),
                (tags::ROI_PHYSICAL_PROPERTY_VALUE, VR::DS, *value),
            ])
        };
        let properties = properties.iter().map(property).collect();
        set_items(
            &mut observation,
            tags::ROI_PHYSICAL_PROPERTIES_SEQUENCE,
            properties,
        );
        set_items(
            &mut rs,
            tags::RTROI_OBSERVATIONS_SEQUENCE,
            vec![observation],
        );
        folder.put("rs", &rs);
        let case = open(&folder).unwrap();
        let structure = case.structures.by_number(7).unwrap();
        assert_eq!((structure.kind, structure.density), (kind, want));
        let not_modelled = &case.plans[0].beams[0].not_modelled;
        assert_eq!(not_modelled.is_empty(), want.is_some(), "{not_modelled:?}");
    }
}

#[test]
fn structure_sets_with_everything_odd() {
    let folder = Folder::new("structures");
    let mut o = structures();
    let mut foreign = roi("4", "Elsewhere");
    set(
        &mut foreign,
        tags::REFERENCED_FRAME_OF_REFERENCE_UID,
        VR::UI,
        "1.2.3.999",
    );
    let rois = vec![
        roi("7.0", "Heart"),
        roi("2", "ptv 60"),
        roi("2", "Twin"),
        foreign,
        roi("5", "Nothing"),
    ];
    set_items(&mut o, tags::STRUCTURE_SET_ROI_SEQUENCE, rois);
    let square = [0., 0., 0., 9., 0., 0., 9., 9., 0., 0., 9., 0.];
    let beside = [20., 0., 0., 29., 0., 0., 29., 9., 0., 20., 9., 0.];
    let mut miscounted = contour("CLOSED_PLANAR", &beside);
    set(&mut miscounted, tags::NUMBER_OF_CONTOUR_POINTS, VR::IS, "5");
    let mut garbled = contour("CLOSED_PLANAR", &square);
    set(
        &mut garbled,
        tags::CONTOUR_DATA,
        VR::DS,
        "0\\0\\x\\1\\1\\1\\2\\2\\2",
    );
    let heart = vec![
        contour("CLOSED_PLANAR", &square),
        contour("POINT", &[1.0, 2.0, 3.0]),
        contour("OPEN_PLANAR", &square),
        contour("CLOSED_PLANAR", &square[..6]),
        contour("CLOSED_PLANAR", &square[..8]),
        garbled,
        miscounted,
    ];
    let ptv = vec![contour("CLOSED_PLANAR", &[4.0, 5.0, 6.0])];
    set_items(
        &mut o,
        tags::ROI_CONTOUR_SEQUENCE,
        vec![drawn("7", heart), drawn("2", ptv)],
    );
    let mut observation = InMemDicomObject::new_empty();
    o.put(DataElement::new(
        tags::CONTENT_DATE,
        VR::DA,
        PrimitiveValue::Empty,
    ));
    set(&mut observation, tags::REFERENCED_ROI_NUMBER, VR::IS, "7");
    set(
        &mut observation,
        tags::RTROI_INTERPRETED_TYPE,
        VR::CS,
        "ORGAN",
    );
    set_items(&mut o, tags::RTROI_OBSERVATIONS_SEQUENCE, vec![observation]);
    let set = read_structures(&folder.put("rs", &o)).unwrap();

    let found: Vec<(&str, u32, StructureKind, usize, usize)> = set
        .structures
        .iter()
        .map(|s| {
            (
                s.name.as_str(),
                s.number,
                s.kind,
                s.contours.len(),
                s.points_mm.len(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("Heart", 7, StructureKind::Organ, 2, 1),
            ("ptv 60", 2, StructureKind::Ptv, 0, 1),
            ("Nothing", 5, StructureKind::Other, 0, 0)
        ]
    );
    assert_eq!(set.structures[0].colour.0, [10, 20, 255]);
    assert_eq!(
        set.structures[0].contours[0].points_mm[2],
        DVec3::new(9.0, 9.0, 0.0)
    );
    for words in [
        "'Twin' has the ROINumber 2 of another",
        "'Elsewhere' is drawn in another frame",
        "1 contour(s) left out: open lines",
        "1 contour(s) left out: 2 points",
        "1 contour(s) left out: its ContourData are 8 values",
        "1 contour(s) left out: its ContourData is 'x', which is no number",
        "1 contour(s) with another number of points",
        "1 structure(s) have no contours (ROIContourSequence, ContourSequence): Nothing",
    ] {
        said(&set.remarks, words);
    }
}

/// PS3.5 H.3.2 (Japanese), I.2 (Korean), C.12.1.1.2 of PS3.3 (Turkish): read, and written in one character set for all objects
/// of an export.
#[test]
fn names_in_sets_with_code_extensions_leave_as_they_are() {
    let japanese =
        b"Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B=\x1b$B$d$^$@\x1b(B^\x1b$B$?$m$&\x1b(B";
    let korean =
        b"Hong^Gildong=\x1b$)C\xfb\xf3^\x1b$)C\xd1\xce\xd4\xd7=\x1b$)C\xc8\xab^\x1b$)C\xb1\xe6\xb5\xbf";
    for (set_of, bytes, name, roi_bytes, roi_name) in [
        (
            "\\ISO 2022 IR 87",
            &japanese[..],
            "Yamada^Tarou=山田^太郎=やまだ^たろう",
            &b"\x1b$BI8E*\x1b(B"[..],
            "標的",
        ),
        (
            "\\ISO 2022 IR 149",
            korean,
            "Hong^Gildong=洪^吉洞=홍^길동",
            b"\x1b$)C\xc7\xa5\xc0\xfb",
            "표적",
        ),
        (
            "ISO_IR 148",
            b"I\xfe\xfdk^Ay\xfee",
            "Işık^Ayşe",
            b"Hedef_\xfd\xfe\xfdn",
            "Hedef_ışın",
        ),
    ] {
        let folder = Folder::new("charset");
        let raw = |o: &mut InMemDicomObject, tag, vr, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(2), b' ');
            o.put(DataElement::new(tag, vr, PrimitiveValue::U8(bytes.into())));
        };
        let stated = |mut o: InMemDicomObject| {
            set(&mut o, tags::SPECIFIC_CHARACTER_SET, VR::CS, set_of);
            raw(&mut o, tags::PATIENT_NAME, VR::PN, bytes);
            o
        };
        for n in 0..3_u16 {
            let slice = stated(slice(u32::from(n) + 1, 3.0 * f64::from(n), 10 * n));
            folder.put(&format!("{n}.dcm"), &slice);
        }
        let mut named = roi("7", "");
        raw(&mut named, tags::ROI_NAME, VR::LO, roi_bytes);
        let mut set_with_name = structures();
        set_items(
            &mut set_with_name,
            tags::STRUCTURE_SET_ROI_SEQUENCE,
            vec![named],
        );
        folder.put("rs.dcm", &stated(set_with_name));
        folder.put("rp.dcm", &stated(plan(vec![fixed("1", &[])])));
        let mut case = open(&folder).unwrap();
        assert_eq!(case.patient.name, name);
        let doubts = case
            .remarks
            .iter()
            .any(|remark| remark.message.contains("SpecificCharacterSet"));
        assert!(!doubts, "{:?}", case.remarks);
        assert_eq!(case.structures.structures[0].name, roi_name);
        // A changed plan and another structure are written anew, beside the copied CT.
        let plan = std::sync::Arc::make_mut(&mut case.plans[0]);
        plan.beams[0].mu += 1.0;
        std::sync::Arc::make_mut(&mut case.structures).structures[0]
            .colour
            .0[0] ^= 1;
        let out = Folder::new("charset-out");
        let parts = vec![ExportPart::Ct, ExportPart::Structures, ExportPart::Plan];
        let options = ExportOptions {
            parts,
            ..ExportOptions::default()
        };
        let no_doses = |_: &Case| -> Result<Vec<Option<PlanDoses>>, WriteError> {
            panic!("no dose is asked for")
        };
        export(&out.0, &case, &options, no_doses, &|_| true).unwrap();
        for file in ["RS.dcm", "RP.dcm"] {
            // Another reader, which knows UTF-8.
            let object = dicom_object::open_file(out.0.join(file)).unwrap();
            let text = |tag| {
                object
                    .element(tag)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .trim_end()
                    .to_owned()
            };
            assert_eq!(
                [text(tags::SPECIFIC_CHARACTER_SET), text(tags::PATIENT_NAME)],
                ["ISO_IR 192", name]
            );
        }
        let back = open(&out).unwrap();
        assert_eq!(back.patient.name, name);
        assert_eq!(back.structures.structures[0].name, roi_name);
    }
}

/// Letters without a set that has them are guessed, and that is said as a warning.
#[test]
fn letters_of_no_stated_set_are_warned_of() {
    let folder = Folder::new("charset-none");
    for n in 0..3_u16 {
        let mut slice = slice(u32::from(n) + 1, 3.0 * f64::from(n), 10 * n);
        let bytes = b"M\xfcller^Eva ".to_vec();
        slice.put(DataElement::new(
            tags::PATIENT_NAME,
            VR::PN,
            PrimitiveValue::U8(bytes.into()),
        ));
        folder.put(&format!("{n}.dcm"), &slice);
    }
    let case = open(&folder).unwrap();
    assert_eq!(case.patient.name, "Müller^Eva");
    let remark = said(&case.remarks, "letters beyond ASCII");
    assert_eq!(
        (remark.severity, remark.files.len()),
        (Severity::Warning, 3)
    );
}
