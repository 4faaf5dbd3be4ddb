//! Pairs of doses of the sizes of Gu 2010, Table 1: a computed dose, and the same changed, shifted and scaled.

use crate::cccs::bench::water;
use crate::dose::Quality;
use crate::{DeviceError, JobControl};
use case::{Beam, Jaws};
use geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Voxels of the paper's cases, mm.
pub const SPACING_MM: DVec3 = DVec3::new(1.5, 1.5, 2.0);
/// The dose is computed on a coarser grid of the same extent.
const COARSE_SIZE: [usize; 3] = [128, 128, 104];
const COARSE_MM: DVec3 = DVec3::new(3.0, 3.0, 4.0);
const PRESCRIBED_GY: f32 = 70.0;
/// Gantry angles, and of each two segments: jaws (mm at the isocentre) and weight.
const GANTRIES: [f64; 7] = [0.0, 51.0, 103.0, 154.0, 206.0, 257.0, 309.0];
const SEGMENTS: [([f64; 2], [f64; 2], f32); 2] = [
    ([-32.0, 26.0], [-45.0, 40.0], 1.0),
    ([-8.0, 30.0], [-30.0, 12.0], 0.6),
];

/// A case of the paper's Table 1, with the change of its dose here.
#[derive(Clone, Copy, Debug)]
pub struct PaperCase {
    pub name: &'static str,
    pub planes: usize,
    /// Change of the evaluated dose: mm, a factor, and the part of a smooth change from place to place.
    pub shift_mm: DVec3,
    pub scale: f64,
    pub waves: f64,
    /// The paper's times of the search, s: its CPU (Intel Xeon, one core), its GPU (Tesla C1060) with points sorted by dose
    /// difference, and without.
    pub paper_s: [f64; 3],
}

const fn case(
    name: &'static str,
    planes: usize,
    shift_mm: [f64; 3],
    scale: f64,
    waves: f64,
    paper_s: [f64; 3],
) -> PaperCase {
    PaperCase {
        name,
        planes,
        shift_mm: DVec3::from_array(shift_mm),
        scale,
        waves,
        paper_s,
    }
}

/// Tables 1 and 2. The paper does not give its doses: changes are such that its heavy cases are the heavy ones here.
pub const CASES: [PaperCase; 8] = [
    case("L1", 206, [0.8, 0.5, -0.7], 1.01, 0.02, [64.93, 2.78, 7.37]),
    case("L2", 160, [1.0, -0.6, 0.8], 1.01, 0.03, [65.64, 2.40, 7.47]),
    case(
        "L3",
        160,
        [1.5, 1.0, -1.2],
        1.02,
        0.03,
        [101.46, 3.77, 11.00],
    ),
    case("L4", 160, [0.4, 0.2, 0.3], 1.005, 0.01, [30.10, 0.86, 1.99]),
    case("H1", 144, [0.8, -0.6, 0.5], 1.01, 0.02, [47.73, 2.28, 8.48]),
    case(
        "H2",
        144,
        [3.0, 2.0, -2.0],
        1.03,
        0.05,
        [242.23, 7.56, 24.50],
    ),
    case(
        "H3",
        144,
        [2.0, -1.5, 1.0],
        1.02,
        0.04,
        [116.14, 4.76, 15.00],
    ),
    case("H4", 144, [1.8, 1.2, 1.0], 0.98, 0.04, [107.61, 4.21, 20.6]),
];

/// The dose that all cases are made of, Gy: 14 segments on a block of water.
pub fn computed(control: &JobControl) -> Result<Volume<f32>, DeviceError> {
    let extent = COARSE_MM.to_array();
    let mut request = water(COARSE_SIZE, extent, 100.0, Quality::Fast)?;
    let mut sum = vec![0.0_f32; request.grid.len()];
    for gantry_deg in GANTRIES {
        for (x, y, weight) in SEGMENTS {
            request.beam = Beam::fixed("bench", 1, gantry_deg, DVec3::ZERO, Jaws { x, y }, 100.0);
            let dose = crate::cccs::cpu::beam_dose(&request, control)
                .map_err(|e| DeviceError::case("gamma", e))?;
            sum.par_iter_mut()
                .zip(dose.gy.data())
                .for_each(|(sum, gy)| *sum += weight * gy.max(0.0));
        }
    }
    let greatest = sum.iter().copied().fold(0.0, f32::max);
    sum.par_iter_mut()
        .for_each(|gy| *gy *= PRESCRIBED_GY / greatest);
    Ok(Volume::new(Arc::clone(&request.grid), sum))
}

impl PaperCase {
    /// Reference and evaluated dose on grids of `size` voxels over the case's extent.
    pub fn pair(
        &self,
        computed: &Volume<f32>,
        size: [usize; 3],
    ) -> Result<[Arc<Volume<f32>>; 2], DeviceError> {
        let extent_mm = SPACING_MM * DVec3::new(256.0, 256.0, self.planes as f64);
        let spacing_mm = extent_mm / DVec3::from(size.map(|n| n as f64));
        let grid = Grid::axis_aligned(0.5 * (spacing_mm - extent_mm), spacing_mm, size)
            .map_err(|e| DeviceError::case("gamma", e))?;
        let grid = Arc::new(grid);
        let [nx, ny, _] = size;
        let sampled = |gy: &(dyn Fn(DVec3) -> f64 + Sync)| {
            let mut data = vec![0.0_f32; grid.len()];
            data.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = gy(grid.centre_mm(i, row % ny, row / ny)) as f32;
                }
            });
            Arc::new(Volume::new(Arc::clone(&grid), data))
        };
        let computed_gy = |p: DVec3| f64::from(computed.trilinear(p).unwrap_or(0.0));
        let wave = |p: DVec3| (p.x / 17.0).sin() * (p.y / 23.0).cos() * (p.z / 19.0).sin();
        Ok([
            sampled(&computed_gy),
            sampled(&|p: DVec3| {
                computed_gy(p - self.shift_mm) * self.scale * (1.0 + self.waves * wave(p))
            }),
        ])
    }

    /// The size of the paper's case.
    pub fn size(&self) -> [usize; 3] {
        [256, 256, self.planes]
    }
}
