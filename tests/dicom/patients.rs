//! The reader against real cases: figures from `data/patients/README.md`.

use crate::common::opened::open;
use crate::common::patient_case;
use beamsight::case::{DoseStatus, Radiation, Remark, Severity, StructureKind};
use beamsight::dicom::{Choice, load, scan};

fn said(remarks: &[Remark], words: &str) {
    assert!(
        remarks.iter().any(|r| r.message.contains(words)),
        "'{words}' in {remarks:#?}"
    );
}

#[test]
fn lung1_001_opens_as_it_is_described() {
    let Some(case) = open("lung1-001") else {
        return;
    };
    let ct = case.ct.unwrap();
    let grid = ct.hu.grid();
    assert_eq!(grid.size(), [512, 512, 134]);
    assert!(
        grid.spacing_xy_mm()
            .iter()
            .all(|s| (s - 0.9766).abs() < 5e-5),
        "{:?}",
        grid.spacing_xy_mm()
    );
    assert!((grid.origin_mm().z + 681.5).abs() < 1e-9);
    assert!((grid.planes_mm()[133] - (681.5 - 282.5)).abs() < 1e-9);
    let highest = ct.hu.data().iter().copied().fold(f32::MIN, f32::max);
    let lowest = ct.hu.data().iter().copied().fold(f32::MAX, f32::min);
    assert_eq!((lowest, highest), (-1024.0, 3034.0));
    let contours: Vec<(&str, usize)> = case
        .structures
        .structures
        .iter()
        .map(|s| (s.name.as_str(), s.contours.len()))
        .collect();
    assert_eq!(
        contours,
        [
            ("GTV-1", 21),
            ("Spinal-Cord", 84),
            ("Lung-Left", 139),
            ("Lung-Right", 114)
        ]
    );
    assert_eq!(
        case.structures.frame_of_reference_uid,
        ct.frame_of_reference_uid
    );
    assert_eq!(ct.plane_uids.len(), 134);
}

#[test]
fn openkbp_pt200_opens_as_it_is_described() {
    let Some(case) = open("openkbp-pt200") else {
        return;
    };
    let ct = case.ct.unwrap();
    assert_eq!(ct.hu.grid().size(), [128; 3]);
    assert_eq!(ct.hu.grid().spacing_xy_mm(), [3.906; 2]);
    assert_eq!(ct.hu.grid().even_plane_spacing_mm(), Some(2.5));
    // Centred on (0, 0, 0).
    assert!(
        ct.hu.grid().middle_mm().length() < 1e-6,
        "{}",
        ct.hu.grid().middle_mm()
    );
    let names: Vec<&str> = case
        .structures
        .structures
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    let expected =
        "PTV70 PTV63 PTV56 Brainstem SpinalCord RightParotid LeftParotid Esophagus Larynx Mandible";
    assert_eq!(names.join(" "), expected);
    assert_eq!(
        case.structures.by_name("PTV56").unwrap().contours.len(),
        578
    );
    let dose = &case.doses[0];
    assert!((dose.max_gy() - 73.769).abs() < 5e-4, "{}", dose.max_gy());
    assert_eq!(dose.status, DoseStatus::Imported);
    assert_eq!(
        **dose.gy.grid(),
        **ct.hu.grid(),
        "CT and dose share the published grid"
    );
    said(&case.remarks, "the plan of 'plan dose, ");
}

#[test]
fn breast_imrt_opens_as_it_is_described() {
    let Some(case) = open("breast-imrt") else {
        return;
    };
    assert_eq!(case.ct.as_ref().unwrap().hu.grid().size(), [512, 512, 1]);
    said(&case.ct.as_ref().unwrap().remarks, "a single plane");
    let plan = &case.plans[0];
    assert_eq!((plan.fractions, plan.prescription_gy), (7, Some(14.0)));
    let fields: Vec<(f64, Option<f64>)> = plan
        .beams
        .iter()
        .map(|b| (b.control_points[0].gantry_deg, b.energy_mv))
        .collect();
    assert_eq!(
        fields,
        [
            (327.0, Some(10.0)),
            (0.0, Some(6.0)),
            (56.0, Some(6.0)),
            (150.0, Some(10.0))
        ]
    );
    for beam in &plan.beams {
        assert!((92..=103).contains(&beam.control_points.len()));
        assert_eq!(beam.mlc.as_ref().unwrap().boundaries_mm.len(), 61);
        assert!(beam.control_points.iter().all(|c| c.leaves_mm.len() == 60));
        assert!(beam.read_only.is_none());
    }
    let dose = &case.doses[0];
    assert_eq!(dose.gy.grid().size(), [194, 129, 98]);
    assert_eq!(dose.gy.grid().spacing_xy_mm(), [2.5; 2]);
    assert!((dose.max_gy() - 14.6808).abs() < 5e-5, "{}", dose.max_gy());
    said(&case.remarks, "9 DVHs");
    let names: Vec<&str> = case
        .structures
        .structures
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    let expected = "BODY,Areola,Borders,Breast,Heart,Lt Lung,Nodes,Scar,Tumor Bed,Tumor Bed Block";
    assert_eq!(names.join(","), expected);
    said(&case.structures.remarks, "Areola");
}

