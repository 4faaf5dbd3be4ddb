//! Fields, kernels and directions of a beam, for every device.

use super::angles::{AngleTable, TiltNorm};
use super::directions::{Direction, equal_energy_spiral};
use crate::cache::{ByteSize, Cache};
use crate::dose::Quality;
use geometry::{BeamFrame, Grid};
use glam::{DMat3, DVec3};
use physics::kernel_beam::BeamKernel;
use physics::{Curve, Fluence, Machine, Softening, Spectrum};
use std::sync::Arc;

/// TERMA up to this fraction of the greatest is low: smooth, mostly leakage, and transported along few directions. It is nearly
/// everywhere, so that all lines would pass it; the dose changes by 0.047 % of the maximum at worst (`benches/RESULTS.md`).
// Of splits at 1 to 2.5 % along 24 to 96 directions, 1.75 % along 72 (of 384) or 48 (of 128) is the fastest within 0.11 % of the dose
// without a split.
pub const LOW_TERMA_FRACTION: f32 = 0.0175;

/// Directions of low TERMA: fewer where all are few, whose own error is ten times as much.
fn low_terma_direction_count(quality: Quality) -> usize {
    match quality {
        Quality::Full => 72,
        Quality::Preview | Quality::Fast | Quality::Standard => 48,
    }
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
    /// Directions of low TERMA; empty where [`Self::directions`] are as few.
    pub low_terma_directions: Vec<Direction>,
    /// Shares of the primary's channels, shallow and deep, at 10 cm of water.
    pub primary_mix: [f64; 2],
    /// Whether the local correction is applied: a preview has no time for it.
    pub corrected: bool,
}

impl ByteSize for Superposition {}

impl Superposition {
    /// Cached by spectrum and quality.
    pub fn cached(machine: &Machine, quality: Quality, cache: &Cache) -> Arc<Self> {
        let key: (Spectrum, Curve, f64, Quality) = (
            machine.spectrum.clone(),
            machine.softening.clone(),
            machine.sad_mm,
            quality,
        );
        let superposition = cache.get(key, || {
            Ok::<_, std::convert::Infallible>(Self::new(machine, quality))
        });
        match superposition {
            Ok(superposition) => superposition,
        }
    }

    fn new(machine: &Machine, quality: Quality) -> Self {
        // Directions have equal energy at this depth, the middle of most treatments.
        const DEPTH_CM: f64 = 10.0;
        let spectrum = &machine.spectrum;
        let kernel = BeamKernel::new(&spectrum.energies_mev, &spectrum.photon_weights);
        let softening = Softening::new(machine);
        let table = AngleTable::new(&kernel);
        let energy_by_cone = kernel.energy_by_cone(DEPTH_CM);
        let directions = equal_energy_spiral(&energy_by_cone, quality.directions());
        let few = low_terma_direction_count(quality);
        let low_terma_directions = if directions.len() > few {
            equal_energy_spiral(&energy_by_cone, few)
        } else {
            Vec::new()
        };
        let [shallow, deep, ..] = kernel.terma(DEPTH_CM);
        let primary_mix = [shallow, deep].map(|r| r / (shallow + deep));
        let corrected = quality != Quality::Preview;
        Self {
            kernel,
            softening,
            table,
            directions,
            low_terma_directions,
            primary_mix,
            corrected,
        }
    }

    /// Normalises the tilts of the rays of a beam on a grid.
    pub fn tilt_norm(&self, frame: &BeamFrame, grid: &Grid) -> TiltNorm {
        TiltNorm::new(
            &self.table,
            &self.directions,
            widest_tangent(frame, &grid.corners_mm()),
        )
    }

    /// Factors of low TERMA that is normalised by [`Self::tilt_norm`]; `None` where low TERMA is superposed along all directions.
    pub fn low_terma_norm(&self, tilt: &TiltNorm) -> Option<TiltNorm> {
        let (_, reach) = tilt.factors();
        (!self.low_terma_directions.is_empty())
            .then(|| TiltNorm::new(&self.table, &self.low_terma_directions, reach).over(tilt))
    }
}

/// The directions' frame as a grid sees it: photons go against Zb.
pub fn grid_from_kernel(frame: &BeamFrame, grid: &Grid) -> DMat3 {
    let [x, y, z] = frame.axes.map(|a| grid.local_direction(a));
    DMat3::from_cols(x, -y, -z)
}

/// Largest tangent of a ray's tilt against the beam axis, over the corners of a box; 1 where a corner is at or behind the source.
fn widest_tangent(frame: &BeamFrame, corners_mm: &[DVec3]) -> f64 {
    corners_mm
        .iter()
        .map(|corner| {
            frame.project(*corner).map_or(1.0, |([x, y], _)| {
                (x.abs().max(y.abs()) / frame.sad_mm).min(1.0)
            })
        })
        .fold(0.0, f64::max)
}
