//! Random numbers by counting: Philox4x32 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
//!
//! A number depends on the seed, the history and its place within the history, and on nothing that was drawn before: a run is
//! the same for any number of threads or cards.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four words for a counter under a key: of ten rounds, which the authors recommend.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    rounds::<10>(counter, key)
}

/// As [`philox`] by seven rounds, the fewest that pass all of BigCrush (Table 2 there).
pub fn philox7(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    rounds::<7>(counter, key)
}

fn rounds<const ROUNDS: usize>(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..ROUNDS {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let product = |i: usize, word: u32| {
            let p = u64::from(MULTIPLIERS[i]) * u64::from(word);
            [(p >> 32) as u32, p as u32]
        };
        let [high0, low0] = product(0, counter[0]);
        let [high1, low1] = product(1, counter[2]);
        counter = [
            high1 ^ counter[1] ^ key[0],
            low1,
            high0 ^ counter[3] ^ key[1],
            low0,
        ];
    }
    counter
}

/// The numbers of one history.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: [u32; 2],
    history: u64,
}

impl Stream {
    pub fn new(seed: u64, history: u64) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            history,
        }
    }

    /// The words at a place.
    pub fn words(&self, place: u32) -> [u32; 4] {
        philox(
            [self.history as u32, (self.history >> 32) as u32, place, 0],
            self.key,
        )
    }
}

/// A word as a number between 0 and 1, both excluded.
pub fn unit(word: u32) -> f32 {
    // 23 bits and a half: the greatest is below 1 in f32 too.
    ((word >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers published with Random123 (kat_vectors, philox4x32 10).
    #[test]
    fn known_answers() {
        for (counter, key, want) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [u32::MAX; 4],
                [u32::MAX; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), want);
        }
    }

    /// The same of philox4x32 7.
    #[test]
    fn known_answers_of_seven_rounds() {
        for (counter, key, want) in [
            (
                [0; 4],
                [0; 2],
                [0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48],
            ),
            (
                [u32::MAX; 4],
                [u32::MAX; 2],
                [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0x4dfc_caba, 0x190a_87f0, 0xc473_62ba, 0xb6b5_242a],
            ),
        ] {
            assert_eq!(philox7(counter, key), want);
        }
    }

    #[test]
    fn between_nought_and_one() {
        assert!(unit(0) > 0.0 && unit(u32::MAX) < 1.0);
        let n = 200_000_u64;
        let sum: f64 = (0..n)
            .map(|h| f64::from(unit(Stream::new(7, h).words(3)[1])))
            .sum();
        assert!((sum / n as f64 - 0.5).abs() < 4.0 * (1.0 / 12.0_f64).sqrt() / (n as f64).sqrt());
    }
}
