//! Scan of a dose: hash, maximum, first invalid voxel.

use crate::cache::{ByteSize, Cache};
use geometry::Volume;
use multiversion::multiversion;
use rayon::prelude::*;

/// Result of a scan; cached, as sliders request the same doses again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan {
    /// Hash of the values' bits.
    pub hash: u64,
    /// The greatest value, 0 where there is none above.
    pub most: f32,
    /// The first voxel that is no finite number or below 0.
    pub first_bad: Option<usize>,
}

/// Values of a piece of a scan.
const PIECE: usize = 1 << 16;

impl ByteSize for Scan {}

/// The scan of a dose, cached.
pub fn scan(dose: &Volume<f32>, cache: &Cache) -> Scan {
    if let Some(scan) = cache.find::<_, Scan>(&dose.id()) {
        return *scan;
    }
    remember(
        dose,
        dose.data().par_chunks(PIECE).map(look).collect(),
        cache,
    )
}

/// Caches the scan of a dose from the scans of its pieces of 65536 values.
pub fn remember(dose: &Volume<f32>, pieces: Vec<Scan>, cache: &Cache) -> Scan {
    let mut joined = Scan {
        hash: SEED,
        most: 0.0,
        first_bad: None,
    };
    for (n, piece) in pieces.into_iter().enumerate() {
        joined.hash = mixed(joined.hash, piece.hash);
        joined.most = joined.most.max(piece.most);
        joined.first_bad = joined.first_bad.or(piece.first_bad.map(|m| n * PIECE + m));
    }
    *cache.put(dose.id(), joined)
}

/// Chains of the hash that go side by side.
const CHAINS: usize = 32;

/// Scans some values.
#[multiversion(targets("x86_64+avx2"))]
pub fn look(values: &[f32]) -> Scan {
    let bits: &[u32] = bytemuck::cast_slice(values);
    // A chain waits for its multiplication, so each takes one value in `CHAINS`: the compiler does several at once.
    let mut chains = [SEED_32; CHAINS];
    // The bits of numbers from 0 up order as the numbers do; the bits of all others are higher.
    let mut highest = [0; CHAINS];
    let (rows, last_row) = bits.as_chunks::<CHAINS>();
    for row in rows {
        for n in 0..CHAINS {
            chains[n] = (chains[n] ^ row[n]).wrapping_mul(PRIME_32);
            highest[n] = highest[n].max(row[n]);
        }
    }
    let hash = last_row
        .iter()
        .chain(&chains)
        .fold(SEED, |hash, word| mixed(hash, u64::from(*word)));
    let highest = last_row.iter().chain(&highest).copied().fold(0, u32::max);
    if highest < f32::INFINITY.to_bits() {
        return Scan {
            hash,
            most: f32::from_bits(highest),
            first_bad: None,
        };
    }
    let first_bad = values
        .iter()
        .position(|value| !(0.0..f32::INFINITY).contains(value));
    Scan {
        hash,
        most: values.iter().copied().fold(0.0, f32::max),
        first_bad,
    }
}

/// The Fowler-Noll-Vo hash (FNV-1a), a word at a time: of 32 bits within the chains, of 64 over them.
const SEED_32: u32 = 0x811c_9dc5;
const PRIME_32: u32 = 0x0100_0193;
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
