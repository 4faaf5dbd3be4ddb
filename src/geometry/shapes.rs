//! Simple solids as contours on a grid's planes, for structures made by hand.

use super::Grid;
use glam::DVec3;
use std::f64::consts::TAU;

/// Corners of the polygon that stands for a circle. Its area is the circle's, so it stands out by 0.02 % of the radius.
const CORNERS: usize = 120;

/// Contours (patient LPS, mm) where the grid's planes cut a sphere; none where it lies between two planes or beyond
/// them.
pub fn sphere_contours(grid: &Grid, centre_mm: DVec3, radius_mm: f64) -> Vec<Vec<DVec3>> {
    let centre = grid.local_from_patient(centre_mm);
    let angle = TAU / CORNERS as f64;
    let stand_out = (angle / angle.sin()).sqrt();
    // One circle serves all planes: a dragged sphere has new contours in each frame.
    let unit: Vec<(f64, f64)> = (0..CORNERS).map(|n| (angle * n as f64).sin_cos()).collect();
    grid.planes_mm()
        .iter()
        .filter_map(|&z| {
            let square = radius_mm * radius_mm - (z - centre.z) * (z - centre.z);
            let radius = (square > 0.0).then(|| square.sqrt() * stand_out)?;
            Some(
                unit.iter()
                    .map(|(s, c): &(f64, f64)| {
                        grid.patient_from_local(DVec3::new(
                            centre.x + radius * c,
                            centre.y + radius * s,
                            z,
                        ))
                    })
                    .collect(),
            )
        })
        .collect()
}

/// Contours (patient LPS, mm) where the grid's planes cut a box with sides along the grid's axes.
pub fn box_contours(grid: &Grid, centre_mm: DVec3, size_mm: DVec3) -> Vec<Vec<DVec3>> {
    let centre = grid.local_from_patient(centre_mm);
    let half = 0.5 * size_mm.abs();
    let inside = grid
        .planes_mm()
        .iter()
        .filter(|&&z| (z - centre.z).abs() <= half.z);
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    inside
        .map(|&z| {
            corners
                .map(|(x, y)| {
                    let corner = DVec3::new(centre.x + x * half.x, centre.y + y * half.y, z);
                    grid.patient_from_local(corner)
                })
                .to_vec()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Mask;
    use super::*;
    use std::f64::consts::PI;
    use std::sync::Arc;

    fn volume_cm3(grid: &Arc<Grid>, contours: &[Vec<DVec3>]) -> f64 {
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        Mask::from_contours(grid, &contours, &|_| true)
            .expect("a mask")
            .volume_cm3()
    }

    #[test]
    fn solids_have_their_volumes_on_an_oblique_grid() {
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.2, 0.5, -0.7);
        let planes: Vec<f64> = (0..50).map(|k| 1.5 * f64::from(k)).collect();
        let grid = Grid::new(
            DVec3::new(4.0, 5.0, 6.0),
            turn.x_axis,
            turn.y_axis,
            [1.0, 1.2],
            [80, 70],
            &planes,
        );
        let grid = Arc::new(grid.expect("a valid grid"));
        let centre = grid.middle_mm();
        let sphere = volume_cm3(&grid, &sphere_contours(&grid, centre, 25.0));
        assert!(
            (sphere / (4.0 / 3.0 * PI * 15.625) - 1.0).abs() < 0.003,
            "{sphere}"
        );
        // 20 planes of 1.5 mm.
        let solid = volume_cm3(
            &grid,
            &box_contours(&grid, centre, DVec3::new(31.0, 42.0, 30.0)),
        );
        assert!((solid / (3.1 * 4.2 * 3.0) - 1.0).abs() < 0.003, "{solid}");
        assert_eq!(
            sphere_contours(&grid, centre + turn.z_axis * 90.0, 25.0),
            Vec::<Vec<DVec3>>::new()
        );
    }
}
