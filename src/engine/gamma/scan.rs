//! What is known of a dose from looking at every voxel once.

use crate::geometry::{Volume, VolumeId};
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// A dose is looked at in pieces of this many values.
const PIECE: usize = 1 << 16;
/// Of so many volumes it is kept what a look said.
const MOST_KEPT: usize = 16;
static KEPT: Mutex<Vec<(VolumeId, Scan)>> = Mutex::new(Vec::new());

fn kept() -> MutexGuard<'static, Vec<(VolumeId, Scan)>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at a dose, or remembers.
pub fn scan(dose: &Volume<f32>) -> Scan {
    if let Some((_, scan)) = kept().iter().find(|(id, _)| *id == dose.id()) {
        return *scan;
    }
    remember(dose, dose.data().par_chunks(PIECE).map(look).collect())
}

/// Keeps what [`look`] said of a dose's values, 65536 at a time.
pub fn remember(dose: &Volume<f32>, pieces: Vec<Scan>) -> Scan {
    let mut whole = Scan { hash: SEED, most: 0.0, first_bad: None };
    for (n, piece) in pieces.into_iter().enumerate() {
        whole.hash = mixed(whole.hash, piece.hash);
        whole.most = whole.most.max(piece.most);
        whole.first_bad = whole.first_bad.or(piece.first_bad.map(|m| n * PIECE + m));
    }
    let mut kept = kept();
    kept.insert(0, (dose.id(), whole));
    kept.truncate(MOST_KEPT);
    whole
}

/// Looks at some values.
pub fn look(values: &[f32]) -> Scan {
    let bits: &[u32] = bytemuck::cast_slice(values);
    // Two values a word, and four chains of the hash at a time: one alone waits for its multiplications.
    let mut hashes = [SEED; 4];
    let (eights, rest) = bits.as_chunks::<8>();
    for eight in eights {
        for (n, hash) in hashes.iter_mut().enumerate() {
            *hash = mixed(*hash, u64::from(eight[2 * n]) | u64::from(eight[2 * n + 1]) << 32);
        }
    }
    let rest = rest.iter().fold(SEED, |hash, word| mixed(hash, u64::from(*word)));
    let hash = hashes.into_iter().fold(rest, mixed);
    // The bits of numbers from 0 up order as the numbers do; those of all others are higher.
    let highest = bits.iter().copied().fold(0, u32::max);
    if highest < f32::INFINITY.to_bits() {
        return Scan { hash, most: f32::from_bits(highest), first_bad: None };
    }
    let first_bad = values.iter().position(|value| !(0.0..f32::INFINITY).contains(value));
    Scan { hash, most: values.iter().copied().fold(0.0, f32::max), first_bad }
}

/// The Fowler-Noll-Vo hash (FNV-1a), a word at a time.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mixed(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_look_finds() {
        let mut values: Vec<f32> = (0..37).map(|n| n as f32 * 0.5).collect();
        let plain = look(&values);
        assert_eq!((plain.most, plain.first_bad), (18.0, None));
        values[0] = -0.0;
        assert_eq!(look(&values).first_bad, None, "minus nothing is nothing");
        for (n, bad) in [(36, -1.0), (20, f32::NAN), (9, f32::INFINITY)] {
            values[n] = bad;
            assert_eq!(look(&values).first_bad, Some(n));
            assert_ne!(look(&values).hash, plain.hash);
        }
    }
}
