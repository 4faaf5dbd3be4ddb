//! Registration, DRRs and X-rays of an export: the matrix and the picture against points moved by hand.

use crate::common::conforms::assert_conforms;
use crate::common::registration::read_registration;
use crate::common::synthetic::Folder;
use beamsight::case::{Case, Ct, PatientInfo, PixelMeaning, Placement, Pose, Radiograph};
use beamsight::dicom::{
    Anonymise, Belonging, ExportOptions, ExportPart, Exported, StudyFacts, read_radiograph,
    write_radiograph,
};
use beamsight::engine::{DeviceChoice, JobControl};
use beamsight::geometry::{Grid, ImagingSetup, PatientPosition, Volume};
use beamsight::physics::{AttenuationCurve, CurveKind, HuTable};
use beamsight::registration::PoseStanding;
use beamsight::results::{
    DosesToExport, ExportFailure, ExportHow, Settings, XRay, XRays, export_case,
};
use dicom_dictionary_std::tags;
use glam::{DVec3, DVec4};
use std::path::Path;
use std::sync::Arc;

const BALL_MM: DVec3 = DVec3::new(21.0, -15.0, 18.0);
const CENTRE_MM: DVec3 = DVec3::new(3.0, -2.0, 5.0);
const PARTS: [ExportPart; 4] = [
    ExportPart::Ct,
    ExportPart::Registration,
    ExportPart::Drr,
    ExportPart::Xray,
];

/// Air with one dense ball of 4 mm.
fn case() -> Case {
    let grid = Grid::axis_aligned(DVec3::splat(-60.0), DVec3::splat(3.0), [41; 3]).unwrap();
    let [nx, ny, _] = grid.size();
    let hu = |n: usize| {
        let at = grid.centre_mm(n % nx, n / nx % ny, n / (nx * ny));
        if (at - BALL_MM).length() < 4.0 {
            2000.0
        } else {
            -1000.0
        }
    };
    let hu = (0..grid.len()).map(hu).collect();
    let ct = Ct::unnamed(
        Arc::new(Volume::new(Arc::new(grid), hu)),
        PatientPosition::Hfs,
    );
    let patient = PatientInfo {
        name: "Test^One".to_owned(),
        id: "P-1234".to_owned(),
        ..PatientInfo::default()
    };
    Case {
        ct: Some(Arc::new(ct)),
        patient,
        source: "balls".to_owned(),
        ..Case::default()
    }
}

fn setup(gantry_deg: f64) -> ImagingSetup {
    ImagingSetup {
        position: PatientPosition::Hfs,
        gantry_deg,
        couch_deg: 0.0,
        isocentre_mm: CENTRE_MM,
        sad_mm: 1000.0,
        sid_mm: 1500.0,
        shift_mm: [2.0, -3.0],
        pixel_mm: [1.0, 1.5],
        columns: 160,
        rows: 120,
    }
}

/// X-rays as files, of a patient.
fn xrays(folder: &Folder, case: &Case, pose: Pose) -> XRays {
    let image = |n: usize| {
        let setup = setup(40.0 + 90.0 * n as f64);
        let projection = setup.projection().unwrap();
        let values = (0..projection.pixels())
            .map(|p| 1.0 + (p % 97) as f32)
            .collect();
        let of = Radiograph::new(values, PixelMeaning::Transmission, projection, "kV");
        let path = folder.0.join(format!("kv-{n}.dcm"));
        let study = StudyFacts {
            uid: "2.25.1234567".to_owned(),
            ..StudyFacts::default()
        };
        let frame_of_reference_uid = "2.25.7654321".to_owned();
        let belonging = Belonging {
            patient: case.patient.clone(),
            study,
            frame_of_reference_uid,
            ..Belonging::default()
        };
        write_radiograph(
            &path,
            &Radiograph {
                setup: Some(setup),
                ..of
            },
            &belonging,
        )
        .unwrap();
        let (radiograph, _) = read_radiograph(&path, &Placement::default()).unwrap();
        XRay {
            radiograph: Arc::new(radiograph),
            path,
        }
    };
    let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), 0.06);
    XRays {
        images: vec![image(0), image(1)],
        pose,
        standing: PoseStanding::ByHand,
        centre_mm: CENTRE_MM,
        curve,
    }
}

fn exported(
    out: &Path,
    case: &Case,
    xrays: Option<&XRays>,
    anonymise: Option<Anonymise>,
) -> Result<Exported, ExportFailure> {
    let settings = Settings {
        device: DeviceChoice::Cpu,
        ..Settings::default()
    };
    let options = ExportOptions {
        parts: PARTS.to_vec(),
        anonymise,
        ..ExportOptions::default()
    };
    let how = ExportHow {
        doses: DosesToExport::Both,
        settings: &settings,
        engines: &[],
        xrays,
    };
    export_case(out, case, &options, how, &JobControl::new(), &|_| {})
}

