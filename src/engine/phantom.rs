//! Phantoms for the benches and the selftest: boxes about the origin.

use crate::Random;
use geometry::{
    Grid, GridError, ImagingSetup, PatientPosition, Projection, ProjectionError, Volume,
};
use glam::DVec3;
use physics::{Material, Patient};
use rayon::prelude::*;
use std::sync::Arc;

/// A box about the origin, head first supine: at each voxel's centre (mm) the `matter`, mass density in g/cm3 and material, which
/// has its electrons a gram.
///
/// # Errors
/// A grid without voxels.
pub fn patient(
    spacing_mm: DVec3,
    size: [usize; 3],
    matter: impl Fn(DVec3) -> (f32, Material),
) -> Result<Arc<Patient>, GridError> {
    let extent = spacing_mm * DVec3::from(size.map(|n| n as f64));
    let grid = Arc::new(Grid::axis_aligned(
        0.5 * (spacing_mm - extent),
        spacing_mm,
        size,
    )?);
    let voxels = (0..grid.len()).map(|n| matter(grid.centre_of_mm(n)));
    let (density, material): (Vec<f32>, Vec<u8>) = voxels.map(|(d, m)| (d, m as u8)).unzip();
    let electrons = { density.iter().zip(&material) }
        .map(|(density, &material)| density * electrons_per_gram(material))
        .collect();
    Ok(Arc::new(Patient {
        relative_electron_density: Arc::new(Volume::new(Arc::clone(&grid), electrons)),
        mass_density_g_cm3: Arc::new(Volume::new(Arc::clone(&grid), density)),
        material: Arc::new(Volume::new(grid, material)),
        position: PatientPosition::Hfs,
        has_couch: true,
    }))
}

fn electrons_per_gram(material: u8) -> f32 {
    Material::ALL[usize::from(material)].electrons_per_gram() as f32
}

/// A view from a gantry angle of a head first supine patient, the isocentre at the origin, 1000 mm from the source and 1500 mm to the
/// image.
pub fn view(
    gantry_deg: f64,
    pixel_mm: [f64; 2],
    size: [usize; 2],
) -> Result<Projection, ProjectionError> {
    let [columns, rows] = size;
    let setup = ImagingSetup {
        position: PatientPosition::Hfs,
        gantry_deg,
        couch_deg: 0.0,
        isocentre_mm: DVec3::ZERO,
        sad_mm: 1000.0,
        sid_mm: 1500.0,
        shift_mm: [0.0; 2],
        pixel_mm,
        columns,
        rows,
    };
    setup.projection()
}

/// Attenuation (1/mm) of three blurred balls in air, on a turned grid with uneven planes.
///
/// # Errors
/// None.
pub fn balls() -> Result<Volume<f32>, GridError> {
    let (s, c) = 0.2_f64.sin_cos();
    let planes: Vec<f64> = (0..50)
        .map(|k| 2.0 * f64::from(k) + f64::from(k % 2) * 0.5)
        .collect();
    let origin = DVec3::new(-60.0, -40.0, -50.0);
    let axes = [DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0)];
    let grid = Arc::new(Grid::new(
        origin,
        axes[0],
        axes[1],
        [2.0, 2.0],
        [60, 50],
        &planes,
    )?);
    let balls = [
        (DVec3::new(-10.0, 5.0, 0.0), 25.0),
        (DVec3::new(20.0, 30.0, 15.0), 12.0),
        (DVec3::new(0.0, 20.0, -20.0), 8.0),
    ];
    let values = (0..grid.len())
        .map(|n| {
            let p = grid.centre_of_mm(n);
            let sum = balls
                .iter()
                .map(|(m, r)| 0.02 / (1.0 + (((p - *m).length() - r) / 2.0).exp()))
                .sum::<f64>();
            if sum < 1e-4 { 0.0 } else { sum as f32 }
        })
        .collect();
    Ok(Volume::new(grid, values))
}

/// Attenuation of a trunk, 1/mm: an ellipse of muscle, two lungs, a spine, air around; noise of a CT's order. Its ends go on
/// beyond the grid.
///
/// # Errors
/// A grid without voxels.
pub fn trunk(size: [usize; 3], spacing_mm: [f64; 3]) -> Result<Volume<f32>, GridError> {
    let spacing = DVec3::from(spacing_mm);
    let half = 0.5 * DVec3::from(size.map(|n| n as f64)) * spacing;
    let grid = Grid::axis_aligned(0.5 * spacing - half, spacing, size)?;
    let [nx, ny, _] = size;
    let mut data = vec![0.0_f32; grid.len()];
    data.par_chunks_mut(nx * ny)
        .enumerate()
        .for_each(|(k, plane)| {
            let mut random = Random::new(k as u64 + 1);
            for (n, value) in plane.iter_mut().enumerate() {
                let p = grid.local_centre_mm(n % nx, n / nx, k) + grid.origin_mm();
                let within = |x: f64, y: f64, rx: f64, ry: f64| {
                    ((p.x - x) / rx).powi(2) + ((p.y - y) / ry).powi(2) < 1.0
                };
                let mu = if !within(0.0, 0.0, 125.0, 90.0) {
                    continue;
                } else if within(0.0, 58.0, 17.0, 17.0) {
                    0.034
                } else if within(-55.0, -5.0, 42.0, 58.0) || within(55.0, -5.0, 42.0, 58.0) {
                    0.005
                } else {
                    0.0202
                };
                *value = (mu * (1.0 + 0.1 * (random.unit() - 0.5))) as f32;
            }
        });
    Ok(Volume::new(Arc::new(grid), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_about_the_origin_holds_what_is_said_of_each_place() {
        let patient = patient(DVec3::new(2.0, 3.0, 4.0), [4, 2, 3], |p| {
            if p.x > 0.0 {
                (p.z as f32, Material::Lung)
            } else {
                (1.0, Material::Water)
            }
        });
        let Patient {
            mass_density_g_cm3: density,
            material,
            ..
        } = &*patient.unwrap();
        let grid = density.grid();
        assert_eq!(
            [grid.centre_mm(0, 0, 0), grid.centre_mm(3, 1, 2)],
            [-1.0, 1.0].map(|s| s * DVec3::new(3.0, 1.5, 4.0))
        );
        assert_eq!(
            [
                density.at(1, 0, 2),
                density.at(2, 1, 2),
                density.at(2, 0, 0)
            ],
            [1.0, 4.0, -4.0]
        );
        assert_eq!(
            [material.at(1, 0, 2), material.at(2, 1, 2)],
            [Material::Water as u8, Material::Lung as u8]
        );
    }
}
