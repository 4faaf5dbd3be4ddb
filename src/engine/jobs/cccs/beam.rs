//! What a beam is to the engine, on every device: its fields, kernels and directions.

use super::angles::{AngleTable, TiltNorm};
use super::directions::{Direction, equal_energy_spiral};
use super::medium::Medium;
use super::{DoseTo, Quality};
use crate::engine::cache::{Weighed, cache};
use crate::geometry::{BeamFrame, Grid, Volume};
use crate::physics::kernel_beam::BeamKernel;
use crate::physics::{Curve, Fluence, Machine, Softening, Spectrum};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Of the greatest release: what is carried along a few directions, as it is smooth and next to nothing. Leakage, most of it.
pub const LOW_TERMA_FRACTION: f32 = 0.0175;

/// How few: fewer where all are few, which miss ten times as much by themselves.
fn faint_directions(quality: Quality) -> usize {
    match quality {
        Quality::Full => 72,
        Quality::Preview | Quality::Fast | Quality::Standard => 48,
    }
}

/// Thinner than this (g/cm3) holds no dose worth the name.
pub const VACUUM_G_CM3: f32 = 1e-4;

/// What the energy in a voxel is divided by.
pub fn mass_of(medium: &Medium, dose_to: DoseTo) -> &Volume<f32> {
    match dose_to {
        DoseTo::Medium => &medium.mass_g_cm3,
        DoseTo::Water => &medium.equivalent_g_cm3,
    }
}

/// The energy in the requested voxels over their mass.
pub fn cropped(request: &Grid, dose_to: DoseTo, medium: &Medium, energy: &[f32]) -> Vec<f32> {
    let [nx, ny, nz] = request.size();
    let mass = mass_of(medium, dose_to).data();
    let [x, y, z] = medium.offset;
    let mut gy = vec![0.0; nx * ny * nz];
    gy.par_chunks_mut(nx).enumerate().for_each(|(row, gy)| {
        let start = medium.grid.index(x, y + row % ny, z + row / ny);
        for (gy, i) in gy.iter_mut().zip(start..) {
            *gy = if mass[i] > VACUUM_G_CM3 { energy[i] / mass[i] } else { 0.0 };
        }
    });
    gy
}

/// A field as it comes in.
pub struct Field<'a> {
    pub machine: &'a Machine,
    pub frame: &'a BeamFrame,
    pub fluence: &'a Fluence,
    /// Dose of contaminant electrons at the surface of the reference field, Gy for one photon per cm2 on the axis.
    pub electrons_gy: f64,
}

/// Kernels and directions of a machine's spectrum.
pub struct Superposition {
    pub kernel: BeamKernel,
    /// The spectrum off the axis.
    pub softening: Softening,
    pub table: AngleTable,
    pub directions: Vec<Direction>,
    /// Those of what is released faintly; none where all directions are as few.
    pub faint: Vec<Direction>,
    /// Shares of the primary's channels, near and deep, in the middle of what is treated.
    pub primary_mix: [f64; 2],
    /// Whether what thin lines misplace is put right: not in a preview, which has no time for it.
    pub near: bool,
}

impl Weighed for Superposition {}

impl Superposition {
    /// Kept for machines lately used.
    pub fn of(machine: &Machine, quality: Quality) -> Arc<Self> {
        let key: (Spectrum, Curve, f64, Quality) =
            (machine.spectrum.clone(), machine.softening.clone(), machine.sad_mm, quality);
        let made = cache().get(key, || Ok::<_, std::convert::Infallible>(Self::new(machine, quality)));
        match made {
            Ok(made) => made,
        }
    }

    fn new(machine: &Machine, quality: Quality) -> Self {
        // Where the equal shares of energy are taken: the middle of what is treated.
        const DEPTH_CM: f64 = 10.0;
        let spectrum = &machine.spectrum;
        let kernel = BeamKernel::new(&spectrum.energies_mev, &spectrum.photon_weights);
        let softening = Softening::new(machine);
        let table = AngleTable::new(&kernel);
        let spiral = |count| equal_energy_spiral(&kernel.energy_by_cone(DEPTH_CM), count);
        let directions = spiral(quality.directions());
        let few = faint_directions(quality);
        let faint = if directions.len() > few { spiral(few) } else { Vec::new() };
        let [near, deep, ..] = kernel.release(DEPTH_CM);
        let primary_mix = [near, deep].map(|r| r / (near + deep));
        let near = quality != Quality::Preview;
        Self { kernel, softening, table, directions, faint, primary_mix, near }
    }

    /// Normalises the tilts of the rays of a beam on a grid.
    pub fn tilt_norm(&self, frame: &BeamFrame, grid: &Grid) -> TiltNorm {
        TiltNorm::new(&self.table, &self.directions, widest_tangent(frame, &grid.corners_mm()))
    }

    /// What the faint part of a release that is normalised by [`Self::tilt_norm`] is multiplied by; `None` where nothing goes
    /// along fewer directions than the rest.
    pub fn faint_norm(&self, tilt: &TiltNorm) -> Option<TiltNorm> {
        let (_, reach) = tilt.factors();
        (!self.faint.is_empty()).then(|| TiltNorm::new(&self.table, &self.faint, reach).over(tilt))
    }
}

/// The directions' frame as a grid sees it: photons go against Zb.
pub fn grid_from_kernel(frame: &BeamFrame, grid: &Grid) -> DMat3 {
    let [x, y, z] = frame.axes.map(|a| grid.local_direction(a));
    DMat3::from_cols(x, -y, -z)
}

/// Largest tangent of a ray's tilt against the beam axis, over the corners of a box; 1 where a corner is at or behind the source.
fn widest_tangent(frame: &BeamFrame, corners_mm: &[DVec3]) -> f64 {
    let tangent = |corner: &DVec3| {
        frame.project(*corner).map_or(1.0, |([x, y], _)| (x.abs().max(y.abs()) / frame.sad_mm).min(1.0))
    };
    corners_mm.iter().map(tangent).fold(0.0, f64::max)
}
