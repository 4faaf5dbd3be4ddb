//! Seeded random numbers: the same phantoms, subsets and searches on every machine.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Evenly from 0 to below `count`, off by less than 2^-32 of a number's chance for counts below 2^32 (the high half of a product).
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }

    /// Normally distributed, mean 0, standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// `count` of the numbers below `population`, each as likely, ascending: the first steps of Fisher and Yates' shuffle.
    pub fn choose(&mut self, count: usize, population: usize) -> Vec<usize> {
        let mut shuffled: Vec<usize> = (0..population).collect();
        let count = count.min(population);
        for i in 0..count {
            let j = i + self.below(population - i);
            shuffled.swap(i, j);
        }
        shuffled.truncate(count);
        shuffled.sort_unstable();
        shuffled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(1);
        let normal: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 1e5;
        let square = normal.iter().map(|v| v * v).sum::<f64>() / 1e5;
        let fourth = normal.iter().map(|v| v.powi(4)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (square - 1.0).abs() < 0.02 && (fourth - 3.0).abs() < 0.15);
        let unit = (0..100_000).map(|_| random.unit()).sum::<f64>() / 1e5;
        assert!((unit - 0.5).abs() < 0.005);
    }

    #[test]
    fn chosen_numbers_are_distinct_and_each_as_likely() {
        let mut random = Random::new(3);
        let mut hits = [0; 10];
        for _ in 0..10_000 {
            let chosen = random.choose(3, 10);
            assert!(chosen.len() == 3 && chosen.windows(2).all(|w| w[0] < w[1]));
            chosen.into_iter().for_each(|n| hits[n] += 1);
        }
        assert!(
            hits.iter().all(|&h: &i32| (h - 3000).abs() < 250),
            "{hits:?}"
        );
        assert_eq!(random.choose(9, 4), [0, 1, 2, 3]);
    }
}