#[test]
fn oncentra_phantom_opens_as_it_is_described() {
    let Some(case) = open("oncentra-phantom") else {
        return;
    };
    let ct = case.ct.unwrap();
    assert_eq!(ct.hu.grid().size(), [512, 171, 5]);
    assert_eq!(ct.hu.grid().even_plane_spacing_mm(), Some(75.0));
    said(&ct.remarks, "SliceThickness is 0 mm");
    let names: Vec<&str> = case
        .structures
        .structures
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(
        names.join(" "),
        "External Big Small Circle BigH_SmallV BigV_SmallH Star"
    );
    let beams = &case.plans[0].beams;
    let gantry: Vec<f64> = beams
        .iter()
        .map(|b| b.control_points[0].gantry_deg)
        .collect();
    assert_eq!(gantry, [0.0, 90.0, 180.0]);
    assert_eq!(beams[1].control_points[0].leaves_mm.len(), 40);
    assert_eq!(beams[2].radiation, Radiation::Electron);
    assert!(beams[2].read_only.is_some() && beams[0].read_only.is_none());
    assert_eq!(case.doses.len(), 4);
    assert_eq!(case.doses.iter().filter(|d| d.max_gy() == 0.0).count(), 1);
    said(&case.remarks, "zero everywhere");
}

#[test]
fn a_case_without_images_opens() {
    let Some(case) = open("eclipse-rando-breast") else {
        return;
    };
    assert!(case.ct.is_none());
    let drawn: Vec<&str> = case
        .structures
        .structures
        .iter()
        .filter(|s| !s.contours.is_empty())
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(drawn, ["BODY"]);
    let gantry: Vec<f64> = case.plans[0]
        .beams
        .iter()
        .map(|b| b.control_points[0].gantry_deg)
        .collect();
    assert_eq!(gantry, [316.0, 136.0]);
    assert_eq!(case.doses[0].gy.grid().size(), [188, 92, 91]);
    // Every value is a whole number of scalings.
    let steps = case.doses[0]
        .gy
        .data()
        .iter()
        .map(|&v| f64::from(v) / 4.32898e-5);
    let worst = steps
        .map(|n| (n - n.round()).abs() / n.max(1.0))
        .fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst}");
}

#[test]
fn box_phantom_opens_as_it_is_described() {
    let Some(case) = open("box-phantom") else {
        return;
    };
    let ct = case.ct.unwrap();
    assert_eq!(ct.hu.grid().size(), [160; 3]);
    assert_eq!(
        (
            ct.hu.grid().spacing_xy_mm(),
            ct.hu.grid().even_plane_spacing_mm()
        ),
        ([3.0; 2], Some(3.0))
    );
    assert_eq!(
        ct.hu.data().iter().filter(|&&hu| hu == 0.0).count(),
        531_441
    );
    assert!(ct.hu.data().iter().all(|&hu| hu == 0.0 || hu == -1024.0));
    let kinds: Vec<StructureKind> = case.structures.structures.iter().map(|s| s.kind).collect();
    assert_eq!(kinds, [StructureKind::External, StructureKind::Ptv]);
}

#[test]
fn of_three_modalities_the_ct_and_its_structures_are_shown() {
    let Some(folder) = patient_case("sts-001") else {
        return;
    };
    let catalogue = scan(&folder, &|_| true).unwrap();
    let series: Vec<(&str, usize)> = catalogue
        .series
        .iter()
        .map(|s| (s.modality.as_str(), s.planes))
        .collect();
    assert_eq!(series, [("CT", 59), ("MR", 59), ("PT", 59)]);
    assert_eq!(catalogue.structure_sets.len(), 3);
    let case = load(&catalogue, Choice::default(), &|_| true).unwrap();
    assert_eq!(case.ct.as_ref().unwrap().hu.grid().size(), [198, 202, 59]);
    assert!((case.ct.unwrap().hu.grid().planes_mm()[58] - 58.0 * 3.27).abs() < 0.1);
    assert_eq!(case.structures.structures[0].name, "GTV_Mass_CT");
    let pet = catalogue
        .structure_sets
        .iter()
        .position(|s| s.drawn_on.as_deref() == Some("PT"));
    let choice = Choice {
        structure_set: pet,
        ..Choice::default()
    };
    let case = load(&catalogue, choice, &|_| true).unwrap();
    assert!(
        case.structures.structures[0].name.contains("PET"),
        "{}",
        case.structures.structures[0].name
    );
}

