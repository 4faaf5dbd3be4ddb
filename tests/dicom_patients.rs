//! The reader against real cases: figures from `data/patients/README.md`.

mod common;

use beamsight::case::Case;
use beamsight::dicom::{Choice, load, scan};
use common::patient_case;

fn open(name: &str) -> Option<Case> {
    let folder = patient_case(name)?;
    let catalogue = scan(&folder, &|_| true).unwrap();
    Some(load(&catalogue, Choice::default(), &|_| true).unwrap())
}

#[test]
fn lung1_001_opens_as_it_is_described() {
    let Some(case) = open("lung1-001") else { return };
    let ct = case.ct.unwrap();
    let grid = ct.hu.grid();
    assert_eq!(grid.size(), [512, 512, 134]);
    assert!(grid.spacing_xy_mm().iter().all(|s| (s - 0.9766).abs() < 5e-5), "{:?}", grid.spacing_xy_mm());
    assert!((grid.origin_mm().z + 681.5).abs() < 1e-9);
    assert!((grid.planes_mm()[133] - (681.5 - 282.5)).abs() < 1e-9);
    let highest = ct.hu.data().iter().copied().fold(f32::MIN, f32::max);
    let lowest = ct.hu.data().iter().copied().fold(f32::MAX, f32::min);
    assert_eq!((lowest, highest), (-1024.0, 3034.0));
    let contours: Vec<(&str, usize)> =
        case.structures.structures.iter().map(|s| (s.name.as_str(), s.contours.len())).collect();
    assert_eq!(contours, [("GTV-1", 21), ("Spinal-Cord", 84), ("Lung-Left", 139), ("Lung-Right", 114)]);
    assert_eq!(case.structures.frame_of_reference_uid, ct.frame_of_reference_uid);
    assert_eq!(ct.plane_uids.len(), 134);
}
