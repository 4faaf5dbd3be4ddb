//! Random numbers of one particle: Philox of seven rounds under a key of 64 bits, counted from zero.
//!
//! A particle's numbers depend on its key alone, and a secondary's key is drawn from its parent, so that a dose depends neither
//! on the order in which particles are transported nor on the number of threads. Two of 1e9 particles share a key with
//! a probability of 3 %, which correlates two histories and biases nothing.

use crate::philox::{philox, philox7};

/// Third counter word of the numbers from which histories get their keys; a particle's own numbers have zero there.
const KEYS_OF_HISTORIES: u32 = 1;

/// Numbers of one particle.
#[derive(Clone, Debug)]
pub struct Draws {
    key: [u32; 2],
    block: u32,
    words: [u32; 4],
    used: usize,
}

impl Draws {
    pub fn with_key(key: u64) -> Self {
        Self {
            key: words_of(key),
            block: 0,
            words: [0; 4],
            used: 4,
        }
    }

    /// Numbers of the source of a history.
    pub fn of_history(seed: u64, history: u64) -> Self {
        let [low, high] = words_of(history);
        let words = philox([low, high, KEYS_OF_HISTORIES, 0], words_of(seed));
        Self::with_key(u64::from(words[0]) | u64::from(words[1]) << 32)
    }

    /// Uniform in (0, 1), both ends excluded.
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.word()) + 0.5) * (1.0 / 4_294_967_296.0)
    }

    /// Two uniforms in (0, 1) of 16 bits each, of one word: for lots whose chances need no more.
    pub fn lots(&mut self) -> [f64; 2] {
        let word = self.word();
        [word >> 16, word & 0xffff].map(|half| (f64::from(half) + 0.5) * (1.0 / 65_536.0))
    }

    /// Exponential of mean 1: mean free paths to the next collision.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Uniform azimuth, radians.
    pub fn azimuth(&mut self) -> f64 {
        std::f64::consts::TAU * self.uniform()
    }

    /// Key of a particle that this one makes.
    pub fn key_of_secondary(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    fn word(&mut self) -> u32 {
        if self.used == self.words.len() {
            self.words = philox7([self.block, 0, 0, 0], self.key);
            self.block = self.block.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }
}

fn words_of(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(mut draws: Draws) -> Vec<f64> {
        (0..9).map(|_| draws.uniform()).collect()
    }

    #[test]
    fn numbers_depend_on_the_key_alone() {
        assert_eq!(
            numbers(Draws::of_history(3, 70)),
            numbers(Draws::of_history(3, 70))
        );
        assert_ne!(
            numbers(Draws::of_history(3, 70)),
            numbers(Draws::of_history(3, 71))
        );
        assert_ne!(
            numbers(Draws::with_key(1)),
            numbers(Draws::with_key(1 << 32))
        );
    }

    /// Mean and mean square of uniforms, mean of exponentials, each within four standard errors.
    #[test]
    fn numbers_have_the_moments_of_their_distributions() {
        let count = 1_000_000;
        let mut draws = Draws::with_key(5);
        let [mut sum, mut square, mut exponential] = [0.0; 3];
        for _ in 0..count {
            let value = draws.uniform();
            sum += value;
            square += value * value;
            exponential += draws.exponential();
        }
        let count = f64::from(count);
        let error = 4.0 / count.sqrt();
        assert!((sum / count - 0.5).abs() < error * (1.0_f64 / 12.0).sqrt());
        assert!((square / count - 1.0 / 3.0).abs() < error * (4.0_f64 / 45.0).sqrt());
        assert!((exponential / count - 1.0).abs() < error);
    }
}
