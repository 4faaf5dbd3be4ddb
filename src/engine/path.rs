//! Radiological depth: what is asked of the job and what it answers, on every device.

use super::{Compute, Stopped, Watch, cpu, cuda};
use crate::case::Receipt;
use crate::geometry::{Grid, Volume, VolumeId};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Asks for the radiological depth from a point source to the centre of every voxel of `targets`: the line integral
/// of `density` along the straight ray, mm of water (de Greef 2009, equation 21).
#[derive(Clone, Debug)]
pub struct PathRequest {
    /// Relative to water (relative electron density, or mass density in g/cm3).
    pub density: Arc<Volume<f32>>,
    /// Patient LPS, mm; may lie inside the grid.
    pub source_mm: DVec3,
    /// Where depths are wanted: the density's own grid, or any other in the same patient.
    pub targets: Arc<Grid>,
}

impl PathRequest {
    /// Equal requests have equal digests (64 bits, hexadecimal).
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        for (grid, source_mm) in [(self.density.grid(), self.source_mm), (&self.targets, DVec3::ZERO)] {
            let axes = grid.axes();
            for v in [grid.origin_mm(), axes[0], axes[1], source_mm] {
                v.to_array().iter().for_each(|x| hash.add(x.to_bits()));
            }
            grid.size().iter().for_each(|&n| hash.add(n as u64));
            grid.spacing_xy_mm().iter().chain(grid.planes_mm()).for_each(|x| hash.add(x.to_bits()));
        }
        hash.add(content(&self.density));
        format!("{:016x}", hash.0)
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`Stopped`] when the watch was cancelled.
pub fn trace(request: &PathRequest, device: &Compute, watch: &Watch) -> Result<DepthMap, Stopped> {
    let Compute::Cuda(card) = device else { return cpu::path::trace(request, watch) };
    match cuda::path::trace(request, card, watch) {
        Ok(map) => Ok(map),
        Err(cuda::CudaError::Stopped(stopped)) => Err(stopped),
        Err(error) => {
            let map = cpu::path::trace(request, watch)?;
            Ok(DepthMap { receipt: map.receipt.instead_of_a_card(&error), ..map })
        }
    }
}

/// A hash of a volume's values; those of the last few volumes are kept, as a gantry drag asks for the same one every time.
fn content(volume: &Volume<f32>) -> u64 {
    const MOST: usize = 8;
    static KEPT: Mutex<Vec<(VolumeId, u64)>> = Mutex::new(Vec::new());
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, hash)) = kept().iter().find(|(id, _)| *id == volume.id()) {
        return *hash;
    }
    let [nx, ny, _] = volume.grid().size();
    let planes: Vec<u64> = volume.data().par_chunks(nx * ny).map(Fnv::of).collect();
    let mut hash = Fnv::default();
    planes.into_iter().for_each(|plane| hash.add(plane));
    let mut kept = kept();
    kept.insert(0, (volume.id(), hash.0));
    kept.truncate(MOST);
    hash.0
}

/// The Fowler-Noll-Vo hash (FNV-1a), a word at a time.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn of(values: &[f32]) -> u64 {
        let mut hash = Self::default();
        values.iter().for_each(|v| hash.add(u64::from(v.to_bits())));
        hash.0
    }
}

/// The answer to a [`PathRequest`].
#[derive(Clone, Debug)]
pub struct DepthMap {
    /// Radiological depth at the voxel centres of the targets, mm of water.
    pub depth_mm: Arc<Volume<f32>>,
    pub receipt: Arc<Receipt>,
}
