//! Patients that need no CT: boxes about the origin, for the benches and the selftest.

use crate::geometry::{Grid, GridError, PatientPosition, Volume};
use crate::physics::{Material, Patient};
use glam::DVec3;
use std::sync::Arc;

/// A box about the origin, head first supine: at each voxel's centre (mm) what `of` says, mass density in g/cm3 (also taken for the
/// relative electron density) and material.
///
/// # Errors
/// A grid without voxels.
pub fn patient(
    spacing_mm: DVec3,
    size: [usize; 3],
    of: impl Fn(DVec3) -> (f32, Material),
) -> Result<Arc<Patient>, GridError> {
    let extent = spacing_mm * DVec3::from(size.map(|n| n as f64));
    let grid = Arc::new(Grid::axis_aligned(0.5 * (spacing_mm - extent), spacing_mm, size)?);
    let voxels = (0..grid.len()).map(|i| {
        let [nx, ny, _] = size;
        of(grid.centre_mm(i % nx, i / nx % ny, i / (nx * ny)))
    });
    let (density, material): (Vec<f32>, Vec<u8>) = voxels.map(|(d, m)| (d, m as u8)).unzip();
    let density = Arc::new(Volume::new(Arc::clone(&grid), density));
    Ok(Arc::new(Patient {
        relative_electron_density: Arc::clone(&density),
        mass_density_g_cm3: density,
        material: Arc::new(Volume::new(grid, material)),
        position: PatientPosition::Hfs,
        hu_table: "phantom".to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_about_the_origin_holds_what_is_said_of_each_place() {
        let patient = patient(DVec3::new(2.0, 3.0, 4.0), [4, 2, 3], |p| {
            if p.x > 0.0 { (p.z as f32, Material::Lung) } else { (1.0, Material::Water) }
        });
        let Patient { mass_density_g_cm3: density, material, .. } = &*patient.unwrap();
        let grid = density.grid();
        assert_eq!(
            [grid.centre_mm(0, 0, 0), grid.centre_mm(3, 1, 2)],
            [-1.0, 1.0].map(|s| s * DVec3::new(3.0, 1.5, 4.0))
        );
        assert_eq!([density.at(1, 0, 2), density.at(2, 1, 2), density.at(2, 0, 0)], [1.0, 4.0, -4.0]);
        assert_eq!(
            [material.at(1, 0, 2), material.at(2, 1, 2)],
            [Material::Water as u8, Material::Lung as u8]
        );
    }
}
