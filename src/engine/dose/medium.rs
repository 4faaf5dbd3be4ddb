//! The patient on the lattice of the dose: densities averaged over its voxels.

use super::error::DoseError;
use super::grid::matter_box;
use super::lattice::{Lattice, lattice_of};
use super::quality::DoseTo;
use crate::cache::ByteSize;
use crate::{Cancelled, JobControl};
use geometry::{Grid, Volume, VolumeId};
use glam::DVec3;
use physics::{Attenuation, Material, Patient, Spectrum};
use rayon::prelude::*;
use std::sync::Arc;

/// Below this (g/cm3) is air. Outside the patient it takes no part. Inside, transport needs the exact loss: in 1 mm of air the
/// slowest term transmits all but 5e-6, which single precision resolves by 6e-8.
pub const LOW_DENSITY_G_CM3: f32 = 0.05;
/// Voxels of a lattice, at most: 2.5 GB of work arrays.
const MOST_VOXELS: usize = 50_000_000;

/// Below this (g/cm3) is vacuum, without dose.
pub const VACUUM_G_CM3: f32 = 1e-4;

/// Densities on an even grid that holds the dose grid and all of the patient: matter between source and dose grid
/// attenuates, and matter beside it scatters.
#[derive(Debug)]
pub struct Medium {
    pub grid: Arc<Grid>,
    /// Index of the requested grid's first voxel.
    pub offset: [usize; 3],
    /// Density of the water that attenuates the beam as the voxel does, g/cm3.
    pub equivalent_g_cm3: Volume<f32>,
    /// Mass density, g/cm3.
    pub mass_g_cm3: Volume<f32>,
    /// Whether any voxel has low density ([`is_low_density`]).
    pub low_density: bool,
}

impl ByteSize for Medium {
    fn bytes(&self) -> usize {
        2 * size_of::<f32>() * self.grid.len()
    }
}

/// Whether a voxel of matter deposits so little of what passes it that transport needs the exact loss.
pub fn is_low_density(density_g_cm3: &f32) -> bool {
    (f32::MIN_POSITIVE..LOW_DENSITY_G_CM3).contains(density_g_cm3)
}

impl Medium {
    /// Cached by patient, spectrum and grid.
    pub fn cached(
        patient: &Patient,
        spectrum: &Spectrum,
        request: &Grid,
        control: &JobControl,
    ) -> Result<Arc<Self>, DoseError> {
        let key: (VolumeId, VolumeId, Spectrum, Grid) = (
            patient.mass_density_g_cm3.id(),
            patient.material.id(),
            spectrum.clone(),
            request.clone(),
        );
        control
            .cache()
            .get(key, || Self::new(patient, spectrum, request, control))
    }

    fn new(
        patient: &Patient,
        spectrum: &Spectrum,
        request: &Grid,
        control: &JobControl,
    ) -> Result<Self, DoseError> {
        let (grid, offset) = around(patient, request)?;
        let grid = Arc::new(grid);
        let scale = equivalence(spectrum);
        let mass = &patient.mass_density_g_cm3;
        let electrons = patient.relative_electron_density.data();
        let (equivalent, mass_g_cm3) = averaged(
            mass.grid(),
            &grid,
            &|i: usize| {
                let material = usize::from(patient.material.data()[i]).min(scale.len() - 1);
                [electrons[i] * scale[material], mass.data()[i]]
            },
            control,
        )?;
        if !equivalent.iter().any(|d| *d > 0.0) {
            return Err(DoseError::OutsidePatient);
        }
        let low_density = equivalent.iter().any(is_low_density);
        let [equivalent_g_cm3, mass_g_cm3] =
            [equivalent, mass_g_cm3].map(|data| Volume::new(Arc::clone(&grid), data));
        Ok(Self {
            equivalent_g_cm3,
            mass_g_cm3,
            grid,
            offset,
            low_density,
        })
    }

    /// Nothing but water.
    pub fn water(grid: Grid) -> Self {
        let grid = Arc::new(grid);
        let ones = vec![1.0; grid.len()];
        let [equivalent_g_cm3, mass_g_cm3] =
            [ones.clone(), ones].map(|data| Volume::new(Arc::clone(&grid), data));
        Self {
            grid,
            offset: [0; 3],
            equivalent_g_cm3,
            mass_g_cm3,
            low_density: false,
        }
    }

    pub fn lattice(&self) -> Lattice {
        lattice_of(&self.grid)
    }