#[test]
fn plans_of_five_systems_open() {
    let Some(folder) = patient_case("rtplans-dev") else {
        return;
    };
    // Beams, control points of each, leaf pairs, machine.
    for (file, points, pairs, machine) in [
        ("RP.TG119.CS_TB_2A_1.dcm", vec![180, 180], 60, "generic-6mv"),
        (
            "RP.TG119.PR_UN_7F.dcm",
            vec![162, 83, 86, 109, 164, 86, 82],
            60,
            "generic-6mv",
        ),
        (
            "RP1.2.752.243.1.1.20230623170950828.2520.26087.dcm",
            vec![91, 91],
            60,
            "generic-6mv",
        ),
        (
            "RTPLAN_MO_PT_02.dcm",
            vec![51, 51, 47, 52, 40],
            80,
            "generic-6mv-fff",
        ),
        ("RTPLAN_PI_PT_01.dcm", vec![90, 90], 80, "generic-6mv"),
    ] {
        let catalogue = scan(&folder.join(file), &|_| true).unwrap();
        let case = load(&catalogue, Choice::default(), &|_| true).unwrap();
        let plan = &case.plans[0];
        let found: Vec<usize> = plan.beams.iter().map(|b| b.control_points.len()).collect();
        assert_eq!(found, points, "{file}");
        assert_eq!(plan.machine, machine);
        for beam in &plan.beams {
            assert!(beam.read_only.is_none() && beam.mu > 0.0);
            let weights: Vec<f64> = beam
                .control_points
                .iter()
                .map(|c| c.meterset_weight)
                .collect();
            assert!(weights.windows(2).all(|w| w[1] >= w[0]) && weights[0] == 0.0);
            assert_eq!(weights.last(), Some(&1.0));
            for point in &beam.control_points {
                assert_eq!(point.leaves_mm.len(), pairs);
                assert!(point.leaves_mm.iter().all(|[low, high]| high - low > -0.01));
            }
        }
        if file.contains("_MO_") {
            said(&plan.remarks, "no X jaw");
            assert_eq!(plan.beams[0].control_points[0].jaws.x, [-200.0, 200.0]);
        }
    }
    let mixed = scan(&folder, &|_| true).unwrap();
    let error = load(&mixed, Choice::default(), &|_| true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("mixes 4 patients") && error.contains("MO_PT_02"),
        "{error}"
    );
}

#[test]
fn a_folder_of_radiographs_says_what_it_holds() {
    let Some(folder) = patient_case("xray-dev") else {
        return;
    };
    let catalogue = scan(&folder, &|_| true).unwrap();
    let modalities: Vec<&str> = catalogue
        .others
        .iter()
        .map(|e| e.modality.as_str())
        .collect();
    assert_eq!(modalities, ["CR", "CR", "RTIMAGE"]);
    let error = load(&catalogue, Choice::default(), &|_| true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("RTIMAGE") && error.contains("add the CT series"),
        "{error}"
    );
}

#[test]
fn the_catalogue_is_a_json_object() {
    let Some(folder) = patient_case("oncentra-phantom") else {
        return;
    };
    let catalogue = scan(&folder, &|_| true).unwrap();
    let json = serde_json::to_value(&catalogue).unwrap();
    assert_eq!(json["series"][0]["planes"], 5);
    assert_eq!(json["series"][0]["size"], serde_json::json!([512, 171]));
    assert_eq!(json["patients"][0]["id"], "999999");
    assert_eq!(json["doses"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["others"][0]["modality"], "RTIMAGE");
}

/// Warnings on opening real files: none where the files are sound.
#[test]
fn warnings_are_no_noise() {
    for (name, wanted) in [
        ("lung1-001", &[][..]),
        ("openkbp-pt200", &[]),
        ("box-phantom", &[]),
        ("eclipse-rando-breast", &[]),
        ("oncentra-phantom", &["the dose is zero everywhere"]),
        (
            "sts-001",
            &["32 contour(s) name images that are not of this CT"],
        ),
        (
            "breast-imrt",
            &[
                "a single plane",
                "structure 'Scar' was planned with another ROIPhysicalProperty than the CT gives (REL_ELEC_DENSITY",
                "the plan prescribes 14 Gy to a target and 11.3113869239676 Gy to others",
                "437 contour(s) lie wholly or partly outside the CT",
                "437 contour(s) name images that are not of this CT",
                "the isocentre of",
                "the middle of 'plan dose, ",
            ],
        ),
    ] {
        let Some(case) = open(name) else { continue };
        let ct = case.ct.iter().flat_map(|ct| &ct.remarks);
        let plans = case.plans.iter().flat_map(|plan| &plan.remarks);
        let all = ct
            .chain(&case.structures.remarks)
            .chain(plans)
            .chain(&case.remarks);
        let warnings: Vec<&str> = all
            .filter(|r| r.severity == Severity::Warning)
            .map(|r| r.message.as_str())
            .collect();
        assert_eq!(warnings.len(), wanted.len(), "{name}: {warnings:#?}");
        for (warning, words) in warnings.iter().zip(wanted) {
            assert!(warning.contains(words), "{name}: '{words}' in '{warning}'");
        }
        let computed = case
            .plans
            .iter()
            .flat_map(|p| &p.beams)
            .filter(|b| b.radiation == Radiation::Photon);
        assert!(computed.clone().all(|b| b.read_only.is_none()), "{name}");
        let odd: Vec<&String> = computed.flat_map(|b| &b.not_modelled).collect();
        assert_eq!(odd.is_empty(), name != "breast-imrt", "{name}: {odd:?}");
    }
}
