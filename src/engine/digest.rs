//! Digests of requests: equal requests have equal ones.

use super::cache::{ByteSize, Cache};
use geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::convert::Infallible;
use std::fmt;

/// The Fowler-Noll-Vo hash (FNV-1a), a word at a time; written as 16 hexadecimal digits.
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Digest {
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Adds bytes, and how many there are.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    pub fn add_vector(&mut self, vector: DVec3) {
        vector.to_array().iter().for_each(|x| self.add(x.to_bits()));
    }

    pub fn add_grid(&mut self, grid: &Grid) {
        let axes = grid.axes();
        [grid.origin_mm(), axes[0], axes[1]]
            .into_iter()
            .for_each(|v| self.add_vector(v));
        grid.size().iter().for_each(|&n| self.add(n as u64));
        grid.spacing_xy_mm()
            .iter()
            .chain(grid.planes_mm())
            .for_each(|x| self.add(x.to_bits()));
    }

    pub fn add_content(&mut self, volume: &Volume<f32>, cache: &Cache) {
        self.add(content(volume, cache));
    }

    /// Adds many values, part by part on all threads.
    pub fn add_values(&mut self, values: &[f32]) {
        let parts: Vec<u64> = values.par_chunks(1 << 15).map(Self::hash).collect();
        parts.into_iter().for_each(|part| self.add(part));
    }

    fn hash(values: &[f32]) -> u64 {
        let mut hash = Self::default();
        values.iter().for_each(|v| hash.add(u64::from(v.to_bits())));
        hash.0
    }
}

/// The hash of a volume's values.
struct OfContent(u64);

impl ByteSize for OfContent {}

/// A hash of a volume's values; kept, as a gantry drag asks for the same one every time.
fn content(volume: &Volume<f32>, cache: &Cache) -> u64 {
    let Ok(hash) = cache.get(volume.id(), || {
        Ok::<_, Infallible>(OfContent(hashed(volume)))
    });
    hash.0
}

fn hashed(volume: &Volume<f32>) -> u64 {
    let [nx, ny, _] = volume.grid().size();
    let planes: Vec<u64> = volume
        .data()
        .par_chunks(nx * ny)
        .map(Digest::hash)
        .collect();
    let mut hash = Digest::default();
    planes.into_iter().for_each(|plane| hash.add(plane));
    hash.0
}