    /// Material in the middle of each voxel; water outside the image.
    pub fn materials(&self, patient: &Patient) -> Vec<Material> {
        let [nx, ny, _] = self.grid.size();
        let last = Material::ALL.len() - 1;
        (0..self.grid.len())
            .into_par_iter()
            .map(|voxel| {
                let centre_mm = self
                    .grid
                    .centre_mm(voxel % nx, voxel / nx % ny, voxel / nx / ny);
                let class = patient.material.nearest(centre_mm);
                class.map_or(Material::Water, |class| {
                    Material::ALL[usize::from(class).min(last)]
                })
            })
            .collect()
    }
}

/// Ratio of each material's attenuation per electron to water's, averaged over the TERMA at 10 cm of water.
///
/// Per electron, because the HU table gives electrons without a step where one material class follows another; what the
/// class adds (pair production, photoelectric effect) is then within 2 % for tissue and bone.
/// One factor for all energies: between 0.3 and 6 MeV the ratio to water moves by under 1 % for tissue and air, 2 % for
/// cortical bone, 4 % for aluminium and titanium.
fn equivalence(spectrum: &Spectrum) -> Vec<f32> {
    let over_water = attenuation_over_water(spectrum);
    Material::ALL
        .iter()
        .map(|m| (over_water[*m as usize] / m.electrons_per_gram()) as f32)
        .collect()
}

/// Ratio of each material's mass attenuation to water's, averaged over the TERMA at 10 cm of water.
pub fn attenuation_over_water(spectrum: &Spectrum) -> Vec<f64> {
    const DEPTH_CM: f64 = 10.0;
    let table = Attenuation::new(&spectrum.energies_mev);
    let water = table.of_class(Material::Water as u8);
    let weights: Vec<f64> = spectrum
        .bins()
        .zip(water)
        .map(|((e, photons), mu)| photons * e * (-mu * DEPTH_CM).exp())
        .collect();
    let mean = |mu: &[f64]| -> f64 { mu.iter().zip(&weights).map(|(m, w)| m * w).sum() };
    Material::ALL
        .iter()
        .map(|m| mean(table.of_class(*m as u8)) / mean(water))
        .collect()
}

/// The requested grid grown by whole voxels until it holds the patient.
fn around(patient: &Patient, request: &Grid) -> Result<(Grid, [usize; 3]), DoseError> {
    let Some(dz) = request.even_plane_spacing_mm() else {
        return Err(DoseError::UnevenGrid);
    };
    let spacing = DVec3::new(request.spacing_xy_mm()[0], request.spacing_xy_mm()[1], dz);
    let image = patient.mass_density_g_cm3.grid();
    let [a, b] = matter_box(&patient.mass_density_g_cm3, LOW_DENSITY_G_CM3)
        .map(|c| image.local_from_patient(c));
    let mut low = DVec3::splat(f64::INFINITY);
    let mut high = DVec3::splat(f64::NEG_INFINITY);
    for corner in 0..8 {
        let local = [0, 1, 2].map(|axis| {
            if corner >> axis & 1 == 0 {
                a[axis]
            } else {
                b[axis]
            }
        });
        let p = request.local_from_patient(image.patient_from_local(DVec3::from(local)));
        low = low.min(p / spacing + 0.5);
        high = high.max(p / spacing + 0.5);
    }
    let mut size = request.size();
    let mut offset = [0; 3];
    for axis in 0..3 {
        let voxels_in_front = (-low[axis] - 1e-3).ceil().max(0.0);
        let voxels_behind = (high[axis] - size[axis] as f64 - 1e-3).ceil().max(0.0);
        offset[axis] = voxels_in_front as usize;
        size[axis] += voxels_in_front as usize + voxels_behind as usize;
    }
    let voxels = size.iter().fold(1usize, |n, s| n.saturating_mul(*s));
    if voxels > MOST_VOXELS {
        return Err(DoseError::TooLarge {
            voxels,
            most: MOST_VOXELS,
        });
    }
    let first = DVec3::new(offset[0] as f64, offset[1] as f64, offset[2] as f64) * -spacing;
    let [x, y, _] = request.axes();
    let planes: Vec<f64> = (0..size[2]).map(|k| k as f64 * dz).collect();
    let origin = request.patient_from_local(first);
    Ok((
        Grid::new(
            origin,
            x,
            y,
            request.spacing_xy_mm(),
            [size[0], size[1]],
            &planes,
        )?,
        offset,
    ))
}

/// Averages of two quantities of the image's voxels over the voxels of another grid; nothing lies outside the image.
fn averaged(
    image: &Grid,
    grid: &Grid,
    quantities: &(impl Fn(usize) -> [f32; 2] + Sync),
    control: &JobControl,
) -> Result<(Vec<f32>, Vec<f32>), Cancelled> {
    let [nx, ny, _] = grid.size();
    let mut first = vec![0.0; grid.len()];
    let mut second = vec![0.0; grid.len()];
    let aligned = (0..3).all(|a| grid.axes()[a].dot(image.axes()[a]) > 1.0 - 1e-9);
    let overlaps = aligned.then(|| [0, 1, 2].map(|axis| overlaps(image, grid, axis)));
    first
        .par_chunks_mut(nx * ny)
        .zip(second.par_chunks_mut(nx * ny))
        .enumerate()
        .try_for_each(|(k, (first, second))| {
            control.check()?;
            match &overlaps {
                Some(overlaps) => box_average(image, overlaps, k, nx, quantities, first, second),
                None => point_average(image, grid, k, quantities, first, second),
            }
            Ok(())
        })?;
    Ok((first, second))
}

