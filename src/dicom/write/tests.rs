use super::*;
use crate::conforms::assert_conforms;
use crate::object::{Attributes as _, open};
use crate::{Choice, load, scan};
use case::{Approval, BeamDose, Dose, DoseStatus, Stage};
use dicom_dictionary_std::tags;
use files::demo;
use geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("beamsight-write-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn go_on(_: f32) -> bool {
    true
}

#[test]
fn a_demo_comes_back_through_the_reader() {
    let folder = folder("demo");
    let case = demo::build("tg119").unwrap();
    let (ct, belonging) = (case.ct.as_ref().unwrap(), Belonging::new(&case));
    let files = write_ct(&folder, ct, &belonging, &go_on).unwrap();
    assert_eq!(files.len(), 80);
    write_structures(
        &folder.join("RS.dcm"),
        &case.structures,
        Some(ct),
        &belonging,
    )
    .unwrap();
    assert_conforms(&files[0]);
    assert_conforms(&folder.join("RS.dcm"));

    let back = load(&scan(&folder, &go_on).unwrap(), Choice::default(), &go_on).unwrap();
    let read = back.ct.unwrap();
    assert_eq!(read.hu.data(), ct.hu.data());
    assert_eq!(read.plane_uids, ct.plane_uids);
    assert_eq!(
        (read.position, &read.frame_of_reference_uid),
        (ct.position, &ct.frame_of_reference_uid)
    );
    for (a, b) in read
        .hu
        .grid()
        .corners_mm()
        .iter()
        .zip(ct.hu.grid().corners_mm())
    {
        assert!((*a - b).length() < 1e-6);
    }
    assert!(read.remarks.is_empty(), "{:?}", read.remarks);
    assert_eq!(back.structures.structures, case.structures.structures);
    assert_eq!(back.patient, case.patient);
    std::fs::remove_dir_all(folder).unwrap();
}

fn dose(max: f32, status: DoseStatus) -> Dose {
    let grid = Grid::new(
        DVec3::new(-10.0, 5.5, 3.0),
        DVec3::X,
        DVec3::Y,
        [2.0, 2.5],
        [7, 5],
        &[0.0, 2.0, 5.0],
    )
    .unwrap();
    let n = grid.len();
    let gy = (0..n)
        .map(|v| max * (v as f32 / (n - 1) as f32).powi(2))
        .collect();
    Dose {
        gy: Arc::new(Volume::new(Arc::new(grid), gy)),
        status,
        label: "Plan".to_owned(),
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    }
}

fn belonging() -> Belonging {
    Belonging {
        patient: PatientInfo {
            name: "Müller^Grün".to_owned(),
            id: "1".to_owned(),
            ..PatientInfo::default()
        },
        study: StudyFacts {
            uid: new_uid(),
            ..StudyFacts::default()
        },
        frame_of_reference_uid: new_uid(),
        structure_set_uid: Some(new_uid()),
        plan_uid: Some(new_uid()),
        source_plan_uid: None,
        fraction_group: None,
        plan_label: None,
    }
}

