//! Masks of contours on real cases: volumes of `data/patients/README.md`.

use crate::common::opened::open;
use beamsight::case::Structure;
use beamsight::geometry::{Grid, Mask, body_contours};
use glam::DVec3;
use std::sync::Arc;

fn mask(grid: &Arc<Grid>, contours: &[Vec<DVec3>]) -> Mask {
    let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &contours, &|_| true).unwrap()
}

fn points(structure: &Structure) -> Vec<Vec<DVec3>> {
    structure
        .contours
        .iter()
        .map(|c| c.points_mm.clone())
        .collect()
}

/// The published voxel counts, by filling at 50 %; and the contours' own area, which marching squares make half a
/// voxel smaller than the count for each contour (none of these is a hole).
#[test]
fn openkbp_volumes_are_the_published_ones() {
    let Some(case) = open("openkbp-pt200") else {
        return;
    };
    let ct = case.ct.unwrap();
    let grid = ct.hu.grid();
    let voxel_cm3 = grid.voxel_cm3(0);
    let published = [
        ("PTV70", 281.18),
        ("PTV63", 133.73),
        ("PTV56", 225.23),
        ("Brainstem", 25.29),
        ("SpinalCord", 20.75),
        ("RightParotid", 34.71),
        ("LeftParotid", 34.56),
        ("Esophagus", 8.09),
        ("Larynx", 39.25),
        ("Mandible", 69.84),
    ];
    for (name, want) in published {
        let structure = case.structures.by_name(name).unwrap();
        let mask = mask(grid, &points(structure));
        let counted = mask.iter().filter(|(_, weight)| *weight >= 0.5).count() as f64 * voxel_cm3;
        assert!(
            (counted - want).abs() < 0.0051,
            "{name}: {counted} cm3 counted, {want} published"
        );
        let area = mask.volume_cm3() + 0.5 * structure.contours.len() as f64 * voxel_cm3;
        assert!(
            (area / want - 1.0).abs() < 0.001,
            "{name}: {area} cm3 by area, {want} published"
        );
    }
}

#[test]
fn box_phantom_voxel_counts_are_exact() {
    let Some(case) = open("box-phantom") else {
        return;
    };
    let ct = case.ct.unwrap();
    for (name, voxels, cm3) in [
        ("BODY", 531_441, 14_348.907),
        ("OuterTarget", 9_261, 250.047),
    ] {
        let structure = case.structures.by_name(name).unwrap();
        let mask = mask(ct.hu.grid(), &points(structure));
        assert_eq!(
            mask.iter().filter(|(_, weight)| *weight >= 0.5).count(),
            voxels,
            "{name}"
        );
        let area = mask.volume_cm3() + 0.5 * structure.contours.len() as f64 * 0.027;
        assert!((area / cm3 - 1.0).abs() < 2e-5, "{name}: {area}");
    }
}

/// 365 cm3 according to the data's README.
#[test]
fn sarcoma_volume() {
    let Some(case) = open("sts-001") else { return };
    let ct = case.ct.unwrap();
    let structure = case
        .structures
        .structures
        .iter()
        .find(|s| s.name.contains("CT"))
        .unwrap();
    let volume = mask(ct.hu.grid(), &points(structure)).volume_cm3();
    assert!((volume - 365.0).abs() < 0.5, "{volume}");
}

/// The body of a thorax includes its lungs, but not the couch.
#[test]
fn lung_patient_is_outlined_without_the_couch() {
    let Some(case) = open("lung1-001") else {
        return;
    };
    let ct = case.ct.unwrap();
    let grid = ct.hu.grid();
    let body = mask(
        grid,
        &body_contours(&ct.hu, -350.0, &|_| true).unwrap().contours,
    );
    for (index, weight) in mask(grid, &points(case.structures.by_name("Lung-Left").unwrap())).iter()
    {
        let [nx, ny, _] = grid.size();
        let inside = body.coverage_at(index % nx, index / nx % ny, index / (nx * ny));
        assert!(
            weight < 1.0 || inside > 0.99,
            "lung voxel {index} lies outside the body"
        );
    }
    assert!(
        (27_000.0..29_000.0).contains(&body.volume_cm3()),
        "{} cm3",
        body.volume_cm3()
    );
    // The couch's top is row 410 of planes in the trunk, flat and wider than the patient's back.
    for k in [3, 50, 90] {
        let below = |j: usize| (0..512).map(|i| body.coverage_at(i, j, k)).sum::<f32>();
        assert!(below(380) > 30.0, "the back is inside on plane {k}");
        assert!(
            (416..512).all(|j| below(j) == 0.0),
            "nothing of the couch on plane {k}"
        );
    }
}
