//! TERMA (total energy released per unit mass) of each voxel, by channel of the kernel.

use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::Superposition;
use crate::cccs::terma::open_terma;
use crate::{Cancelled, JobControl};
use geometry::{BeamFrame, Volume};
use physics::kernel_beam::CHANNELS;
use physics::{Fluence, Machine};
use rayon::prelude::*;

/// TERMA of a field by channel, x fastest.
pub type Terma = [Vec<f32>; CHANNELS];

/// Beam and fluence that release TERMA.
pub struct Incident<'a> {
    pub machine: &'a Machine,
    pub beam: &'a Superposition,
    pub frame: &'a BeamFrame,
    pub fluence: &'a Fluence,
    pub tilt: &'a TiltNorm,
}

/// TERMA in water by channel: `sum_E w_E E (mu/rho)_E exp(-mu_E d) (SAD/s)^2 Psi`, with `d`
/// the exact radiological depth (mm) of the voxel's centre, times the channel's tilt normalisation.
/// Gy for one photon per cm2 on the axis at the isocentre. The inverse square stands here and nowhere else.
pub fn terma(
    incident: &Incident<'_>,
    equivalent_g_cm3: &Volume<f32>,
    depth_mm: &Volume<f32>,
    control: &JobControl,
) -> Result<Terma, Cancelled> {
    let grid = equivalent_g_cm3.grid();
    let [nx, ny, _] = grid.size();
    let mut terma: Terma = std::array::from_fn(|_| vec![0.0; grid.len()]);
    let [a, b, c, d] = terma.each_mut().map(|channel| channel.par_chunks_mut(nx));
    a.zip(b)
        .zip(c.zip(d))
        .enumerate()
        .try_for_each(|(row, ((a, b), (c, d)))| {
            control.check()?;
            let (j, k) = (row % ny, row / ny);
            for i in 0..nx {
                let voxel = row * nx + i;
                if equivalent_g_cm3.data()[voxel] > 0.0 {
                    let centre_mm = grid.centre_mm(i, j, k);
                    [a[i], b[i], c[i], d[i]] =
                        incident.at(centre_mm, grid.spacing_xy_mm()[0], depth_mm.data()[voxel]);
                }
            }
            Ok(())
        })?;
    Ok(terma)
}

impl Incident<'_> {
    fn at(&self, patient_mm: glam::DVec3, footprint_mm: f64, depth_mm: f32) -> [f32; CHANNELS] {
        let Some(([x, y], distance_mm)) = self.frame.project(patient_mm) else {
            return [0.0; CHANNELS];
        };
        let fluence = self.fluence.at(x, y, distance_mm, footprint_mm);
        if fluence <= 0.0 {
            return [0.0; CHANNELS];
        }
        open_terma(
            self.beam,
            self.frame,
            self.tilt,
            [x, y],
            patient_mm,
            depth_mm,
            fluence,
        )
    }

    /// Adds the energy per volume that contaminant electrons leave: `surface_gy` on the axis of the
    /// reference field at the isocentre distance, falling off with depth in water and as the square of the distance.
    pub fn add_electrons(
        &self,
        surface_gy: f64,
        equivalent_g_cm3: &Volume<f32>,
        depth_mm: &Volume<f32>,
        energy: &mut [f32],
    ) {
        let Some(electrons) = self.machine.electrons else {
            return;
        };
        let grid = equivalent_g_cm3.grid();
        let [nx, ny, _] = grid.size();
        energy
            .par_chunks_mut(nx)
            .enumerate()
            .for_each(|(row, energy)| {
                for (i, energy) in energy.iter_mut().enumerate() {
                    let voxel = row * nx + i;
                    let density = equivalent_g_cm3.data()[voxel];
                    let with_depth = electrons.at_depth(f64::from(depth_mm.data()[voxel]));
                    if density <= 0.0 || with_depth <= 0.0 {
                        continue;
                    }
                    let centre = grid.centre_mm(i, row % ny, row / ny);
                    let Some(([x, y], _)) = self.frame.project(centre) else {
                        continue;
                    };
                    let sad = self.frame.sad_mm;
                    let inverse_square = sad * sad / centre.distance_squared(self.frame.source_mm);
                    let gy =
                        surface_gy * with_depth * self.fluence.electrons_at(x, y) * inverse_square;
                    *energy += gy as f32 * density;
                }
            });
    }
}
