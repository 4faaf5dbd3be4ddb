//! X-rays of real machines and planning systems.

use crate::common::patient_case;
use beamsight::case::{PixelMeaning, Placement, Pose, Radiograph};
use beamsight::dicom::{Choice, DicomError, load, read_radiograph, scan};
use beamsight::engine::drr::{DrrRequest, Integrator, Pixels, drr};
use beamsight::engine::{Compute, JobControl};
use beamsight::physics::{AttenuationCurve, CurveKind, HuTable};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

fn placed() -> Placement {
    Placement {
        isocentre_mm: Some(DVec3::ZERO),
        sad_mm: Some(1800.0),
        sid_mm: Some(2000.0),
        pixel_mm: Some([0.8, 0.8]),
        gantry_deg: Some(180.0),
        ..Placement::default()
    }
}

/// Mean over a box given in shares of the picture: `[left, right, top, bottom]`.
fn mean(image: &Radiograph, [left, right, top, bottom]: [f64; 4]) -> f64 {
    let [columns, rows] = [image.projection.columns(), image.projection.rows()];
    let share = |n: usize, of: usize| (n as f64 + 0.5) / of as f64;
    let (mut sum, mut count) = (0.0, 0.0);
    for (n, v) in image.values.iter().enumerate() {
        let (x, y) = (share(n % columns, columns), share(n / columns, rows));
        if x > left && x < right && y > top && y < bottom {
            sum += f64::from(*v);
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn chest_radiographs_lack_geometry_and_show_bone_bright_once_placed() {
    let Some(folder) = patient_case("xray-dev") else {
        return;
    };
    for name in ["CR_chest_monochrome1.dcm", "CR_chest_j2k_lossy.dcm"] {
        let path = folder.join(name);
        let error = read_radiograph(&path, &Placement::default())
            .expect_err("nothing says where it was taken");
        let DicomError::NoGeometry { missing, .. } = &error else {
            panic!("{error}")
        };
        assert!(
            missing.contains(&"isocentre") && missing.contains(&"pixel size"),
            "{error}"
        );
        assert!(
            error.to_string().contains(name) && error.to_string().contains("--isocentre"),
            "{error}"
        );
        let (image, _) = read_radiograph(&path, &placed()).expect("placed");
        assert_eq!(image.meaning, PixelMeaning::Attenuation);
        // MONOCHROME1 inverted: the mediastinum is brighter than the middle of either lung.
        let middle = mean(&image, [0.46, 0.54, 0.45, 0.75]);
        for lung in [[0.2, 0.35, 0.3, 0.5], [0.65, 0.8, 0.3, 0.5]] {
            assert!(
                middle > mean(&image, lung),
                "{name}: {middle} {}",
                mean(&image, lung)
            );
        }
        let told = Placement {
            bone_is_bright: Some(false),
            ..placed()
        };
        let (turned, _) = read_radiograph(&path, &told).expect("placed");
        assert!(
            mean(&turned, [0.46, 0.54, 0.45, 0.75]) < mean(&turned, [0.2, 0.35, 0.3, 0.5]),
            "{name}"
        );
    }
}

/// The narrow gap field of the portal image lies on the axis, as its geometry states.
#[test]
fn a_portal_image_is_placed_by_its_file() {
    let Some(folder) = patient_case("xray-dev") else {
        return;
    };
    let path = folder.join("RTIMAGE_portal_varian.dcm");
    let (image, _) = read_radiograph(&path, &Placement::default()).expect("it has all");
    assert_eq!(image.meaning, PixelMeaning::Transmission);
    assert_eq!(image.patient.id, "PHY0019a");
    let setup = image.setup.expect("an upright image");
    assert!(
        (setup.gantry_deg - 0.0133).abs() < 1e-4 && setup.sad_mm == 1000.0,
        "{setup:?}"
    );
    assert!(
        (setup.sid_mm - 1500.033).abs() < 1e-3 && setup.pixel_mm == [0.392, 0.392],
        "{setup:?}"
    );
    // RTImagePosition is the centre of the first pixel: 1024 and 768 pixels lie about the axis.
    assert!(
        setup.shift_mm[0].abs() < 1e-3 && (setup.shift_mm[1] + 0.0129).abs() < 1e-3,
        "{setup:?}"
    );
    let axis = image
        .projection
        .project(DVec3::ZERO)
        .expect("the isocentre is seen");
    assert!(
        (axis[0] - 511.5).abs() < 0.01 && (axis[1] - 383.5).abs() < 0.05,
        "{axis:?}"
    );
    // Jaws of 200 x 200 mm open 300 x 300 mm of a picture of 401 x 301 mm.
    let open = image.open.as_ref().expect("the jaws are known");
    let share = open.iter().filter(|o| **o).count() as f64 / open.len() as f64;
    assert!((0.69..0.75).contains(&share), "{share}");
    let moved = Placement {
        isocentre_mm: Some(DVec3::new(5.0, 6.0, 7.0)),
        ..Placement::default()
    };
    let (image, _) = read_radiograph(&path, &moved).expect("it has all");
    assert!(image.frame_of_reference_uid.is_empty());
    assert_eq!(
        image.setup.expect("upright").isocentre_mm,
        DVec3::new(5.0, 6.0, 7.0)
    );
}

fn oncentra() -> Option<(PathBuf, Vec<PathBuf>)> {
    let folder = patient_case("oncentra-phantom")?;
    let files = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path());
    let mut images: Vec<PathBuf> = files
        .filter(|p| {
            p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("RI"))
        })
        .collect();
    images.sort();
    Some((folder, images))
}

/// Columns at which the mean of the middle rows rises over half of its height from the left, and falls under
/// it at the right.
fn edges(values: &[f32], [columns, rows]: [usize; 2]) -> [f64; 2] {
    let middle = rows * 2 / 5..rows * 3 / 5;
    let at = |c: usize| {
        middle
            .clone()
            .map(|r| f64::from(values[r * columns + c]))
            .sum::<f64>()
    };
    let profile: Vec<f64> = (0..columns).map(at).collect();
    let half = 0.5 * (profile.iter().copied().fold(f64::INFINITY, f64::min) + profile[columns / 2]);
    let crossing = |a: usize, b: usize| {
        a as f64 + (half - profile[a]) / (profile[b] - profile[a]) * (b as f64 - a as f64)
    };
    let left = (1..columns)
        .find(|&c| profile[c] >= half)
        .expect("it rises");
    let right = (0..columns - 1)
        .rev()
        .find(|&c| profile[c] >= half)
        .expect("it falls");
    [crossing(left - 1, left), crossing(right + 1, right)]
}

/// The side view with leaves and cross burnt into its pixels.
const WITH_GRAPHICS: &str = "RI1.3.6.1.4.1.2452.6.2264697300";

/// The DRRs that a planning system computed of its block from the side: the block's front and back lie at the
/// same positions as in ours, and the isocentre projects to its mark. (From before and behind its block is
/// wider than the picture. Along z its planes are 75 mm apart, and the end of a block between them is a
/// matter of convention.)
#[test]
fn drrs_of_a_planning_system_lie_where_ours_do() {
    let Some((folder, images)) = oncentra() else {
        return;
    };
    assert_eq!(images.len(), 6);
    let case = load(
        &scan(&folder, &|_| true).expect("files"),
        Choice::default(),
        &|_| true,
    )
    .expect("a case");
    let ct = case.ct.expect("its CT");
    let curve = AttenuationCurve::new(CurveKind::Water, &HuTable::shipped_default(), 0.07);
    let attenuation = Arc::new(curve.attenuation(&ct.hu));
    let mut compared = 0;
    for path in images {
        let (image, _) = read_radiograph(&path, &Placement::default()).expect("it has all");
        assert_eq!(image.frame_of_reference_uid, ct.frame_of_reference_uid);
        let setup = image.setup.expect("upright");
        let projection = image.projection;
        // Computed in the isocentre's plane, extended behind it: SAD 1000, image at 2000.
        assert_eq!((setup.sad_mm, setup.sid_mm), (1000.0, 2000.0));
        let [column, row] = projection.project(setup.isocentre_mm).expect("it is seen");
        // The cross of the picture with graphics stands at column 42, row 128 of the side view.
        if setup.gantry_deg != 90.0 {
            continue;
        }
        assert!(
            (column - 42.0).abs() < 0.5 && (row - 128.0).abs() < 0.5,
            "{column} {row}"
        );
        if path.to_string_lossy().contains(WITH_GRAPHICS) {
            continue;
        }
        let request = DrrRequest {
            attenuation: attenuation.clone(),
            projection,
            poses: vec![Pose::default()],
            pose_centre_mm: DVec3::ZERO,
            integrator: Integrator::Trilinear { step_mm: Some(1.0) },
            pixels: Pixels::All,
        };
        let ours = drr(&request, &Compute::Cpu, &JobControl::new())
            .expect("a DRR")
            .integrals;
        let size = [projection.columns(), projection.rows()];
        let (theirs, ours) = (edges(&image.values, size), edges(&ours, size));
        println!("front and back of the block at columns {theirs:?} there, {ours:?} here");
        for side in 0..2 {
            assert!(
                (theirs[side] - ours[side]).abs() < 1.5,
                "{theirs:?} {ours:?}"
            );
        }
        compared += 1;
    }
    assert_eq!(compared, 1);
}