fn said(path: &Path, tag: dicom_core::Tag) -> String {
    let object = dicom_object::open_file(path).unwrap();
    object
        .element(tag)
        .unwrap()
        .to_str()
        .unwrap()
        .trim_matches(['\0', ' '])
        .to_owned()
}

/// The matrix moves points as the pose does, back and forth; the ball is seen where the moved ball is projected.
#[test]
fn a_pose_leaves_as_a_registration_and_as_pictures() {
    let (case, source) = (case(), Folder::new("xrays"));
    let pose = Pose::new([4.0, -6.5, 2.25], [3.0, -5.0, 8.0]);
    let xrays = xrays(&source, &case, pose);
    for how in [None, Some(Anonymise::default())] {
        let out = Folder::new("imaging");
        let files = exported(&out.0, &case, Some(&xrays), how).unwrap().files;
        for name in [
            "REG.dcm",
            "RI-drr-1.dcm",
            "RI-drr-2.dcm",
            "RI-xray-1.dcm",
            "RI-xray-2.dcm",
        ] {
            assert!(files.iter().any(|file| file.name == name), "{name}");
            assert_conforms(&out.0.join(name));
        }
        let registration = read_registration(&out.0.join("REG.dcm"));
        assert_eq!(
            beamsight::dicom::read_registration(&out.0.join("REG.dcm")).unwrap(),
            registration
        );
        let ct_frame = said(&out.0.join("CT0001.dcm"), tags::FRAME_OF_REFERENCE_UID);
        assert_eq!(registration.source_frame_uid, ct_frame);
        // The room is that of the X-rays, under whatever UID.
        assert_eq!(
            registration.registered_frame_uid,
            said(&out.0.join("RI-xray-2.dcm"), tags::FRAME_OF_REFERENCE_UID)
        );
        assert_eq!(
            registration.registered_frame_uid == "2.25.7654321",
            how.is_none()
        );
        for point in [BALL_MM, DVec3::ZERO, DVec3::new(-30.0, 55.0, 7.0)] {
            let moved = pose.apply(point, CENTRE_MM);
            let by = |m: glam::DMat4, p: DVec3| (m * DVec4::new(p.x, p.y, p.z, 1.0)).truncate();
            assert!((by(registration.matrix, point) - moved).length() < 1e-6);
            assert!((by(registration.matrix.inverse(), moved) - point).length() < 1e-6);
        }
        for (n, image) in (1..).zip(&xrays.images) {
            let path = out.0.join(format!("RI-drr-{n}.dcm"));
            assert_eq!(
                said(&path, tags::FRAME_OF_REFERENCE_UID),
                registration.registered_frame_uid
            );
            let (drr, _) = read_radiograph(&path, &Placement::default()).unwrap();
            assert_eq!(drr.setup, image.radiograph.setup);
            let most = drr.values.iter().copied().fold(0.0, f32::max);
            let (mut weight, mut at) = (0.0, [0.0; 2]);
            for (p, value) in drr
                .values
                .iter()
                .enumerate()
                .filter(|(_, v)| **v > 0.3 * most)
            {
                weight += f64::from(*value);
                at[0] += f64::from(*value) * (p % 160) as f64;
                at[1] += f64::from(*value) * (p / 160) as f64;
            }
            let [column, row] = drr
                .projection
                .project(pose.apply(BALL_MM, CENTRE_MM))
                .unwrap();
            assert!(
                (at[0] / weight - column).abs() < 0.6 && (at[1] / weight - row).abs() < 0.6,
                "{at:?} {column} {row}"
            );
            let same = std::fs::read(out.0.join(format!("RI-xray-{n}.dcm"))).unwrap()
                == std::fs::read(&image.path).unwrap();
            assert_eq!(same, how.is_none());
        }
        // All objects are of one patient, whoever that is.
        let ids = files
            .iter()
            .map(|file| said(&out.0.join(&file.name), tags::PATIENT_ID));
        let ids: std::collections::BTreeSet<String> = ids.collect();
        assert!(
            ids.len() == 1 && ids.contains("P-1234") == how.is_none(),
            "{ids:?}"
        );
    }
}