/// Stored integers times the written scaling, read with plain byte arithmetic: within half a step of the dose, the
/// largest at the top of the range. `dciodvfy` aborts on 32 bits, so the 16-bit sibling stands for both.
#[test]
fn doses_use_the_full_range_of_their_bits() {
    let folder = folder("dose");
    for (bits, name) in [
        (DoseBits::Sixteen, "16.dcm"),
        (DoseBits::ThirtyTwo, "32.dcm"),
    ] {
        for max in [61.234_567_f32, 1e-5, 0.0] {
            let path = folder.join(name);
            let dose = dose(max, DoseStatus::Final);
            write_dose(&path, &dose, &belonging(), bits).unwrap();
            let object = open(&path).unwrap();
            let text = object.text(tags::DOSE_GRID_SCALING).unwrap();
            assert!(text.len() <= 16);
            let scaling: f64 = text.parse().unwrap();
            let file = dicom_object::open_file(&path).unwrap();
            let bytes = file.get(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
            let stored: Vec<f64> = match bits {
                DoseBits::Sixteen => bytes
                    .chunks(2)
                    .map(|b| f64::from(u16::from_le_bytes([b[0], b[1]])))
                    .collect(),
                DoseBits::ThirtyTwo => bytes
                    .chunks(4)
                    .map(|b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])))
                    .collect(),
            };
            // An odd number of 16-bit values is already even in bytes.
            assert_eq!(stored.len(), dose.gy.data().len());
            for (n, gy) in stored.iter().zip(dose.gy.data()) {
                assert!(
                    (n * scaling - f64::from(*gy)).abs() <= 0.501 * scaling,
                    "{n} x {scaling} for {gy}"
                );
            }
            if max > 0.0 {
                assert!(stored.iter().copied().fold(0.0, f64::max) > bits.largest() * 0.999_999);
            }
            assert_eq!(
                object.numbers(tags::GRID_FRAME_OFFSET_VECTOR),
                [0.0, 2.0, 5.0]
            );
            assert_eq!(object.numbers(tags::PIXEL_SPACING), [2.5, 2.0]);
            assert_eq!(
                object.text(tags::PATIENT_NAME).as_deref(),
                Some("Müller^Grün")
            );
            if bits == DoseBits::Sixteen {
                assert_conforms(&path);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_dose_that_is_not_final_leaves_no_file() {
    let folder = folder("refused");
    let path = folder.join("d.dcm");
    use DoseStatus::{Coarse, Failed, Partial, Preview, Stale};
    for status in [Coarse, Partial, Preview, Stale, Failed] {
        let error =
            write_dose(&path, &dose(1.0, status), &belonging(), DoseBits::ThirtyTwo).unwrap_err();
        assert!(
            error.to_string().contains(status.word()) && error.to_string().contains(".mha"),
            "{error}"
        );
    }
    let caveats = vec!["bolus not modelled".to_owned()];
    let limited = Dose {
        caveats,
        ..dose(1.0, DoseStatus::Final)
    };
    let error = write_dose(&path, &limited, &belonging(), DoseBits::ThirtyTwo).unwrap_err();
    assert!(
        error.to_string().contains("final: bolus not modelled"),
        "{error}"
    );
    let error = write_dose(
        &path,
        &dose(f32::NAN, DoseStatus::Final),
        &belonging(),
        DoseBits::ThirtyTwo,
    )
    .unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    let orphan = Belonging {
        plan_uid: None,
        ..belonging()
    };
    assert!(
        write_dose(
            &path,
            &dose(1.0, DoseStatus::Final),
            &orphan,
            DoseBits::ThirtyTwo
        )
        .is_err()
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = write_dose(
        &path,
        &dose(1.0, DoseStatus::Final),
        &belonging(),
        DoseBits::ThirtyTwo,
    )
    .unwrap_err();
    assert!(gone.to_string().contains("d.dcm"), "{gone}");
}

#[test]
fn a_beam_without_flattening_filter_comes_back_as_one() {
    let folder = folder("fff");
    let case = demo::build("water").unwrap();
    let mut plan = (*case.plans[0]).clone();
    plan.machine = "generic-6mv-fff".to_owned();
    plan.beams[0].unflattened = true;
    let path = folder.join("fff.dcm");
    write_plan(&path, &plan, &[], &Belonging::new(&case)).unwrap();
    assert_conforms(&path);
    let read = crate::read_plan(&path, None).unwrap();
    assert!(read.beams[0].unflattened);
    assert_eq!(read.machine_of(&read.beams[0]), "generic-6mv-fff");
}

/// PS3.3, C.8.8.16: a reviewer, a date and a time belong to an approval or a rejection, and to nothing else.
#[test]
fn an_approval_leaves_as_dicom_has_it_and_comes_back() {
    let folder = folder("approval");
    let case = demo::build("water").unwrap();
    let path = folder.join("plan.dcm");
    let reviewer = [tags::REVIEW_DATE, tags::REVIEW_TIME, tags::REVIEWER_NAME];
    for (approval, status, kept) in [
        (None, "UNAPPROVED", false),
        (
            Some(approval_record(Stage::Reviewed, "Grün, Jörg")),
            "UNAPPROVED",
            false,
        ),
        (
            Some(approval_record(Stage::Approved, "Grün, Jörg")),
            "APPROVED",
            true,
        ),
        (
            Some(approval_record(Stage::Rejected, "张小东")),
            "REJECTED",
            true,
        ),
    ] {
        let plan = case::Plan {
            approval: approval.clone(),
            ..(*case.plans[0]).clone()
        };
        write_plan(&path, &plan, &[], &Belonging::new(&case)).unwrap();
        assert_conforms(&path);
        let object = open(&path).unwrap();
        assert_eq!(object.text(tags::APPROVAL_STATUS).as_deref(), Some(status));
        let written = reviewer.map(|tag| object.text(tag));
        if kept {
            let by = approval.as_ref().map(|approval| approval.by.clone());
            assert_eq!(
                written,
                [Some("20261126".to_owned()), Some("214303".to_owned()), by]
            );
        } else {
            assert_eq!(written, [None, None, None]);
        }
        assert_eq!(
            crate::read_plan(&path, None).unwrap().approval,
            approval.filter(|_| kept)
        );
    }
    // Carets and backslashes would make other parts and values of the name.
    let plan = case::Plan {
        approval: Some(approval_record(Stage::Approved, "A\\B^C=D")),
        ..(*case.plans[0]).clone()
    };
    write_plan(&path, &plan, &[], &Belonging::new(&case)).unwrap();
    assert_eq!(
        open(&path).unwrap().text(tags::REVIEWER_NAME).as_deref(),
        Some("A B C D")
    );
    std::fs::remove_dir_all(folder).unwrap();
}

fn approval_record(stage: Stage, by: &str) -> Approval {
    Approval {
        stage,
        by: by.to_owned(),
        at: "2026-11-26 21:43:03 UTC".to_owned(),
        reason: String::new(),
    }
}

#[test]
fn plans_have_what_other_systems_ask_for() {
    let folder = folder("plan");
    for name in ["water", "tg119"] {
        let case = demo::build(name).unwrap();
        let path = folder.join(format!("{name}.dcm"));
        write_plan(&path, &case.plans[0], &[], &Belonging::new(&case)).unwrap();
        assert_conforms(&path);
        let object = open(&path).unwrap();
        let beams = object.items(tags::BEAM_SEQUENCE);
        assert_eq!(beams.len(), case.plans[0].beams.len());
        for (item, beam) in beams.iter().zip(&case.plans[0].beams) {
            let points = item.items(tags::CONTROL_POINT_SEQUENCE);
            assert_eq!(points.len(), beam.control_points.len().max(2));
            assert_eq!(
                points[0].number(tags::NOMINAL_BEAM_ENERGY),
                Some(6.0),
                "that of generic-6mv"
            );
            let weights: Vec<_> = points
                .iter()
                .map(|p| p.number(tags::CUMULATIVE_METERSET_WEIGHT))
                .collect();
            assert_eq!(
                (weights[0], weights[points.len() - 1]),
                (Some(0.0), Some(1.0))
            );
        }
        let group = &object.items(tags::FRACTION_GROUP_SEQUENCE)[0];
        let mu: f64 = group
            .items(tags::REFERENCED_BEAM_SEQUENCE)
            .iter()
            .filter_map(|b| b.number(tags::BEAM_METERSET))
            .sum();
        assert!((mu - case.plans[0].mu()).abs() < 1e-9);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The attributes of the file against the input of its computation.
#[test]
fn a_plan_says_what_was_computed_and_from_which_it_was_made() {
    let folder = folder("computed");
    let case = demo::build("water").unwrap();
    let mut plan = (*case.plans[0]).clone();
    // A machine of 6.3 MV at 800 mm from a file, for a plan of 6 MV and 800 mm.
    let file = folder.join("near.toml");
    let near = include_str!("../../../assets/machines/point-6mv.toml");
    let near = near
        .replace("sad_mm = 1000.0", "sad_mm = 800.0")
        .replace("nominal_mv = 6.0", "nominal_mv = 6.3");
    let near = near.replace("name = \"point-6mv\"", "name = \"near\"");
    std::fs::write(&file, near).unwrap();
    plan.machine = file.display().to_string();
    plan.beams[0].energy_mv = Some(6.0);
    plan.beams[0].source_axis_mm = Some(800.0);
    let mut setup = plan.beams[0].clone();
    setup.number = 99;
    setup.setup = true;
    setup.read_only = Some("it is a setup field".to_owned());
    plan.beams.push(setup);
    let beam = plan.beams[0].number;
    let doses = [BeamDose {
        beam,
        point_mm: DVec3::new(1.5, -2.0, 3.0),
        gy: 1.234_5,
    }];
    let belonging = Belonging {
        source_plan_uid: Some("1.2.3.4".to_owned()),
        ..Belonging::new(&case)
    };
    let path = folder.join("plan.dcm");
    write_plan(&path, &plan, &doses, &belonging).unwrap();
    assert_conforms(&path);
    let object = open(&path).unwrap();
    let beams = object.items(tags::BEAM_SEQUENCE);
    assert_eq!(
        beams.len(),
        plan.beams.len() - 1,
        "setup fields were not computed"
    );
    assert_eq!(
        beams[0].text(tags::TREATMENT_MACHINE_NAME).as_deref(),
        Some("near")
    );
    assert_eq!(beams[0].number(tags::SOURCE_AXIS_DISTANCE), Some(800.0));
    let point = &beams[0].items(tags::CONTROL_POINT_SEQUENCE)[0];
    assert_eq!(point.number(tags::NOMINAL_BEAM_ENERGY), Some(6.3));
    let source = &object.items(tags::REFERENCED_RT_PLAN_SEQUENCE)[0];
    assert_eq!(
        source.text(tags::REFERENCED_SOP_INSTANCE_UID).as_deref(),
        Some("1.2.3.4")
    );
    assert_eq!(
        source.text(tags::RT_PLAN_RELATIONSHIP).as_deref(),
        Some("PREDECESSOR")
    );
    let group = &object.items(tags::FRACTION_GROUP_SEQUENCE)[0];
    let beams = group.items(tags::REFERENCED_BEAM_SEQUENCE);
    assert_eq!(group.whole(tags::NUMBER_OF_BEAMS), Some(beams.len() as i64));
    assert_eq!(beams[0].number(tags::BEAM_DOSE), Some(1.2345));
    assert_eq!(
        beams[0].numbers(dicom_core::Tag(0x300A, 0x0082)),
        [1.5, -2.0, 3.0]
    );
    assert!(
        beams[1..]
            .iter()
            .all(|b| b.number(tags::BEAM_DOSE).is_none()),
        "what is not known is not said"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_plan_that_was_computed_otherwise_is_refused() {
    let folder = folder("otherwise");
    let case = demo::build("water").unwrap();
    let path = folder.join("plan.dcm");
    let refused = |change: &dyn Fn(&mut case::Beam)| {
        let mut plan = (*case.plans[0]).clone();
        change(&mut plan.beams[0]);
        let error = write_plan(&path, &plan, &[], &Belonging::new(&case))
            .unwrap_err()
            .to_string();
        assert!(
            !path.exists() && error.contains(&plan.beams[0].name),
            "{error}"
        );
        error
    };
    let error = refused(&|b| b.source_axis_mm = Some(1050.0));
    assert!(
        error.contains("1050 mm") && error.contains("generic-6mv") && error.contains("1000 mm"),
        "{error}"
    );
    assert!(refused(&|b| b.source_axis_mm = Some(f64::NAN)).contains("NaN"));
    let error = refused(&|b| b.energy_mv = Some(18.0));
    assert!(error.contains("18 MV") && error.contains("6 MV"), "{error}");
    assert!(refused(&|b| b.unflattened = true).contains("flattening filter"));
    assert!(refused(&|b| b.not_modelled = vec!["bolus not modelled".to_owned()]).contains("bolus"));
    assert!(refused(&|b| b.accessories = vec!["T1".to_owned()]).contains("accessory 'T1'"));
    assert!(refused(&|b| b.read_only = Some("it has a wedge".to_owned())).contains("wedge"));
    assert!(refused(&|b| b.machine = Some("linac-7".to_owned())).contains("linac-7"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Header and stored values by plain arithmetic: the first pixel up and to the left of the receptor's middle, which lies
/// below the isocentre by SID less SAD.
#[test]
fn a_radiograph_keeps_its_geometry_and_values() {
    use case::{PixelMeaning, Radiograph};
    use geometry::{ImagingSetup, PatientPosition};
    let setup = ImagingSetup {
        position: PatientPosition::Ffs,
        gantry_deg: 30.0,
        couch_deg: 350.0,
        isocentre_mm: DVec3::new(1.0, -2.0, 3.5),
        sad_mm: 1000.0,
        sid_mm: 1500.0,
        shift_mm: [4.0, -6.0],
        pixel_mm: [0.4, 0.5],
        columns: 5,
        rows: 3,
    };
    let values: Vec<f32> = (0..15).map(|n| 0.25 + n as f32 * 0.5).collect();
    let projection = setup.projection().unwrap();
    let image = Radiograph::new(values.clone(), PixelMeaning::Attenuation, projection, "DRR");
    let folder = folder("rtimage");
    let path = folder.join("RI.dcm");
    let refused = write_radiograph(&path, &image, &belonging())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("angles") && !path.exists(), "{refused}");
    write_radiograph(
        &path,
        &Radiograph {
            setup: Some(setup),
            ..image
        },
        &belonging(),
    )
    .unwrap();
    assert_conforms(&path);
    let object = open(&path).unwrap();
    assert_eq!(object.numbers(tags::RT_IMAGE_POSITION), [-0.8, 0.5]);
    assert_eq!(
        object.numbers(tags::X_RAY_IMAGE_RECEPTOR_TRANSLATION),
        [4.0, -6.0, -500.0]
    );
    assert_eq!(object.numbers(tags::IMAGE_PLANE_PIXEL_SPACING), [0.5, 0.4]);
    assert_eq!(object.numbers(tags::ISOCENTER_POSITION), [1.0, -2.0, 3.5]);
    assert_eq!(object.numbers(tags::PATIENT_SUPPORT_ANGLE), [350.0]);
    assert_eq!(object.text(tags::PATIENT_POSITION).as_deref(), Some("FFS"));
    assert_eq!(
        object.text(tags::PIXEL_INTENSITY_RELATIONSHIP).as_deref(),
        Some("LOG")
    );
    let [slope, intercept] =
        [tags::RESCALE_SLOPE, tags::RESCALE_INTERCEPT].map(|tag| object.numbers(tag)[0]);
    let file = dicom_object::open_file(&path).unwrap();
    let bytes = file.get(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
    for (stored, value) in bytes.chunks(2).zip(&values) {
        let stored = f64::from(u16::from_le_bytes([stored[0], stored[1]]));
        assert!((stored * slope + intercept - f64::from(*value)).abs() <= 0.51 * slope);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
