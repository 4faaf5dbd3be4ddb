//! DVHs on a real case against the published numbers of `data/patients/README.md`.

use crate::common::opened::open;
use beamsight::analysis::Dvh;
use beamsight::case::Structure;
use beamsight::engine::JobControl;
use beamsight::geometry::{Grid, Mask};
use glam::DVec3;
use std::sync::Arc;

/// The published voxels of a structure (those whose centre its contours hold), as rectangles round runs of voxels: a
/// mask of whole voxels.
fn whole_voxels(structure: &Structure, grid: &Arc<Grid>) -> Mask {
    let contours: Vec<&[DVec3]> = structure
        .contours
        .iter()
        .map(|c| c.points_mm.as_slice())
        .collect();
    let drawn = Mask::from_contours(grid, &contours, &|_| true).unwrap();
    let ([i0, j0, k0], [sx, sy, sz]) = (drawn.offset(), drawn.size());
    let mut runs: Vec<Vec<DVec3>> = Vec::new();
    for (j, k) in (k0..k0 + sz).flat_map(|k| (j0..j0 + sy).map(move |j| (j, k))) {
        for i in (i0..i0 + sx).filter(|&i| drawn.coverage_at(i, j, k) >= 0.499) {
            let corner = |x: f64, y: f64| {
                grid.patient_from_voxel(DVec3::new(i as f64 + x, j as f64 + y, k as f64))
            };
            runs.push(vec![
                corner(-0.5, -0.5),
                corner(0.5, -0.5),
                corner(0.5, 0.5),
                corner(-0.5, 0.5),
            ]);
        }
    }
    let slices: Vec<&[DVec3]> = runs.iter().map(Vec::as_slice).collect();
    Mask::from_contours(grid, &slices, &|_| true).unwrap()
}

#[test]
fn openkbp_doses_are_the_published_ones() {
    let Some(case) = open("openkbp-pt200") else {
        return;
    };
    let grid = case.ct.as_ref().unwrap().hu.grid();
    let dose = &case.doses[0];
    assert!((dose.max_gy() - 73.769).abs() < 6e-4, "{}", dose.max_gy());
    let dvh = |name: &str| {
        let mask = whole_voxels(case.structures.by_name(name).unwrap(), grid);
        Dvh::new(&mask, &dose.gy, &JobControl::new()).unwrap()
    };
    for (name, cm3, mean_gy) in [
        ("PTV70", 281.18, 70.699),
        ("PTV63", 133.73, 62.956),
        ("PTV56", 225.23, 60.766),
        ("Brainstem", 25.29, 9.860),
        ("SpinalCord", 20.75, 15.505),
        ("RightParotid", 34.71, 6.990),
        ("LeftParotid", 34.56, 39.058),
        ("Esophagus", 8.09, 28.993),
        ("Larynx", 39.25, 41.311),
        ("Mandible", 69.84, 22.911),
    ] {
        let d = dvh(name);
        assert!(
            (d.volume_cm3() - cm3).abs() < 0.0051,
            "{name}: {} cm3",
            d.volume_cm3()
        );
        assert!(
            (d.mean_gy() - mean_gy).abs() < 6e-4,
            "{name}: mean {}",
            d.mean_gy()
        );
        assert_eq!(d.outside_percent(), 0.0);
    }
    // A percentile of 7370 voxels: its interpolation is not standardised.
    let d95 = dvh("PTV70").dose_at_percent(95.0);
    assert!((d95 - 69.541).abs() < 0.01, "{d95}");
    let cord_max = dvh("SpinalCord").max_gy();
    assert!((cord_max - 39.935).abs() < 6e-4, "{cord_max}");
}

/// Planes 75 mm apart: the greatest dose stands in one of them, and is that of the structure at its position.
#[test]
fn the_greatest_dose_of_thick_planes_is_read() {
    let Some(case) = open("oncentra-phantom") else {
        return;
    };
    let grid = case.ct.as_ref().unwrap().hu.grid();
    let big = whole_voxels(case.structures.by_name("Big").unwrap(), grid);
    for dose in case.doses.iter().filter(|dose| dose.max_gy() > 0.0) {
        let d = Dvh::new(&big, &dose.gy, &JobControl::new()).unwrap();
        println!(
            "greatest voxel {:.3} Gy, Dmax {:.3} Gy, mean {:.3} Gy",
            dose.max_gy(),
            d.max_gy(),
            d.mean_gy()
        );
        assert!((0.99..1.001).contains(&(d.max_gy() / f64::from(dose.max_gy()))));
    }
}