#[test]
fn what_of_x_rays_cannot_leave_is_refused_by_name() {
    let (case, source) = (case(), Folder::new("xrays-refused"));
    let refused = |xrays: Option<&XRays>, words: &[&str]| {
        let out = Folder::new("imaging-refused");
        let error = exported(&out.0, &case, xrays, None)
            .unwrap_err()
            .to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert_eq!(std::fs::read_dir(&out.0).unwrap().count(), 0, "{error}");
    };
    refused(None, &["no registration", "no X-rays"]);
    let good = xrays(&source, &case, Pose::default());
    let changed = |change: &dyn Fn(&mut Radiograph)| {
        let mut other = good.clone();
        change(Arc::make_mut(&mut other.images[1].radiograph));
        other
    };
    refused(
        Some(&changed(&|image| image.patient.id = "Q-9".to_owned())),
        &["Q-9", "P-1234", "kv-1.dcm"],
    );
    // An answer for one ID is none for another.
    let elsewhere = |image: &mut Radiograph| {
        image.patient.id = "Q-9".to_owned();
        image.accepted_patient = Some("Q-8".to_owned());
    };
    refused(
        Some(&changed(&elsewhere)),
        &["Q-9", "--accept-patient-mismatch"],
    );
    refused(
        Some(&changed(&|image| image.setup = None)),
        &["no DRR of kv-1.dcm", "angles"],
    );
    let mut gone = good.clone();
    gone.images[0].path = source.0.join("away.dcm");
    let out = Folder::new("imaging-gone");
    let error = exported(&out.0, &case, Some(&gone), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("away.dcm"), "{error}");
}

/// An X-ray of another patient ID leaves once it is answered for; the registration says so, without IDs where they must not stay.
#[test]
fn an_x_ray_of_another_patient_leaves_once_answered_for() {
    let (case, source) = (case(), Folder::new("xrays-accepted"));
    let other = PatientInfo {
        name: "Test^Two".to_owned(),
        id: "Q-9".to_owned(),
        ..PatientInfo::default()
    };
    let theirs = Case {
        patient: other,
        ..case.clone()
    };
    let mut strange = xrays(&source, &theirs, Pose::new([4.0, 0.0, 0.0], [0.0; 3]));
    for image in &mut strange.images {
        Arc::make_mut(&mut image.radiograph).accepted_patient = Some("Q-9".to_owned());
    }
    for how in [None, Some(Anonymise::default())] {
        let out = Folder::new("imaging-accepted");
        let exported = exported(&out.0, &case, Some(&strange), how).unwrap();
        let path = out.0.join("REG.dcm");
        assert_conforms(&path);
        let description = said(&path, tags::CONTENT_DESCRIPTION);
        assert!(
            description.contains("another patient ID, accepted") && description.len() <= 64,
            "{description}"
        );
        assert!(
            exported.remarks.iter().any(|what| what.contains("Q-9")),
            "{:?}",
            exported.remarks
        );
        for file in exported.files.iter().filter(|_| how.is_some()) {
            let bytes = std::fs::read(out.0.join(&file.name)).unwrap();
            for word in ["Q-9", "P-1234", "Test^"] {
                assert!(
                    !bytes.windows(word.len()).any(|w| w == word.as_bytes()),
                    "{word} in {}",
                    file.name
                );
            }
        }
    }
}

/// Files that lie: other than one frame, a matrix that scales, words for numbers.
#[test]
fn a_registration_that_is_none_is_refused() {
    let folder = Folder::new("reg-odd");
    use crate::common::synthetic::{item, object, set_items};
    use dicom_core::VR;
    let of = |rows: &str, frames: &[&str]| {
        let matrix = item(&[(tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX, VR::DS, rows)]);
        let mut step = item(&[]);
        set_items(&mut step, tags::MATRIX_SEQUENCE, vec![matrix]);
        let frame = |uid: &&str| {
            let mut frame = item(&[(tags::FRAME_OF_REFERENCE_UID, VR::UI, *uid)]);
            set_items(
                &mut frame,
                tags::MATRIX_REGISTRATION_SEQUENCE,
                vec![step.clone()],
            );
            frame
        };
        let mut reg = object(
            dicom_dictionary_std::uids::SPATIAL_REGISTRATION_STORAGE,
            "REG",
            "1.2.3.700",
        );
        set_items(
            &mut reg,
            tags::REGISTRATION_SEQUENCE,
            frames.iter().map(frame).collect(),
        );
        beamsight::dicom::read_registration(&folder.put("reg.dcm", &reg)).map_err(|e| e.to_string())
    };
    let shift = "1\\0\\0\\5\\0\\1\\0\\6\\0\\0\\1\\7\\0\\0\\0\\1";
    let read = of(shift, &["1.2.3.100", "1.2.3.101"]).unwrap();
    assert_eq!(read.matrix * DVec4::W, DVec4::new(5.0, 6.0, 7.0, 1.0));
    assert!(
        of(shift, &["1.2.3.100"])
            .unwrap_err()
            .contains("0 other frames")
    );
    assert!(
        of(shift, &["1.2.3.101", "1.2.3.102"])
            .unwrap_err()
            .contains("2 other frames")
    );
    let scaled = "2\\0\\0\\5\\0\\1\\0\\6\\0\\0\\1\\7\\0\\0\\0\\1";
    assert!(
        of(scaled, &["1.2.3.101"])
            .unwrap_err()
            .contains("not rigid")
    );
    assert!(
        of("1\\0\\zero", &["1.2.3.101"])
            .unwrap_err()
            .contains("Matrix")
    );
}
