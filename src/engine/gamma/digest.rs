//! What is known of a dose from looking at every voxel once.

use crate::geometry::{Grid, Volume, VolumeId};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// What a look at every voxel says; kept for the last few volumes, as sliders ask for the same ones again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan {
    /// Of the values' bits.
    pub hash: u64,
    /// The greatest value, 0 where there is none above.
    pub most: f32,
    /// The first voxel that is no finite number or below 0.
    pub first_bad: Option<usize>,
}

/// Looks at a dose, or remembers.
pub fn scan(dose: &Volume<f32>) -> Scan {
    const MOST: usize = 16;
    static KEPT: Mutex<Vec<(VolumeId, Scan)>> = Mutex::new(Vec::new());
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, scan)) = kept().iter().find(|(id, _)| *id == dose.id()) {
        return *scan;
    }
    let [nx, ny, _] = dose.grid().size();
    let planes: Vec<Scan> = dose.data().par_chunks(nx * ny).map(look).collect();
    let mut hash = Fnv::default();
    let mut most = 0.0_f32;
    let mut first_bad = None;
    for (k, plane) in planes.iter().enumerate() {
        hash.add(plane.hash);
        most = most.max(plane.most);
        first_bad = first_bad.or(plane.first_bad.map(|n| k * nx * ny + n));
    }
    let scan = Scan { hash: hash.0, most, first_bad };
    let mut kept = kept();
    kept.insert(0, (dose.id(), scan));
    kept.truncate(MOST);
    scan
}

fn look(values: &[f32]) -> Scan {
    // Four chains of the hash at a time: one alone waits for its multiplications.
    let mut hashes: [Fnv; 4] = Default::default();
    let (mut most, mut good) = (0.0_f32, true);
    for part in values.chunks(4) {
        for (hash, &value) in hashes.iter_mut().zip(part) {
            hash.add(u64::from(value.to_bits()));
            most = most.max(value);
            good &= is_dose(value);
        }
    }
    let mut hash = Fnv::default();
    hashes.iter().for_each(|h| hash.add(h.0));
    let first_bad = if good { None } else { values.iter().position(|&value| !is_dose(value)) };
    Scan { hash: hash.0, most, first_bad }
}

fn is_dose(value: f32) -> bool {
    (0.0..f32::INFINITY).contains(&value)
}

/// The Fowler-Noll-Vo hash (FNV-1a), a word at a time.
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    pub fn add_grid(&mut self, grid: &Grid) {
        let axes = grid.axes();
        for v in [grid.origin_mm(), axes[0], axes[1]] {
            v.to_array().iter().for_each(|x| self.add(x.to_bits()));
        }
        grid.size().iter().for_each(|&n| self.add(n as u64));
        grid.spacing_xy_mm().iter().chain(grid.planes_mm()).for_each(|x| self.add(x.to_bits()));
    }
}
