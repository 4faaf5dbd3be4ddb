//! Radiological depth: what is asked of the job and what it answers, on every device.

use super::digest::Digest;
use super::{Compute, Stopped, Watch, cpu, cuda};
use crate::case::Receipt;
use crate::geometry::{Grid, Volume};
use glam::DVec3;
use std::sync::Arc;

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
        let mut hash = Digest::default();
        for (grid, source_mm) in [(self.density.grid(), self.source_mm), (&self.targets, DVec3::ZERO)] {
            hash.add_grid(grid);
            hash.add_vector(source_mm);
        }
        hash.add_content(&self.density);
        hash.to_string()
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

/// The answer to a [`PathRequest`].
#[derive(Clone, Debug)]
pub struct DepthMap {
    /// Radiological depth at the voxel centres of the targets, mm of water.
    pub depth_mm: Arc<Volume<f32>>,
    pub receipt: Arc<Receipt>,
}