/// Image voxels under a voxel and the part of it that each covers.
type Overlap = Vec<(usize, f32)>;

fn overlaps(image: &Grid, grid: &Grid, axis: usize) -> Vec<Overlap> {
    let from = image.edges_mm(axis);
    let start = image.local_from_patient(grid.origin_mm())[axis];
    let to = grid.edges_mm(axis);
    to.windows(2)
        .map(|w| {
            let (low, high) = (w[0] + start, w[1] + start);
            let begin = from.partition_point(|e| *e <= low).max(1) - 1;
            (begin..from.len() - 1)
                .take_while(|i| from[*i] < high)
                .map(|i| {
                    (
                        i,
                        ((from[i + 1].min(high) - from[i].max(low)) / (high - low)) as f32,
                    )
                })
                .filter(|(_, part)| *part > 1e-6)
                .collect()
        })
        .collect()
}

/// One plane of exact averages over boxes along the same axes.
fn box_average(
    image: &Grid,
    overlaps: &[Vec<Overlap>; 3],
    k: usize,
    nx: usize,
    quantities: &impl Fn(usize) -> [f32; 2],
    first: &mut [f32],
    second: &mut [f32],
) {
    for (j, rows) in overlaps[1].iter().enumerate() {
        for (plane, part_z) in &overlaps[2][k] {
            for (row, part_y) in rows {
                let start = image.index(0, *row, *plane);
                let part = part_z * part_y;
                for (i, columns) in overlaps[0].iter().enumerate() {
                    for (column, part_x) in columns {
                        let [a, b] = quantities(start + column);
                        first[j * nx + i] += part * part_x * a;
                        second[j * nx + i] += part * part_x * b;
                    }
                }
            }
        }
    }
}

/// One plane of averages over 3 x 3 x 3 points, for axes that do not agree.
fn point_average(
    image: &Grid,
    grid: &Grid,
    k: usize,
    quantities: &impl Fn(usize) -> [f32; 2],
    first: &mut [f32],
    second: &mut [f32],
) {
    const POINTS: usize = 3;
    let [nx, ny, _] = grid.size();
    let lattice = lattice_of(grid);
    let inside =
        |n: usize, axis: usize| ((n as f64 + 0.5) / POINTS as f64 - 0.5) * lattice.spacing_mm[axis];
    let part = 1.0 / (POINTS * POINTS * POINTS) as f32;
    for (index, (first, second)) in first.iter_mut().zip(second).enumerate() {
        let centre = grid.local_centre_mm(index % nx, index / nx % ny, k);
        for n in 0..POINTS * POINTS * POINTS {
            let [x, y, z] = [n % POINTS, n / POINTS % POINTS, n / (POINTS * POINTS)];
            let local = centre + DVec3::new(inside(x, 0), inside(y, 1), inside(z, 2));
            if let Some([i, j, k]) = image.voxel_at(grid.patient_from_local(local)) {
                let [a, b] = quantities(image.index(i, j, k));
                *first += part * a;
                *second += part * b;
            }
        }
    }
}

/// The mass by which a voxel's energy is divided.
pub fn mass_of(medium: &Medium, dose_to: DoseTo) -> &Volume<f32> {
    match dose_to {
        DoseTo::Medium => &medium.mass_g_cm3,
        DoseTo::Water => &medium.equivalent_g_cm3,
    }
}

/// The energy of voxels of the medium's grid over their mass, in the voxels of the request.
pub fn cropped(
    request: &Grid,
    medium: &Medium,
    mass: &Volume<f32>,
    energy: impl Fn(usize) -> f32 + Sync,
) -> Vec<f32> {
    let [nx, ny, nz] = request.size();
    let mass = mass.data();
    let [x, y, z] = medium.offset;
    let mut gy = vec![0.0; nx * ny * nz];
    gy.par_chunks_mut(nx).enumerate().for_each(|(row, gy)| {
        let start = medium.grid.index(x, y + row % ny, z + row / ny);
        for (gy, i) in gy.iter_mut().zip(start..) {
            *gy = if mass[i] > VACUUM_G_CM3 {
                energy(i) / mass[i]
            } else {
                0.0
            };
        }
    });
    gy
}
