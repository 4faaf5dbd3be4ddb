//! Radiological depth: request and answer.

use crate::cache::Cache;
use crate::digest::Digest;
use crate::job_control::Phases;
use case::Receipt;
use geometry::{Grid, Volume};
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
    /// Positions of the depths: the density's own grid, or any other in the same patient.
    pub targets: Arc<Grid>,
}

impl PathRequest {
    /// Equal requests have equal digests (64 bits, hexadecimal).
    pub fn digest(&self, cache: &Cache) -> String {
        let mut hash = Digest::default();
        for (grid, source_mm) in [
            (self.density.grid(), self.source_mm),
            (&self.targets, DVec3::ZERO),
        ] {
            hash.add_grid(grid);
            hash.add_vector(source_mm);
        }
        hash.add_content(&self.density, cache);
        hash.to_string()
    }

    /// The answer of a device: the depths of all targets, and the times of its phases.
    pub(crate) fn answer(
        &self,
        depth_mm: Volume<f32>,
        device: String,
        phases_ms: Phases,
        cache: &Cache,
    ) -> DepthMap {
        let receipt = Receipt {
            job: "path".to_owned(),
            digest: self.digest(cache),
            device,
            phases_ms,
            warnings: Vec::new(),
            work: depth_mm.data().len() as u64,
        };
        DepthMap {
            depth_mm: Arc::new(depth_mm),
            receipt: Arc::new(receipt),
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
